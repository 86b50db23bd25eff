//! What is wrong with a file system's own commands, and with one that lies on a folder.

use mountmark_model::{FileSystem, names};

use crate::check::null;

/// Words that what is there before a file system below is mounted cannot have.
const EARLY: [&str; 2] = ["attach", "detach"];

pub(crate) fn faults(fs: &FileSystem) -> Vec<String> {
    let mut faults = Vec::new();
    for (field, commands) in fs.own_commands() {
        for command in commands {
            match command.first() {
                Some(program) => names::list(field, std::slice::from_ref(program), names::program, &mut faults),
                None => faults.push(format!("{field}: a command is empty")),
            }
            faults.extend(command.iter().find_map(|word| null(field, word)));
            faults.extend(words(fs, field, command));
        }
    }
    faults.extend(words(fs, "mkfs", &fs.mkfs));
    let has = |commands: &[Vec<String>], word: &str| commands.iter().flatten().any(|part| part.contains(word));
    if fs.mount.is_empty() != fs.unmount.is_empty() {
        let (given, lacking) = if fs.mount.is_empty() { ("unmount", "mount") } else { ("mount", "unmount") };
        faults.push(format!("there is {given} and no {lacking}: give both, or neither, for mount(8) and umount(8)"));
    }
    if !fs.mount.is_empty() && !has(&fs.mount, "{folder}") && !fs.mkfs.iter().any(|part| part.contains("{folder}")) {
        faults.push("mount: neither a command of it nor mkfs has {folder}, where it must be mounted".into());
    }
    if fs.attach.is_empty() != fs.detach.is_empty() {
        let (given, lacking) = if fs.attach.is_empty() { ("detach", "attach") } else { ("attach", "detach") };
        faults
            .push(format!("there is {given} and no {lacking}: what is made before mounting must be taken away again"));
    }
    if fs.below.is_some() {
        faults.extend(on_folder(fs));
    }
    faults
}

/// A file system that lies on a folder.
fn on_folder(fs: &FileSystem) -> Vec<String> {
    let mut faults = Vec::new();
    if !fs.mkfs.iter().any(|word| word.contains("{below}")) {
        faults.push(
            "mkfs must be a command with {below} in it, the folder that it lies on; it may only make a folder".into(),
        );
    }
    if fs.module_source.is_some() {
        faults
            .push("module_source: modules are built for file systems on devices, and this one lies on a folder".into());
    }
    if fs.mount.is_empty() {
        faults.push("it lies on a folder, which mount(8) alone does not mount: give mount and unmount".into());
    }
    let of_device = [
        ("[fsck]", fs.fsck.is_some()),
        ("no_fsck", fs.no_fsck.is_some()),
        ("[recovery]", fs.recovery.is_some()),
        ("[crash]", fs.crash.is_some()),
        ("nodiscard", !fs.nodiscard.is_empty()),
        ("disks of a variant", fs.variants.values().any(|variant| variant.disks.is_some())),
    ];
    for (field, _) in of_device.iter().filter(|(_, is_given)| *is_given) {
        faults.push(format!(
            "{field}: a device is checked, repaired and made of disks, and this one lies on a folder: leave it out"
        ));
    }
    faults
}

/// Words in braces that commands of this field do not get.
fn words(fs: &FileSystem, field: &str, command: &[String]) -> Vec<String> {
    let is_folder = fs.below.is_some();
    let mut faults = Vec::new();
    for part in command {
        for word in braced(part) {
            let fault = match word {
                _ if !FileSystem::WORDS.contains(&word) => format!("; words are {}", FileSystem::WORDS.join(", ")),
                "below" if !is_folder => ", since it does not lie on a folder: it has no `below`".into(),
                "below" if EARLY.contains(&field) => ", since the file system below is not mounted then".into(),
                "device" | "devices" if is_folder => ", since it lies on a folder".into(),
                "options" if !["mkfs", "mount"].contains(&field) => ": only mkfs and mount have options".into(),
                "options" | "devices" if part.len() != word.len() + 2 => ": it must be an argument of its own".into(),
                _ => continue,
            };
            faults.push(format!("{field}: {{{word}}} stands for nothing here{fault}"));
        }
    }
    faults
}

/// What stands in braces as placeholders do: a word. A shell's `${name}` is not one.
pub(crate) fn braced(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with('$')).filter_map(|(at, _)| {
        let (word, _) = text[at + 1..].split_once('}')?;
        let is_part = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"_-".contains(&letter);
        (word.starts_with(|first: char| first.is_ascii_lowercase()) && word.bytes().all(is_part)).then_some(word)
    })
}

#[cfg(test)]
mod tests;
