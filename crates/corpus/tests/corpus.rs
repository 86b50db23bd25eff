//! Corpora as their users get them: through `realise`, checked with the system's own tar.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mountmark_corpus::{CorpusSource, Progress, check, foresee, is_kept, realise};
use mountmark_model::{Bytes, Corpus, CorpusKind, Distribution, RealisedCorpus, Scale};
use tempfile::TempDir;

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

fn refused(path: &Path, cache: &Path) -> String {
    let sentence = format!("{:#}", own(path, cache).unwrap_err());
    assert!(sentence.contains(path.to_str().unwrap()), "{sentence}");
    let left: Vec<_> = fs::read_dir(cache).map_or(Vec::new(), |entries| entries.flatten().collect());
    assert!(left.is_empty(), "left behind: {left:?}");
    sentence
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
    let CorpusKind::Tree { max_depth, sizes, extensions, text, .. } = corpus.kind else { panic!("a tree") };
    let kind =
        CorpusKind::Tree { files: 40, directories: 9, total: Bytes(440_000), max_depth, sizes, extensions, text };
    Corpus { name: "small".into(), kind, ..corpus }
}

#[test]
fn bytes_are_pinned() {
    // Fails when a stream, the text, the names or the tar format change: then raise a version, do not just pin anew.
    let cache = TempDir::new().unwrap();
    let text = made(&small(), 1.0, 42, cache.path()).1;
    assert_eq!(text.sha256, "32b8f4ec2a2801c6296a91d3f7e02d1657bd4bf53a8238db7852e5653c461937");
    let noise = made(&catalogue("fileserver-2006"), 0.001, 42, cache.path()).1;
    assert_eq!(noise.sha256, "41b8f41e59f5e6ef5d2122eddff03570ad19e859e80355788b6c8dd6121da560");
    let impressions = made(&catalogue("impressions-2009"), 0.002, 42, cache.path()).1;
    assert_eq!(impressions.sha256, "5a8c9de1b6728da1769f0d4740a7a0a6e2443f0016ffffc8c7bf2326b9d58f34");
}

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
        // One that is there is found, and what is known of it stays as it is though it was touched.
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
    let CorpusKind::Impressions { files, max_file, .. } = &mut corpus.kind else { panic!("impressions") };
    // Many files, cut at a small size to keep the tar small: percentiles below the cut hardly move.
    (*files, *max_file) = (20_000, Bytes(100_000));
    let cache = TempDir::new().unwrap();
    let (tar, corpus) = made(&corpus, 1.0, 5, cache.path());
    assert_eq!(corpus.files, 20_000);
    let listed = listing(&tar);
    let mut sizes: Vec<u64> = listed.iter().filter(|entry| entry.0 == '-').map(|entry| entry.1).collect();
    sizes.sort_unstable();
    // Of the whole lognormal 79.7 % are below 100,000 bytes; its own 10th and 50th percentiles are therefore here at:
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
        let kind = CorpusKind::Tree {
            files,
            directories,
            total: Bytes(total),
            max_depth,
            sizes,
            extensions: Vec::new(),
            text: false,
        };
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

#[test]
fn without_space_nothing_is_left_and_the_sentence_helps() {
    let cache = TempDir::new().unwrap();
    let mut corpus = small();
    let CorpusKind::Tree { total, sizes, .. } = &mut corpus.kind else { panic!("a tree") };
    *total = Bytes(1 << 58);
    *sizes = Distribution::LogUniform { min: Bytes(1), max: Bytes(1 << 57) };
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
    // Same bytes in another file, as after copying the cache: hashed, found right and kept.
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

/// A tar of a few kinds of entries, made by the system's tar from a folder called `mine`.
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

#[test]
fn every_form_of_the_users_files_is_the_same_corpus() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, tar) = users(home.path());
    let (stored, plain) = own(&tar, cache.path()).unwrap();
    assert_eq!(fs::read(&stored).unwrap(), fs::read(&tar).unwrap());
    let summary = |c: &RealisedCorpus| {
        (c.files, c.directories, c.others, c.bytes, [c.size_min, c.size_median, c.size_mean, c.size_max], c.max_depth)
    };
    assert_eq!(summary(&plain), (3, 4, 1, 71_000, [0, 1000, 23_667, 70_000], 3));
    assert_eq!((plain.name.as_str(), plain.seed), (tar.to_str().unwrap(), None));
    for (kind, bytes) in packed(&fs::read(&tar).unwrap()) {
        // The name says nothing.
        let path = home.path().join(format!("{kind}.zip"));
        fs::write(&path, bytes).unwrap();
        let (_, corpus) = own(&path, cache.path()).unwrap();
        assert_eq!((corpus.sha256, corpus.tar_bytes), (plain.sha256.clone(), plain.tar_bytes), "{kind}");
    }
    let (folder, corpus) = own(&root, cache.path()).unwrap();
    assert_eq!(summary(&corpus), summary(&plain));
    let order = |path: &Path| {
        let mut entries = listing(path);
        entries.sort();
        entries
    };
    assert_eq!(order(&folder), order(&tar));
    let unpacked = home.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    assert!(Command::new("tar").arg("-C").arg(&unpacked).arg("-xf").arg(&folder).status().unwrap().success());
    let same = Command::new("diff").arg("-r").arg("--no-dereference").arg(&root).arg(unpacked.join("mine")).status();
    assert!(same.unwrap().success());
}

#[test]
fn a_folder_is_packed_anew_when_it_changed_and_special_files_are_named() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, _) = users(home.path());
    assert!(Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    // A cache within the folder is no part of the corpus.
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
fn what_is_no_archive_is_refused_with_a_reason() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let cache = cache.path();
    let path = home.path().join("input");
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(&path, cache)
    };
    assert!(refused(&home.path().join("absent"), cache).contains("No such file"));
    assert!(say(b"").contains("empty"));
    assert!(say(b"hello").contains("no tar archive"));
    let secret = format!("root:$6$secret:19000:0:99999:7:::\n{}", "x".repeat(2000));
    assert!(!say(secret.as_bytes()).contains("secret"));
    assert!(say(&[b'z'; 5000]).contains("no tar archive"));
    assert!(say(b"BZh91AY&SY rest").contains("bzip2"));
    assert!(say(&[0; 10_240]).contains("no regular file"));
    for (kind, bytes) in packed(&[b'q'; 3000]) {
        assert!(say(&bytes).contains("no tar archive"), "{kind}");
        let _ = bytes;
    }
    for (kind, bytes) in packed(b"") {
        assert!(say(&bytes).contains("empty"), "{kind}");
    }
    let empty = home.path().join("folder");
    fs::create_dir(&empty).unwrap();
    assert!(refused(&empty, cache).contains("no regular file"));
    assert!(refused(Path::new("/dev/null"), cache).contains("not a regular file"));
}

#[test]
fn damage_is_found_and_placed() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (_, tar) = users(home.path());
    let whole = fs::read(&tar).unwrap();
    let path = home.path().join("input");
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refused(&path, cache.path())
    };
    // At every block boundary: in headers, in contents, before the end marker.
    let end = whole.len() - whole.iter().rev().take_while(|byte| **byte == 0).count();
    for cut in (512..=end).step_by(4 * 512) {
        let sentence = say(&whole[..cut]);
        assert!(sentence.contains("damaged after entry") && sentence.contains("\"mine/"), "{cut}: {sentence}");
    }
    let aligned = end.next_multiple_of(512);
    assert!(say(&whole[..aligned]).contains("end marker"), "cut before the end marker");
    for (kind, bytes) in packed(&whole) {
        assert!(say(&bytes[..bytes.len() / 2]).contains("damaged"), "{kind}");
        let mut wrong = bytes.clone();
        let middle = bytes.len() / 2;
        wrong[middle..middle + 20].fill(0x55);
        assert!(say(&wrong).contains("damaged"), "{kind}");
    }
    let mut spoilt = whole.clone();
    spoilt[512 + 3] ^= 0x40;
    assert!(say(&spoilt).contains("after entry 1"), "{}", say(&spoilt));
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("bad.tar");
    let say = |name: &[u8], link: Option<&str>, before: Option<(&str, &str)>| {
        let mut builder = tar::Builder::new(Vec::new());
        if let Some((name, target)) = before {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            builder.append_link(&mut header, name, target).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        // The library refuses such names, other programs write them.
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        if let Some(target) = link {
            header.set_entry_type(tar::EntryType::Link);
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, &b""[..]).unwrap();
        fs::write(&path, builder.into_inner().unwrap()).unwrap();
        refused(&path, cache.path())
    };
    assert!(say(b"/etc/passwd", None, None).contains("\"/etc/passwd\" is refused: its name is absolute"));
    assert!(say(b"a/../../b", None, None).contains("goes up"));
    assert!(say(b"..", None, None).contains("goes up"));
    assert!(say(b"a/b", Some("../c"), None).contains("hard link"));
    assert!(say(b"a/b/c", None, Some(("a/b", "/etc"))).contains("symbolic link"));
}

#[test]
fn depth_is_counted_from_the_top_folder_and_directories_may_be_implied() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("odd.tar");
    let build = |names: &[&str]| {
        let mut builder = tar::Builder::new(Vec::new());
        for name in names {
            let mut header = tar::Header::new_ustar();
            header.set_size(3);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, &b"abc"[..]).unwrap();
        }
        fs::write(&path, builder.into_inner().unwrap()).unwrap();
        own(&path, cache.path()).unwrap().1
    };
    let top = build(&["t/a", "t/b/c/d"]);
    assert_eq!((top.files, top.directories, top.max_depth), (2, 3, 3));
    let bare = build(&["a", "b/c"]);
    assert_eq!((bare.files, bare.directories, bare.max_depth), (2, 1, 2));
    let dots = build(&["./a", "./b/c"]);
    assert_eq!((dots.files, dots.directories, dots.max_depth), (2, 1, 2));
}

#[test]
fn devices_and_endless_names_are_refused() {
    let (home, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = home.path().join("own.tar");
    let entry = |kind: tar::EntryType, name: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        builder.append_data(&mut header, name, &b""[..]).unwrap();
        builder.finish().unwrap();
        refused(&path, cache.path())
    };
    for kind in [tar::EntryType::Block, tar::EntryType::Char, tar::EntryType::Fifo] {
        assert!(entry(kind, "mine/disk").contains("the entry \"mine/disk\" is refused: it is a device"));
    }
    assert!(entry(tar::EntryType::Regular, &"a/".repeat(3000)).contains("longer than 4096 bytes"));
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
