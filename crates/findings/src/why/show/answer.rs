//! Explanations of a task's time, in the forms that a report and `why` share: sentences, tables, values, stacks, flame graphs.

#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use mountmark_document::flame;
use mountmark_document::flame::Flames;
use mountmark_document::forms::{Block, Last, Stack, Table};
use mountmark_document::text::titled;
use mountmark_model::heading;
use mountmark_model::profile::PathTime;
use mountmark_record::RunRecord;

use crate::why::find::{Account, Callee, Explanation, Ledger, Line, Rerouted, Time, without};
use crate::why::say as words;
pub(crate) use values::{head, lists, value};

/// Lines of a table beside the rest.
const MOST: usize = 16;
/// Paths that are told as waiting.
const MOST_WAITING: usize = 8;
/// The kernel's own ways to sleep: which function slept is said by what called them.
const SLEEP: [&str; 6] =
    ["__switch_to", "__switch_to_asm", "__schedule", "schedule", "io_schedule", "schedule_preempt_disabled"];

/// Where the time of a task went.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub run: &'a RunRecord,
    /// The later run, if a change between two runs is explained.
    pub later: Option<&'a RunRecord>,
    pub task: &'a str,
    /// Why these configurations were chosen, if the user has not: a sentence.
    pub chosen: Option<&'a str>,
    /// One for each configuration.
    pub ledgers: &'a [Ledger],
    /// The slower ones beside the fastest.
    pub explanations: &'a [Explanation<'a>],
    /// Figures that came out equal with the profiler and without.
    pub figures: usize,
    /// Whether a run itself had the profiler.
    pub is_kept: bool,
    /// What differs from the time of the run, in a sentence without its end.
    pub differs: Option<&'a str>,
}

/// The task by its id and title.
pub(crate) fn title(why: &Answer) -> String {
    let title = why.run.plan.tasks.iter().find(|(id, _)| id == why.task).map_or(why.task, |(_, title)| title);
    titled(why.task, title)
}

pub(crate) fn sentences(why: &Answer) -> Vec<String> {
    let mut out: Vec<String> = match why.explanations {
        [] => why.ledgers.iter().map(words::alone).collect(),
        explanations => explanations.iter().map(words::difference).collect(),
    };
    // Two runs may be on two disks.
    if why.later.is_none() {
        out.extend(without(why.ledgers).iter().map(|found| words::without(why.ledgers, found)));
    }
    out
}

/// Ledgers and differences, each under its heading.
pub(crate) fn tables(why: &Answer) -> Vec<Block> {
    let mut out = vec![Block::Heading(words::WHERE.into()), Block::Table(ledgers(why.ledgers))];
    let requests = divided(why.ledgers, |of| &of.requests, |of| of.part.is_some(), |of| words::request(*of));
    let programs = divided(why.ledgers, |of| &of.programs, |of| of.1.is_some(), words::program);
    let calls = system_calls(why.ledgers);
    for (heading, table) in [(words::REQUESTS, requests), (words::PROGRAMS, programs), (words::SYSTEM_CALLS, calls)] {
        if !table.rows.is_empty() {
            out.push(Block::Heading(heading.into()));
            out.push(Block::Table(table));
        }
    }
    for explanation in why.explanations {
        out.push(Block::Heading(words::longer(explanation)));
        out.push(Block::Table(differences(explanation)));
        if !explanation.rerouted.is_empty() {
            out.push(Block::Heading(words::CALLS.into()));
            out.push(Block::Text(words::REROUTED.into()));
            out.push(Block::Table(rerouted(explanation)));
        }
    }
    for ledger in why.ledgers {
        let waits = waits(ledger);
        if !waits.is_empty() {
            out.push(Block::Heading(words::who_waited(ledger)));
            out.push(Block::Table(Table::new(["seconds", "waiting", "who"], waits, 1, Last::Words)));
        }
    }
    out
}

/// Rows of one table: the largest accounts, what the others are together, and the sum.
fn ledgers(ledgers: &[Ledger]) -> Table {
    let mut accounts: Vec<&Account> = ledgers.iter().flat_map(|ledger| ledger.accounts.keys()).collect();
    accounts.sort();
    accounts.dedup();
    let largest = |account: &Account| ledgers.iter().map(|ledger| ledger.durable(account)).max().unwrap_or(0);
    accounts.sort_by_key(|account| -largest(account));
    let is_always_told = |account: &Account| !matches!(account, Account::Function(_) | Account::Program(_));
    let mut shown = 0;
    let (told, rest): (Vec<&Account>, Vec<&Account>) = accounts.into_iter().partition(|account| {
        let is_told = is_always_told(account) || shown < MOST;
        shown += usize::from(is_told && !is_always_told(account));
        is_told
    });
    let sum = |ledger: &Ledger, accounts: &[&Account]| accounts.iter().filter_map(|of| ledger.accounts.get(of)).sum();
    let one = |account: &&Account| row(ledgers, words::account(account), &|ledger| sum(ledger, &[account]));
    let mut rows: Vec<Vec<String>> = told.iter().map(one).collect();
    if !rest.is_empty() {
        rows.push(row(ledgers, format!("{} other functions and programs", rest.len()), &|ledger| sum(ledger, &rest)));
    }
    rows.push(row(ledgers, "together".into(), &|ledger| ledger.total));
    by_ledger(ledgers, rows)
}

/// What divides some accounts, the longest first; no rows if of none of them more is known.
fn divided<K: Ord>(
    ledgers: &[Ledger],
    of: fn(&Ledger) -> &BTreeMap<K, Time>,
    is_known: fn(&K) -> bool,
    name: fn(&K) -> String,
) -> Table {
    let time = |ledger: &Ledger, key: &K| of(ledger).get(key).copied().unwrap_or_default();
    let all: BTreeSet<&K> = ledgers.iter().flat_map(|ledger| of(ledger).keys()).collect();
    let is_known = all.iter().any(|key| is_known(key));
    let mut all: Vec<&K> = all.into_iter().filter(|_| is_known).collect();
    all.sort_by_key(|key| -ledgers.iter().map(|ledger| time(ledger, key).durable).max().unwrap_or(0));
    let (told, rest) = all.split_at(all.len().min(MOST));
    let mut rows: Vec<Vec<String>> =
        told.iter().map(|key| row(ledgers, name(key), &|ledger| time(ledger, key))).collect();
    if !rest.is_empty() {
        let sum = |ledger: &Ledger| rest.iter().filter_map(|key| of(ledger).get(key)).sum();
        rows.push(row(ledgers, words::others(rest.len()), &sum));
    }
    by_ledger(ledgers, rows)
}

/// System calls with their times and, where they were counted, how often they were made until durable.
fn system_calls(ledgers: &[Ledger]) -> Table {
    let mut table = divided(ledgers, |of| &of.calls, |_| true, words::system_call);
    for (at, ledger) in ledgers.iter().enumerate().rev().filter(|(_, ledger)| !ledger.counts.is_empty()) {
        let counts: BTreeMap<String, u64> =
            ledger.counts.iter().map(|(call, count)| (words::system_call(call), count.durable)).collect();
        let shown: u64 = table.rows.iter().filter_map(|row| counts.get(&row[0])).sum();
        // The others are one row, the last.
        let (all, others) = (ledgers.iter().flat_map(|of| of.calls.keys()).collect::<BTreeSet<_>>().len(), MOST);
        for (place, row) in table.rows.iter_mut().enumerate() {
            let is_rest = all > others && place == others;
            let count =
                if is_rest { counts.values().sum::<u64>() - shown } else { counts.get(&row[0]).copied().unwrap_or(0) };
            row.insert(2 * at + 3, count.to_string());
        }
        table.head.insert(2 * at + 3, format!("{}\ncalls", heading(&ledger.configuration)));
    }
    table
}

/// A row of a table that has two columns for each ledger.
fn row(ledgers: &[Ledger], name: String, of: &dyn Fn(&Ledger) -> Time) -> Vec<String> {
    let times = ledgers.iter().map(of).flat_map(|time| [words::exact(time.returned), words::exact(time.durable)]);
    std::iter::once(name).chain(times).collect()
}

fn by_ledger(ledgers: &[Ledger], rows: Vec<Vec<String>>) -> Table {
    let columns = ledgers.iter().flat_map(|ledger| {
        let name = heading(&ledger.configuration);
        [format!("{name}\nreturned"), format!("{name}\ndurable")]
    });
    Table::new(std::iter::once(String::new()).chain(columns), rows, 1, Last::Figure)
}

fn differences(explanation: &Explanation) -> Table {
    let names = |line: &Line| {
        let told = line.callers.iter().filter(|caller| caller.slow != caller.fast);
        told.map(|caller| caller.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let cells = |name: String, slow: i64, fast: i64, callers: String| {
        let gap = slow - fast;
        vec![
            name,
            words::exact(gap),
            words::part(gap, explanation.gap),
            words::exact(slow),
            words::exact(fast),
            callers,
        ]
    };
    let (told, rest) = explanation.lines.split_at(explanation.lines.len().min(MOST));
    let row = |line: &Line| {
        let mut row = cells(words::account(&line.account), line.slow, line.fast, names(line));
        for (column, has) in [(3, line.slow_has), (4, line.fast_has)] {
            if !has {
                row[column] = words::NOT_THERE.into();
            }
        }
        row
    };
    let mut rows: Vec<Vec<String>> = told.iter().map(row).collect();
    if !rest.is_empty() {
        let sum = |of: fn(&Line) -> i64| rest.iter().map(of).sum::<i64>();
        rows.push(cells(words::others(rest.len()), sum(|line| line.slow), sum(|line| line.fast), String::new()));
    }
    let (slow, fast) = (explanation.slow, explanation.fast);
    rows.push(cells("together".into(), slow.total.durable, fast.total.durable, String::new()));
    let (slow, fast) = (heading(&slow.configuration), heading(&fast.configuration));
    Table::new(["", "longer", "part", &slow, &fast, "called from"], rows, 1, Last::Words)
}

/// What one kernel alone calls, by the function that does so and ran in both.
fn rerouted(explanation: &Explanation) -> Table {
    let row = |found: &Rerouted| {
        let callees = |callees: &[Callee]| callees.iter().map(words::callee).collect::<Vec<_>>().join(", ");
        let sides = [callees(&found.slow_only), callees(&found.fast_only)];
        let sides =
            sides.into_iter().zip([explanation.slow, explanation.fast]).filter(|(callees, _)| !callees.is_empty());
        let sides: Vec<String> =
            sides.map(|(callees, ledger)| format!("{} alone: {callees}", heading(&ledger.configuration))).collect();
        vec![found.function.clone(), words::exact(found.slow), words::exact(found.fast), sides.join("; ")]
    };
    let (slow, fast) = (heading(&explanation.slow.configuration), heading(&explanation.fast.configuration));
    let head = ["with all that it calls", &slow, &fast, "calls"];
    Table::new(head, explanation.rerouted.iter().map(row), 1, Last::Words)
}

/// A path without the kernel's ways to sleep at its end.
fn sleeper(path: &[String]) -> &[String] {
    let is_sleep = |name: &String| SLEEP.contains(&name.as_str());
    let end = path.iter().rposition(|name| !is_sleep(name)).map_or(0, |at| at + 1);
    &path[..end]
}

fn waits(ledger: &Ledger) -> Vec<Vec<String>> {
    let waits = |(path, time): (&Vec<String>, &PathTime)| {
        let who = sleeper(path).join(" > ");
        time.waiting
            .iter()
            .map(|(awaited, waited)| (*waited, words::awaited(*awaited), who.clone()))
            .collect::<Vec<_>>()
    };
    let mut found: Vec<(u64, String, String)> = ledger.paths.iter().flat_map(waits).collect();
    found.sort_by(|a, b| b.cmp(a));
    let rest = found.split_off(found.len().min(MOST_WAITING));
    if !rest.is_empty() {
        found.push((rest.iter().map(|(waited, ..)| waited).sum(), words::others(rest.len()), String::new()));
    }
    found.into_iter().map(|(waited, what, who)| vec![words::exact(waited as i64), what, who]).collect()
}

/// A flame graph until durable, of one configuration or of the difference of two.
pub(crate) fn flames(why: &Answer) -> Result<Flames> {
    let names = match why.explanations {
        [] => why.ledgers.first().map_or(String::new(), |ledger| heading(&ledger.configuration).into_owned()),
        [explanation] => words::flames(explanation),
        _ => anyhow::bail!("a flame graph shows one file system, or what differs between two: name them with --fs"),
    };
    let stacks: Vec<String> = stacks(why).iter().map(Stack::line).collect();
    flame::graph(&stacks, &format!("{}: {names}", title(why)))
}

/// Paths until durable; with two configurations both times, the faster one's first.
pub(crate) fn stacks(why: &Answer) -> Vec<Stack> {
    let ledgers: Vec<&Ledger> = match why.explanations {
        [explanation] => vec![explanation.fast, explanation.slow],
        _ => why.ledgers.iter().collect(),
    };
    let mut out: BTreeMap<Vec<String>, Vec<u64>> = BTreeMap::new();
    for (at, ledger) in ledgers.iter().enumerate() {
        let mut add = |path: Vec<String>, time: u64| {
            if time > 0 {
                out.entry(path).or_insert_with(|| vec![0; ledgers.len()])[at] += time;
            }
        };
        for (path, time) in &ledger.paths {
            add(path.iter().map(|name| words::frame(name).to_owned()).collect(), time.running);
            for (awaited, waited) in &time.waiting {
                let end = [format!("[{}]", words::awaited(*awaited))];
                add(sleeper(path).iter().cloned().chain(end).collect(), *waited);
            }
        }
    }
    out.into_iter().map(|(frames, times)| Stack { frames, times }).collect()
}
