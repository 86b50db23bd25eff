//! What a subject offers and a writer takes.

use anyhow::Result;

use super::Part;
use super::csv::Rows;
use super::json::Object;
use crate::markup::Markup;

/// What writers need of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Headings, sentences and tables.
    Parts,
    /// Lines of fields under one head.
    Rows,
    /// Keys and values.
    Object,
    /// A page for a browser.
    Page,
    /// One drawing.
    Picture,
}

/// Something that can be written down, with the forms that it has.
pub trait Subject: Sized {
    /// The command that prints it.
    const COMMAND: &'static str;
    /// What it is.
    const NAME: &'static str;
    /// Headings, sentences and tables, for people.
    const PARTS: Option<fn(&Self) -> Vec<Part>> = None;
    /// Lines of fields, the head first.
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = None;
    /// Keys and values, for programs.
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = None;
    /// A page for a browser.
    const PAGE: Option<fn(&Self) -> Result<Markup>> = None;
    /// One drawing.
    const PICTURE: Option<fn(&Self) -> Result<Markup>> = None;
}

/// A subject whose type a writer need not know: each form that it has.
pub trait Forms {
    fn parts(&self) -> Option<Vec<Part>>;
    fn rows(&self, out: &mut Rows) -> Option<Result<()>>;
    fn object(&self, out: &mut Object) -> Option<Result<()>>;
    fn page(&self) -> Option<Result<Markup>>;
    fn picture(&self) -> Option<Result<Markup>>;
}

impl<S: Subject> Forms for S {
    fn parts(&self) -> Option<Vec<Part>> {
        Some(S::PARTS?(self))
    }

    fn rows(&self, out: &mut Rows) -> Option<Result<()>> {
        Some(S::ROWS?(self, out))
    }

    fn object(&self, out: &mut Object) -> Option<Result<()>> {
        Some(S::OBJECT?(self, out))
    }

    fn page(&self) -> Option<Result<Markup>> {
        Some(S::PAGE?(self))
    }

    fn picture(&self) -> Option<Result<Markup>> {
        Some(S::PICTURE?(self))
    }
}
