//! The promises of what goes together and in which order, and what is known of operations.

use mountmark_crash::oracle::{Class, Level, Promises};
use mountmark_crash::tree::Source;

use crate::cases::{Case, case, runs, up_to};

#[test]
fn names_change_whole_or_not_at_all() {
    const RENAME: &str = "creat a; write a 0+8; sync | rename a b";
    let (before, after) = (|| case(RENAME, 3), || case(RENAME, 4));
    before().keeps(Level::L7);
    after().keeps(Level::L7);
    before().without("a").breaks(
        Level::L3,
        Class::Missing,
        "after rename a b (op 3) and the power cut, none of the names a and b is there",
    );
    let both = || before().also("a", "b").edit("a", |a| a.links = 2).edit("b", |b| b.links = 2);
    both().breaks(
        Level::L3,
        Class::ExtraName,
        "after rename a b (op 3) and the power cut, of the names a and b these are there: a and b",
    );
    const REPLACE: &str = "creat a; write a 0+8; creat b; write b 0+16; sync | rename a b";
    case(REPLACE, 5).keeps(Level::L7);
    case(REPLACE, 6).keeps(Level::L7);
    assert_eq!(case(REPLACE, 5).without("a").wrong(&up_to(Level::L3))[0].level, Level::L3, "a is lost");
    const EXCHANGE: &str = "creat a; write a 0+8; creat b; write b 0+16; sync | rename a b exchange";
    case(EXCHANGE, 6).keeps(Level::L7);
    let half = case(EXCHANGE, 5).edit("b", runs(&[(8, Source::Op(1))]));
    assert_eq!(half.wrong(&up_to(Level::L3)).len(), 1);
    const LINK: &str = "creat a; sync | link a b";
    case(LINK, 3).edit("a", |a| a.links = 1).breaks(
        Level::L3,
        Class::WrongMetadata,
        "a says after the power cut that it has 1 name, and has 2",
    );
    case("symlink there foo; fsync .", 2).edit("foo", |foo| foo.target = None).breaks(
        Level::L3,
        Class::ZeroLength,
        "the symbolic link foo led to \"there\"; after the power cut it leads to \"\"",
    );
}

#[test]
fn fifos_and_nodes_are_what_they_were_made_as() {
    const MADE: &str = "mkfifo fifo; mknod node char 1:3; sync | rename fifo other; rename node A; fsync .";
    case(MADE, 6).keeps(Level::L7);
    case("mkfifo fifo; mknod node block 7:200; sync | creat g; fsync g", 5).keeps(Level::L7);
    case("mknod node char 1:3; sync | creat g; fsync g", 4).without("node").breaks(
        Level::L1,
        Class::Missing,
        "node was what mknod node char 1:3 (op 0) made when sync (op 1) returned; after the power cut it is not there",
    );
    case("mknod node char 1:3; sync | creat g; fsync g", 4)
        .edit("node", |node| node.target = Some("char 0:0".to_owned()))
        .breaks(
            Level::L0,
            Class::Garbage,
            "node was a node of the device char 1:3 when sync (op 1) returned; after the power cut it is a node of the \
             device char 0:0",
        );
    case("mkfifo fifo; sync | link fifo other; fsync .", 4).edit("fifo", |fifo| fifo.links = 1).breaks(
        Level::L3,
        Class::WrongMetadata,
        "fifo says after the power cut that it has 1 name, and has 2",
    );
    // What is left where a file was renamed with a whiteout is a node of the device 0:0.
    const WHITEOUT: &str = "creat a; sync | rename a b whiteout; fsync .";
    case(WHITEOUT, 4).keeps(Level::L7);
    let other = |node: &mut mountmark_crash::tree::Entry| node.target = Some("char 1:3".to_owned());
    assert_eq!(case(WHITEOUT, 4).edit("a", other).wrong(&up_to(Level::L3))[0].level, Level::L0);
}

#[test]
fn one_object_changes_in_order() {
    // The name of the first file is taken by another, and the first is nowhere.
    const TAKEN: &str = "creat foo; write foo 0+8; sync | rename foo bar; creat foo; fsync foo";
    case(TAKEN, 6).keeps(Level::L7);
    case(TAKEN, 6).without("bar").breaks(
        Level::L4,
        Class::Missing,
        "creat foo (op 4) survived the power cut, but rename foo bar (op 3), which came before it, did not: see bar",
    );
    const MOVED: &str = "mkdir t; mkdir n; creat t/u; write t/u 0+8; sync | link t/u n/u; unlink t/u; fsync t";
    case(MOVED, 5).without("t/u").breaks(
        Level::L4,
        Class::Missing,
        "unlink t/u (op 6) survived the power cut, but link t/u n/u (op 5), which came before it, did not: see n/u",
    );
    // Only a renaming that the file itself went through is synced with it.
    case("creat a; sync | rename a b; fsync b", 2).breaks(
        Level::L4,
        Class::Missing,
        "b was what creat a (op 0) made when fsync b (op 3) returned; after the power cut it is not there",
    );
    case("creat a; sync | rename a b; fdatasync b", 2).keeps(Level::L6);
    // The same is true of the last name of a file that is still open.
    const UNLINKED: &str = "creat a; sync | open a #1; unlink a; fsync #1";
    case(UNLINKED, 5).keeps(Level::L7);
    case(UNLINKED, 3).breaks(
        Level::L4,
        Class::ExtraName,
        "a was not there when fsync #1 (op 4) returned; after the power cut it is what creat a (op 0) made",
    );
    case("creat a; link a b; sync | open a #1; unlink a; fsync #1", 4).keeps(Level::L7);
    case("creat a; sync | open a #1; unlink a; fdatasync #1", 3).keeps(Level::L7);
    const ATTRIBUTES: &str = "creat foo; sync | chmod foo 0600; setxattr foo a 1; creat bar; fsync bar";
    let later = || case(ATTRIBUTES, 6).edit("foo", |foo| foo.mode = 0o644);
    later().breaks(
        Level::L4,
        Class::WrongMetadata,
        "setxattr foo a 1 (op 3) survived the power cut, but chmod foo 0600 (op 2), which came before it, did not: see foo",
    );
    case(ATTRIBUTES, 6).edit("foo", |foo| foo.xattrs.clear()).keeps(Level::L4);
}

#[test]
fn metadata_is_of_one_moment() {
    const TEXT: &str = "mkdir A; sync | creat A/foo; creat bar; fsync bar";
    case(TEXT, 5).keeps(Level::L7);
    case(TEXT, 5).without("A/foo").breaks(
        Level::L5,
        Class::WrongMetadata,
        "creat bar (op 3) survived the power cut, but creat A/foo (op 2), which came before it, did not: see A/foo",
    );
    case(TEXT, 3).before(4).keeps(Level::L7);
    let chmod = case("creat foo; sync | chmod foo 0600; creat bar; fsync bar", 5).edit("foo", |foo| foo.mode = 0o644);
    chmod.breaks(
        Level::L5,
        Class::WrongMetadata,
        "after the power cut names and attributes are of no single moment: foo has the permissions 0644; it had the \
         permissions 0600 when all else was as it was found",
    );
}

#[test]
fn data_comes_before_sizes_and_renamings() {
    const APPEND: &str = "creat f; write f 0+5000; sync | write f 5000+20000; creat g; fsync g";
    let found = |all: &[(u64, Source)]| case(APPEND, 6).edit("f", runs(all));
    found(&[(5000, Source::Op(1))]).keeps(Level::L6);
    found(&[(5000, Source::Op(1)), (3192, Source::Op(3))]).keeps(Level::L6);
    found(&[(5000, Source::Op(1)), (3192, Source::Zero), (16808, Source::Op(3))]).breaks(
        Level::L6,
        Class::Zeros,
        "f has grown before its data was there: after the power cut it holds zeros in 3,192 bytes from byte 5,000 on, and \
         no operation has written zeros there",
    );
    let tail = Promises { ends_in_data: true, ..up_to(Level::L5) };
    let zero_tail = found(&[(5000, Source::Op(1)), (3192, Source::Op(3)), (808, Source::Zero)]);
    assert_eq!(zero_tail.wrong(&tail)[0].class, Class::Zeros);
    assert!(found(&[(5000, Source::Op(1)), (3192, Source::Zero), (8, Source::Op(3))]).wrong(&tail).is_empty());

    const REPLACE: &str =
        "creat foo; write foo 0+8; sync | creat tmp; write tmp 0+4096; rename tmp foo; creat g; fsync g";
    case(REPLACE, 8).keeps(Level::L6);
    case(REPLACE, 8).edit("foo", runs(&[])).breaks(
        Level::L6,
        Class::ZeroLength,
        "foo had 4,096 bytes when rename tmp foo (op 5) replaced it; after the power cut it has 0",
    );
    // Nothing is replaced, so nothing is said.
    case("creat tmp; write tmp 0+4096; rename tmp foo; creat g; fsync g", 5).edit("foo", runs(&[])).keeps(Level::L6);
}

#[test]
fn data_is_of_one_moment() {
    const TEXT: &str =
        "creat f; write f 0+8192; creat g; write g 0+8192; sync | write f 0+8192; write g 0+8192; creat h";
    case(TEXT, 8).keeps(Level::L7);
    case(TEXT, 6).keeps(Level::L7);
    // The write under way is half done.
    case(TEXT, 6).edit("g", runs(&[(4096, Source::Op(6)), (4096, Source::Op(3))])).keeps(Level::L7);
    case(TEXT, 7).edit("f", runs(&[(8192, Source::Op(1))])).breaks(
        Level::L7,
        Class::Mixed,
        "after the power cut data is of no single moment: f holds what write f 0+8192 (op 1) wrote in 8,192 bytes from byte \
         0 on; it held what write f 0+8192 (op 5) wrote in 8,192 bytes from byte 0 on when all else was as it was found",
    );
}

#[test]
fn operations_that_failed_have_not_happened() {
    const TEXT: &str = "creat foo; sync | rename foo bar; write bar 0+4096; fsync bar";
    let mut failed = case(TEXT, 2);
    // The renaming failed, and so did what came after it.
    failed.results = vec![0, 0, 28, 2, 2];
    failed.keeps(Level::L7);
    failed.results = vec![0; 5];
    assert!(!failed.wrong(&up_to(Level::L4)).is_empty());
    // A part of what could not be written may be there; after fsync has failed, a later one says nothing.
    const WRITE: &str = "creat foo; sync | write foo 0+4096; fsync foo; fsync foo";
    let mut failed = case(WRITE, 2).edit("foo", runs(&[(512, Source::Op(2))]));
    failed.results = vec![0, 0, 28, 0, 0];
    failed.keeps(Level::L7);
    let mut failed = case(WRITE, 2);
    failed.results = vec![0, 0, 0, 5, 0];
    failed.keeps(Level::L6);
    failed.results = vec![0; 5];
    assert_eq!(failed.wrong(&up_to(Level::L1)).len(), 1);
}

#[test]
fn an_operation_that_cannot_have_worked_ends_what_is_known() {
    let mut odd = case("creat foo; sync | creat bar; fsync bar", 2);
    odd.workload.ops[2] = "creat foo".parse().unwrap();
    odd.found.entries.clear();
    assert!(odd.wrong(&up_to(Level::L7)).is_empty());
    assert_eq!(odd.before(2).wrong(&up_to(Level::L1)).len(), 1);
}

#[test]
fn signatures_know_no_names_and_sizes() {
    let one = case("creat foo; fsync foo", 0);
    let other = case("mkdir A; sync | creat A/bar; write A/bar 0+8; fsync A/bar", 2);
    let signature = |case: &Case| case.wrong(&up_to(Level::L7))[0].signature(&case.workload);
    assert_eq!(signature(&one), "L2 missing identity [creat,fsync]");
    assert_eq!(signature(&one), signature(&other));
    let lost = case("creat foo; sync | write foo 0+8; fsync foo", 2);
    assert_eq!(signature(&lost), "L1 zero-length size [fsync]");
}
