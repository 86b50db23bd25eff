use std::process::Command;

use super::*;

fn made(text: &str) -> Result<Age> {
    let (asked, commits) = AskedHistory::parse(text)?;
    asked.make(commits, 1, None)
}

/// The tree that a recorded history ends with; each of its operations must be possible.
fn played(text: &str) -> BTreeMap<&str, u64> {
    let mut tree = BTreeMap::new();
    for operation in HistoryOperation::all(text) {
        match operation.unwrap() {
            HistoryOperation::Write { path, size } => _ = tree.insert(path, size),
            HistoryOperation::Append { path, size } => *tree.get_mut(path).unwrap() += size,
            HistoryOperation::Remove { path } => assert!(tree.remove(path).is_some(), "{path}"),
            HistoryOperation::Commit => {}
        }
    }
    tree
}

#[test]
fn a_seed_makes_one_history_and_longer_ones_begin_alike() {
    let folder = tempfile::tempdir().unwrap();
    let make = |text: &str, seed: u64| {
        let (asked, commits) = AskedHistory::parse(text).unwrap();
        let age = asked.make(commits, seed, Some(folder.path())).unwrap();
        let text = fs::read_to_string(&age.path).unwrap();
        (age, text)
    };
    let (age, text) = make("seed:50", 1);
    assert_eq!((age.commits, age.length.0, make("seed:50", 1).0), (50, text.len() as u64, age.clone()));
    assert!(make("seed:60", 1).1.starts_with(&text));
    assert_ne!(make("seed:50", 2).1, text);
    let tree = played(&text);
    assert_eq!((age.files, age.bytes.0), (tree.len() as u64, tree.values().sum()));
    let at_end: u64 = tree.values().map(|size| space(*size)).sum();
    assert!(age.room.0 >= at_end && age.room.0 < 2 * at_end, "{} {at_end}", age.room);
    for kind in ["w ", "a ", "d ", "c"] {
        assert!(text.lines().any(|line| line.starts_with(kind)), "{kind}");
    }
    // The copy is of the same history.
    let copy = make("copy:seed:50", 1).0;
    assert_eq!((copy.copy, &copy.sha256, copy.text.as_str()), (true, &age.sha256, "copy:seed:50"));
    assert!(history_is_kept(&age, folder.path()) && !history_is_kept(&age, Path::new("/")));
    fs::write(&age.path, "c\n").unwrap();
    assert!(!history_is_kept(&age, folder.path()));
}

#[test]
fn words_that_are_no_history_are_refused() {
    for text in [
        "",
        "seed",
        "seed:",
        "seed:0",
        "seed:x",
        "seed:100001",
        "git:",
        "git:/x",
        "git:,commits=3",
        "git:/x,commits=0",
        "svn:3",
        "copy:",
        "copy:copy:seed:3",
    ] {
        let error = AskedHistory::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--age {text}: give ")), "{error}");
    }
    let (asked, commits) = AskedHistory::parse("git:/a,b/c,commits=7").unwrap();
    assert_eq!((asked.origin, commits), (Origin::Git("/a,b/c".into()), 7));
}

fn git(folder: &Path, words: &[&str]) {
    let own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let ran = Command::new("git").arg("-C").arg(folder).args(own).args(words).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_repository_tells_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let asked = |commits: u32| made(&format!("git:{},commits={commits}", path.display()));
    let error = format!("{:#}", asked(1).unwrap_err());
    assert!(error.contains("is no git repository"), "{error}");
    git(path, &["init", "-q", "."]);
    let error = format!("{:#}", asked(1).unwrap_err());
    assert!(error.contains("has no commit"), "{error}");
    let commit = |files: &[(&str, usize)]| {
        for (name, size) in files {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), "x".repeat(*size)).unwrap();
        }
        git(path, &["add", "-A"]);
        git(path, &["commit", "-q", "-m", "c"]);
    };
    commit(&[("a", 10), ("d/b", 5000)]);
    fs::remove_file(path.join("a")).unwrap();
    std::os::unix::fs::symlink("d", path.join("link")).unwrap();
    commit(&[("a/now a folder", 20), ("d/b", 6000)]);
    fs::remove_file(path.join("link")).unwrap();
    commit(&[("c", 7)]);
    let age = asked(2).unwrap();
    let kept = AskedHistory::parse(&format!("git:{},commits=2", path.display())).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(kept.0.make(2, 9, Some(cache.path())).unwrap().path).unwrap();
    let tree: Vec<_> = played(&text).into_iter().filter(|(path, _)| !path.starts_with(".git/")).collect();
    assert_eq!(tree, [("a/now a folder", 20), ("c", 7), ("d/b", 6000)]);
    assert_eq!((age.commits, text.lines().filter(|line| *line == "c").count()), (2, 3));
    let error = format!("{:#}", asked(3).unwrap_err());
    assert!(error.contains("has 3 commits") && error.contains("at most commits=2"), "{error}");
}
