use std::process::Command;

use super::*;

fn asked(text: &str) -> Result<AskedHistory, WrongHistory> {
    AskedHistory::parse(text, &|name| if name == "young" { Ok(young()) } else { Err(format!("no profile {name}")) })
}

fn made(text: &str) -> Result<Age> {
    Ok(asked(text)?.make(1, None)?.0)
}

/// Of ten files four were made in the last quarter of the time, then three, two and one, in four sizes and three depths.
fn young() -> AgeingProfile {
    AgeingProfile {
        name: "young".into(),
        ages: vec![(1.0, 4), (2.0, 3), (3.0, 2), (4.0, 1)],
        sizes: vec![(0, 1), (1000, 4), (20_000, 4), (60_000, 1)],
        depths: vec![(0, 1, 0), (1, 2, 3), (3, 1, 2)],
        ..AgeingProfile::default()
    }
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
        let age = asked(text).unwrap().make(seed, Some(folder.path())).unwrap().0;
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
        "geriatrix:",
        "geriatrix:young",
        "geriatrix:,overwrites=3",
        "geriatrix:young,overwrites=0",
        "geriatrix:young,overwrites=3,size",
    ] {
        let error = asked(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--age {text}: give ")), "{error}");
    }
    for (text, reason) in [
        ("geriatrix:young,overwrites=3,size=x", "size: "),
        ("geriatrix:other,overwrites=3", "no profile other"),
        ("geriatrix:young,overwrites=3,size=0", "0 B is too little for files of this profile; size=2MiB is enough"),
        ("geriatrix:young,overwrites=3,size=1MiB", "1.00 MiB is too little for files of this profile; size=2MiB"),
        ("geriatrix:young,overwrites=100000,size=1GiB", "it would have "),
    ] {
        let error = asked(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--age {text}: {reason}")), "{error}");
    }
    assert_eq!(asked("git:/a,b/c,commits=7").unwrap().origin, Origin::Git("/a,b/c".into(), 7));
}

/// What a profile says of ages holds of the files at the end, and the file system is never fuller than asked.
#[test]
fn files_are_as_old_as_large_and_as_deep_as_in_their_profile() {
    let folder = tempfile::tempdir().unwrap();
    let make = |text: &str, seed: u64| {
        let (age, told) = asked(text).unwrap().make(seed, Some(folder.path())).unwrap();
        (fs::read_to_string(&age.path).unwrap(), told)
    };
    let (text, told) = make("geriatrix:young,overwrites=20,size=8MiB", 1);
    assert_eq!(told, None);
    assert_eq!(text, make("geriatrix:young,overwrites=20,size=8MiB", 1).0);
    assert_ne!(text, make("geriatrix:young,overwrites=20,size=8MiB", 2).0);
    let tree = played(&text);
    let share = |is_it: &dyn Fn(&str, u64) -> bool| {
        tree.iter().filter(|(path, size)| is_it(path, **size)).count() as f64 / tree.len() as f64
    };
    for (size, expected) in [(0, 0.1), (1000, 0.4), (20_000, 0.4), (60_000, 0.1)] {
        let found = share(&|_, have| have == size);
        assert!((found - expected).abs() < 0.02, "{size}: {found}");
    }
    for (depth, expected) in [(0, 0.25), (1, 0.5), (3, 0.25)] {
        let found = share(&|path, _| path.matches('/').count() == depth);
        assert!((found - expected).abs() < 0.02, "{depth}: {found}");
    }
    // Of the operations each has a number, and a file's name ends with that of its own.
    let end = text.lines().filter(|line| *line != "c").count() as u64;
    for (quarter, expected) in (0..).zip([0.1, 0.2, 0.3, 0.4]) {
        let found = share(&|path, _| {
            let born: u64 = path.rsplit_once('f').unwrap().1.parse().unwrap();
            (born * 4 / end).min(3) == quarter
        });
        assert!((found - expected).abs() < 0.03, "{quarter}: {found}");
    }
    let mut sizes = BTreeMap::new();
    let (mut live, mut most) = (0, 0);
    for operation in HistoryOperation::all(&text) {
        match operation.unwrap() {
            HistoryOperation::Write { path, size } => {
                live += size;
                assert!(sizes.insert(path.to_owned(), size).is_none(), "{path} is written once");
            }
            HistoryOperation::Remove { path } => live -= sizes.remove(path).unwrap(),
            _ => {}
        }
        most = most.max(live);
    }
    assert!(most <= 8 << 20 && most > 7 << 20, "{most}");
    // Too few overwrites leave the ages apart, and how many would do is told.
    let told = make("geriatrix:young,overwrites=1,size=8MiB", 1).1.unwrap();
    assert!(told.contains("% of the files have an age as in the profile; with overwrites="), "{told}");
    let needed: u32 = told.rsplit_once("overwrites=").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(make(&format!("geriatrix:young,overwrites={needed},size=8MiB"), 1).1, None);
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
    // A folder within is of the same history.
    let within = made(&format!("git:{},commits=2", path.join("d").display())).unwrap();
    assert_eq!(within.sha256, asked(2).unwrap().sha256);
    let age = asked(2).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let kept = self::asked(&format!("git:{},commits=2", path.display())).unwrap();
    let text = fs::read_to_string(kept.make(9, Some(cache.path())).unwrap().0.path).unwrap();
    let tree: Vec<_> = played(&text).into_iter().filter(|(path, _)| !path.starts_with(".git/")).collect();
    assert_eq!(tree, [("a/now a folder", 20), ("c", 7), ("d/b", 6000)]);
    assert_eq!((age.commits, text.lines().filter(|line| *line == "c").count()), (2, 3));
    let error = format!("{:#}", asked(3).unwrap_err());
    assert!(error.contains("has 3 commits") && error.contains("at most commits=2"), "{error}");
}

#[test]
fn a_repository_starts_no_program_and_lacks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let asked = || made(&format!("git:{},commits=1", path.display()));
    git(path, &["init", "-q", "."]);
    for text in ["one", "two"] {
        fs::write(path.join("a"), text).unwrap();
        git(path, &["add", "-A"]);
        git(path, &["commit", "-q", "-m", "c"]);
    }
    let error = format!("{:#}", made(&format!("git:{},commits=2", path.display())).unwrap_err());
    assert!(error.contains("at most commits=1"), "{error}");
    // A signed commit, and a program that would look at the signature.
    let output = |words: &[&str]| {
        let ran = Command::new("git").arg("-C").arg(path).args(words).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    let signed = output(&["cat-file", "commit", "HEAD"]).replacen(
        "\n\n",
        "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
        1,
    );
    fs::write(path.join("signed"), signed).unwrap();
    let id = output(&["hash-object", "-t", "commit", "-w", "signed"]);
    git(path, &["update-ref", "HEAD", id.trim()]);
    let program = path.join("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}/started\n", path.display())).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    git(path, &["config", "log.showSignature", "true"]);
    git(path, &["config", "gpg.program", &program.to_string_lossy()]);
    output(&["log", "-1"]);
    assert!(path.join("started").exists(), "git itself starts it");
    fs::remove_file(path.join("started")).unwrap();
    asked().unwrap();
    assert!(!path.join("started").exists());
    // What a partial clone lacks.
    let object = output(&["rev-parse", "HEAD:a"]);
    fs::remove_file(path.join(".git/objects").join(&object[..2]).join(object[2..].trim())).unwrap();
    let error = format!("{:#}", asked().unwrap_err());
    assert!(error.contains("lacks the contents of some of its files"), "{error}");
    let one = tempfile::tempdir().unwrap();
    git(one.path(), &["init", "-q", "."]);
    git(one.path(), &["commit", "-q", "--allow-empty", "-m", "c"]);
    let error = format!("{:#}", made(&format!("git:{},commits=1", one.path().display())).unwrap_err());
    assert!(error.contains("has one commit"), "{error}");
}
