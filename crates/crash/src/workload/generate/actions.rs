//! What a generated workload can do, and what must be there before.

use super::super::{Device, Fallocation, Op, Renaming, Writing};

/// The files and folders of generated workloads.
const FILES: [&str; 5] = ["foo", "bar", "A/foo", "A/bar", "B/foo"];
const FOLDERS: [&str; 3] = ["A", "B", "A/C"];
/// Bytes of a file that is there before: two blocks and a part.
pub(super) const SIZE: u64 = 10_000;
/// The attribute of files that have one before.
pub(super) const ATTRIBUTE: &str = "a";

/// One call, or calls that go together, on files that are there or not.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub ops: Vec<Op>,
    pub needs: Vec<Need>,
    /// What can be synced afterwards.
    pub touched: Vec<String>,
    /// The names that come or go, whose folders can be synced.
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    File(String),
    Folder(String),
    Absent(String),
    Attribute(String),
    /// What the operation makes, at this path: a symbolic link, a FIFO or a node.
    Special(String, Op),
}

use Need::{Absent, Attribute, File, Folder, Special};

fn action(op: Op, needs: Vec<Need>, touched: &[&str], names: &[&str]) -> Action {
    let own = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    Action { ops: vec![op], needs, touched: own(touched), names: own(names) }
}

/// All actions, in an order that stays.
pub(super) fn all() -> Vec<Action> {
    let mut all = Vec::new();
    FILES.iter().for_each(|file| of_file(file, &mut all));
    let pairs = FILES.iter().flat_map(|from| FILES.iter().map(move |to| (*from, *to)));
    pairs.filter(|(from, to)| from != to).for_each(|(from, to)| of_pair(from, to, &mut all));
    of_folders(&mut all);
    of_specials(&mut all);
    all
}

fn of_file(file: &str, all: &mut Vec<Action>) {
    let path = || file.to_owned();
    let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    let new = |op| action(op, vec![Absent(path())], &[file], &[file]);
    all.push(new(Op::Create { path: path() }));
    all.extend(specials(file).map(|op| Action { touched: Vec::new(), ..new(op) }));
    let handle = || "#1".to_owned();
    let unnamed = vec![
        Op::Tmpfile { folder: folder.clone(), handle: handle() },
        Op::Write { path: handle(), offset: 0, length: SIZE, how: Writing::Buffered },
        Op::Link { from: handle(), to: path() },
    ];
    let parent = (folder != ".").then_some(Folder(folder));
    let needs: Vec<Need> = std::iter::once(Absent(path())).chain(parent).collect();
    // Synced before it has a name, and only with it.
    let mut synced = unnamed.clone();
    synced.insert(2, Op::Fsync { path: handle() });
    all.extend([unnamed, synced].map(|ops| Action { ops, needs: needs.clone(), ..new(Op::Sync) }));
    all.push(action(Op::Unlink { path: path() }, vec![File(path())], &[], &[file]));
    // What is open outlives its name.
    let open = || Op::Open { path: path(), handle: handle() };
    let unlinked = action(Op::Unlink { path: path() }, vec![File(path())], &["#1"], &[file]);
    all.push(Action { ops: vec![open(), Op::Unlink { path: path() }], ..unlinked });
    let there = |op| action(op, vec![File(path())], &[file], &[]);
    all.push(there(Op::Empty { path: path() }));
    all.extend([3_000, 5_000_000].map(|size| there(Op::Truncate { path: path(), size })));
    for (offset, length, how) in writes() {
        all.push(there(Op::Write { path: path(), offset, length, how }));
    }
    for (mode, offset, length) in fallocations() {
        all.push(there(Op::Fallocate { path: path(), mode, offset, length }));
    }
    let (name, value) = (|| ATTRIBUTE.to_owned(), || "new".to_owned());
    all.push(there(Op::SetXattr { path: path(), name: name(), value: value() }));
    let has = |op| action(op, vec![File(path()), Attribute(path())], &[file], &[]);
    all.push(has(Op::SetXattr { path: path(), name: name(), value: value() }));
    all.push(has(Op::RemoveXattr { path: path(), name: name() }));
    all.push(there(Op::Chmod { path: path(), mode: 0o600 }));
}

/// Overwriting (whole blocks, parts of them), appending, and leaving a hole; direct writes in whole blocks, and
/// mappings within the file.
fn writes() -> Vec<(u64, u64, Writing)> {
    let mut writes = Vec::new();
    for how in [Writing::Buffered, Writing::Sync, Writing::Dsync] {
        writes.extend([(0, 8_192, how), (1_000, 5_000, how), (SIZE, 20_000, how), (32_768, 4_096, how)]);
    }
    writes.extend(
        [(0, 8_192), (8_192, 8_192), (32_768, 4_096)].map(|(offset, length)| (offset, length, Writing::Direct)),
    );
    writes.extend(
        [(0, 8_192), (1_000, 5_000), (8_192, SIZE - 8_192)].map(|(offset, length)| (offset, length, Writing::Mmap)),
    );
    writes
}

fn fallocations() -> [(Fallocation, u64, u64); 12] {
    [
        (Fallocation::Extend, 8_192, 16_384),
        (Fallocation::Extend, 32_768, 4_096),
        (Fallocation::Keep, 8_192, 16_384),
        (Fallocation::Zero, 4_096, 4_096),
        (Fallocation::Zero, 8_192, 16_384),
        (Fallocation::ZeroKeep, 4_096, 4_096),
        (Fallocation::ZeroKeep, 8_192, 16_384),
        (Fallocation::Punch, 4_096, 4_096),
        (Fallocation::Punch, 1_000, 5_000),
        (Fallocation::Punch, 8_192, 4_096),
        (Fallocation::Collapse, 4_096, 4_096),
        (Fallocation::Insert, 4_096, 4_096),
    ]
}

fn of_pair(one: &str, other: &str, all: &mut Vec<Action>) {
    let (from, to) = (|| one.to_owned(), || other.to_owned());
    let apart = || vec![File(from()), Absent(to())];
    let both = || vec![File(from()), File(to())];
    all.push(action(Op::Link { from: from(), to: to() }, apart(), &[one, other], &[other]));
    let rename = |how| Op::Rename { from: from(), to: to(), how };
    for (how, needs) in [
        (Renaming::Plain, apart()),
        (Renaming::Plain, both()),
        (Renaming::NoReplace, apart()),
        (Renaming::Whiteout, apart()),
        (Renaming::Whiteout, both()),
    ] {
        all.push(action(rename(how), needs, &[other], &[one, other]));
    }
    // An exchange and a shared file are the same from both sides.
    if one < other {
        all.push(action(rename(Renaming::Exchange), both(), &[one, other], &[one, other]));
    }
    all.push(action(Op::Clone { from: from(), to: to() }, both(), &[other], &[]));
}

fn of_folders(all: &mut Vec<Action>) {
    for folder in FOLDERS {
        let path = || folder.to_owned();
        all.push(action(Op::Mkdir { path: path() }, vec![Absent(path())], &[folder], &[folder]));
        all.push(action(Op::Rmdir { path: path() }, vec![Folder(path())], &[], &[folder]));
        let set = Op::SetXattr { path: path(), name: ATTRIBUTE.to_owned(), value: "new".to_owned() };
        all.push(action(set, vec![Folder(path())], &[folder], &[]));
        let unset = Op::RemoveXattr { path: path(), name: ATTRIBUTE.to_owned() };
        all.push(action(unset, vec![Folder(path()), Attribute(path())], &[folder], &[]));
        all.push(action(Op::Chmod { path: path(), mode: 0o700 }, vec![Folder(path())], &[folder], &[]));
    }
    let own = |path: &str| path.to_owned();
    for (from, to) in [("A", "B"), ("B", "A"), ("A/C", "B/C"), ("A/C", "B"), ("B", "A/C"), ("A/C", "C")] {
        let rename = |how| Op::Rename { from: own(from), to: own(to), how };
        let full = File(format!("{from}/foo"));
        let parent = |path: &str| path.rsplit_once('/').map(|(folder, _)| Folder(own(folder)));
        let with = |last: Need| [Folder(own(from)), full.clone()].into_iter().chain(parent(to)).chain([last]).collect();
        for how in [Renaming::Plain, Renaming::NoReplace, Renaming::Whiteout] {
            all.push(action(rename(how), with(Absent(own(to))), &[to], &[from, to]));
        }
        all.push(action(rename(Renaming::Plain), with(Folder(own(to))), &[to], &[from, to]));
        all.push(action(rename(Renaming::Exchange), with(Folder(own(to))), &[from, to], &[from, to]));
    }
    for (folder, file) in [("A", "foo"), ("A", "B/foo"), ("A/C", "foo")] {
        let exchange = Op::Rename { from: own(folder), to: own(file), how: Renaming::Exchange };
        let needs = vec![Folder(own(folder)), File(own(file))];
        all.push(action(exchange, needs, &[folder, file], &[folder, file]));
    }
}

/// What has a name and no data.
fn specials(path: &str) -> [Op; 4] {
    let path = || path.to_owned();
    let node = |device, major, minor| Op::Mknod { path: path(), device, major, minor };
    [
        Op::Symlink { target: "target".to_owned(), path: path() },
        Op::Mkfifo { path: path() },
        node(Device::Char, 1, 3),
        node(Device::Block, 7, 200),
    ]
}

fn of_specials(all: &mut Vec<Action>) {
    let own = |path: &str| path.to_owned();
    for (from, to) in [("foo", "bar"), ("foo", "A/bar"), ("A/foo", "bar")] {
        for made in specials(from) {
            let there = || Special(own(from), made.clone());
            let rename = |how| Op::Rename { from: own(from), to: own(to), how };
            if to == "bar" {
                all.push(action(Op::Unlink { path: own(from) }, vec![there()], &[], &[from]));
                let can_change = !matches!(made, Op::Symlink { .. });
                let chmod = || action(Op::Chmod { path: own(from), mode: 0o600 }, vec![there()], &[], &[]);
                all.extend(can_change.then(chmod));
            }
            all.push(action(Op::Link { from: own(from), to: own(to) }, vec![there(), Absent(own(to))], &[], &[to]));
            for (how, other) in [
                (Renaming::Plain, Absent(own(to))),
                (Renaming::Plain, File(own(to))),
                (Renaming::Exchange, File(own(to))),
                (Renaming::Whiteout, Absent(own(to))),
            ] {
                all.push(action(rename(how), vec![there(), other], &[], &[from, to]));
            }
        }
    }
}
