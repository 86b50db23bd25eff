//! The figures of one run: tests x file systems for people, every sample for programs.

pub(crate) mod about;
mod gauges;
pub(crate) mod list;
mod notes;
pub(crate) mod outputs;
mod samples;

use mountmark_document::forms::{Block, Gauge, Last, Mark, Object, Rows, Subject, Table};
use mountmark_document::text::BEST;
use mountmark_model::{Metric, heading, protocol_task};
use mountmark_record::RunRecord;

use crate::analysis::findings;
use crate::found::Findings;
use crate::matrix::say as words;
use crate::matrix::show::{Choice, Matrix, Row};
use crate::run::show::about::about;
use crate::view::{Report, View, label};
use crate::{curves, options, safety};
use notes::{Notes, marks};

/// One run, by one metric or by the metrics that judge its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub run: &'a RunRecord,
    /// The metric of tables; `None`: the one by which each test is judged. Rows and keys contain all metrics.
    pub metric: Option<&'static Metric>,
}

impl Subject for Run<'_> {
    const COMMAND: &'static str = "show";
    const NAME: &'static str = "the figures of a run";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> anyhow::Result<()>> = Some(samples::rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> anyhow::Result<()>> = Some(samples::object);
    const GAUGES: Option<fn(&Self) -> Vec<Gauge>> = Some(gauges::gauges);
}

fn parts(subject: &Run) -> Vec<Block> {
    let run = subject.run;
    // A table shows no ranking, and only its stability needs resamplings; it shows one metric, usable space beside it, and
    // what its syncs are worth.
    let shown = subject.metric.into_iter().chain(ROOM.map(|(metric, _)| metric));
    let metrics = shown.chain(safety::find::SHOWING).collect();
    let options = options::Options { resamples: 0, metrics: Some(metrics), ..options::Options::default() };
    let found = findings(run, &options);
    let report = Report::of(run, &found);
    let view = View::new(&report, 0, 1);
    let mut out = about(run);
    out.extend(table(&view, subject.metric.map_or_else(|| Choice::usual(&found), Choice::Metric)));
    out.extend(curves::show::cliffs(&found));
    out
}

/// The matrix with its notes, which explain missing figures.
pub(crate) fn table(view: &View, choice: Choice) -> Vec<Block> {
    let (run, findings) = (view.run(), view.findings());
    let matrix = Matrix::new(view, choice);
    let mut notes = Notes::new(run);
    let columns: Vec<String> = findings
        .configurations
        .iter()
        .map(|name| format!("{}{}", heading(name), marks(&notes.of_column(name))))
        .collect();
    if matrix.rows.is_empty() || columns.is_empty() {
        let mut out = vec![Block::Text(words::no_figure(&matrix.head()))];
        out.extend(notes.into_parts());
        return out;
    }
    let has_spread = findings.measured > 1;
    let rows = joined(&matrix.rows, |row| cells(view, &matrix, row, &mut notes, has_spread));
    let last = if has_spread { Last::Repeated } else { Last::Figure };
    let mut table = Table::new(std::iter::once(matrix.head()).chain(columns), rows, 1, last);
    if has_spread {
        table.head.push("spread\n%".into());
    }
    total(&mut table, &matrix, has_spread);
    room(&mut table, findings, choice, has_spread);
    if let Some(mut row) = safety::say::row(findings) {
        row.extend(has_spread.then(String::new));
        table.rows.push(row);
    }
    align(&mut table);
    let mut out = vec![Block::Table(table)];
    out.extend(legend(findings, &matrix, has_spread));
    out.extend(notes.into_parts());
    out.extend(safety::say::beside(findings).into_iter().map(Block::Item));
    out
}

/// Tasks in a row that nothing measured, for one reason, beyond which they share one line of the table.
const ALIKE: usize = 2;

/// A line for each row, where neighbours without any figure and with the same marks share one: what is skipped by the
/// dozen must not hide what was measured.
fn joined(rows: &[Row], mut cells: impl FnMut(&Row) -> Vec<String>) -> Vec<Vec<String>> {
    let lines: Vec<(&Row, Vec<String>)> = rows.iter().map(|row| (row, cells(row))).collect();
    let is_empty = |row: &Row| row.cells.iter().all(Option::is_none);
    let alike = lines.chunk_by(|(row, line), (next, other)| is_empty(row) && is_empty(next) && line[1..] == other[1..]);
    let told = |alike: &[(&Row, Vec<String>)]| match alike {
        [(first, line), .., (last, _)] if alike.len() > ALIKE => {
            let name = words::alike(&first.task.id, &last.task.id, alike.len());
            vec![[&[name], &line[1..]].concat()]
        }
        _ => alike.iter().map(|(_, line)| line.clone()).collect(),
    };
    alike.flat_map(told).collect()
}

fn cells(view: &View, matrix: &Matrix, row: &Row, notes: &mut Notes, has_spread: bool) -> Vec<String> {
    let unit = matrix.unit(row).map_or(String::new(), |unit| format!(" ({unit})"));
    let findings = view.findings();
    let mut out = vec![format!("{}{unit}", label(row.task))];
    for (configuration, cell) in row.cells.iter().enumerate() {
        let name = &findings.configurations[configuration];
        let text = match cell {
            Some(figure) => marked(&figure.text, figure.is_best),
            None => view.trouble(configuration, &row.task.id).unwrap_or("-").into(),
        };
        out.push(text + &marks(&notes.of_cell(name, &row.task.id, cell.is_some())));
    }
    if has_spread {
        out.push(spread(row.found.and_then(|found| found.spread())));
    }
    out
}

fn spread(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{:.2}", 100.0 * share))
}

fn marked(text: &str, is_best: bool) -> String {
    if is_best { format!("{BEST}{text}") } else { text.to_owned() }
}

fn total(table: &mut Table, matrix: &Matrix, has_spread: bool) {
    let Some(total) = &matrix.total else { return };
    let cell = |(at, cell): (usize, &Option<(String, _)>)| match cell {
        Some((text, _)) => marked(text, total.best.contains(&at)),
        None => "-".into(),
    };
    let mut row = vec![format!("total of {} tasks", total.tests)];
    row.extend(total.cells.iter().enumerate().map(cell));
    row.extend(has_spread.then(String::new));
    table.rows.push(row);
}

const ROOM: [(&Metric, &str); 2] =
    [(&Metric::CAPACITY, "free after mkfs (%)"), (&Metric::CAPACITY_RESIDUAL, "free after removal (%)")];

/// Adds usable space, which the studies print beside the times.
fn room(table: &mut Table, findings: &Findings, choice: Choice, has_spread: bool) {
    let is_time = |metric: &Metric| [Metric::ELAPSED.id, Metric::DURABLE.id].contains(&metric.id);
    if !matches!(choice, Choice::Metric(metric) if is_time(metric)) {
        return;
    }
    let Some(capacity) = findings.tasks.iter().find(|task| task.step && task.id == protocol_task::CAPACITY) else {
        return;
    };
    for (metric, label) in ROOM {
        let Some(found) = capacity.figures(metric) else { continue };
        let mut row = vec![label.to_owned()];
        row.extend((0..findings.configurations.len()).map(|one| {
            let text = found.median(one).map(|value| metric.format(value));
            text.map_or("-".into(), |text| marked(&text, found.best.contains(&one)))
        }));
        row.extend(has_spread.then(|| spread(found.spread())));
        table.rows.push(row);
    }
}

/// Aligns figures even if some have marks after them.
fn align(table: &mut Table) {
    let is_figure = |text: &str| text.trim_start_matches(BEST).starts_with(|letter: char| letter.is_ascii_digit());
    let split = |text: &str| text.find('[').unwrap_or(text.len());
    for column in table.keys..table.head.len() {
        let marks = table.rows.iter().filter(|row| is_figure(&row[column]));
        let behind = marks.map(|row| row[column].len() - split(&row[column])).max().unwrap_or(0);
        for row in table.rows.iter_mut().filter(|row| is_figure(&row[column])) {
            let cell = &mut row[column];
            let lacking = behind - (cell.len() - split(cell));
            *cell += &"\u{a0}".repeat(lacking);
        }
    }
}

/// Explains the marks and the figures.
fn legend(findings: &Findings, matrix: &Matrix, has_spread: bool) -> Vec<Block> {
    let mut out = vec![Block::Text(words::legend(matrix.of()))];
    if matrix.rows.iter().any(|row| row.cells.iter().flatten().any(|figure| figure.is_best)) {
        out.push(Block::Legend(Mark::Best, words::best_means(findings).into()));
    }
    out.extend(matrix.judged_otherwise().map(Block::Text));
    if has_spread {
        out.push(Block::Text(words::SPREAD.into()));
    }
    if matrix.rows.iter().any(|row| row.cells.iter().any(Option::is_none)) {
        out.push(Block::Legend(Mark::NoFigure, "no figure".into()));
    }
    out
}
