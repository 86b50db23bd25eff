//! A picture for a README or an article.

use super::{Form, Writer};

/// The start of each picture.
pub(crate) const MARK: &str = "<!-- mountmark report -->";

pub(crate) const SVG: Writer = Writer {
    name: "svg",
    endings: &["svg"],
    form: Form::Picture,
    mark: MARK,
    write: |subject, _| Some(subject.picture()?.map(crate::markup::Markup::into_string)),
};
