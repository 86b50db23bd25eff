//! Where a task's time went, as lines of a file: the largest parts. What calls what is not kept.

use std::collections::BTreeMap;

use mountmark_findings::why::{Account, Ledger, Time};
use mountmark_model::device::DeviceOperation;

/// What kind of part, its name, what is told of it beside, and nanoseconds until the command returned and until its data
/// were durable.
pub type Line = (String, String, String, i64, i64);

/// Parts that have less than this share of all are not kept.
const LEAST: f64 = 0.002;
/// Most parts of one kind.
const MOST: usize = 60;

const TOTAL: &str = "total";
const PROGRAM: &str = "program";
const FUNCTION: &str = "function";
const SERVER: &str = "server";
const WAITING: &str = "waiting";
const CODE: &str = "code";
const CALL: &str = "call";

/// The largest parts, by kind and name.
pub fn lines(ledger: &Ledger) -> Vec<Line> {
    let line = |kind: &str, name: &str, beside: &str, time: &Time| {
        (kind.to_owned(), name.to_owned(), beside.to_owned(), time.returned, time.durable)
    };
    let mut out = vec![line(TOTAL, "", "", &ledger.total)];
    let mut add = |mut found: Vec<Line>| {
        found.retain(|line| line.4 as f64 >= LEAST * ledger.total.durable as f64);
        found.sort_by_key(|line| -line.4);
        found.truncate(MOST);
        found.sort();
        out.extend(found);
    };
    let account = |(account, time): (&Account, &Time)| match account {
        Account::Program(name) => Some(line(PROGRAM, name, "", time)),
        Account::Function(name) => Some(line(FUNCTION, name, "", time)),
        Account::DiskServer => Some(line(SERVER, "", "", time)),
        Account::Waiting(operation) => Some(line(WAITING, operation.map_or("", DeviceOperation::name), "", time)),
        Account::Unattributed => None,
    };
    add(ledger.accounts.iter().filter_map(account).collect());
    let code =
        |((program, code), time): (&(String, Option<String>), &Time)| Some(line(CODE, program, code.as_deref()?, time));
    add(ledger.programs.iter().filter_map(code).collect());
    add(ledger.calls.iter().map(|((program, call), time)| line(CALL, program, call, time)).collect());
    out
}

/// A ledger of lines. Unknown kinds are passed over.
pub fn ledger(configuration: &str, lines: &[Line]) -> Ledger {
    let mut out = Ledger {
        counts: BTreeMap::new(),
        configuration: configuration.to_owned(),
        total: Time::default(),
        accounts: BTreeMap::new(),
        requests: BTreeMap::new(),
        programs: BTreeMap::new(),
        calls: BTreeMap::new(),
        paths: BTreeMap::new(),
    };
    for (kind, name, beside, returned, durable) in lines {
        let time = Time { returned: *returned, durable: *durable };
        let operation = || DeviceOperation::ALL.iter().find(|operation| operation.name() == name).copied();
        let account = match kind.as_str() {
            TOTAL => {
                out.total = time;
                continue;
            }
            CODE => {
                out.programs.insert((name.clone(), Some(beside.clone())), time);
                continue;
            }
            CALL => {
                out.calls.insert((name.clone(), beside.clone()), time);
                continue;
            }
            PROGRAM => Account::Program(name.clone()),
            FUNCTION => Account::Function(name.clone()),
            SERVER => Account::DiskServer,
            WAITING => Account::Waiting(operation()),
            _ => continue,
        };
        out.accounts.insert(account, time);
    }
    out
}

/// The same ledger with what would be kept of it, so that it is compared with a kept one.
pub fn kept(ledger: &Ledger) -> Ledger {
    self::ledger(&ledger.configuration, &lines(ledger))
}
