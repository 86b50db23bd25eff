//! What a repeat draws although no question asks for it.

mod support;

use std::path::PathBuf;

use mountmark_cells::{Plan, PlannedCell};
use mountmark_model::conditions::Way;
use mountmark_model::{Bytes, Conditions, Lab, RateOf, RealisedCorpus};
use mountmark_plan::{Catalogue, Options, check_stored, plan};

fn planned(lab: Lab, conditions: Way, repeats: u32) -> Plan {
    of_suite("create-after-delete", lab, conditions, repeats)
}

fn of_suite(suite: &str, lab: Lab, conditions: Way, repeats: u32) -> Plan {
    let options = Options { lab, repeats, conditions, ..support::options("ext4,xfs", suite, "modern") };
    let mut none = |_: &_| Ok((PathBuf::new(), RealisedCorpus::default()));
    plan(&Catalogue::built_in().unwrap(), &options, &mut none).unwrap()
}

fn drawn(cell: &PlannedCell) -> &Conditions {
    cell.conditions.as_ref().unwrap()
}

#[test]
fn a_block_shares_its_conditions_and_repeats_do_not() {
    let plan = planned(Lab::Virtual, Way::Varied, 200);
    assert_eq!(plan.conditions(), Way::Varied);
    for block in plan.cells.chunks(2) {
        assert_eq!(block[0].conditions, block[1].conditions);
    }
    let all: Vec<&Conditions> = plan.cells.iter().step_by(2).map(drawn).collect();
    let least = |of: fn(&Conditions) -> i64| all.iter().map(|one| of(one)).min().unwrap();
    let most = |of: fn(&Conditions) -> i64| all.iter().map(|one| of(one)).max().unwrap();
    let percent = plan.machine.ram.0 as i64 / 100;
    for (of, range) in [
        ((|one| one.memory.0 as i64) as fn(&Conditions) -> i64, 4 * 4096..percent),
        (|one| i64::from(one.reads), 0..17),
        (|one| i64::from(one.folders), 0..17),
        (|one| one.date.unwrap(), Conditions::DATES),
    ] {
        let spread = range.end - range.start;
        assert!(range.contains(&least(of)) && range.contains(&most(of)), "{range:?}");
        assert!(least(of) - range.start < spread / 10 && range.end - most(of) <= spread / 10 + 1, "{range:?}");
    }
    assert!(all.iter().all(|one| one.memory.0 % 4096 == 0 && one.idle_seconds == Conditions::IDLE_SECONDS));
    check_stored(&plan).unwrap();
}

#[test]
fn a_plan_with_figures_that_commands_print_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let text = "name = \"s\"\nabout = \"s\"\nroom = \"1 MiB\"\n[[task]]\nid = \"a\"\ntitle = \"a\"\nrun = \"echo 3 lines\"\n\
                [[figure]]\nname = \"lines\"\npattern = \"([0-9]+) lines\"\n";
    std::fs::write(&path, text).unwrap();
    let plan = of_suite(&path.to_string_lossy(), Lab::Virtual, Way::Fixed, 1);
    assert!(plan.cells[0].tasks.iter().any(|task| task.printed.is_some()));
    check_stored(&plan).unwrap();
}

#[test]
fn a_plan_of_before_may_have_fields_of_which_nothing_comes() {
    let mut plan = planned(Lab::Virtual, Way::Fixed, 1);
    let mut tasks = plan.cells[0].tasks.to_vec();
    let at = tasks.iter().position(|task| task.workload.is_none()).unwrap();
    tasks[at].rate = RateOf::Children;
    plan.cells[0].tasks = tasks.into();
    check_stored(&plan).unwrap();
}

#[test]
fn a_seed_draws_the_same_for_years() {
    let plan = planned(Lab::Virtual, Way::Varied, 2);
    let pinned = |memory, reads, folders, date| Conditions {
        idle_seconds: 35.0,
        memory: Bytes(memory),
        reads,
        folders,
        date: Some(date),
    };
    let pinned = [pinned(13_938_688, 15, 16, 2_046_061_887), pinned(5_218_304, 1, 7, 2_082_907_322)];
    assert_eq!([drawn(&plan.cells[0]), drawn(&plan.cells[2])], [&pinned[0], &pinned[1]]);
}

#[test]
fn fixed_conditions_leave_no_trace_in_a_cell() {
    let plan = planned(Lab::Virtual, Way::Fixed, 2);
    assert_eq!(plan.conditions(), Way::Fixed);
    assert!(!serde_json::to_string(&plan.whole()).unwrap().contains("conditions"));
}

#[test]
fn idle_time_is_drawn_where_it_is_free_and_the_machine_where_it_is_ours() {
    let kvm = planned(Lab::Kvm, Way::Varied, 1);
    let host = planned(Lab::Host, Way::Varied, 1);
    let (kvm, host) = (drawn(&kvm.cells[0]), drawn(&host.cells[0]));
    assert_eq!([kvm.idle_seconds, host.idle_seconds], [0.0, 0.0]);
    assert!(kvm.memory.0 > 0 && kvm.date.is_some());
    assert!(host.memory.0 == 0 && host.date.is_none());
    assert_eq!((kvm.folders, kvm.reads), (host.folders, host.reads));
}

#[test]
fn a_stored_plan_cannot_make_a_guest_wait_for_years() {
    type Change = fn(&mut Conditions);
    let changes: [(&str, Change); 6] = [
        ("idle_seconds", |one| one.idle_seconds = 1e9),
        ("idle_seconds", |one| one.idle_seconds = -1.0),
        ("memory", |one| one.memory.0 *= 1 << 20),
        ("reads", |one| one.reads = u32::MAX),
        ("folders", |one| one.folders = u32::MAX),
        ("date", |one| one.date = Some(i64::MIN)),
    ];
    for (name, change) in changes {
        let mut plan = planned(Lab::Virtual, Way::Varied, 1);
        plan.change(|cell| change(cell.conditions.as_mut().unwrap()));
        let refused = check_stored(&plan).unwrap_err().to_string();
        assert!(refused.contains(&format!("the condition {name} is beyond what this program draws")), "{refused}");
    }
}

#[test]
fn tasks_that_do_not_depend_on_each_other_change_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("free.toml");
    let tasks: String = (0..6).map(|id| format!("[[task]]\nid = \"t{id}\"\ntitle = \"t\"\nrun = \"true\"\n")).collect();
    let orders = |free: bool, conditions: Way| -> std::collections::BTreeSet<Vec<String>> {
        let head = format!("name = \"free\"\nabout = \"six tasks\"\nroom = \"1 MiB\"\nany_order = {free}\n");
        std::fs::write(&path, head + &tasks).unwrap();
        let plan = of_suite(path.to_str().unwrap(), Lab::Virtual, conditions, 20);
        let order = |cell: &PlannedCell| cell.tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
        assert!(plan.cells.chunks(2).all(|block| order(&block[0]) == order(&block[1])));
        assert!(plan.tasks.iter().map(|(id, _)| id.as_str()).eq(["t0", "t1", "t2", "t3", "t4", "t5"]));
        plan.cells.iter().map(order).collect()
    };
    assert!(orders(true, Way::Varied).len() > 15);
    assert_eq!(orders(true, Way::Fixed).len(), 1);
    assert_eq!(orders(false, Way::Varied).len(), 1);
}
