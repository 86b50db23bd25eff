//! Finds what earlier cells have alike.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use mountmark_model::{Conditions, Fill, SourceMedium, Task};

use crate::{Alike, Tasks};

/// How many of a name are looked at, from the last: more differ in a plan of a stranger alone, which takes more memory then.
const MOST: usize = 16;

/// The parts of the cells of a plan.
#[derive(Default)]
pub struct Pool {
    pub(crate) alike: Known<(String, Option<u32>), Alike>,
    tasks: Known<String, Task>,
    /// By the places of its tasks in memory, which they keep while this lives.
    orders: HashMap<Vec<usize>, Tasks>,
    pub(crate) media: Known<(), SourceMedium>,
    pub(crate) conditions: Known<(), Conditions>,
    pub(crate) fills: Known<(), Fill>,
}

/// Values that are equal to earlier ones, by what is quickly looked up of them.
pub struct Known<K, V>(HashMap<K, Vec<Arc<V>>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Known<K, V> {
        Known(HashMap::new())
    }
}

impl<K: Eq + Hash, V: PartialEq> Known<K, V> {
    /// The value, held once.
    pub fn get(&mut self, key: K, value: V) -> Arc<V> {
        let known = self.0.entry(key).or_default();
        if let Some(found) = known.iter().rev().take(MOST).find(|known| ***known == value) {
            return found.clone();
        }
        let new = Arc::new(value);
        known.push(new.clone());
        new
    }
}

impl Pool {
    pub(crate) fn tasks(&mut self, tasks: Vec<Task>) -> Tasks {
        let tasks: Vec<Arc<Task>> = tasks.into_iter().map(|task| self.tasks.get(task.id.clone(), task)).collect();
        let places = tasks.iter().map(|task| Arc::as_ptr(task) as usize).collect();
        self.orders.entry(places).or_insert_with(|| Tasks(tasks.into())).clone()
    }
}
