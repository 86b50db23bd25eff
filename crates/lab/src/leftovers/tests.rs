use super::*;
use crate::cache::lock::{GUEST_PREFIX, Scratch};

fn abouts(found: &[Leftover]) -> Vec<String> {
    found.iter().map(|leftover| leftover.about().to_owned()).collect()
}

/// Paths of the leftovers, without guests of this machine.
fn paths(found: &[Leftover]) -> Vec<PathBuf> {
    let paths = found.iter().filter_map(|leftover| match &leftover.kind {
        Kind::Path { path, .. } => Some(path.clone()),
        Kind::Guest(_) => None,
    });
    paths.collect()
}

#[test]
fn a_living_owner_keeps_its_folder_and_a_dead_one_does_not() {
    let temporary = tempfile::tempdir().unwrap();
    let cache = temporary.path().join("no-cache");
    let ours = temporary.path().join(format!("{GUEST_PREFIX}{}-a", std::process::id()));
    // Process ids end at 4,194,304.
    let dead = temporary.path().join(format!("{GUEST_PREFIX}4194999-a"));
    fs::create_dir(&ours).unwrap();
    fs::create_dir(&dead).unwrap();
    let found = find(&cache, temporary.path());
    assert!(abouts(&found).iter().all(|about| !about.contains(&*ours.to_string_lossy())));
    let leftover = found.iter().find(|found| found.about().contains(&*dead.to_string_lossy())).unwrap();
    assert!(leftover.remove().unwrap());
    assert!(ours.exists() && !dead.exists());
    assert!(!leftover.remove().unwrap(), "it is gone already");
}

#[test]
fn a_lock_counts_for_more_than_a_number() {
    let temporary = tempfile::tempdir().unwrap();
    let cache = temporary.path().join("no-cache");
    // The owner is in another PID namespace: here, no process has its number.
    let scratch = Scratch::new_in(temporary.path(), &format!("{GUEST_PREFIX}4194999-")).unwrap();
    assert!(paths(&find(&cache, temporary.path())).is_empty());
    // A number that was since reused proves nothing either.
    let killed = temporary.path().join(format!("{GUEST_PREFIX}{}-a", std::process::id()));
    fs::create_dir(&killed).unwrap();
    fs::copy(scratch.path().join(".lock"), killed.join(".lock")).unwrap();
    let found = find(&cache, temporary.path());
    assert_eq!(paths(&found), std::slice::from_ref(&killed));
    assert!(found[0].remove().unwrap());
    assert!(!killed.exists() && scratch.path().exists());
}

#[test]
fn half_made_downloads_are_found_at_once_unless_they_are_under_way() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    drop(crate::cache::open(cache.path()).unwrap());
    let packages = cache.path().join("packages");
    fs::create_dir(&packages).unwrap();
    let scratch = Scratch::new_in(&packages, ".tmp").unwrap();
    let file = lock::new_file(&packages).unwrap();
    assert!(paths(&find(cache.path(), empty.path())).is_empty());
    // The state after a kill.
    let tag = cache.path().join(".tmpAb12Cd");
    fs::write(&tag, "half").unwrap();
    let (folder, left) = (packages.join(".tmpKilled"), packages.join(".tmpFile"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(".lock"), "").unwrap();
    fs::write(folder.join("some.deb"), "half of it").unwrap();
    fs::write(&left, "half").unwrap();
    let found = find(cache.path(), empty.path());
    assert_eq!(paths(&found), [tag, left.clone(), folder.clone()]);
    assert!(found.iter().all(|leftover| leftover.remove().unwrap()));
    assert!(!folder.exists() && !left.exists() && scratch.path().exists() && file.path().exists());
}

#[test]
fn a_cache_in_use_by_a_run_stays() {
    let cache = tempfile::tempdir().unwrap();
    let run = crate::cache::open(cache.path()).unwrap();
    for folder in ["closures", "images"] {
        fs::create_dir(cache.path().join(folder)).unwrap();
    }
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("in use by a run"), "{error}");
    drop(run);
    let (parts, alone) = whole_cache(cache.path()).unwrap();
    // The tag goes last: what is left by an interrupted removal is still known.
    assert_eq!(parts.len(), 3);
    assert!(parts[2].about().contains(TAG), "{}", parts[2].about());
    assert!(InUse::alone(cache.path()).is_none(), "a run that begins now waits");
    drop(alone);
}

#[test]
fn half_made_entries_are_found_unless_they_are_being_made() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let entry = |name: &str| cache.path().join("images").join(name);
    let (half, whole, making) = (entry("aaaaaaaaaaaaaaaa"), entry("bbbbbbbbbbbbbbbb"), entry("cccccccccccccccc"));
    drop(crate::cache::open(cache.path()).unwrap());
    for folder in [&half, &whole, &making] {
        fs::create_dir_all(folder).unwrap();
    }
    // Somebody put it into a cache that is ours.
    fs::create_dir(entry("ubuntu")).unwrap();
    fs::write(entry("notes.lock"), "mine").unwrap();
    fs::write(whole.join("image.json"), "{}").unwrap();
    let _lock = Lock::take(&making).unwrap();
    let found: Vec<Leftover> =
        find(cache.path(), empty.path()).into_iter().filter(|found| matches!(found.kind, Kind::Path { .. })).collect();
    assert_eq!(found.len(), 1, "{:?}", abouts(&found));
    assert!(found[0].remove().unwrap());
    assert!(!half.exists() && whole.exists() && making.exists() && entry("ubuntu").exists());
    assert_eq!(fs::read_to_string(entry("notes.lock")).unwrap(), "mine");
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
}

#[test]
fn a_folder_with_strangers_is_no_cache() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    drop(crate::cache::open(cache.path()).unwrap());
    for folder in ["closures", "images", "packages"] {
        fs::create_dir(cache.path().join(folder)).unwrap();
    }
    assert_eq!(whole_cache(cache.path()).unwrap().0.len(), 4);
    fs::write(cache.path().join("letter.txt"), "dear").unwrap();
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("letter.txt"), "{error}");
    fs::remove_file(cache.path().join("letter.txt")).unwrap();
    std::os::unix::fs::symlink(empty.path(), cache.path().join("kernels")).unwrap();
    assert!(whole_cache(cache.path()).is_err());
    assert!(whole_cache(&cache.path().join("nowhere")).unwrap().0.is_empty());
}

#[test]
fn folders_of_a_users_with_the_same_names_are_no_cache() {
    let empty = tempfile::tempdir().unwrap();
    let own = tempfile::tempdir().unwrap();
    for (folder, name) in [("snapshots", "daily.0"), ("images", "ubuntu"), ("packages", "mine"), ("contents", "site")] {
        fs::create_dir_all(own.path().join(folder).join(name)).unwrap();
        let found = find(own.path(), empty.path());
        assert!(paths(&found).is_empty(), "{:?}", abouts(&found));
        assert!(whole_cache(own.path()).unwrap_err().to_string().contains("did not put there"));
    }
    fs::write(own.path().join("images/.tmpAbcdef"), "a file of somebody's").unwrap();
    assert!(paths(&find(own.path(), empty.path())).is_empty());
    assert!(crate::cache::open(own.path()).is_err(), "a run would evict what it does not know");
}
