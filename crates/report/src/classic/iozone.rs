//! IOzone: the table of one process, and six lines per test of the throughput mode, five for Mountmark's engine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mountmark_model::Metric;
use mountmark_model::program::IOZONE;
use mountmark_record::{CellRecord, RunRecord};

use super::{label, mean, parameter};

/// Names of the tests in throughput mode.
const PLURALS: [(&str, &str); 6] = [
    ("write", "initial writers"),
    ("rewrite", "rewriters"),
    ("read", "readers"),
    ("reread", "re-readers"),
    ("random_read", "random readers"),
    ("random_write", "random writers"),
];

/// Widths of the table's columns, as IOzone 3.489 prints them.
const WIDTHS: [usize; 13] = [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9];

/// A line of the table: file and record size in KiB, and the task of each column.
type Lines = BTreeMap<(u64, u64), Vec<Option<String>>>;

/// Both reports of every cell.
pub(super) fn report(run: &RunRecord) -> Option<String> {
    let lines = lines(run);
    let mut out = String::new();
    let mut found = false;
    for cell in &run.cells {
        let mut text = String::new();
        table(&mut text, cell, &lines);
        throughput(&mut text, run, cell);
        if !text.is_empty() {
            found = true;
            let _ = write!(out, "\t{}\n\tOutput is in kBytes/sec\n{text}\niozone test complete.\n\n", label(run, cell));
        }
    }
    found.then_some(out)
}

/// Assigns the tasks of one process to lines and columns.
fn lines(run: &RunRecord) -> Lines {
    let mut lines = Lines::new();
    let Some(cell) = run.plan.cells.first() else { return lines };
    for task in &cell.tasks {
        // A workload of one file has its own sizes; IOzone's own tasks use parameters.
        let place = match &task.workload {
            Some(workload) => {
                let [phase] = &workload.phases[..] else { continue };
                let value = |quantity: &mountmark_model::Quantity| quantity.value(&cell.parameters).unwrap_or(0);
                if phase.processes
                    || value(&workload.files.count) != 1
                    || phase.pattern == mountmark_model::workload::Pattern::PerCharacter
                {
                    continue;
                }
                let bytes = value(&workload.files.size);
                (phase.name.as_str(), bytes >> 10, value(&phase.block).min(bytes) >> 10)
            }
            None => {
                let whole = cell.tasks.iter().find(|whole| Some(&whole.id) == task.part_of.as_ref());
                let is_table = whole.is_some_and(|whole| {
                    whole.program.as_deref() == Some("iozone")
                        && !whole.run.contains(" -l")
                        && !whole.run.contains(" -t")
                });
                if !is_table {
                    continue;
                }
                let size = parameter(run, "FILE_MIB").unwrap_or(0) << 10;
                (task.figure_name(), size, parameter(run, "RECORD_KIB").unwrap_or(0))
            }
        };
        if let Some(column) = IOZONE.iter().position(|(name, _)| *name == place.0) {
            let line = lines.entry((place.1, place.2)).or_insert_with(|| vec![None; IOZONE.len()]);
            line[column] = Some(task.id.clone());
        }
    }
    // Other suites have phases with these names too, but IOzone runs no test alone.
    lines.retain(|_, tasks| tasks.iter().flatten().count() > 1);
    lines
}

fn table(out: &mut String, cell: &CellRecord, lines: &Lines) {
    let mut rows = String::new();
    for ((size, record), tasks) in lines {
        let rates: Vec<Option<f64>> = tasks.iter().map(|task| mean(cell, task.as_ref()?, &Metric::RATE)).collect();
        if rates.iter().all(Option::is_none) {
            continue;
        }
        let mut row = format!("{size:16}{record:8}");
        for (rate, width) in rates.into_iter().zip(WIDTHS) {
            let _ = match rate {
                Some(rate) => write!(row, "{rate:width$.0}"),
                None => write!(row, "{:width$}", ""),
            };
        }
        rows += row.trim_end();
        rows.push('\n');
    }
    if !rows.is_empty() {
        let _ = write!(
            out,
            "{:62}random    random     bkwd    record    stride\n{:>16}  reclen    write  rewrite    read    reread    read     \
             write     read   rewrite      read   fwrite frewrite    fread  freread\n{rows}",
            "", "kB"
        );
    }
}

fn throughput(out: &mut String, run: &RunRecord, cell: &CellRecord) {
    for (id, _) in &run.plan.tasks {
        let value = |metric: Metric| mean(cell, id, &metric);
        let (Some(children), Some(parent), Some(average)) =
            (value(Metric::RATE), value(Metric::PARENT_RATE), value(Metric::PROCESS_RATE_MEAN))
        else {
            continue;
        };
        let (Some(least), Some(most)) = (value(Metric::PROCESS_RATE_MIN), value(Metric::PROCESS_RATE_MAX)) else {
            continue;
        };
        // The longest name that ends the task's id: `random_read`, not `read`.
        let known = PLURALS.iter().filter(|(name, _)| id == name || id.ends_with(&format!("_{name}")));
        let Some((_, plural)) = known.max_by_key(|(name, _)| name.len()) else { continue };
        let processes = if average > 0.0 { (children / average).round() } else { 0.0 };
        let head = format!("{processes:2.0} {plural}");
        let _ = write!(
            out,
            "\n\tChildren see throughput for {head:<18}\t= {children:10.2} kB/sec\n\
             \tParent sees throughput for {head:<19}\t= {parent:10.2} kB/sec\n\
             \tMin throughput per process \t\t\t= {least:10.2} kB/sec \n\
             \tMax throughput per process \t\t\t= {most:10.2} kB/sec\n\
             \tAvg throughput per process \t\t\t= {average:10.2} kB/sec\n"
        );
        // Only IOzone itself knows how much the last process had moved when the first one ended.
        if let Some(moved) = value(Metric::PROCESS_BYTES_MIN) {
            let _ = writeln!(out, "\tMin xfer \t\t\t\t\t= {:10.2} kB", moved / 1024.0);
        }
    }
}
