//! A cell's environment, which it has alike with others but for its key and its origin.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use mountmark_model::{Environment, Taken};
use serde::{Serialize, Serializer};

/// An [`Environment`]: it has the fields of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellEnvironment {
    pub key: String,
    pub taken: Option<Taken>,
    /// Without the other fields.
    pub(crate) alike: Arc<Environment>,
}

impl CellEnvironment {
    pub fn whole(&self) -> Environment {
        Environment { key: self.key.clone(), taken: self.taken.clone(), ..Environment::clone(&self.alike) }
    }
}

impl From<Environment> for CellEnvironment {
    fn from(mut whole: Environment) -> CellEnvironment {
        let (key, taken) = (std::mem::take(&mut whole.key), whole.taken.take());
        CellEnvironment { key, taken, alike: Arc::new(whole) }
    }
}

impl Deref for CellEnvironment {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.alike
    }
}

impl DerefMut for CellEnvironment {
    fn deref_mut(&mut self) -> &mut Environment {
        Arc::make_mut(&mut self.alike)
    }
}

impl Serialize for CellEnvironment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.whole().serialize(to)
    }
}
