use std::os::unix::fs::FileExt;

use super::*;

fn image(bytes: u64, data: Option<(u64, &[u8])>) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(bytes).unwrap();
    if let Some((offset, data)) = data {
        file.as_file().write_all_at(data, offset).unwrap();
    }
    file
}

fn refusal(path: &Path, force: bool) -> String {
    let (found, foreseen) = (Place::find(Some(path), force), foresee(Some(path), force, (0, 0)));
    let found = format!("{:#}", found.unwrap_err());
    assert_eq!(format!("{:#}", foreseen.unwrap_err()), found, "a dry run refuses the same");
    found
}

#[test]
fn an_empty_file_is_taken_and_data_is_not() {
    for (bytes, data) in [(0, None), (8 << 20, None), (8 << 20, Some((1 << 20, &[0u8; 4096][..])))] {
        let file = image(bytes, data);
        assert!(foresee(Some(file.path()), false, (0, 0)).unwrap().contains("emptied before"));
        let place = Place::find(Some(file.path()), false).unwrap();
        let Place::Own { image, .. } = &place else { panic!("{place:?}") };
        assert_eq!(image.found.size, bytes);
        let error = refusal(file.path(), false);
        assert!(error.contains("in use"), "{error}");
    }
    let file = image(8 << 20, Some((6 << 20, b"x")));
    let error = refusal(file.path(), false);
    assert!(error.contains("byte 6291456 is not zero") && error.contains("--force-image"), "{error}");
    assert!(Place::find(Some(file.path()), true).is_ok());
    let file = image(8 << 20, Some((1080, &[0x53, 0xef])));
    let error = refusal(file.path(), false);
    assert!(error.contains("holds an ext2, ext3 or ext4"), "{error}");
}

#[test]
fn one_image_by_two_names_is_one_image() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["file", "hard", "soft"].map(|name| folder.path().join(name));
    fs::write(&names[0], [0; 4096]).unwrap();
    fs::hard_link(&names[0], &names[1]).unwrap();
    std::os::unix::fs::symlink(&names[0], &names[2]).unwrap();
    let _place = Place::find(Some(&names[0]), true).unwrap();
    for name in &names {
        let error = refusal(name, true);
        assert!(error.contains("in use"), "{error}");
    }
}

#[test]
fn devices_links_to_nothing_and_missing_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.img");
    std::os::unix::fs::symlink(folder.path().join("gone/disk.img"), &link).unwrap();
    for (path, words) in [
        (Path::new("/dev/null"), "is no file"),
        (Path::new("/dev/mountmark.img"), "devices, not files"),
        (Path::new("/nowhere/at/all.img"), "there is no folder /nowhere/at"),
        (&link, "gone/disk.img, which is not there"),
    ] {
        let error = refusal(path, true);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_another_used_meanwhile_is_not_as_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    for (change, words) in [
        ((|_| ()) as fn(&Path), None),
        (|path| fs::write(path, b"mine").unwrap(), Some("used by another program")),
        (|path| fs::rename(path, path.with_extension("old")).unwrap(), Some("moved or replaced")),
        (|path| fs::rename(path.with_extension("new"), path).unwrap(), Some("moved or replaced")),
    ] {
        fs::write(&path, [0; 4096]).unwrap();
        fs::write(path.with_extension("new"), b"other").unwrap();
        let place = Place::find(Some(&path), false).unwrap();
        let Place::Own { file, image } = &place else { panic!("{place:?}") };
        // Timestamps have a granularity of some milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
        change(&path);
        match (is_as_found(file, image), words) {
            (Ok(()), None) => {}
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn images_have_no_name_and_need_room() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::find(Some(&folder.path().join("new.img")), false).unwrap();
    let image = new_image(place.parent(), 1 << 30).unwrap();
    assert_eq!(image.metadata().unwrap().len(), 1 << 30);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    place.has_room((1, 1)).unwrap();
    let error = place.has_room((u64::MAX - 1, 1)).unwrap_err().to_string();
    let foreseen = foresee(Some(folder.path()), false, (u64::MAX, 0)).unwrap_err().to_string();
    assert_eq!(foreseen, error);
    assert!(error.contains("16.0 EiB") || error.contains("TiB"), "{error}");
}
