//! A picture for a README or an article.

use crate::forms::Form;
use crate::markup;
use crate::writers::Writer;

/// The start of each picture.
pub const MARK: &str = "<!-- mountmark report -->";

pub const SVG: Writer = Writer {
    name: "svg",
    endings: &["svg"],
    form: Form::Picture,
    mark: MARK,
    write: |subject, _| Some(subject.picture()?.map(markup::Markup::into_string)),
};
