//! Stacks for flame-graph tools: a line a stack, its frames separated by semicolons, then its times.

use crate::forms::Form;
use crate::writers::Writer;

pub const FOLDED: Writer = Writer {
    name: "folded",
    endings: &["folded"],
    form: Form::Stacks,
    mark: "\u{0}",
    write: |subject, _| Some(Ok(subject.stacks()?.iter().map(|stack| stack.line() + "\n").collect())),
};
