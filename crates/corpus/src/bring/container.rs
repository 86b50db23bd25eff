//! Archives of a whole tree, and containers' images: layers of which an upper one hides files of those below.
//!
//! What `podman export` writes is one layer. `docker save`, `podman save` and OCI layouts have a manifest that lists their
//! layers, from the lowest (the OCI image specification, `layer.md`, for whiteouts).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use mountmark_model::{Bytes, shortened};
use serde_json::Value;
use tar::EntryType;

use super::MOST;
use super::manifest::{MOST_MANIFEST, blob, manifests, of_docker, of_index};
use super::names::{above, plain, split};
use crate::input::{Archive, copy};
use crate::ustar::{self, Kind};

/// Variables that tasks have of their own.
const NOT_TAKEN: [&str; 4] = ["HOME", "TEST", "SOURCE", "SEED"];
/// What the name of an entry begins with that hides one of the layers below, and the name that hides all of its folder.
const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";

/// The layers of a tree, from the lowest.
pub(super) struct Layers {
    origin: PathBuf,
    form: Form,
    /// What the image sets for programs, as `NAME=value`.
    environment: Vec<String>,
}

enum Form {
    /// The archive itself.
    One,
    /// Entries of the archive.
    Inside(Vec<String>),
    /// Files.
    Files(Vec<PathBuf>),
}

/// Causes may quote all of a header, and of what is no archive its first lines, which may be secret.
fn damaged(error: &io::Error) -> anyhow::Error {
    let cause = error.to_string();
    let cause = cause.split(" when getting cksum for ").next().unwrap_or_default();
    let cause = cause.split(": ").next().unwrap_or_default();
    anyhow::anyhow!("this is no tar archive, or it is damaged: {}", shortened(cause, 120))
}

/// What is done with an entry.
type Take<'a> = dyn FnMut(&mut tar::Entry<'_, Box<dyn Read>>) -> Result<()> + 'a;

impl Layers {
    /// The layers at `path`; `None` if it is a folder that is a tree itself.
    pub(super) fn of(path: &Path) -> Result<Option<Layers>> {
        let origin = path.to_owned();
        if path.is_dir() {
            if !path.join("oci-layout").is_file() {
                return Ok(None);
            }
            let read = |name: &str| -> Result<Value> {
                let file = path.join(blob(name)?);
                let bytes = mountmark_input::text(&file, MOST_MANIFEST)
                    .with_context(|| format!("cannot read {}", file.display()))?;
                Ok(serde_json::from_str(&bytes)?)
            };
            let (names, environment) = of_index(&read)?;
            let form = Form::Files(names.iter().map(|name| path.join(name)).collect());
            return Ok(Some(Layers { origin, form, environment }));
        }
        let archive = Archive::open(path)?;
        let Some(small) = manifests(&archive)? else {
            return Ok(Some(Layers { origin, form: Form::One, environment: Vec::new() }));
        };
        let read = |name: &str| -> Result<Value> {
            let bytes = small.get(name.trim_start_matches("./")).with_context(|| format!("the image has no {name}"))?;
            serde_json::from_slice(bytes).with_context(|| format!("{name} of the image is no JSON"))
        };
        let (names, environment) = match small.contains_key("manifest.json") {
            true => of_docker(&read)?,
            false => of_index(&|name| read(&blob(name)?))?,
        };
        Ok(Some(Layers { origin, form: Form::Inside(names), environment }))
    }

    /// What the image sets for programs. A home of its own is none of theirs here.
    pub(super) fn environment(&self) -> Result<BTreeMap<String, String>> {
        let all = self.environment.iter().filter_map(|setting| setting.split_once('='));
        let is_name = |name: &str| {
            !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        Ok(all
            .filter(|(name, _)| !name.is_empty() && is_name(name) && !NOT_TAKEN.contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect())
    }

    /// Changes when the files do.
    pub(super) fn fingerprint(&self) -> String {
        let of = |path: &Path| Archive::open(path).map(|archive| archive.fingerprint()).unwrap_or_default();
        match &self.form {
            Form::Files(files) => files.iter().map(|file| of(file)).collect(),
            _ => of(&self.origin),
        }
    }

    /// The first bytes of a file; none of one that no layer has.
    pub(super) fn head(&self, name: &[u8], most: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        // The upper layer's is the one that counts.
        for layer in 0..self.count() {
            self.each(layer, &mut |entry| {
                if plain(&entry.path_bytes())? == name && entry.header().entry_type().is_file() {
                    head.clear();
                    entry.take(most).read_to_end(&mut head)?;
                }
                Ok(())
            })?;
        }
        Ok(head)
    }

    fn count(&self) -> usize {
        match &self.form {
            Form::One => 1,
            Form::Inside(names) => names.len(),
            Form::Files(files) => files.len(),
        }
    }

    /// Hands the entries of a layer to `take`.
    fn each(&self, layer: usize, take: &mut Take) -> Result<()> {
        let mut entries_of = |reader: Box<dyn Read>| -> Result<()> {
            let mut archive = tar::Archive::new(reader);
            for entry in archive.entries()? {
                take(&mut entry.map_err(|error| damaged(&error))?)?;
            }
            Ok(())
        };
        match &self.form {
            Form::One => entries_of(Archive::open(&self.origin)?.unpacked()?),
            Form::Files(files) => {
                let file = &files[layer];
                entries_of(Archive::open(file).with_context(|| format!("the layer {}", file.display()))?.unpacked()?)
            }
            Form::Inside(names) => {
                let wanted = &names[layer];
                let mut outer = tar::Archive::new(Archive::open(&self.origin)?.unpacked()?);
                for entry in outer.entries()? {
                    let entry = entry.map_err(|error| damaged(&error))?;
                    if String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./") == *wanted {
                        // The reader lives no longer than this call, which a type cannot say.
                        let mut spooled = tempfile::tempfile().context("cannot make a temporary file")?;
                        let mut entry = entry;
                        copy(&mut entry, &mut spooled).context("cannot unpack a layer")?;
                        return entries_of(Box::new(unpacked(spooled)?));
                    }
                }
                bail!("the image has no layer {wanted}")
            }
        }
    }

    /// Writes the tree's entries, those that `place` gives a place; folders first.
    pub(super) fn pack(&self, place: &dyn Fn(&[u8]) -> Option<Vec<u8>>, out: &mut impl Write) -> Result<()> {
        let kept = self.kept()?;
        for (_, entry) in kept.folders() {
            if let Some(place) = place(&entry.name) {
                out.write_all(&ustar::header(&place, Kind::Directory, entry.mode, entry.modified))?;
            }
        }
        let mut bytes = 0;
        for layer in 0..self.count() {
            let mut number = 0;
            self.each(layer, &mut |entry| {
                let at = (layer, number);
                number += 1;
                let Some(known) = kept.entries.get(&at) else { return Ok(()) };
                let Some(place_of) = place(&known.name) else { return Ok(()) };
                match &known.what {
                    What::Folder => {}
                    What::Link(target) => {
                        out.write_all(&ustar::header(&place_of, Kind::Link { target }, known.mode, known.modified))?
                    }
                    What::HardLink(target) => {
                        if let Some(target) = place(target) {
                            out.write_all(&ustar::header(
                                &place_of,
                                Kind::HardLink { target: &target },
                                known.mode,
                                known.modified,
                            ))?;
                        }
                    }
                    What::File(size) => {
                        bytes += size;
                        ensure!(
                            bytes <= MOST,
                            "unpacked it has more than {}, the most that can be brought",
                            Bytes(MOST)
                        );
                        out.write_all(&ustar::header(
                            &place_of,
                            Kind::File { size: *size },
                            known.mode,
                            known.modified,
                        ))?;
                        let copied = copy(entry, out)?;
                        ensure!(copied == *size, "the archive is damaged: an entry is shorter than it says");
                        out.write_all(&ustar::END[..ustar::padding(*size)])?;
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The entries that no upper layer hides.
    pub(super) fn kept(&self) -> Result<Kept> {
        let mut kept = Kept::default();
        let (mut seen, mut hidden, mut opaque) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        for layer in (0..self.count()).rev() {
            let (mut own_hidden, mut own_opaque) = (Vec::new(), Vec::new());
            let mut own: BTreeMap<Vec<u8>, (usize, Seen)> = BTreeMap::new();
            let mut number = 0;
            self.each(layer, &mut |entry| {
                let at = number;
                number += 1;
                let name = plain(&entry.path_bytes())?;
                let (folder, last) = split(&name);
                if last == OPAQUE {
                    own_opaque.push(folder.to_vec());
                } else if let Some(of) = last.strip_prefix(WHITEOUT) {
                    own_hidden.push(super::joined(folder, of));
                } else if let Some(seen) = Seen::of(name.clone(), entry)? {
                    // Of two entries of one name the last counts.
                    own.insert(name, (at, seen));
                }
                Ok(())
            })?;
            for (name, (at, entry)) in own {
                let is_below = |set: &BTreeSet<Vec<u8>>| above(&name).any(|folder| set.contains(folder));
                let is_folder = entry.what == What::Folder;
                let covered = seen.get(&name).is_some_and(|other: &bool| !(*other && is_folder));
                let is_under_file = above(&name).any(|folder| seen.get(folder) == Some(&false));
                if covered || is_under_file || hidden.contains(&name) || is_below(&hidden) || is_below(&opaque) {
                    continue;
                }
                if seen.insert(name, is_folder).is_none() || !is_folder {
                    kept.entries.insert((layer, at), entry);
                }
            }
            hidden.extend(own_hidden);
            opaque.extend(own_opaque);
        }
        kept.mend_hard_links();
        Ok(kept)
    }
}

/// Entries by layer and number in it.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) entries: BTreeMap<(usize, usize), Seen>,
}

/// An entry's name and kind.
pub(super) struct Seen {
    pub(super) name: Vec<u8>,
    pub(super) what: What,
    pub(super) mode: u32,
    /// Seconds since 1970. Programs such as make act by the times of files.
    modified: i64,
}

#[derive(PartialEq, Eq)]
pub(super) enum What {
    Folder,
    File(u64),
    Link(Vec<u8>),
    HardLink(Vec<u8>),
}

impl Seen {
    /// `None` for the tree's own folder, and for devices, which a guest has itself.
    fn of(name: Vec<u8>, entry: &tar::Entry<'_, Box<dyn Read>>) -> Result<Option<Seen>> {
        let target = || entry.link_name_bytes().map(|target| target.into_owned()).unwrap_or_default();
        let what = match entry.header().entry_type() {
            _ if name.is_empty() => return Ok(None),
            EntryType::Directory => What::Folder,
            EntryType::Symlink => What::Link(target()),
            EntryType::Link => What::HardLink(plain(&target())?),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => What::File(entry.size()),
            _ => return Ok(None),
        };
        let modified = entry.header().mtime().ok().and_then(|time| i64::try_from(time).ok()).unwrap_or(0);
        Ok(Some(Seen { name, what, mode: entry.header().mode().unwrap_or(0o755), modified }))
    }
}

impl Kept {
    fn folders(&self) -> impl Iterator<Item = (&(usize, usize), &Seen)> {
        let mut all: Vec<_> = self.entries.iter().filter(|(_, entry)| entry.what == What::Folder).collect();
        all.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        all.into_iter()
    }

    /// Hard links to what is hidden by an upper layer, or comes later, are left out: an image has the file under another
    /// name then.
    fn mend_hard_links(&mut self) {
        let files: HashMap<Vec<u8>, (usize, usize)> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.what, What::File(_)))
            .map(|(at, entry)| (entry.name.clone(), *at))
            .collect();
        self.entries.retain(|at, entry| match &entry.what {
            What::HardLink(target) => files.get(target).is_some_and(|file| file < at),
            _ => true,
        });
    }
}

/// A reader of a layer's plain tar.
fn unpacked(mut file: fs::File) -> Result<Box<dyn Read>> {
    use io::Seek;
    file.rewind()?;
    Ok(Archive::of_file(file)?.unpacked()?)
}
