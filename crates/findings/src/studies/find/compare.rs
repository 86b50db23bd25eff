//! Compares a run with a study.

use libm::log;
use mountmark_model::{Better, Figure, Metric, Printed, Study, StudyRun, protocol_task};
use mountmark_record::RunRecord;
use mountmark_stats::bootstrap;
use mountmark_stats::interval::Interval;
use mountmark_stats::random::Random;
use mountmark_stats::summary::{geometric_mean, mean};

use crate::group::each_once;
use crate::studies::find::table::title;
use crate::studies::find::warning::warnings;
use crate::studies::find::{
    Agreement, ComparedFigure, NotMeasured, OverallComparison, RankMove, RatioChange, Single, StudyComparison, Table,
    TestComparison,
};

/// Number of moves and of changes to keep.
const NAMED: usize = 8;

/// Changes of the ratio to the group below this factor are omitted.
const CHANGE: f64 = 1.1;

/// Number of resamplings of tests behind the interval of the mean tau.
pub const RESAMPLES: usize = 2000;

/// Compares a run with one run of a study: `study_run` by id, or the study's first if `None`. Returns `None` if the
/// study has no such run.
pub fn compare_study(run: &RunRecord, study: &Study, study_run: Option<&str>) -> Option<StudyComparison> {
    let theirs = study.run(study_run)?;
    let (published, measured) = (Table::of_study(study, &theirs.id), Table::beside(&[study], run));
    let has_figures = |table: &Table, fs: &String| table.filesystems.contains(fs);
    let common: Vec<String> = theirs.filesystems.iter().filter(|fs| has_figures(&measured, fs)).cloned().collect();
    let without = |names: &[String], other: &[String]| -> Vec<String> {
        names.iter().filter(|name| !other.contains(name)).cloned().collect()
    };
    let sides = Sides { study, theirs, published: &published, measured: &measured, common: &common };
    // Task ids of another suite may mean other work; protocol steps are the same in every suite.
    let same_suite = study.is_repeated_by(&run.plan.suite);
    let tests = if common.is_empty() { Vec::new() } else { sides.tests(same_suite) };
    let metrics: Vec<&'static Metric> =
        Metric::ALL.iter().filter(|metric| tests.iter().any(|test| test.metric == metric.id)).collect();
    let overall = metrics.iter().map(|metric| overall(metric, &tests, common.len(), run.plan.seed)).collect();
    Some(StudyComparison {
        study: study.name.clone(),
        source: source(study),
        study_run: theirs.id.clone(),
        study_run_about: theirs.about.clone(),
        other_study_runs: study.runs.iter().filter(|other| other.id != theirs.id).map(|run| run.id.clone()).collect(),
        run: run.id.as_str().to_owned(),
        warnings: warnings(run, study, same_suite),
        only_published: without(&theirs.filesystems, &measured.filesystems),
        only_measured: without(&measured.filesystems, &theirs.filesystems),
        moves: moves(&tests, &common),
        changes: changes(&tests, &common),
        not_measured: sides.not_measured(same_suite),
        single: sides.single(same_suite),
        curves: sides.curves(same_suite),
        decisions: decisions(run, &tests),
        tests,
        overall,
        common,
        inconsistencies: study.inconsistencies.clone(),
    })
}

fn source(study: &Study) -> String {
    let authors = if study.authors.is_empty() { String::new() } else { format!("{}: ", study.authors.join(" and ")) };
    format!("{authors}{}, {} ({})", study.title, study.published, study.year)
}

/// The suite's decisions that name one of the tests that moved.
fn decisions(run: &RunRecord, tests: &[TestComparison]) -> Vec<String> {
    let common = tests.first().map_or(0, |test| test.entries.len());
    let names: Vec<String> = (0..common).map(|place| place.to_string()).collect();
    let moved: Vec<String> = moves(tests, &names)
        .into_iter()
        .map(|found| found.task)
        .chain(changes(tests, &names).into_iter().map(|found| found.task))
        .collect();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let names_one =
        |decision: &str| decision.split(|letter| !is_word(letter)).any(|word| moved.iter().any(|task| task == word));
    run.plan.decisions.iter().filter(|decision| names_one(decision)).cloned().collect()
}

pub(crate) struct Sides<'a> {
    pub study: &'a Study,
    pub theirs: &'a StudyRun,
    pub published: &'a Table,
    pub measured: &'a Table,
    common: &'a [String],
}

impl Sides<'_> {
    /// Tasks of the study in the order of its figures, without duplicates; steps come first.
    pub fn tasks(&self) -> Vec<&str> {
        let figures = || self.study.figures.iter().filter(|figure| figure.run == self.theirs.id);
        let steps = protocol_task::ALL.iter().copied().filter(|step| figures().any(|figure| figure.task == *step));
        each_once(steps.chain(figures().map(|figure| figure.task.as_str())))
    }

    fn tests(&self, same_suite: bool) -> Vec<TestComparison> {
        let mut out = Vec::new();
        for metric in Metric::ALL {
            for task in self.tasks() {
                let comparable = same_suite || protocol_task::is_step(task);
                let both = |fs: &String| {
                    self.published.mean(fs, task, metric.id).is_some()
                        && self.measured.mean(fs, task, metric.id).is_some()
                };
                if comparable && self.common.iter().filter(|fs| both(fs)).count() >= 2 {
                    out.push(self.test(task, metric));
                }
            }
        }
        out
    }

    fn test(&self, task: &str, metric: &Metric) -> TestComparison {
        let figures: Vec<(Option<f64>, Option<f64>)> = self
            .common
            .iter()
            .map(|fs| (self.published.mean(fs, task, metric.id), self.measured.mean(fs, task, metric.id)))
            .collect();
        let pairs: Vec<(f64, f64)> = figures.iter().filter_map(|(first, second)| first.zip(*second)).collect();
        let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let groups = (geometric_mean(&first), geometric_mean(&second));
        let entries = figures
            .iter()
            .map(|(published, measured)| {
                let ranked = published.zip(*measured);
                ComparedFigure {
                    published: *published,
                    measured: *measured,
                    published_rank: ranked.map(|(value, _)| rank(value, &first, metric.better)),
                    measured_rank: ranked.map(|(_, value)| rank(value, &second, metric.better)),
                    published_ratio: ranked.and_then(|(value, _)| Some(value / groups.0?)),
                    measured_ratio: ranked.and_then(|(_, value)| Some(value / groups.1?)),
                }
            })
            .collect();
        let theirs = self.study.figures.iter().find(|figure| figure.task == task && figure.metric == metric.id);
        TestComparison {
            task: task.to_owned(),
            title: self.title(task),
            metric: metric.id.to_owned(),
            unit: theirs.map_or_else(|| metric.unit_text().to_owned(), |figure| figure.unit.clone()),
            better: metric.better,
            entries,
            agreement: Agreement::of(&pairs),
        }
    }

    /// The study's title of a task, else the run's.
    pub fn title(&self, task: &str) -> String {
        let known = self.study.tasks.contains_key(task);
        let own = self.measured.tasks.iter().find(|(id, _)| id == task).filter(|_| !known);
        own.map_or_else(|| title(self.study, task), |(_, title)| title.clone())
    }

    /// Figures that only one file system has on both sides: there is nothing to rank.
    fn single(&self, same_suite: bool) -> Vec<Single> {
        let mut out = Vec::new();
        for metric in Metric::ALL {
            for task in self.tasks().into_iter().filter(|task| same_suite || protocol_task::is_step(task)) {
                let of = |table: &Table, fs: &String| table.mean(fs, task, metric.id);
                let mut both =
                    self.common.iter().filter_map(|fs| Some((fs, of(self.published, fs)?, of(self.measured, fs)?)));
                if let (Some((fs, published, measured)), None) = (both.next(), both.next()) {
                    let (task, fs) = (task.to_owned(), fs.clone());
                    out.push(Single { task, fs, metric, published, measured });
                }
            }
        }
        out
    }

    /// Figures of the study without a counterpart in the run, by task; excludes file systems that the run lacks.
    fn not_measured(&self, same_suite: bool) -> Vec<NotMeasured> {
        let mut out = Vec::new();
        for task in self.tasks() {
            let mut metrics: Vec<String> = Vec::new();
            let printed = |figure: &&Figure| {
                let is_ours = Metric::find(&figure.metric).is_some() && matches!(figure.value, Printed::Number(_));
                figure.run == self.theirs.id && figure.task == task && is_ours
            };
            for figure in self.study.figures.iter().filter(printed) {
                let comparable = same_suite || protocol_task::is_step(task);
                let has = comparable && self.measured.has(task, &figure.metric);
                if !has && !metrics.contains(&figure.metric) {
                    metrics.push(figure.metric.clone());
                }
            }
            if !metrics.is_empty() {
                out.push(NotMeasured { task: task.to_owned(), title: title(self.study, task), metrics });
            }
        }
        out
    }
}

/// 1 is the best; equal values share the mean of their ranks.
fn rank(value: f64, all: &[f64], better: Better) -> f64 {
    let ahead = all.iter().filter(|other| match better {
        Better::Lower => **other < value,
        Better::Higher => **other > value,
    });
    let equal = all.iter().filter(|other| **other == value).count();
    ahead.count() as f64 + (equal as f64 + 1.0) / 2.0
}

fn overall(metric: &Metric, tests: &[TestComparison], filesystems: usize, seed: u64) -> OverallComparison {
    let tests: Vec<&TestComparison> = tests.iter().filter(|test| test.metric == metric.id).collect();
    let taus: Vec<f64> = tests.iter().filter_map(|test| test.agreement.tau).collect();
    let sum = |pick: fn(&Agreement) -> usize| tests.iter().map(|test| pick(&test.agreement)).sum();
    let score = |pick: fn(&ComparedFigure) -> Option<f64>| -> Vec<Option<f64>> {
        (0..filesystems)
            .map(|fs| {
                // Of all tests or of none: a file system that failed a slow test would look better for it.
                let ratios: Option<Vec<f64>> = tests.iter().map(|test| pick(&test.entries[fs])).collect();
                ratios.filter(|ratios| !ratios.is_empty()).and_then(|ratios| geometric_mean(&ratios))
            })
            .collect()
    };
    let (published_score, measured_score) = (score(|entry| entry.published_ratio), score(|entry| entry.measured_ratio));
    let pairs: Vec<(f64, f64)> =
        published_score.iter().zip(&measured_score).filter_map(|(first, second)| first.zip(*second)).collect();
    OverallComparison {
        metric: metric.id.to_owned(),
        tests: taus.len(),
        mean_tau: mean(&taus),
        mean_tau_interval: resampled(&taus, seed, metric.id),
        same: sum(|agreement| agreement.same),
        reversed: sum(|agreement| agreement.reversed),
        tied: sum(|agreement| agreement.tied),
        published_score,
        measured_score,
        agreement: Agreement::of(&pairs),
    }
}

fn resampled(taus: &[f64], seed: u64, name: &str) -> Option<Interval> {
    if taus.len() < 3 {
        return None;
    }
    let mut random = Random::named(seed, name);
    let mut places = Vec::new();
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            bootstrap::draw(&mut random, taus.len(), &mut places);
            places.iter().map(|place| taus[*place]).sum::<f64>() / taus.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    bootstrap::percentile(&means, 0.95)
}

fn moves(tests: &[TestComparison], common: &[String]) -> Vec<RankMove> {
    let mut out = Vec::new();
    for test in tests {
        for (fs, entry) in common.iter().zip(&test.entries) {
            let ranks = entry.published_rank.zip(entry.measured_rank).filter(|(from, to)| from != to);
            if let (Some((from, to)), Some(published), Some(measured)) = (ranks, entry.published, entry.measured) {
                out.push(RankMove {
                    task: test.task.clone(),
                    title: test.title.clone(),
                    metric: test.metric.clone(),
                    fs: fs.clone(),
                    from,
                    to,
                    of: test.agreement.items,
                    published,
                    measured,
                });
            }
        }
    }
    // Of equal moves, those of the first tests in report order. Moves by less than two places are omitted.
    out.retain(|found: &RankMove| (found.to - found.from).abs() >= 2.0);
    out.sort_by(|a, b| (b.to - b.from).abs().total_cmp(&(a.to - a.from).abs()));
    out.truncate(NAMED);
    out
}

fn changes(tests: &[TestComparison], common: &[String]) -> Vec<RatioChange> {
    let mut out = Vec::new();
    for test in tests {
        for (fs, entry) in common.iter().zip(&test.entries) {
            if let Some((from, to)) = entry.published_ratio.zip(entry.measured_ratio) {
                let factor = to / from;
                let (task, title, metric) = (test.task.clone(), test.title.clone(), test.metric.clone());
                out.push(RatioChange { task, title, metric, fs: fs.clone(), from, to, factor });
            }
        }
    }
    let far = |change: &RatioChange| log(change.factor).abs();
    out.retain(|change| change.factor.is_finite() && far(change) >= log(CHANGE));
    out.sort_by(|a, b| far(b).total_cmp(&far(a)));
    out.truncate(NAMED);
    out
}
