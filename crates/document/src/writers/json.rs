//! Complete data for programs: one object, whose long lists have one element per line.

use crate::forms::{Form, Object};
use crate::writers::Writer;

/// The first key of a report.
pub const REPORT: &str = "mountmark_reports";

pub const JSON: Writer = Writer {
    name: "json",
    endings: &["json"],
    form: Form::Object,
    mark: "{\"mountmark_reports\":[",
    write: |subject, _| {
        let mut object = Object::default();
        Some(subject.object(&mut object)?.map(|()| object.into_text()))
    },
};
