//! Rows for spreadsheets and statistics programs.
//!
//! Quoting is RFC 4180's. Lines end with a line feed alone: with the RFC's CR before it, line tools treat the CR as
//! part of the last field, and every reader of CSV accepts both.

use anyhow::Result;

use crate::writers::{Form, Writer};

/// Column heads of a report, the same as in files of published figures.
pub const REPORT: &str = "study,run,fs,task,metric,unit,value,qualifier,note";

pub const CSV: Writer = Writer {
    name: "csv",
    endings: &["csv"],
    form: Form::Rows,
    mark: REPORT,
    write: |subject, _| {
        let mut rows = Rows::new();
        Some(subject.rows(&mut rows)?.and_then(|()| rows.into_text()))
    },
};

/// Lines of fields, starting with the heads.
pub struct Rows(csv::Writer<Vec<u8>>);

impl Rows {
    fn new() -> Rows {
        Rows(csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new()))
    }

    pub fn line<F: AsRef<[u8]>>(&mut self, fields: impl IntoIterator<Item = F>) -> Result<()> {
        Ok(self.0.write_record(fields)?)
    }

    /// Appends the column heads, separated by commas.
    pub fn head(&mut self, names: &str) -> Result<()> {
        self.line(names.split(','))
    }

    fn into_text(self) -> Result<String> {
        let bytes = self.0.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
        Ok(String::from_utf8(bytes)?)
    }
}

/// The shortest decimal that is read back as the same number; with an exponent only if it would be long.
pub fn number(value: f64) -> String {
    let is_plain = value == 0.0 || (1e-7..1e17).contains(&value.abs()) || !value.is_finite();
    if is_plain { format!("{value}") } else { format!("{value:e}") }
}

pub fn number_or_empty(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}
