//! Suites: ordered tasks with their parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Workload};

/// One file of `catalog/suites/`, or a user's own.
///
/// Commands run under `sh -c` in the root of the file system under test. They see `$TEST` (that folder),
/// `$SOURCE` (the second disk's folder, where the suite has one), `$SEED`, and each parameter by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The name in `--suite`, the file's own name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The corpus used unless `--corpus` names another; none if no task needs one.
    #[serde(default)]
    pub corpus: Option<String>,
    /// How the corpus lies on the second disk.
    #[serde(default)]
    pub source: Source,
    /// How long the machine rests after it has settled, before each task, in seconds.
    #[serde(default)]
    pub pause_seconds: f64,
    /// Numbers that tasks use; `--scale` shrinks them.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Debian packages with programs that tasks need beyond coreutils, findutils, tar, gzip, grep and sed.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The program of those packages.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The room that the tasks need on the file system under test at scale 1, without the corpus's own share.
    pub room: Bytes,
    /// How many copies of the corpus lie on the file system under test at once, at most.
    #[serde(default)]
    pub corpus_copies: u64,
    /// Further peaks of the need for room, where they come at other times than the first: the largest one counts.
    #[serde(default, rename = "peak")]
    pub peaks: Vec<Peak>,
    /// What all tasks write together at scale 1, without the corpus's own share: the room that they need on a file
    /// system that gives nothing back. `room` where it is absent.
    #[serde(default)]
    pub written: Option<Bytes>,
    /// How many copies of the corpus all tasks write together.
    #[serde(default)]
    pub corpus_written: u64,
    /// The room on the second disk beyond one corpus, in corpora.
    #[serde(default)]
    pub source_copies: u64,
    /// The room on the second disk beyond corpora, at scale 1.
    #[serde(default)]
    pub source_room: Bytes,
    /// Run once in `$SOURCE` after the corpus was laid out there, untimed, with the same shell and variables as tasks.
    #[serde(default)]
    pub source_prepare: Option<String>,
    /// Whether tasks need names that differ in case alone, modes or links.
    #[serde(default)]
    pub posix: bool,
    /// The parameter that says how many folders commands make in one folder, where that is worth checking. Of workloads
    /// it is known.
    // Suites of users have it by its older name too.
    #[serde(default, alias = "directory_links")]
    pub subdirectories: Option<String>,
    /// What the source leaves open, and how it was decided here.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// The tasks in their order.
    #[serde(rename = "task")]
    pub tasks: Vec<Task>,
}

/// What lies on the file system under test at once, at some time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// The room at scale 1, without the corpus's own share.
    #[serde(default)]
    pub room: Bytes,
    /// Copies of the corpus.
    #[serde(default)]
    pub corpus_copies: u64,
}

/// How the corpus lies on the second disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// There is no second disk.
    #[default]
    None,
    /// One tar file, `$SOURCE/corpus.tar`.
    Tar,
    /// Unpacked, in `$SOURCE/tree`.
    Tree,
}

/// A number that tasks use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The value at scale 1: a count or a size.
    pub value: Bytes,
    /// The least value, at any scale.
    #[serde(default = "one")]
    pub min: Bytes,
    /// Whether `--scale` leaves it alone.
    #[serde(default)]
    pub fixed: bool,
}

fn one() -> Bytes {
    Bytes(1)
}

/// What the metric `rate` of a workload counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateOf {
    /// Data where the workload moves any, else operations.
    #[default]
    Automatic,
    /// Data, over the time of all threads.
    Data,
    /// Operations, the syncs of a policy left out: Bonnie's seeks.
    Operations,
    /// Data, as the sum of what each thread had over its own time: IOzone's "children see".
    Children,
}

/// One timed step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Short, unique in the suite: `001`, `treecopy`.
    pub id: String,
    /// What it does, for column heads and lists. A suite's may have placeholders for parameters; a plan's cells have it
    /// with the numbers of scale 1, and [`crate::Plan::tasks`] with those of the plan's scale.
    pub title: String,
    /// The kind of work, for summaries: large files, trees, small files, listing and search.
    #[serde(default)]
    pub category: String,
    /// Untimed, before the machine settles.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The timed command; empty where `fio`, `workload` or `part_of` says what is done.
    #[serde(default)]
    pub run: String,
    /// The benchmark program whose output `run` prints, by its name in [`crate::Program::ALL`]: its figures become
    /// samples. Its Debian package and program come with it.
    #[serde(default)]
    pub program: Option<String>,
    /// A job file of fio, in the folder of the suite's own file, that is run as it is. A plan has its text here.
    #[serde(default)]
    pub fio: Option<String>,
    /// What Mountmark's own engine does instead of a command, in the root of the file system under test.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// What the metric `rate` of a workload counts.
    #[serde(default)]
    pub rate: RateOf,
    /// A workload is done again as a whole until the phases that count took this long together, in seconds of the
    /// lab's clock: what is over too fast is measured all the same. 0: it is done once.
    #[serde(default)]
    pub least_seconds: f64,
    /// The task whose program prints this task's figures, or whose workload has it as a phase: that one is run, this one
    /// is not.
    #[serde(default)]
    pub part_of: Option<String>,
    /// Which figure of the program, or phase of the workload, this task is; the id where it is absent.
    #[serde(default)]
    pub figure: Option<String>,
    /// Why a plan leaves this task out, in a sentence: a program that is not to be had.
    #[serde(default)]
    pub skip: Option<String>,
    /// Untimed, afterwards.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// How often the three are done in a cell; each time is a sample.
    #[serde(default = "once")]
    pub repeat: u32,
    /// Whether both disks are unmounted and mounted again before the task, so that nothing is cached.
    #[serde(default)]
    pub cold: bool,
    /// The longest time in seconds of the lab's clock before the task is ended and has failed.
    #[serde(default = "limit")]
    pub limit_seconds: f64,
}

impl Default for Task {
    /// An empty task with the defaults of a suite's file.
    fn default() -> Task {
        Task {
            id: String::new(),
            title: String::new(),
            category: String::new(),
            prepare: None,
            run: String::new(),
            program: None,
            fio: None,
            workload: None,
            rate: RateOf::default(),
            least_seconds: 0.0,
            part_of: None,
            figure: None,
            skip: None,
            cleanup: None,
            repeat: once(),
            cold: false,
            limit_seconds: limit(),
        }
    }
}

impl Task {
    /// The name of the task's figure in its program's output.
    pub fn figure_name(&self) -> &str {
        self.figure.as_deref().unwrap_or(&self.id)
    }
}

fn once() -> u32 {
    1
}

fn limit() -> f64 {
    7200.0
}
