//! Sentences about whether orders hold.

use mountmark_document::number::{and, percent};
use mountmark_model::Work;

use crate::figures::find::TaskFindings;
use crate::found::Findings;
use crate::robustness::find::corner::{ClassCost, Survival};
use crate::robustness::find::costs::CostRange;
use crate::robustness::find::{Known, OrderCounts, PairOrder, Robustness};

/// Where no profile tells what a run did.
const OFFER: &str = "The clock counts every instruction alike, and real machines pay less for copies and more for what misses \
                     their caches: measured with --profile, each verdict here says whether its order holds for every such \
                     machine.";
const OLDER: &str = "The run's profiles are of an older program, which did not tell copies from other work: measured with \
                     --profile again, each verdict says whether its order holds on real machines.";
const EVERY: &str = "for every machine in the range of costs";

/// Pairs that a verdict names.
const NAMED: usize = 3;

/// What a class is called.
pub(crate) fn work(work: Work) -> &'static str {
    match work {
        Work::Kernel => "the kernel's core",
        Work::Modules => "the file system's own code",
        Work::Programs => "programs",
        Work::Copies => "copies and clears",
        Work::Checksums => "checksums",
        Work::Driver => "the disk's driver",
        Work::Server => "the disk's server",
        Work::Waiting => "waiting",
    }
}

/// `0.42`, `2.1`.
pub(crate) fn cost(cost: f64) -> String {
    format!("{cost:.2}")
}

/// The answer above all; what to do where there is none.
pub(crate) fn answer(found: &Robustness) -> String {
    match found.known {
        Known::Nothing => return OFFER.into(),
        Known::Older => return OLDER.into(),
        Known::Classes => {}
    }
    let counts = found.count(|_| true).map(hold_and_turn);
    counts.map_or_else(
        || "No two file systems have an order that could be asked about.".into(),
        |counts| format!("Orders of two file systems in a test: {counts}."),
    )
}

fn hold_and_turn(OrderCounts { hold, turn, unasked }: OrderCounts) -> String {
    let holds = if hold == 1 { format!("1 holds {EVERY}") } else { format!("{hold} hold {EVERY}") };
    let turns = match turn {
        0 => String::new(),
        1 => ", 1 turns on some".to_owned(),
        _ => format!(", {turn} turn on some"),
    };
    let open = if unasked > 0 { format!(", {unasked} could not be asked") } else { String::new() };
    format!("{holds}{turns}{open}")
}

/// What follows a task's verdict; empty if nothing is known.
pub(crate) fn verdict(findings: &Findings, task: &TaskFindings) -> String {
    let orders = findings.robustness.as_ref().and_then(|found| found.task(&task.id));
    let Some(orders) = orders else { return String::new() };
    let turning: Vec<&PairOrder> = orders.turning().collect();
    let all = orders.pairs.len();
    let said = of_asked(findings, all, &turning);
    match orders.unasked {
        0 => said,
        1 if all == 0 => " Its order could not be asked.".into(),
        more if all == 0 => format!(" Its {more} orders could not be asked."),
        1 => format!("{said} 1 more order could not be asked."),
        more => format!("{said} {more} more orders could not be asked."),
    }
}

fn of_asked(findings: &Findings, all: usize, turning: &[&PairOrder]) -> String {
    match (all, turning) {
        (0, _) => String::new(),
        (1, []) => format!(" The order holds {EVERY}."),
        (1, [pair]) => format!(" The order {}.", turns(&pair.survival)),
        (_, []) => format!(" All {all} orders hold {EVERY}."),
        _ => {
            let named: Vec<String> = turning.iter().take(NAMED).map(|pair| turning_pair(findings, pair)).collect();
            let more = match turning.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let hold = all - turning.len();
            format!(" {hold} of {all} orders hold {EVERY}; {}{more}.", named.join("; "))
        }
    }
}

/// What stands below a ranking over these tasks; `None` if nothing is known.
pub(crate) fn ranking(findings: &Findings, is_meant: impl Fn(&TaskFindings) -> bool) -> Option<String> {
    let counts = hold_and_turn(counts(findings, is_meant)?);
    Some(format!("Orders of two file systems behind it: {counts}."))
}

/// The orders of these tasks.
pub(crate) fn counts(findings: &Findings, is_meant: impl Fn(&TaskFindings) -> bool) -> Option<OrderCounts> {
    let is_wanted = |id: &str| findings.tasks.iter().any(|task| task.id == id && is_meant(task));
    findings.robustness.as_ref()?.count(is_wanted)
}

/// `ext4 before xfs turns if copies and clears cost less than 0.40 of what the model says`.
pub(crate) fn turning_pair(findings: &Findings, pair: &PairOrder) -> String {
    let name = |one: usize| &findings.headings[one];
    format!("{} before {} {}", name(pair.better), name(pair.worse), turns(&pair.survival))
}

/// What becomes of an order: `turns if copies and clears cost less than 0.40 of what the model says`.
pub(crate) fn turns(survival: &Survival) -> String {
    match survival {
        Survival::Holds => format!("holds {EVERY}"),
        Survival::TurnsWithoutServer => "turns without the time of the disk's server, which no machine spends".into(),
        Survival::TurnsAt { work: class, cost: at } => {
            let side =
                if *at < 1.0 { format!("less than {}", cost(*at)) } else { format!("more than {} times", cost(*at)) };
            let of = if *at < 1.0 { " of" } else { "" };
            format!("turns if {} {} {side}{of} what the model says", work(*class), costs(*class))
        }
        Survival::TurnsTogether { costs } => {
            let each = |one: &ClassCost| format!("{} {}", work(one.work), cost(one.cost));
            format!("turns if these cost so many times what the model says: {}", and(costs.iter().map(each)))
        }
    }
}

fn costs(work: Work) -> &'static str {
    match work {
        Work::Programs | Work::Copies | Work::Checksums => "cost",
        _ => "costs",
    }
}

/// `copies and clears: 0.25 to 1.00, measured on desk`.
pub(crate) fn range(range: &CostRange) -> String {
    let from = match range.machines.is_empty() {
        true => range.source.clone(),
        false => format!("measured on {}", and(&range.machines)),
    };
    format!("{}: {} to {} ({from})", work(range.work), cost(range.lowest), cost(range.highest))
}

/// What of the tasks' time is left out.
pub(crate) fn server(low: f64, high: f64) -> String {
    let (low, high) = (percent(low), percent(high));
    let share = if low == high { low } else { format!("{low} to {high}") };
    format!(
        "The modelled disk's server takes {share} of the time of these tests. No machine spends it, and it is left out here."
    )
}

/// What the table's numbers mean.
pub(crate) const COSTS: &str = "The range of costs, beside that of the kernel's core; 1 is what the clock counts, and any combination is a machine:";
