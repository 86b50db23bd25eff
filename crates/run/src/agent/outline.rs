//! The agent's work for a cell as lines to read, in its order, without running anything.

use mountmark_lab::{Places, plain};
use mountmark_model::{Cell, Configuration, Restart, Source, Task, Up, protocol_task};

use super::{source, steps};

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
    let mut lines = Lines(Vec::new());
    let configuration = &cell.configuration;
    let folder = places.test_folder.display().to_string();
    let mount = configuration.mount_command(&places.test, &folder);
    if let Some(medium) = &cell.second_disk {
        let on = &places.source_folder;
        lines.command("source", "", &plain::make_command(&places.source));
        lines.command("source", "", &source::mount_command(&places.source, on));
        match medium.layout {
            Source::None => {}
            Source::Tar => lines.add("source", "", &format!("the corpus becomes {}", on.join("corpus.tar").display())),
            Source::Tree => lines.command("source", "", &source::unpack_command(&source::tree(on))),
        }
        lines.script("source", "prepare", cell.source_prepare.as_deref());
        lines.command("source", "", &source::unmount_command(on));
        lines.command("source", "", &source::mount_command(&places.source, on));
    }
    if !cell.is_mounted {
        lines.command(protocol_task::MKFS, "", &configuration.mkfs_command(&places.test));
        lines.command(protocol_task::MOUNT, "", &mount);
    }
    for task in &cell.tasks {
        lines.task(task);
        if task.cold && task.skip.is_none() && task.part_of.is_none() {
            if cell.is_mounted {
                lines.add(&task.id, "remount", "sync; echo 3 > /proc/sys/vm/drop_caches");
            } else {
                lines.command(&task.id, "remount", &source::unmount_command(&places.test_folder));
                lines.command(&task.id, "remount", &mount);
            }
            if cell.second_disk.is_some() {
                lines.command(&task.id, "remount", &source::unmount_command(&places.source_folder));
                lines.command(&task.id, "remount", &source::mount_command(&places.source, &places.source_folder));
            }
        }
        lines.run(task);
        if let Some(restart) = task.restart.filter(|_| task.skip.is_none()) {
            lines.restart(task, restart, configuration, places);
        }
    }
    if !cell.is_mounted {
        lines.script(protocol_task::CAPACITY, "", Some(steps::REMOVE_ALL));
        lines.command(protocol_task::UMOUNT, "", &source::unmount_command(&places.test_folder));
        match configuration.fsck_command(&places.test) {
            Some(command) => lines.command(protocol_task::FSCK, "", &command),
            None => lines.add(protocol_task::FSCK, "", "nothing: there is no read-only check"),
        }
    }
    if cell.second_disk.is_some() {
        lines.command("source", "", &source::unmount_command(&places.source_folder));
    }
    lines.0
}

struct Lines(Vec<Line>);

impl Lines {
    fn add(&mut self, step: &str, part: &'static str, text: &str) {
        self.0.push(Line { step: step.to_owned(), part, text: text.to_owned() });
    }

    /// A program with its arguments; those with a special meaning to a shell are quoted.
    fn command(&mut self, step: &str, part: &'static str, command: &[String]) {
        self.add(
            step,
            part,
            &shlex::try_join(command.iter().map(String::as_str)).unwrap_or_else(|_| command.join(" ")),
        );
    }

    fn script(&mut self, step: &str, part: &'static str, script: Option<&str>) {
        for line in script.unwrap_or_default().lines().filter(|line| !line.trim().is_empty()) {
            self.add(step, part, line);
        }
    }

    /// A task up to its remount.
    fn task(&mut self, task: &Task) {
        let mut title = task.title.clone();
        if task.repeat > 1 {
            title += &format!(" ({} times in each cell)", task.repeat);
        }
        self.add(&task.id, "title", &title);
        if task.skip.is_none() && task.part_of.is_none() {
            self.script(&task.id, "prepare", task.prepare.as_deref());
        }
    }

    /// A task from its command on.
    fn run(&mut self, task: &Task) {
        let id = &task.id;
        if let Some(reason) = &task.skip {
            return self.add(id, "run", &format!("nothing: it is left out: {reason}"));
        }
        if let Some(whole) = &task.part_of {
            return self.add(id, "run", &format!("nothing: it is a figure of {whole}"));
        }
        if let Some(job) = &task.fio {
            self.add(id, "run", "fio with this job file:");
            self.script(id, "run", Some(job));
        } else if let Some(workload) = &task.workload {
            let text = serde_json::to_string(workload).expect("a workload holds only numbers and text");
            self.add(id, "run", &format!("mountmark's own engine, {text}"));
        } else {
            self.script(id, "run", Some(&task.run));
        }
        if task.restart.is_none() {
            self.script(id, "cleanup", task.cleanup.as_deref());
        }
    }

    /// What is timed of a task with a restart, and what comes before it and after it.
    fn restart(&mut self, task: &Task, restart: Restart, configuration: &Configuration, places: &Places) {
        let (id, folder) = (&task.id, places.test_folder.display().to_string());
        let unmount = source::unmount_command(&places.test_folder);
        let mount = configuration.mount_command(&places.test, &folder);
        let before = configuration.before_mount_command(&places.test);
        if restart.after.is_cut() {
            let lost = if restart.after.loses_cache() { ", without what was not durable" } else { "" };
            self.add(id, "restart", &format!("the power fails; what follows finds the disk as it was then{lost}"));
        } else {
            self.command(id, "restart", &unmount);
        }
        match restart.then {
            Up::Mount => {
                for command in before.iter().filter(|_| restart.after.is_cut()).chain([&mount]) {
                    self.command(id, "timed", command);
                }
            }
            Up::Repair => {
                let recovery = configuration.filesystem.recovery.as_ref();
                if restart.after.is_cut() && recovery.is_some_and(|recovery| recovery.mount_first) {
                    self.command(id, "restart", &mount);
                    self.command(id, "restart", &unmount);
                }
                if let Some(command) = configuration.repair_command(&places.test) {
                    self.command(id, "timed", &command);
                }
                self.command(id, "remount", &mount);
            }
        }
        self.script(id, "lost", task.lost.as_deref());
        self.script(id, "cleanup", task.cleanup.as_deref());
    }
}
