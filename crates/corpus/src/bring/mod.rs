//! The user's own programs, files and trees for tasks, as one tar: each at the place that it has for tasks, without the
//! first slash. What a program needs to start comes with it, and nothing of it is run to find that out.

mod container;
mod libraries;
mod manifest;
mod names;
mod start;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use mountmark_model::{Bring, Bytes, Own, RealisedCorpus, TaskRoot};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::input::{self, Item, hex};
use crate::making::{Label, Sender, make};
use crate::ustar;
use crate::{Keep, Progress, cache};
use container::Layers;
use libraries::Program;
pub use start::refusal;

/// A file or folder that is larger stays on the second disk: copying it to where tasks run would take long.
pub const LARGE: u64 = 64 << 20;
/// Most bytes of a tree.
const MOST: u64 = 4 << 30;
/// Most programs whose libraries are looked for in a folder.
const MOST_PROGRAMS: usize = 1000;

/// The folders of a guest that are one with others, and these.
const MERGED: [(&str, &str); 5] =
    [("bin", "usr/bin"), ("sbin", "usr/bin"), ("usr/sbin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64")];

/// What a user should know of what he brings, before anything is packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// Scripts, with the program that their first line names.
    pub scripts: Vec<(PathBuf, String)>,
    /// What is large, with its size in bytes and its place for tasks.
    pub large: Vec<(PathBuf, u64, String)>,
    /// Programs in a folder that guests cannot start, each as a sentence: they come as they are.
    pub unsound: Vec<String>,
    /// Variables that a container's image sets.
    pub environment: BTreeMap<String, String>,
}

/// Looks at all that is brought, and refuses what cannot run in a guest.
///
/// # Errors
/// A file that is missing, is for another processor, or lacks a library; an archive that is none.
pub fn examine(bring: &Bring) -> Result<Brought> {
    let tree = Tree::of(bring)?;
    let environment = match &tree.layers {
        Some(layers) => layers.environment()?,
        None => BTreeMap::new(),
    };
    Ok(Brought { scripts: tree.scripts, large: tree.large, unsound: tree.unsound, environment })
}

/// All that is brought, by place.
struct Tree {
    items: BTreeMap<Vec<u8>, Item>,
    /// An archive or an image whose entries lie below the items.
    layers: Option<Layers>,
    /// Whether the folders of programs are one.
    is_merged: bool,
    scripts: Vec<(PathBuf, String)>,
    large: Vec<(PathBuf, u64, String)>,
    unsound: Vec<String>,
}

impl Tree {
    fn of(bring: &Bring) -> Result<Tree> {
        let mut tree = Tree {
            items: BTreeMap::new(),
            layers: None,
            is_merged: bring.over,
            scripts: Vec::new(),
            large: Vec::new(),
            unsound: Vec::new(),
        };
        if let Some(root) = &bring.root {
            tree.add_root(root).with_context(|| format!("cannot use {} as a root", root.display()))?;
        }
        let mut names = BTreeSet::new();
        for own in &bring.with {
            let what = || format!("cannot bring {}", own.path.display());
            let whole = own.path.canonicalize().with_context(what)?;
            let called = Own { path: whole.clone(), ..own.clone() };
            let kind = whole.metadata().with_context(what)?.file_type();
            ensure!(kind.is_file() || kind.is_dir(), "{}: it is neither a file nor a folder", what());
            let unnamed = || format!("{}: it has no name; give it one: NAME=PATH", what());
            let name = called.called().with_context(unnamed)?.into_owned();
            let is_name = !name.is_empty() && name != "." && name != ".." && !name.as_bytes().contains(&b'/');
            ensure!(is_name, "cannot bring {} as {}: give it a plain name", own.path.display(), name.display());
            ensure!(
                name != "lost+found",
                "cannot bring {} as lost+found: new file systems have a folder of that name; give it another, NAME=PATH",
                own.path.display()
            );
            ensure!(names.insert(name.clone()), "two of what is brought are called {}", name.display());
            tree.add_own(&whole, name.as_bytes(), bring).with_context(what)?;
        }
        let bytes: u64 = tree.items.values().map(Item::size).sum();
        ensure!(
            bytes <= MOST,
            "{}: it has {}, and {} are the most that can be brought",
            refused(bring),
            Bytes(bytes),
            Bytes(MOST)
        );
        Ok(tree)
    }

    /// A folder's tree, or an archive's.
    fn add_root(&mut self, root: &Path) -> Result<()> {
        let whole = root.canonicalize()?;
        ensure!(whole.parent().is_some(), "it is all of this machine; name a folder such as debootstrap makes");
        match Layers::of(&whole)? {
            Some(layers) => self.layers = Some(layers),
            None => self.add_below(&whole, b"")?,
        }
        Ok(())
    }

    /// What lies at `path` and below it, at `place`.
    fn add_below(&mut self, path: &Path, place: &[u8]) -> Result<()> {
        for found in WalkDir::new(path).sort_by_file_name() {
            let found = found.map_err(|error| {
                let at = error.path().unwrap_or(path).display().to_string();
                anyhow::anyhow!(
                    "cannot read {at}: {}",
                    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
                )
            })?;
            let metadata = found.metadata().with_context(|| format!("cannot read {}", found.path().display()))?;
            let kind = metadata.file_type();
            if !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
                continue;
            }
            let inside = found.path().strip_prefix(path)?.as_os_str().as_bytes();
            let place = joined(place, inside);
            if place.is_empty() {
                continue;
            }
            self.add(&place, found.path(), metadata)?;
        }
        Ok(())
    }

    fn add(&mut self, place: &[u8], from: &Path, metadata: Metadata) -> Result<()> {
        let Some(place) = self.merged(place) else { return Ok(()) };
        let target = match metadata.is_symlink() {
            true => Some(
                fs::read_link(from)
                    .with_context(|| format!("cannot read {}", from.display()))?
                    .as_os_str()
                    .as_bytes()
                    .to_vec(),
            ),
            false => None,
        };
        self.items.insert(place, Item { path: from.to_owned(), target, metadata });
        Ok(())
    }

    /// Where a guest has a place, if its folders of programs are one; `None` for a link that makes them one.
    fn merged(&self, place: &[u8]) -> Option<Vec<u8>> {
        if self.is_merged { merged(place) } else { Some(place.to_vec()) }
    }

    /// A file or a folder for where tasks run, with the libraries of the programs in it.
    fn add_own(&mut self, path: &Path, name: &[u8], bring: &Bring) -> Result<()> {
        let sizes = WalkDir::new(path).into_iter().flatten().filter_map(|found| found.metadata().ok());
        let size: u64 = sizes.filter(Metadata::is_file).map(|metadata| metadata.len()).sum();
        let folder = if size > LARGE { TaskRoot::LARGE } else { bring.folder.as_str() };
        let place = joined(folder.trim_start_matches('/').as_bytes(), name);
        if size > LARGE {
            self.large.push((path.to_owned(), size, format!("{folder}/{}", String::from_utf8_lossy(name))));
        }
        self.add_below(path, &place)?;
        let is_program = |item: &&Item| item.metadata.is_file() && item.metadata.mode() & 0o111 != 0;
        let own = self.items.range(place.clone()..).take_while(|(at, _)| at.starts_with(&place));
        let programs: Vec<(Vec<u8>, PathBuf)> =
            own.filter(|(_, item)| is_program(item)).map(|(at, item)| (at.clone(), item.path.clone())).collect();
        ensure!(programs.len() <= MOST_PROGRAMS, "it has more than {MOST_PROGRAMS} programs");
        for (at, from) in programs {
            match self.add_libraries(&from, &at) {
                // What else lies in a folder may never be started.
                Err(error) if from != path => self.unsound.push(format!("{error:#}")),
                added => added?,
            }
        }
        Ok(())
    }

    /// What the program at `from`, which tasks find at `at`, needs to start.
    fn add_libraries(&mut self, from: &Path, at: &[u8]) -> Result<()> {
        match Program::read(from)? {
            Program::Elf(needed) => {
                for library in needed.libraries(from, at)? {
                    let metadata = fs::metadata(&library.from)?;
                    self.add(&library.place, &library.from, metadata)?;
                }
            }
            Program::Script(interpreter) => self.scripts.push((from.to_owned(), interpreter)),
            Program::Other => {}
        }
        Ok(())
    }

    /// Changes when anything that is brought does.
    fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (place, item) in &self.items {
            input::add(&mut hash, place, &item.metadata);
            input::add(&mut hash, item.path.as_os_str().as_bytes(), &item.metadata);
            hash.update(item.target.as_deref().unwrap_or_default());
        }
        if let Some(layers) = &self.layers {
            hash.update(layers.fingerprint());
        }
        hash.update([u8::from(self.is_merged)]);
        hex(&hash.finalize())
    }

    fn pack(&self, out: &mut impl Write) -> Result<()> {
        if let Some(layers) = &self.layers {
            layers.pack(&|place| self.merged(place).filter(|place| !self.items.contains_key(place)), out)?;
        }
        for (place, item) in &self.items {
            // Two builds of one program differ in when they were made, which must not show in figures.
            item.pack(place, 0, "it", out)?;
        }
        out.write_all(&ustar::END)?;
        Ok(())
    }
}

/// The tar of what is brought, from the cache or made anew.
pub(crate) fn realise(
    bring: &Bring,
    cache: &Path,
    keep: Keep,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<(PathBuf, RealisedCorpus)> {
    let tree = Tree::of(bring)?;
    let root = bring.root.iter().filter_map(|path| path.file_name()).map(Cow::Borrowed);
    let names = root.chain(bring.with.iter().filter_map(Own::called));
    let name = names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join("+");
    let label = Label { name: name.clone(), seed: None };
    let place = cache::Place::new(cache, &name, &format!("brought {}", tree.fingerprint()), keep);
    if let Some(found) = place.look_up() {
        return Ok((place.tar(), label.on(found)));
    }
    make(&place, None, label, watch, |out: &mut Sender| tree.pack(out)).with_context(|| refused(bring))
}

/// The beginning of a sentence about what cannot be brought.
fn refused(bring: &Bring) -> String {
    match &bring.root {
        Some(root) => format!("cannot use {} as a root", root.display()),
        None => {
            let paths: Vec<String> = bring.with.iter().map(|own| own.path.display().to_string()).collect();
            format!("cannot bring {}", paths.join(", "))
        }
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    match (folder, name) {
        (b"", name) => name.to_vec(),
        (folder, b"") => folder.to_vec(),
        (folder, name) => [folder, b"/", name].concat(),
    }
}

/// Where a guest has a place; `None` for a link that makes two folders one.
fn merged(place: &[u8]) -> Option<Vec<u8>> {
    for (folder, target) in MERGED {
        match place.strip_prefix(folder.as_bytes()) {
            Some(b"") => return None,
            Some(rest) if rest.starts_with(b"/") => return Some([target.as_bytes(), rest].concat()),
            _ => {}
        }
    }
    Some(place.to_vec())
}

#[cfg(test)]
mod tests;
