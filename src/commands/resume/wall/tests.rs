use std::collections::BTreeMap;

use mountmark_model::{Identity, OwnTarget, Target};

use super::*;

fn sitting(boot: &str, machine: &str) -> Sitting {
    Sitting { number: 1, boot: boot.into(), machine: machine.into() }
}

#[test]
fn a_run_goes_on_where_it_began() {
    let here = sitting("boot 2", "this");
    for (recorded, words) in [
        (Some(sitting("boot 2", "this")), None),
        (Some(sitting("boot 1", "this")), None),
        // Nobody else can know the id of this boot.
        (Some(sitting("boot 2", "")), None),
        (Some(sitting("boot 1", "")), Some("no /etc/machine-id")),
        (Some(sitting("boot 1", "that")), Some("on another machine")),
        (None, Some("an older version")),
    ] {
        match (elsewhere(recorded.as_ref(), &here), words) {
            (None, None) => {}
            (Some(text), Some(words)) => assert!(text.contains(words), "{text}"),
            other => panic!("{recorded:?}: {other:?}"),
        }
    }
    assert!(elsewhere(Some(&sitting("", "")), &sitting("", "")).is_some());
}

fn environment() -> Environment {
    Environment {
        mountmark: "0.1.0".into(),
        build: "b1".into(),
        kernel_build: "#1 SMP".into(),
        host_kernel: "6.12".into(),
        host_cpu: "cpu".into(),
        packages: BTreeMap::from([("e2fsprogs".into(), "1.47".into())]),
        clock: "the disk is /dev/sdb".into(),
        ..Environment::default()
    }
}

#[test]
fn each_thing_that_may_change_a_figure_is_named() {
    assert_eq!(difference(&environment(), &environment()), None);
    let unnamed = Environment { kernel_build: String::new(), ..environment() };
    assert_eq!(difference(&environment(), &unnamed), None, "a guest names it when it runs");
    type Change = fn(&mut Environment);
    let cases: [(Change, &str); 6] = [
        (|now| now.build = "b2".into(), "another build of mountmark (0.1.0)"),
        (|now| now.kernel_build = "#2 SMP".into(), "kernel was #1 SMP, and is #2 SMP"),
        (|now| now.host_kernel = "6.13".into(), "kernel was 6.12, and is 6.13"),
        (|now| now.host_cpu = "other".into(), "processor was cpu"),
        (|now| now.clock = "the disk is /dev/sdc".into(), "is the disk is /dev/sdc now"),
        (|now| now.packages.clear(), "e2fsprogs was 1.47, and is missing"),
    ];
    for (change, words) in cases {
        let mut now = environment();
        change(&mut now);
        let text = difference(&environment(), &now).unwrap();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn another_target_or_another_memory_is_told() {
    let device = |serial: &str| {
        Target::Device(Identity { path: "/dev/sdb".into(), serial: serial.into(), ..Identity::default() })
    };
    let now = |ram: u64, targets: &[Target]| -> OwnComputer {
        let own = |target: &Target| OwnTarget { target: target.clone(), size: None, free: None };
        OwnComputer {
            machine: mountmark_model::Machine { ram: Bytes(ram), ..super::super::tests::machine() },
            disk: device("S1").disk(),
            kernel: "host".into(),
            targets: targets.iter().map(own).collect(),
        }
    };
    let mut plan = super::super::tests::plan();
    plan.machine.ram = Bytes(8 << 30);
    plan.targets = vec![device("S1")];
    assert_eq!(target_differs(&plan, &now(8 << 30, &[device("S1")])), None);
    // What a kernel takes for itself differs from boot to boot.
    assert_eq!(target_differs(&plan, &now((8 << 30) - (10 << 20), &[device("S1")])), None);
    let text = target_differs(&plan, &now(4 << 30, &[device("S1")])).unwrap();
    assert!(text.contains("8.00 GiB of memory, and has 4.00 GiB"), "{text}");
    let text = target_differs(&plan, &now(8 << 30, &[device("S2")])).unwrap();
    assert_eq!(text, "its target /dev/sdb is another one now: its serial was S1 and is S2");
    assert!(target_differs(&plan, &now(8 << 30, &[])).unwrap().contains("1 targets, and there are 0"));
}

#[test]
fn what_lies_beside_a_store_is_as_trusted_as_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("results.sqlite");
    fs::write(&store, "").unwrap();
    let folder_of = fs::canonicalize(folder.path()).unwrap();
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        writable_by_others(&store).unwrap()
    };
    if fs::metadata(&store).unwrap().uid() != 0 {
        assert_eq!(mode(&store, 0o644), Some(folder_of.join("results.sqlite")), "a file of no root");
        return;
    }
    mode(&store, 0o644);
    assert_eq!(mode(folder.path(), 0o755), None);
    assert_eq!(mode(folder.path(), 0o1777), Some(folder_of.clone()));
    mode(folder.path(), 0o755);
    assert_eq!(mode(&store, 0o664), Some(folder_of.join("results.sqlite")));
}
