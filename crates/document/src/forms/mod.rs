//! The forms that subjects provide and writers need.

mod block;
mod gauge;
mod object;
mod rows;
mod stack;

use anyhow::Result;

use crate::markup::Markup;
pub use block::{Block, Last, Mark, Shade, Table, aside, chip, code, list, named, opened, strong};
pub use gauge::{Check, Gauge};
pub use object::Object;
pub use rows::{Rows, number, number_or_empty};
pub use stack::Stack;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Headings, sentences and tables.
    Blocks,
    /// Lines of fields under one head.
    Rows,
    /// Keys and values.
    Object,
    /// A page for a browser, which parts are enough for.
    Page,
    Picture,
    /// Paths of calls with times.
    Stacks,
    /// Figures for programs that watch them over time.
    Gauges,
    /// What was checked, as a list of tests.
    Checks,
}

/// Data that can be written, in the forms that it has.
pub trait Subject: Sized {
    const COMMAND: &'static str;
    const NAME: &'static str;
    /// Headings, sentences and tables, for people.
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = None;
    /// Lines of fields, starting with the heads.
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = None;
    /// Keys and values, for programs.
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = None;
    /// A page for a browser, better than its parts make.
    const PAGE: Option<fn(&Self) -> Result<Markup>> = None;
    const PICTURE: Option<fn(&Self) -> Result<Markup>> = None;
    /// Paths of calls with times.
    const STACKS: Option<fn(&Self) -> Vec<Stack>> = None;
    /// Figures for programs that watch them over time.
    const GAUGES: Option<fn(&Self) -> Vec<Gauge>> = None;
    /// What was checked.
    const CHECKS: Option<fn(&Self) -> Vec<Check>> = None;
}

/// Type-erased access to the forms of a subject: a method for each of its constants.
macro_rules! forms {
    ($($form:ident: fn $name:ident($($out:ident: $kind:ty)?) -> $gives:ty;)*) => {
        /// Type-erased access to the forms of a subject.
        pub trait Forms {
            fn name(&self) -> &'static str;
            fn command(&self) -> &'static str;
            $(fn $name(&self $(, $out: &mut $kind)?) -> Option<$gives>;)*
        }

        impl<S: Subject> Forms for S {
            fn name(&self) -> &'static str {
                S::NAME
            }

            fn command(&self) -> &'static str {
                S::COMMAND
            }

            $(fn $name(&self $(, $out: &mut $kind)?) -> Option<$gives> {
                Some(S::$form?(self $(, $out)?))
            })*
        }
    };
}

forms! {
    BLOCKS: fn blocks() -> Vec<Block>;
    ROWS: fn rows(out: Rows) -> Result<()>;
    OBJECT: fn object(out: Object) -> Result<()>;
    PAGE: fn page() -> Result<Markup>;
    PICTURE: fn picture() -> Result<Markup>;
    STACKS: fn stacks() -> Vec<Stack>;
    GAUGES: fn gauges() -> Vec<Gauge>;
    CHECKS: fn checks() -> Vec<Check>;
}
