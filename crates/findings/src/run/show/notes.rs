//! Marks after figures, and their notes below a table: failed, skipped or not run.

use mountmark_document::forms::{Block, Mark};
use mountmark_document::text::clean;
use mountmark_model::{Outcome, heading};
use mountmark_record::{CellRecord, RunRecord};

use crate::group::each_once;

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

    fn outcomes(&mut self, outcomes: &[&Outcome]) -> Vec<usize> {
        each_once(outcomes.iter().map(|outcome| {
            let reason = outcome.reason().filter(|reason| !reason.trim().is_empty()).unwrap_or("no reason was given");
            self.note(&format!("{}: {reason}", outcome.word()))
        }))
    }

    /// Notes on a configuration: cells that failed as a whole, and cells that were not run.
    pub(crate) fn of_column(&mut self, configuration: &str) -> Vec<usize> {
        let failed: Vec<&Outcome> =
            self.cells(configuration).map(|cell| &cell.outcome).filter(|o| !o.is_ok()).collect();
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
        let mut found: Vec<&Outcome> = Vec::new();
        for cell in self.cells(configuration) {
            let mut ended = cell.outcomes.iter().filter(|ended| ended.task == task).map(|ended| &ended.outcome);
            let trouble = ended.clone().find(|outcome| outcome.is_failed()).or_else(|| ended.find(|o| !o.is_ok()));
            found.extend(trouble.or(Some(&cell.outcome).filter(|outcome| !outcome.is_ok() && !has_figure)));
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
