use std::collections::BTreeMap;

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Part, PathTime, Profile};

use super::*;

fn read(part: Option<Part>) -> Awaited {
    Awaited { operation: DeviceOperation::Read, part }
}

fn profile(paths: &[(&str, u64, u64)]) -> Profile {
    let time = |(path, running, reading): &(&str, u64, u64)| {
        let waiting = (*reading > 0).then_some((Some(read(Some(Part::Inodes))), *reading));
        let path: Vec<String> = path.split(';').map(str::to_owned).collect();
        (path, PathTime { running: *running, waiting: BTreeMap::from_iter(waiting) })
    };
    Profile { paths: paths.iter().map(time).collect(), ..Profile::default() }
}

fn sums(ledger: &Ledger) -> Time {
    ledger.accounts.values().sum()
}

#[test]
fn a_ledger_adds_up_to_the_task_s_time() {
    let returned = profile(&[
        ("cp", 60, 0),
        ("cp;/lib/c:copy", 40, 0),
        ("cp;read;find", 300, 50),
        ("disk server;recv", 70, 0),
        ("cp;find", 30, 0),
    ]);
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
    let of_cp = |code: Option<&str>| found.programs[&("cp".to_owned(), code.map(str::to_owned))].durable;
    assert_eq!((of_cp(None), of_cp(Some("/lib/c:copy")), found.programs.len()), (60, 40, 2));
    let of_inodes = (read(Some(Part::Inodes)), Time { returned: 50, durable: 140 });
    assert_eq!(found.requests.into_iter().collect::<Vec<_>>(), [of_inodes]);
}

#[test]
fn the_innermost_function_with_most_of_the_difference_is_the_cause() {
    let none = Profile::default();
    let slow = profile(&[("cp;open;new;find", 800, 0), ("cp;open", 100, 0), ("cp;open;new;find;get", 100, 0)]);
    let fast = profile(&[("cp;open;new;find", 50, 0), ("cp;open", 250, 0)]);
    let (slow, fast) = (ledger("a", 1000, 0, [&slow, &none]), ledger("b", 300, 0, [&fast, &none]));
    let found = explain(&fast, &slow, None);
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
    let cause = |slow: &Ledger| explain(slow, &fast, None).cause;
    let operation = Some(DeviceOperation::Read);
    let waiting = |part| Cause::Waiting { operation, gap: 300, part };
    let mut slow = of(400, &[("cp", 100, 300)]);
    assert_eq!(cause(&slow), waiting(Some(Part::Inodes)));
    let (some, other) = (Time { returned: 170, durable: 170 }, Time { returned: 130, durable: 130 });
    slow.requests = BTreeMap::from([(read(Some(Part::Inodes)), some), (read(Some(Part::Journal)), other)]);
    assert_eq!(cause(&slow), waiting(None), "no part has most of it");
    let program = |code: Option<&str>| Cause::Program { program: "cp".into(), gap: 300, code: code.map(str::to_owned) };
    assert_eq!(cause(&of(400, &[("cp", 400, 0)])), program(None));
    assert_eq!(
        cause(&of(400, &[("cp", 100, 0), ("cp;/lib/c:sum", 200, 0), ("cp;/lib/c", 100, 0)])),
        program(Some("/lib/c:sum"))
    );
    assert_eq!(
        cause(&of(400, &[("cp;a", 100, 0), ("cp;b", 100, 0), ("cp;c", 100, 0), ("cp;d", 100, 0)])),
        Cause::Kernel { gap: 400 }
    );
    assert_eq!(cause(&of(400, &[("cp", 250, 0), ("cp;b", 0, 150)])), Cause::Many { call: None });
    let in_call = |call: &str, rest: &str| format!("cp;entry;do_syscall_64;{call}{rest}");
    let [run, wait, mapped] =
        [in_call("__x64_sys_fsync", ";a"), in_call("__x64_sys_fsync", ";b"), in_call("vm_mmap_pgoff", ";c")];
    let called = of(500, &[("cp", 100, 0), (&run, 150, 0), (&wait, 0, 150), (&mapped, 60, 0), ("cp;d", 40, 0)]);
    let call = Cause::SystemCall { program: "cp".into(), call: "fsync".into(), gap: 300 };
    assert_eq!(cause(&called), call, "half of it ran, and half waited");
    let call = Some(("cp".into(), "fsync".into(), 300));
    let less = of(700, &[("cp", 220, 0), (&run, 150, 0), (&wait, 0, 150), ("cp;b", 0, 180)]);
    assert_eq!(cause(&less), Cause::Many { call }, "fsync has 43 %");
    let calls: Vec<(&str, i64)> = called.calls.iter().map(|((_, call), time)| (call.as_str(), time.durable)).collect();
    assert_eq!(calls, [("fsync", 300), ("mmap", 60)]);
    assert_eq!(cause(&fast), Cause::Equal);
}

fn names(all: &[&str]) -> std::collections::BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn functions_of_two_kernels_are_the_same_by_name_wherever_they_lie() {
    let old = names(&["open", "crc32:crc", "ext4:new.isra.0", "a:f", "b:f", ".slow", "gone"]);
    let new = names(&["open", "lib:crc", "ext4:new", "c:f", ".slow"]);
    let kernels = Kernels::new(Some([old, new]));
    let run = profile(&[
        ("c:x.y;open;ext4:new.isra.0", 10, 0),
        ("c:x.y;open;ext4:new.cold", 5, 0),
        ("cp;crc32:crc", 7, 0),
        ("cp;.slow", 1, 0),
        ("cp;/lib/libc.so.6:sort.part.0", 2, 0),
    ]);
    let first = kernels.ledger(0, &ledger("a", 25, 0, [&run, &Profile::default()]));
    assert_eq!(sums(&first), first.total);
    let of = |name: &str| first.durable(&Account::Function(name.into()));
    assert_eq!((of("ext4:new"), of("lib:crc"), of("crc32:crc"), of(".slow")), (15, 7, 0, 1));
    assert!(first.paths.contains_key(["c:x.y", "open", "ext4:new"].map(str::to_owned).as_slice()), "{:?}", first.paths);
    assert_eq!(first.durable(&Account::Program("cp".into())), 2);
    assert!(first.paths.contains_key(["cp", "/lib/libc.so.6:sort.part.0"].map(str::to_owned).as_slice()));
    let has = |name| [kernels.has(0, name), kernels.has(1, name)];
    assert_eq!(has("lib:crc"), [Some(true); 2]);
    assert_eq!((has("gone"), has("c:f")), ([Some(true), Some(false)], [Some(false), Some(true)]));
    assert_eq!(Kernels::new(None).has(0, "open"), None);
}

#[test]
fn what_one_kernel_alone_calls_is_told_with_who_calls_it() {
    // The new kernel has find's work in new itself, and another name for put.
    let kernels = Kernels::new(Some([names(&["open", "new", "find", "put"]), names(&["open", "new", "put_folio"])]));
    let old = profile(&[("cp;open;new", 100, 0), ("cp;open;new;find", 300, 0), ("cp;open;put", 50, 0)]);
    let new = profile(&[("cp;open;new", 900, 0), ("cp;open;put_folio", 60, 0)]);
    let none = Profile::default();
    let (old, new) = (ledger("old", 450, 0, [&old, &none]), ledger("new", 960, 0, [&new, &none]));
    let found = explain(&old, &new, Some(&kernels));
    assert_eq!((found.slow.configuration.as_str(), found.gap), ("new", 510));
    assert_eq!(found.cause, Cause::Within { function: "new".into(), caller: Some("open".into()), gap: 500 });
    let line = |name: &str| found.lines.iter().find(|line| line.account == Account::Function(name.into())).unwrap();
    assert_eq!((line("find").slow_has, line("find").fast_has), (false, true));
    assert_eq!((line("new").slow_has, line("new").fast_has), (true, true));
    let callee = |function: &str, time| vec![Callee { function: function.into(), time, other_has: Some(false) }];
    let rerouted = |function: &str, slow, fast, slow_only, fast_only| Rerouted {
        function: function.into(),
        slow,
        fast,
        slow_only,
        fast_only,
    };
    assert_eq!(
        found.rerouted,
        [
            rerouted("new", 900, 400, vec![], callee("find", 300)),
            rerouted("open", 960, 450, callee("put_folio", 60), callee("put", 50))
        ]
    );
    // Had it another name alone, nothing would be said of the function itself.
    let kernels = Kernels::new(Some([names(&["open", "find"]), names(&["open", "look"])]));
    let of = |name: &str, time| ledger(name, time, 0, [&profile(&[(&format!("cp;open;{name}"), time, 0)]), &none]);
    let cause = explain(&of("find", 100), &of("look", 400), Some(&kernels)).cause;
    assert_eq!(cause, Cause::Within { function: "open".into(), caller: None, gap: 300 });
}

#[test]
fn waiting_that_decides_the_order_is_found() {
    let none = Profile::default();
    let of = |name: &str, running: u64, reading: u64| {
        ledger(name, running + reading, 0, [&profile(&[("cp;read", running, reading)]), &none])
    };
    let ledgers = [of("a", 100, 500), of("b", 300, 100), of("c", 250, 200)];
    let found = without(&ledgers);
    assert_eq!(found, [Without { operation: DeviceOperation::Read, first: 0, times: [100, 300] }]);
    assert_eq!(without(&ledgers[1..]), [Without { operation: DeviceOperation::Read, first: 1, times: [250, 300] }]);
    assert!(without(&[of("a", 100, 50), of("b", 300, 100)]).is_empty(), "the order stays");
    assert!(without(&[of("a", 100, 50), of("b", 100, 60)]).is_empty(), "level is no other order");
    assert!(without(&[]).is_empty());
}
