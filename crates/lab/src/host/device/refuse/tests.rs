//! Every way in which a device is in use has a sentence of its own, and no name gets past it.

use std::collections::BTreeSet;

use mountmark_model::{Bytes, Identity};

use super::*;
use crate::host::device::facts::{Content, Mounted};

fn empty() -> Facts {
    let identity = Identity {
        path: "/dev/sdb".into(),
        name: "sdb".into(),
        number: "8:16".into(),
        serial: "S1".into(),
        size: Bytes(1 << 30),
        ..Identity::default()
    };
    Facts { path: "/dev/sdb".into(), identity, relatives: vec![relative("sdb", Relation::Itself)], ..Facts::default() }
}

fn relative(name: &str, relation: Relation) -> Relative {
    Relative {
        name: name.into(),
        number: "8:16".into(),
        relation,
        sort: "disk".into(),
        mounts: Vec::new(),
        is_swap: false,
        member_of: None,
        array: None,
        opened: Opened::Held,
    }
}

fn unheld(opened: Opened) -> Relative {
    Relative { opened, ..relative("sdc", Relation::Backing) }
}

fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = empty();
    change(&mut facts);
    facts
}

fn said(facts: &Facts, wipe: &[&str]) -> Vec<String> {
    let wipe: Vec<String> = wipe.iter().map(|name| (*name).to_owned()).collect();
    refusals(facts, &wipe).iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_disk_and_one_of_ours_may_be_used() {
    assert_eq!(said(&empty(), &[]), [""; 0]);
    let ours = with(|facts| facts.is_scratch = true);
    assert_eq!(said(&ours, &[]), [""; 0]);
    let written_since = with(|facts| facts.data = Some(1 << 26));
    assert!(said(&written_since, &[]).join("").contains("byte 67108864 is not zero"));
    // What lies beside a volume on its disk is not in the way.
    let volume = with(|facts| facts.relatives.push(relative("sda", Relation::Below)));
    assert_eq!(said(&volume, &[]), [""; 0]);
}

#[test]
fn only_what_is_named_in_full_is_given_up() {
    let facts = with(|facts| {
        let home = Content { about: "ext4 (label home, UUID 6d-7b)".into(), uuid: Some("6d-7b".into()) };
        facts.contents = vec![home];
        facts.fstab = vec!["/home".into()];
    });
    let text = said(&facts, &[]).join("");
    for part in ["/dev/sdb holds ext4 (label home, UUID 6d-7b)", "/etc/fstab mounts at /home", "--wipe S1 or 6d-7b"] {
        assert!(text.contains(part), "{text}");
    }
    for name in ["S1", "6d-7b"] {
        assert_eq!(said(&facts, &[name]), [""; 0]);
    }
    for name in ["s1", "S", "6d-7", "sdb", "/dev/sdb", ""] {
        let text = said(&facts, &[name]).join("");
        assert!(text.contains("does not name what /dev/sdb holds") && text.contains("S1 or 6d-7b"), "{text}");
    }
    let nameless = with(|facts| {
        facts.identity.serial.clear();
        facts.data = Some(77);
    });
    let text = said(&nameless, &[]).join("");
    assert!(text.contains("byte 77 is not zero") && text.contains("--wipe 8:16/1073741824"), "{text}");
    assert_eq!(said(&nameless, &["8:16/1073741824"]), [""; 0]);
}

#[test]
fn every_use_is_refused_with_a_sentence_of_its_own_and_no_name_gets_past() {
    let mounted = |by| Mounted { point: "/data".into(), by };
    let other = || Some(Process { id: 77, name: "containerd".into() });
    let mut cases: Vec<Facts> = vec![
        with(|facts| facts.leads_to = LeadsTo::Nothing),
        with(|facts| facts.leads_to = LeadsTo::Dangling("../sdz".into())),
        with(|facts| facts.leads_to = LeadsTo::Other("a folder")),
        with(|facts| facts.leads_to = LeadsTo::Other("a character device")),
        with(|facts| facts.leads_to = LeadsTo::Unknown("Permission denied".into())),
        with(|facts| facts.leads_to = LeadsTo::Changed),
        with(|facts| facts.identity.size = Bytes(0)),
        with(|facts| facts.read_only = true),
        with(|facts| facts.opened = Opened::Busy),
        with(|facts| facts.opened = Opened::Failed("I/O error".into())),
        with(|facts| facts.unreadable = Some("Input/output error".into())),
        with(|facts| facts.writers = vec![Process { id: 5, name: "qemu".into() }]),
        with(|facts| {
            let by = vec![Process { id: 5, name: "qemu".into() }];
            facts.writers_below = (vec!["sdb".into(), "/images/one".into()], by);
        }),
        with(|facts| facts.used_files = vec![("/images/one".into(), "is in use as swap")]),
        with(|facts| facts.relatives.push(relative("sdb1", Relation::Partition))),
        with(|facts| facts.relatives.push(relative("dm-0", Relation::Above))),
        with(|facts| facts.relatives.push(relative("loop7", Relation::Copy))),
        with(|facts| facts.relatives.push(relative("sdc1", Relation::Beside))),
        with(|facts| facts.unknown_loops.push("loop8".into())),
        with(|facts| facts.relatives.push(unheld(Opened::Busy))),
        with(|facts| facts.relatives.push(Relative { relation: Relation::Path, ..unheld(Opened::Busy) })),
        with(|facts| facts.relatives.push(unheld(Opened::NoMedium))),
        with(|facts| facts.relatives.push(unheld(Opened::Denied))),
        with(|facts| facts.relatives.push(unheld(Opened::Failed("No such file or directory".into())))),
    ];
    for relation in [
        Relation::Itself,
        Relation::Partition,
        Relation::Whole,
        Relation::Above,
        Relation::Below,
        Relation::Backing,
        Relation::Beside,
        Relation::Copy,
        Relation::Path,
    ] {
        let one = |change: &dyn Fn(&mut Relative)| {
            with(|facts| {
                let mut one = relative("dm-9", relation);
                change(&mut one);
                facts.relatives = vec![one];
            })
        };
        cases.push(one(&|one| one.mounts = vec![mounted(None)]));
        cases.push(one(&|one| one.mounts = vec![mounted(other())]));
        cases.push(one(&|one| one.is_swap = true));
        // Another volume on the same disk or array may be anybody's.
        if relation != Relation::Below {
            cases.push(one(&|one| one.member_of = Some("the file system x".into())));
            cases.push(one(&|one| one.array = Some("md127".into())));
        }
    }
    let mut sentences = BTreeSet::new();
    for facts in &cases {
        let text = said(facts, &["S1", "8:16/1073741824", "8:16/0"]).join("; ");
        assert!(!text.is_empty(), "{facts:?}");
        assert!(text.contains("/dev/sdb"), "the thing is named: {text}");
        assert!(sentences.insert(text.clone()), "twice: {text}");
    }
    assert_eq!(sentences.len(), cases.len());
}

#[test]
fn all_reasons_are_given_at_once() {
    let facts = with(|facts| {
        facts.read_only = true;
        facts.opened = Opened::Busy;
        facts.relatives[0].is_swap = true;
        facts.contents = vec![Content { about: "swap".into(), uuid: None }];
    });
    let all = said(&facts, &[]);
    assert_eq!(all.len(), 3, "busy is explained by swap: {all:?}");
}

#[test]
fn what_a_loop_device_lies_on_must_be_free_too() {
    let free = with(|facts| facts.relatives.push(relative("sdc", Relation::Backing)));
    assert_eq!(said(&free, &[]), [""; 0]);
    let busy = with(|facts| facts.relatives.push(unheld(Opened::Busy)));
    let text = said(&busy, &["S1"]).join("");
    assert!(
        text.contains("lies by a loop device on sdc (disk), which the kernel or a program has for itself"),
        "{text}"
    );
    let explained = with(|facts| {
        facts.relatives.push(unheld(Opened::Busy));
        facts.relatives.push(relative("sdc1", Relation::Beside));
    });
    let all = said(&explained, &["S1"]);
    assert!(all.len() == 1 && all[0].contains("shares a disk with sdc1"), "{all:?}");
    // Who may not look learns that when the run begins.
    let denied = with(|facts| {
        facts.opened = Opened::Denied;
        facts.relatives.push(unheld(Opened::Denied));
        facts.unknown_loops.push("loop8".into());
    });
    assert_eq!(said(&denied, &[]), [""; 0]);
}

#[test]
fn another_path_to_the_same_disk_is_in_the_way_only_if_it_is_used() {
    let path = |change: &dyn Fn(&mut Relative)| {
        with(|facts| {
            let mut one = relative("sdq", Relation::Path);
            change(&mut one);
            facts.relatives.push(one);
        })
    };
    assert_eq!(said(&path(&|_| {}), &[]), [""; 0]);
    assert_eq!(said(&path(&|one| one.opened = Opened::NoMedium), &[]), [""; 0], "it does not reach the drive");
    let text = said(&path(&|one| one.is_swap = true), &["S1"]).join("");
    assert!(text.contains("/dev/sdb is also there as sdq (disk), by another path to the same disk"), "{text}");
}
