//! The types that every stage shares: configuration, suite, task, machine, corpus, cell, event, sample, metric.
//!
//! Everything here is data: it derives serde, holds no handle and starts nothing. This crate does not know where
//! catalogue files are, what a guest is, or how results are stored.

mod ageing;
mod cell;
mod claim;
pub mod conditions;
mod configuration;
mod corpus;
mod costs;
pub mod device;
mod environment;
mod event;
mod factor;
pub mod facts;
mod file_outcome;
mod heading;
mod health;
mod held;
mod history;
mod known_fault;
mod lab;
mod layer;
mod machine;
mod machine_agreement;
mod metric;
pub mod names;
mod order;
mod outcome;
mod precondition;
pub mod processor;
pub mod profile;
pub mod program;
pub mod promises;
mod quantity;
mod recovery;
mod results;
mod root;
mod sampling;
mod steps;
mod study;
mod suite;
mod target;
mod tuning;
mod variant;
mod vary;
mod visible;
pub mod words;
mod work;
pub mod workload;

pub use ageing::AgeingProfile;
pub use cell::{Cell, DISTURBED, Plan, SourceMedium, protocol_task};
pub use claim::{Among, Answered, Claim, Clause, Limits, Needs, Over, POINTS, Test};
pub use conditions::Conditions;
pub use configuration::{Configuration, FileSystem, Fsck};
pub use corpus::{
    Bring, Corpus, CorpusKind, CorpusSource, Distribution, Extension, FileTree, Impressions, Own, RealisedCorpus,
};
pub use costs::{ClassCosts, MachineCosts};
pub use device::DeviceRecord;
pub use environment::{Environment, Sitting, Taken};
pub use event::{Event, Stage, Subject};
pub use factor::{Factor, Level, SideComputer, side_of};
pub use file_outcome::{Case, CaseClaim, FileOutcome, When};
pub use heading::{heading, labelled_as, legend, split, without_label, without_options};
pub use health::{DriveHealth, Health};
pub use held::{Age, Fill};
pub use history::{BadHistory, HistoryOperation, stays_below};
pub use known_fault::{KnownFault, Seen};
pub use lab::{Capabilities, Lab};
pub use layer::{DiskCount, Layer, LayerOption, Stack, StackedLayer};
pub use machine::{Machine, OwnComputer, OwnTarget};
pub use machine_agreement::{MachineAgreement, Side, SuiteAgreement, TaskAgreement};
pub use metric::{Better, Metric, MetricFinder, Unit};
pub use mountmark_disk::{Disk, DiskModel};
pub use order::{Group, OTHERS, Order, ParseOrderError, Relation};
pub use outcome::Outcome;
pub use precondition::{Precondition, Preconditioned, Window};
pub use processor::Processor;
pub use program::Program;
pub use quantity::{
    Bytes, ParseQuantityError, Scale, counted, format_bytes, format_count, format_rate, format_seconds,
};
pub use recovery::{Down, Recovery, Restart, Up};
pub use results::{DeviceUse, Output, OutputKind, Sample, TaskOutcome};
pub use root::{Root, TaskRoot};
pub use sampling::{Sampling, SamplingEnd, WhyEnded};
pub use steps::Site;
pub use study::{Figure, Printed, Qualifier, Study, StudyRun};
pub use suite::{Column, Direction, Parameter, Peak, PrintedFigure, RateOf, Source, Suite, SuiteFigure, Task};
pub use target::{Identity, Target};
pub use tuning::TuningOption;
pub use variant::Variant;
pub use vary::{Vary, VaryPoint};
pub use visible::{is_hidden, shortened, visible};
pub use work::{Place, Work, WorkTimes};
pub use workload::{Quantity, QuantityError, Workload, WorkloadResult};

/// The version of the protocol between this program and its agent in a guest; both must be equal.
pub const PROTOCOL: u32 = 4;
