use std::collections::BTreeMap;

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{PathTime, Profile};

use super::*;

fn profile(paths: &[(&str, u64, u64)]) -> Profile {
    let time = |(path, running, reading): &(&str, u64, u64)| {
        let waiting = (*reading > 0).then_some((Some(DeviceOperation::Read), *reading));
        let path: Vec<String> = path.split(';').map(str::to_owned).collect();
        (path, PathTime { running: *running, waiting: BTreeMap::from_iter(waiting) })
    };
    Profile { paths: paths.iter().map(time).collect() }
}

fn sums(ledger: &Ledger) -> Time {
    ledger.accounts.values().fold(Time::default(), |sum, time| Time {
        returned: sum.returned + time.returned,
        durable: sum.durable + time.durable,
    })
}

#[test]
fn a_ledger_adds_up_to_the_task_s_time() {
    let returned =
        profile(&[("cp", 100, 0), ("cp;read;find", 300, 50), ("disk server;recv", 70, 0), ("cp;find", 30, 0)]);
    let sync = profile(&[("init;sync", 400, 0), ("cp;read;find", 0, 90)]);
    // The guest's clock is 3 ns behind in the first part, and its last 450 ns are nobody's.
    let found = ledger("ext2", 997, 500, [&returned, &sync]);
    assert_eq!(sums(&found), found.total);
    assert_eq!(found.total, Time { returned: 997, durable: 1497 });
    let of = |account| found.accounts[&account];
    assert_eq!(of(Account::Function("find".into())), Time { returned: 330, durable: 330 });
    assert_eq!(of(Account::Program("cp".into())), Time { returned: 100, durable: 100 });
    assert_eq!(of(Account::DiskServer), Time { returned: 70, durable: 70 });
    assert_eq!(of(Account::Waiting(Some(DeviceOperation::Read))), Time { returned: 50, durable: 140 });
    assert_eq!(of(Account::Unattributed), Time { returned: 447, durable: 457 });
}

#[test]
fn the_innermost_function_with_most_of_the_difference_is_the_cause() {
    let none = Profile::default();
    let slow = profile(&[("cp;open;new;find", 800, 0), ("cp;open", 100, 0), ("cp;open;new;find;get", 100, 0)]);
    let fast = profile(&[("cp;open;new;find", 50, 0), ("cp;open", 250, 0)]);
    let (slow, fast) = (ledger("a", 1000, 0, [&slow, &none]), ledger("b", 300, 0, [&fast, &none]));
    let found = explain(&fast, &slow);
    assert_eq!((found.slow.configuration.as_str(), found.gap), ("a", 700));
    assert_eq!(found.cause, Cause::Within { function: "find".into(), caller: Some("new".into()), gap: 850 });
    assert_eq!(found.lines[0].account, Account::Function("find".into()));
    assert_eq!(found.lines[0].callers, [Caller { name: "new".into(), slow: 800, fast: 50 }]);
    assert_eq!(found.lines.iter().map(Line::gap).sum::<i64>(), 700, "the lines are all of the difference");
}

#[test]
fn waiting_programs_and_nothing_in_particular_are_causes_too() {
    let none = Profile::default();
    let of = |length, paths: &[(&str, u64, u64)]| ledger("x", length, 0, [&profile(paths), &none]);
    let fast = of(100, &[("cp", 100, 0)]);
    let cause = |slow: &Ledger| explain(slow, &fast).cause;
    let read = Some(DeviceOperation::Read);
    assert_eq!(cause(&of(400, &[("cp", 100, 300)])), Cause::Waiting { operation: read, gap: 300 });
    assert_eq!(cause(&of(400, &[("cp", 400, 0)])), Cause::Program { program: "cp".into(), gap: 300 });
    assert_eq!(
        cause(&of(400, &[("cp;a", 100, 0), ("cp;b", 100, 0), ("cp;c", 100, 0), ("cp;d", 100, 0)])),
        Cause::Kernel { gap: 400 }
    );
    assert_eq!(cause(&of(400, &[("cp", 250, 0), ("cp;b", 0, 150)])), Cause::Many);
    assert_eq!(cause(&fast), Cause::Equal);
}
