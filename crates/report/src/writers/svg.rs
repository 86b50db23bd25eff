//! A picture for a README or an article.

use anyhow::Result;

use super::{Form, Forms, Options, Writer};

pub(crate) struct Svg;

/// What each picture begins with.
pub(crate) const MARK: &str = "<!-- mountmark report -->";

impl Writer for Svg {
    fn name(&self) -> &'static str {
        "svg"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["svg"]
    }

    fn about(&self) -> &'static str {
        "one picture: every test by file system, and all tests together"
    }

    fn form(&self) -> Form {
        Form::Picture
    }

    fn mark(&self) -> &'static str {
        MARK
    }

    fn write(&self, subject: &dyn Forms, _: &Options) -> Option<Result<String>> {
        Some(subject.picture()?.map(crate::markup::Markup::into_string))
    }
}
