//! Functions of two kernels: which of them are the same, and where one kernel calls what the other does not.

use std::collections::{BTreeMap, BTreeSet};

use mountmark_model::profile::program;

use crate::why::find::ledger::{Sums, work};
use crate::why::find::{Account, Ledger};

/// Places where calls differ that are told.
const MOST: usize = 8;
/// Calls of less than this part of a difference are not told.
const LEAST: f64 = 0.02;

/// Two kernels, by the functions that they have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernels {
    /// The functions of each, under common names; `None` if they are not known.
    has: Option<[BTreeSet<String>; 2]>,
    /// The first kernel's names of functions that are in another module of the second one, and their names there.
    moved: BTreeMap<String, String>,
}

impl Kernels {
    /// From the functions of both, as their lists of symbols name them; `None` if one of them is not known.
    pub fn new(functions: Option<[BTreeSet<String>; 2]>) -> Kernels {
        let Some([first, second]) = functions else { return Kernels::default() };
        let common = |names: BTreeSet<String>| names.iter().map(|name| common(name).to_owned()).collect();
        let [first, second]: [BTreeSet<String>; 2] = [common(first), common(second)];
        // Only where one module has such a function in each: names of static functions repeat.
        let alone = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for name in one.difference(other) {
                found.entry(bare(name).to_owned()).or_default().push(name.clone());
            }
            found
        };
        let others = alone(&second, &first);
        let pairs = alone(&first, &second).into_iter();
        let moved: BTreeMap<String, String> = pairs
            .filter_map(|(name, own)| match (own.as_slice(), others.get(&name)?.as_slice()) {
                ([own], [other]) => Some((own.clone(), other.clone())),
                _ => None,
            })
            .collect();
        let first = first.into_iter().map(|name| moved.get(&name).cloned().unwrap_or(name)).collect();
        Kernels { has: Some([first, second]), moved }
    }

    /// A ledger of the first kernel (0) or the second (1) under common names.
    pub fn ledger(&self, kernel: usize, ledger: &Ledger) -> Ledger {
        let name = |name: &String| {
            if program::code(name).is_some() {
                return name.clone();
            }
            let name = common(name);
            match self.moved.get(name).filter(|_| kernel == 0) {
                Some(other) => other.clone(),
                None => name.to_owned(),
            }
        };
        let mut out = Ledger { accounts: BTreeMap::new(), paths: BTreeMap::new(), ..ledger.clone() };
        for (account, time) in &ledger.accounts {
            let account = match account {
                Account::Function(function) => Account::Function(name(function)),
                other => other.clone(),
            };
            let sum = out.accounts.entry(account).or_default();
            sum.returned += time.returned;
            sum.durable += time.durable;
        }
        for (path, time) in &ledger.paths {
            let functions = path.iter().skip(1).map(name);
            let path: Vec<String> = path.first().cloned().into_iter().chain(functions).collect();
            let sum = out.paths.entry(path).or_default();
            sum.running += time.running;
            time.waiting.iter().for_each(|(operation, waited)| *sum.waiting.entry(*operation).or_default() += waited);
        }
        out
    }

    /// Whether a kernel has a function, by its common name; `None` if that is not known.
    pub fn has(&self, kernel: usize, name: &str) -> Option<bool> {
        self.has.as_ref().map(|has| has[kernel].contains(name))
    }
}

/// Without what compilers append to a function's copies and parts, such as `.isra.0`, `.constprop.0`, `.part.0`, `.cold`: no
/// name in C has a dot.
fn common(name: &str) -> &str {
    let start = name.len() - bare(name).len();
    // Some names of assembler begin with one.
    match name[start..].char_indices().skip(1).find(|(_, letter)| *letter == '.') {
        Some((at, _)) => &name[..start + at],
        None => name,
    }
}

/// Without its module.
fn bare(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, function)| function)
}

/// A function that ran in both kernels and calls something in one of them alone: functions may have been renamed or
/// replaced, or the compiler has put one into its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerouted {
    pub function: String,
    /// Its nanoseconds with all that it calls, which can be compared whatever it calls.
    pub slow: i64,
    pub fast: i64,
    /// What only the slow one calls there, and only the fast one; the longest first.
    pub slow_only: Vec<Callee>,
    pub fast_only: Vec<Callee>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callee {
    pub function: String,
    /// Nanoseconds there, with all that it calls.
    pub time: i64,
    /// Whether the other kernel has such a function; `None` if that is not known.
    pub other_has: Option<bool>,
}

/// Where the calls of two ledgers differ, the longest ones first. `sums` are times of functions with all that they call, and
/// `has(1, name)` tells whether the fast one's kernel has a function.
pub(crate) fn rerouted(
    [slow, fast]: [&Ledger; 2],
    [of_slow, of_fast]: [&Sums; 2],
    gap: i64,
    has: &dyn Fn(usize, &str) -> Option<bool>,
) -> Vec<Rerouted> {
    let calls = [calls(slow), calls(fast)];
    let least = ((gap as f64 * LEAST) as i64).max(1);
    let mut found: BTreeMap<&str, [Vec<Callee>; 2]> = BTreeMap::new();
    for at in [0, 1] {
        let only = calls[at].iter().filter(|(call, time)| **time >= least && !calls[1 - at].contains_key(*call));
        for (&(caller, function), &time) in only {
            if of_slow.contains_key(caller) && of_fast.contains_key(caller) {
                let callee = Callee { function: function.to_owned(), time, other_has: has(1 - at, function) };
                found.entry(caller).or_default()[at].push(callee);
            }
        }
    }
    let rerouted = found.into_iter().map(|(function, mut only)| {
        only.iter_mut().for_each(|callees| callees.sort_by_key(|callee| std::cmp::Reverse(callee.time)));
        let [slow_only, fast_only] = only;
        Rerouted {
            function: function.to_owned(),
            slow: of_slow[function].0,
            fast: of_fast[function].0,
            slow_only,
            fast_only,
        }
    });
    let mut out: Vec<Rerouted> = rerouted.collect();
    let longest = |found: &Rerouted| found.slow_only.iter().chain(&found.fast_only).map(|callee| callee.time).max();
    out.sort_by_key(|found| std::cmp::Reverse(longest(found)));
    out.truncate(MOST);
    out
}

/// Nanoseconds by caller and function, with all that is called; each path counts once.
pub(crate) fn calls(ledger: &Ledger) -> BTreeMap<(&str, &str), i64> {
    let mut out: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (path, time) in work(ledger) {
        let pairs = path.windows(2).skip(1).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        for pair in pairs.collect::<BTreeSet<_>>() {
            *out.entry(pair).or_default() += time.running as i64;
        }
    }
    out
}
