//! The steps of a cell as lines to read, without running anything.

use std::path::Path;

use mountmark_job::Places;
use mountmark_model::{Age, Cell, Fill, Task};

use super::{Act, Part, Protocol, Step, TaskSteps, fio_command};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The step or task that it belongs to: `source`, `mkfs`, a task's id.
    pub step: String,
    /// Its part of a task: `title`, `prepare`, `remount`, `run`, `restart`, `timed`, `lost`, `cleanup`; empty for the protocol's
    /// own steps.
    pub part: &'static str,
    /// As written in the suite or the catalogue; one line.
    pub text: String,
}

/// All commands of a cell whose disks are in these places.
pub fn outline(cell: &Cell, places: &Places) -> Vec<Line> {
    let protocol = Protocol::of(cell, places);
    let mut lines = Lines { cell, lines: Vec::new() };
    lines.steps(protocol.source.iter().chain(&protocol.layers).chain(&protocol.contents).chain(&protocol.begin));
    for steps in &protocol.tasks {
        lines.task(steps);
    }
    lines.steps(protocol.end.iter().chain(&protocol.leave).chain(&protocol.check));
    lines.steps(protocol.detach.iter().chain(&protocol.close));
    lines.lines
}

struct Lines<'a> {
    cell: &'a Cell,
    lines: Vec<Line>,
}

impl<'a> Lines<'a> {
    fn add(&mut self, step: &str, part: &'static str, text: &str) {
        self.lines.push(Line { step: step.to_owned(), part, text: text.to_owned() });
    }

    fn steps<'s>(&mut self, steps: impl IntoIterator<Item = &'s Step<'a>>)
    where
        'a: 's,
    {
        for step in steps {
            for text in self.texts(&step.act) {
                self.add(step.of, step.part.name(), &text);
            }
        }
    }

    fn task(&mut self, steps: &TaskSteps<'a>) {
        let task = steps.task;
        let repeated = if task.repeat > 1 { format!(" ({} times in each cell)", task.repeat) } else { String::new() };
        self.add(&task.id, "title", &format!("{}{repeated}", task.title));
        if let Some(why) = left_out(task) {
            return self.add(&task.id, Part::Run.name(), &why);
        }
        self.steps(steps.prepare.iter().chain(&steps.remount).chain(&steps.work));
        if let Some(restart) = &steps.restart {
            self.steps(restart.down.iter().chain(&restart.replay).chain(&restart.up).chain(&restart.lost));
            for text in self.texts(&restart.back.act) {
                let when = if restart.mounts() { "if it is not mounted by then: " } else { "" };
                self.add(&task.id, restart.back.part.name(), &format!("{when}{text}"));
            }
        }
        self.steps(&steps.cleanup);
    }

    /// What an act starts or does, each a line; none for what only waits, asks or forgets.
    fn texts(&self, act: &Act) -> Vec<String> {
        match act {
            Act::Layer(command) | Act::Repair(command) | Act::Check(Some(command)) | Act::Bring(command) => {
                vec![quoted(command)]
            }
            Act::Attach(_, commands)
            | Act::Detach(_, commands)
            | Act::Make(_, commands)
            | Act::Unmount(_, commands) => commands.iter().map(|command| quoted(command)).collect(),
            Act::Mount(_, mount) => mount.commands().map(|command| quoted(command)).collect(),
            Act::Check(None) => vec!["nothing: there is no read-only check".into()],
            Act::Forget(_) | Act::Settle | Act::Sync | Act::Capacity(_) | Act::DiskTime(_) => Vec::new(),
            Act::Age(age) => vec![aged(age)],
            Act::Fill(fill) => vec![format!("files fill {}% of the file system, in {}", fill.percent, Fill::FOLDER)],
            Act::DropCaches => vec!["sync; echo 3 > /proc/sys/vm/drop_caches".into()],
            Act::Corpus { unpack: Some(command), .. } => vec![quoted(command)],
            Act::Corpus { to, unpack: None } => vec![format!("the corpus becomes {}", to.display())],
            Act::Script(_, text) => of_script(text),
            Act::Vary | Act::Turn => self.conditions(act).into_iter().collect(),
            Act::Work { task, cut } => {
                let cut =
                    cut.then(|| "the power fails when this returns: what the disk gets from then on is lost".into());
                work(task).into_iter().chain(cut).collect()
            }
            Act::PowerBack { cache_lost } => {
                let lost = if *cache_lost { ", without what was not durable" } else { "" };
                vec![format!("the disk holds what it held when the power failed{lost}")]
            }
        }
    }

    fn conditions(&self, act: &Act) -> Option<String> {
        let conditions = self.cell.conditions.as_ref()?;
        Some(match act {
            Act::Turn => format!("{} folders are made and removed", conditions.folders),
            _ if self.cell.is_mounted => format!("{} of memory are taken", conditions.memory),
            _ => format!("{} pieces of the disk are read, {} of memory are taken", conditions.reads, conditions.memory),
        })
    }
}

impl Part {
    /// As in [`Line::part`].
    fn name(self) -> &'static str {
        match self {
            Part::Whole => "",
            Part::Prepare => "prepare",
            Part::Remount => "remount",
            Part::Run => "run",
            Part::Restart => "restart",
            Part::Timed => "timed",
            Part::Lost => "lost",
            Part::Cleanup => "cleanup",
        }
    }
}

fn aged(age: &Age) -> String {
    let (files, folder) = (age.files, Age::FOLDER);
    match age.copy {
        true => format!("the {files} files with which a history ends are written once, in {folder}"),
        false => format!("{} file operations of {} commits are played, in {folder}", age.operations, age.commits),
    }
}

/// Why a task has no steps, if so.
fn left_out(task: &Task) -> Option<String> {
    let skipped = task.skip.as_ref().map(|reason| format!("nothing: it is left out: {reason}"));
    skipped.or_else(|| Some(format!("nothing: it is a figure of {}", task.part_of.as_ref()?)))
}

/// A program with its arguments; those with a special meaning to a shell are quoted.
fn quoted(command: &[String]) -> String {
    shlex::try_join(command.iter().map(String::as_str)).unwrap_or_else(|_| command.join(" "))
}

fn of_script(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

fn work(task: &Task) -> Vec<String> {
    if let Some(job) = &task.fio {
        let command = quoted(&fio_command(Path::new("FOLDER")));
        return std::iter::once(format!("{command}, with this job:")).chain(of_script(job)).collect();
    }
    if let Some(workload) = &task.workload {
        let text = serde_json::to_string(workload).expect("a workload holds only numbers and text");
        return vec![format!("mountmark's own engine, {text}")];
    }
    of_script(&task.run)
}
