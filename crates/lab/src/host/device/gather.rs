//! Gathers what is known about a device. It writes nothing.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use mountmark_job::{FileId, PATH};
use mountmark_model::{Bytes, Identity};

use super::backing::{self, BackingFile};
use super::facts::{Content, Facts, LeadsTo, Opened, Process, Relation, Relative, plain};
use super::mounts::{self, Uses};
use super::relatives::{self, fact, whole};
use super::{Examined, claims, drive, erase, look};
use crate::child;
use crate::host::contents;

/// Looks at a device and takes hold of it (O_EXCL), so that what was seen stays as it is.
pub fn examine(path: &Path) -> Examined {
    let mut facts = Facts { path: path.display().to_string(), leads_to: leads_to(path), ..Facts::default() };
    let Some(number) = mounts::number(path).filter(|_| facts.leads_to == LeadsTo::Device) else {
        return Examined { facts, claim: None, also: Vec::new() };
    };
    let Some(name) = relatives::name_of(&number) else {
        facts.leads_to = LeadsTo::Unknown("it is not in /sys/dev/block".into());
        return Examined { facts, claim: None, also: Vec::new() };
    };
    facts.identity = identity(path, &name);
    facts.read_only = fact(&name, "ro") == "1" || whole(&name).is_some_and(|whole| fact(&whole, "ro") == "1");
    // Held first: what is found then stays true.
    let claim = match exclusive(path) {
        // A path may lead elsewhere meanwhile.
        Ok(file) if claims::is_device(&file, &number).is_err() => {
            facts.leads_to = LeadsTo::Changed;
            return Examined { facts, claim: None, also: Vec::new() };
        }
        Ok(file) => Some(file),
        Err(error) => {
            facts.opened = Opened::of(&error);
            None
        }
    };
    let family = relatives::all(&name);
    let also = claims::take(&family);
    facts.unknown_loops = relatives::unknown_loops(&family);
    let uses = Uses::read();
    let one = |(name, relation): &(String, Relation)| {
        let opened = also.get(name).and_then(|taken| taken.as_ref().err().cloned()).unwrap_or_default();
        Relative { opened, ..relative(name, *relation, &uses) }
    };
    facts.relatives = family.iter().map(one).collect();
    add_writers(&mut facts, &backing::files(&family));
    read(&mut facts, path, claim.as_ref());
    let also = also.into_iter().filter_map(|(name, taken)| Some((name, taken.ok()?))).collect();
    Examined { facts, claim, also }
}

/// Who else may write it, or what it lies on.
fn add_writers(facts: &mut Facts, files: &[BackingFile]) {
    let numbers = |is_wanted: &dyn Fn(Relation) -> bool| -> Vec<String> {
        let wanted = facts.relatives.iter().filter(|relative| is_wanted(relative.relation));
        wanted.map(|relative| relative.number.clone()).collect()
    };
    let is_own = |relation| matches!(relation, Relation::Itself | Relation::Partition | Relation::Above);
    // A mapping's disks have other volumes, which their programs write.
    let is_below = |relation| matches!(relation, Relation::Whole | Relation::Backing | Relation::Path);
    let (own, below) = (numbers(&is_own), numbers(&is_below));
    let named = facts.relatives.iter().filter(|relative| is_below(relative.relation));
    let names = named.map(|relative| relative.name.clone());
    let names = names.chain(files.iter().map(|file| file.path.display().to_string())).collect();
    let ids: Vec<FileId> = files.iter().map(|file| file.id.clone()).collect();
    facts.writers = lasting_writers(&own, &[]);
    facts.writers_below = (names, lasting_writers(&below, &ids));
    let used = files.iter().filter_map(|file| Some((file.path.display().to_string(), file.used()?)));
    facts.used_files = used.collect();
}

/// Processes that keep one of these devices or files open for writing. `losetup -f` and programs of udev open each device for a
/// moment to look at it.
fn lasting_writers(numbers: &[String], files: &[FileId]) -> Vec<Process> {
    const LOOKS: u32 = 5;
    for _ in 1..LOOKS {
        let writers = mounts::writers(numbers, files);
        if writers.is_empty() {
            return writers;
        }
        thread::sleep(Duration::from_millis(200));
    }
    mounts::writers(numbers, files)
}

fn leads_to(path: &Path) -> LeadsTo {
    let data = match fs::metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::read_link(path) {
                Ok(target) => LeadsTo::Dangling(target.display().to_string()),
                Err(_) => LeadsTo::Nothing,
            };
        }
        Err(error) => return LeadsTo::Unknown(plain(&error)),
    };
    let kind = data.file_type();
    let other = match () {
        () if kind.is_block_device() => return LeadsTo::Device,
        () if kind.is_dir() => "a folder",
        () if kind.is_char_device() => "a character device",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a file",
    };
    LeadsTo::Other(other)
}

/// Opens a device for this program alone. Reading is enough: a kernel may refuse to mount what is open for writing.
///
/// # Errors
/// EBUSY if it is mounted, swap, part of an array or a volume, or opened like this by another program.
pub(super) fn exclusive(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(path)
}

fn relative(name: &str, relation: Relation, uses: &Uses) -> Relative {
    let number = fact(name, "dev");
    Relative {
        name: name.to_owned(),
        relation,
        sort: relatives::sort(name),
        mounts: uses.mounts(&number),
        is_swap: uses.is_swap(&number),
        member_of: mounts::member_of(name),
        array: uses.array(name),
        opened: Opened::Held,
        number,
    }
}

/// What tells a device from others.
pub(super) fn identity(path: &Path, name: &str) -> Identity {
    let disk = whole(name).unwrap_or_else(|| name.to_owned());
    let part = fact(name, "partition");
    let first = |files: &[&str]| {
        let found = files.iter().map(|file| fact(&disk, file)).find(|text| !text.is_empty());
        found.unwrap_or_default()
    };
    let mut serial = drive::serial(&disk);
    if serial.is_empty() {
        serial = first(&["dm/uuid", "md/uuid", "loop/backing_file"]);
    }
    if !serial.is_empty() && !part.is_empty() {
        serial += &format!("-part{part}");
    }
    let sectors: u64 = fact(name, "size").parse().unwrap_or(0);
    let model = [first(&["device/vendor"]), first(&["device/model"])];
    Identity {
        path: path.display().to_string(),
        name: name.to_owned(),
        number: fact(name, "dev"),
        sort: relatives::sort(name),
        // A vendor in hexadecimal is the number of a bus.
        model: model
            .iter()
            .filter(|text| !text.starts_with("0x"))
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .into(),
        serial,
        wwid: if part.is_empty() { first(&["wwid", "device/wwid"]) } else { String::new() },
        size: Bytes(sectors.saturating_mul(512)),
        ground: relatives::ground(name),
        diskseq: fact(&disk, "diskseq").parse().unwrap_or(0),
        rotational: fact(&disk, "queue/rotational") == "1",
    }
}

/// Reads what is on the device.
fn read(facts: &mut Facts, path: &Path, claim: Option<&File>) {
    if matches!(facts.opened, Opened::NoMedium | Opened::Denied) {
        return;
    }
    let shared = || OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let opened;
    let file = match claim {
        Some(file) => file,
        None => match shared() {
            Ok(file) => {
                opened = file;
                &opened
            }
            Err(_) => return,
        },
    };
    // A file description of its own has its own read-ahead.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
    let size = facts.identity.size.0;
    let is_marked = erase::is_marked(file);
    let found = contents::all(file).and_then(|marks| Ok((marks, look::first_data(file, size, is_marked)?)));
    let (marks, data) = match found {
        Ok(found) => found,
        Err(error) => {
            facts.unreadable = Some(plain(&error));
            return;
        }
    };
    facts.data = data;
    let listed = wipefs(path);
    let last = last_mounted(file).filter(|_| marks.iter().any(|(_, at)| *at == 1080));
    // A kind has copies of its marks, and one name is enough.
    let is_listed = |at: u64| listed.iter().any(|(offset, _)| *offset == at);
    let mut named: Vec<&str> = marks.iter().filter(|(_, at)| is_listed(*at)).map(|(name, _)| *name).collect();
    for (name, _) in marks {
        if !named.contains(&name) {
            named.push(name);
            facts.contents.push(Content { about: name.to_owned(), uuid: None });
        }
    }
    // What a program knows by name and UUID comes first.
    facts.contents.splice(0..0, listed.into_iter().map(|(_, content)| content));
    facts.is_scratch = is_marked && facts.contents.is_empty() && facts.data.is_none();
    if let (Some(point), Some(content)) = (last, facts.contents.first_mut()) {
        content.about += &format!(", last mounted at {point}");
    }
    let text = fs::read_to_string("/etc/fstab").unwrap_or_default();
    let names: Vec<String> = facts.contents.iter().filter_map(|content| content.uuid.clone()).collect();
    let own = fs::metadata(path).map(|data| data.rdev()).ok();
    facts.fstab = mounts::fstab(&text, &names, |other| {
        fs::metadata(other).is_ok_and(|data| data.file_type().is_block_device() && Some(data.rdev()) == own)
    });
}

/// What libblkid knows, by wipefs(8): offset and contents. Nothing if the program is missing.
fn wipefs(path: &Path) -> Vec<(u64, Content)> {
    let mut command = Command::new("wipefs");
    command.args(["--no-act", "--parsable"]).arg(path).env("PATH", PATH).env("LC_ALL", "C");
    let output = child::output(&mut command, child::QUICK);
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(listed).collect()
}

/// `0x438,6d7b-...,home,ext4`
fn listed(line: &str) -> Option<(u64, Content)> {
    let mut fields = line.split(',');
    let offset = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
    let [uuid, label, kind] = [fields.next()?, fields.next()?, fields.next()?].map(|text| text.replace("\\x20", " "));
    let parts =
        [("label ", &label), ("UUID ", &uuid)].map(|(what, text)| (!text.is_empty()).then(|| format!("{what}{text}")));
    let known: Vec<String> = parts.into_iter().flatten().collect();
    let about = if known.is_empty() { kind } else { format!("{kind} ({})", known.join(", ")) };
    Some((offset, Content { about, uuid: Some(uuid).filter(|uuid| !uuid.is_empty()) }))
}

/// Where a file system of the ext family was mounted last (`s_last_mounted`).
fn last_mounted(file: &File) -> Option<String> {
    let mut text = [0; 64];
    file.read_exact_at(&mut text, 1024 + 0x88).ok()?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let point = String::from_utf8_lossy(&text[..end]).into_owned();
    point.starts_with('/').then_some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("gone", &link).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        for (path, wanted) in [
            (folder.path().join("none"), LeadsTo::Nothing),
            (link, LeadsTo::Dangling("gone".into())),
            (folder.path().into(), LeadsTo::Other("a folder")),
            (file, LeadsTo::Other("a file")),
            ("/dev/null".into(), LeadsTo::Other("a character device")),
        ] {
            let examined = examine(&path);
            assert_eq!(examined.facts.leads_to, wanted, "{}", path.display());
            assert!(examined.claim.is_none());
        }
    }

    #[test]
    fn wipefs_names_kind_label_and_uuid() {
        let (at, content) = listed("0x438,6d7b-1,my\\x20home,ext4").unwrap();
        assert_eq!((at, content.about.as_str()), (0x438, "ext4 (label my home, UUID 6d7b-1)"));
        assert_eq!(content.uuid.as_deref(), Some("6d7b-1"));
        assert_eq!(listed("0x1fe,,,dos").unwrap().1, Content { about: "dos".into(), uuid: None });
        assert_eq!(listed("# offset,uuid,label,type"), None);
    }
}
