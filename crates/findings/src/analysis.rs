//! Computes all findings of a run.

use mountmark_model::Metric;
use mountmark_record::RunRecord;
use mountmark_stats::summary::mean;

use crate::curves::find::curves;
use crate::doubts::find as doubt;
use crate::figures::find::basis::{Basis, Category};
use crate::figures::find::roles::{self, Role};
use crate::figures::find::series::Figures;
use crate::figures::find::{MetricFindings, TaskFindings, best_as_printed, sums};
use crate::found::Findings;
use crate::group::each_once;
use crate::options::Options;
use crate::overview::find as conclude;
use crate::overview::find::Evidence;
use crate::rankings::find::Ranked;
use crate::rankings::find::rank::{CategoryFindings, Lead, Overall};
use crate::safety::find::AfterCut;
use crate::verdicts::find::estimate::estimates;
use crate::verdicts::find::verdict::VerdictOutcome;
use crate::verdicts::find::{Family, verdict};
use crate::{effects, figures, remarks, robustness, safety, verdicts};

/// Computes the findings of `run`.
///
/// Every metric gets estimates; intervals and verdicts are computed for judged metrics only: durable and elapsed time,
/// or the rate where a task has one, and processor time under wall time; elapsed time of mkfs, mount and umount; usable
/// space. Never fails: missing figures are in [`Findings::missing`], limits of the findings in [`Findings::remarks`].
pub fn findings(run: &RunRecord, options: &Options) -> Findings {
    let figures = Figures::new(run, options);
    let found = options.baseline.as_ref().map(|name| figures.configurations.iter().position(|known| known == name));
    let baseline = found.flatten().unwrap_or(0);
    let doubts = doubt::in_doubt(&figures);
    let family = Family::new(&figures, options);
    let families = [&family, &Family::beside(&figures, options)];
    let safety = safety::find::safety(run, &figures);
    let tasks = tasks(&figures, &families, baseline, &doubt::doubtful(&doubts), &safety, options);
    let ranked = Ranked::new(&figures, options, run.plan.seed);
    let categories = categories(&figures, &ranked, options);
    let overall = overall(&figures, &tasks, &ranked, baseline, options);
    let main = main_metric(&figures);
    let evidence = Evidence {
        figures: &figures,
        family: &family,
        tasks: &tasks,
        categories: &categories,
        overall: &overall,
        safety: &safety,
        options,
    };
    let conclusions = conclude::conclusions(&evidence);
    let remarks = remarks::find::remarks(run, &figures, options, found == Some(None));
    Findings {
        run: run.id.to_string(),
        baseline,
        repeats: run.plan.repeats,
        measured: figures.repeats(),
        level: options.level,
        matters: options.matters,
        main,
        tasks,
        categories,
        overall,
        safety,
        conclusions,
        curves: run.plan.vary.as_ref().map(|vary| curves(run, vary, &figures)),
        robustness: robustness::find::robustness(run, &figures, &family, options),
        effects: effects::find::effects(&run.plan, &figures, options),
        doubts: doubts.into_iter().map(|found| found.doubt).collect(),
        missing: figures.missing,
        remarks,
        headings: figures.configurations.iter().map(|name| mountmark_model::heading(name).into_owned()).collect(),
        configurations: figures.configurations,
    }
}

/// The configurations of `run` in the order of [`Findings::configurations`]: candidates for the baseline.
pub fn configurations(run: &RunRecord) -> Vec<String> {
    figures::find::gather::configurations(run)
}

fn tasks(
    figures: &Figures,
    families: &[&Family],
    baseline: usize,
    doubtful: &verdicts::find::estimate::Doubtful,
    safety: &[AfterCut],
    options: &Options,
) -> Vec<TaskFindings> {
    let task = |(at, task): (usize, &figures::find::series::Task)| TaskFindings {
        id: task.id.clone(),
        title: task.title.clone(),
        category: task.category.clone(),
        step: task.step,
        restarts: task.restart.is_some(),
        is_measured: task.is_measured(),
        judged_by: task.main().map(|series| series.metric),
        metrics: task
            .series
            .iter()
            .map(|series| {
                let found = families.iter().find_map(|family| Some((*family, family.find(at, series.metric.id)?)));
                let judged = found.map(|(_, judged)| judged);
                let mut found = MetricFindings {
                    metric: series.metric,
                    estimates: estimates(series, at, baseline, options.level, judged, doubtful),
                    verdict: found.and_then(|(family, judged)| verdict(figures, family, judged, options)),
                    best: Vec::new(),
                };
                found.best = best(&found);
                if task.syncs() {
                    // What its syncs took buys nothing.
                    found.best.retain(|one| !safety[*one].loses_synced());
                }
                found
            })
            .collect(),
    };
    figures.tasks.iter().enumerate().map(task).collect()
}

/// The configurations to mark as the best, see [`MetricFindings::best`].
fn best(found: &MetricFindings) -> Vec<usize> {
    let medians: Vec<Option<f64>> = (0..found.estimates.len()).map(|one| found.median(one)).collect();
    // Which of its values a median is, is chance.
    let dependent: Vec<usize> = found.dependences().map(|(one, _)| one).collect();
    let is_steady = |one: usize| !dependent.contains(&one);
    let leaders = match found.verdict.as_ref().map(|verdict| &verdict.outcome) {
        Some(VerdictOutcome::Winner { configuration }) => vec![*configuration],
        Some(VerdictOutcome::Tied { configurations }) => {
            configurations.iter().copied().filter(|one| is_steady(*one)).collect()
        }
        Some(VerdictOutcome::NoDifferenceShown { .. }) => return Vec::new(),
        Some(VerdictOutcome::NotJudged { .. }) | None => {
            return best_as_printed(found.metric, &medians).into_iter().filter(|one| is_steady(*one)).collect();
        }
    };
    // A configuration that could not be compared may be better than all others, so none is marked as the best.
    let judged: Vec<usize> =
        found.verdict.iter().flat_map(|verdict| verdict.groups.iter().flatten()).copied().collect();
    let is_beaten = best_as_printed(found.metric, &medians).iter().any(|one| !judged.contains(one));
    if is_beaten { Vec::new() } else { leaders }
}

/// The metric by which most tasks are judged. Where rates are no majority, the time metric of the other tasks.
fn main_metric(figures: &Figures) -> &'static Metric {
    let of = |step: bool| figures.tasks.iter().filter(move |task| task.step == step).filter_map(|task| task.main());
    let is_rate = |series: &&figures::find::series::Series| series.metric.id == Metric::RATE.id;
    if 2 * of(false).filter(is_rate).count() > of(false).count() {
        return &Metric::RATE;
    }
    of(false).chain(of(true)).find(|series| !is_rate(series)).map_or(&Metric::DURABLE, |series| series.metric)
}

/// The suite's categories in task order, then steps, usable space, processor time, memory.
fn categories(figures: &Figures, ranked: &Ranked, options: &Options) -> Vec<CategoryFindings> {
    let of_tasks = each_once(figures.tasks.iter().filter(|task| !task.step).map(|task| &task.category));
    let mut out = Vec::new();
    for category in of_tasks.into_iter().chain([&Category::Steps, &Category::Capacity]) {
        let of = |at: usize, metric: &str| {
            let task = &figures.tasks[at];
            task.category == *category && task.main().is_some_and(|main| main.metric.id == metric)
        };
        let basis = match category {
            Category::Capacity => Some(Basis::Space),
            Category::Steps => Some(Basis::Time),
            _ => None,
        };
        out.extend(ranking(figures, ranked, category.clone(), basis, &of, options));
    }
    for (role, category, basis) in
        [(Role::Processor, Category::Processor, Basis::Processor), (Role::Memory, Category::Memory, Basis::Memory)]
    {
        let of = |at: usize, metric: &str| !figures.tasks[at].step && roles::has(metric, role);
        out.extend(ranking(figures, ranked, category, Some(basis), &of, options));
    }
    out
}

fn ranking(
    figures: &Figures,
    ranked: &Ranked,
    category: Category,
    basis: Option<Basis>,
    of: &dyn Fn(usize, &str) -> bool,
    options: &Options,
) -> Option<CategoryFindings> {
    let series = ranked.select(of);
    if series.is_empty() {
        return None;
    }
    let ranking = ranked.ranking(&series, options.level);
    let lead = Lead::of(&ranking, options);
    let unranked = ranked.others(figures, &series, |task| task.category == category);
    let basis = basis.unwrap_or_else(|| Basis::of(ranked.named(&series)));
    Some(CategoryFindings { category, basis, ranking, lead, unranked })
}

fn overall(figures: &Figures, found: &[TaskFindings], ranked: &Ranked, baseline: usize, options: &Options) -> Overall {
    let count = figures.configurations.len();
    let elapsed: Vec<_> =
        found.iter().filter(|task| !task.step).filter_map(|task| task.figures(&Metric::ELAPSED)).collect();
    let composite = sums(&elapsed, count).into_iter().map(|sum| sum.filter(|sum| sum.is_finite()));
    let series = ranked.select(|at, metric| {
        let task = &figures.tasks[at];
        !task.step && task.main().is_some_and(|main| main.metric.id == metric)
    });
    let main: Vec<_> = ranked.named(&series).filter_map(|(at, _)| figures.tasks[at].main()).collect();
    let geometric_mean = (0..count).map(|configuration| {
        let logs: Option<Vec<f64>> = main
            .iter()
            .map(|series| {
                let ratio = verdicts::find::estimate::ratio(series, configuration, baseline)?;
                let ratio = if series.metric.better == mountmark_model::Better::Higher { 1.0 / ratio } else { ratio };
                Some(libm::log(ratio)).filter(|log| log.is_finite())
            })
            .collect();
        mean(&logs?).map(libm::exp)
    });
    let ranking = ranked.ranking(&series, options.level);
    Overall {
        composite: composite.collect(),
        geometric_mean: geometric_mean.collect(),
        basis: Basis::of(ranked.named(&series)),
        lead: Lead::of(&ranking, options),
        unranked: ranked.others(figures, &series, |_| true),
        ranking,
    }
}
