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

/// Makes all that has a part for each form: the forms, what a subject says of each, and the access to them.
macro_rules! forms {
    ($($(#[$about:meta])* $form:ident, $constant:ident: fn $name:ident($($out:ident: $kind:ty)?) -> $gives:ty;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Form {
            $($(#[$about])* $form,)*
        }

        impl Form {
            /// Whether a subject has the form. A page can be made of the parts for people.
            pub fn is_of<S: Subject>(self) -> bool {
                let has = match self {
                    $(Form::$form => S::$constant.is_some(),)*
                };
                has || self == Form::Page && S::BLOCKS.is_some()
            }
        }

        /// Data that can be written, in the forms that it has.
        pub trait Subject: Sized {
            /// The command that writes it, without the program's name.
            const COMMAND: &'static str;
            /// What it is, in words.
            const NAME: &'static str;
            $($(#[$about])* const $constant: Option<fn(&Self $(, &mut $kind)?) -> $gives> = None;)*
        }

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
                Some(S::$constant?(self $(, $out)?))
            })*
        }
    };
}

forms! {
    /// Headings, sentences and tables, for people.
    Blocks, BLOCKS: fn blocks() -> Vec<Block>;
    /// Lines of fields, starting with the heads.
    Rows, ROWS: fn rows(out: Rows) -> Result<()>;
    /// Keys and values, for programs.
    Object, OBJECT: fn object(out: Object) -> Result<()>;
    /// A page for a browser, better than its parts make.
    Page, PAGE: fn page() -> Result<Markup>;
    Picture, PICTURE: fn picture() -> Result<Markup>;
    /// Paths of calls with times.
    Stacks, STACKS: fn stacks() -> Vec<Stack>;
    /// Figures for programs that watch them over time.
    Gauges, GAUGES: fn gauges() -> Vec<Gauge>;
    /// What was checked, as a list of tests.
    Checks, CHECKS: fn checks() -> Vec<Check>;
}
