//! Published studies: their hardware, software and printed figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Case, Claim, Needs};

/// One file of `catalog/studies/`, or a user's own. Its figures are in a CSV file of the same name beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The name in `--study`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The publication's title.
    pub title: String,
    /// Empty if the publication names none.
    #[serde(default)]
    pub authors: Vec<String>,
    /// The year of publication.
    pub year: u16,
    /// Where it was published.
    pub published: String,
    /// The suite that repeats it.
    #[serde(default)]
    pub suite: Option<String>,
    /// Further suites whose tasks have the same ids and do the same work.
    #[serde(default)]
    pub same_tasks: Vec<String>,
    /// The profile that models the study's computer.
    #[serde(default)]
    pub machine: Option<String>,
    /// Size of its file systems, if its suite does not say it.
    #[serde(default)]
    pub disk_size: Option<Bytes>,
    /// How often it measured each file system, if more than once.
    #[serde(default)]
    pub repeats: Option<u32>,
    /// Its computers, a sentence each.
    #[serde(default)]
    pub hardware: Vec<String>,
    /// Its kernels and tools, a sentence each.
    #[serde(default)]
    pub software: Vec<String>,
    /// How it measured, a sentence each.
    #[serde(default)]
    pub method: Vec<String>,
    /// Where the publication contradicts itself or leaves a gap.
    #[serde(default)]
    pub inconsistencies: Vec<String>,
    /// Its runs; the first is compared by default.
    #[serde(default, rename = "run")]
    pub runs: Vec<StudyRun>,
    /// Titles of its tests, by task id.
    #[serde(default)]
    pub tasks: BTreeMap<String, String>,
    /// Lists of tasks by a name that claims use in their place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
    /// What a run needs at least to judge its claims, unless a claim says otherwise.
    #[serde(default, skip_serializing_if = "Needs::is_nothing")]
    pub needs: Needs,
    /// Cases of power cuts that it tells apart.
    #[serde(default, rename = "case", skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Case>,
    /// What it says of its figures.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Its figures, of all runs.
    #[serde(skip)]
    pub figures: Vec<Figure>,
}

/// One pass over all file systems, on one computer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRun {
    /// Its name in the CSV's column `run`, and after `#` in `--study`.
    pub id: String,
    /// What distinguishes it.
    pub about: String,
    /// The measured configurations, in the study's order.
    pub filesystems: Vec<String>,
    /// What lay below its file systems, as `--fs` takes it behind the `@`; nothing if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<String>,
    /// The suites that repeat it, if not the study's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<String>,
    /// The profile that models its computer, if not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Size of its file systems, if not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_size: Option<Bytes>,
}

/// One published figure: a line of the CSV.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub run: String,
    /// Configuration name as in `--fs`, or another subject of the figure.
    pub fs: String,
    /// Task id, or a protocol step such as `mkfs`.
    pub task: String,
    /// Metric id of Mountmark if the same, else a name of the study's.
    pub metric: String,
    /// Unit of the value: `s`, `%`, `count`, `text`, ...
    pub unit: String,
    pub value: Printed,
    pub qualifier: Qualifier,
    pub note: String,
}

impl Figure {
    /// The figure, if it is one for this file system and not a limit or setting.
    pub fn point(&self) -> Option<f64> {
        match self.value {
            Printed::Number(value) if self.qualifier.is_point() => Some(value),
            _ => None,
        }
    }
}

/// The CSV's column `value`.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// A finite number in the figure's unit.
    Number(f64),
    /// Text, if the unit is `text`.
    Text(String),
    /// No value: the qualifier says why.
    Nothing,
}

macro_rules! qualifiers {
    ($($name:ident $word:literal $about:literal;)*) => {
        /// How a figure is printed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Qualifier {
            $(#[doc = $about] $name,)*
        }

        impl Qualifier {
            pub const ALL: &'static [Qualifier] = &[$(Qualifier::$name),*];

            /// The word in the CSV.
            pub fn word(self) -> &'static str {
                match self {
                    $(Qualifier::$name => $word,)*
                }
            }

            /// One sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(Qualifier::$name => $about,)*
                }
            }
        }
    };
}

qualifiers! {
    MeanOf3 "mean_of_3" "The mean of three runs.";
    Exact "exact" "Printed for this file system.";
    SingleRun "single_run" "Of one session.";
    About "about" "Printed as a round figure.";
    IdenticalToInitial "identical_to_initial" "Said to equal the first one.";
    RangeMin "range_min" "The lower end of a range for several file systems; theirs lies in it.";
    RangeMax "range_max" "The upper end of a range for several file systems; theirs lies in it.";
    AboutRangeMin "about_range_min" "The lower end of a rough range.";
    AboutRangeMax "about_range_max" "The upper end of a rough range.";
    AtLeast "at_least" "A lower limit.";
    Maximum "maximum" "The largest of several.";
    HardlyMoreThan "hardly_more_than" "Slightly above this figure at most.";
    MoreThanInPart "more_than_in_part" "Exceeded in some of the tests.";
    Parameter "parameter" "A setting.";
    Qualitative "qualitative" "Words.";
    StatedNotMeasured "stated_not_measured" "Said without a measurement.";
    TooFast "too_fast" "The program found its time too short to print a figure.";
    NotRun "not_run" "The test was switched off.";
}

impl Qualifier {
    pub fn find(word: &str) -> Option<Qualifier> {
        Qualifier::ALL.iter().copied().find(|qualifier| qualifier.word() == word)
    }

    /// Whether a number is the figure of this one file system.
    pub fn is_point(self) -> bool {
        use Qualifier::{About, Exact, IdenticalToInitial, MeanOf3, SingleRun};
        matches!(self, MeanOf3 | Exact | SingleRun | About | IdenticalToInitial)
    }

    /// Whether there is no value.
    pub fn is_empty(self) -> bool {
        matches!(self, Qualifier::TooFast | Qualifier::NotRun)
    }
}

impl Study {
    /// The run with this id; the first if `None`.
    pub fn run(&self, id: Option<&str>) -> Option<&StudyRun> {
        match id {
            Some(id) => self.runs.iter().find(|run| run.id == id),
            None => self.runs.first(),
        }
    }

    /// Whether this suite's tasks are the study's own.
    pub fn is_repeated_by(&self, suite: &str) -> bool {
        self.suite.as_deref() == Some(suite) || self.same_tasks.iter().any(|same| same == suite)
    }
}
