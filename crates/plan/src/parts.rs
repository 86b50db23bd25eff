//! The parts behind the `:` of a configuration: variants, and options of the user's own.
//!
//! Two parts that cannot be together are refused: the later one would replace what the earlier one says, without a word.

use mountmark_model::{Configuration, FileSystem, Variant};

use crate::below;
use crate::configuration::plain;

/// A part behind the `:` of a configuration, and what it sets.
struct Part<'a> {
    text: &'a str,
    variant: Option<Variant>,
    mount: Vec<String>,
}

/// The parts of a configuration that were read so far.
#[derive(Default)]
pub(crate) struct Parts<'a>(Vec<Part<'a>>);

impl<'a> Parts<'a> {
    /// Adds a part: a variant, or mount options of the user's own.
    ///
    /// # Errors
    /// A sentence about the two that cannot be together.
    pub fn add(&mut self, text: &'a str, variant: Option<&Variant>, mount: &[String]) -> Result<(), String> {
        self.0.push(Part { text, variant: variant.cloned(), mount: mount.to_vec() });
        let Some((part, before)) = self.0.split_last() else { return Ok(()) };
        for other in before {
            if let Some(what) = replaced(other, part) {
                return Err(format!("{} and {} cannot be together: each has {what}", other.text, part.text));
            }
        }
        let all = self.0.iter().flat_map(|part| &part.mount);
        for option in &part.mount {
            if let Some(other) = all.clone().find(|other| contradict(other, option)) {
                return Err(format!("the mount options {other} and {option} contradict each other"));
            }
        }
        Ok(())
    }
}

/// What the one variant replaces of the other.
fn replaced(one: &Part, other: &Part) -> Option<&'static str> {
    let (one, other) = (one.variant.as_ref()?, other.variant.as_ref()?);
    let both = [
        (one.disks.is_some() && other.disks.is_some(), "disks of its own"),
        (!one.command.is_empty() && !other.command.is_empty(), "its own command that makes the file system"),
        (one.fsck.is_some() && other.fsck.is_some() && one.fsck != other.fsck, "its own check"),
        (one.recovery.is_some() && other.recovery.is_some() && one.recovery != other.recovery, "its own repair"),
    ];
    both.into_iter().find(|(is_it, _)| *is_it).map(|(_, what)| what)
}

/// `data=journal` and `data=ordered`, or `atime` and `noatime`.
fn contradict(one: &str, other: &str) -> bool {
    match (one.split_once('='), other.split_once('=')) {
        (Some((one, value)), Some((other, another))) => one == other && value != another,
        (None, None) => [(one, other), (other, one)].iter().any(|(yes, no)| no.strip_prefix("no") == Some(yes)),
        _ => false,
    }
}

/// Adds arguments of the user's own to the command that makes the file system.
pub(crate) fn own_mkfs(configuration: &mut Configuration, arguments: &str) -> Result<(), String> {
    if arguments.trim().is_empty() {
        return Err("mkfs= is followed by nothing; give arguments, such as mkfs=-O ^has_journal".into());
    }
    let filesystem = &configuration.filesystem;
    if !filesystem.mkfs.iter().any(|argument| argument == "{options}") {
        return Err(format!("the catalogue's mkfs command of {} takes no arguments", filesystem.name));
    }
    configuration.mkfs_options.extend(arguments.split_whitespace().map(plain));
    Ok(())
}

/// Adds mount options of the user's own, and returns them.
pub(crate) fn own_mount(configuration: &mut Configuration, options: &str) -> Result<Vec<String>, String> {
    let options = plain(options);
    if options.is_empty() || options.contains(char::is_whitespace) || options.split(',').any(str::is_empty) {
        return Err("mount= needs options without spaces, such as mount=noatime".into());
    }
    if !below::takes_mount_options(&configuration.filesystem) {
        return Err(format!("the catalogue's commands that mount {} take no options", configuration.filesystem.name));
    }
    let given: Vec<String> = options.split(',').map(str::to_owned).collect();
    configuration.mount_options.extend(given.clone());
    Ok(given)
}

/// Makes and mounts as the variant `part` says.
pub(crate) fn with_variant(configuration: &mut Configuration, part: &str, variant: Variant) -> Result<(), String> {
    if variant.disks.is_some() && !configuration.layers.is_empty() {
        return Err(format!("{part} takes disks itself, and layers make one device of them; leave one of both out"));
    }
    configuration.mkfs_options.extend(variant.mkfs);
    configuration.mount_options.extend(variant.mount);
    configuration.own_disks = variant.disks.or(configuration.own_disks);
    let filesystem = &mut configuration.filesystem;
    filesystem.tools.extend(variant.tools);
    filesystem.recovery = variant.recovery.or(filesystem.recovery.take());
    // A check of its own is that of images too: what `[crash]` has is the file system's without it.
    if let Some(crash) = filesystem.crash.as_mut().filter(|_| variant.fsck.is_some()) {
        crash.check.clear();
    }
    filesystem.fsck = variant.fsck.or(filesystem.fsck.take());
    if !variant.command.is_empty() {
        filesystem.mkfs = variant.command;
    }
    Ok(())
}

/// A variant by its name.
pub(crate) fn variant<'a>(filesystem: &'a FileSystem, name: &str) -> Result<&'a Variant, String> {
    filesystem.variants.get(name).ok_or_else(|| {
        let fs = &filesystem.name;
        let known = filesystem.variants.keys().cloned().collect::<Vec<_>>().join(", ");
        let known = match known.as_str() {
            "" => format!("{fs} has no variants"),
            known => format!("{fs} has the variants {known}"),
        };
        format!("{name:?} is no variant; {known}; options of your own are written mkfs=ARGUMENTS and mount=OPTIONS")
    })
}

#[cfg(test)]
mod tests {
    use crate::{Catalogue, configurations};

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let catalogue = Catalogue::built_in().unwrap();
        let all = |text: &str| configurations(&catalogue, &[text.to_owned()]).map_err(|error| error.to_string());
        for (text, says) in [
            ("xfs:realtime+external-log", "realtime and external-log cannot be together: each has disks of its own"),
            ("btrfs:raid1+raid0", "raid1 and raid0 cannot be together"),
            ("ext4:data=journal+data=ordered", "data=journal and data=ordered contradict each other"),
            ("ext4:data=journal+mount=data=ordered", "contradict each other"),
            (r"ext4:mount=commit=5\,commit=30", "commit=30 and commit=5 contradict each other"),
            ("ext4:noatime+mount=atime", "noatime and atime contradict each other"),
        ] {
            let error = all(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        for text in
            ["ext4:noatime+data=journal", r"xfs:external-log+mount=noatime\,logbsize=256k", "btrfs:raid1+noatime"]
        {
            assert!(all(text).is_ok(), "{text}: {:?}", all(text));
        }
    }
}
