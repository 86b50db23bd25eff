//! What is wrong with a file of `catalog/filesystems/`.

use mountmark_model::promises::{Documented, SyncedLost};
use mountmark_model::{FileSystem, TuningOption, facts, names};

use super::own_steps::{braced, faults as own_steps};
use crate::bounds::is_word;
use crate::check::null;
use crate::option_levels::DEFAULTS;
use crate::restart;

/// Promises have sources.
fn crash(documented: &Documented, faults: &mut Vec<String>) {
    for level in documented.levels.iter().filter(|level| !documented.sources.contains_key(&level.to_string())) {
        faults.push(format!("crash: {level} is promised; say in [crash.sources] where"));
    }
    if let Some(name) = documented.harmless.iter().find(|name| documented.options.contains_key(*name)) {
        faults.push(format!("crash: {name} is in `harmless` and changes promises; keep one"));
    }
}

/// What is wrong with a file of `catalog/filesystems/`.
pub(crate) fn faults(fs: &FileSystem) -> Vec<String> {
    let mut faults = Vec::new();
    if !is_word(&fs.name) {
        faults.push(format!("the name {:?} must be made of letters, digits, - and _", fs.name));
    }
    names::list("packages", &fs.packages, names::package, &mut faults);
    names::list("tools", &fs.tools, names::program, &mut faults);
    names::list("modules", &fs.modules, names::module, &mut faults);
    names::list("kernel_options", &fs.kernel_options, names::kernel_option, &mut faults);
    names::list("module_source", fs.module_source.as_slice(), names::module_source, &mut faults);
    names::list("component", fs.component.as_slice(), names::component, &mut faults);
    names::list("mount_type", std::slice::from_ref(&fs.mount_type), names::mount_type, &mut faults);
    let commands = [("mkfs", Some(&fs.mkfs)), ("fsck", fs.fsck.as_ref().map(|fsck| &fsck.command))];
    for (field, program) in commands.iter().filter_map(|(field, command)| Some((*field, command.as_ref()?.first()?))) {
        names::list(field, std::slice::from_ref(program), names::program, &mut faults);
    }
    for (field, words) in commands.iter().filter_map(|(field, command)| Some((*field, command.as_ref()?))) {
        faults.extend(words.iter().find_map(|word| null(field, word)));
    }
    for recovery in fs.recovery.iter().chain(fs.variants.values().filter_map(|variant| variant.recovery.as_ref())) {
        faults.extend(restart::faults(recovery));
    }
    if fs.unavailable.is_none() {
        if fs.below.is_none() && !device(&fs.mkfs) {
            faults.push("mkfs must be a command with {device} in it; or say in `unavailable` why there is none".into());
        }
        match (&fs.fsck, &fs.no_fsck) {
            _ if fs.below.is_some() => {}
            (None, None) => faults.push("there is neither an [fsck] nor a sentence in no_fsck".into()),
            (Some(_), Some(_)) => faults.push("there is both an [fsck] and a no_fsck; keep one".into()),
            _ => {}
        }
        if fs.min_size.0 == 0 {
            faults.push("min_size is 0; give the smallest device that mkfs accepts and that can be mounted".into());
        }
    }
    fsck(fs, &mut faults);
    faults.extend(own_steps(fs));
    faults.extend(fs.synced_lost.iter().filter_map(SyncedLost::fault));
    faults.extend(facts::faults(&fs.facts));
    faults.extend(fs.tuning.iter().filter_map(TuningOption::fault));
    if let Some(max) = fs.max_size.filter(|max| *max < fs.min_size) {
        faults.push(format!("max_size ({max}) is below min_size ({})", fs.min_size));
    }
    if let Some(roomy) = fs.roomy_size.filter(|roomy| *roomy < fs.min_size) {
        faults.push(format!("roomy_size ({roomy}) is below min_size ({})", fs.min_size));
    }
    if !fs.nodiscard.is_empty() && !takes_options(fs) {
        faults.push("nodiscard has arguments for mkfs, but mkfs has no \"{options}\" to put them".to_owned());
    }
    variants(fs, &mut faults);
    faults
}

/// Whether the command has a place for the device.
fn device(command: &[String]) -> bool {
    command.iter().any(|argument| argument.contains("{device}") || argument == "{devices}")
}

/// Whether mkfs has a place for further options.
fn takes_options(fs: &FileSystem) -> bool {
    fs.mkfs.iter().any(|argument| argument == "{options}")
}

/// The checks after a run and after a power cut.
fn fsck(fs: &FileSystem, faults: &mut Vec<String>) {
    if let Some(fsck) = &fs.fsck {
        if !device(&fsck.command) {
            faults.push("fsck: command must have {device} in it".into());
        }
        if fsck.clean.is_empty() {
            faults.push("fsck: clean is empty; list the exit codes that mean that nothing wrong was found".into());
        }
        for code in fsck.meaning.keys().filter(|code| code.parse::<i32>().is_err()) {
            faults.push(format!("fsck: meaning has the key {code:?}, which is no exit code"));
        }
    }
    if let Some(documented) = &fs.crash {
        crash(documented, faults);
        let program = fs.fsck.as_ref().and_then(|fsck| fsck.command.first());
        if !documented.check.is_empty() && (!device(&documented.check) || documented.check.first() != program) {
            faults.push("crash: check must have {device} in it and start the program of [fsck]".into());
        }
    }
}

fn variants(fs: &FileSystem, faults: &mut Vec<String>) {
    for (name, variant) in &fs.variants {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.".contains(c));
        if name.is_empty() || !plain || name.starts_with("mkfs=") || name.starts_with("mount=") {
            faults.push(format!(
                "variant {name:?}: a name is made of letters, digits, - _ . and =, and mkfs= and mount= are taken"
            ));
        }
        if name == DEFAULTS {
            faults.push(format!("variant {name:?}: --options has that word for the file system as it is"));
        }
        if variant.disks.is_some_and(|disks| !(2..=16).contains(&disks)) {
            faults.push(format!("variant {name:?}: disks is a number from 2 to 16"));
        }
        let words = variant.mkfs.iter().chain(&variant.command).chain(&variant.mount);
        if words.into_iter().any(|word| word.contains("{second}")) && variant.disks != Some(2) {
            faults.push(format!("variant {name:?} names {{second}}: disks is 2"));
        }
        let words = variant.mkfs.iter().chain(&variant.command).chain(&variant.mount);
        let is_known = |word: &&str| *word == "second" || FileSystem::WORDS.contains(word);
        for word in words.flat_map(|word| braced(word)).filter(|word| !is_known(word)) {
            faults.push(format!("variant {name:?}: {{{word}}} stands for nothing here"));
        }
        if !variant.command.is_empty() && fs.below.is_none() && !device(&variant.command) {
            faults.push(format!("variant {name:?}: command must have {{device}} in it"));
        }
        if variant.mkfs.is_empty() && variant.mount.is_empty() && variant.command.is_empty() {
            faults.push(format!("variant {name:?} changes nothing: give it mkfs or mount"));
        }
        if !variant.mkfs.is_empty() && !takes_options(fs) {
            faults
                .push(format!("variant {name:?} has arguments for mkfs, but mkfs has no \"{{options}}\" to put them"));
        }
    }
}
