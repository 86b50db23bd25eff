//! The table of tests x file systems in the terminal, Markdown, the page, its script and the picture.
//!
//! Every figure is a median over repeats, formatted here and nowhere else. Judged metrics, best figures and sums come
//! from the findings.

use mountmark_cells::Plan;
use mountmark_document::number::ratio;
use mountmark_model::Metric;

use crate::figures::find::{MetricFindings, TaskFindings, Total};
use crate::found::Findings;
use crate::matrix::say as words;
use crate::view::{View, heat};

/// The metric that a matrix shows of each task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// The metric by which it is judged, which may differ between tasks; before it what its syncs take, if it syncs.
    Judged,
    Metric(&'static Metric),
}

impl Choice {
    /// The default: the metrics by which tasks are judged.
    pub(crate) fn usual(findings: &Findings) -> Choice {
        let main = findings.main;
        let is_mixed = findings
            .suite()
            .any(|task| task.judged_by.is_some_and(|metric| metric.id != main.id) || syncs_before(task).is_some());
        if is_mixed { Choice::Judged } else { Choice::Metric(main) }
    }

    /// All choices with figures in a run; the default first, if tasks are judged by different metrics.
    pub(crate) fn all(findings: &Findings) -> Vec<Choice> {
        let has = |metric: &&Metric| findings.tasks.iter().any(|task| task.figures(metric).is_some());
        let metrics = Metric::ALL.iter().filter(has).map(Choice::Metric);
        let mixed = Some(Choice::usual(findings)).filter(|choice| *choice == Choice::Judged);
        mixed.into_iter().chain(metrics).collect()
    }

    /// What is shown before [`Choice::figures`] of a task.
    fn before(self, task: &TaskFindings) -> Option<&MetricFindings> {
        syncs_before(task).filter(|_| self == Choice::Judged)
    }

    fn figures<'t>(self, task: &'t TaskFindings, main: &Metric) -> Option<&'t MetricFindings> {
        match self {
            Choice::Judged if !task.step => task.judged(),
            // Avoid mixing metrics in one table.
            Choice::Judged => task.figures(main),
            Choice::Metric(metric) => task.figures(metric),
        }
    }
}

/// What the syncs of a task take, if it is judged by something else: that does not tell whether a sync is included.
fn syncs_before(task: &TaskFindings) -> Option<&MetricFindings> {
    let is_judged_by = task.judged_by.is_some_and(|metric| metric.id == Metric::SYNC_LATENCY_MEAN.id);
    task.figures(&Metric::SYNC_LATENCY_MEAN).filter(|_| !task.step && !is_judged_by)
}

pub(crate) struct Matrix<'a> {
    plan: &'a Plan,
    pub choice: Choice,
    /// The metric of all rows, with the rate's unit; `None` if they differ.
    pub metric: Option<&'static Metric>,
    pub rows: Vec<Row<'a>>,
    /// Sums over the suite's tasks, if meaningful.
    pub total: Option<TotalRow>,
}

/// One figure of a task or step.
pub(crate) struct Row<'a> {
    pub task: &'a TaskFindings,
    /// Index of the task in the findings.
    pub position: usize,
    pub found: Option<&'a MetricFindings>,
    /// By configuration; `None` if there is no figure.
    pub cells: Vec<Option<Figure>>,
}

impl Row<'_> {
    fn is_judged(&self) -> bool {
        self.task.judged_by.is_some_and(|by| self.found.is_some_and(|found| found.metric.id == by.id))
    }

    /// Whether it shows another figure than the one that is judged, and nobody asked for that.
    fn is_judged_otherwise(&self, choice: Choice) -> bool {
        let is_asked = !self.task.step && choice != Choice::Judged;
        self.task.judged_by.is_some() && self.found.is_some() && !self.is_judged() && !is_asked
    }
}

pub(crate) struct Figure {
    /// The formatted median, without a unit.
    pub text: String,
    /// Its formatted ratio to the baseline.
    pub ratio: Option<String>,
    pub is_best: bool,
    pub heat: usize,
}

pub(crate) struct TotalRow {
    /// How many tests: "20", "20 of 21".
    pub tests: String,
    /// By configuration: the sum and its ratio to the baseline's.
    pub cells: Vec<Option<(String, Option<String>)>>,
    /// Configurations whose sum prints as the best.
    pub best: Vec<usize>,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(view: &View<'a>, choice: Choice) -> Matrix<'a> {
        let findings = view.findings();
        let tasks = findings.tasks.iter().enumerate().flat_map(|(at, task)| {
            let before = choice.before(task).map(|found| (at, task, Some(found)));
            before.into_iter().chain([(at, task, choice.figures(task, findings.main))])
        });
        // A test that every file system failed has a row too.
        let shown = tasks.filter(|(_, task, found)| found.is_some() || (!task.step && !task.is_measured));
        let row = |(position, task, found): (usize, &'a TaskFindings, Option<&'a MetricFindings>)| {
            let cells = (0..findings.configurations.len()).map(|one| figure(found?, one)).collect();
            Row { task, position, found, cells }
        };
        let mut rows: Vec<Row> = shown.map(row).collect();
        if rows.iter().all(|row| row.found.is_none()) {
            rows.clear();
        }
        // One star for one question.
        if rows.iter().any(Row::is_judged) {
            let others = rows.iter_mut().filter(|row| row.is_judged_otherwise(choice));
            others.flat_map(|row| row.cells.iter_mut().flatten()).for_each(|figure| {
                (figure.is_best, figure.heat) = (false, 0);
            });
        }
        let mut metrics = rows.iter().filter_map(|row| Some(row.found?.metric));
        let first = metrics.next();
        let metric = first.filter(|first| metrics.all(|other| other == *first));
        let plan = &view.run().plan;
        // A sum over the points of a curve is of no use to anybody.
        let total = metric.filter(|_| plan.vary.is_none()).and_then(|metric| total(findings, metric));
        Matrix { plan, choice, metric, rows, total }
    }

    /// The figures that lack repeats: "003 on ext4 (1 of 2)".
    pub(crate) fn parts(&self, findings: &Findings) -> Vec<String> {
        let part = |row: &Row, one: usize| {
            let n = row.found?.estimates.get(one)?.as_ref()?.summary.n;
            let text = || format!("{} on {} ({n} of {})", row.task.id, findings.headings[one], findings.measured);
            (n < findings.measured).then(text)
        };
        let all = 0..findings.headings.len();
        self.rows.iter().flat_map(|row| all.clone().filter_map(|one| part(row, one))).collect()
    }

    /// The metric and its unit, as the head of the first column.
    pub(crate) fn head(&self) -> String {
        self.of().map_or(words::JUDGED.into(), words::head)
    }

    /// What the table shows, and of which rows it shows another figure than the one that is judged.
    pub(crate) fn caption(&self, repeats: Option<&str>) -> String {
        words::caption(self.of(), repeats) + &self.judged_otherwise().map_or(String::new(), |said| format!(" {said}"))
    }

    /// Names the steps that are judged, but not by the metric that is shown of them, while other rows are.
    pub(crate) fn judged_otherwise(&self) -> Option<String> {
        let is_other = |row: &&Row| row.task.step && row.is_judged_otherwise(self.choice);
        let steps: Vec<&TaskFindings> = self.rows.iter().filter(is_other).map(|row| row.task).collect();
        let by = steps.first()?.judged_by?;
        let mut names: Vec<&str> = steps.iter().map(|task| self.plan.of_recorded(&task.id).0).collect();
        names.dedup();
        self.rows.iter().any(Row::is_judged).then(|| words::judged_otherwise(&names, by))
    }

    /// Suffix of a row's name if rows differ: `durable, s`, or the unit alone.
    pub(crate) fn unit(&self, row: &Row) -> Option<String> {
        let metric = row.found.filter(|_| self.metric.is_none())?.metric;
        Some(match self.choice {
            Choice::Judged => format!("{}, {}", metric.title, metric.unit_text()),
            Choice::Metric(_) => metric.unit_text().into(),
        })
    }

    /// The metric of all rows, or the one that was asked for; `None` if rows differ.
    pub(crate) fn of(&self) -> Option<&'static Metric> {
        match (self.metric, self.choice) {
            (Some(metric), _) | (None, Choice::Metric(metric)) => Some(metric),
            (None, Choice::Judged) => None,
        }
    }
}

fn figure(found: &MetricFindings, configuration: usize) -> Option<Figure> {
    let estimate = found.estimates.get(configuration)?.as_ref()?;
    Some(Figure {
        text: found.metric.format(estimate.summary.median),
        ratio: estimate.ratio.map(ratio),
        is_best: found.best.contains(&configuration),
        heat: heat(found, configuration),
    })
}

fn total(findings: &Findings, metric: &'static Metric) -> Option<TotalRow> {
    let Total { tasks, sums, ratios, best } = findings.total(metric, |_| true);
    if tasks < 2 {
        return None;
    }
    let cells = sums.iter().zip(&ratios).map(|(sum, times)| Some((metric.format((*sum)?), times.map(ratio))));
    let without = findings.suite().filter(|task| !task.is_measured).count();
    let tests = if without > 0 { format!("{tasks} of {}", tasks + without) } else { tasks.to_string() };
    Some(TotalRow { tests, cells: cells.collect(), best })
}
