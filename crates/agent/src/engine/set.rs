//! A file set on disk: names and sizes computed from numbers, directories, and files that exist beforehand.
//!
//! Names of 10 million files would take hundreds of megabytes; instead each is written into one buffer when needed.
//! Only the names of existing files are stored.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mountmark_random::{Stream, mix};

use super::error::EngineError;
use super::resolve::{Files, SizeLaw};
use super::sys::{self, Name};

/// The stream family of file sizes: an arbitrary number that never changes.
const SIZES: u64 = 0x7369_7a65_7321_0001;

/// A set's open folder, and the form of its files' names.
pub(super) struct Set {
    /// Calls use paths relative to it.
    folder: File,
    path: PathBuf,
    count: u64,
    directories: u64,
    /// Files in each directory, the last one perhaps fewer.
    per_directory: u64,
    prefix: Vec<u8>,
    /// Digits of a hash behind the number.
    hashed: usize,
    law: SizeLaw,
    seed: u64,
    /// Writes a name; chosen once.
    write_name: fn(&Set, &[u8], u64, &mut Name),
    existing: Option<Existing>,
}

/// Files that exist beforehand: names one after another, with the end and size of each.
struct Existing {
    names: Vec<u8>,
    ends: Vec<(u64, u64)>,
}

impl Set {
    /// Opens a set in `base`; creates its folder if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created, opened or listed, or has none of the files that must exist.
    pub(super) fn open(base: &Path, files: &Files, seed: u64) -> Result<Set, EngineError> {
        let path = if files.folder == "." { base.to_owned() } else { base.join(&files.folder) };
        if !files.existing {
            fs::create_dir_all(&path).map_err(EngineError::io("cannot make the folder", &path))?;
        }
        let folder = fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(&path);
        let folder = folder.map_err(EngineError::io("cannot open the folder", &path))?;
        let mut set = Set {
            folder,
            path,
            count: files.count,
            directories: files.directories,
            per_directory: files.count.div_ceil(files.directories.max(1)),
            prefix: files.prefix.clone().into_bytes(),
            hashed: if files.random_names { 8 } else { 0 },
            law: files.sizes,
            seed,
            write_name: match (files.directories > 0, files.random_names) {
                (false, false) => write_name::<false, false>,
                (false, true) => write_name::<false, true>,
                (true, false) => write_name::<true, false>,
                (true, true) => write_name::<true, true>,
            },
            existing: None,
        };
        if files.existing {
            let existing = list(&set.path)?;
            set.count = existing.ends.len() as u64;
            set.existing = Some(existing);
            (set.directories, set.write_name) = (0, existing_name);
        }
        Ok(set)
    }

    pub(super) fn folder(&self) -> RawFd {
        self.folder.as_raw_fd()
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Number of directories in the folder; 0 if files are in the folder itself.
    pub(super) fn directories(&self) -> u64 {
        self.directories
    }

    pub(super) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Writes the name of file `number` with this prefix, relative to the folder.
    #[inline(always)]
    pub(super) fn name(&self, prefix: &[u8], number: u64, name: &mut Name) {
        (self.write_name)(self, prefix, number, name);
    }

    /// Whether an entry of this directory is a file of the set; if so, `name` is set to it.
    pub(super) fn recognise(&self, entry: &[u8], directory: u64, name: &mut Name) -> bool {
        let Some(digits) = entry.strip_prefix(&self.prefix[..]).and_then(|rest| rest.get(self.hashed..)) else {
            return false;
        };
        // No file number has more digits.
        if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
            return false;
        }
        let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        if number >= self.count || (self.directories > 0 && number / self.per_directory != directory) {
            return false;
        }
        self.name(&self.prefix, number, name);
        name.as_bytes().ends_with(entry)
    }

    /// A directory's name, relative to the folder; the folder itself if the set has none.
    pub(super) fn directory_name(&self, number: u64, name: &mut Name) {
        name.clear();
        if self.directories == 0 {
            name.push(b".");
        } else {
            name.push(b"d");
            push_number(name, number);
        }
    }

    /// For messages, and for calls that need an absolute path.
    pub(super) fn full_path(&self, name: &Name) -> PathBuf {
        self.path.join(std::ffi::OsStr::from_bytes(name.as_bytes()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// In bytes.
    pub(super) fn size(&self, number: u64) -> u64 {
        if let Some(existing) = &self.existing {
            return existing.ends.get(number as usize).map_or(0, |(_, size)| *size);
        }
        let mut stream = Stream::family(self.seed, SIZES, number);
        match self.law {
            SizeLaw::Fixed(size) => size,
            SizeLaw::Uniform { min, max } => min + stream.below((max - min).saturating_add(1)),
            SizeLaw::Lognormal { mu, sigma, min, max } => (stream.lognormal(mu, sigma) as u64).clamp(min, max),
            SizeLaw::Gamma { mean, shape, max } => ((gamma(&mut stream, shape) / shape * mean as f64) as u64).min(max),
        }
    }

    /// The size of all files in bytes; `None` if they differ.
    pub(super) fn fixed_size(&self) -> Option<u64> {
        match (self.law, &self.existing) {
            (SizeLaw::Fixed(size), None) => Some(size),
            _ => None,
        }
    }

    /// Creates the missing directories.
    ///
    /// # Errors
    /// One that cannot be created.
    pub(super) fn make_directories(&self) -> Result<(), EngineError> {
        let mut name = Name::new();
        for directory in 0..self.directories {
            self.directory_name(directory, &mut name);
            let answer = sys::mkdir(self.folder(), &name);
            if answer < 0 && answer != -i64::from(libc::EEXIST) {
                let path = self.full_path(&name);
                return Err(EngineError::io("cannot make the directory", path)(sys::error(answer)));
            }
        }
        Ok(())
    }
}

fn write_name<const IN_DIRECTORIES: bool, const RANDOM: bool>(set: &Set, prefix: &[u8], number: u64, name: &mut Name) {
    name.clear();
    if IN_DIRECTORIES {
        name.push(b"d");
        push_number(name, number / set.per_directory);
        name.push(b"/");
    }
    name.push(prefix);
    if RANDOM {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let hash = mix(set.seed ^ mix(number));
        let digits: [u8; 8] = std::array::from_fn(|place| DIGITS[(hash >> (4 * place)) as usize & 15]);
        name.push(&digits);
    }
    push_number(name, number);
}

fn existing_name(set: &Set, prefix: &[u8], number: u64, name: &mut Name) {
    name.clear();
    let Some(existing) = &set.existing else { return };
    let number = number as usize;
    let start = number.checked_sub(1).and_then(|before| existing.ends.get(before)).map_or(0, |(end, _)| *end as usize);
    let Some((end, _)) = existing.ends.get(number) else { return };
    let path = &existing.names[start..*end as usize];
    // A prefix other than the set's own makes a new name beside the file.
    if prefix == set.prefix {
        name.push(path);
    } else {
        let folder = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        name.push(&path[..folder]);
        name.push(prefix);
        name.push(&path[folder..]);
    }
}

/// At least eight digits.
#[inline]
fn push_number(name: &mut Name, number: u64) {
    let mut digits = [b'0'; 20];
    let (mut place, mut rest) = (digits.len(), number);
    while rest > 0 {
        place -= 1;
        digits[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name.push(&digits[place.min(digits.len() - 8)..]);
}

/// A gamma number with this shape and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables",
/// ACM TOMS 26, 2000; with their correction for shapes below 1).
fn gamma(stream: &mut Stream, shape: f64) -> f64 {
    use mountmark_random::{exp, ln};
    if shape < 1.0 {
        let correction = exp(ln(stream.unit()) / shape);
        return gamma(stream, shape + 1.0) * correction;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = stream.normal();
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v > 0.0 && ln(stream.unit()) < 0.5 * x * x + d - d * v + d * ln(v) {
            return d * v;
        }
    }
}

/// All regular files in and below a folder, in the order of their paths' bytes. Symbolic links are not followed.
fn list(path: &Path) -> Result<Existing, EngineError> {
    let mut found: Vec<(CString, u64)> = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        let folder = path.join(&relative);
        let entries = fs::read_dir(&folder).map_err(EngineError::io("cannot list", &folder))?;
        for entry in entries {
            let entry = entry.map_err(EngineError::io("cannot list", &folder))?;
            let name = relative.join(entry.file_name());
            let metadata = entry.metadata().map_err(EngineError::io("cannot look at", entry.path()))?;
            if metadata.is_dir() {
                folders.push(name);
            } else if metadata.is_file()
                && let Ok(name) = CString::new(name.as_os_str().as_bytes())
            {
                found.push((name, metadata.len()));
            }
        }
    }
    if found.is_empty() {
        let none =
            std::io::Error::new(std::io::ErrorKind::NotFound, "there is no file, but the set says existing = true");
        return Err(EngineError::io("nothing to work on in", path)(none));
    }
    found.sort_unstable();
    let mut existing = Existing { names: Vec::new(), ends: Vec::with_capacity(found.len()) };
    for (name, size) in found {
        existing.names.extend_from_slice(name.as_bytes());
        existing.ends.push((existing.names.len() as u64, size));
    }
    Ok(existing)
}
