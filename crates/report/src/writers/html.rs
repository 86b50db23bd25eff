//! A page for a browser, which needs no network.

use super::{Form, Writer};

/// In the head of each page of this program.
pub(crate) const GENERATOR: &str = "<meta name=\"generator\" content=\"mountmark report\">";

pub(crate) const HTML: Writer = Writer {
    name: "html",
    endings: &["html", "htm"],
    form: Form::Page,
    mark: GENERATOR,
    write: |subject, _| Some(subject.page()?.map(crate::markup::Markup::into_string)),
};
