//! Rows for spreadsheets and statistics programs.
//!
//! Quoting is RFC 4180's. Lines end with a line feed alone: with the RFC's CR before it, line tools treat the CR as
//! part of the last field, and every reader of CSV accepts both.

use crate::forms::{Form, Rows};
use crate::writers::Writer;

/// Column heads of a report, the same as in files of published figures.
pub const REPORT: &str = "study,run,fs,task,metric,unit,value,qualifier,note";

pub const CSV: Writer = Writer {
    name: "csv",
    endings: &["csv"],
    form: Form::Rows,
    mark: REPORT,
    write: |subject, _| {
        let mut rows = Rows::default();
        Some(subject.rows(&mut rows)?.and_then(|()| rows.into_text()))
    },
};
