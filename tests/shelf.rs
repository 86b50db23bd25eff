//! Shelves: what was measured is taken, the rest is measured, and what is wrong on a shelf is found.

use std::fs;
use std::path::{Path, PathBuf};

use mountmark_model::Event;
use mountmark_shelf::Entry;

use crate::caches::has_namespaces;
use crate::lab::{Lab, Ran, assert_equal_figures, assert_has_figures};
use crate::tasks::TOUCH;

/// A run of these file systems, a cell for each.
fn run(lab: &Lab, suite: &str, filesystems: &str, options: &[&str]) -> Ran {
    let plan = ["--suite", suite, "--fs", filesystems, "--repeat", "1"];
    lab.run(&[&plan[..], options].concat())
}

/// All entries of a shelf.
pub fn entries(shelf: &Path) -> Vec<PathBuf> {
    let files = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = files(shelf.to_owned()).flat_map(files).collect();
    found.sort();
    found
}

/// Writes an entry beside another one, with right hashes; returns its path.
pub fn forge(path: &Path, change: impl Fn(&mut Vec<Event>)) -> PathBuf {
    let mut entry = Entry::read(path).unwrap();
    change(&mut entry.figures.events);
    entry.measured.host = "forger".into();
    let packed = entry.pack().unwrap();
    let forged = path.with_file_name(packed.name);
    assert_ne!(forged, path);
    fs::write(&forged, packed.bytes).unwrap();
    forged
}

/// A second more in each time of mkfs.
pub fn slower(events: &mut Vec<Event>) {
    for event in events {
        if let Event::Sample { task, values, .. } = event
            && task == "mkfs"
        {
            *values.get_mut("elapsed").unwrap() += 1.0;
        }
    }
}

/// A figure of a task that is not in the plan.
fn invented(events: &mut Vec<Event>) {
    let values = [("elapsed".to_owned(), 1.0)].into();
    events.insert(1, Event::Sample { task: "invented".into(), iteration: 0, values });
}

#[test]
fn a_cell_is_measured_once() {
    let Some(lab) = Lab::with_guests("a_cell_is_measured_once", 1) else { return };
    let suite = lab.suite("one", TOUCH);
    let lab = lab.with_own_cells("cache").taking_cells();
    let shelf = lab.path("cache").join("cells");
    let first = run(&lab, &suite, "ext4,xfs", &[]).ended_with(0);
    assert!(!first.stderr.contains("taken"), "{}", first.text());
    let first = first.results();
    assert_eq!(entries(&shelf).len(), 2);

    let taken = run(&lab, &suite, "ext4,xfs", &[]).ended_with(0);
    taken.says(&["2 cells taken from the shelf, 0 measured"]);
    assert_equal_figures(&first, &taken.results());
    let more = run(&lab, &suite, "ext4,xfs,ext2", &[]).ended_with(0);
    more.says(&["2 cells taken from the shelf, 1 measured"]);
    assert_has_figures(&first, &more.results());
    let verified = run(&lab, &suite, "ext4,xfs", &["--verify", "100%"]).ended_with(0);
    verified.says(&["2 cells taken from the shelf, 2 of them measured again with equal figures, 0 measured"]);
    assert_equal_figures(&first, &verified.results());
    assert_eq!(entries(&shelf).len(), 3);
}

#[test]
fn what_is_wrong_on_a_shelf_is_found() {
    let Some(lab) = Lab::with_guests("what_is_wrong_on_a_shelf_is_found", 1) else { return };
    let suite = lab.suite("one", TOUCH);
    let lab = lab.with_own_cells("cache").taking_cells();
    let shelf = lab.path("cache").join("cells");
    let first = run(&lab, &suite, "ext4", &[]).ended_with(0).results();
    let path = entries(&shelf).swap_remove(0);
    let sound = fs::read(&path).unwrap();
    let shown = path.to_string_lossy().into_owned();

    fs::write(&path, &sound[..sound.len() / 2]).unwrap();
    let again = run(&lab, &suite, "ext4", &[]).ended_with(0);
    again.says(&[&shown, "is not used: it is damaged"]);
    assert_equal_figures(&first, &again.results());
    assert!(Entry::read(&path).is_ok(), "it was not written again");

    let forged = forge(&path, invented);
    fs::remove_file(&path).unwrap();
    let again = run(&lab, &suite, "ext4", &[]).ended_with(0);
    again.says(&[&forged.to_string_lossy(), "cannot be believed", "invented"]);
    assert_equal_figures(&first, &again.results());
    fs::remove_file(&forged).unwrap();

    let forged = forge(&path, slower);
    fs::remove_file(&path).unwrap();
    let verified = run(&lab, &suite, "ext4", &["--verify", "100%"]).ended_with(1);
    let own = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    verified.says(&["one cell has two results, from forger (", own.trim(), "elapsed of mkfs is"]);
    verified.says(&[&forged.to_string_lossy()]);
    fs::write(&path, &sound).unwrap();
    let both = run(&lab, &suite, "ext4", &[]).ended_with(1);
    both.says(&["one cell has two results", "forger", "elapsed of mkfs is", &shown, &forged.to_string_lossy()]);
    let fresh = run(&lab, &suite, "ext4", &["--fresh"]).ended_with(0);
    assert_equal_figures(&first, &fresh.results());
    fs::remove_file(&forged).unwrap();
    run(&lab, &suite, "ext4", &[]).ended_with(0).says(&["1 cell taken from the shelf, 0 measured"]);
}

#[test]
fn a_folder_is_shared() {
    let test = "a_folder_is_shared";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let suite = lab.suite("one", TOUCH);
    let lab = lab.with_own_cells("one").taking_cells();
    let (one, shelf) = (lab.path("one"), lab.path("not/yet/there"));
    let folder = shelf.to_string_lossy().into_owned();
    let first = run(&lab, &suite, "ext4", &[]).ended_with(0).results();
    let given = run(&lab, &suite, "ext4", &["--shelf", &folder]).ended_with(0);
    given.says(&["1 cell taken from the shelf, 0 measured"]);
    assert_eq!(entries(&shelf).len(), 1, "a shared shelf lacks what was taken from the own one");

    // Another user, who has no cells.
    let lab = lab.with_own_cells("other");
    let read_only = format!("{folder}:ro");
    let taken = run(&lab, &suite, "ext4", &["--shelf", &read_only]).ended_with(0);
    taken.says(&["1 cell taken from the shelf, 0 measured"]);
    assert_equal_figures(&first, &taken.results());
    run(&lab, &suite, "ext4,ext2", &["--shelf", &read_only]).ended_with(0).says(&["1 cell taken", "1 measured"]);
    assert_eq!(entries(&shelf).len(), 1, "a shelf that is only read was written");
    let fresh = run(&lab, &suite, "ext2", &["--fresh", "--shelf", &folder]).ended_with(0);
    assert!(!fresh.stderr.contains("taken"), "{}", fresh.text());
    assert_eq!(entries(&shelf).len(), 2);

    if !has_namespaces(test) {
        return;
    }
    let mount = format!("mount --bind {0} {0} && mount -o remount,ro,bind {0} && exec \"$@\"", one.display());
    let lab = lab.with_cache(&one).under(&["unshare", "-rm", "sh", "-c", &mount, "sh"]);
    let taken = run(&lab, &suite, "ext4", &[]).ended_with(0);
    taken.says(&["1 cell taken from the shelf, 0 measured"]);
    let fresh = run(&lab, &suite, "ext4", &["--fresh"]).ended_with(0);
    for ran in [&taken, &fresh] {
        assert!(!ran.stderr.contains("not kept") && !ran.stderr.contains("cannot be"), "{}", ran.text());
        assert_equal_figures(&first, &ran.results());
    }
}

#[test]
fn what_is_no_shelf_is_refused() {
    let lab = Lab::without_guests().taking_cells();
    let suite = lab.suite("one", TOUCH);
    let shelf = lab.path("letters");
    fs::create_dir(&shelf).unwrap();
    fs::write(shelf.join("letter.txt"), b"mine").unwrap();
    let folder = shelf.to_string_lossy().into_owned();
    let of_host = lab.run(&["--lab", "host", "--suite", &suite, "--shelf", &folder]).ended_with(2);
    of_host.says(&["--shelf", "wall time"]);
    for share in ["2", "101%", "-1%"] {
        lab.run(&["--suite", &suite, "--fs", "ext4", &format!("--verify={share}")]).ended_with(2).says(&["percentage"]);
    }
    for verb in ["list", "check"] {
        lab.command(&["shelf", verb, "--shelf", &folder]).ended_with(2).says(&["is no shelf, as it has other things"]);
    }
    lab.command(&["shelf", "prune", "0", "--shelf", &folder]).ended_with(2).says(&["is no shelf"]);
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1);

    // What is only read is not written to.
    let own = lab.path("own").to_string_lossy().into_owned();
    lab.command(&["shelf", "prune", "0", "--shelf", &own]).ended_with(2).says(&["there is no shelf at"]);
    lab.command(&["shelf", "export", &own]).ended_with(0);
    let read = format!("{own}:ro");
    lab.command(&["shelf", "list", "--shelf", &read]).ended_with(0);
    for words in [&["prune", "0", "--shelf", &read][..], &["import", &own, "--shelf", &read], &["export", &read]] {
        lab.command(&[&["shelf"], words].concat()).ended_with(2).says(&["is only read, and this writes to it"]);
    }
    let key = lab.path("new-key");
    lab.command(&["shelf", "key", &key.to_string_lossy(), "--name", "a#b"]).ended_with(2).says(&["one line without #"]);
    assert!(!key.exists(), "a key was made, and the command refused");
    let letter = shelf.join("letter.txt").to_string_lossy().into_owned();
    lab.command(&["shelf", "key", &letter]).ended_with(2).says(&["has no private key"]);
}

/// A shelf that takes no more: the run goes on, and says so.
#[test]
fn a_full_shelf_and_a_read_only_one_are_said_and_stop_nothing() {
    let test = "a_full_shelf_and_a_read_only_one_are_said_and_stop_nothing";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    if !has_namespaces(test) {
        return;
    }
    let suite = lab.suite("one", TOUCH);
    let first = run(&lab, &suite, "ext4", &[]).ended_with(0).results();
    let lab = lab.with_own_cells("one").taking_cells();
    let shelf = lab.path("shelf");
    fs::create_dir(&shelf).unwrap();
    let folder = shelf.to_string_lossy().into_owned();
    // Room for the marker and the folders, and not for what is in them.
    let full = format!("mount -t tmpfs -o size=4k none {folder} && exec \"$@\"");
    let lab = lab.under(&["unshare", "-rm", "sh", "-c", &full, "sh"]);
    let ran = run(&lab, &suite, "ext4", &["--shelf", &folder]).ended_with(0);
    ran.says(&[&format!("a cell is not kept on {folder}"), "No space left on device"]);
    assert_equal_figures(&first, &ran.results());
    let exported = lab.command(&["shelf", "export", &folder]).ended_with(3);
    exported.says(&["cannot write to the shelf", "No space left on device"]);

    let lab = lab.with_own_cells("other");
    fs::write(shelf.join("mountmark-shelf"), "1\n").unwrap();
    let mount = format!("mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} && exec \"$@\"");
    let lab = lab.under(&["unshare", "-rm", "sh", "-c", &mount, "sh"]);
    let ran = run(&lab, &suite, "ext4", &["--shelf", &folder]).ended_with(0);
    ran.says(&[&format!("a cell is not kept on {folder}"), "Read-only file system"]);
    assert_equal_figures(&first, &ran.results());
}

#[test]
fn cells_are_taken_from_those_who_are_trusted() {
    let Some(lab) = Lab::with_guests("cells_are_taken_from_those_who_are_trusted", 1) else { return };
    let lab = lab.with_own_cells("of-ann").taking_cells();
    let suite = lab.suite("one", TOUCH);
    let shelf = lab.path("shelf").to_string_lossy().into_owned();
    let path = |name: &str| lab.path(name).to_string_lossy().into_owned();
    let (ann, bob) = (path("ann.key"), path("bob.key"));
    let key = |file: &str, name: &str| {
        let made = lab.command(&["shelf", "key", file, "--name", name]).ended_with(0);
        assert_eq!(lab.command(&["shelf", "key", file, "--name", name]).stdout, made.stdout);
        made.stdout
    };
    let list = lab.write("trusted", &format!("# our lab\n{}", key(&ann, "Ann")));
    key(&bob, "Bob");
    fn with<'a>(shelf: &'a str, options: &[&'a str]) -> Vec<&'a str> {
        [&["--shelf", shelf], options].concat()
    }
    let first = run(&lab, &suite, "ext4", &with(&shelf, &["--sign", &ann])).ended_with(0).results();

    let lab = lab.with_own_cells("of-reader");
    let taken = run(&lab, &suite, "ext4", &["--shelf", &format!("{shelf}:ro"), "--trust", &list]).ended_with(0);
    taken.says(&["1 cell taken from the shelf, 0 measured"]);
    assert_equal_figures(&first, &taken.results());

    // Bob signs a cell, and nobody another.
    run(&lab, &suite, "ext2", &with(&shelf, &["--sign", &bob])).ended_with(0);
    run(&lab, &suite, "xfs", &with(&shelf, &[])).ended_with(0);
    let lab = lab.with_own_cells("of-another");
    let again = run(&lab, &suite, "ext4,ext2,xfs", &with(&shelf, &["--trust", &list, "--sign", &ann])).ended_with(0);
    again.says(&[
        "2 cells not used, as no key of --trust signed them: 1 without a signature, 1 signed by others",
        "1 cell taken from the shelf, 2 measured",
    ]);
    // Ann's stand in their places now.
    let lab = lab.with_own_cells("of-a-third");
    let all = run(&lab, &suite, "ext4,ext2,xfs", &with(&shelf, &["--trust", &list])).ended_with(0);
    all.says(&["3 cells taken from the shelf, 0 measured"]);
    assert_equal_figures(&again.results(), &all.results());
}

#[test]
fn keys_that_are_none_are_refused_first() {
    let lab = Lab::without_guests().taking_cells();
    let suite = lab.suite("one", TOUCH);
    let key = lab.path("key").to_string_lossy().into_owned();
    let public = lab.command(&["shelf", "key", &key]).ended_with(0).stdout;
    let public = lab.write("public", &public);
    let nobody = lab.write("nobody", "# nobody yet\n");
    for (option, file, reason) in [
        ("--trust", &key, "line 1: this is a private key"),
        ("--trust", &nobody, "has no key: nothing could be taken"),
        ("--trust", &suite, "line 1: no public key"),
        ("--sign", &public, "has a public key, and a private one is needed"),
        ("--sign", &suite, "has no private key"),
    ] {
        lab.run(&["--suite", &suite, "--fs", "ext4", option, file]).ended_with(2).says(&[option, reason]);
    }
    for option in ["--sign", "--trust"] {
        let ran = lab.run(&["--suite", &suite, "--fs", "ext4", option, "/nonexistent"]).ended_with(2);
        ran.says(&[option, "/nonexistent", "No such file"]);
    }
    lab.command(&["shelf", "key", &key, "--name", "a#b"]).ended_with(2).says(&["one line without #"]);
}
