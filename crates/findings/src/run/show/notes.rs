//! Marks after figures, and their notes below a table: failed, skipped or not run.

use std::collections::BTreeSet;

use mountmark_document::forms::{Block, Mark};
use mountmark_document::text::clean;
use mountmark_model::{Outcome, heading};
use mountmark_record::{CellRecord, RunRecord};

use crate::group::each_once;
use crate::missing::say::in_repeats;

/// The notes so far.
pub(crate) struct Notes<'a> {
    run: &'a RunRecord,
    sentences: Vec<String>,
}

/// `[a][c]`: the marks of these notes.
pub(crate) fn marks(notes: &[usize]) -> String {
    notes.iter().map(|note| mark(*note)).collect()
}

/// `[a]`, `[b]`, ... `[z]`, `[aa]`: letters, since digits would look like part of the value beside them.
fn mark(note: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = note + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    format!("[{}]", letters.iter().rev().collect::<String>())
}

impl<'a> Notes<'a> {
    pub(crate) fn new(run: &'a RunRecord) -> Notes<'a> {
        Notes { run, sentences: Vec::new() }
    }

    fn cells(&self, configuration: &str) -> impl Iterator<Item = &'a CellRecord> {
        self.run.cells.iter().filter(move |cell| cell.configuration == configuration)
    }

    fn note(&mut self, sentence: &str) -> usize {
        let sentence = clean(sentence);
        self.sentences.iter().position(|known| *known == sentence).unwrap_or_else(|| {
            self.sentences.push(sentence);
            self.sentences.len() - 1
        })
    }

    /// Those of a part of the repeats say of which.
    fn outcomes(&mut self, outcomes: &[(u32, &Outcome)]) -> Vec<usize> {
        each_once(outcomes.iter().map(|(_, outcome)| {
            let reason = outcome.reason().filter(|reason| !reason.trim().is_empty()).unwrap_or("no reason was given");
            let alike = outcomes.iter().filter(|(_, other)| other == outcome);
            let repeats: BTreeSet<u32> = alike.map(|(repeat, _)| *repeat).collect();
            let of = if repeats.len() < self.run.plan.repeats as usize {
                format!(" {}", in_repeats(&repeats.into_iter().collect::<Vec<_>>()))
            } else {
                String::new()
            };
            self.note(&format!("{}{of}: {reason}", outcome.word()))
        }))
    }

    /// Notes on a configuration: cells that failed as a whole, and cells that were not run.
    pub(crate) fn of_column(&mut self, configuration: &str) -> Vec<usize> {
        let failed = self.cells(configuration).map(|cell| (cell.repeat, &cell.outcome));
        let failed: Vec<(u32, &Outcome)> = failed.filter(|(_, outcome)| !outcome.is_ok()).collect();
        let mut out = self.outcomes(&failed);
        let planned = self.run.plan.cells.iter().filter(|cell| cell.configuration.name == configuration).count();
        let recorded = self.cells(configuration).count();
        if recorded < planned {
            let missing = planned - recorded;
            out.push(
                self.note(&format!("not run: {missing} of {planned} planned cells of {}", heading(configuration))),
            );
        }
        out
    }

    /// Notes on a task on a configuration. A cell that failed as a whole explains a missing figure.
    pub(crate) fn of_cell(&mut self, configuration: &str, task: &str, has_figure: bool) -> Vec<usize> {
        let mut found: Vec<(u32, &Outcome)> = Vec::new();
        for cell in self.cells(configuration) {
            let mut ended = cell.outcomes.iter().filter(|ended| ended.task == task).map(|ended| &ended.outcome);
            let trouble = ended.clone().find(|outcome| outcome.is_failed()).or_else(|| ended.find(|o| !o.is_ok()));
            let trouble = trouble.or(Some(&cell.outcome).filter(|outcome| !outcome.is_ok() && !has_figure));
            found.extend(trouble.map(|outcome| (cell.repeat, outcome)));
        }
        self.outcomes(&found)
    }

    /// The notes, and those on configurations without a column.
    pub(crate) fn into_parts(self) -> Vec<Block> {
        let notes =
            self.sentences.into_iter().enumerate().map(|(index, text)| Block::Legend(Mark::Note(mark(index)), text));
        let skipped = self.run.plan.skipped.iter();
        let skipped = skipped.filter(|(name, _)| !self.run.cells.iter().any(|cell| cell.configuration == *name));
        let skipped = skipped.map(|(name, reason)| Block::Text(format!("{} was skipped: {reason}", heading(name))));
        notes.chain(skipped).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn marks_are_letters_and_then_two() {
        assert_eq!([0, 25, 26, 27, 701, 702].map(mark), ["[a]", "[z]", "[aa]", "[ab]", "[zz]", "[aaa]"]);
    }
}
