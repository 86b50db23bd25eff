//! Bonnie++: the report of 1.03 (columns as its `bon_io.cpp` prints them), its CSV, and the CSV of 2.00.
//!
//! A suite with several file sizes has tasks such as `put_block_1g`: each suffix gets its own line.

use std::fmt::Write as _;

use mountmark_model::Metric;
use mountmark_model::program::{BONNIE, TOO_FAST};
use mountmark_record::{CellRecord, RunRecord};

use super::{file_bytes, label, mean, parameter, skipped};

/// Number of tests of one large file, which come first among Bonnie's.
const LARGE: usize = 6;

/// One cell at one file size.
struct Row<'a> {
    cell: &'a CellRecord,
    name: String,
    /// Suffix of the task ids, such as `_1g`.
    ending: String,
    /// `256M`, `2G`, or empty.
    size: String,
    /// In units of 1024, as in Bonnie; empty without small files.
    files: String,
}

/// A value and its CPU share.
enum Entry {
    Figure(f64, Option<f64>),
    TooFast,
    NotRun,
}

impl Row<'_> {
    fn entry(&self, index: usize) -> Entry {
        let (name, _) = BONNIE[index];
        let task = if index < LARGE { format!("{name}{}", self.ending) } else { name.to_owned() };
        if index >= LARGE && self.files.is_empty() {
            return Entry::NotRun;
        }
        match mean(self.cell, &task, &Metric::RATE) {
            Some(rate) => Entry::Figure(rate, mean(self.cell, &task, &Metric::CPU_PERCENT)),
            None if skipped(self.cell, &task).is_some_and(|reason| reason.starts_with(TOO_FAST)) => Entry::TooFast,
            None => Entry::NotRun,
        }
    }
}

fn rows(run: &RunRecord) -> Option<Vec<Row<'_>>> {
    let ids: Vec<&str> = run.plan.tasks.iter().map(|(id, _)| id.as_str()).collect();
    let small = BONNIE[LARGE..].iter().any(|(name, _)| ids.contains(name));
    let mut endings: Vec<&str> = Vec::new();
    for id in &ids {
        for ending in BONNIE[..LARGE].iter().filter_map(|(name, _)| id.strip_prefix(name)) {
            if (ending.is_empty() || ending.starts_with('_')) && !endings.contains(&ending) {
                endings.push(ending);
            }
        }
    }
    if endings.is_empty() {
        if !small {
            return None;
        }
        endings.push("");
    }
    // 1.03 writes whole thousands only; fewer files count as one thousand.
    let files = parameter(run, "FILES_K").or(parameter(run, "FILES").map(|files| files.div_ceil(1024)));
    let mut rows = Vec::new();
    for cell in &run.cells {
        for (index, ending) in endings.iter().enumerate() {
            let bytes = BONNIE[..LARGE].iter().find_map(|(name, _)| file_bytes(run, &format!("{name}{ending}")));
            let mib = bytes.map(|bytes| bytes >> 20).or_else(|| parameter(run, "FILE_MIB"));
            let size = match mib {
                Some(mib) if mib.is_multiple_of(1024) && mib > 0 => format!("{}G", mib / 1024),
                Some(mib) => format!("{mib}M"),
                None => ending.trim_start_matches('_').to_uppercase(),
            };
            // The small-file results do not depend on the large file's size.
            let files = if small && index == 0 {
                files.map_or(String::new(), |files| files.to_string())
            } else {
                String::new()
            };
            rows.push(Row { cell, name: label(run, cell), ending: (*ending).to_owned(), size, files });
        }
    }
    Some(rows)
}

/// The text report: all lines of large files, then all of small ones.
pub(super) fn report(run: &RunRecord) -> Option<String> {
    let rows = rows(run)?;
    let mut out = String::from(
        "Version  1.03       ------Sequential Output------ --Sequential Input- --Random-\n\
         \x20                   -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
         Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n",
    );
    for row in &rows {
        // Name and size share 19 columns; the name is cut.
        let room = 19 - 1 - row.size.chars().count().min(10);
        let name: String = row.name.chars().take(room).collect();
        let _ = write!(out, "{name:<room$} {}", row.size);
        line(&mut out, row, 0..LARGE);
    }
    if rows.iter().any(|row| !row.files.is_empty()) {
        out.push_str(
            "                    ------Sequential Create------ --------Random Create--------\n\
             \x20                   -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n\
             Machine       files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n",
        );
        for row in rows.iter().filter(|row| !row.files.is_empty()) {
            let room = 19 - 1 - row.files.len().min(10);
            let name: String = row.name.chars().take(room).collect();
            let _ = write!(out, "{name:<room$} {}", row.files);
            line(&mut out, row, LARGE..BONNIE.len());
        }
    }
    Some(out)
}

/// `" %5d %3d"` for each test.
fn line(out: &mut String, row: &Row<'_>, tests: std::ops::Range<usize>) {
    let mut text = String::new();
    for index in tests {
        match row.entry(index) {
            Entry::NotRun => text.push_str("          "),
            Entry::TooFast => text.push_str(" +++++ +++"),
            Entry::Figure(rate, cpu) => {
                // Only seeks have a decimal.
                let decimals = usize::from(index == LARGE - 1 && rate < 1000.0);
                let _ = write!(text, " {rate:5.decimals$}");
                let _ = match cpu {
                    Some(cpu) => write!(text, " {cpu:3.0}"),
                    None => write!(text, "    "),
                };
            }
        }
    }
    out.push_str(text.trim_end());
    out.push('\n');
}

/// Rate and CPU share of a test as two fields.
fn fields(row: &Row<'_>, index: usize) -> [String; 2] {
    match row.entry(index) {
        Entry::NotRun => [String::new(), String::new()],
        Entry::TooFast => ["+++++".into(), "+++".into()],
        Entry::Figure(rate, cpu) => {
            let decimals = usize::from(index == LARGE - 1);
            [format!("{rate:.decimals$}"), cpu.map_or_else(String::new, |cpu| format!("{cpu:.0}"))]
        }
    }
}

fn all(row: &Row<'_>, tests: std::ops::Range<usize>) -> Vec<String> {
    tests.flat_map(|index| fields(row, index)).collect()
}

/// The CSV has no quoting for a comma in a name.
fn plain(name: &str) -> String {
    name.replace(',', ";")
}

/// The 27 fields of 1.03.
pub(super) fn csv(run: &RunRecord) -> Option<String> {
    let mut out = String::new();
    for row in rows(run)? {
        let mut fields = vec![plain(&row.name), row.size.clone()];
        fields.extend(all(&row, 0..LARGE));
        fields.push(row.files.clone());
        fields.extend(all(&row, LARGE..BONNIE.len()));
        let _ = writeln!(out, "{}", fields.join(","));
    }
    Some(out)
}

/// The 50 fields of 2.00 (format 1.98).
pub(super) fn csv_2(run: &RunRecord) -> Option<String> {
    let mut out = String::new();
    for row in rows(run)? {
        let started = run.started.0 / 1000;
        let head = ["1.98", "2.00a", &plain(&row.name), "1", &started.to_string(), &row.size, "", "", ""];
        let mut fields: Vec<String> = head.map(str::to_owned).to_vec();
        fields.extend(all(&row, 0..LARGE));
        // Files, their largest and smallest size, directories, chunk.
        fields.extend([row.files.as_str(), "", "", "", ""].map(str::to_owned));
        fields.extend(all(&row, LARGE..BONNIE.len()));
        fields.extend((0..BONNIE.len()).map(|index| latency(&row, index)));
        let _ = writeln!(out, "{}", fields.join(","));
    }
    Some(out)
}

/// The slowest operation: microseconds up to 99,999, otherwise milliseconds, as 2.00 writes it.
fn latency(row: &Row<'_>, index: usize) -> String {
    let (name, _) = BONNIE[index];
    let task = if index < LARGE { format!("{name}{}", row.ending) } else { name.to_owned() };
    if index >= LARGE && row.files.is_empty() {
        return String::new();
    }
    match mean(row.cell, &task, &Metric::LATENCY_MAX).map(|seconds| seconds * 1e6) {
        None => String::new(),
        Some(us) if us < 99_999.5 => format!("{us:.0}us"),
        Some(us) if us < 99_999.5e3 => format!("{:.0}ms", us / 1e3),
        Some(us) => format!("{:.0}s", us / 1e6),
    }
}
