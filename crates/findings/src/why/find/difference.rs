//! What makes a task slower in one configuration than in another.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Part, program};

use crate::why::find::kernels::{calls, rerouted};
use crate::why::find::ledger::{Sums, work};
use crate::why::find::{Account, Kernels, Ledger, Rerouted};

/// A part of the difference that is at least this large is its cause.
const MOST: f64 = 0.6;
/// A system call with less of it is not worth a word where nothing has most.
const MUCH: f64 = 0.25;
/// Of what the function with most of the difference has, this is nearly all.
const NEARLY_ALL: f64 = 0.9;
/// Callers of a function that are told.
const CALLERS: usize = 3;

/// A difference between two ledgers, largest account first.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'a> {
    pub slow: &'a Ledger,
    pub fast: &'a Ledger,
    /// Nanoseconds by which the slow one is slower, until durable.
    pub gap: i64,
    pub lines: Vec<Line>,
    pub cause: Cause,
    /// Of two kernels: where one calls what the other does not.
    pub rerouted: Vec<Rerouted>,
}

/// An account's nanoseconds in both.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub account: Account,
    pub slow: i64,
    pub fast: i64,
    /// Whether the kernel of each has this function.
    pub slow_has: bool,
    pub fast_has: bool,
    /// Of a function: who calls it, by the difference.
    pub callers: Vec<Caller>,
}

impl Line {
    /// What the slow one takes longer here.
    pub fn gap(&self) -> i64 {
        self.slow - self.fast
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub name: String,
    pub slow: i64,
    pub fast: i64,
}

/// What most of a difference is. Times are what the slow one takes longer.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// They take equally long.
    Equal,
    /// Instructions of one function of the kernel and of all that it calls.
    Within { function: String, caller: Option<String>, gap: i64 },
    /// A program's own instructions. `code`, as paths name it, has most of them.
    Program { program: String, gap: i64, code: Option<String> },
    /// Waiting for the disk, or for a timer. `part` has most of it.
    Waiting { operation: Option<DeviceOperation>, gap: i64, part: Option<Part> },
    /// What a program did in a system call: instructions and waiting, of no function alone.
    SystemCall { program: String, call: String, gap: i64 },
    /// Instructions of the kernel, of no function alone.
    Kernel { gap: i64 },
    /// Nothing makes up most of it. `call` of a program has the largest part, and much: its name and what it takes longer.
    Many { call: Option<(String, String, i64)> },
}

/// Compares two ledgers of one task. If they are of two kernels, `one` is of the first, and both are under common names
/// ([`Kernels::ledger`]).
pub fn explain<'a>(one: &'a Ledger, other: &'a Ledger, kernels: Option<&Kernels>) -> Explanation<'a> {
    let is_first_slow = one.total.durable >= other.total.durable;
    let (slow, fast) = if is_first_slow { (one, other) } else { (other, one) };
    // Whether the kernel of the slow one (0) or the fast one (1) has a function.
    let has = |which: usize, name: &str| match kernels {
        Some(kernels) => kernels.has(if is_first_slow { which } else { 1 - which }, name),
        None => Some(true),
    };
    let gap = slow.total.durable - fast.total.durable;
    let accounts: BTreeSet<&Account> = slow.accounts.keys().chain(fast.accounts.keys()).collect();
    let callers = [callers(slow), callers(fast)];
    let line = |account: &Account| {
        let has = |which: usize| match account {
            Account::Function(name) => has(which, name).unwrap_or(true),
            _ => true,
        };
        Line {
            account: account.clone(),
            slow: slow.durable(account),
            fast: fast.durable(account),
            slow_has: has(0),
            fast_has: has(1),
            callers: match account {
                Account::Function(name) => both(&callers, name),
                _ => Vec::new(),
            },
        }
    };
    let mut lines: Vec<Line> = accounts.into_iter().map(line).collect();
    lines.sort_by_key(|line| (-line.gap().abs(), -line.slow.max(line.fast)));
    let sums = [inclusive(slow), inclusive(fast)];
    // A function that ran in one of two kernels alone may have another name in the other, or be in its caller there.
    // Where its caller is not slower by as much, its work is elsewhere in that caller.
    let part =
        |name: &str| sums.iter().zip([1, -1]).filter_map(|(sums, sign)| Some(sums.get(name)?.0 * sign)).sum::<i64>();
    let outer = outer(slow);
    let is_in_both = |name: &str| {
        let encloses = |caller: &&str| part(caller) as f64 >= NEARLY_ALL * part(name) as f64;
        kernels.is_none() || (sums.iter().all(|sums| sums.contains_key(name)) && outer.get(name).is_none_or(encloses))
    };
    let cause = cause([slow, fast], &sums, gap, &lines, &is_in_both);
    let rerouted = match kernels {
        Some(_) => rerouted([slow, fast], [&sums[0], &sums[1]], gap, &has),
        None => Vec::new(),
    };
    Explanation { slow, fast, gap, lines, cause, rerouted }
}

/// By function: the kernel's function that calls it longest.
fn outer(ledger: &Ledger) -> BTreeMap<&str, &str> {
    let mut longest: BTreeMap<&str, (i64, &str)> = BTreeMap::new();
    for ((caller, function), time) in calls(ledger) {
        let found = longest.entry(function).or_insert((time, caller));
        *found = (*found).max((time, caller));
    }
    longest.into_iter().map(|(function, (_, caller))| (function, caller)).collect()
}

type Callers<'a> = BTreeMap<&'a str, BTreeMap<&'a str, i64>>;

/// By function: by who calls it, the instructions of the function itself.
fn callers(ledger: &Ledger) -> Callers<'_> {
    let mut out = Callers::new();
    for (path, time) in work(ledger) {
        if let [_, .., caller, function] = path.as_slice() {
            *out.entry(function).or_default().entry(caller).or_default() += time.running as i64;
        }
    }
    out
}

fn both(callers: &[Callers; 2], function: &str) -> Vec<Caller> {
    let of = |at: usize, name: &str| callers[at].get(function).and_then(|all| all.get(name)).copied().unwrap_or(0);
    let names: BTreeSet<&str> =
        callers.iter().filter_map(|all| all.get(function)).flat_map(|all| all.keys().copied()).collect();
    let mut out: Vec<Caller> =
        names.into_iter().map(|name| Caller { name: name.to_owned(), slow: of(0, name), fast: of(1, name) }).collect();
    out.sort_by_key(|caller| (-(caller.slow - caller.fast).abs(), -caller.slow));
    out.truncate(CALLERS);
    out
}

fn inclusive(ledger: &Ledger) -> Sums<'_> {
    let mut out = Sums::new();
    for (path, time) in work(ledger) {
        let mut seen = BTreeSet::new();
        for (depth, function) in path.iter().enumerate().skip(1) {
            if program::code(function).is_none() && seen.insert(function) {
                let (sum, depths) = out.entry(function).or_default();
                *sum += time.running as i64;
                *depths += time.running as i64 * depth as i64;
            }
        }
    }
    out
}

fn cause(
    ledgers: [&Ledger; 2],
    sums: &[Sums; 2],
    gap: i64,
    lines: &[Line],
    is_in_both: &dyn Fn(&str) -> bool,
) -> Cause {
    if gap == 0 {
        return Cause::Equal;
    }
    let is_most = |part: i64| part as f64 >= MOST * gap as f64;
    let [of_slow, of_fast] = sums;
    let parts = of_slow.iter().filter(|(function, _)| is_in_both(function)).map(|(function, (sum, depths))| {
        let part = sum - of_fast.get(function).map_or(0, |(sum, _)| *sum);
        (depths / (*sum).max(1), part, *function)
    });
    let within: Vec<(i64, i64, &str)> = parts.filter(|(_, part, _)| is_most(*part)).collect();
    let largest = within.iter().map(|(_, part, _)| *part).max().unwrap_or(0);
    // The innermost of those that have nearly all of it: what encloses it says less, and what it calls explains less.
    let innermost = within.into_iter().filter(|(_, part, _)| *part as f64 >= NEARLY_ALL * largest as f64).max();
    if let Some((_, part, function)) = innermost {
        let mut callers: BTreeMap<&str, i64> = BTreeMap::new();
        for (path, time) in &ledgers[0].paths {
            if let Some(at) = path.iter().position(|name| name == function).filter(|at| *at > 1) {
                *callers.entry(&path[at - 1]).or_default() += time.running as i64;
            }
        }
        let caller = callers.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name.to_owned());
        return Cause::Within { function: function.to_owned(), caller, gap: part };
    }
    if let Some(line) = lines.iter().find(|line| is_most(line.gap())) {
        match &line.account {
            Account::Program(program) => {
                let (program, gap) = (program.clone(), line.gap());
                return Cause::Program { code: most_code(&program, ledgers, gap), program, gap };
            }
            Account::Waiting(operation) => {
                let (operation, gap) = (*operation, line.gap());
                return Cause::Waiting { operation, gap, part: operation.and_then(|of| most_of(of, ledgers, gap)) };
            }
            _ => {}
        }
    }
    let [slow, fast] = ledgers;
    let time = |ledger: &Ledger, call: &(String, String)| ledger.calls.get(call).map_or(0, |time| time.durable);
    let largest = slow.calls.keys().map(|call| (time(slow, call) - time(fast, call), call)).max();
    if let Some((gap, (program, call))) = largest.filter(|(gap, _)| is_most(*gap)) {
        return Cause::SystemCall { program: program.clone(), call: call.clone(), gap };
    }
    let kernel = lines.iter().filter(|line| matches!(line.account, Account::Function(_))).map(Line::gap).sum::<i64>();
    if is_most(kernel) {
        return Cause::Kernel { gap: kernel };
    }
    let much = largest.filter(|(part, _)| *part as f64 >= MUCH * gap as f64);
    Cause::Many { call: much.map(|(part, (program, call))| (program.clone(), call.clone(), part)) }
}

/// The code that has most of what a program of the slow one executes longer.
fn most_code(program: &str, [slow, fast]: [&Ledger; 2], gap: i64) -> Option<String> {
    let time =
        |ledger: &Ledger, code: &(String, Option<String>)| ledger.programs.get(code).map_or(0, |time| time.durable);
    let of_program = slow.programs.keys().filter(|code| code.0 == program);
    let (longer, code) = of_program.map(|code| (time(slow, code) - time(fast, code), code)).max()?;
    code.1.clone().filter(|_| longer as f64 >= MOST * gap as f64)
}

/// What most of such requests that the slow one waits longer for touch; `None` too where one of both does not say it.
fn most_of(operation: DeviceOperation, [slow, fast]: [&Ledger; 2], gap: i64) -> Option<Part> {
    let time = |ledger: &Ledger, awaited: &Awaited| ledger.requests.get(awaited).map_or(0, |time| time.durable);
    let untold = Awaited { operation, part: None };
    if [slow, fast].iter().any(|ledger| time(ledger, &untold) > 0) {
        return None;
    }
    let of_kind = slow.requests.keys().filter(|awaited| awaited.operation == operation);
    let (longer, awaited) = of_kind.map(|awaited| (time(slow, awaited) - time(fast, awaited), awaited)).max()?;
    awaited.part.filter(|_| longer as f64 >= MOST * gap as f64)
}
