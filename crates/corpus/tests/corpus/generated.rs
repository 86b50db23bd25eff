//! Corpora of the catalogue: the same bytes for the same seed, and the properties that their definitions state.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use mountmark_corpus::{CorpusSource, check, realise};
use mountmark_model::{Bytes, Corpus, CorpusKind, Distribution, FileTree, Scale};
use tempfile::TempDir;

use super::{catalogue, listing, made, small};

#[test]
fn bytes_are_pinned() {
    // Fails when a stream, the text, the names or the tar format change: then increase a version as well.
    let cache = TempDir::new().unwrap();
    let text = made(&small(), 1.0, 42, cache.path()).1;
    assert_eq!(text.sha256, "32b8f4ec2a2801c6296a91d3f7e02d1657bd4bf53a8238db7852e5653c461937");
    let noise = made(&catalogue("fileserver-2006"), 0.001, 42, cache.path()).1;
    assert_eq!(noise.sha256, "41b8f41e59f5e6ef5d2122eddff03570ad19e859e80355788b6c8dd6121da560");
    let impressions = made(&catalogue("impressions-2009"), 0.002, 42, cache.path()).1;
    assert_eq!(impressions.sha256, "5a8c9de1b6728da1769f0d4740a7a0a6e2443f0016ffffc8c7bf2326b9d58f34");
}

#[test]
fn seeds_and_scales_make_different_corpora_and_caches_do_not() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (first, again) = (made(&small(), 1.0, 1, one.path()), made(&small(), 1.0, 1, two.path()));
    assert_eq!(first.1, again.1);
    assert_eq!(fs::read(&first.0).unwrap(), fs::read(&again.0).unwrap());
    assert_ne!(first.1.sha256, made(&small(), 1.0, 2, one.path()).1.sha256);
    assert_ne!(first.1.sha256, made(&small(), 0.5, 1, one.path()).1.sha256);
}

#[test]
fn the_catalogue_is_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/corpora");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let corpus = catalogue(&stem);
        assert_eq!(corpus.name, stem);
        assert!(!corpus.sources.is_empty() && !corpus.about.contains('\n'));
        check(&corpus).unwrap();
        let again: Corpus = toml::from_str(&toml::to_string(&corpus).unwrap()).unwrap();
        assert_eq!(again, corpus);
        count += 1;
    }
    assert!(count >= 3);
    let text =
        "name = 'x'\nabout = ''\nsources = []\nkind = 'tree'\nfiles = 1\ndirectories = 1\ntotal = 5\nmax_depth = 1\n";
    let sizes = "sizes = { distribution = 'log-uniform', min = 1, max = 9 }\n";
    assert!(toml::from_str::<Corpus>(&format!("{text}{sizes}")).is_ok());
    let misspelt = toml::from_str::<Corpus>(&format!("{text}{sizes}direktories = 1\n")).unwrap_err().to_string();
    assert!(misspelt.contains("direktories"), "{misspelt}");
}

#[test]
fn counts_and_totals_are_exact_and_the_systems_tar_agrees() {
    let cache = TempDir::new().unwrap();
    for (name, factor, files, directories, bytes) in [
        ("linux-2.6.14-like", 0.1, 1850, 115, 20_400_000),
        ("linux-2.6.14-like", 0.0001, 2, 1, 22_054),
        ("fileserver-2006", 0.01, 75, 9, 19_000_000),
    ] {
        let (tar, corpus) = made(&catalogue(name), factor, 7, cache.path());
        assert_eq!((corpus.files, corpus.directories, corpus.bytes), (files, directories, bytes), "{name}");
        assert_eq!((corpus.name.as_str(), corpus.seed, corpus.others), (name, Some(7), 0));
        assert_eq!(corpus.tar_bytes, fs::metadata(&tar).unwrap().len());
        let listed = listing(&tar);
        let found: Vec<u64> = listed.iter().filter(|entry| entry.0 == '-').map(|entry| entry.1).collect();
        assert_eq!(found.len() as u64, corpus.files);
        assert_eq!(found.iter().sum::<u64>(), corpus.bytes);
        assert_eq!(found.iter().max(), Some(&corpus.size_max));
        assert_eq!(found.iter().min(), Some(&corpus.size_min));
        assert_eq!(listed.iter().filter(|entry| entry.0 == 'd').count() as u64, corpus.directories);
        assert!(listed.iter().all(|entry| entry.2.starts_with(&format!("{name}/"))));
        let deepest = listed.iter().filter(|entry| entry.0 == '-').map(|entry| entry.2.matches('/').count()).max();
        assert_eq!(deepest, Some(corpus.max_depth as usize));
        let sum = Command::new("sha256sum").arg(&tar).output().unwrap().stdout;
        assert!(String::from_utf8(sum).unwrap().starts_with(&corpus.sha256));
    }
}

#[test]
fn a_generated_tree_unpacks_parents_first_and_without_surprises() {
    let cache = TempDir::new().unwrap();
    let (tar, corpus) = made(&small(), 1.0, 3, cache.path());
    let target = TempDir::new().unwrap();
    let mut archive = tar::Archive::new(File::open(&tar).unwrap());
    let mut seen = std::collections::HashSet::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let parent = path.parent().unwrap().to_owned();
        assert!(parent.as_os_str().is_empty() || seen.contains(&parent), "{path:?} before its directory");
        assert!(seen.insert(path));
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 1_136_073_600));
        let mode = if header.entry_type().is_dir() { 0o755 } else { 0o644 };
        assert_eq!(header.mode().unwrap(), mode);
        entry.unpack_in(target.path()).unwrap();
    }
    assert_eq!(seen.len() as u64, corpus.files + corpus.directories);
}

#[test]
fn sizes_are_within_bounds_and_spread_as_defined() {
    let cache = TempDir::new().unwrap();
    let linux = made(&catalogue("linux-2.6.14-like"), 1.0, 5, cache.path()).1;
    assert_eq!((linux.files, linux.directories, linux.bytes), (18_500, 1_150, 204_000_000));
    assert!((5_000..6_000).contains(&linux.size_median), "{linux:?}");
    assert!(linux.size_min >= 30 && linux.size_max <= 1 << 20 && linux.max_depth <= 9, "{linux:?}");
    let server = made(&catalogue("fileserver-2006"), 0.2, 5, cache.path()).1;
    assert!(server.size_min >= 10_000 && server.size_max <= 5_000_000, "{server:?}");
    assert!((90_000..140_000).contains(&server.size_median), "{server:?}");
}

#[test]
fn impressions_follow_their_parameters() {
    let mut corpus = catalogue("impressions-2009");
    let CorpusKind::Impressions(impressions) = &mut corpus.kind else { panic!("impressions") };
    // Many files, cut at a small size to keep the tar small: percentiles below the cut hardly change.
    (impressions.files, impressions.max_file) = (20_000, Bytes(100_000));
    let cache = TempDir::new().unwrap();
    let (tar, corpus) = made(&corpus, 1.0, 5, cache.path());
    assert_eq!(corpus.files, 20_000);
    let listed = listing(&tar);
    let mut sizes: Vec<u64> = listed.iter().filter(|entry| entry.0 == '-').map(|entry| entry.1).collect();
    sizes.sort_unstable();
    // 79.7 % of the whole lognormal are below 100,000 bytes; its own 10th and 50th percentiles are therefore here at:
    for (share, bytes) in [(0.1 / 0.797, 562.0), (0.5 / 0.797, 13_095.0)] {
        let found = sizes[(share * sizes.len() as f64) as usize] as f64;
        assert!((found / bytes - 1.0).abs() < 0.1, "{share}: {found}");
    }
    let depths: Vec<usize> =
        listed.iter().filter(|entry| entry.0 == '-').map(|entry| entry.2.matches('/').count()).collect();
    let mean = depths.iter().sum::<usize>() as f64 / depths.len() as f64;
    assert!((mean - 6.98).abs() < 0.5, "{mean}");
    let per_directory = corpus.files as f64 / corpus.directories as f64;
    assert!((8.5..12.0).contains(&per_directory), "{per_directory}");
}

#[test]
fn impossible_definitions_are_refused_with_their_field() {
    let cache = TempDir::new().unwrap();
    let tree = |files, directories, total, max_depth, sizes| {
        let kind = CorpusKind::Tree(FileTree {
            files,
            directories,
            total: Bytes(total),
            max_depth,
            sizes,
            extensions: Vec::new(),
            text: false,
        });
        Corpus { name: "odd".into(), about: String::new(), sources: Vec::new(), kind }
    };
    let even = |min, max| Distribution::LogUniform { min: Bytes(min), max: Bytes(max) };
    for (corpus, field) in [
        (tree(0, 1, 10, 1, even(1, 5)), "`files`"),
        (tree(1, 0, 10, 1, even(1, 50)), "`directories`"),
        (tree(1, 5, 10, 0, even(1, 50)), "`max_depth`"),
        (tree(2, 1, 11, 1, even(1, 5)), "`total`"),
        (tree(2, 1, 11, 1, even(0, 50)), "`sizes.min`"),
        (tree(2, 1, 11, 1, even(9, 5)), "`sizes.min`"),
        (Corpus { name: "../up".into(), ..tree(2, 1, 10, 1, even(1, 9)) }, "`name`"),
    ] {
        let source = CorpusSource::Catalogue(corpus);
        let sentence = format!("{:#}", realise(&source, Scale::ONE, 1, cache.path(), &mut |_| {}).unwrap_err());
        assert!(sentence.contains(field), "{sentence}");
    }
}
