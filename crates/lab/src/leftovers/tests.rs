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
    let packages = cache.path().join("packages");
    fs::create_dir(&packages).unwrap();
    let scratch = Scratch::new_in(&packages, ".tmp").unwrap();
    let file = lock::new_file(&packages).unwrap();
    assert!(paths(&find(cache.path(), empty.path())).is_empty());
    // The state after a kill.
    let (folder, left) = (packages.join(".tmpKilled"), packages.join(".tmpFile"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(".lock"), "").unwrap();
    fs::write(folder.join("some.deb"), "half of it").unwrap();
    fs::write(&left, "half").unwrap();
    let found = find(cache.path(), empty.path());
    assert_eq!(paths(&found), [left.clone(), folder.clone()]);
    assert!(found.iter().all(|leftover| leftover.remove().unwrap()));
    assert!(!folder.exists() && !left.exists() && scratch.path().exists() && file.path().exists());
}

#[test]
fn a_cache_in_use_by_a_run_stays() {
    let cache = tempfile::tempdir().unwrap();
    for folder in ["closures", "images"] {
        fs::create_dir(cache.path().join(folder)).unwrap();
    }
    let run = crate::cache::open(cache.path()).unwrap();
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("in use by a run"), "{error}");
    drop(run);
    let (parts, alone) = whole_cache(cache.path()).unwrap();
    assert_eq!(parts.len(), 2);
    assert!(InUse::alone(cache.path()).is_none(), "a run that begins now waits");
    drop(alone);
}

#[test]
fn half_made_entries_are_found_unless_they_are_being_made() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let (half, whole, making) =
        (cache.path().join("images/aa"), cache.path().join("images/bb"), cache.path().join("images/cc"));
    for folder in [&half, &whole, &making] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(whole.join("image.json"), "{}").unwrap();
    let _lock = Lock::take(&making).unwrap();
    let found: Vec<Leftover> =
        find(cache.path(), empty.path()).into_iter().filter(|found| matches!(found.kind, Kind::Path { .. })).collect();
    assert_eq!(found.len(), 1, "{:?}", abouts(&found));
    assert!(found[0].remove().unwrap());
    assert!(!half.exists() && whole.exists() && making.exists());
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("images"), "{error}");
    fs::create_dir(cache.path().join("closures")).unwrap();
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("in use"), "{error}");
}

#[test]
fn a_folder_with_strangers_is_no_cache() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    for folder in ["closures", "images", "packages"] {
        fs::create_dir(cache.path().join(folder)).unwrap();
    }
    assert_eq!(whole_cache(cache.path()).unwrap().0.len(), 3);
    fs::write(cache.path().join("letter.txt"), "dear").unwrap();
    let error = whole_cache(cache.path()).unwrap_err().to_string();
    assert!(error.contains("letter.txt"), "{error}");
    fs::remove_file(cache.path().join("letter.txt")).unwrap();
    std::os::unix::fs::symlink(empty.path(), cache.path().join("kernels")).unwrap();
    assert!(whole_cache(cache.path()).is_err());
    assert!(whole_cache(&cache.path().join("nowhere")).unwrap().0.is_empty());
}
