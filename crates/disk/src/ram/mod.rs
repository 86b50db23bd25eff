//! The medium without a drive: a request takes only the time to copy its data.

use crate::{BadParameter, Model, Parameters};
use serde::{Deserialize, Serialize};

/// No parameters, and so no table in a disk's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ram {}

impl Parameters for Ram {
    fn without_table() -> Option<Self> {
        Some(Ram {})
    }

    fn check(&self) -> Result<(), BadParameter> {
        Ok(())
    }

    fn start(&self) -> Option<Box<dyn Model>> {
        None
    }

    fn capacity(&self) -> Option<u64> {
        None
    }
}
