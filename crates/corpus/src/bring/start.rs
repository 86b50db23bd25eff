//! Whether a program can start in a root: found as a guest does, before there is one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use anyhow::Result;
use mountmark_model::{Bring, TaskRoot};

use super::container::What;
use super::libraries::{interpreter, processor};
use super::names::above;
use super::{Tree, joined};

/// Links that are followed for one path, as in Linux.
const MOST_LINKS: usize = 40;
/// Bytes at a file's beginning that tell how it starts.
const HEAD: u64 = 256;

/// What lies at a place.
enum Node {
    Folder,
    /// Its mode.
    File(u32),
    Link(Vec<u8>),
}

/// The places of a tree.
struct Places {
    tree: Tree,
    nodes: BTreeMap<Vec<u8>, Node>,
}

/// Why `program` cannot start in the root that is brought, with a cure; `None` if it can, as far as its file tells. A plain
/// name is looked for in the folders of `path`, another one from where tasks run.
///
/// # Errors
/// A root that cannot be read.
pub fn refusal(bring: &Bring, program: &str, path: &str) -> Result<Option<String>> {
    let places = Places::of(Tree::of(bring)?)?;
    if let Err(reason) = places.start("/bin/sh", 0)? {
        return Ok(Some(format!("commands are started by /bin/sh, and {reason}")));
    }
    if program.contains('/') {
        let whole = if program.starts_with('/') { program.to_owned() } else { format!("{}/{program}", bring.folder) };
        return Ok(places.start(&whole, 0)?.err());
    }
    let found = path.split(':').map(|folder| format!("{folder}/{program}"));
    let mut first = None;
    for whole in found.filter(|whole| places.at(whole).is_ok()) {
        match places.start(&whole, 0)? {
            Ok(()) => return Ok(None),
            Err(reason) => first = first.or(Some(reason)),
        }
    }
    // A shell of many programs has them without files.
    let shell = places.at("/bin/sh").unwrap_or_default();
    let has_own = shell.ends_with(b"box");
    Ok(first
        .or_else(|| (!has_own).then(|| format!("{program} is in no folder of its PATH, {path}; add it to the root"))))
}

impl Places {
    fn of(tree: Tree) -> Result<Places> {
        let mut nodes = BTreeMap::new();
        if let Some(layers) = &tree.layers {
            for entry in layers.kept()?.entries.into_values() {
                let node = match entry.what {
                    What::Folder => Node::Folder,
                    What::File(_) | What::HardLink(_) => Node::File(entry.mode),
                    What::Link(target) => Node::Link(target),
                };
                nodes.insert(entry.name, node);
            }
        }
        for (place, item) in &tree.items {
            let node = match &item.target {
                Some(target) => Node::Link(target.clone()),
                None if item.metadata.is_dir() => Node::Folder,
                None => Node::File(item.metadata.mode()),
            };
            nodes.insert(place.clone(), node);
        }
        // An archive need not have entries of its folders.
        let folders: Vec<Vec<u8>> = nodes.keys().flat_map(|name| above(name)).map(<[u8]>::to_vec).collect();
        for folder in folders {
            nodes.entry(folder).or_insert(Node::Folder);
        }
        for (_, _, place) in &tree.large {
            let name = place.rsplit('/').next().unwrap_or_default();
            let target = format!("{}/{name}", TaskRoot::LARGE).into_bytes();
            nodes.insert(place.trim_start_matches('/').into(), Node::Link(target));
        }
        Ok(Places { tree, nodes })
    }

    /// The place of a path with all links followed, which cannot leave the root; or the part that is not there.
    fn at(&self, path: &str) -> Result<Vec<u8>, String> {
        let mut left: Vec<Vec<u8>> = parts(path.as_bytes());
        let (mut at, mut links) = (Vec::new(), 0);
        while let Some(part) = left.pop() {
            if part == b".." {
                at.truncate(at.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
                continue;
            }
            let next = joined(&at, &part);
            match self.nodes.get(&next) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(format!("{path} is a link that leads to itself"));
                    }
                    if target.starts_with(b"/") {
                        at.clear();
                    }
                    left.extend(parts(target));
                }
                Some(_) => at = next,
                None => {
                    let missing = String::from_utf8_lossy(&next).into_owned();
                    return Err(match links {
                        0 => format!("/{missing} is not in it"),
                        _ => format!("{path} is a link to /{missing}, which is not in it"),
                    });
                }
            }
        }
        Ok(at)
    }

    /// Whether the file at a path starts; or why not, with a cure.
    fn start(&self, path: &str, depth: usize) -> Result<Result<(), String>> {
        let at = match self.at(path) {
            Ok(at) => at,
            Err(reason) => return Ok(Err(format!("{reason}; add it to the root"))),
        };
        match self.nodes.get(&at) {
            Some(Node::File(mode)) if mode & 0o111 == 0 => {
                return Ok(Err(format!("{path} may not be run; give it the right: chmod +x")));
            }
            Some(Node::File(_)) => {}
            _ => return Ok(Err(format!("{path} is a folder; name a program"))),
        }
        let head = self.head(&at)?;
        if let Some(other) = processor(&head) {
            return Ok(Err(format!("{path} is a program for {other}, and guests have x86-64; take a root for x86-64")));
        }
        let Some(line) = head.strip_prefix(b"#!").filter(|_| depth == 0) else { return Ok(Ok(())) };
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
        let first = line.split_whitespace().next().unwrap_or_default();
        if first.starts_with('/') && interpreter(&line).is_some() {
            let started = self.start(first, depth + 1)?;
            return Ok(started.map_err(|reason| format!("{path} is started by {first}, and {reason}")));
        }
        Ok(Ok(()))
    }

    /// The first bytes of a file.
    fn head(&self, place: &[u8]) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        match (self.tree.items.get(place), &self.tree.layers) {
            (Some(item), _) => drop(File::open(&item.path)?.take(HEAD).read_to_end(&mut head)?),
            (None, Some(layers)) => head = layers.head(place, HEAD)?,
            (None, None) => {}
        }
        Ok(head)
    }
}

/// The parts of a path, the last first.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    parts.rev().map(<[u8]>::to_vec).collect()
}
