//! The promises of single things: nothing foreign, and what is synced is there.

use mountmark_crash::oracle::{Class, Level, Promises};
use mountmark_crash::tree::Source;

use crate::cases::{case, runs, up_to};

#[test]
fn nothing_is_there_that_nobody_put_there() {
    const TEXT: &str = "creat foo; write foo 0+8192; sync | write foo 8192+4096; creat bar";
    case(TEXT, 5).keeps(Level::L7);
    case(TEXT, 5).edit("foo", runs(&[(8192, Source::Op(1)), (4096, Source::Poison)])).breaks(
        Level::L0,
        Class::Garbage,
        "since sync (op 2) returned, foo may only hold what write foo 8192+4096 (op 3) wrote in 4,096 bytes from byte 8,192 \
         on; after the power cut it holds what was on the disk before it was formatted in 4,096 bytes from byte 8,192 on",
    );
    let foreign = || case(TEXT, 5).edit("bar", runs(&[(4096, Source::Op(1))]));
    assert_eq!(foreign().wrong(&up_to(Level::L0))[0].class, Class::WrongMetadata, "bar never had a size");
    case(TEXT, 5).also("bar", "baz").edit("bar", |bar| bar.links = 2).edit("baz", |baz| baz.links = 2).breaks(
        Level::L0,
        Class::ExtraName,
        "baz is there after the power cut, and no operation has made it",
    );
    case(TEXT, 5).edit("foo", |foo| foo.error = Some("EIO".into())).breaks(
        Level::L0,
        Class::Unreadable,
        "foo cannot be read after the power cut: EIO",
    );
    let mut folder = case("mkdir A; creat A/foo; sync | creat bar", 4).without("A/foo");
    folder.found.unreadable.push(("A".into(), "EIO".into()));
    folder.breaks(Level::L0, Class::Unreadable, "A cannot be read after the power cut: EIO");
}

#[test]
fn stale_data_is_legal_where_it_is_said_to_be() {
    const TEXT: &str = "creat foo; write foo 0+8192; sync | write foo 8192+4096; unlink foo";
    let loose = Promises::least();
    let grown = |source| case(TEXT, 4).edit("foo", runs(&[(8192, Source::Op(1)), (4096, source)]));
    for source in [Source::Poison, Source::Other, Source::Moved(1), Source::Zero, Source::Op(3)] {
        assert!(grown(source).wrong(&loose).is_empty(), "{source:?}");
    }
    // Where nothing has changed it is not.
    let kept = |source| case(TEXT, 4).edit("foo", runs(&[(4096, Source::Op(1)), (4096, source)])).before(4);
    for source in [Source::Poison, Source::Other, Source::Moved(1), Source::Zero, Source::Op(3)] {
        assert_eq!(kept(source).wrong(&loose).len(), 1, "{source:?}");
    }
}

#[test]
fn what_is_synced_is_intact() {
    const APPEND: &str = "creat foo; write foo 0+4096; sync | write foo 4096+8192; fsync foo";
    case(APPEND, 5).keeps(Level::L7);
    case(APPEND, 5).edit("foo", runs(&[])).breaks(
        Level::L1,
        Class::ZeroLength,
        "foo had 12,288 bytes when fsync foo (op 4) returned; after the power cut it has 0",
    );
    case(APPEND, 5).edit("foo", runs(&[(4096, Source::Op(1)), (4096, Source::Op(3))])).breaks(
        Level::L1,
        Class::Prefix,
        "foo had 12,288 bytes when fsync foo (op 4) returned; after the power cut it has 8,192",
    );
    case(APPEND, 5).edit("foo", runs(&[(4096, Source::Op(1)), (4096, Source::Zero), (4096, Source::Op(3))])).breaks(
        Level::L1,
        Class::Zeros,
        "foo held what write foo 4096+8192 (op 3) wrote in 4,096 bytes from byte 4,096 on when fsync foo (op 4) returned; \
         after the power cut it holds zeros in 4,096 bytes from byte 4,096 on",
    );
    // Before fsync returns any part of it may be there, and zeros where the file has grown.
    for found in [&[(4096, Source::Op(1))][..], &[(4096, Source::Op(1)), (512, Source::Op(3)), (8, Source::Zero)]] {
        case(APPEND, 5).edit("foo", runs(found)).before(4).keeps(Level::L5);
    }
    const OVERWRITE: &str = "creat foo; write foo 0+8192; sync | write foo 0+8192; fdatasync foo; write foo 0+8192";
    let half = |source| case(OVERWRITE, 6).edit("foo", runs(&[(512, Source::Op(5)), (7680, source)]));
    half(Source::Op(3)).keeps(Level::L6);
    assert_eq!(half(Source::Op(1)).wrong(&up_to(Level::L1))[0].class, Class::Old);
    assert!(half(Source::Op(1)).before(4).wrong(&up_to(Level::L1)).len() == 1, "op 5 has not begun");
}

#[test]
fn a_synchronous_write_covers_its_own_bytes() {
    const TEXT: &str = "creat foo; sync | write foo 0+4096; write foo 4096+4096 sync; empty foo; fsync bar";
    const TEXT_2: &str = "creat foo; sync | write foo 0+4096; write foo 4096+4096 sync; creat g; fsync g";
    let found = |first, second| case(TEXT_2, 6).edit("foo", runs(&[(4096, first), (4096, second)]));
    found(Source::Zero, Source::Op(3)).keeps(Level::L6);
    found(Source::Op(2), Source::Op(3)).keeps(Level::L6);
    assert_eq!(found(Source::Op(2), Source::Zero).wrong(&up_to(Level::L1))[0].class, Class::Zeros);
    case(TEXT_2, 6).edit("foo", runs(&[(4096, Source::Op(2))])).breaks(
        Level::L1,
        Class::Prefix,
        "foo had 8,192 bytes when write foo 4096+4096 sync (op 3) returned; after the power cut it has 4,096",
    );
    // Emptying a file makes nothing durable, and O_SYNC does not change that.
    let emptied = TEXT.replace("; fsync bar", "; creat g; fsync g");
    case(&emptied, 7).edit("foo", runs(&[(4096, Source::Zero), (4096, Source::Op(3))])).keeps(Level::L6);
    case(&emptied, 7).keeps(Level::L6);
    // Of a mapping only the range that is synced.
    const MAPPED: &str = "creat foo; write foo 0+8192; sync | write foo 0+8192 mmap; msync foo 0+4096";
    let found = |first, second| case(MAPPED, 5).edit("foo", runs(&[(4096, first), (4096, second)]));
    found(Source::Op(3), Source::Op(1)).keeps(Level::L6);
    assert_eq!(found(Source::Op(1), Source::Op(3)).wrong(&up_to(Level::L1))[0].class, Class::Old);
}

#[test]
fn attributes_are_as_they_were_synced() {
    const TEXT: &str = "creat foo; chmod foo 0777; setxattr foo a 1; sync | chmod foo 0755; rmxattr foo a; fsync foo";
    case(TEXT, 7).keeps(Level::L7);
    case(TEXT, 7).edit("foo", |foo| foo.mode = 0o777).breaks(
        Level::L1,
        Class::WrongMetadata,
        "foo had the permissions 0755 when fsync foo (op 6) returned; after the power cut it has the permissions 0777",
    );
    case(TEXT, 7).edit("foo", |foo| foo.xattrs = vec![("a".into(), "1".into())]).breaks(
        Level::L1,
        Class::WrongMetadata,
        "foo had no attribute a when fsync foo (op 6) returned; after the power cut it has the attribute a with the value \
         \"1\"",
    );
    case(TEXT, 4).before(6).keeps(Level::L7);
    // fdatasync says nothing of them.
    case(&TEXT.replace("fsync", "fdatasync"), 4).keeps(Level::L6);
    let made_up = case(TEXT, 4).before(6).edit("foo", |foo| foo.xattrs = vec![("a".into(), "x".into())]);
    assert_eq!(made_up.wrong(&up_to(Level::L1))[0].level, Level::L0);
}

#[test]
fn names_are_durable() {
    const FILE: &str = "creat foo; fsync foo; link foo bar; fsync foo";
    case(FILE, 4).without("bar").edit("foo", |foo| foo.links = 1).keeps(Level::L6);
    case("creat foo; fsync foo", 0).breaks(
        Level::L2,
        Class::Missing,
        "foo was what creat foo (op 0) made when fsync foo (op 1) returned; after the power cut it is not there",
    );
    case("creat foo; fsync foo; unlink foo", 0).keeps(Level::L7);
    case("creat foo; fsync foo; rename foo bar", 3).keeps(Level::L7);
    const FOLDER: &str = "mkdir A; creat A/foo; sync | unlink A/foo; creat A/bar; fsync A; rename A B";
    case(FOLDER, 7).keeps(Level::L7);
    case(FOLDER, 6).keeps(Level::L7);
    case(FOLDER, 4).breaks(
        Level::L2,
        Class::Missing,
        "A/bar was what creat A/bar (op 4) made when fsync A (op 5) returned; after the power cut it is not there",
    );
    case(FOLDER, 6).also("A/bar", "A/foo").edit("A/foo", |foo| foo.inode = 77).breaks(
        Level::L2,
        Class::ExtraName,
        "A/foo was not there when fsync A (op 5) returned; after the power cut it is what creat A/foo (op 1) made",
    );
    // What is synced of a folder are its own names, and not those of folders in it.
    case("mkdir A; sync | creat A/foo; fsync .", 2).keeps(Level::L7);
    // Without any promise of names, what nobody touched stays.
    case("creat foo; sync | creat bar; fsync bar", 2).without("foo").breaks(
        Level::L1,
        Class::Missing,
        "foo was what creat foo (op 0) made when sync (op 1) returned; after the power cut it \
         is not there",
    );
    assert!(case("creat foo; sync | creat bar; fsync bar", 2).wrong(&up_to(Level::L1)).is_empty());
}

#[test]
fn a_file_reached_by_an_older_name_of_a_folder_is_there() {
    const TEXT: &str = "mkdir A; creat A/foo; sync | rename A B; write B/foo 0+4096; fsync B/foo";
    let older = case(TEXT, 3).edit("A/foo", runs(&[(4096, Source::Op(4))]));
    older.keeps(Level::L4);
    case(TEXT, 3).breaks(
        Level::L1,
        Class::ZeroLength,
        "A/foo had 4,096 bytes when fsync B/foo (op 5) returned; after the power cut it has 0",
    );
}
