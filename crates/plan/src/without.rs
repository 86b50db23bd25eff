//! What an option that `mountmark advise` tries takes away.
//!
//! `without`, beside `option` in an `[[option]]`, lists the topics of `[facts]` that a file system has without the option
//! alone. Such an option is not tried if a `--need` is among them.
//!
//! ```toml
//! [[option]]
//! option = "mount=nodatacow"
//! without = ["checksums", "compression"]
//! ```

use std::collections::BTreeMap;

use mountmark_model::FileSystem;
use mountmark_model::facts::Topic;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// Its key in a file. Guests know nothing of it, so that it is kept apart from what they read.
const KEY: &str = "without";

/// What options of a file system take away, by option.
pub(crate) type Without = BTreeMap<String, Vec<Topic>>;

/// What the text of a file system says of it.
pub(crate) fn of(text: &str) -> Result<Without, Error> {
    #[derive(Deserialize)]
    struct Written {
        #[serde(default)]
        option: Vec<One>,
    }
    #[derive(Deserialize)]
    struct One {
        option: String,
        #[serde(default)]
        without: Vec<Topic>,
    }
    let written: Written = toml::from_str(text)?;
    let some = written.option.into_iter().filter(|one| !one.without.is_empty());
    Ok(some.map(|one| (one.option, one.without)).collect())
}

/// The rest of what is written, with its places.
pub(crate) fn rest(text: &str) -> Result<Spanned<DeTable<'_>>, Error> {
    let mut written = DeTable::parse(text)?;
    for (key, value) in written.get_mut().iter_mut() {
        let DeValue::Array(options) = value.get_mut() else { continue };
        for option in options.iter_mut().filter(|_| key.get_ref() == "option") {
            if let DeValue::Table(option) = option.get_mut() {
                option.remove(KEY);
            }
        }
    }
    Ok(written)
}

/// What is wrong with it, a sentence each.
pub(crate) fn faults<'a>(of: &'a Without, filesystem: &'a FileSystem) -> impl Iterator<Item = String> + 'a {
    let all = of.iter().flat_map(|(option, topics)| topics.iter().map(move |topic| (option, *topic)));
    let has = |topic: Topic| filesystem.facts.get(&topic).is_some_and(|fact| fact.is_met() == Some(true));
    all.filter(move |(_, topic)| !has(*topic)).map(|(option, topic)| {
        format!("option {option}: {KEY}: [facts] do not say that it has {:?} otherwise; leave it out", topic.title())
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Catalogue;

    const TEXT: &str = r#"
name = "mine"
about = "mine"
mount_type = "mine"
modules = []
mkfs = ["mkfs.mine", "{options}", "{device}"]
min_size = "8 MiB"
no_fsck = "None."

[facts.reflink]
says = "yes"
source = "here"
date = "2026-11-30"

[[option]]
option = "mkfs=-x"
about = "it"
without = ["reflink"]
source = "here"
date = "2026-11-30"
"#;

    #[test]
    fn options_take_away_what_a_file_says() {
        let catalogue = Catalogue::built_in().unwrap();
        assert_eq!(catalogue.without("btrfs", "mount=nodatacow"), [Topic::Checksums, Topic::Compression]);
        assert_eq!(catalogue.without("xfs", "mkfs=-m reflink=0"), [Topic::Reflink]);
        assert!(catalogue.without("btrfs", "noatime").is_empty() && catalogue.without("nosuch", "x").is_empty());
        let of = |text: &str| {
            let mut catalogue = Catalogue::default();
            catalogue.add::<FileSystem>(text, Path::new("mine.toml")).map_err(|error| error.to_string())?;
            Ok::<_, String>(catalogue.without("mine", "mkfs=-x").to_vec())
        };
        assert_eq!(of(TEXT).unwrap(), [Topic::Reflink]);
        let unknown = of(&TEXT.replace("[\"reflink\"]", "[\"speed\"]")).unwrap_err();
        assert!(unknown.contains("mine.toml:18:12: unknown variant `speed`"), "{unknown}");
        let lacking = of(&TEXT.replace("\"yes\"", "\"no\"")).unwrap_err();
        assert!(lacking.contains("otherwise; leave it out"), "{lacking}");
        let other = of(&TEXT.replace("without =", "lacking =")).unwrap_err();
        assert!(other.contains("mine.toml:18:1: unknown field `lacking`"), "{other}");
    }
}
