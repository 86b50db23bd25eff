//! Tasks x configurations for one metric: what tables show, whatever draws them.

use std::collections::{BTreeMap, HashMap};

use mountmark_analyse::stats::summary::median_of;
use mountmark_model::{Better, Metric, Outcome, Unit, protocol_task};
use mountmark_record::{CellRecord, RunRecord};

use crate::text::{clean, titled};

/// One figure or the lack of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// A figure, `failed` or `-`.
    pub text: String,
    /// The mean behind the text.
    pub value: Option<f64>,
    /// Whether no other figure of its row is printed better.
    pub best: bool,
    /// Positions in [`Matrix::notes`].
    pub notes: Vec<usize>,
    /// Standard deviation over mean, of repeats.
    spread: Option<f64>,
}

/// One task or protocol step.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub label: String,
    /// One for each column.
    pub entries: Vec<Entry>,
    /// The largest spread of its entries, in per cent.
    pub spread: Option<f64>,
}

/// One configuration.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    /// Positions in [`Matrix::notes`].
    pub notes: Vec<usize>,
}

/// The whole.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub metric: &'static Metric,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Sentences about what is missing.
    pub notes: Vec<String>,
    /// Configurations that were not tried, each with its sentence: no column of dashes says more.
    pub skipped: Vec<String>,
    /// Whether any figure is a mean of several repeats.
    pub has_spread: bool,
}

/// `[a]`, `[b]`, ... `[z]`, `[aa]`: not figures, which would be taken for part of the value beside them.
pub(crate) fn mark(note: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = note + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    format!("[{}]", letters.iter().rev().collect::<String>())
}

pub(crate) fn marks(notes: &[usize]) -> String {
    notes.iter().map(|note| mark(*note)).collect()
}

/// The head of the first column.
pub(crate) fn head(metric: &Metric) -> String {
    format!("{} ({})", metric.title, metric.unit_text())
}

/// What stands under a matrix to explain it, the notes last.
pub(crate) fn legend(matrix: &Matrix, best: &str) -> Vec<String> {
    let better = match matrix.metric.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    };
    let mut out = vec![format!("{}, {better}: {}", head(matrix.metric), matrix.metric.about)];
    let has = |text: &str| matrix.rows.iter().any(|row| row.entries.iter().any(|entry| entry.text == text));
    if matrix.rows.iter().any(|row| row.entries.iter().any(|entry| entry.best)) {
        out.push(format!("{best} the best of its row, and what prints as the same figure"));
    }
    if matrix.has_spread {
        out.push(
            "Figures are means over repeats and iterations. spread %: the largest standard deviation over repeats among \
             the row's figures, in per cent of their mean."
                .into(),
        );
    }
    if has("-") {
        out.push("- no figure".into());
    }
    out.extend(matrix.notes.iter().enumerate().map(|(index, note)| format!("{} {note}", mark(index))));
    out.extend(matrix.skipped.iter().cloned());
    out
}

/// The matrix of a run for `metric`. The unit of rates stands in the head if all rows have one, else behind each label.
pub(crate) fn matrix(run: &RunRecord, metric: &'static Metric) -> Matrix {
    let mut head = metric;
    let mut builder = Builder::new(run, metric);
    let columns = builder.columns();
    let mut rows = Vec::new();
    let steps_before = [(protocol_task::MKFS, "mkfs"), (protocol_task::MOUNT, "mount")];
    let steps_after =
        [(protocol_task::UMOUNT, "umount"), (protocol_task::FSCK, "fsck"), (protocol_task::CAPACITY, "capacity")];
    for (task, label) in steps_before {
        rows.extend(builder.step(task, label));
    }
    // A task that no configuration got through belongs into the table all the same, as failed or skipped.
    if run.plan.tasks.iter().any(|(task, _)| builder.has_samples(task, metric)) || builder.is_main() {
        // A task that is measured, but not by this metric, has no row: a program has times and its figures rates.
        let has_row = |id: &str| builder.has_samples(id, metric) || !builder.is_measured(id);
        let shown: Vec<&(String, String)> = run.plan.tasks.iter().filter(|(id, _)| has_row(id)).collect();
        let of = |id: &str| if metric.id == Metric::RATE.id { mountmark_analyse::rate_of(run, id) } else { metric };
        let units: Vec<&'static Metric> = shown.iter().map(|(id, _)| of(id)).collect();
        let is_one_unit = units.windows(2).all(|pair| pair[0].unit_text() == pair[1].unit_text());
        if let Some(first) = units.first().filter(|_| is_one_unit) {
            head = first;
        }
        let tasks: Vec<Row> = shown
            .into_iter()
            .zip(units)
            .map(|((id, title), unit)| {
                let name = titled(id, title);
                let label = if is_one_unit { name } else { format!("{name} ({})", unit.unit_text()) };
                builder.row(id, clean(&label), metric)
            })
            .collect();
        let total = builder.total(&tasks);
        rows.extend(tasks);
        for (task, label) in steps_after {
            rows.extend(builder.step(task, label));
        }
        rows.extend(total);
    } else {
        for (task, label) in steps_after {
            rows.extend(builder.step(task, label));
        }
    }
    // The studies print usable space beside the times.
    if builder.is_main() {
        for (extra, label) in
            [(&Metric::CAPACITY, "usable after mkfs (%)"), (&Metric::CAPACITY_RESIDUAL, "usable after removal (%)")]
        {
            if builder.has_samples(protocol_task::CAPACITY, extra) {
                rows.push(builder.row(protocol_task::CAPACITY, label.into(), extra));
            }
        }
    }
    // Nothing but dashes is no table.
    if rows.iter().all(|row| row.entries.iter().all(|entry| entry.text == "-" && entry.notes.is_empty())) {
        rows.clear();
    }
    let has_spread = rows.iter().any(|row| row.spread.is_some());
    Matrix { metric: head, columns, rows, skipped: builder.skipped_sentences(), notes: builder.notes, has_spread }
}

struct Builder<'a> {
    run: &'a RunRecord,
    metric: &'static Metric,
    names: Vec<&'a str>,
    /// For each configuration its cells.
    cells: Vec<Vec<&'a CellRecord>>,
    /// Sum and number of the samples of a cell, by position of the cell's record, task and metric.
    sums: HashMap<(u32, &'a str, &'a str), (f64, u32)>,
    notes: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(run: &'a RunRecord, metric: &'static Metric) -> Builder<'a> {
        let mut names: Vec<&str> = Vec::new();
        // The user's order; whatever is there beyond it is shown too rather than lost.
        let plan = &run.plan;
        for name in plan.configurations.iter().chain(run.cells.iter().map(|cell| &cell.configuration)) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let cells =
            names.iter().map(|name| run.cells.iter().filter(|cell| cell.configuration == *name).collect()).collect();
        let wanted = [metric.id, Metric::CAPACITY.id, Metric::CAPACITY_RESIDUAL.id];
        let mut sums: HashMap<_, (f64, u32)> = HashMap::new();
        for cell in &run.cells {
            for sample in cell.samples.iter().filter(|sample| wanted.contains(&sample.metric.as_str())) {
                let sum = sums.entry((cell.index, sample.task.as_str(), sample.metric.as_str())).or_default();
                sum.0 += sample.value;
                sum.1 += 1;
            }
        }
        Builder { run, metric, names, cells, sums, notes: Vec::new() }
    }

    /// Whether the metric is the one that a whole cell is judged by.
    fn is_main(&self) -> bool {
        [Metric::ELAPSED.id, Metric::DURABLE.id].contains(&self.metric.id)
    }

    fn has_samples(&self, task: &str, metric: &Metric) -> bool {
        self.run.cells.iter().any(|cell| self.sums.contains_key(&(cell.index, task, metric.id)))
    }

    fn is_measured(&self, task: &str) -> bool {
        self.run.cells.iter().any(|cell| cell.samples.iter().any(|sample| sample.task == task))
    }

    fn note(&mut self, sentence: String) -> usize {
        let sentence = clean(&sentence);
        self.notes.iter().position(|note| *note == sentence).unwrap_or_else(|| {
            self.notes.push(sentence);
            self.notes.len() - 1
        })
    }

    fn outcome_note(&mut self, outcome: &Outcome) -> usize {
        let reason = outcome.reason().filter(|reason| !reason.trim().is_empty()).unwrap_or("no reason was given");
        self.note(format!("{}: {reason}", outcome.word()))
    }

    /// What is said of configurations that have no column.
    fn skipped_sentences(&self) -> Vec<String> {
        let skipped = self.run.plan.skipped.iter().filter(|(name, _)| !self.names.contains(&name.as_str()));
        skipped.map(|(name, reason)| clean(&format!("{name} was skipped: {reason}"))).collect()
    }

    fn columns(&mut self) -> Vec<Column> {
        let mut columns = Vec::new();
        for (name, cells) in self.names.clone().into_iter().zip(self.cells.clone()) {
            let mut notes = Vec::new();
            for cell in &cells {
                if !cell.outcome.is_ok() {
                    push(&mut notes, self.outcome_note(&cell.outcome));
                }
            }
            let planned = self.run.plan.cells.iter().filter(|cell| cell.configuration.name == name).count();
            if cells.len() < planned {
                let missing = planned - cells.len();
                let sentence = format!("not run: {missing} of {planned} planned cells of {name}");
                push(&mut notes, self.note(sentence));
            }
            columns.push(Column { name: clean(name), notes });
        }
        columns
    }

    /// The row of a protocol step, where there is anything to say about it.
    fn step(&mut self, task: &str, label: &str) -> Option<Row> {
        // A suite may well name a task like a step: it is shown once, as a task.
        if self.run.plan.tasks.iter().any(|(id, _)| id == task) {
            return None;
        }
        let trouble = || {
            let mut outcomes = self.run.cells.iter().flat_map(|cell| &cell.outcomes);
            outcomes.any(|ended| ended.task == task && !ended.outcome.is_ok())
        };
        let is_shown = self.has_samples(task, self.metric) || self.is_main() && trouble();
        is_shown.then(|| self.row(task, label.into(), self.metric))
    }

    fn row(&mut self, task: &str, label: String, metric: &Metric) -> Row {
        let mut entries: Vec<Entry> = (0..self.names.len()).map(|column| self.entry(column, task, metric)).collect();
        mark_best(&mut entries, metric);
        let spread = entries.iter().filter_map(|entry| entry.spread).reduce(f64::max).map(|spread| spread * 100.0);
        Row { label, entries, spread }
    }

    fn entry(&mut self, column: usize, task: &str, metric: &Metric) -> Entry {
        let mut notes = Vec::new();
        // A cell in doubt is run again: a repeat may have several cells, and counts once.
        let mut of_repeats: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut has_failed = false;
        for cell in self.cells[column].clone() {
            let mut ended = cell.outcomes.iter().filter(|ended| ended.task == task).map(|ended| &ended.outcome);
            let trouble = ended.clone().find(|outcome| outcome.is_failed()).or_else(|| ended.find(|o| !o.is_ok()));
            // The time that a failed command took is not the time of the task.
            if let Some(outcome) = trouble {
                has_failed |= outcome.is_failed();
                push(&mut notes, self.outcome_note(outcome));
            } else if let Some((sum, count)) = self.sums.get(&(cell.index, task, metric.id)) {
                of_repeats.entry(cell.repeat).or_default().push(sum / f64::from(*count));
            } else if !cell.outcome.is_ok() {
                has_failed |= cell.outcome.is_failed();
                push(&mut notes, self.outcome_note(&cell.outcome));
            }
        }
        let means: Vec<f64> = of_repeats.values_mut().filter_map(|values| median_of(values)).collect();
        let value = mean(&means);
        let text = match value {
            Some(value) => metric.format(value),
            None if has_failed => "failed".into(),
            None => "-".into(),
        };
        Entry { text, value, best: false, notes, spread: spread(&means) }
    }

    /// The sum over the suite's tasks, for configurations that have all of them.
    fn total(&mut self, tasks: &[Row]) -> Option<Row> {
        let adds_up = match self.metric.unit {
            Unit::Seconds | Unit::Count => true,
            Unit::Bytes => ![Metric::PEAK_MEMORY.id, Metric::CAPACITY_BYTES.id].contains(&self.metric.id),
            _ => false,
        };
        if !adds_up || tasks.len() < 2 {
            return None;
        }
        let mut entries: Vec<Entry> = (0..self.names.len())
            .map(|column| {
                let value: Option<f64> = tasks.iter().map(|row| row.entries[column].value).sum();
                let text = value.map_or("-".into(), |value| self.metric.format(value));
                Entry { text, value, best: false, notes: Vec::new(), spread: None }
            })
            .collect();
        mark_best(&mut entries, self.metric);
        Some(Row { label: format!("total of {} tasks", tasks.len()), entries, spread: None })
    }
}

fn push(notes: &mut Vec<usize>, note: usize) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// Sample standard deviation over mean.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean != 0.0 && values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt() / mean.abs()).filter(|spread| spread.is_finite())
}

/// Marks the best figure and those that print as the same: a reader cannot tell them apart. Alone nobody is best.
fn mark_best(entries: &mut [Entry], metric: &Metric) {
    if entries.len() < 2 {
        return;
    }
    let figures = entries.iter().filter(|entry| entry.value.is_some_and(f64::is_finite));
    let best = figures.reduce(|best, entry| {
        let is_better = match metric.better {
            Better::Lower => entry.value < best.value,
            Better::Higher => entry.value > best.value,
        };
        if is_better { entry } else { best }
    });
    if let Some(text) = best.map(|best| best.text.clone()) {
        for entry in entries.iter_mut().filter(|entry| entry.value.is_some() && entry.text == text) {
            entry.best = true;
        }
    }
}
