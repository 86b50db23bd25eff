//! The tasks of a cell, in its order.

use std::ops::Index;
use std::sync::Arc;

use mountmark_model::Task;

/// Tasks that other cells may have in another order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks(pub(crate) Arc<[Arc<Task>]>);

impl Tasks {
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Task> + Clone {
        self.0.iter().map(|task| &**task)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn to_vec(&self) -> Vec<Task> {
        self.iter().cloned().collect()
    }
}

impl From<Vec<Task>> for Tasks {
    fn from(tasks: Vec<Task>) -> Tasks {
        Tasks(tasks.into_iter().map(Arc::new).collect())
    }
}

impl Index<usize> for Tasks {
    type Output = Task;

    fn index(&self, at: usize) -> &Task {
        &self.0[at]
    }
}

impl<'a> IntoIterator for &'a Tasks {
    type Item = &'a Task;
    type IntoIter = std::iter::Map<std::slice::Iter<'a, Arc<Task>>, fn(&'a Arc<Task>) -> &'a Task>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|task| &**task)
    }
}
