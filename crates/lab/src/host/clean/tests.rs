use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use super::*;
use crate::cache;
use crate::host::alive::Alive;
use crate::host::own::FileId;

const SIZE: u64 = 1 << 20;
const SECOND: i64 = 1_000_000_000;

/// Leftovers of a killed run: its image, with data in it, and its journal. The user's file had 4096 bytes.
struct Left {
    folder: tempfile::TempDir,
    image: OwnImage,
    sign: Sign,
}

impl Left {
    fn new() -> Left {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, [0; 4096]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let image = OwnImage::of(path, &file).unwrap();
        image.empty(&file, SIZE).unwrap();
        let began = Stamp::of(&file).unwrap();
        let journal = folder.path().join(FOLDER).join("1-0.json");
        let entries =
            Entries { image: Some(image.clone()), loops: vec!["mountmark of no device".into()], ..Entries::default() };
        cache::write_whole(&journal, &serde_json::to_vec(&entries).unwrap()).unwrap();
        Alive::begin(&journal, began).unwrap();
        let sign = Sign::last(&journal).unwrap();
        let left = Left { folder, image, sign };
        file.write_all_at(b"data of a test", 1 << 16).unwrap();
        left.says(|sign| sign.holds = Holds::Made(contents::identity(&file)));
        left
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join(FOLDER).join("1-0.json")
    }

    /// Changes the run's last heartbeat.
    fn says(&self, change: impl Fn(&mut Sign)) {
        let mut sign = self.sign.clone();
        change(&mut sign);
        fs::write(Sign::path(&self.journal()), serde_json::to_vec(&sign).unwrap()).unwrap();
    }

    /// Moves the run's end back by a minute.
    fn is_old(&self) {
        self.says(|sign| {
            for moment in [&mut sign.at, &mut sign.began_at] {
                moment.wall -= 60 * SECOND;
                moment.uptime -= 60 * SECOND;
            }
            (sign.began.changed, sign.began.modified) = (sign.began_at.wall, sign.began_at.wall);
            sign.holds = Holds::Made(None);
        });
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
    // Killed while mkfs was at work: no file system is recognisable yet.
    let left = Left::new();
    left.says(|sign| sign.holds = Holds::Changing);
    left.is_put_back();
    // Killed between emptying and the first heartbeat.
    let left = Left::new();
    left.open().write_all_at(&[0; 14], 1 << 16).unwrap();
    fs::remove_file(Sign::path(&left.journal())).unwrap();
    left.open().set_len(0).unwrap();
    left.is_put_back();
}

#[test]
fn what_was_written_later_is_left() {
    let left = Left::new();
    left.is_old();
    left.is_left("s after the run's last sign of life");
    // Its modification time does not show it.
    let left = Left::new();
    left.is_old();
    left.open().set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    left.is_left("after the run's last sign of life");
    let left = Left::new();
    left.open().set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    left.is_left("older than the run");
}

#[test]
fn what_was_made_at_once_is_left() {
    let ext = |file: &File, number: u8| {
        file.write_all_at(&[0x53, 0xef], 1080).unwrap();
        file.write_all_at(&[number; 16], 1128).unwrap();
    };
    let left = Left::new();
    ext(&left.open(), 1);
    left.is_left("an ext2, ext3 or ext4 file system that the run may not have made");
    for said in [Holds::Changing, Holds::Made(None)] {
        let left = Left::new();
        ext(&left.open(), 1);
        left.says(|sign| sign.holds = said.clone());
        left.is_left("may not have made");
    }
    let left = Left::new();
    ext(&left.open(), 1);
    left.says(|sign| sign.holds = Holds::Made(contents::identity(&left.open())));
    ext(&left.open(), 2);
    left.is_left("may not have made");
    let left = Left::new();
    ext(&left.open(), 1);
    left.says(|sign| sign.holds = Holds::Made(contents::identity(&left.open())));
    left.is_put_back();
}

#[test]
fn what_has_another_size_or_no_sign_is_left() {
    let left = Left::new();
    left.open().set_len(SIZE + 4096).unwrap();
    left.is_left("its size is 1052672 bytes, and was 1048576");
    let left = Left::new();
    fs::remove_file(Sign::path(&left.journal())).unwrap();
    left.is_left("nothing is known");
}

/// Killed between the journal and the first change, or the change was refused.
#[test]
fn what_the_run_had_not_written_is_left() {
    let left = Left::new();
    fs::remove_file(Sign::path(&left.journal())).unwrap();
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

#[test]
fn times_are_believed_only_where_no_clock_was_set() {
    let moment = |wall: i64, uptime: i64, boot: &str| Moment {
        wall: wall * SECOND,
        uptime: uptime * SECOND,
        boot: boot.to_owned(),
    };
    let stamp = |modified: i64, changed: i64| Stamp { size: 1, modified: modified * SECOND, changed: changed * SECOND };
    let sign = Sign {
        began: stamp(1000, 1000),
        began_at: moment(1000, 100, "a"),
        at: moment(1500, 600, "a"),
        holds: Holds::Changing,
    };
    let asked = |stamp: Stamp, now: Moment| late(&sign, &stamp, &now);
    let day = 86_400;
    // (the file's times, now): the data is the run's.
    for (stamp, now) in [
        (stamp(1200, 1200), moment(1501, 601, "a")),
        (stamp(1509, 1510), moment(1500 + day, 600 + day, "a")),
        (stamp(1500, 1500), moment(1500 + day + 40, 600 + day, "a")),
        (stamp(1500, 1500), moment(2000, 300, "b")),
    ] {
        assert_eq!(asked(stamp, now.clone()), None, "{stamp:?} {now:?}");
    }
    for (stamp, now, words) in [
        (stamp(1511, 1511), moment(1600, 700, "a"), "11 s after"),
        (stamp(1400, 9000), moment(9100, 8200, "a"), "2 h after"),
        (stamp(9000, 1400), moment(9100, 8200, "a"), "after"),
        (stamp(900, 1400), moment(1600, 700, "a"), "older"),
        // Set back by an hour, and forward.
        (stamp(1400, 1400), moment(1500, 4200, "a"), "clock was set"),
        (stamp(1400, 1400), moment(9000, 700, "a"), "clock was set"),
        (stamp(1400, 1400), moment(1510, 200, "a"), "clock was set"),
        // Rebooted, with a clock that is slow.
        (stamp(1400, 1400), moment(1510, 20, "b"), "clock was set"),
    ] {
        let doubt = asked(stamp, now.clone());
        assert!(doubt.as_ref().is_some_and(|doubt| doubt.contains(words)), "{stamp:?} {now:?}: {doubt:?}");
    }
    let remote = Sign { began: stamp(1030, 1030), ..sign.clone() };
    let doubt = late(&remote, &stamp(1400, 1400), &moment(1600, 700, "a"));
    assert!(doubt.unwrap().contains("clock is not this machine's"));
}
