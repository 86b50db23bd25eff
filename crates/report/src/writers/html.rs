//! A page for a browser, which needs no network.

use anyhow::Result;

use super::{Form, Forms, Options, Writer};

pub(crate) struct Html;

/// What is in the head of each page of ours.
pub(crate) const GENERATOR: &str = "<meta name=\"generator\" content=\"mountmark report\">";

impl Writer for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["html", "htm"]
    }

    fn about(&self) -> &'static str {
        "one file for a browser, with charts; it needs no network"
    }

    fn form(&self) -> Form {
        Form::Page
    }

    fn mark(&self) -> &'static str {
        GENERATOR
    }

    fn write(&self, subject: &dyn Forms, _: &Options) -> Option<Result<String>> {
        Some(subject.page()?.map(crate::markup::Markup::into_string))
    }
}
