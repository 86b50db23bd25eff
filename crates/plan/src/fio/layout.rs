//! The files that fio lays out for the jobs of a file: their names and sizes (init.c, `add_job`, and filesetup.c,
//! `setup_files`, of fio 3.33). fio sets up all jobs before the first one runs, so all files lie there at once.

use std::collections::BTreeMap;

use super::number::{self, Base, Number};
use super::{Section, refusal};

/// Maximum number of files of a job that are told apart by their names.
const NAMED: u64 = 1000;
/// The format of names without `filename_format`.
const FORMAT: &str = "$jobname.$jobnum.$filenum";

/// Files by their names. Those of a job with very many have one entry.
#[derive(Debug, Default)]
pub(super) struct Layout {
    files: BTreeMap<String, Files>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Files {
    count: u64,
    bytes: u64,
}

/// What a section says of each of its files.
struct Sized {
    /// Bytes of a file without `filesize` after its offset; `None` where only existing files have a size.
    share: Option<u64>,
    /// Bytes that the first file has beyond it.
    remainder: u64,
    /// The size that `filesize` gives; its larger end.
    fixed: Option<u64>,
    /// The part of such a file that is used, in percent.
    percent: u64,
    offset: u64,
    increment: u64,
    append: bool,
}

impl Layout {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.values().fold(0, |sum, files| sum.saturating_add(files.bytes))
    }

    pub fn count(&self) -> u64 {
        self.files.values().fold(0, |sum, files| sum.saturating_add(files.count))
    }

    /// Sizes by names, for tests.
    #[cfg(test)]
    pub fn sizes(&self) -> Vec<(&str, u64)> {
        self.files.iter().map(|(name, files)| (name.as_str(), files.bytes)).collect()
    }

    /// Adds the files of a section and its copies. `prepared`: other commands may have made files before.
    pub fn add(&mut self, section: &Section<'_>, prepared: bool) -> Result<(), String> {
        let copies = section.count("numjobs")?;
        let engine = section.find(&["ioengine"]).map_or("psync", |entry| entry.value.as_str());
        if engine == "cpuio" {
            return Ok(());
        }
        let names = names(section);
        let made = section.count("nrfiles")?;
        let count = if names.is_empty() { made } else { names.len() as u64 };
        let mut sized = sized(section, count)?;
        let exists = prepared && (!names.is_empty() || section.find(&["opendir", "read_iolog"]).is_some());
        let laid_out = !names.is_empty() && names.iter().all(|name| self.files.contains_key(name));
        let no_io = engine == "filecreate" || section.is_on(&["fill_device", "fill_fs"]);
        if sized.share.is_none() && sized.fixed.is_none() && !exists && !laid_out && !no_io {
            return Err(no_size(section));
        }
        let folders = folders(section);
        if let Some(folder) = folders.iter().find(|folder| !prepared && !path(folder, "").is_empty()) {
            return Err(format!(
                "the folder {folder:?} does not exist on a new file system, and fio makes none for directory=; write \
                 filename={folder}/NAME, whose folders it makes, or name the job file in a suite whose task has a `prepare`"
            ));
        }
        if engine == "null" {
            return Ok(());
        }
        if engine == "filecreate" {
            (sized.share, sized.fixed) = (None, None);
        }
        for copy in 0..copies {
            let place = sized.offset.saturating_add(sized.increment.saturating_mul(copy));
            if names.is_empty() {
                self.add_formatted(section, &folders[copy as usize % folders.len()], copy, made, &sized, place);
            }
            for (index, name) in names.iter().enumerate().filter(|(_, name)| !refusal::is_harmless(name)) {
                self.put(name, 1, sized.end(index as u64, 1, place), sized.append && sized.fixed.is_none());
            }
        }
        Ok(())
    }

    /// Files whose names fio makes.
    fn add_formatted(&mut self, section: &Section<'_>, folder: &str, copy: u64, count: u64, sized: &Sized, place: u64) {
        let format = section.find(&["filename_format"]).map_or(FORMAT, |entry| entry.value.as_str());
        let named = |file: &str| path(folder, &refusal::formatted(format, section.name, &copy.to_string(), file));
        let append = sized.append && sized.fixed.is_none();
        if count > NAMED && named("0") != named("1") {
            self.put(&named("*"), count, sized.end(0, count, place), append);
            return;
        }
        for file in 0..count.min(NAMED) {
            self.put(&named(&file.to_string()), 1, sized.end(file, 1, place), append);
        }
    }

    fn put(&mut self, name: &str, count: u64, bytes: u64, append: bool) {
        let files = self.files.entry(name.to_owned()).or_default();
        files.count = files.count.max(count);
        files.bytes = if append { files.bytes.saturating_add(bytes) } else { files.bytes.max(bytes) };
    }
}

impl Sized {
    /// Bytes of `count` files from the `first` on whose data begin at `place`.
    fn end(&self, first: u64, count: u64, place: u64) -> u64 {
        let part = |size: u64| match self.percent {
            100 => size,
            percent => place.saturating_add((u128::from(size) * u128::from(percent) / 100) as u64).min(size),
        };
        let remainder = if first == 0 { self.remainder } else { 0 };
        match (self.fixed, self.share) {
            (Some(fixed), _) => part(fixed).saturating_mul(count),
            (None, Some(share)) => place.saturating_add(share).saturating_mul(count).saturating_add(remainder),
            (None, None) => 0,
        }
    }
}

fn sized(section: &Section<'_>, files: u64) -> Result<Sized, String> {
    // The last number counts: fio stores each.
    let last = |keys: &[&str]| Ok::<_, String>(section.numbers(keys)?.and_then(|numbers| numbers.last().copied()));
    // A percentage is of files that exist; new ones are empty.
    let plain = |number: Option<Number>| number.and_then(Number::plain).unwrap_or(0);
    let fixed = match last(&["filesize"])? {
        Some(Number::Plain(bytes)) => Some(bytes),
        Some(Number::Percent(_)) => return Err("fio takes no % in filesize=; write a size such as 1g".into()),
        None => None,
    };
    let fills = section.is_on(&["fill_device", "fill_fs"]);
    let (size, percent) = match last(&["size"])? {
        Some(Number::Plain(bytes)) => (Some(bytes), 100),
        Some(Number::Percent(percent)) => (None, percent),
        None => (None, 100),
    };
    // Such a job ends without an error where the disk is full.
    let size = size.filter(|bytes| !fills && *bytes > 0);
    Ok(Sized {
        share: size.map(|bytes| bytes / files),
        remainder: size.map_or(0, |bytes| bytes % files),
        fixed: fixed.filter(|_| !fills),
        percent,
        offset: plain(last(&["offset", "fileoffset"])?),
        increment: plain(last(&["offset_increment"])?),
        append: section.is_on(&["file_append"]),
    })
}

fn no_size(section: &Section<'_>) -> String {
    match section.find(&["size"]) {
        Some(entry) if entry.value.contains('%') => format!(
            "line {}: size={} is a part of files that exist or of filesize=, and fio ends with \"you need to specify \
             size=\" where there is neither; add filesize= or write a size such as 1g",
            entry.line, entry.value
        ),
        _ => "it has no size=, so fio does not know what to lay out; add one".into(),
    }
}

/// Paths of the files that a section names. Names of global sections come first: fio adds to them.
fn names(section: &Section<'_>) -> Vec<String> {
    let folder = &folders(section)[0];
    let entries = || section.entries.iter().filter(|entry| entry.key == "filename");
    let mut names: Vec<String> =
        entries().flat_map(|entry| split(&entry.value)).map(|name| path(folder, &name)).collect();
    // A number of files counts beside names only if a later section gives it.
    let later = section.find(&["nrfiles", "nr_files"]).filter(|nr| entries().all(|entry| entry.part < nr.part));
    if let Some(most) = later.and_then(|_| section.count("nrfiles").ok()) {
        names.truncate(most as usize);
    }
    names
}

/// Folders of `directory`, at least one; copies take them in turn.
fn folders(section: &Section<'_>) -> Vec<String> {
    let folders = section.find(&["directory"]).map(|entry| split(&entry.value)).unwrap_or_default();
    if folders.is_empty() { vec![String::new()] } else { folders }
}

/// Splits a list at its colons, of which `\:` is none (options.c, `get_next_str`).
fn split(list: &str) -> Vec<String> {
    const COLON: &str = "\u{1}";
    let parts = list.trim().replace("\\:", COLON);
    parts.split(':').map(|part| part.replace(COLON, ":")).filter(|part| !part.is_empty()).collect()
}

/// A path below the root of the file system, in one spelling.
fn path(folder: &str, name: &str) -> String {
    let whole = if name.starts_with('/') { name.to_owned() } else { format!("{folder}/{name}") };
    let parts = whole.split('/').filter(|part| !part.is_empty() && *part != "." && *part != "${TEST}");
    let joined = parts.collect::<Vec<_>>().join("/");
    if refusal::is_harmless(name) { name.to_owned() } else { joined }
}

impl Section<'_> {
    /// The numbers of an option, if it is there.
    pub(super) fn numbers(&self, keys: &[&str]) -> Result<Option<Vec<Number>>, String> {
        let Some(entry) = self.find(keys) else { return Ok(None) };
        let base = match self.find(&["kb_base"]).map(|entry| entry.value.as_str()) {
            Some("1000") => Base::Decimal,
            _ => Base::Binary,
        };
        let numbers = number::all(&entry.value, base);
        numbers.map(Some).map_err(|reason| format!("line {}: {}: {reason}", entry.line, entry.key))
    }

    /// A count of which there is at least one: of files, or of copies.
    pub(super) fn count(&self, key: &str) -> Result<u64, String> {
        let keys: &[&str] = if key == "nrfiles" { &["nrfiles", "nr_files"] } else { &[key] };
        let first = self.numbers(keys)?.and_then(|numbers| numbers.first().copied());
        match first {
            None => Ok(1),
            Some(Number::Plain(count)) if (1..=u64::from(u32::MAX)).contains(&count) => Ok(count),
            Some(_) => Err(format!("{key} must be a number from 1 on")),
        }
    }
}
