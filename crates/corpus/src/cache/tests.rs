use super::*;

#[test]
fn a_full_disk_is_told_from_other_errors() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::new(folder.path(), "full", "test", Keep::Yes);
    let mut partial = place.start(None).unwrap();
    let path = partial.path.clone();
    partial.write_all(b"a little").unwrap();
    partial.file = File::options().write(true).open("/dev/full").unwrap();
    let error = partial.write_all(b"and more").unwrap_err();
    let sentence = format!("{:#}", partial.explain(error));
    for part in ["8 B were written", "no space", folder.path().to_str().unwrap(), "larger disk"] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert!(path.exists());
    drop(partial);
    assert!(!path.exists());
}

#[test]
fn what_killed_writers_left_is_removed_at_once_and_what_has_a_writer_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = folder.path().join(name);
        (File::create(&path).unwrap(), path)
    };
    let (_, killed) = make(".partial-killed");
    let (file, busy) = make(".partial-busy");
    let (_, other) = make("other.tar");
    file.try_lock().unwrap();
    let partial = Place::new(folder.path(), "new", "test", Keep::Yes).start(None).unwrap();
    sweep(folder.path());
    let left = [&killed, &busy, &other, &partial.path].map(|path| path.exists());
    assert_eq!(left, [false, true, true, true]);
}

#[test]
fn tars_that_nobody_used_for_long_go_when_another_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let place = Place::new(folder.path(), name, name, Keep::Yes);
        place.finish(place.start(None).unwrap(), &RealisedCorpus::default()).unwrap();
        place
    };
    let [young, old, read, used] = ["young", "old", "read", "used"].map(make);
    let before = |days: u64| SystemTime::now() - Duration::from_secs(days * 24 * 3600);
    for (place, days) in [(&young, 89), (&old, 91), (&read, 91), (&used, 91)] {
        File::options().write(true).open(place.sidecar()).unwrap().set_modified(before(days)).unwrap();
    }
    for (place, days) in [(&young, 89), (&old, 91)] {
        let times = fs::FileTimes::new().set_accessed(before(days));
        File::options().write(true).open(place.tar()).unwrap().set_times(times).unwrap();
    }
    assert!(used.look_up().is_some());
    let new = make("new");
    let left = [&young, &old, &read, &used, &new].map(|place| [place.tar(), place.sidecar()].map(|path| path.exists()));
    assert_eq!(left, [[true; 2], [false; 2], [true; 2], [true; 2], [true; 2]]);
}

#[test]
fn names_of_tars_are_plain_and_differ_by_identity() {
    let folder = Path::new("/cache");
    let one = Place::new(folder, "../.hidden name/\u{e9}", "one", Keep::Yes).tar();
    let two = Place::new(folder, "../.hidden name/\u{e9}", "two", Keep::Yes).tar();
    assert_ne!(one, two);
    assert_eq!(one.parent(), Some(folder));
    assert!(one.to_str().unwrap().starts_with("/cache/_.hidden_name__-"), "{one:?}");
}
