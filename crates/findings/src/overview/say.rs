//! Sentences for conclusions: the most important results, each with its numbers.
//!
//! A sentence says "is fastest" only if a verdict shows it. With one repeat there are no verdicts: the first sentence
//! says so, and the others state in the past tense what was measured.

pub(crate) mod kind;
pub(crate) mod opening;
mod ranking;

use mountmark_document::number::{and, and_more, capital};
use mountmark_model::{Metric, counted};

use crate::figures::find::TaskFindings;
use crate::figures::find::basis::{Basis, Category};
use crate::figures::find::roles::{Role, has};
use crate::figures::say as metric;
use crate::figures::say::quantity::quantity;
use crate::figures::say::{subject, verb};
use crate::found::Findings;
use crate::group::by_key;
use crate::missing::say::named;
use crate::overview::find::Conclusion;
use crate::overview::say::kind::kind;
use crate::overview::say::ranking::Ranking;
use crate::rankings::find::rank::{CategoryFindings, FEW, Lead, Level, Rank};
use crate::safety;
use crate::verdicts::find::verdict::Gap;
use crate::verdicts::say::{beside, median};

/// The first sentence for a run with one repeat.
const ONE_REPEAT: &str = "This run has one repeat. It says what was measured, and cannot show that file systems differ: \
                          only more repeats can show whether the order stays the same.";

/// Number of tests that a sentence names.
const NAMED: usize = 8;

/// All conclusions, the most important first.
pub(crate) fn sentences(findings: &Findings) -> Vec<String> {
    findings.conclusions.iter().map(|conclusion| sentence(findings, conclusion)).collect()
}

pub(crate) fn sentence(findings: &Findings, conclusion: &Conclusion) -> String {
    let name = |configuration: usize| findings.headings[configuration].as_str();
    match conclusion {
        Conclusion::OneRepeat => ONE_REPEAT.into(),
        Conclusion::SyncedLost => safety::say::losses(findings).join(" "),
        Conclusion::Overall { tests } => overall(findings, *tests),
        Conclusion::Usable { task, order, gap } => usable(findings, *task, order, gap.as_ref()),
        Conclusion::Kinds(categories) => kinds(findings, categories),
        Conclusion::Sharing => sharing(findings, |_| true).trim_start().to_owned(),
        Conclusion::Tally { tests, wins, tied, none, rest } => {
            let are_speeds = findings.suite().filter_map(|task| task.judged_by).all(|by| has(by.id, Role::Speed));
            let mut parts = places(findings, wins, if are_speeds { "is fastest in" } else { "is the best in" });
            if *tied > 0 {
                parts.push(format!("several come first, in no order that is shown, in {tied}"));
            }
            if *none > 0 {
                parts.push(format!("no difference that matters is shown in {none}"));
            }
            if *rest > 0 {
                parts.push(format!("{rest} {} not judged", if *rest == 1 { "is" } else { "are" }));
            }
            format!("Of {}, {}.", counted(*tests, "test"), and(parts))
        }
        Conclusion::ByProcessor(tasks) => {
            format!(
                "No difference in time is shown in {}, but one in the processor time of the programs: {}.",
                counted(tasks.len(), "test"),
                named_tests(findings, tasks)
            )
        }
        Conclusion::BestFigures { tests, best } => {
            let parts = places(findings, best, "had the best figure in");
            format!("Of {}, {}.", counted(*tests, "test"), and(parts))
        }
        Conclusion::Category(at) => category(findings, &findings.categories[*at]),
        Conclusion::Striking { task, gap } => striking(findings, *task, gap),
        Conclusion::Range { task, best, worst } => range(findings, *task, [*best, *worst]),
        Conclusion::Composite { least, greatest } => {
            let sum = |one: usize| quantity(&Metric::ELAPSED, findings.overall.composite[one].unwrap_or_default());
            let [low, high] = [sum(*least), sum(*greatest)];
            let has_sum = |one: usize| findings.overall.composite[one].is_some();
            if low == high {
                let all = on_all(findings, has_sum);
                return format!("The sum of all tests' returned times is {low} {all}.");
            }
            let (first, last, none) = (name(*least), name(*greatest), without(findings, has_sum));
            format!("The sum of all tests' returned times ranges from {low} on {first} to {high} on {last}{none}.")
        }
    }
}

/// The ranking over all tests, with what its leaders risk.
fn overall(findings: &Findings, tests: usize) -> String {
    let overall = &findings.overall;
    if overall.ranking.len() < 2 {
        return no_order(findings, tests);
    }
    let (unranked, without) = (&overall.unranked, unmeasured(findings));
    let all = unranked.is_empty() && without.is_empty();
    let ranking = Ranking { findings, ranking: &overall.ranking, basis: overall.basis, of: None, all };
    let said = ranking.lead(overall.lead);
    let risk = safety::say::risks(findings, &leaders(findings));
    let once = if findings.measured > 1 { "" } else { "in one repeat, " };
    let lacking = not_ranked(findings, &overall.ranking);
    let left_out =
        [("not ranked", unranked), ("no figure", &without)].into_iter().filter(|(_, tests)| !tests.is_empty());
    let left_out: Vec<String> =
        left_out.map(|(why, tests)| format!("{why}: {}", named_tests(findings, tests))).collect();
    match tests {
        _ if !left_out.is_empty() => {
            let (ranked, left_out) = (tests - unranked.len() - without.len(), left_out.join("; "));
            format!("Over {ranked} of {tests} tests ({left_out}), {once}{said}; {risk}.{lacking}")
        }
        1 => format!("In the one test, {once}{said}; {risk}.{lacking}"),
        _ => format!("Over all {tests} tests, {once}{said}; {risk}.{lacking}"),
    }
}

/// The tests without a figure of any file system.
pub(crate) fn unmeasured(findings: &Findings) -> Vec<usize> {
    let tests = findings.tasks.iter().enumerate().filter(|(_, task)| !task.step && !task.is_measured);
    tests.map(|(at, _)| at).collect()
}

/// "Only ext4 has figures of all 21 tests (xfs lacks 012, jfs lacks 010), so there is no order over all."
fn no_order(findings: &Findings, tests: usize) -> String {
    let (unranked, without) = (&findings.overall.unranked, unmeasured(findings));
    let ranked = |at: &usize| findings.tasks[*at].judged().is_some() && !unranked.contains(at);
    let ranked: Vec<usize> = (0..findings.tasks.len()).filter(|at| !findings.tasks[*at].step && ranked(at)).collect();
    let lacks = |one: usize| {
        let has_none = |at: &usize| findings.tasks[*at].judged().is_some_and(|found| found.median(one).is_none());
        let lacking: Vec<usize> = ranked.iter().copied().filter(has_none).collect();
        (!lacking.is_empty()).then(|| format!("{} lacks {}", findings.headings[one], named_tests(findings, &lacking)))
    };
    let lacking: Vec<String> = (0..findings.headings.len()).filter_map(lacks).collect();
    let lacking = and_more(lacking.iter().cloned(), lacking.len(), NAMED);
    let who = match &findings.overall.ranking[..] {
        [only, ..] => format!("Only {} has", findings.headings[only.configuration]),
        [] => format!("None of the {} has", kind(findings)[1]),
    };
    let of = if unranked.len() + without.len() > 0 {
        format!("the {} of {tests}", ranked.len())
    } else {
        format!("all {tests}")
    };
    let ranked = if unranked.is_empty() { "" } else { " that can be ranked" };
    format!("{who} figures of {of} tests{ranked} ({lacking}), so there is no order over all.")
}

/// Those that come first, or all where all are level.
fn leaders(findings: &Findings) -> Vec<usize> {
    let count = match findings.overall.lead {
        Some(Lead::AllLevel) => usize::MAX,
        Some(Lead::Shared { count, .. }) => count.min(FEW),
        Some(Lead::First { .. }) | None => 1,
    };
    findings.overall.ranking.iter().take(count).map(|rank| rank.configuration).collect()
}

/// "Usable again after a power cut: ext3 after 0.0957 s, ext2 after 0.209 s, 2.18 times that (95 %: 2.11 to 2.25)."
fn usable(findings: &Findings, task: usize, order: &[usize], gap: Option<&Gap>) -> String {
    let what = capital(&findings.tasks[task].title) + &at_point(&findings.tasks[task]);
    let all = usable_times(findings, task, order).join(", ");
    let beside = match gap {
        Some(gap) => beside(findings, gap),
        None => "in no order that is shown".to_owned(),
    };
    let once = if findings.measured > 1 { "" } else { " in one repeat" };
    let none = without(findings, |one| order.contains(&one));
    format!("{what}{once}: {all}, {beside}{none}.")
}

/// "; no figure of jfs", of those that have none; empty if all have one.
fn without(findings: &Findings, has_figure: impl Fn(usize) -> bool) -> String {
    let none = (0..findings.configurations.len()).filter(|one| !has_figure(*one));
    let none: Vec<&str> = none.map(|one| findings.headings[one].as_str()).collect();
    if none.is_empty() { String::new() } else { format!("; no figure of {}", and(none)) }
}

/// "on all file systems", or of which that is not known.
fn on_all(findings: &Findings, has_figure: impl Fn(usize) -> bool) -> String {
    let [_, things] = kind(findings);
    match without(findings, has_figure) {
        none if none.is_empty() => format!("on all {things}"),
        none => format!("on all {things} that have a figure{none}"),
    }
}

/// " at 4GiB" of a task that is measured at several points of a parameter.
fn at_point(task: &TaskFindings) -> String {
    task.id.split_once('@').map(|(_, point)| format!(" at {point}")).unwrap_or_default()
}

/// "ext3 after 0.0957 s", of each.
pub(crate) fn usable_times(findings: &Findings, task: usize, order: &[usize]) -> Vec<String> {
    let Some(found) = findings.tasks[task].judged() else { return Vec::new() };
    let time = |one: &usize| {
        let value = quantity(found.metric, median(found, *one));
        format!("{} after {value}", findings.headings[*one])
    };
    order.iter().map(time).collect()
}

/// The first of each kind of work, in one sentence.
fn kinds(findings: &Findings, categories: &[usize]) -> String {
    let kind = |at: &usize| {
        let found = &findings.categories[*at];
        let name =
            |rank: &Rank| safety::say::named(findings, rank.configuration, |task| task.category == found.category);
        let names = || found.ranking.iter().map(name);
        let name = metric::category(&found.category);
        let lacking = unranked(findings, &found.ranking);
        let who = match found.lead {
            Some(Lead::AllLevel) if lacking.is_empty() => "all are level".to_owned(),
            Some(Lead::AllLevel) => format!("{} are level", found.ranking.len()),
            Some(Lead::Shared { count, level: Level::Close }) => format!("{} are level", and_more(names(), count, FEW)),
            Some(Lead::Shared { count, .. }) => format!("{}, in no order that is shown", and_more(names(), count, FEW)),
            Some(Lead::First { .. }) | None => names().next().unwrap_or_default(),
        };
        let lacking = if lacking.is_empty() { String::new() } else { format!(" (not ranked: {})", and(lacking)) };
        format!("{name}: {who}{lacking}")
    };
    let all: Vec<String> = categories.iter().map(kind).collect();
    format!("First on average, by kind of work: {}.", all.join("; "))
}

/// "a, b and 3 more", of tests.
fn named_tests(findings: &Findings, tests: &[usize]) -> String {
    and_more(tests.iter().map(|task| findings.tasks[*task].id.clone()), tests.len(), NAMED)
}

/// Those without a place.
fn unranked(findings: &Findings, ranking: &[Rank]) -> Vec<String> {
    let names = findings.headings.iter().enumerate();
    let missing = names.filter(|(at, _)| !ranking.iter().any(|rank| rank.configuration == *at));
    missing.map(|(_, name)| name.clone()).collect()
}

/// " Not ranked, because figures are missing: btrfs." Empty if all are ranked.
pub(crate) fn not_ranked(findings: &Findings, ranking: &[Rank]) -> String {
    match unranked(findings, ranking) {
        missing if missing.is_empty() => String::new(),
        missing => format!(" Not ranked, because figures are missing: {}.", and(missing)),
    }
}

/// The ranking of a category, and unranked configurations and tests.
pub(crate) fn category(findings: &Findings, found: &CategoryFindings) -> String {
    let not_ranked = not_ranked(findings, &found.ranking);
    let said = match &found.ranking[..] {
        [] => "no configuration has figures of all tests".to_owned(),
        [only] => format!("only {} has figures of all tests", findings.headings[only.configuration]),
        ranking => {
            Ranking { findings, ranking, basis: found.basis, of: Some(&found.category), all: found.unranked.is_empty() }
                .lead(found.lead)
        }
    };
    let shared = match found.basis {
        Basis::Space | Basis::Memory => String::new(),
        _ => sharing(findings, |task| task.category == found.category),
    };
    let left_out = match &found.unranked[..] {
        [] => String::new(),
        tests => format!(" Not ranked: {}.", named_tests(findings, tests)),
    };
    format!("{}: {said}.{shared}{not_ranked}{left_out}", capital(metric::category(&found.category)))
}

/// Which of these tests measure the sharing of blocks: " In 012 and 014 xfs and btrfs share blocks instead of writing a
/// copy." Empty if none does.
fn sharing(findings: &Findings, wanted: impl Fn(&TaskFindings) -> bool) -> String {
    let wanted = findings.sharing().filter(|(task, _)| wanted(task));
    let sentence = |(those, tasks): (Vec<usize>, Vec<String>)| {
        let share = if those.len() == 1 { "shares" } else { "share" };
        let names = and(those.iter().map(|one| findings.headings[*one].clone()));
        format!(" In {} {names} {share} blocks instead of writing a copy.", and(tasks))
    };
    by_key(wanted.map(|(task, those)| (those, task.id.clone()))).into_iter().map(sentence).collect()
}

/// "ext4 is fastest in 3", "xfs in 2".
fn places(findings: &Findings, counts: &[(usize, usize)], is: &str) -> Vec<String> {
    let text = |(place, (one, count)): (usize, &(usize, usize))| {
        let is = if place == 0 { is } else { "in" };
        format!("{} {is} {count}", findings.headings[*one])
    };
    counts.iter().enumerate().map(text).collect()
}

fn striking(findings: &Findings, task: usize, gap: &Gap) -> String {
    let task = &findings.tasks[task];
    let Some(found) = task.judged() else { return String::new() };
    let said = |one: usize| {
        let value = quantity(found.metric, median(found, one));
        format!("{} {} {value}", safety::say::named(findings, one, |of| of.id == task.id), verb(found.metric))
    };
    let label = named(&task.id, &task.title);
    let mut sharing = findings.sharing().filter(|(shared, _)| shared.id == task.id);
    let shared = if sharing.any(|(_, those)| those.contains(&gap.best)) {
        format!(" {} shares blocks there instead of writing a copy.", findings.headings[gap.best])
    } else {
        String::new()
    };
    format!("{label}: {}; {}, {}.{shared}", said(gap.best), said(gap.other), beside(findings, gap))
}

fn range(findings: &Findings, task: usize, ends: [usize; 2]) -> String {
    let task = &findings.tasks[task];
    let Some(found) = task.judged() else { return String::new() };
    let [best, worst] = ends.map(|one| quantity(found.metric, median(found, one)));
    let is_space = task.category == Category::Capacity;
    let what = if is_space { subject(found.metric).to_owned() + &at_point(task) } else { task.id.clone() };
    let what = capital(&what);
    let has_figure = |one: usize| found.estimates[one].is_some();
    if best == worst {
        let took = if is_space { "is" } else { "took" };
        return format!("{what} {took} {best} {}.", on_all(findings, has_figure));
    }
    let [first, last] = ends.map(|one| &findings.headings[one]);
    let none = without(findings, has_figure);
    let took = if is_space { "ranges" } else { "took" };
    format!("{what} {took} from {best} on {first} to {worst} on {last}{none}.")
}
