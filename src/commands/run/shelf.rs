//! Shelves on the command line: what is taken from them, and what is measured.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use mountmark_lab::OpenLab;
use mountmark_model::Lab;
use mountmark_record::Timestamp;
use mountmark_shelf::{Access, Folder, How, Keys, Shelf, Shelved, Signer, Trust};

use crate::common::{self, WrongUse};

/// The folder of this user's own shelf, in the cache.
const OWN: &str = "cells";
/// What makes a shelf read only, behind its path.
const READ_ONLY: &str = ":ro";

/// Options that only cells with keys have.
const OF_KEYS: [&str; 4] = ["shelf", "sign", "trust", "verify"];

/// Shelves, and what is taken from them.
#[derive(Clone, Debug, Default)]
pub struct ShelfOptions {
    given: GivenShelves,
    /// Those that stand on the command line: the others are usual, or the environment's.
    typed: Vec<&'static str>,
    /// With --fresh: what was measured since then is taken, in milliseconds since 1970.
    since: Option<i64>,
}

#[derive(Args, Clone, Debug, Default)]
struct GivenShelves {
    /// Measure every cell, also those that were measured before
    #[arg(long, env = "MOUNTMARK_FRESH")]
    fresh: bool,
    /// The share of the cells taken from a shelf that is measured again, chosen at random, and compared to the bit
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share)]
    verify: f64,
    /// Folders of measured cells to share with others, such as one on NFS or one that CI keeps: cells are taken from there,
    /// and put there once measured. FOLDER:ro is only read
    #[arg(long, value_name = "FOLDER", value_delimiter = ',', env = "MOUNTMARK_SHELF")]
    shelf: Vec<PathBuf>,
    /// Sign the cells that are measured with this private key, which `mountmark shelf key FILE` makes
    #[arg(long, value_name = "FILE", env = "MOUNTMARK_SHELF_KEY")]
    sign: Option<PathBuf>,
    /// Take only cells that one of these public keys signed: a file with a key a line, and a name behind it
    #[arg(long, value_name = "FILE", env = "MOUNTMARK_SHELF_TRUST")]
    trust: Option<PathBuf>,
}

impl Args for ShelfOptions {
    fn augment_args(command: Command) -> Command {
        GivenShelves::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        GivenShelves::augment_args_for_update(command)
    }
}

impl FromArgMatches for ShelfOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ShelfOptions, clap::Error> {
        let is_typed = |option: &&str| matches.value_source(option) == Some(ValueSource::CommandLine);
        let typed = OF_KEYS.into_iter().chain(["fresh"]).filter(is_typed).collect();
        Ok(ShelfOptions { given: GivenShelves::from_arg_matches(matches)?, typed, since: None })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ShelfOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ShelfOptions {
    /// The first shelf that is shared and written.
    pub fn written(&self) -> Option<PathBuf> {
        self.places().find(|(_, access)| *access == Access::Write).map(|(path, _)| path)
    }

    /// The shelves, and whether each may be written.
    fn places(&self) -> impl Iterator<Item = (PathBuf, Access)> + '_ {
        self.given.shelf.iter().map(|path| place(path))
    }

    /// Whether an option stands on the command line.
    pub fn is_typed(&self, option: &str) -> bool {
        self.typed.contains(&option)
    }

    /// The list of keys whose cells are taken.
    pub fn trusted(&self) -> Option<&Path> {
        self.given.trust.as_deref()
    }

    /// Whether nothing is taken.
    pub fn fresh(&self) -> bool {
        self.given.fresh
    }

    /// For several runs of one search: with --fresh, what was measured since now is taken.
    pub fn since_now(self) -> ShelfOptions {
        ShelfOptions { since: Some(Timestamp::now().0), ..self }
    }

    /// With whole paths, for a command that goes to another folder.
    pub fn with_whole_paths(mut self) -> Result<ShelfOptions> {
        let GivenShelves { shelf, sign, trust, .. } = &mut self.given;
        for path in shelf.iter_mut().chain(sign).chain(trust) {
            *path = std::path::absolute(&path)?;
        }
        Ok(self)
    }

    /// As arguments.
    pub fn words(&self) -> Vec<String> {
        let shelves = self.given.shelf.iter().map(|path| ("--shelf", path));
        let keys = [("--sign", &self.given.sign), ("--trust", &self.given.trust)];
        let keys = keys.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?)));
        shelves.chain(keys).flat_map(|(name, path)| [name.to_owned(), path.display().to_string()]).collect()
    }

    /// Who signs, and whose signatures count.
    fn keys(&self) -> Result<Keys> {
        let GivenShelves { sign, trust, .. } = &self.given;
        let signer = sign.as_deref().map(Signer::read).transpose().map_err(|error| wrong("--sign", error))?;
        let trust = trust.as_deref().map(Trust::read).transpose().map_err(|error| wrong("--trust", error))?;
        Ok(Keys { signer, trust })
    }

    /// Refuses shelves where figures have no keys, and folders that are none, before anything is fetched. Makes those that are
    /// missing, unless nothing is to be made. What the environment says of shelves is for labs whose figures have keys.
    pub fn check(&self, kind: Lab, is_dry: bool) -> Result<()> {
        if !kind.capabilities().exact_clock {
            let Some(option) = self.typed.iter().find(|option| OF_KEYS.contains(option)) else { return Ok(()) };
            bail!(WrongUse(format!(
                "--{option}: figures of the lab {} are wall time, and are measured each time",
                kind.name()
            )));
        }
        self.keys()?;
        for (path, access) in self.places() {
            Folder::check(&path, access, !is_dry).map_err(|error| wrong("--shelf", error))?;
        }
        Ok(())
    }

    /// As a worker uses them, who measures nothing that is there.
    ///
    /// # Errors
    /// There is none to put anything on.
    pub fn for_worker(self) -> Result<ShelfOptions> {
        if self.written().is_none() {
            bail!(WrongUse("a worker needs --shelf FOLDER, to put there what it measures".into()));
        }
        Ok(ShelfOptions { given: GivenShelves { verify: 0.0, ..self.given }, ..self })
    }

    /// The lab with shelves, if its figures have keys.
    pub fn over<'a>(&self, kind: Lab, lab: &'a dyn OpenLab, is_profiled: bool) -> Result<Option<Shelved<'a>>> {
        if !kind.capabilities().exact_clock {
            return Ok(None);
        }
        let shelf = Shelf::open(&own_shelf(), &self.places().collect::<Vec<_>>(), self.keys()?)?;
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        // Entries hold no profiles.
        let not_before = match (is_profiled, self.given.fresh) {
            (true, _) => How::NOTHING,
            (false, true) => self.since.unwrap_or(How::NOTHING),
            (false, false) => 0,
        };
        let how = How { not_before, verify: self.given.verify, seed };
        Ok(Some(Shelved::new(lab, shelf, how)))
    }
}

/// A shelf that an option or a word of the command line names.
///
/// # Errors
/// A folder that is none, and one that is only read, if it is to be written.
pub fn named(option: &str, text: &Path, wanted: Access) -> Result<Folder> {
    let (path, access) = place(text);
    if wanted == Access::Write && access == Access::Read {
        let (text, path) = (text.display(), path.display());
        bail!(WrongUse(format!("{option} {text} is only read, and this writes to it: name it as {path}")));
    }
    Folder::check(&path, wanted, true).map_err(|error| wrong(option, error))?;
    // A shelf that cannot be listed is one all the same.
    Folder::open(&path, wanted).map_err(|error| error.context(option.to_owned()))
}

/// What is wrong with the value of an option. That there are no rights or no room is no wrong use, nor a disk or a server that
/// fails; a file that is missing or of the wrong kind is.
pub fn wrong(option: &str, error: anyhow::Error) -> anyhow::Error {
    const FAILS: [i32; 3] = [libc::EIO, libc::ESTALE, libc::ETIMEDOUT];
    let codes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error());
    if mountmark_shelf::is_full(&error) || codes.into_iter().any(|code| FAILS.contains(&code)) {
        return error.context(option.to_owned());
    }
    WrongUse(format!("{option}: {error:#}")).into()
}

/// This user's own shelf, in the cache.
pub fn own_shelf() -> PathBuf {
    mountmark_lab::cache::default_folder().join(OWN)
}

/// Where a campaign lies: the first shelf that is written, or else the first.
pub fn first(shelves: &[PathBuf]) -> Option<&Path> {
    let is_written = |path: &&PathBuf| place(path).1 == Access::Write;
    shelves.iter().find(is_written).or(shelves.first()).map(PathBuf::as_path)
}

/// A folder, and whether it is written.
pub fn place(text: &Path) -> (PathBuf, Access) {
    match text.to_str().and_then(|text| text.strip_suffix(READ_ONLY)) {
        Some(path) => (path.into(), Access::Read),
        None => (text.to_owned(), Access::Write),
    }
}

/// `2%`, from 0 to 100.
fn share(text: &str) -> Result<f64, String> {
    let fits = common::percent(text).filter(|number| (0.0..=100.0).contains(number));
    fits.map(|number| number / 100.0).ok_or_else(|| format!("`{text}` is no percentage from 0% to 100%, such as 2%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_places_are_read() {
        assert_eq!(share("2%"), Ok(0.02));
        assert_eq!((share("0%"), share("100 %")), (Ok(0.0), Ok(1.0)));
        for wrong in ["2", "-1%", "101%", "nan%", "%", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(place(Path::new("/srv/a:ro")), ("/srv/a".into(), Access::Read));
        assert_eq!(place(Path::new("/srv/a")), ("/srv/a".into(), Access::Write));
        let first = |paths: &[&str]| first(&paths.iter().map(PathBuf::from).collect::<Vec<_>>()).map(Path::to_owned);
        assert_eq!(first(&["/a:ro", "/b", "/c"]), Some("/b".into()));
        assert_eq!((first(&["/a:ro"]), first(&[])), (Some("/a:ro".into()), None));
    }

    #[test]
    fn a_file_of_the_wrong_kind_is_a_wrong_use_and_a_lack_of_rights_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        for error in [
            Signer::read(folder.path()).err().unwrap(),
            Trust::read(Path::new("/dev/null")).err().unwrap(),
            Folder::check(&file, Access::Read, false).unwrap_err(),
        ] {
            let error = wrong("--option", error);
            assert!(error.is::<WrongUse>() && error.to_string().starts_with("--option: "), "{error}");
        }
        for code in [libc::EACCES, libc::ENOSPC, libc::EROFS, libc::EIO, libc::ESTALE] {
            let error = wrong("--option", std::io::Error::from_raw_os_error(code).into());
            assert!(!error.is::<WrongUse>() && error.to_string() == "--option", "{error:#}");
        }
    }

    #[test]
    fn under_wall_time_shelves_of_the_environment_are_left_and_typed_ones_refused() {
        let command = || ShelfOptions::augment_args(Command::new("run"));
        let parsed = |words: &[&str]| {
            let matches = command().try_get_matches_from([&["run"], words].concat()).unwrap();
            ShelfOptions::from_arg_matches(&matches).unwrap()
        };
        let host = *Lab::ALL.iter().find(|lab| !lab.capabilities().exact_clock).unwrap();
        for words in [["--shelf", "/x"], ["--sign", "/x"], ["--trust", "/x"], ["--verify", "2%"]] {
            let refused = parsed(&words).check(host, true).unwrap_err().to_string();
            assert!(refused.starts_with(words[0]) && refused.contains("wall time"), "{refused}");
        }
        let mut of_environment = parsed(&["--shelf", "/x", "--sign", "/x", "--trust", "/x"]);
        of_environment.typed.clear();
        of_environment.check(host, true).unwrap();
        parsed(&[]).check(host, true).unwrap();
    }
}
