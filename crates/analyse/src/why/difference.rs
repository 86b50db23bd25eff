//! What makes a task slower in one configuration than in another.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::program;

use super::ledger::{Account, Ledger};

/// A part of the difference that is at least this large is its cause.
const MOST: f64 = 0.6;
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
}

/// An account's nanoseconds in both.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub account: Account,
    pub slow: i64,
    pub fast: i64,
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
    /// A program's own instructions.
    Program { program: String, gap: i64 },
    /// Waiting for the disk, or for a timer.
    Waiting { operation: Option<DeviceOperation>, gap: i64 },
    /// Instructions of the kernel, of no function alone.
    Kernel { gap: i64 },
    /// Nothing makes up most of it.
    Many,
}

/// Compares two ledgers of one task.
pub fn explain<'a>(one: &'a Ledger, other: &'a Ledger) -> Explanation<'a> {
    let (slow, fast) = if one.total.durable >= other.total.durable { (one, other) } else { (other, one) };
    let gap = slow.total.durable - fast.total.durable;
    let accounts: BTreeSet<&Account> = slow.accounts.keys().chain(fast.accounts.keys()).collect();
    let callers = [callers(slow), callers(fast)];
    let line = |account: &Account| Line {
        account: account.clone(),
        slow: slow.durable(account),
        fast: fast.durable(account),
        callers: match account {
            Account::Function(name) => both(&callers, name),
            _ => Vec::new(),
        },
    };
    let mut lines: Vec<Line> = accounts.into_iter().map(line).collect();
    lines.sort_by_key(|line| (-line.gap().abs(), -line.slow.max(line.fast)));
    let cause = cause(slow, fast, gap, &lines);
    Explanation { slow, fast, gap, lines, cause }
}

type Callers<'a> = BTreeMap<&'a str, BTreeMap<&'a str, i64>>;

/// By function: by who calls it, the instructions of the function itself.
fn callers(ledger: &Ledger) -> Callers<'_> {
    let mut out = Callers::new();
    for (path, time) in &ledger.paths {
        if let [first, .., caller, function] = path.as_slice()
            && first != program::DISK_SERVER
        {
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

/// Instructions of each function with all that it calls, and how deep it lies: nanoseconds, and the sum of depths
/// weighted with them.
fn inclusive(ledger: &Ledger) -> BTreeMap<&str, (i64, i64)> {
    let mut out: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (path, time) in
        ledger.paths.iter().filter(|(path, _)| path.first().is_some_and(|first| first != program::DISK_SERVER))
    {
        let mut seen = BTreeSet::new();
        for (depth, function) in path.iter().enumerate().skip(1) {
            if seen.insert(function) {
                let (sum, depths) = out.entry(function).or_default();
                *sum += time.running as i64;
                *depths += time.running as i64 * depth as i64;
            }
        }
    }
    out
}

fn cause(slow: &Ledger, fast: &Ledger, gap: i64, lines: &[Line]) -> Cause {
    if gap == 0 {
        return Cause::Equal;
    }
    let is_most = |part: i64| part as f64 >= MOST * gap as f64;
    let (of_slow, of_fast) = (inclusive(slow), inclusive(fast));
    let parts = of_slow.iter().map(|(function, (sum, depths))| {
        let part = sum - of_fast.get(function).map_or(0, |(sum, _)| *sum);
        (depths / (*sum).max(1), part, *function)
    });
    let within: Vec<(i64, i64, &str)> = parts.filter(|(_, part, _)| is_most(*part)).collect();
    let largest = within.iter().map(|(_, part, _)| *part).max().unwrap_or(0);
    // The innermost of those that have nearly all of it: what encloses it says less, and what it calls explains less.
    let innermost = within.into_iter().filter(|(_, part, _)| *part as f64 >= NEARLY_ALL * largest as f64).max();
    if let Some((_, part, function)) = innermost {
        let mut callers: BTreeMap<&str, i64> = BTreeMap::new();
        for (path, time) in &slow.paths {
            if let Some(at) = path.iter().position(|name| name == function).filter(|at| *at > 1) {
                *callers.entry(&path[at - 1]).or_default() += time.running as i64;
            }
        }
        let caller = callers.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name.to_owned());
        return Cause::Within { function: function.to_owned(), caller, gap: part };
    }
    if let Some(line) = lines.iter().find(|line| is_most(line.gap())) {
        match &line.account {
            Account::Program(program) => return Cause::Program { program: program.clone(), gap: line.gap() },
            Account::Waiting(operation) => return Cause::Waiting { operation: *operation, gap: line.gap() },
            _ => {}
        }
    }
    let kernel = lines.iter().filter(|line| matches!(line.account, Account::Function(_))).map(Line::gap).sum::<i64>();
    if is_most(kernel) { Cause::Kernel { gap: kernel } } else { Cause::Many }
}
