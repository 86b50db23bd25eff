//! Parsers for the output of real benchmark programs.
//!
//! One file per program. A parser accepts the output it knows and refuses all else with the line: it never guesses a
//! figure. This folder does not know how a program is run, nor which of its figures a suite asks for.

mod bonnie;
mod dbench;
mod fio;
mod fs_mark;
mod iozone;
mod pattern;
mod postmark;
mod sysbench;

use std::collections::BTreeMap;

use mountmark_model::Metric;
use thiserror::Error;

pub use pattern::figure as printed_figure;

/// Output of a program.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
}

/// One test of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The name that suites use.
    pub name: String,
    /// Values by metric id, in the metrics' units.
    pub values: BTreeMap<String, f64>,
    /// Why there is no value, in a sentence, if the program reported that.
    pub missing: Option<String>,
    /// Why it has values but no rate, in words.
    pub note: Option<String>,
}

impl Figure {
    fn new(name: impl Into<String>) -> Figure {
        Figure { name: name.into(), ..Figure::default() }
    }

    fn missing(name: &str, reason: impl Into<String>) -> Figure {
        Figure { missing: Some(reason.into()), ..Figure::new(name) }
    }

    fn with(mut self, metric: Metric, value: f64) -> Figure {
        self.put(metric, value);
        self
    }

    /// Itself if there is a rate or a latency in it; else missing, for the reason that there is no rate.
    fn with_something_to_judge(self) -> Figure {
        let has = |metric: &Metric| self.values.contains_key(metric.id);
        match &self.note {
            Some(reason) if !has(&Metric::LATENCY_MEAN) && !has(&Metric::SYNC_LATENCY_MEAN) => {
                Figure::missing(&self.name, reason.clone())
            }
            _ => self,
        }
    }

    fn put(&mut self, metric: Metric, value: f64) {
        self.values.insert(metric.id.to_owned(), value);
    }
}

/// Output in an unknown form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unparsed {
    /// A line in an unknown form.
    #[error("line {number} of what {program} printed, {text:?}: expected {expected}")]
    Line {
        program: &'static str,
        /// From 1.
        number: usize,
        /// The line, shortened.
        text: String,
        expected: String,
    },
    /// A missing line.
    #[error("{program} printed no {what}; its last line is {last:?}")]
    Absent {
        program: &'static str,
        what: String,
        /// The last line that is not empty, shortened.
        last: String,
    },
    /// No parser has this name.
    #[error("there is no program {0:?} whose output is understood")]
    Unknown(String),
}

/// The figures in the output of `program` (a name in [`mountmark_model::Program::ALL`]), in its order, each name once.
///
/// # Errors
/// A line in an unknown form, or what is missing if the output ends too early.
pub fn parse(program: &str, printed: Printed<'_>) -> Result<Vec<Figure>, Unparsed> {
    match program {
        "bonnie++" => bonnie::parse(printed.stdout),
        "dbench" => dbench::parse(printed.stdout),
        "fio" => fio::parse(printed.stdout),
        "fs_mark" => fs_mark::parse(printed.stdout),
        "iozone" => iozone::parse(printed.stdout),
        "postmark" => postmark::parse(printed.stdout),
        "sysbench" => sysbench::parse(printed.stdout),
        other => Err(Unparsed::Unknown(other.to_owned())),
    }
}

/// A line with its number, for messages.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    program: &'static str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn expected(&self, expected: impl Into<String>) -> Unparsed {
        Unparsed::Line {
            program: self.program,
            number: self.number,
            text: shorten(self.text),
            expected: expected.into(),
        }
    }

    /// `word` of this line as a number that is finite and not negative.
    fn number(&self, word: &str, what: &str) -> Result<f64, Unparsed> {
        number(word).ok_or_else(|| {
            self.expected(format!("{what}, a number such as 12 or 3.4 (the C locale's), and not {:?}", shorten(word)))
        })
    }

    fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.split_whitespace()
    }
}

/// All complete lines of `text`. A line without its end was cut: its last number may lack digits.
fn lines<'a>(program: &'static str, text: &'a str) -> impl DoubleEndedIterator<Item = Line<'a>> + Clone {
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let all: Vec<&str> = text[..whole].lines().collect();
    all.into_iter().enumerate().map(move |(index, text)| Line { program, number: index + 1, text })
}

fn absent(program: &'static str, what: impl Into<String>, text: &str) -> Unparsed {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Unparsed::Absent { program, what: what.into(), last: shorten(last.trim()) }
}

/// Digits with at most one point: no signs, exponents, commas or words such as `nan`.
fn number(word: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let plain = match word.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(word),
    };
    if plain { word.parse().ok().filter(|value: &f64| value.is_finite()) } else { None }
}

/// At most 120 characters.
fn shorten(text: &str) -> String {
    const MOST: usize = 120;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests;
