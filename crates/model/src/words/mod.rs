//! Which words may stand in commands that work as root on a real machine, beside the device under test.
//!
//! Options of mkfs, mount, checks and repairs can name a second device or a file, which the command would then write. Nobody
//! has looked at that device, and nobody has given up what it holds. So a word must be a setting by its shape, and stand where
//! the program takes a setting: what is not known to be one is refused, whether or not something of its name exists.

mod known;

use crate::Configuration;
use known::Known;

/// The device in commands of the catalogue.
const DEVICE: &str = "{device}";
/// Where a configuration's own arguments stand in its mkfs command.
const OPTIONS: &str = "{options}";
/// Last parts of names of settings whose value is a file or device.
const OF_FILES: [&str; 9] = ["devs", "devices", "file", "protofile", "folder", "loop", "name", "options", "source"];
/// Ends of such names.
const OF_FILES_END: [&str; 5] = ["dev", "device", "path", "dir", "helper"];
/// Settings without a value that make another file or device the one that is worked on.
const SWITCHES: [&str; 5] = ["loop", "file", "journal_dev", "bind", "rbind"];
/// Settings of mount(8) itself that do something else than mount the device here: its manual, FILESYSTEM-INDEPENDENT MOUNT
/// OPTIONS, THE LOOP-DEVICE SUPPORT, DM-VERITY SUPPORT.
const OF_MOUNT: [&str; 13] = [
    "move", "remount", "shared", "slave", "private", "unbindable", "rshared", "rslave", "rprivate", "runbindable",
    "offset", "sizelimit", "encryption",
];
/// Beginnings of such settings.
const OF_MOUNT_BEGIN: [&str; 4] = ["x-mount", "verity", "roothash", "make-"];
/// What libblkid finds a device by.
const TAGS: [&str; 5] = ["label", "uuid", "partlabel", "partuuid", "id"];

/// Why a configuration must not be made, mounted, checked or repaired on a real machine, as a sentence with its cure; `None`
/// if its commands reach nothing but the device under test. Plans of a store are held to it too: they may be a stranger's.
pub fn foreign(configuration: &Configuration) -> Option<String> {
    if let Some(reason) = needs_guest(configuration) {
        return Some(reason);
    }
    let found = mounting(configuration).or_else(|| commands(configuration))?;
    Some(format!(
        "{found}; on a real machine no option may name another file or device than the one under test, since nobody has looked \
         at what that holds; leave it away, or compare in a guest (--lab virtual), which has nothing to lose; nothing was \
         changed"
    ))
}

/// Why a configuration cannot be had where there is no guest.
fn needs_guest(configuration: &Configuration) -> Option<String> {
    let base = configuration.base();
    let has_own = |one: &Configuration| one.below.is_some() || one.filesystem.has_own_commands();
    (has_own(configuration) || has_own(base)).then(|| {
        format!(
            "{}, which has commands of its own, is made in guests alone: on a real disk nothing yet takes it down again after a \
             kill; leave it out, or take --lab virtual or --lab kvm",
            configuration.filesystem.name
        )
    })
}

fn mounting(configuration: &Configuration) -> Option<String> {
    let options = configuration.mount_options.iter().flat_map(|option| option.split(','));
    let mut wrong = options.filter_map(|option| Some(format!("mount={option}: {}", of_mount(option)?)));
    wrong.next()
}

fn of_mount(option: &str) -> Option<String> {
    let name = option.split('=').next().unwrap_or_default().to_lowercase();
    if OF_MOUNT.contains(&name.as_str()) || OF_MOUNT_BEGIN.iter().any(|begin| name.starts_with(begin)) {
        return Some(format!("{name} has mount do something else than mount the device under test"));
    }
    setting(option)
}

fn commands(configuration: &Configuration) -> Option<String> {
    let filesystem = &configuration.filesystem;
    let no: &[String] = &[];
    let recovery = filesystem.recovery.as_ref();
    let all = [
        ("mkfs", &filesystem.mkfs[..]),
        ("fsck", filesystem.fsck.as_ref().map_or(no, |fsck| &fsck.command)),
        ("crash: check", filesystem.crash.as_ref().map_or(no, |documented| &documented.check)),
        ("recovery: before_mount", recovery.map_or(no, |recovery| &recovery.before_mount)),
        ("recovery: repair", recovery.map_or(no, |recovery| &recovery.repair)),
    ];
    let given = configuration.mkfs_options.iter().chain(&filesystem.nodiscard).map(String::as_str).collect::<Vec<_>>();
    let mut wrong = all.into_iter().filter_map(|(field, command)| {
        let (program, rest) = command.split_first()?;
        let own = rest.iter().map(|word| Word { text: word, is_given: false });
        let words = own.flat_map(|word| match word.text {
            OPTIONS => given.iter().map(|text| Word { text, is_given: true }).collect(),
            _ => vec![word],
        });
        let (word, reason) = of_command(program, &words.collect::<Vec<_>>())?;
        let at = if word.is_given { "mkfs=".to_owned() } else { format!("the catalogue's {field}, ") };
        Some(format!("{at}{}: {reason}", word.text))
    });
    wrong.next()
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// Whether it is an option of the configuration, where the device's placeholder means nothing.
    is_given: bool,
}

/// The first word of a command that may reach something else, and why. It is read as getopt_long(3) does.
fn of_command<'a>(program: &str, words: &[Word<'a>]) -> Option<(Word<'a>, String)> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let (known, skipped) = Known::of(name, words.first().map(|word| word.text));
    let mut rest = words[skipped..].iter().copied();
    while let Some(word) = rest.next() {
        if word.text == DEVICE && !word.is_given {
            continue;
        }
        let takes = match option(known, name, word) {
            Err(reason) => return Some((word, reason)),
            Ok(takes) => takes,
        };
        let Some(value) = takes.then(|| rest.next()).flatten() else { continue };
        let is_device = value.text == DEVICE && !value.is_given;
        if let Some(reason) = setting(value.text).filter(|_| !is_device) {
            return Some((value, reason));
        }
    }
    None
}

/// Whether an option takes the next word as its value, or why it must not stand there.
fn option(known: Option<&Known>, program: &str, word: Word) -> Result<bool, String> {
    let unknown = |option: &str| match known {
        Some(_) => format!("{option} is no option of {program} that is known to take a setting and no file or device"),
        None => format!("what {option} means to {program} is not known here"),
    };
    let fine = |value: &str| match setting(value) {
        Some(_) if value == DEVICE && !word.is_given => Ok(()),
        Some(reason) => Err(reason),
        None => Ok(()),
    };
    let Some(rest) = word.text.strip_prefix('-').filter(|rest| !rest.is_empty() && *rest != "-") else {
        let reason = setting(word.text).unwrap_or_else(|| match known {
            Some(_) => format!("{program} takes a word that belongs to no option for a file or device"),
            None => format!(
                "{program} may take it for a file or device; a value is joined to its option (--name={})",
                word.text
            ),
        });
        return Err(reason);
    };
    if let Some(long) = rest.strip_prefix('-') {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let takes = match known {
            _ if !is_name => return Err(setting(long).unwrap_or_else(|| unknown(word.text))),
            None if value.is_some_and(|value| value != DEVICE) && is_of_files(name) => {
                return Err(format!("the value of --{name} is a file or device"));
            }
            None => false,
            Some(known) => known.long(name).ok_or_else(|| unknown(&format!("--{name}")))?,
        };
        value.map_or(Ok(()), fine)?;
        return Ok(takes && value.is_none());
    }
    let Some(known) = known else {
        // A letter, and its value or more letters.
        return fine(rest.char_indices().nth(1).map_or("", |(at, _)| &rest[at..])).map(|()| false);
    };
    for (at, letter) in rest.char_indices() {
        match known.short(letter) {
            None => return Err(unknown(&format!("-{letter}"))),
            Some(false) => {}
            Some(true) => {
                let value = &rest[at + letter.len_utf8()..];
                fine(value)?;
                return Ok(value.is_empty());
            }
        }
    }
    Ok(false)
}

/// Whether the value of this setting is a file or device.
fn is_of_files(name: &str) -> bool {
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or(name);
    OF_FILES.contains(&last) || OF_FILES_END.iter().any(|end| last.ends_with(end))
}

/// Why a word may be no setting; `None` if it names neither a file nor a device.
fn setting(text: &str) -> Option<String> {
    let fault = |what: &str| Some(what.to_owned());
    if text.contains('/') || text.starts_with('~') || text.split(',').any(|item| matches!(item, "." | "..")) {
        return fault("it holds a path");
    }
    let is_plain = |c: char| c.is_alphanumeric() || "_-.,:=+%^".contains(c);
    // `*` stands for everything in some settings; no command here goes through a shell.
    let is_plain_item =
        |item: &str| item.chars().all(is_plain) || item.split_once('=').is_some_and(|(_, value)| value == "*");
    if !text.split(',').all(is_plain_item) {
        return fault("it has characters that settings do without");
    }
    for item in text.split(',') {
        let (name, value) = item.split_once('=').map_or((item, None), |(name, value)| (name, Some(value)));
        let lower = name.to_lowercase();
        match value {
            None if SWITCHES.contains(&lower.as_str()) => {
                return Some(format!("{name} makes another file or device a part of it"));
            }
            Some(_) if TAGS.contains(&lower.as_str()) => return Some(format!("{name}= finds a device by its mark")),
            Some(_) if is_of_files(&lower) => return Some(format!("the value of {name}= is a file or device")),
            Some(value) if value.contains('=') => return fault("its value is a setting of something else"),
            _ => {}
        }
        if is_uuid(value.unwrap_or(name)) {
            return fault("a UUID can be that of another device");
        }
    }
    None
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests;
