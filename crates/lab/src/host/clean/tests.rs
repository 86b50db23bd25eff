use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, SystemTime};

use mountmark_job::FileId;

use super::*;
use crate::cache;
use crate::host::guard::Guard;

const SIZE: u64 = 1 << 20;

/// Leftovers of a killed run: its image, with data in it, and its journal. The user's file had 4096 bytes.
struct Left {
    folder: tempfile::TempDir,
    image: OwnImage,
}

impl Left {
    fn new() -> Left {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, [0; 4096]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let image = OwnImage::of(path, &file).unwrap();
        image.empty(&file, SIZE).unwrap();
        let journal = folder.path().join(FOLDER).join("1-0.json");
        let entries =
            Entries { image: Some(image.clone()), loops: vec!["mountmark of no device".into()], ..Entries::default() };
        cache::write_whole(&journal, &serde_json::to_vec(&entries).unwrap()).unwrap();
        let left = Left { folder, image };
        file.write_all_at(b"data of a test", 1 << 16).unwrap();
        left.says(&Note::Ended(Stamp::of(&file).unwrap()));
        // Times of files move on in steps.
        thread::sleep(Duration::from_millis(20));
        left
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join(FOLDER).join("1-0.json")
    }

    /// What the run's guard has noted.
    fn says(&self, note: &Note) {
        fs::write(Guard::path(&self.journal()), serde_json::to_vec(note).unwrap()).unwrap();
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.image.path).unwrap()
    }

    fn clean(&self, dry_run: bool) -> Undone {
        let mut undone = clean(self.folder.path(), dry_run);
        assert_eq!(undone.len(), 1, "{undone:?}");
        undone.remove(0).unwrap()
    }

    /// Asserts that the image is empty and nothing of the run is left.
    fn is_put_back(&self) {
        let before = (fs::read(&self.image.path).unwrap(), Stamp::of(&self.open()).unwrap());
        let foreseen = self.clean(true);
        assert_eq!((fs::read(&self.image.path).unwrap(), Stamp::of(&self.open()).unwrap()), before);
        assert!(self.journal().exists());
        let undone = self.clean(false);
        assert_eq!(undone, foreseen);
        assert!(matches!(&undone, Undone::PutBack(text) if text.contains("image")), "{undone:?}");
        assert_eq!(fs::read(&self.image.path).unwrap(), [0; 4096]);
        assert!(!self.folder.path().join(FOLDER).exists());
    }

    /// Asserts that the data is still there, and that the reason is reported once.
    fn is_left(&self, words: &str) {
        let before = (fs::read(&self.image.path).unwrap(), Stamp::of(&self.open()).unwrap());
        let foreseen = self.clean(true);
        assert!(self.journal().exists());
        let undone = self.clean(false);
        assert_eq!(undone, foreseen);
        assert!(matches!(&undone, Undone::Left(text) if text.contains(words)), "{undone:?}");
        assert_eq!((fs::read(&self.image.path).unwrap(), Stamp::of(&self.open()).unwrap()), before);
        assert!(clean(self.folder.path(), false).is_empty());
    }
}

#[test]
fn a_dead_runs_image_is_emptied() {
    Left::new().is_put_back();
    // Killed between emptying and writing, with its guard.
    let left = Left::new();
    fs::remove_file(Guard::path(&left.journal())).unwrap();
    left.open().set_len(0).unwrap();
    left.is_put_back();
}

/// Whatever the change is, and whatever its times are set to.
#[test]
fn what_was_written_after_the_run_is_left() {
    let changes: [fn(&File); 6] = [
        |file| file.write_all_at(b"mine", 1 << 17).unwrap(),
        // The same bytes once more, with the times put back.
        |file| {
            let before = file.metadata().unwrap().modified().unwrap();
            file.write_all_at(b"data of a test", 1 << 16).unwrap();
            file.set_modified(before).unwrap();
        },
        |file| file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap(),
        |file| file.set_len(SIZE + 4096).unwrap(),
        |file| file.write_all_at(&[0x53, 0xef], 1080).unwrap(),
        |file| {
            file.set_len(SIZE + 4096).unwrap();
            file.set_len(SIZE).unwrap();
        },
    ];
    for change in changes {
        let left = Left::new();
        change(&left.open());
        left.is_left("was changed after the run's end");
    }
}

#[test]
fn what_nobody_saw_the_end_of_is_left() {
    let left = Left::new();
    fs::remove_file(Guard::path(&left.journal())).unwrap();
    left.is_left("nothing is known of how the run left it");
    let left = Left::new();
    fs::write(Guard::path(&left.journal()), "{\"ended\"").unwrap();
    left.is_left("nothing is known of how the run left it");
    let left = Left::new();
    left.says(&Note::Doubt("another program opened it".into()));
    left.is_left("need not be the run's: another program opened it");
}

/// Killed between the journal and the first change, or the change was refused.
#[test]
fn what_the_run_had_not_written_is_left() {
    let left = Left::new();
    fs::remove_file(Guard::path(&left.journal())).unwrap();
    let image = OwnImage { found: Stamp::of(&left.open()).unwrap(), ..left.image.clone() };
    let entries = Entries { image: Some(image), ..Entries::default() };
    cache::write_whole(&left.journal(), &serde_json::to_vec(&entries).unwrap()).unwrap();
    left.is_left("had not written");
}

#[test]
fn what_another_uses_now_is_left_until_then() {
    let left = Left::new();
    let other = left.open();
    assert!(lock::take(&other).unwrap());
    for dry_run in [true, false] {
        let undone = left.clean(dry_run);
        assert!(matches!(&undone, Undone::Left(text) if text.contains("another program uses it now")), "{undone:?}");
    }
    drop(other);
    left.is_put_back();
}

#[test]
fn an_image_that_was_moved_or_replaced_is_left() {
    let left = Left::new();
    let elsewhere = left.image.path.with_extension("moved");
    fs::rename(&left.image.path, &elsewhere).unwrap();
    let undone = left.clean(false);
    assert!(matches!(&undone, Undone::Left(text) if text.contains("not there any more")), "{undone:?}");
    assert!(!left.journal().exists());
    let left = Left::new();
    fs::write(left.image.path.with_extension("new"), b"precious").unwrap();
    fs::rename(left.image.path.with_extension("new"), &left.image.path).unwrap();
    left.is_left("another file has its name now");
    let left = Left::new();
    let entries = Entries {
        image: Some(OwnImage { id: FileId { inode: 1, ..left.image.id.clone() }, ..left.image.clone() }),
        ..Entries::default()
    };
    cache::write_whole(&left.journal(), &serde_json::to_vec(&entries).unwrap()).unwrap();
    left.is_left("another file has its name now");
}

#[test]
fn a_lock_without_a_journal_goes_when_its_run_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let journal = crate::host::undo::Journal::open(folder.path()).unwrap();
    let lock = journal.path().with_extension("lock");
    assert!(clean(folder.path(), false).is_empty());
    assert!(lock.exists(), "its run lives");
    drop(journal);
    fs::create_dir(folder.path().join(FOLDER)).unwrap();
    fs::write(&lock, "").unwrap();
    assert!(clean(folder.path(), true).is_empty() && lock.exists());
    assert!(clean(folder.path(), false).is_empty());
    assert!(!folder.path().join(FOLDER).exists());
}

#[test]
fn a_damaged_journal_keeps_no_other_from_being_undone() {
    let left = Left::new();
    let damaged = left.folder.path().join(FOLDER).join("0-0.json");
    cache::write_whole(&damaged, b"{\"images\": [], \"loops\": []}").unwrap();
    let undone = clean(left.folder.path(), false);
    assert!(undone[0].as_ref().unwrap_err().to_string().contains("0-0.json is damaged"), "{undone:?}");
    assert!(matches!(&undone[1], Ok(Undone::PutBack(_))), "{undone:?}");
    assert!(damaged.exists());
}
