//! Histories of file operations that age a file system: made from a seed, from a git repository or after a profile of files in
//! use, and kept by their hash.
//!
//! The first two are what a work tree and its repository see: a first tree, then commit after commit. Each commit brings its objects
//! to `.git`, replaces and removes files of the tree, and writes the index anew.

mod git;
mod profile;
mod seed;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, Result};
use mountmark_model::{Age, AgeingProfile, Bytes, HistoryOperation};
use sha2::{Digest, Sha256};

use crate::Keep;
use crate::cache::Place;

/// Space is taken in blocks of this size.
const BLOCK: u64 = 4096;
/// From so many objects on, git keeps a pack as one file (`fetch.unpackLimit`).
const UNPACK_LIMIT: usize = 100;
/// Bytes of the index for each file: 62 and its name.
const INDEX_ENTRY: u64 = 62;
/// Of a commit's own object.
const COMMIT_OBJECT: u64 = 180;
/// Of a folder's object.
const TREE_OBJECT: u64 = 600;
/// Objects are compressed, source by about that.
const SHRINKS: u64 = 3;
/// Most commits: some 10 million operations.
const MOST: u32 = 100_000;
/// What files after a profile take, unless it is said.
const VOLUME: Bytes = Bytes(256 << 20);
/// Fewer files than this share of 1 with an age as in their profile are told.
const FITS: f64 = 0.95;

/// A text of `--age` that is none, or a repository that will not do.
#[derive(Debug)]
pub struct WrongHistory(pub String);

impl fmt::Display for WrongHistory {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(&self.0)
    }
}

impl std::error::Error for WrongHistory {}

/// Where a history comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedHistory {
    /// As the user wrote it, without `copy:`.
    text: String,
    origin: Origin,
    /// Whether the tree that it ends with is asked for in its place.
    copy: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Origin {
    Seed(u32),
    Git(PathBuf, u32),
    Profile(profile::Asked),
}

/// A file that a commit changes, and its new size; `None`: it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    path: String,
    to: Option<Content>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    size: u64,
    /// Whether the file grows at its end, and is not replaced.
    appended: bool,
}

impl AskedHistory {
    /// `seed:N`, `git:PATH,commits=N`, `geriatrix:PROFILE,overwrites=N[,size=BYTES]`, or one of them behind `copy:`. `profile`
    /// looks a profile up.
    ///
    /// # Errors
    /// Anything else, with what would do.
    pub fn parse(
        text: &str,
        profile: &dyn Fn(&str) -> Result<AgeingProfile, String>,
    ) -> Result<AskedHistory, WrongHistory> {
        let refused = |reason: String| WrongHistory(format!("--age {text}: {reason}"));
        let (copy, bare) = text.strip_prefix("copy:").map_or((false, text), |rest| (true, rest));
        let count = |number: &str, what: &str| match number.parse::<u32>() {
            Ok(count) if (1..=MOST).contains(&count) => Ok(count),
            _ => Err(refused(format!("give a number of {what} from 1 to {MOST}"))),
        };
        let origin = match bare.split_once(':') {
            Some(("seed", number)) => Origin::Seed(count(number, "commits")?),
            Some(("git", rest)) => match rest.rsplit_once(",commits=") {
                Some((path, number)) if !path.is_empty() => Origin::Git(path.into(), count(number, "commits")?),
                _ => {
                    let reason = "give a repository and how many of its last commits: git:PATH,commits=1000";
                    return Err(refused(reason.into()));
                }
            },
            Some(("geriatrix", rest)) => Origin::Profile(by_profile(rest, &count, profile, &refused)?),
            _ => {
                let reason = "give seed:N, git:PATH,commits=N, geriatrix:PROFILE,overwrites=N, one of these behind copy:, or none";
                return Err(refused(reason.into()));
            }
        };
        Ok(AskedHistory { text: bare.to_owned(), origin, copy })
    }

    /// Makes the history in the folder `cache`; without a folder it is only counted. Also returns what should be told about it.
    ///
    /// # Errors
    /// A folder that is no repository, or one with too few commits.
    pub fn make(&self, seed: u64, cache: Option<&Path>) -> Result<(Age, Option<String>)> {
        let mut builder = Builder::default();
        let mut told = None;
        let commits = match &self.origin {
            Origin::Seed(commits) => {
                seed::record(seed, *commits, &mut builder);
                *commits
            }
            Origin::Git(path, commits) => {
                git::record(path, *commits, &mut builder)
                    .with_context(|| format!("--age {} cannot be used", self.text))?;
                *commits
            }
            Origin::Profile(asked) => {
                let fit = profile::record(asked, seed, &mut builder);
                told = (fit.ages < FITS).then(|| {
                    format!(
                        "--age {}: {:.0} % of the files have an age as in the profile; with overwrites={:.0} nearly all have",
                        self.text,
                        fit.ages * 100.0,
                        fit.needs.ceil()
                    )
                });
                builder.commits
            }
        };
        let text = builder.text;
        let sha256 = crate::input::hex(&Sha256::digest(text.as_bytes()));
        let path = cache.map(|cache| keep(cache, &sha256, &text)).transpose()?;
        let age = Age {
            text: if self.copy { format!("copy:{}", self.text) } else { self.text.clone() },
            copy: self.copy,
            commits,
            operations: builder.operations,
            files: builder.tree.len() as u64,
            bytes: Bytes(builder.tree.values().sum()),
            room: Bytes(builder.most),
            length: Bytes(text.len() as u64),
            sha256,
            path: path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        };
        Ok((age, told))
    }
}

/// `PROFILE,overwrites=N[,size=BYTES]`.
fn by_profile(
    text: &str,
    count: &dyn Fn(&str, &str) -> Result<u32, WrongHistory>,
    profile: &dyn Fn(&str) -> Result<AgeingProfile, String>,
    refused: &dyn Fn(String) -> WrongHistory,
) -> Result<profile::Asked, WrongHistory> {
    let form = "give a profile and how often files are written over: geriatrix:PROFILE,overwrites=20";
    let named = text.split_once(",overwrites=").filter(|(name, _)| !name.is_empty());
    let (name, rest) = named.ok_or_else(|| refused(form.into()))?;
    let (number, size) = rest.split_once(",size=").map_or((rest, None), |(number, size)| (number, Some(size)));
    let volume = size.map_or(Ok(VOLUME), |size| size.parse().map_err(|error| refused(format!("size: {error}"))))?;
    let overwrites = count(number, "overwrites")?;
    let asked = profile::Asked { profile: profile(name).map_err(refused)?, overwrites, volume };
    asked.check().map_err(|WrongHistory(reason)| refused(reason))?;
    Ok(asked)
}

/// Whether a stored history is in the folder `cache` as it was.
pub fn history_is_kept(age: &Age, cache: &Path) -> bool {
    let path = Path::new(&age.path);
    path.parent() == Some(cache)
        && fs::read(path).is_ok_and(|bytes| crate::input::hex(&Sha256::digest(bytes)) == age.sha256)
}

/// Writes a history unless it is there, whole.
fn keep(cache: &Path, sha256: &str, text: &str) -> Result<PathBuf> {
    // Named as other files of the cache for corpora.
    let path = cache.join(format!("history-{}.history", &sha256[..16]));
    if fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(path);
    }
    let mut partial = Place::new(cache, "history", sha256, Keep::Yes).start(Some(text.len() as u64))?;
    partial.write_all(text.as_bytes()).map_err(|error| partial.explain(error))?;
    partial.persist(&path)?;
    Ok(path)
}

/// Writes the operations of commits, and keeps account of the tree.
#[derive(Default)]
struct Builder {
    text: String,
    operations: u64,
    commits: u32,
    tree: BTreeMap<String, u64>,
    /// Space that the tree takes, and the most it ever took.
    taken: u64,
    most: u64,
}

/// A file's blocks, and one for its entry and inode.
fn space(size: u64) -> u64 {
    size.next_multiple_of(BLOCK) + BLOCK
}

impl Builder {
    /// A commit, or the first tree.
    fn commit(&mut self, changes: &[Change]) {
        self.objects(changes);
        for change in changes {
            let path = change.path.as_str();
            match &change.to {
                // What was a link or a submodule was never made.
                None if self.tree.contains_key(path) => self.put(HistoryOperation::Remove { path }),
                None => {}
                Some(to) => match self.tree.get(path).filter(|size| to.appended && **size < to.size) {
                    Some(size) => self.put(HistoryOperation::Append { path, size: to.size - size }),
                    None => self.put(HistoryOperation::Write { path, size: to.size }),
                },
            }
        }
        let index = self.tree.keys().filter(|path| !path.starts_with(".git/"));
        let size = index.map(|path| INDEX_ENTRY + path.len() as u64).sum();
        self.put(HistoryOperation::Write { path: ".git/index", size });
        self.commit_all();
    }

    /// All so far is written out.
    fn commit_all(&mut self) {
        self.put(HistoryOperation::Commit);
        self.commits += 1;
    }

    /// What a commit brings to the repository: a pack, or a file an object.
    fn objects(&mut self, changes: &[Change]) {
        let contents = changes.iter().filter_map(|change| change.to.as_ref()).map(|to| to.size / SHRINKS + 20);
        let folders = |change: &Change| {
            let ends = change.path.match_indices('/').map(|(at, _)| change.path[..at].to_owned()).collect::<Vec<_>>();
            ends.into_iter().chain([String::new()])
        };
        let folders: BTreeSet<String> = changes.iter().flat_map(folders).collect();
        let sizes: Vec<u64> = contents.chain(folders.iter().map(|_| TREE_OBJECT)).chain([COMMIT_OBJECT]).collect();
        let name =
            |number: usize| crate::input::hex(&Sha256::digest(format!("{} {number}", self.commits)))[..40].to_owned();
        let files: Vec<(String, u64)> = match sizes.len() >= UNPACK_LIMIT {
            true => vec![(format!(".git/objects/pack/pack-{}.pack", name(0)), sizes.iter().sum())],
            false => {
                let object = |(number, size): (usize, &u64)| {
                    let name = name(number);
                    (format!(".git/objects/{}/{}", &name[..2], &name[2..]), *size)
                };
                sizes.iter().enumerate().map(object).collect()
            }
        };
        for (path, size) in &files {
            self.put(HistoryOperation::Write { path, size: *size });
        }
    }

    fn put(&mut self, operation: HistoryOperation) {
        self.text += &operation.line();
        self.text.push('\n');
        self.operations += u64::from(operation != HistoryOperation::Commit);
        let Some(path) = operation.path() else { return };
        let before = self.tree.get(path).copied();
        let after = match operation {
            HistoryOperation::Write { size, .. } => Some(size),
            HistoryOperation::Append { size, .. } => Some(before.unwrap_or(0) + size),
            HistoryOperation::Remove { .. } | HistoryOperation::Commit => None,
        };
        self.taken = self.taken + after.map_or(0, space) - before.map_or(0, space);
        self.most = self.most.max(self.taken);
        match after {
            Some(size) => _ = self.tree.insert(path.to_owned(), size),
            None => _ = self.tree.remove(path),
        }
    }
}

#[cfg(test)]
mod tests;
