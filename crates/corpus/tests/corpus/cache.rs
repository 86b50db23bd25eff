//! Tars in the cache: generated once, found again, and generated anew after a change.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use mountmark_corpus::{CorpusSource, Progress, foresee, is_kept, realise};
use mountmark_model::{Bytes, CorpusKind, Distribution, RealisedCorpus, Scale};
use tempfile::TempDir;

use super::{made, small, users};

#[test]
fn what_is_foreseen_is_what_is_made_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let (tree, tar) = users(folder.path());
    let damaged = folder.path().join("damaged.tar");
    fs::write(&damaged, &fs::read(&tar).unwrap()[..700]).unwrap();
    let sources = [CorpusSource::Catalogue(small()), CorpusSource::Path(tree), CorpusSource::Path(tar)];
    for source in sources {
        let foreseen = foresee(&source, Scale::ONE, 7, &cache, &mut |_| {}).unwrap();
        assert!(!cache.exists(), "{source:?}");
        let made = realise(&source, Scale::ONE, 7, &cache, &mut |_| {}).unwrap();
        assert_eq!(foreseen, made);
        // An existing tar is found, and its recorded properties stay although it was touched.
        let sidecar = made.0.with_extension("json");
        let known = fs::read(&sidecar).unwrap();
        File::options().write(true).open(&made.0).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(foresee(&source, Scale::ONE, 7, &cache, &mut |_| {}).unwrap(), made);
        assert_eq!(fs::read(&sidecar).unwrap(), known);
        fs::remove_dir_all(&cache).unwrap();
    }
    let source = CorpusSource::Path(damaged);
    let foreseen = format!("{:#}", foresee(&source, Scale::ONE, 7, &cache, &mut |_| {}).unwrap_err());
    assert_eq!(foreseen, format!("{:#}", realise(&source, Scale::ONE, 7, &cache, &mut |_| {}).unwrap_err()));
}

#[test]
fn without_space_nothing_is_left_and_the_sentence_helps() {
    let cache = TempDir::new().unwrap();
    let mut corpus = small();
    let CorpusKind::Tree(tree) = &mut corpus.kind else { panic!("a tree") };
    tree.total = Bytes(1 << 58);
    tree.sizes = Distribution::LogUniform { min: Bytes(1), max: Bytes(1 << 57) };
    let source = CorpusSource::Catalogue(corpus);
    let sentence = format!("{:#}", realise(&source, Scale::ONE, 1, cache.path(), &mut |_| {}).unwrap_err());
    for part in [cache.path().to_str().unwrap(), "TiB", "free", "--scale"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[test]
fn a_finished_tar_is_used_again_and_a_changed_one_made_anew() {
    let cache = TempDir::new().unwrap();
    let source = CorpusSource::Catalogue(small());
    let run = || {
        let mut written = 0;
        let (tar, corpus) = realise(&source, Scale::ONE, 1, cache.path(), &mut |progress| {
            if let Progress::Written { bytes, .. } = progress {
                written = bytes;
            }
        })
        .unwrap();
        (tar, corpus, written > 0)
    };
    let (tar, first, fresh) = run();
    assert!(fresh);
    assert_eq!(run(), (tar.clone(), first.clone(), false));
    let good = fs::read(&tar).unwrap();
    let restored = || fs::read(&tar).unwrap() == good;

    File::options().write(true).open(&tar).unwrap().set_len(1000).unwrap();
    assert!(run().2 && restored());
    let mut bad = good.clone();
    bad[5000] ^= 1;
    fs::write(&tar, bad).unwrap();
    assert!(run().2 && restored());
    // The same bytes in another file, as after copying the cache: hashed, found right and kept.
    fs::remove_file(&tar).unwrap();
    fs::write(&tar, &good).unwrap();
    assert!(!run().2 && restored());
    assert!(!run().2);
    fs::write(tar.with_extension("json"), "{").unwrap();
    assert!(run().2);
    fs::remove_file(&tar).unwrap();
    assert!(run().2 && restored());
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 2);
}

#[test]
fn a_folder_is_packed_anew_when_it_changed_and_special_files_are_named() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, _) = users(home.path());
    assert!(Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    // A cache within the folder is not part of the corpus.
    let inside = root.join("cache");
    let run = |cache: &Path| {
        let (mut skipped, mut written) = (Vec::new(), false);
        let source = CorpusSource::Path(root.clone());
        let realised = realise(&source, Scale::ONE, 1, cache, &mut |progress| match progress {
            Progress::Skipped(path) => skipped.push(path.to_owned()),
            Progress::Written { .. } => written = true,
        });
        (realised.unwrap().1, skipped, written)
    };
    let (first, skipped, written) = run(cache.path());
    assert_eq!((skipped, written), (vec![root.canonicalize().unwrap().join("pipe")], true));
    assert!(!run(cache.path()).2);
    fs::write(root.join("a"), b"now longer").unwrap();
    let (second, _, written) = run(cache.path());
    assert!(written && second.bytes == first.bytes + 10);
    assert_eq!(run(&inside).0.files, 3);
    assert!(!run(&inside).2);
}

#[test]
fn only_finished_tars_are_handed_on() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (tar, corpus) = made(&small(), 1.0, 1, cache.path());
    assert!(is_kept(&tar, &corpus, cache.path()));
    let other = RealisedCorpus { sha256: "00".repeat(32), ..corpus.clone() };
    assert!(!is_kept(&tar, &other, cache.path()));
    let copy = home.path().join(tar.file_name().unwrap());
    fs::copy(&tar, &copy).unwrap();
    assert!(!is_kept(&copy, &corpus, cache.path()));
    let link = cache.path().join("link.tar");
    std::os::unix::fs::symlink(&copy, &link).unwrap();
    assert!(!is_kept(&link, &corpus, cache.path()));
    fs::write(&tar, "changed").unwrap();
    assert!(!is_kept(&tar, &corpus, cache.path()));
}
