//! Reads all of a mounted file system.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use mountmark_crash::tree::{Entry, Kind, Run, Tree, node_target, words};

/// Names in the root that file systems make for themselves.
const OWN: [&str; 2] = ["lost+found", ".nilfs"];
/// Most bytes of a file that are read; workloads write less, so a larger file is damage.
const MOST_FILE: u64 = 64 << 20;
/// Most names that are read.
const MOST_NAMES: usize = 10_000;
/// Bytes read at once, a multiple of a word.
const PIECE: usize = 64 << 10;

pub(super) fn look(root: &Path) -> Tree {
    let mut tree = Tree::default();
    folder(root, "", &mut tree);
    tree.entries.sort_by(|a, b| a.path.cmp(&b.path));
    tree
}

/// How many names a repair has put into `lost+found`.
pub(super) fn lost(root: &Path) -> usize {
    fs::read_dir(root.join(OWN[0])).map_or(0, Iterator::count)
}

fn folder(root: &Path, path: &str, tree: &mut Tree) {
    let entries = match fs::read_dir(root.join(path)) {
        Ok(entries) => entries,
        Err(error) => return tree.unreadable.push((path.to_owned(), name(&error))),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return tree.unreadable.push((path.to_owned(), name(&error))),
        };
        let file = entry.file_name().to_string_lossy().into_owned();
        if path.is_empty() && OWN.contains(&file.as_str()) {
            continue;
        }
        if tree.entries.len() >= MOST_NAMES {
            return tree.unreadable.push((path.to_owned(), format!("more than {MOST_NAMES} names")));
        }
        let below = if path.is_empty() { file } else { format!("{path}/{file}") };
        match entry.metadata() {
            Ok(data) => {
                tree.entries.push(self::entry(&entry.path(), &below, &data));
                if data.is_dir() {
                    folder(root, &below, tree);
                }
            }
            Err(error) => tree.unreadable.push((below, name(&error))),
        }
    }
}

fn entry(place: &Path, path: &str, data: &Metadata) -> Entry {
    let kind = match data.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => Kind::Symlink,
        kind if kind.is_fifo() => Kind::Fifo,
        kind if kind.is_char_device() || kind.is_block_device() => Kind::DeviceNode,
        _ => Kind::Other,
    };
    let mut entry = Entry {
        path: path.to_owned(),
        inode: data.ino(),
        kind,
        mode: data.permissions().mode() & 0o7777,
        links: data.nlink(),
        size: data.len(),
        xattrs: Vec::new(),
        target: None,
        runs: Vec::new(),
        error: None,
    };
    let result = match kind {
        Kind::File => runs(place, data.len(), &mut entry.runs),
        Kind::Symlink => fs::read_link(place).map(|target| entry.target = Some(target.to_string_lossy().into_owned())),
        Kind::DeviceNode => {
            let device = data.rdev();
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            entry.target = Some(node_target(data.file_type().is_block_device(), major, minor));
            Ok(())
        }
        Kind::Folder | Kind::Fifo | Kind::Other => Ok(()),
    };
    let result = result.and_then(|()| if kind == Kind::Symlink { Ok(()) } else { xattrs(place, &mut entry.xattrs) });
    entry.error = result.err().map(|error| name(&error));
    entry
}

/// Where each byte of a file comes from.
fn runs(place: &Path, size: u64, runs: &mut Vec<Run>) -> io::Result<()> {
    if size > MOST_FILE {
        return Err(io::Error::other(format!("{size} bytes, more than any workload writes")));
    }
    let file = File::open(place)?;
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < size {
        let length = (size - at).min(PIECE as u64) as usize;
        file.read_exact_at(&mut buffer[..length], at)?;
        for (bytes, index) in buffer[..length].chunks(words::WORD as usize).zip(at / words::WORD..) {
            let mut word = [0; words::WORD as usize];
            word[..bytes.len()].copy_from_slice(bytes);
            let source = words::source(u64::from_le_bytes(word), index as u32);
            let length = bytes.len() as u64;
            match runs.last_mut().filter(|run| run.source == source) {
                Some(run) => run.length += length,
                None => runs.push(Run { length, source }),
            }
        }
        at += length as u64;
    }
    Ok(())
}

/// The extended attributes that users may set. A file system without any has none.
fn xattrs(place: &Path, found: &mut Vec<(String, String)>) -> io::Result<()> {
    let mut names = vec![0; 4096];
    let length = match rustix::fs::listxattr(place, &mut names) {
        Ok(length) => length,
        Err(rustix::io::Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names[..length].split(|byte| *byte == 0) {
        let Some(short) = name.strip_prefix(b"user.") else { continue };
        let mut value = vec![0; 65_536];
        let length = rustix::fs::getxattr(place, name, &mut value)?;
        found.push((String::from_utf8_lossy(short).into(), String::from_utf8_lossy(&value[..length]).into()));
    }
    found.sort();
    Ok(())
}

/// `EIO` and the like are what people look for.
fn name(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EIO) => "EIO".to_owned(),
        Some(libc::EUCLEAN) => "EUCLEAN".to_owned(),
        Some(libc::EBADMSG) => "EBADMSG".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use mountmark_crash::trace::poison;
    use mountmark_crash::tree::Source;

    use super::*;

    #[test]
    fn bytes_say_where_they_come_from() {
        let folder = tempfile::tempdir().unwrap();
        let word = |op, index| words::written(op, index).to_le_bytes();
        let mut bytes = Vec::new();
        (0..4).for_each(|index| bytes.extend(word(3, index)));
        bytes.extend([0; 16]);
        bytes.extend(word(4, 6));
        bytes.extend(word(4, 99));
        bytes.extend(poison::word(12_345).to_le_bytes());
        bytes.extend(*b"garbage!");
        bytes.extend(*b"odd");
        fs::create_dir(folder.path().join("A")).unwrap();
        fs::write(folder.path().join("A/foo"), &bytes).unwrap();
        std::os::unix::fs::symlink("foo", folder.path().join("A/link")).unwrap();
        let tree = look(folder.path());
        let paths: Vec<&str> = tree.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["A", "A/foo", "A/link"]);
        assert_eq!(tree.entries[2].target.as_deref(), Some("foo"));
        let runs: Vec<(u64, Source)> = tree.entries[1].runs.iter().map(|run| (run.length, run.source)).collect();
        let expected = [
            (32, Source::Op(3)),
            (16, Source::Zero),
            (8, Source::Op(4)),
            (8, Source::Moved(4)),
            (8, Source::Poison),
            (11, Source::Other),
        ];
        assert_eq!(runs, expected);
    }
}
