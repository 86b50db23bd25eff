//! A parameter that a plan varies.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Plan;

/// A parameter and its points. Each point has cells of its own, and its tasks and steps have names of their own in
/// records: `001@512MiB`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vary {
    /// `ram`, `scale`, `disk-size`, or a parameter of the suite.
    pub parameter: String,
    /// Ascending.
    pub points: Vec<VaryPoint>,
}

/// One value of a varied parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VaryPoint {
    /// In bytes, or as a count or factor.
    pub value: f64,
    /// The same for people and names: `512MiB`.
    pub text: String,
}

/// As it is asked for: `ram=512MiB..2GiB:8`.
impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parameter)?;
        match &self.points[..] {
            [first, .., last] => write!(f, "={}..{}:{}", first.text, last.text, self.points.len()),
            // Only a plan of a stranger has fewer than two.
            [..] => Ok(()),
        }
    }
}

/// Separates a task's or step's name from its point.
const AT: char = '@';

impl Vary {
    /// The parameter that is the plan's scale: the plan has no single one then.
    pub const SCALE: &'static str = "scale";

    /// The name of a task or step at a point.
    pub fn name(&self, task: &str, point: usize) -> String {
        self.points.get(point).map_or_else(|| task.to_owned(), |point| format!("{task}{AT}{}", point.text))
    }
}

impl Plan {
    /// The task or step of a name in records, as cells know it, and its point.
    pub fn of_recorded<'a>(&self, name: &'a str) -> (&'a str, Option<usize>) {
        let found = self.vary.as_ref().zip(name.rsplit_once(AT)).and_then(|(vary, (task, text))| {
            Some((task, Some(vary.points.iter().position(|point| point.text == text)?)))
        });
        found.unwrap_or((name, None))
    }
}
