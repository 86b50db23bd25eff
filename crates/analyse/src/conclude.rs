//! Conclusions: the most important results, each with the position of its figures.
//!
//! With several repeats they are about differences that verdicts show. One repeat has no verdicts: they are about
//! measured figures.

use mountmark_model::{Better, Metric};

use crate::figures::Figures;
use crate::verdict::{Family, best_first, gap};
use crate::{Category, CategoryFindings, Gap, Options, Overall, TaskFindings, VerdictOutcome};

/// Number of tests whose difference is reported as a conclusion.
const STRIKING: usize = 4;

/// Tasks, categories and configurations are positions in [`crate::Findings`].
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The run has one repeat, which shows no difference.
    OneRepeat,
    Overall {
        /// Number of judged tests.
        tests: usize,
    },
    Tally {
        /// Number of judged tests.
        tests: usize,
        /// Configuration and number of tests in which it is fastest, most first.
        wins: Vec<(usize, usize)>,
        /// Number of tests with a shared first place.
        tied: usize,
        /// Number of tests without a shown difference.
        none: usize,
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
    pub options: &'a Options,
}

/// All conclusions, the most important first.
pub(crate) fn conclusions(evidence: &Evidence<'_>) -> Vec<Conclusion> {
    if evidence.figures.configurations.len() < 2 {
        return Vec::new();
    }
    let mut out = Vec::new();
    out.extend(overall(evidence));
    out.extend(tally(evidence));
    out.extend(by_processor(evidence));
    // Steps and usable space follow below with their figures.
    let has_range = |category: &Category| matches!(category, Category::Steps | Category::Capacity);
    let ranked = evidence.categories.iter().enumerate();
    let ranked = ranked.filter(|(_, found)| !has_range(&found.category) && found.ranking.len() > 1);
    out.extend(ranked.map(|(at, _)| Conclusion::Category(at)));
    out.extend(striking(evidence));
    out.extend(ranges(evidence));
    out.extend(composite(evidence));
    if !out.is_empty() && !evidence.has_repeats() {
        out.insert(0, Conclusion::OneRepeat);
    }
    out
}

impl Evidence<'_> {
    fn has_repeats(&self) -> bool {
        self.figures.repeats() > 1
    }
}

fn overall(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let judged = |task: &&crate::figures::Task| !task.step && task.main().is_some();
    let tests = evidence.figures.tasks.iter().filter(judged).count();
    (evidence.overall.ranking.len() > 1).then_some(Conclusion::Overall { tests })
}

/// Number of tests won by each configuration.
fn tally(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let mut counts = vec![0; evidence.figures.configurations.len()];
    let (mut tied, mut none) = (0, 0);
    for task in evidence.tasks.iter().filter(|task| !task.step) {
        match task.judged().and_then(|found| Some(&found.verdict.as_ref()?.outcome)) {
            Some(VerdictOutcome::Winner { configuration }) => counts[*configuration] += 1,
            Some(VerdictOutcome::Tied { .. }) => tied += 1,
            Some(VerdictOutcome::NoDifferenceShown { .. }) => none += 1,
            Some(VerdictOutcome::NotJudged { .. }) | None => {}
        }
    }
    let tests = counts.iter().sum::<usize>() + tied + none;
    if tests == 0 {
        best_figures(evidence)
    } else {
        Some(Conclusion::Tally { tests, wins: places(&counts), tied, none })
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
    for task in evidence.figures.tasks.iter().filter(|task| !task.step) {
        if let Some([first, _, ..]) = task.main().map(best_first).as_deref() {
            counts[*first] += 1;
        }
    }
    let tests = counts.iter().sum();
    (tests > 0).then(|| Conclusion::BestFigures { tests, best: places(&counts) })
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
    let range = |(task, found): (usize, &crate::figures::Task)| match best_first(found.main()?).as_slice() {
        [best, .., worst] => Some(Conclusion::Range { task, best: *best, worst: *worst }),
        _ => None,
    };
    steps.filter_map(range).collect()
}

/// The old studies' own figure, which covers only commands.
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
