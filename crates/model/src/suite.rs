//! Suites: ordered tasks with their parameters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Restart, Root, Workload};

/// One file of `catalog/suites/`, or a user's own.
///
/// Commands run under `sh -c` in the root of the file system under test. They see `$TEST` (that folder),
/// `$SOURCE` (the second disk's folder, where the suite has one), `$SEED`, and each parameter by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The name in `--suite`: the file's name without `.toml`.
    pub name: String,
    /// One line for lists.
    pub about: String,
    /// The corpus used unless `--corpus` names another; `None` if no task needs one.
    #[serde(default)]
    pub corpus: Option<String>,
    /// How the corpus is stored on the second disk.
    #[serde(default)]
    pub source: Source,
    /// Pause before each task after the machine has settled, in seconds.
    #[serde(default)]
    pub pause_seconds: f64,
    /// Numbers that tasks use; `--scale` scales them.
    #[serde(default)]
    pub parameters: BTreeMap<String, Parameter>,
    /// Debian packages with programs that tasks need beyond coreutils, findutils, tar, gzip, grep and sed.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The programs from those packages.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Debian packages of which every file is there, and of what they depend on: as after `apt install`, without what
    /// their installation runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whole_packages: Vec<String>,
    /// Files and folders of the user's, by paths from the suite's file: they lie where tasks run, as `NAME=PATH` under
    /// another name. A program has its libraries with it. A large one stays on the second disk, in `/with` for tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// A tree of files in which tasks find programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// Kernel modules that tasks need beyond those of the file system and the disks, such as `overlay`.
    #[serde(default)]
    pub modules: Vec<String>,
    /// The space that tasks need on the file system under test at scale 1, without the corpus's own share.
    pub room: Bytes,
    /// Maximum number of copies of the corpus on the file system under test at once.
    #[serde(default)]
    pub corpus_copies: u64,
    /// Further peaks of the space needed, at other times than the first: the largest one counts.
    #[serde(default, rename = "peak")]
    pub peaks: Vec<Peak>,
    /// Total bytes written by all tasks at scale 1, without the corpus's own share: the space that they need on a file
    /// system that frees nothing. Defaults to `room`.
    #[serde(default)]
    pub written: Option<Bytes>,
    /// Number of copies of the corpus that all tasks write in total.
    #[serde(default)]
    pub corpus_written: u64,
    /// The space on the second disk beyond one corpus, in corpora.
    #[serde(default)]
    pub source_copies: u64,
    /// The space on the second disk beyond corpora, at scale 1.
    #[serde(default)]
    pub source_room: Bytes,
    /// Runs once in `$SOURCE` after the corpus is in place, untimed, with the same shell and variables as tasks.
    #[serde(default)]
    pub source_prepare: Option<String>,
    /// The size of the partition that the source measured, at scale 1. Disks are as large, scaled, where neither the
    /// tasks nor the file systems need more.
    #[serde(default)]
    pub disk_size: Option<Bytes>,
    /// Whether the file system under test lies in a file on the disk, over a loop device, as `mount -o loop` has it.
    #[serde(default)]
    pub on_loop: bool,
    /// Whether tasks need names that differ in case alone, modes or links.
    #[serde(default)]
    pub posix: bool,
    /// Whether tasks do not depend on each other. Under varied conditions each repeat then has an order of its own, so
    /// that intervals cover what earlier tasks leave behind.
    #[serde(default)]
    pub any_order: bool,
    /// The parameter with the number of folders that commands make in one folder, if worth checking. For workloads it
    /// is known.
    // Older suites of users use the alias.
    #[serde(default, alias = "directory_links")]
    pub subdirectories: Option<String>,
    /// Decisions on points that the source leaves open.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// In execution order.
    #[serde(rename = "task")]
    pub tasks: Vec<Task>,
    /// Numbers that commands print, judged as tasks of their own.
    #[serde(default, rename = "figure", skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<SuiteFigure>,
    /// The figures that `mountmark show --safety` sets beside what file systems promise.
    #[serde(default, rename = "column", skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<Column>,
}

/// One figure of a task, for a table with a row for each configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// With the unit, if it has one.
    pub title: String,
    /// Task id.
    pub task: String,
    /// A metric's id.
    pub metric: String,
    /// The metric that it is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
}

/// Data on the file system under test at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Space at scale 1, without the corpus's own share.
    #[serde(default)]
    pub room: Bytes,
    /// Copies of the corpus at that time.
    #[serde(default)]
    pub corpus_copies: u64,
}

/// How the corpus is stored on the second disk.
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
    /// The minimum, at any scale.
    #[serde(default = "one")]
    pub min: Bytes,
    /// Whether `--scale` has no effect on it.
    #[serde(default)]
    pub fixed: bool,
}

fn one() -> Bytes {
    Bytes(1)
}

/// Whether the metric `rate` of a workload counts data or operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateOf {
    /// Data if the workload moves any, else operations.
    #[default]
    Automatic,
    /// Data, over the time of all threads.
    Data,
    /// Operations, without the syncs of a policy: Bonnie's seeks.
    Operations,
    /// Data, as the sum of each thread's rate over its own time: IOzone's "children see".
    Children,
}

/// One timed step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Short and unique in the suite: `001`, `treecopy`.
    pub id: String,
    /// For column heads and lists. A suite's title may have placeholders for parameters; a plan's cells have the
    /// numbers of scale 1, and [`crate::Plan::tasks`] those of the plan's scale.
    pub title: String,
    /// The kind of work, for summaries: large files, trees, small files, listing and search.
    #[serde(default)]
    pub category: String,
    /// Untimed, before the machine settles.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The timed command; empty if `fio`, `workload` or `part_of` is set.
    #[serde(default)]
    pub run: String,
    /// The benchmark program whose output `run` prints, by its name in [`crate::Program::ALL`]: its figures become
    /// samples. Its Debian package and program are included automatically.
    #[serde(default)]
    pub program: Option<String>,
    /// A job file of fio, in the folder of the suite's file, run unchanged. In a plan: its text.
    #[serde(default)]
    pub fio: Option<String>,
    /// Work of Mountmark's own engine instead of a command, in the root of the file system under test.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// Whether the metric `rate` of a workload counts data or operations.
    #[serde(default)]
    pub rate: RateOf,
    /// A workload is repeated as a whole until its phases that count took this long in total, in seconds of the lab's
    /// clock, so that short ones can be measured. 0: it runs once.
    #[serde(default)]
    pub least_seconds: f64,
    /// The task whose program prints this task's figures, or whose workload has it as a phase: that task runs, this one
    /// does not.
    #[serde(default)]
    pub part_of: Option<String>,
    /// The program's figure or the workload's phase that this task is; defaults to the id.
    #[serde(default)]
    pub figure: Option<String>,
    /// With `part_of`: this task is a number that the command prints, and what finds it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedFigure>,
    /// Why a plan omits this task, as a sentence: a program that is not available.
    #[serde(default)]
    pub skip: Option<String>,
    /// Untimed, afterwards.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// How often the three are run in a cell; each run is a sample.
    #[serde(default = "once")]
    pub repeat: u32,
    /// The machine goes down when the task's work has returned and comes up again. That is timed then, and the work is
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// With `restart`: a command that prints, once the file system is mounted again, how many of the files are lost that
    /// a returned fsync covers. Untimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Whether both disks are remounted before the task, so that nothing is cached.
    #[serde(default)]
    pub cold: bool,
    /// Timeout in seconds of the lab's clock, after which the task fails.
    #[serde(default = "limit")]
    pub limit_seconds: f64,
}

/// A number in what a command prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedFigure {
    /// A regular expression that matches once; its first group, or all that it matches, is the number.
    pub pattern: String,
    /// Whether less of it is better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub less: bool,
}

/// A `[[figure]]` of a suite: a number that a task's command prints, as a task of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteFigure {
    /// What it is called: letters, digits, - and _.
    pub name: String,
    /// The task that prints it; may be left out where there is one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// As [`PrintedFigure::pattern`].
    pub pattern: String,
    /// Its unit, for tables.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which way is better.
    #[serde(default)]
    pub better: Direction,
}

/// Which way a printed number is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// More is better.
    #[default]
    Higher,
    /// Less is better.
    Lower,
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
            printed: None,
            skip: None,
            cleanup: None,
            repeat: once(),
            restart: None,
            lost: None,
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
