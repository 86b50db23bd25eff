//! Which subjects can be written in which formats: the only lists of both.
//!
//! A format that a subject has not is refused here, before anything is read.

use anyhow::Result;
use thiserror::Error;

use crate::name::{UnknownName, unknown};
use crate::subjects::{Changes, Claims, Device, Reports, Run, Runs, StudyBeside, Verdicts};
use crate::writers::{Form, Options, Subject, Writer, csv, html, json, markdown, svg, text};

/// All formats, in the order of help texts; the first that a subject has is its default.
const WRITERS: &[&Writer] = &[&text::TEXT, &markdown::MARKDOWN, &csv::CSV, &json::JSON, &html::HTML, &svg::SVG];

/// All subjects, in the order of help texts.
pub const SUBJECTS: &[Entry] = &[
    entry::<Run>(),
    entry::<Verdicts>(),
    entry::<Device>(),
    entry::<Reports>(),
    entry::<Changes>(),
    entry::<StudyBeside>(),
    entry::<Claims>(),
    entry::<Runs>(),
];

/// A subject in the list.
pub struct Entry {
    /// Which command prints it.
    pub command: &'static str,
    /// What it is.
    pub name: &'static str,
    has: fn(Form) -> bool,
}

const fn entry<S: Subject>() -> Entry {
    Entry { command: S::COMMAND, name: S::NAME, has: has::<S> }
}

fn has<S: Subject>(form: Form) -> bool {
    match form {
        Form::Parts => S::PARTS.is_some(),
        Form::Rows => S::ROWS.is_some(),
        Form::Object => S::OBJECT.is_some(),
        Form::Page => S::PAGE.is_some(),
        Form::Picture => S::PICTURE.is_some(),
    }
}

impl Entry {
    /// The formats that it can be written in, the default first.
    pub fn formats(&self) -> impl Iterator<Item = Format> {
        WRITERS.iter().copied().filter(|writer| (self.has)(writer.form)).map(Format)
    }
}

/// A format that a subject can be written in.
#[derive(Clone, Copy)]
pub struct Format(&'static Writer);

/// Why a subject cannot be written so.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// No format has this name.
    #[error(transparent)]
    Unknown(UnknownName),
    /// The subject has nothing for it.
    #[error("{subject} cannot be written as {format}; there are: {}", all.join(", "))]
    Unfit {
        /// What was to be written.
        subject: &'static str,
        /// The format's name.
        format: &'static str,
        /// The formats that it has.
        all: Vec<&'static str>,
    },
}

impl Format {
    /// The format of this name for a subject, or the subject's usual one.
    ///
    /// # Errors
    /// A name that no format has, or a format that needs what the subject has not.
    pub fn find<S: Subject>(name: Option<&str>) -> Result<Format, FormatError> {
        let usual = || entry::<S>().formats().next().expect("a subject has a form");
        let Some(name) = name else { return Ok(usual()) };
        let all: Vec<&'static str> = entry::<S>().formats().map(Format::name).collect();
        match WRITERS.iter().find(|writer| writer.name == name) {
            Some(writer) if has::<S>(writer.form) => Ok(Format(writer)),
            Some(writer) => Err(FormatError::Unfit { subject: S::NAME, format: writer.name, all }),
            None => Err(FormatError::Unknown(unknown("format", name, all))),
        }
    }

    /// The format for a subject whose files end so: `md`, `html`.
    pub fn by_ending<S: Subject>(ending: &str) -> Option<Format> {
        entry::<S>().formats().find(|format| format.0.endings.contains(&ending))
    }

    /// All formats of a subject, the usual one first.
    pub fn all<S: Subject>() -> impl Iterator<Item = Format> {
        const { &entry::<S>() }.formats()
    }

    /// The format of a subject that needs this form.
    pub fn by_form<S: Subject>(form: Form) -> Option<Format> {
        entry::<S>().formats().find(|format| format.form() == form)
    }

    /// The name in `--format`.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// One line for lists.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// How names of such files end.
    pub fn ending(self) -> &'static str {
        self.0.endings[0]
    }

    /// What it needs of a subject.
    pub fn form(self) -> Form {
        self.0.form
    }

    /// Whether a file that begins so is a report in this format.
    pub fn is_ours(self, start: &str) -> bool {
        start.contains(self.0.mark)
    }

    /// The subject as text that ends with a line end.
    ///
    /// # Errors
    /// Where the subject has no such form, or cannot be written in it.
    pub fn write<S: Subject>(self, subject: &S, options: &Options) -> Result<String> {
        (self.0.write)(subject, options).unwrap_or_else(|| {
            let all = entry::<S>().formats().map(Format::name).collect();
            Err(FormatError::Unfit { subject: S::NAME, format: self.name(), all }.into())
        })
    }
}
