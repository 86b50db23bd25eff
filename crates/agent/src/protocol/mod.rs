//! What happens to a cell's disks, as one list of typed steps. The agent takes them, and a dry run prints them, so that
//! neither does what the other does not know of.

mod mount;
mod outline;
mod restart;
mod stand;

use std::path::{Path, PathBuf};

use mountmark_job::{Places, plain};
use mountmark_model::{Age, Cell, Fill, Metric, Source, SourceMedium, Task, TaskRoot, protocol_task};

pub use mount::Mount;
pub use outline::{Line, outline};
pub use restart::Restarted;
pub use stand::Stand;

/// What the steps of the second disk belong to.
const SOURCE: &str = "source";
/// What steps belong to that vary a repeat's conditions.
const CONDITIONS: &str = "conditions";
/// What steps belong to that leave the file system as it is after use.
pub const HELD: &str = "held";
/// Removes every file of the tasks.
const REMOVE_ALL: &str = "find . -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .nilfs -exec rm -rf {} +";

/// Which of a cell's file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The one under test.
    Test,
    /// The one on whose folder that lies.
    Below,
    /// That of the second disk.
    Source,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'a> {
    /// What it belongs to: the second disk, a layer, a step of the protocol such as `mkfs`, or a task's id.
    pub of: &'a str,
    pub part: Part,
    pub act: Act<'a>,
}

impl Step<'_> {
    /// Whether it is one of the protocol's own programs, whose figures are samples. Tasks measure what is theirs.
    pub fn is_measured(&self) -> bool {
        let own = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT];
        self.part == Part::Whole && own.contains(&self.of)
    }
}

/// A step's part of what it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A step on its own.
    Whole,
    Prepare,
    /// What makes a task cold, or mounts the file system for those that follow.
    Remount,
    /// A task's own work.
    Run,
    /// How the machine goes down, and what must be done before what is timed.
    Restart,
    /// How the machine comes up again.
    Timed,
    /// The count of lost files.
    Lost,
    Cleanup,
}

/// What is done. What is measured begins when the machine has settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Act<'a> {
    /// A program makes, attaches or takes away a layer between the disk and the file system under test, or makes the folder that
    /// this one lies on.
    Layer(Vec<String>),
    /// Programs that a file system needs before it is made or mounted.
    Attach(Disk, Vec<Vec<String>>),
    /// Programs that undo it.
    Detach(Disk, Vec<Vec<String>>),
    /// Programs make a file system.
    Make(Disk, Vec<Vec<String>>),
    Mount(Disk, Mount),
    Unmount(Disk, Vec<Vec<String>>),
    /// Drops what the kernel has cached of a device that is not mounted.
    Forget(Disk),
    /// Drops the machine's caches: the file system is somebody else's, and stays mounted.
    DropCaches,
    /// The corpus becomes a file, or what `unpack` makes of it.
    Corpus {
        to: PathBuf,
        unpack: Option<Vec<String>>,
    },
    /// Files of the second disk are copied to where tasks run.
    Bring(Vec<String>),
    /// A command of a suite, or of the protocol, in the folder of a disk; not measured.
    Script(Disk, &'a str),
    /// Reads here and there from the disk and takes memory, as the repeat's conditions say.
    Vary,
    /// Makes folders and removes them, as the repeat's conditions say.
    Turn,
    /// Whether modelled disks keep time from now on.
    DiskTime(bool),
    /// Files take a share of the file system.
    Fill(&'a Fill),
    /// A history of file operations is played.
    Age(&'a Age),
    /// Asks the file system for its space.
    Capacity(&'static [Metric]),
    Settle,
    /// Writes out all that is dirty.
    Sync,
    /// The work of a task; `cut`: the power fails when it returns.
    Work {
        task: &'a Task,
        cut: bool,
    },
    /// The disk under test is set back to what it held when the power failed.
    PowerBack {
        /// Whether that is without what was not durable.
        cache_lost: bool,
    },
    /// The full check with repairs.
    Repair(Vec<String>),
    /// The read-only check; `None` if there is none.
    Check(Option<Vec<String>>),
}

/// A task's steps, which are repeated with it. A task that is left out, or is a figure of another, has none.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSteps<'a> {
    pub task: &'a Task,
    pub prepare: Option<Step<'a>>,
    pub remount: Vec<Step<'a>>,
    pub work: Option<Step<'a>>,
    pub restart: Option<Restarted<'a>>,
    pub cleanup: Option<Step<'a>>,
}

/// All steps of a cell, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol<'a> {
    /// The second disk is made and filled; the modelled disks keep no time yet.
    pub source: Vec<Step<'a>>,
    /// Layers are made and attached, and the file system below is made and mounted; the modelled disks keep no time yet.
    pub layers: Vec<Step<'a>>,
    /// If the file system holds something before the tasks: until the disks do, and the kernel knows nothing of them.
    pub contents: Vec<Step<'a>>,
    /// From there, or else from the layers, until there is a file system for the tasks.
    pub begin: Vec<Step<'a>>,
    /// Tasks that are figures of others too, which have no steps.
    pub tasks: Vec<TaskSteps<'a>>,
    /// If the file system is still mounted after the tasks.
    pub end: Vec<Step<'a>>,
    /// What it stands on is taken away down to the layers, when it is not mounted.
    pub leave: Vec<Step<'a>>,
    /// Whatever became of the tasks.
    pub check: Option<Step<'a>>,
    /// Layers are taken away, the uppermost first, if they were attached and the file system is not mounted.
    pub detach: Vec<Step<'a>>,
    /// Whatever else became of the cell.
    pub close: Option<Step<'a>>,
}

impl<'a> Protocol<'a> {
    /// The steps of a cell whose disks are in these places.
    pub fn of(cell: &'a Cell, places: &Places) -> Protocol<'a> {
        let configuration = &cell.configuration;
        let stand = Stand::of(configuration, places);
        let medium = cell.second_disk.as_ref();
        let whole = |of: &'a str, act: Act<'a>| Step { of, part: Part::Whole, act };
        let mut begin: Vec<_> = medium.iter().map(|_| whole(SOURCE, source_mount(places))).collect();
        begin.extend(cell.conditions.iter().map(|_| whole(CONDITIONS, Act::Vary)));
        let (mut contents, mut end) = (Vec::new(), Vec::new());
        let turn = cell.conditions.iter().map(|_| whole(CONDITIONS, Act::Turn));
        // What somebody else has mounted is taken as it is.
        if cell.is_mounted {
            begin.extend(turn);
        } else {
            const NEW: &[Metric] = &[Metric::CAPACITY, Metric::CAPACITY_BYTES, Metric::CAPACITY_DEVICE];
            let make = whole(protocol_task::MKFS, stand.make());
            let mount = whole(protocol_task::MOUNT, Act::Mount(Disk::Test, stand.mount()));
            let space = whole(protocol_task::CAPACITY, Act::Capacity(NEW));
            if cell.fill.is_none() && cell.age.is_none() {
                begin.extend([make, mount].into_iter().chain(turn).chain([space]));
            } else {
                let first = Step { of: HELD, ..mount.clone() };
                contents.extend([make, first, space].into_iter().chain(held(cell, &stand)));
                begin.extend(stand_again(&stand).into_iter().chain([mount]).chain(turn));
                begin.push(whole(protocol_task::CAPACITY, Act::Capacity(&[Metric::CAPACITY_FILLED])));
            }
            end = vec![
                whole(protocol_task::CAPACITY, Act::Script(Disk::Test, REMOVE_ALL)),
                whole(protocol_task::CAPACITY, Act::Settle),
                whole(protocol_task::CAPACITY, Act::Capacity(&[Metric::CAPACITY_RESIDUAL])),
                whole(protocol_task::UMOUNT, Act::Unmount(Disk::Test, stand.unmount())),
            ];
        }
        let brought = cell.root.as_ref().map(|root| bring_command(root, places));
        begin.extend(brought.map(|command| whole(SOURCE, Act::Bring(command))));
        Protocol {
            source: medium.map(|medium| lay_out(cell, medium, places)).unwrap_or_default(),
            layers: if cell.is_mounted { Vec::new() } else { stand.lay() },
            contents,
            begin,
            tasks: cell.tasks.iter().map(|task| task_steps(cell, task, places, &stand)).collect(),
            end,
            leave: if cell.is_mounted { Vec::new() } else { stand.leave() },
            check: (!cell.is_mounted)
                .then(|| whole(protocol_task::FSCK, Act::Check(configuration.base().fsck_command(&stand.device())))),
            detach: stand.detach(),
            close: medium.map(|_| whole(SOURCE, unmount_source(places))),
        }
    }
}

/// How the file system gets what it holds before the tasks, and is taken away again, so that nothing of it stays in memory.
fn held<'a>(cell: &'a Cell, stand: &Stand<'a>) -> Vec<Step<'a>> {
    let fill = cell.fill.iter().filter(|fill| fill.percent > 0);
    let held = fill.map(Act::Fill).chain(cell.age.iter().map(Act::Age));
    let acts = std::iter::once(Act::DiskTime(false)).chain(held).chain(stand.down());
    acts.map(|act| Step { of: HELD, part: Part::Whole, act }).collect()
}

/// From disks that hold something to where the file system can be mounted; not measured.
fn stand_again<'a>(stand: &Stand<'a>) -> Vec<Step<'a>> {
    let acts = std::iter::once(Act::DiskTime(false)).chain(stand.up_to_mount()).chain([Act::DiskTime(true)]);
    acts.map(|act| Step { of: HELD, part: Part::Whole, act }).collect()
}

/// How the second disk gets its contents.
fn lay_out<'a>(cell: &'a Cell, medium: &SourceMedium, places: &Places) -> Vec<Step<'a>> {
    let folder = &places.source_folder;
    let step = |part: Part, act: Act<'a>| Step { of: SOURCE, part, act };
    let mut steps = vec![
        step(Part::Whole, Act::Make(Disk::Source, vec![plain::make_command(&places.source)])),
        step(Part::Whole, source_mount(places)),
    ];
    let corpus = match medium.layout {
        Source::None => None,
        Source::Tar => Some(Act::Corpus { to: folder.join("corpus.tar"), unpack: None }),
        Source::Tree => {
            let to = tree_of(folder);
            let command = ["tar", "-x", "-f", "-", "-C", &to.display().to_string()].map(str::to_owned).into();
            Some(Act::Corpus { to, unpack: Some(command) })
        }
    };
    steps.extend(corpus.map(|act| step(Part::Whole, act)));
    steps.extend(cell.source_prepare.as_deref().map(|text| step(Part::Prepare, Act::Script(Disk::Source, text))));
    steps.push(step(Part::Whole, Act::Sync));
    steps.push(step(Part::Whole, unmount_source(places)));
    steps.push(step(Part::Whole, Act::Forget(Disk::Source)));
    steps
}

fn task_steps<'a>(cell: &'a Cell, task: &'a Task, places: &Places, stand: &Stand<'a>) -> TaskSteps<'a> {
    let none = TaskSteps { task, prepare: None, remount: Vec::new(), work: None, restart: None, cleanup: None };
    if task.skip.is_some() || task.part_of.is_some() {
        return none;
    }
    let step = |part: Part, act: Act<'a>| Step { of: &task.id, part, act };
    let script = |part: Part, text: &'a str| step(part, Act::Script(Disk::Test, text));
    let cut = task.restart.is_some_and(|restart| restart.after.is_cut());
    TaskSteps {
        prepare: task.prepare.as_deref().map(|text| script(Part::Prepare, text)),
        remount: if task.cold { remount(cell, places, stand) } else { Vec::new() }
            .into_iter()
            .map(|act| step(Part::Remount, act))
            .collect(),
        work: Some(step(Part::Run, Act::Work { task, cut })),
        restart: task.restart.map(|restart| restart::steps(task, restart, cell.configuration.base(), stand)),
        cleanup: task.cleanup.as_deref().map(|text| script(Part::Cleanup, text)),
        ..none
    }
}

/// How the next reads are made to come from the disks. What layers have cached goes with them.
fn remount<'a>(cell: &Cell, places: &Places, stand: &Stand<'a>) -> Vec<Act<'a>> {
    let mut acts = Vec::new();
    if cell.is_mounted {
        acts.push(Act::DropCaches);
    } else {
        acts.extend(stand.down().into_iter().chain(stand.up()));
    }
    if cell.second_disk.is_some() {
        acts.push(unmount_source(places));
        acts.push(Act::Forget(Disk::Source));
        acts.push(source_mount(places));
    }
    acts
}

/// Where an unpacked corpus is on the second disk, which is mounted at `folder`.
pub fn tree_of(folder: &Path) -> PathBuf {
    folder.join("tree")
}

/// Copies what a tree has where tasks run, if it has anything there.
fn bring_command(root: &TaskRoot, places: &Places) -> Vec<String> {
    const COPY: &str = "if [ -d \"$1\" ]; then exec cp -a \"$1/.\" \"$2\"; fi";
    let from = tree_of(&places.source_folder).join(root.folder.trim_start_matches('/'));
    let words = ["sh", "-c", COPY, "sh", &from.to_string_lossy(), &places.test_folder.to_string_lossy()];
    words.map(str::to_owned).into()
}

fn source_mount<'a>(places: &Places) -> Act<'a> {
    Act::Mount(Disk::Source, Mount::plain(&places.source, &places.source_folder))
}

/// Runs a job that is in a folder for fio's own files (states, logs), so that these cause no work for the file system.
pub fn fio_command(folder: &Path) -> Vec<String> {
    let (folder, job) = (folder.display().to_string(), folder.join("job.fio").display().to_string());
    ["fio", "--output-format=json", "--eta=never", "--aux-path", &folder, &job].map(str::to_owned).into()
}

fn unmount_source<'a>(places: &Places) -> Act<'a> {
    Act::Unmount(Disk::Source, vec![vec!["umount".to_owned(), places.source_folder.display().to_string()]])
}
