use super::*;
use crate::workload::Op;

fn tried(ops: usize, faults: &[Fault]) -> Tried {
    let workload = Workload { ops: vec![Op::Sync; ops], ..Workload::default() };
    let mut explored = Explored { states: 5, seconds: [0.1, 0.5], ..Explored::default() };
    for (fault, index) in faults.iter().zip(0..) {
        let state = if index == 0 && ops > 2 { "e3.t3.+2f1" } else { "e3.t1.-2" };
        let told = Told { fault: fault.clone(), promised: true };
        let fresh = Finding::new(state.parse().unwrap(), None, Moment { begun: 1, returned: 1 }, told);
        explored.add(&workload, fresh, Order::default);
    }
    Tried { workload, policy: Policy::Fifo, shrunk: false, explored }
}

#[test]
fn findings_of_one_cause_are_told_once_with_the_shortest_workload() {
    let mount = Fault::Mount("Structure needs cleaning".into());
    let check = Fault::Check(Check { status: 4, said: "wrong count".into() });
    let campaign = Campaign {
        configuration: "ext4".into(),
        kernel: "6.12".into(),
        kernel_option: String::new(),
        disk_size: 1 << 29,
        disks: 1,
        device: "sector".parse().unwrap(),
        promises: Promises::least(),
        undocumented: None,
        has_check: true,
        seed: 1,
        tried: vec![tried(5, &[mount.clone(), check.clone(), mount.clone()]), tried(2, &[mount])],
        seconds: 1.0,
        prepared: 0.0,
        cut_short: false,
    };
    let causes = campaign.causes();
    let told: Vec<_> = causes
        .iter()
        .map(|cause| (cause.signature.as_str(), cause.images, cause.workloads, cause.workload.ops.len()))
        .collect();
    assert_eq!(told, [("L0 check: status 4", 1, 1, 5), ("L0 mount: Structure needs cleaning", 3, 2, 2)]);
    assert_eq!(campaign.total(|explored| explored.states), 10);
    assert_eq!(campaign.rate(), Some(10.0));
    assert_eq!(Campaign { tried: Vec::new(), ..campaign.clone() }.rate(), None);

    let hurried = Campaign { cut_short: true, configuration: "xfs".into(), ..campaign.clone() };
    assert_eq!(crate::cases::hurried(&[campaign.clone(), hurried]), ["xfs"]);
    // A newest try that came to nothing hides no older one.
    let mut late = Campaign { cut_short: true, ..campaign.clone() };
    late.tried.iter_mut().for_each(|tried| tried.explored = Explored::default());
    let workloads: Vec<Workload> = campaign.tried.iter().map(|tried| tried.workload.clone()).collect();
    let joined = crate::cases::joined(&[&late, &campaign], &workloads);
    assert_eq!((joined[0].tried.clone(), joined[0].cut_short), (campaign.tried.clone(), false));

    // What was met only on the way to a smaller workload has no image of a chosen one.
    let mut others = campaign.clone();
    let umount = Fault::Umount("busy".into());
    others.tried.push(Tried { shrunk: true, ..tried(1, &[umount]) });
    let signatures =
        |campaign: &Campaign| -> Vec<String> { campaign.causes().into_iter().map(|cause| cause.signature).collect() };
    assert_eq!(signatures(&others), signatures(&campaign));
    assert!(others.causes().iter().all(|cause| cause.images > 0 && cause.workloads > 0));
    let mut nothing = campaign;
    nothing.tried.iter_mut().for_each(|tried| tried.explored = Explored::default());
    assert!(nothing.is_empty() && !others.is_empty());
}

#[test]
fn a_smaller_workload_shows_the_same_of_the_same_file() {
    let workload: Workload = "creat foo; creat bar; fsync foo".parse().unwrap();
    let missing = |path: &str, op| {
        Fault::Broken(Violation {
            class: oracle::Class::Missing,
            level: Level::L2,
            path: path.into(),
            op: Some(op),
            expected: oracle::Evidence::Nothing,
            found: oracle::Evidence::Nothing,
        })
    };
    let reason = |path: &str, op| missing(path, op).reason(&workload);
    assert_eq!(missing("foo", 2).signature(&workload), missing("bar", 2).signature(&workload));
    assert_ne!(reason("foo", 2), reason("bar", 2));
    assert_ne!(reason("foo", 2), reason("foo", 1), "another kind of operation broke it");
    assert_eq!(reason("foo", 0), reason("foo", 1));
}

#[test]
fn the_gravest_comes_first_and_what_was_torn_last_of_the_broken() {
    let verdict = Verdict { end: End::Status(1), said: String::new() };
    let faults = [Fault::Application(verdict), Fault::Mount("a torn superblock".into()), Fault::Umount("busy".into())];
    let mut one = tried(3, &[Fault::Mount("a torn superblock".into())]);
    for (fault, promised) in faults.into_iter().zip([false, true, true]) {
        let fresh =
            Finding::new("e3.t1.-2".parse().unwrap(), None, Moment { begun: 1, returned: 1 }, Told { fault, promised });
        one.explored.add(&one.workload, fresh, Order::default);
    }
    one.explored.findings[0].state = "e3.t3.+2f1".parse().unwrap();
    let standings: Vec<Standing> = Campaign {
        configuration: "ext4".into(),
        kernel: "6.12".into(),
        kernel_option: String::new(),
        disk_size: 1 << 29,
        disks: 1,
        device: "sector".parse().unwrap(),
        promises: Promises::least(),
        undocumented: None,
        has_check: true,
        seed: 1,
        tried: vec![one],
        seconds: 1.0,
        prepared: 0.0,
        cut_short: false,
    }
    .causes()
    .iter()
    .map(Cause::standing)
    .collect();
    assert_eq!(standings, [Standing::Broken, Standing::Torn, Standing::Application]);
}

#[test]
fn repairs_of_older_records_are_read() {
    let repairs = Repairs { images: 2, not_mounted: 0, lost_and_found: 1 };
    assert_eq!(serde_json::from_str::<Repairs>("[2,0,1]").unwrap(), repairs);
    let text = serde_json::to_string(&repairs).unwrap();
    assert!(text.contains("lost_and_found"), "{text}");
    assert_eq!(serde_json::from_str::<Repairs>(&text).unwrap(), repairs);
}
