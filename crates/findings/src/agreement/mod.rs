//! How far the orders of the model are those of a real machine.

pub(crate) mod find;
pub mod say;
pub(crate) mod show;

pub use find::{AgreedTask, Marked, ModelAgreement, Trust, Unfit, model_agreement};
pub use show::ModelBeside;
