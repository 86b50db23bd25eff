//! Explanations as values, for programs.

use mountmark_model::profile::program;
use serde_json::{Value, json};

use crate::why::find::{Account, Callee, Rerouted};
use crate::why::show::answer::{Answer, sentences};

/// Kind and name of an account in JSON.
fn key(account: &Account) -> (&'static str, Option<&str>) {
    match account {
        Account::Program(name) => ("program", Some(name)),
        Account::Function(name) => ("function", Some(name)),
        Account::DiskServer => ("disk_server", None),
        Account::Waiting(operation) => ("waiting", Some(operation.map_or("timer", |operation| operation.name()))),
        Account::Unattributed => ("unattributed", None),
    }
}

/// What explanations are about, beside their lists.
pub(crate) fn head(why: &Answer) -> Value {
    json!({
        "run": why.run.name(),
        "later_run": why.later.map(|later| later.name()),
        "task": why.task,
        "chosen": why.chosen,
        "sentences": sentences(why),
        "equal_figures": why.figures,
        "kept": why.is_kept,
        "differs": why.differs,
        "unit": "ns",
    })
}

/// All accounts, all differences and where calls differ, in whole nanoseconds, by key.
pub(crate) fn lists(why: &Answer) -> [(&'static str, Vec<Value>); 7] {
    let totals = why.ledgers.iter().map(|ledger| {
        json!({ "configuration": ledger.configuration, "returned": ledger.total.returned, "durable": ledger.total.durable })
    });
    let lines = why.ledgers.iter().flat_map(|ledger| {
        ledger.accounts.iter().map(move |(account, time)| -> Value {
            let (kind, name) = key(account);
            json!({ "configuration": ledger.configuration, "kind": kind, "name": name, "returned": time.returned, "durable": time.durable })
        })
    });
    let requests = why.ledgers.iter().flat_map(|ledger| {
        ledger.requests.iter().map(move |(awaited, time)| -> Value {
            json!({
                "configuration": ledger.configuration, "operation": awaited.operation.name(),
                "part": awaited.part.map(|part| part.name()), "returned": time.returned, "durable": time.durable,
            })
        })
    });
    let programs = why.ledgers.iter().flat_map(|ledger| {
        ledger.programs.iter().map(move |((program, code), time)| -> Value {
            let code = code.as_deref().and_then(program::code);
            json!({
                "configuration": ledger.configuration, "program": program, "file": code.map(|code| code.file),
                "function": code.and_then(|code| code.function), "returned": time.returned, "durable": time.durable,
            })
        })
    });
    let system_calls = why.ledgers.iter().flat_map(|ledger| {
        ledger.calls.iter().map(move |((program, call), time)| -> Value {
            json!({
                "configuration": ledger.configuration, "program": program, "system_call": call,
                "returned": time.returned, "durable": time.durable,
                "calls": ledger.counts.get(&(program.clone(), call.clone())).map(|count| count.durable),
            })
        })
    });
    let differences = why.explanations.iter().flat_map(|explanation| {
        explanation.lines.iter().map(move |line| -> Value {
            let (kind, name) = key(&line.account);
            let callers = line.callers.iter().map(|caller| json!({ "name": caller.name, "slow": caller.slow, "fast": caller.fast }));
            json!({
                "slow": explanation.slow.configuration, "fast": explanation.fast.configuration, "kind": kind, "name": name,
                "slow_ns": line.slow, "fast_ns": line.fast, "slow_has": line.slow_has, "fast_has": line.fast_has,
                "callers": callers.collect::<Vec<_>>(),
            })
        })
    });
    let calls = why.explanations.iter().flat_map(|explanation| &explanation.rerouted).map(rerouted);
    [
        ("totals", totals.collect()),
        ("ledgers", lines.collect()),
        ("requests", requests.collect()),
        ("programs", programs.collect()),
        ("system_calls", system_calls.collect()),
        ("differences", differences.collect()),
        ("calls", calls.collect()),
    ]
}

/// A function that calls others in one of two.
fn rerouted(found: &Rerouted) -> Value {
    let callees = |callees: &[Callee]| -> Vec<Value> {
        let callee =
            |callee: &Callee| json!({ "name": callee.function, "ns": callee.time, "other_has": callee.other_has });
        callees.iter().map(callee).collect()
    };
    json!({
        "function": found.function, "slow_ns": found.slow, "fast_ns": found.fast,
        "slow_only": callees(&found.slow_only), "fast_only": callees(&found.fast_only),
    })
}

/// All of that in one value.
pub(crate) fn value(why: &Answer) -> Value {
    let mut out = head(why);
    lists(why).into_iter().for_each(|(key, values)| out[key] = Value::Array(values));
    out
}
