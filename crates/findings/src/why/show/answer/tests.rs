use mountmark_model::profile::Profile;

use super::*;
use crate::why::find::ledger;
use crate::why::say;

fn of(paths: &[(&str, u64, u64)]) -> Ledger {
    let time = |(path, running, waited): &(&str, u64, u64)| {
        let waiting = BTreeMap::from([(None, *waited)]);
        (path.split(';').map(str::to_owned).collect(), PathTime { running: *running, waiting })
    };
    let profile = Profile { paths: paths.iter().map(time).collect(), ..Profile::default() };
    let total = paths.iter().map(|(_, running, waited)| running + waited).sum();
    ledger("ext4", total, 0, [&profile, &Profile::default()])
}

#[test]
fn who_waited_ends_with_the_others() {
    let paths: Vec<(String, u64)> = (1..=11).map(|number| (format!("cp;read{number}"), number)).collect();
    let rows = |count: usize| {
        let some: Vec<(&str, u64, u64)> = paths[..count].iter().map(|(path, time)| (path.as_str(), 0, *time)).collect();
        waits(&of(&some))
    };
    assert_eq!(rows(8).len(), MOST_WAITING);
    let rows = rows(11);
    assert_eq!(rows[0], ["0.000000011", "waiting for timers", "cp > read11"]);
    assert_eq!(rows[MOST_WAITING..], [["0.000000006", "3 others", ""]]);
}

#[test]
fn programs_are_told_by_file_and_function() {
    let programs = |ledger: Ledger| divided(&[ledger], |of| &of.programs, |of| of.1.is_some(), say::program).rows;
    let found =
        of(&[("cp", 5, 0), ("cp;/usr/lib/libc.so.6:qsort", 70, 0), ("cp;/usr/bin/cp", 20, 0), ("cp;read", 9, 0)]);
    let names = programs(found).iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(names, ["cp > libc.so.6:qsort", "cp > cp", "cp > code of no known file"]);
    assert!(programs(of(&[("cp", 5, 0)])).is_empty(), "the ledger says it already");
    let many: Vec<String> = (0..20).map(|number| format!("cp;/lib/c:f{number}")).collect();
    let many: Vec<(&str, u64, u64)> = many.iter().map(|path| (path.as_str(), 10, 0)).collect();
    let rows = programs(of(&many));
    assert_eq!(rows.last().unwrap()[..], ["4 others", "0.000000040", "0.000000040"]);
}

#[test]
fn system_calls_have_their_counts() {
    let path = |call: &str| -> Vec<String> { ["cp", "do_syscall_64", call].map(str::to_owned).into() };
    let mut paths = BTreeMap::new();
    let mut entries = BTreeMap::new();
    for number in 0..20_u64 {
        let call = path(&format!("__x64_sys_c{number}"));
        paths.insert(call.clone(), PathTime { running: 1000 - number, ..PathTime::default() });
        entries.insert(call, number + 1);
    }
    // It began before, and so was not entered.
    paths.insert(path("__x64_sys_wait4"), PathTime { running: 2000, ..PathTime::default() });
    let profile = Profile { paths: paths.clone(), entries, ..Profile::default() };
    let counted = ledger("ext4", 30_000, 0, [&profile, &Profile::default()]);
    let old = ledger("xfs", 30_000, 0, [&Profile { paths, ..Profile::default() }, &Profile::default()]);
    let table = system_calls(&[counted.clone(), old]);
    assert_eq!(table.head[1..], ["ext4\nreturned", "ext4\ndurable", "ext4\ncalls", "xfs\nreturned", "xfs\ndurable"]);
    let counts: Vec<&str> = table.rows.iter().map(|row| row[3].as_str()).collect();
    assert_eq!(counts[..3], ["0", "1", "2"]);
    assert_eq!(counts[MOST..], [(16..=20).sum::<u64>().to_string()]);
    assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}");
    assert_eq!(counted.until_returned().counts, counted.counts);
}
