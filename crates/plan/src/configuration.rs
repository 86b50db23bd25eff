//! The syntax of `--fs`: file systems with variants and options.
//!
//! `ext4,ext3:data=journal,ext4:mkfs=-O ^has_journal+mount=noatime,ext4#again`: configurations separated by commas;
//! after `:` parts separated by `+`, each a variant of the file system, `mkfs=` and arguments separated by spaces, or
//! `mount=` and options; after `#` a label that distinguishes two equal configurations. A backslash escapes `,`, `+`,
//! `#`, `@` and `\`: `ext4:mkfs=-O ^has_journal\,^metadata_csum`. What lies below stands behind `@`: see `layers`.

use std::collections::BTreeSet;

use mountmark_cells::Plan;
use mountmark_model::facts::Facts;
use mountmark_model::{Configuration, FileSystem, KnownFault, Lab, heading, split, words};

use crate::bounds::is_word;
use crate::parts::{Parts, own_mkfs, own_mount, variant, with_variant};
use crate::{Catalogue, PlanError, Result, below, layers};

/// The configurations of `--fs`, which may be given more than once, in the order written.
pub fn configurations(catalogue: &Catalogue, texts: &[String]) -> Result<Vec<Configuration>> {
    let mut configurations: Vec<Configuration> = Vec::new();
    for text in texts.iter().flat_map(|text| split(text, ',')) {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if configurations.len() == Plan::MOST_CONFIGURATIONS {
            return Err(PlanError::Options(format!(
                "--fs names more than {} file systems, the most",
                Plan::MOST_CONFIGURATIONS
            )));
        }
        let configuration = parse(catalogue, text)?;
        if let Some(other) = configurations.iter().find(|other| is_same(other, &configuration)) {
            let reason = if other.name == configuration.name {
                "it is in the list twice".to_owned()
            } else {
                format!("it is made and mounted like {}", other.name)
            };
            let bare = split(text, '#').remove(0);
            let mend =
                format!("to compare equal configurations, which shows what chance does, label one: {bare}#again");
            return Err(wrong(text, format!("{reason}; {mend}")));
        }
        if let Some(other) = configurations.iter().find(|other| other.heading() == configuration.heading()) {
            let (heading, other) = (configuration.heading(), &other.name);
            let reason = format!("tables call it {heading}, and {other} as well; give each a label of its own");
            return Err(wrong(text, reason));
        }
        configurations.push(configuration);
    }
    if configurations.is_empty() {
        let reason = "--fs names no file system; give one or more, such as --fs ext4,xfs,ext3:data=journal";
        return Err(PlanError::Options(reason.into()));
    }
    Ok(configurations)
}

/// [`configurations`] for a lab; one that works on this machine as root refuses options that reach beyond the device under
/// test.
pub fn configurations_for(lab: Lab, catalogue: &Catalogue, texts: &[String]) -> Result<Vec<Configuration>> {
    let configurations = configurations(catalogue, texts)?;
    let mut foreign = configurations.iter().filter(|_| !lab.capabilities().guest).filter_map(|one| {
        let reason = words::foreign(one).or_else(|| layers::foreign(one))?;
        Some(wrong(&one.name, reason))
    });
    foreign.next().map_or(Ok(()), Err)?;
    Ok(configurations)
}

fn parse(catalogue: &Catalogue, text: &str) -> Result<Configuration> {
    let mut labelled = split(text, '#');
    let body = labelled.remove(0);
    match labelled.as_slice() {
        [] => {}
        [label] if is_word(label) => {}
        _ => {
            return Err(wrong(
                text,
                "a label is one # followed by letters, digits, - and _; write \\# for a # in an option".into(),
            ));
        }
    }
    standing(catalogue, text, body)
}

/// What a text without a label stands for: a file system, and what it stands on.
pub(crate) fn standing(catalogue: &Catalogue, text: &str, body: &str) -> Result<Configuration> {
    let words = split(body, '@');
    let (name, options) = match words[0].split_once(':') {
        Some((name, options)) => (name.trim(), Some(options)),
        None => (words[0].trim(), None),
    };
    let filesystem = FileSystem {
        nodiscard: Vec::new(),
        facts: Facts::new(),
        tuning: Vec::new(),
        usual: false,
        ..catalogue.get::<FileSystem>(name)?.clone()
    };
    let on = below::standing_on(catalogue, text, &filesystem, &words[1..])?;
    let mut configuration = Configuration {
        name: text.to_owned(),
        mkfs_options: Vec::new(),
        mount_options: filesystem.mount_options.clone(),
        filesystem,
        layers: on.layers,
        own_disks: None,
        below: on.below.map(Box::new),
    };
    let (mut used, mut parts) = (BTreeSet::new(), Parts::default());
    for part in options.into_iter().flat_map(|options| split(options, '+')) {
        let part = part.trim();
        if part.is_empty() {
            return Err(wrong(text, "a part after : or + is empty".into()));
        }
        if !used.insert(part) {
            return Err(wrong(text, format!("{part:?} is in it twice")));
        }
        if let Some(arguments) = part.strip_prefix("mkfs=") {
            own_mkfs(&mut configuration, arguments).map_err(|reason| wrong(text, reason))?;
        } else if let Some(options) = part.strip_prefix("mount=") {
            let given = own_mount(&mut configuration, options).map_err(|reason| wrong(text, reason))?;
            parts.add(part, None, &given).map_err(|reason| wrong(text, reason))?;
        } else {
            let variant = variant(&configuration.filesystem, part)
                .map_err(|reason| wrong(text, below::misplaced(&configuration, part).unwrap_or(reason)))?
                .clone()
                .on_disks();
            parts.add(part, Some(&variant), &variant.mount).map_err(|reason| wrong(text, reason))?;
            with_variant(&mut configuration, part, variant).map_err(|reason| wrong(text, reason))?;
        }
    }
    below::limit(&mut configuration);
    Ok(configuration)
}

/// Equal names, or made and mounted alike without distinct labels.
fn is_same(one: &Configuration, other: &Configuration) -> bool {
    let labelled = |configuration: &Configuration| split(&configuration.name, '#').len() > 1;
    one.name == other.name || (are_alike(one, other) && !labelled(one) && !labelled(other))
}

/// Made and mounted alike.
fn are_alike(one: &Configuration, other: &Configuration) -> bool {
    one.filesystem.name == other.filesystem.name
        && one.mkfs_options == other.mkfs_options
        && one.mount_options == other.mount_options
        && layers::are_alike(&one.layers, &other.layers)
        && one.own_disks == other.own_disks
        && match (&one.below, &other.below) {
            (Some(one), Some(other)) => are_alike(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
}

/// The first configuration once more, labelled `control`: differences up to the one between these two mean nothing.
/// `None` if nothing is compared or two are already alike.
pub fn control(configurations: &[Configuration]) -> Option<String> {
    let [first, _, ..] = configurations else { return None };
    let mut pairs = configurations
        .iter()
        .enumerate()
        .flat_map(|(at, one)| configurations[at + 1..].iter().map(move |other| (one, other)));
    let has_pair = pairs.any(|(one, other)| are_alike(one, other));
    let body = split(&first.name, '#')[0];
    let is_free = |name: &String| configurations.iter().all(|other| other.heading() != heading(name));
    let names =
        std::iter::once(format!("{body}#control")).chain((2..).map(|number| format!("{body}#control-{number}")));
    if has_pair { None } else { names.into_iter().find(is_free) }
}

/// `text` without the escaping backslashes.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match characters.peek() {
            Some(&next) if c == '\\' && ",+#@\\".contains(next) => {
                out.push(next);
                characters.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Whether a name can stand in `--fs` as it is.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

pub(crate) fn wrong(text: &str, reason: String) -> PlanError {
    PlanError::Configuration { text: text.to_owned(), reason }
}

/// What the catalogue knows to be broken on the file systems of these configurations.
pub(crate) fn known_faults(catalogue: &Catalogue, of: &[Configuration]) -> Vec<KnownFault> {
    let is_there = |fault: &&KnownFault| of.iter().any(|one| one.filesystem.name == fault.filesystem);
    catalogue.list::<KnownFault>().filter(is_there).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Result<Vec<Configuration>> {
        configurations(&Catalogue::built_in().unwrap(), &[text.to_owned()])
    }

    fn one(text: &str) -> Configuration {
        let mut all = all(text).unwrap();
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    #[test]
    fn names_variants_and_options_are_read() {
        let names: Vec<String> = all("ext4, xfs,ext3:data=journal").unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["ext4", "xfs", "ext3:data=journal"]);
        assert_eq!(one("ext3:data=journal").mount_options, ["data=journal"]);
        assert_eq!(one("ext4:mkfs=-O ^has_journal").mkfs_options, ["-O", "^has_journal"]);
        let both = one("ext4:data=writeback+mount=noatime+mkfs=-m 0");
        assert_eq!(
            (both.mount_options, both.mkfs_options),
            (vec!["data=writeback".into(), "noatime".into()], vec!["-m".into(), "0".into()])
        );
        assert_eq!(
            one(r"ext4:mkfs=-O ^has_journal\,^metadata_csum").mkfs_options,
            ["-O", "^has_journal,^metadata_csum"]
        );
        assert_eq!(one(r"ext4:mount=noatime\,nodiratime").mount_options, ["noatime", "nodiratime"]);
    }

    #[test]
    fn commands_hold_the_options_where_they_belong() {
        let configuration = one("ext4:mkfs=-m 0+mount=noatime");
        assert_eq!(configuration.mkfs_command("/dev/x"), ["mkfs.ext4", "-q", "-F", "-m", "0", "/dev/x"]);
        assert_eq!(
            configuration.mount_command("/dev/x", "/y"),
            ["mount", "-i", "-t", "ext4", "-o", "noatime", "/dev/x", "/y"]
        );
    }

    #[test]
    fn the_control_is_the_first_once_more() {
        let control = |text: &str| control(&all(text).unwrap());
        assert_eq!(control("ext3:data=journal,xfs").as_deref(), Some("ext3:data=journal#control"));
        assert_eq!(control("ext4#mine,xfs").as_deref(), Some("ext4#control"));
        assert_eq!(control("ext4,ext4:noatime#control").as_deref(), Some("ext4#control-2"));
        assert_eq!(control("xfs,ext4,ext4#again"), None);
        assert_eq!(control("xfs"), None);
    }

    #[test]
    fn doubles_need_a_label() {
        assert!(all("ext4,xfs,ext4").unwrap_err().to_string().contains("ext4#again"));
        assert!(
            all("ext4:noatime,ext4:mount=noatime")
                .unwrap_err()
                .to_string()
                .contains("made and mounted like ext4:noatime")
        );
        assert_eq!(all("ext4,ext4#again,ext4#third").unwrap().len(), 3);
        assert!(all("ext4#a,ext4#a").is_err());
        let alike = all("ext4:noatime#a,xfs#a,ext4:data=journal#a").unwrap_err().to_string();
        assert!(alike.contains("tables call it ext4#a, and ext4:noatime#a as well"), "{alike}");
        let many = |count: u32| all(&(0..count).map(|label| format!("ext4#{label},")).collect::<String>());
        assert_eq!(many(1000).unwrap().len(), 1000);
        assert!(many(1001).unwrap_err().to_string().contains("more than 1000"));
        for bad in ["ext4#", "ext4#a b", "ext4#a#b"] {
            assert!(all(bad).unwrap_err().to_string().contains("label"), "{bad}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(all("ext5").unwrap_err().to_string().contains("did you mean"));
        let unknown = all("ext3:data=jurnal").unwrap_err().to_string();
        assert!(unknown.contains("data=journal, data=ordered, data=writeback"), "{unknown}");
        for bad in
            ["", ",", "ext4:", "ext4:+noatime", "ext4:mkfs=", "ext4:mount=", "ext4:mount=a b", "ext4:noatime+noatime"]
        {
            assert!(all(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = all(&text);
        }

        #[test]
        fn parts_join_to_the_text(text in r"[a,+\\#:]{0,20}") {
            prop_assert_eq!(split(&text, ',').join(","), text);
        }
    }
}
