//! Turns a catalogue and options into ordered cells; starts nothing.
//!
//! [`Catalogue`] reads the definitions of file systems, suites, machines, disks and corpora, the built-in ones and the
//! user's own; [`plan`] turns them and [`Options`] into a [`Plan`](mountmark_cells::Plan) whose cells hold all that an
//! agent needs. This crate does not know how a corpus is generated (the caller does that on request), how a lab works
//! inside, which kernels or programs exist on this machine, or how anything is measured. Everything that fails by
//! definitions alone is rejected here, before anything runs.

mod below;
mod bounds;
mod brought;
mod catalogue;
mod check;
mod command;
mod computer;
mod conditions;
mod configuration;
mod corpora;
mod crossed;
mod disks;
mod error;
mod figures;
mod fill;
mod fio;
mod kind;
mod layers;
mod matrix;
mod more;
mod needs;
mod option_levels;
mod options;
mod order;
mod parse;
mod parts;
mod plan;
mod repetition;
mod restart;
mod size;
mod stored;
mod study;
mod targets;
mod tasks;
mod title;
mod vary;
mod what_if;
mod without;
mod written;

pub use brought::of as brought;
pub use catalogue::{Catalogue, Entry, Origin};
pub use check::parameter_fault;
pub use command::{CommandLine, put_command, written_suite};
pub use configuration::{configurations, configurations_for, control};
pub use crossed::{CrossedFactor, CrossedLevel, SideChange, check_factors, plain, plan_with, side_computers};
pub use disks::{disk, is_list};
pub use error::PlanError;
pub use fill::fill_percent;
pub use kind::Kind;
pub use more::{next_block, with_sampling};
pub use option_levels::with_options;
pub use options::{CorpusRequest, Options, Realise};
pub use order::repeat_seed;
pub use plan::plan;
pub use repetition::{PowerCuts, Repeated, Step, repetition};
pub use stored::check_stored;
pub use targets::{keep_written, on_targets, put_mounted};
pub use tasks::{leave_out, programs};
pub use vary::{varies_scale, vary};
pub use written::Written;

pub type Result<T, E = PlanError> = std::result::Result<T, E>;
