//! Conclusions: the most important results, each with the position of its figures.
//!
//! With several repeats they are about differences that verdicts show. One repeat has no verdicts: they are about
//! measured figures.

use mountmark_model::{Better, Metric, Restart, Up};

use crate::figures;
use crate::figures::find::TaskFindings;
use crate::figures::find::basis::Category;
use crate::figures::find::series::{Figures, Task};
use crate::options::Options;
use crate::rankings::find::rank::{CategoryFindings, Overall};
use crate::safety::find::AfterCut;
use crate::verdicts::find::verdict::{Gap, VerdictOutcome};
use crate::verdicts::find::{Family, best_first, gap};

/// Number of tests whose difference is reported as a conclusion.
const STRIKING: usize = 4;

/// Number of ranked categories from which on one sentence tells the first of each.
const KINDS: usize = 3;

/// Tasks, categories and configurations are positions in [`crate::Findings`].
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The run has one repeat, which shows no difference.
    OneRepeat,
    /// Some lose what they said to be durable, and tasks of the run sync.
    SyncedLost,
    /// The ranking over all tests, or that there is none.
    Overall {
        /// Number of tests that are judged, or would be if they had a figure.
        tests: usize,
    },
    /// How soon each is usable again after a power cut.
    Usable {
        task: usize,
        /// Those with a figure, best first.
        order: Vec<usize>,
        /// From the best to the worst; `None` if the repeats show no difference between them.
        gap: Option<Gap>,
    },
    /// The first of each of these categories.
    Kinds(Vec<usize>),
    /// In some tests file systems share blocks instead of writing a copy, see [`crate::Findings::sharing`].
    Sharing,
    Tally {
        /// Number of tests.
        tests: usize,
        /// Configuration and number of tests in which it is the best, most first.
        wins: Vec<(usize, usize)>,
        /// Number of tests with a shared first place.
        tied: usize,
        /// Number of tests without a shown difference.
        none: usize,
        /// Number of tests that are not judged, or have no figure.
        rest: usize,
    },
    /// Tests without a shown difference in time that have one in the processor time of their programs.
    ByProcessor(Vec<usize>),
    /// Number of best figures by configuration, where nothing is judged.
    BestFigures {
        /// Number of tests in which several have figures.
        tests: usize,
        /// Most first.
        best: Vec<(usize, usize)>,
    },
    /// The ranking of a category.
    Category(usize),
    /// A test with a large difference between best and worst.
    Striking {
        task: usize,
        /// From the best to the worst.
        gap: Gap,
    },
    /// A step, or usable space, from best to worst.
    Range { task: usize, best: usize, worst: usize },
    /// The sum of all returned times, from least to greatest.
    Composite { least: usize, greatest: usize },
}

/// Input of the conclusions.
pub(crate) struct Evidence<'a> {
    pub figures: &'a Figures,
    pub family: &'a Family,
    pub tasks: &'a [TaskFindings],
    pub categories: &'a [CategoryFindings],
    pub overall: &'a Overall,
    pub safety: &'a [AfterCut],
    pub options: &'a Options,
}

/// All conclusions, the most important first: the answer to what the suite asks, then what a reader must know of it.
pub(crate) fn conclusions(evidence: &Evidence<'_>) -> Vec<Conclusion> {
    let loses = evidence.safety.iter().any(|safety| safety.loses_synced() && safety.flushes.is_some());
    if evidence.figures.configurations.len() < 2 {
        return if loses { vec![Conclusion::SyncedLost] } else { Vec::new() };
    }
    let mut out = usable(evidence);
    // An average over fills and clean mounts does not say how soon a file system is usable again.
    let (first, later) = if out.is_empty() { (overall(evidence), None) } else { (None, overall(evidence)) };
    out.extend(first);
    out.extend(sharing(evidence));
    let kinds = if later.is_none() { kinds(evidence) } else { None };
    let is_by_kind = kinds.is_some();
    out.extend(kinds);
    out.extend(tally(evidence));
    let ranked = ranked(evidence).map(|(at, _)| Conclusion::Category(at));
    let (categories, more) = if is_by_kind { (Vec::new(), ranked.collect()) } else { (ranked.collect(), Vec::new()) };
    out.extend(categories);
    out.extend(striking(evidence));
    out.extend(by_processor(evidence));
    out.extend(more);
    out.extend(ranges(evidence));
    out.extend(later);
    out.extend(composite(evidence));
    if !out.is_empty() && !evidence.has_repeats() {
        out.insert(1, Conclusion::OneRepeat);
    }
    if loses {
        out.insert(out.len().min(1), Conclusion::SyncedLost);
    }
    out
}

/// The categories that are ranked, without steps and usable space, which follow with their figures.
fn ranked<'a>(evidence: &'a Evidence<'_>) -> impl Iterator<Item = (usize, &'a CategoryFindings)> {
    let has_range = |category: &Category| matches!(category, Category::Steps | Category::Capacity);
    let ranked = evidence.categories.iter().enumerate();
    ranked.filter(move |(_, found)| !has_range(&found.category) && found.ranking.len() > 1)
}

/// The tasks that time how soon a file system is usable again after a power cut, where most of the suite's tasks are
/// about a machine that comes up again.
fn usable(evidence: &Evidence<'_>) -> Vec<Conclusion> {
    let suite = || evidence.figures.tasks.iter().enumerate().filter(|(_, task)| !task.step);
    if 2 * suite().filter(|(_, task)| task.restart.is_some()).count() <= suite().count() {
        return Vec::new();
    }
    let is_asked = |restart: &Restart| restart.after.is_cut() && restart.then == Up::Mount;
    let asked = suite().filter(|(_, task)| task.restart.as_ref().is_some_and(is_asked));
    let found = asked.filter_map(|(at, task)| {
        let series = task.main()?;
        let order = best_first(series);
        let [best, .., worst] = order[..] else { return None };
        let judged = evidence.family.find(at, series.metric.id)?;
        let contrast = judged.contrast(best, worst);
        let is_shown = contrast.is_some_and(|(_, t)| t.adjusted <= evidence.options.error());
        let gap = gap(series, judged, best, worst).filter(|_| is_shown || !evidence.has_repeats());
        Some(Conclusion::Usable { task: at, order, gap })
    });
    found.collect()
}

/// The first of each kind of work, where there are so many kinds that a sentence each would be too long an answer to
/// "which for this kind of work?".
fn kinds(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let ranked = evidence.categories.iter().enumerate().filter(|(_, found)| found.lead.is_some());
    let kinds: Vec<usize> = ranked.map(|(at, _)| at).collect();
    (kinds.len() >= KINDS).then_some(Conclusion::Kinds(kinds))
}

/// Where file systems win by sharing blocks.
fn sharing(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let count = evidence.figures.configurations.len();
    let is_there = evidence.tasks.iter().filter(|task| !task.step).any(|task| !task.sharing(count).is_empty());
    is_there.then_some(Conclusion::Sharing)
}

impl Evidence<'_> {
    fn has_repeats(&self) -> bool {
        self.figures.repeats() > 1
    }
}

fn overall(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let tests = || evidence.figures.tasks.iter().filter(|task| !task.step);
    let judged = tests().filter_map(Task::main);
    let is_ranked = judged.clone().count() > evidence.overall.unranked.len();
    let is_compared = judged.clone().any(|series| best_first(series).len() > 1);
    let tests = judged.count() + tests().filter(|task| !task.is_measured()).count();
    (is_ranked && is_compared).then_some(Conclusion::Overall { tests })
}

/// Number of tests won by each configuration.
fn tally(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let mut counts = vec![0; evidence.figures.configurations.len()];
    let (mut tied, mut none, mut rest) = (0, 0, 0);
    for task in evidence.tasks.iter().filter(|task| !task.step) {
        match task.judged().and_then(|found| Some(&found.verdict.as_ref()?.outcome)) {
            Some(VerdictOutcome::Winner { configuration }) => counts[*configuration] += 1,
            Some(VerdictOutcome::Tied { .. }) => tied += 1,
            Some(VerdictOutcome::NoDifferenceShown { .. }) => none += 1,
            Some(VerdictOutcome::NotJudged { .. }) => rest += 1,
            None => rest += usize::from(!task.is_measured),
        }
    }
    let judged = counts.iter().sum::<usize>() + tied + none;
    if judged == 0 {
        best_figures(evidence)
    } else {
        Some(Conclusion::Tally { tests: judged + rest, wins: places(&counts), tied, none, rest })
    }
}

fn by_processor(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let is_open = |task: &TaskFindings| {
        let verdict = task.judged().and_then(|found| found.verdict.as_ref());
        verdict.is_some_and(|verdict| matches!(verdict.outcome, VerdictOutcome::NoDifferenceShown { .. }))
    };
    let tasks =
        evidence.tasks.iter().enumerate().filter(|(_, task)| is_open(task) && task.told_by_processor().is_some());
    let tasks: Vec<usize> = tasks.map(|(at, _)| at).collect();
    (!tasks.is_empty()).then_some(Conclusion::ByProcessor(tasks))
}

/// Number of best figures by configuration, where no difference is shown.
fn best_figures(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let mut counts = vec![0; evidence.figures.configurations.len()];
    let mut tests = 0;
    for series in evidence.figures.tasks.iter().filter(|task| !task.step).filter_map(Task::main) {
        if let [first, second, ..] = best_first(series)[..] {
            tests += 1;
            // Of two that are equal none is the best.
            counts[first] += usize::from(series.median(first) != series.median(second));
        }
    }
    counts.iter().any(|count| *count > 0).then(|| Conclusion::BestFigures { tests, best: places(&counts) })
}

/// Configurations with a count above 0, most first.
fn places(counts: &[usize]) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = counts.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
    out.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    out
}

/// The tests with the largest differences from best to worst.
fn striking(evidence: &Evidence<'_>) -> Vec<Conclusion> {
    let mut found: Vec<(f64, Conclusion)> = Vec::new();
    for (at, task) in evidence.figures.tasks.iter().enumerate().filter(|(_, task)| !task.step) {
        let Some(series) = task.main() else { continue };
        let order = best_first(series);
        let [best, .., worst] = order.as_slice() else { continue };
        let Some(judged) = evidence.family.find(at, series.metric.id) else { continue };
        let is_shown = judged.contrast(*best, *worst).is_some_and(|(_, t)| t.adjusted <= evidence.options.error());
        if evidence.has_repeats() && !is_shown {
            continue;
        }
        let Some(gap) = gap(series, judged, *best, *worst) else { continue };
        let value = |configuration: usize| series.median(configuration).unwrap_or_default();
        let times = match series.metric.better {
            Better::Lower => value(*worst) / value(*best),
            Better::Higher => value(*best) / value(*worst),
        };
        if times.is_finite() && times >= 1.0 + evidence.options.matters {
            found.push((times, Conclusion::Striking { task: at, gap }));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(STRIKING).map(|(_, conclusion)| conclusion).collect()
}

/// mkfs, mount, umount and usable space.
fn ranges(evidence: &Evidence<'_>) -> Vec<Conclusion> {
    let steps = evidence.figures.tasks.iter().enumerate();
    let steps = steps.filter(|(_, task)| matches!(task.category, Category::Steps | Category::Capacity));
    let range = |(task, found): (usize, &figures::find::series::Task)| match best_first(found.main()?).as_slice() {
        [best, .., worst] => Some(Conclusion::Range { task, best: *best, worst: *worst }),
        _ => None,
    };
    steps.filter_map(range).collect()
}

/// The sum of all times, which studies of commands alone print.
fn composite(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let mut tests = evidence.figures.tasks.iter().filter(|task| !task.step);
    if tests.any(|task| task.in_parts || task.main().is_some_and(|main| main.metric.id == Metric::RATE.id)) {
        return None;
    }
    let mut sums: Vec<(f64, usize)> =
        evidence.overall.composite.iter().enumerate().filter_map(|(at, sum)| sum.map(|sum| (sum, at))).collect();
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    match sums.as_slice() {
        [(_, least), .., (_, greatest)] => Some(Conclusion::Composite { least: *least, greatest: *greatest }),
        _ => None,
    }
}
