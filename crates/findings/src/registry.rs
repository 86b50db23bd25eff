//! The only list of subjects, and which formats each has.
//!
//! A format that a subject lacks is rejected here, before anything is read.

use anyhow::Result;
use mountmark_document::forms::{Form, Subject};
use mountmark_document::writers::{self, Options, Writer};
use thiserror::Error;

use crate::advice::show::Advised;
use crate::agreement::show::ModelBeside;
use crate::baseline::show::Gate;
use crate::bisect::show::Bisected;
use crate::cases::show::Cases;
use crate::changes::show::RunBeside;
use crate::claims::show::Claims;
use crate::crash::show::Crash;
use crate::crash::show::list::CrashList;
use crate::crash::show::state::CrashState;
use crate::device::show::Device;
use crate::name::{UnknownName, unknown};
use crate::reports::show::{Reports, Verdicts};
use crate::run::show::Run;
use crate::run::show::list::Runs;
use crate::run::show::outputs::Outputs;
use crate::safety::show::Safety;
use crate::studies::show::StudyBeside;
use crate::why::show::Why;

/// All subjects, in the order of help texts.
pub const SUBJECTS: &[Entry] = &[
    entry::<Run>(),
    entry::<Verdicts>(),
    entry::<Device>(),
    entry::<Outputs>(),
    entry::<Reports>(),
    entry::<RunBeside>(),
    entry::<Gate>(),
    entry::<ModelBeside>(),
    entry::<StudyBeside>(),
    entry::<Claims>(),
    entry::<Runs>(),
    entry::<Safety>(),
    entry::<Crash>(),
    entry::<Cases>(),
    entry::<CrashState>(),
    entry::<CrashList>(),
    entry::<Why>(),
    entry::<Bisected>(),
    entry::<Advised>(),
];

pub struct Entry {
    pub command: &'static str,
    pub name: &'static str,
    has: fn(Form) -> bool,
}

const fn entry<S: Subject>() -> Entry {
    Entry { command: S::COMMAND, name: S::NAME, has: Form::is_of::<S> }
}

impl Entry {
    /// Its formats, the default first.
    pub fn formats(&self) -> impl Iterator<Item = Format> + use<> {
        let has = self.has;
        writers::ALL.iter().copied().filter(move |writer| has(writer.form)).map(Format)
    }
}

/// A format that the subject has.
#[derive(Clone, Copy)]
pub struct Format(&'static Writer);

/// Why a subject cannot be written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    #[error(transparent)]
    Unknown(UnknownName),
    /// The subject lacks the form for this format.
    #[error("{subject} cannot be written as {format}; there are: {}", all.join(", "))]
    Unfit {
        subject: &'static str,
        format: &'static str,
        /// The subject's formats.
        all: Vec<&'static str>,
    },
}

impl Format {
    /// The format of this name for a subject, or the subject's default.
    ///
    /// # Errors
    /// A name of no format, or a format that the subject lacks.
    pub fn find<S: Subject>(name: Option<&str>) -> Result<Format, FormatError> {
        let Some(name) = name else { return Ok(Format::all::<S>().next().expect("a subject has a form")) };
        match writers::ALL.iter().find(|writer| writer.name == name) {
            Some(writer) if writer.form.is_of::<S>() => Ok(Format(writer)),
            Some(writer) => Err(Format(writer).unfit::<S>()),
            None => Err(FormatError::Unknown(unknown("format", name, names::<S>()))),
        }
    }

    /// The format for files of a subject with this extension: `md`, `html`.
    pub fn by_ending<S: Subject>(ending: &str) -> Option<Format> {
        Format::all::<S>().find(|format| format.0.endings.contains(&ending))
    }

    /// All formats of a subject, the default first.
    pub fn all<S: Subject>() -> impl Iterator<Item = Format> {
        entry::<S>().formats()
    }

    /// The format of a subject that needs this form.
    pub fn by_form<S: Subject>(form: Form) -> Option<Format> {
        Format::all::<S>().find(|format| format.form() == form)
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// File name extension.
    pub fn ending(self) -> &'static str {
        self.0.endings[0]
    }

    /// The form of the subject that it needs.
    pub fn form(self) -> Form {
        self.0.form
    }

    /// Whether a file with this start is a report in this format.
    pub fn is_ours(self, start: &str) -> bool {
        start.starts_with(self.0.mark)
    }

    /// The subject as text with a final newline.
    ///
    /// # Errors
    /// The subject has no such form, or cannot be written in it.
    pub fn write<S: Subject>(self, subject: &S, options: &Options) -> Result<String> {
        (self.0.write)(subject, options).unwrap_or_else(|| Err(self.unfit::<S>().into()))
    }

    /// The same for a file, with the format's mark before a document that has none: the file is known by it later.
    ///
    /// # Errors
    /// As [`Format::write`].
    pub fn write_marked<S: Subject>(self, subject: &S, options: &Options) -> Result<String> {
        let text = self.write(subject, options)?;
        let mark = self.0.mark;
        Ok(match self.form() {
            Form::Blocks if !self.is_ours(&text) => {
                mark.to_owned() + if mark.ends_with(' ') { "" } else { "\n\n" } + &text
            }
            _ => text,
        })
    }

    fn unfit<S: Subject>(self) -> FormatError {
        FormatError::Unfit { subject: S::NAME, format: self.name(), all: names::<S>() }
    }
}

/// The names of a subject's formats.
fn names<S: Subject>() -> Vec<&'static str> {
    Format::all::<S>().map(Format::name).collect()
}
