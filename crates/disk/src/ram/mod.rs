//! The medium alone: no drive stands before it, so a request takes no time but the copying.

use crate::{BadParameter, Model, Parameters};
use serde::{Deserialize, Serialize};

/// It has no parameters, and so no table in a disk's file.
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
