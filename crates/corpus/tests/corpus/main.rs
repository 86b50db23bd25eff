//! Tests corpora through `realise`, checked with the system's own tar.

mod cache;
mod generated;
mod odd;
mod users;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mountmark_corpus::{CorpusSource, realise};
use mountmark_model::{Bytes, Corpus, CorpusKind, FileTree, RealisedCorpus, Scale};

fn catalogue(name: &str) -> Corpus {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../catalog/corpora/{name}.toml"));
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn scale(factor: f64) -> Scale {
    Scale::try_from(factor).unwrap()
}

fn made(corpus: &Corpus, factor: f64, seed: u64, cache: &Path) -> (PathBuf, RealisedCorpus) {
    realise(&CorpusSource::Catalogue(corpus.clone()), scale(factor), seed, cache, &mut |_| {}).unwrap()
}

fn own(path: &Path, cache: &Path) -> anyhow::Result<(PathBuf, RealisedCorpus)> {
    realise(&CorpusSource::Path(path.to_owned()), Scale::ONE, 1, cache, &mut |_| {})
}

/// The listing of the system's tar: type letter, size and name of each entry.
fn listing(tar: &Path) -> Vec<(char, u64, String)> {
    let output = Command::new("tar").arg("--numeric-owner").arg("-tvf").arg(tar).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (line.chars().next().unwrap(), words[2].parse().unwrap(), words[5].to_owned())
        })
        .collect()
}

fn small() -> Corpus {
    let corpus = catalogue("linux-2.6.14-like");
    let CorpusKind::Tree(tree) = corpus.kind else { panic!("a tree") };
    let kind = CorpusKind::Tree(FileTree { files: 40, directories: 9, total: Bytes(440_000), ..tree });
    Corpus { name: "small".into(), kind, ..corpus }
}

/// A tar with a few kinds of entries, made by the system's tar from a folder `mine`.
fn users(folder: &Path) -> (PathBuf, PathBuf) {
    let root = folder.join("mine");
    fs::create_dir_all(root.join("deep/er")).unwrap();
    fs::create_dir(root.join("none")).unwrap();
    fs::write(root.join("a"), b"").unwrap();
    fs::write(root.join("deep/b.txt"), vec![b'x'; 1000]).unwrap();
    fs::write(root.join("deep/er").join("long".repeat(40)), vec![b'y'; 70_000]).unwrap();
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("../deep", root.join("none/link")).unwrap();
    let tar = folder.join("mine.tar");
    let status = Command::new("tar").arg("-C").arg(folder).arg("-cf").arg(&tar).arg("mine").status().unwrap();
    assert!(status.success());
    (root, tar)
}

fn packed(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(plain).unwrap();
    let zstd = zstd::encode_all(plain, 1).unwrap();
    vec![("gzip", gzip.finish().unwrap()), ("xz", xz.finish().unwrap()), ("zstd", zstd)]
}
