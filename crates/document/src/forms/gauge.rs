//! Figures for programs that watch them over time.

/// A figure of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge {
    /// What was measured: `ext4/sort`.
    pub name: String,
    /// By which figure: `durable`.
    pub measure: String,
    /// `s`, `MB/s`.
    pub unit: String,
    pub value: f64,
    /// The least and the largest of the repeats.
    pub range: [f64; 2],
    pub is_lower_better: bool,
}

/// What was checked, for a list of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is alike, such as the file system.
    pub class: String,
    pub name: String,
    /// Why it failed.
    pub failure: Option<String>,
    /// Why nobody can say whether it did.
    pub skipped: Option<String>,
}
