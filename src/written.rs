//! Files that a user names for what is written. What is wrong with one is said before anything is measured.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use mountmark_document::forms::Subject;
use mountmark_document::writers::Options;
use mountmark_findings::Format;
use tempfile::NamedTempFile;

use crate::common::WrongUse;

/// Number of bytes that identify a file of this program: the longest mark follows a short head.
const START: u64 = 4096;

/// Refuses a file that could not be written, and one that holds what `is_ours` does not know by its start: `what` is none
/// of the kind that is written. Pipes, terminals and empty files may be written, other devices may not.
pub fn check(option: &str, path: &Path, what: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<()> {
    let shown = path.display();
    if path.as_os_str() == "-" {
        bail!(WrongUse(format!("{option} -: this is not written to standard output: name a file")));
    }
    match fs::metadata(path) {
        Ok(about) if about.is_dir() => bail!(WrongUse(format!("{option} {shown} is a folder: name a file in it"))),
        Ok(about) if !about.is_file() => {
            let refusal =
                |what| WrongUse(format!("{option} {shown} is {what}, whose contents would be lost: name a file"));
            return device(&about).map_or(Ok(()), |what| Err(refusal(what).into()));
        }
        Ok(about) if about.len() > 0 && !is_ours(&start(path)?) => {
            bail!(WrongUse(format!("{shown} is there already and is no {what}: name another file, or remove it")))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot look at {shown}"));
        }
        _ => {}
    }
    let (part, whole) = part_of(path)?;
    match fs::metadata(&whole) {
        Ok(about) => keep_owner(part.as_file(), &about, path),
        Err(_) => Ok(()),
    }
}

/// Gives the file that replaces another one that one's owner and group, as root can.
fn keep_owner(part: &File, about: &Metadata, path: &Path) -> Result<()> {
    let shown = path.display();
    let new = part.metadata().with_context(|| format!("cannot write {shown}"))?;
    if (new.uid(), new.gid()) == (about.uid(), about.gid()) {
        return Ok(());
    }
    match fchown(part, Some(about.uid()), Some(about.gid())) {
        Err(error) if new.uid() != about.uid() => Err(error).with_context(|| {
            format!("cannot write {shown}: it belongs to user {}, and would not any more", about.uid())
        }),
        _ => Ok(()),
    }
}

/// What holds data and is no file: a disk, or a device such as a tape. Terminals and `/dev/null` hold none.
fn device(about: &Metadata) -> Option<&'static str> {
    let (major, minor) = (libc::major(about.rdev()), libc::minor(about.rdev()));
    // Linux, Documentation/admin-guide/devices.txt: null, zero and full; terminals, also of serial ports and hypervisors.
    let holds_nothing = matches!((major, minor), (1, 3 | 5 | 7) | (4 | 5 | 136..=143 | 188 | 204 | 229, _));
    match about.file_type() {
        kind if kind.is_block_device() => Some("a disk"),
        kind if kind.is_char_device() && !holds_nothing => Some("a device"),
        _ => None,
    }
}

/// Refuses to write an image or a log over what is there.
pub fn free(option: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    if fs::metadata(path).is_ok_and(|about| about.file_type().is_char_device()) {
        bail!(WrongUse(format!("{option} {} is a device, which holds no image or log: name a file", path.display())));
    }
    check(option, path, "empty file", &|_| false)
}

fn start(path: &Path) -> Result<String> {
    let mut start = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot read {}, which is there already", path.display()))?;
    file.take(START).read_to_end(&mut start).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&start).into_owned())
}

/// The whole paths of files of `--also`, and the formats that their endings name.
///
/// `starts` are the beginnings of what programs read, by the names of formats; documents for people have marks.
///
/// # Errors
/// An ending of no format that the subject has, a file that is named twice, and as [`check`].
pub fn also<S: Subject>(paths: &[PathBuf], starts: &[(&str, &str)]) -> Result<Vec<(PathBuf, Format)>> {
    let one = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = Format::by_ending::<S>(ending).ok_or_else(|| {
            let endings: Vec<String> = Format::all::<S>()
                .filter(|format| Format::by_ending::<S>(format.ending()).is_some_and(|one| one.name() == format.name()))
                .map(|format| format!(".{}", format.ending()))
                .collect();
            let (path, endings) = (path.display(), endings.join(", "));
            WrongUse(format!("--also {path}: its ending names no format that this has; there are {endings}"))
        })?;
        let begins = starts.iter().find(|(name, _)| *name == format.name());
        let is_ours = |text: &str| begins.map_or_else(|| format.is_ours(text), |(_, start)| text.starts_with(start));
        check("--also", path, &format!("{} report", format.name()), &is_ours)?;
        Ok((std::path::absolute(path)?, format))
    };
    let files: Vec<(PathBuf, Format)> = paths.iter().map(one).collect::<Result<_>>()?;
    for (at, (path, _)) in files.iter().enumerate() {
        if files[..at].iter().any(|(before, _)| before == path) {
            bail!(WrongUse(format!("--also {} is there twice", path.display())));
        }
    }
    Ok(files)
}

/// Writes a file of [`also`].
pub fn write_also<S: Subject>(path: &Path, format: Format, subject: &S) -> Result<()> {
    write_whole(path, &format.write_marked(subject, &Options::default())?)
}

/// Writes a file whole or not at all, even on a power failure. Pipes and terminals are written directly, other devices never.
pub fn write_whole(path: &Path, text: &str) -> Result<()> {
    let context = || format!("cannot write {}", path.display());
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        let mut file = File::options().write(true).open(path).with_context(context)?;
        let about = file.metadata().with_context(context)?;
        // A regular file is not written over from its start: it came to lie there just now.
        if let Some(what) = device(&about).or(about.is_file().then_some("another file by now")) {
            return Err(anyhow!("it is {what}, whose contents would be lost")).with_context(context);
        }
        return match file.write_all(text.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.with_context(context),
        };
    }
    let (mut part, whole) = part_of(path)?;
    // What others may not read stays so, and a file that is replaced by root stays its user's.
    if let Ok(about) = fs::metadata(&whole) {
        keep_owner(part.as_file(), &about, path)?;
        part.as_file().set_permissions(about.permissions()).with_context(context)?;
    }
    part.write_all(text.as_bytes()).with_context(context)?;
    // Some file systems say only now that a disk is full, and after a power cut a new name can exist without the contents.
    part.as_file().sync_all().with_context(context)?;
    part.persist(&whole).map_err(|error| error.error).with_context(context)?;
    if let Some(folder) = whole.parent().and_then(|folder| File::open(folder).ok()) {
        // Not every file system can: the name is then as safe as that of any file there.
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A file beside `path` that is to take its place, and the path of that place: the target of a link, not the link.
fn part_of(path: &Path) -> Result<(NamedTempFile, PathBuf)> {
    let shown = path.display();
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_none() || !folder.is_dir() {
        bail!(WrongUse(format!("cannot write {shown}: there is no folder {}", folder.display())));
    }
    // Readable as any file that the user makes, not by the user alone.
    let mode = Permissions::from_mode(0o666);
    let part = tempfile::Builder::new().prefix(".mountmark-").permissions(mode).tempfile_in(folder);
    Ok((part.with_context(|| format!("cannot write {shown}"))?, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_refused_and_what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("thesis.md"), "mine").unwrap();
        fs::write(at("ours.md"), "a mark and more").unwrap();
        fs::write(at("empty.md"), "").unwrap();
        let is_ours = |start: &str| start.starts_with("a mark");
        for fine in ["ours.md", "empty.md", "new.md"] {
            check("--output", &at(fine), "report", &is_ours).unwrap();
        }
        check("--output", Path::new("/dev/null"), "report", &is_ours).unwrap();
        for (wrong, reason) in [
            (at("thesis.md"), "is no report: name another file"),
            (at(""), "is a folder: name a file in it"),
            ("-".into(), "--output -: this is not written to standard output"),
            (at("nowhere/new.md"), "there is no folder"),
            (at("thesis.md/new.md"), "Not a directory"),
            ("/proc/new.md".into(), "cannot write /proc/new.md"),
        ] {
            let error = check("--output", &wrong, "report", &is_ours).unwrap_err();
            assert!(format!("{error:#}").contains(reason), "{error:#}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left by looking");
        assert_eq!(fs::read_to_string(at("thesis.md")).unwrap(), "mine");
    }

    #[test]
    fn who_may_read_a_file_stays_when_it_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_whole(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        write_whole(&path, "two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn a_link_to_a_device_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let link = |name: &str, to: &str| {
            std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
            folder.path().join(name)
        };
        // It stands for all that holds data: nothing comes of writing to it.
        let random = link("random", "/dev/urandom");
        let said = format!("{:#}", write_whole(&random, "text").unwrap_err());
        assert!(said.contains("it is a device, whose contents would be lost"), "{said}");
        let said = check("--output", &random, "report", &|_| true).unwrap_err().to_string();
        assert!(said.contains("is a device"), "{said}");
        write_whole(&link("null", "/dev/null"), "text").unwrap();
    }

    #[test]
    fn a_file_that_root_replaces_stays_its_users() {
        // SAFETY: it changes nothing.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: only root can give a file away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_whole(&path, "one").unwrap();
        std::os::unix::fs::chown(&path, Some(12345), Some(54321)).unwrap();
        write_whole(&path, "two").unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.uid(), about.gid(), fs::read(&path).unwrap()), (12345, 54321, b"two".to_vec()));
    }

    #[test]
    fn a_report_into_a_folder_that_is_missing_names_the_folder() {
        let error = write_whole(Path::new("/nonexistent/report.html"), "").unwrap_err();
        assert_eq!(error.to_string(), "cannot write /nonexistent/report.html: there is no folder /nonexistent");
    }
}
