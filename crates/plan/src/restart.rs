//! Tasks that end with the machine going down: where the power can be cut, and which file systems can say how they come
//! up again.

use mountmark_model::{Configuration, Disk, Lab, Recovery, Suite, Task, Up, names};

use crate::{PlanError, Result};

/// Why a task's restart cannot be, as sentences.
pub(crate) fn task_faults(suite: &Suite, task: &Task) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |reason: &str| faults.push(reason.to_owned());
    if task.lost.is_some() && task.restart.is_none_or(|restart| restart.then != Up::Mount) {
        fault(
            "lost counts what is there when the file system is mounted again: it needs restart with then = \"mount\"",
        );
    }
    let Some(restart) = task.restart else { return faults };
    if task.program.is_some() || task.fio.is_some() || task.figure.is_some() || task.part_of.is_some() {
        fault("restart times how the machine comes up again: program, fio, figure and part_of have no place beside it");
    }
    if suite.tasks.iter().any(|part| part.part_of.as_ref() == Some(&task.id)) {
        fault("restart times how the machine comes up again, so it has no parts");
    }
    if task.least_seconds != 0.0 {
        fault("least_seconds is for work that is timed; with restart it is not");
    }
    if suite.on_loop && restart.after.is_cut() {
        fault("the power of a file over a loop device cannot be cut; remove on_loop");
    }
    faults
}

/// Why a table `[recovery]` is unusable, as sentences.
pub(crate) fn faults(recovery: &Recovery) -> Vec<String> {
    let mut faults = Vec::new();
    for (field, command) in [("before_mount", &recovery.before_mount), ("repair", &recovery.repair)] {
        let Some(program) = command.first() else { continue };
        if let Err(reason) = names::program(program) {
            faults.push(format!("recovery: {field} has {program:?}: {reason}"));
        }
        if !command.iter().any(|argument| argument.contains("{device}")) {
            faults.push(format!("recovery: {field} must have {{device}} in it"));
        }
        if recovery.done.is_empty() {
            faults.push(format!("recovery: {field} needs done, its exit codes after which it can be mounted"));
        }
    }
    if recovery.repair.is_empty() == recovery.no_repair.is_none() {
        faults.push("recovery: give either repair, or say in no_repair why there is none".into());
    }
    faults
}

/// Rejects a suite that cuts the power where that cannot be.
pub(crate) fn allowed(suite: &Suite, lab: Lab, disk: &Disk) -> Result<()> {
    let Some(task) = suite.tasks.iter().find(|task| task.restart.is_some_and(|restart| restart.after.is_cut())) else {
        return Ok(());
    };
    let refused = |reason: String| {
        Err(PlanError::Options(format!("the suite {} cuts the power (task {}): {reason}", suite.name, task.id)))
    };
    if !lab.capabilities().exact_clock {
        let able = Lab::ALL.iter().find(|lab| lab.capabilities().exact_clock).map_or("", |lab| lab.name());
        return refused(format!(
            "the {} lab cannot; only a disk that is modelled forgets what it was sent, under a clock that nothing of this \
             machine disturbs: --lab {able}",
            lab.name()
        ));
    }
    if !disk.model.has_drive() {
        return refused(format!(
            "the disk {} is memory without a drive or a cache, and has nothing to lose; give one with a drive, such as \
             --disk hdd",
            disk.name
        ));
    }
    Ok(())
}

/// The tasks, those left out that the configuration's file system cannot do.
pub(crate) fn possible(mut tasks: Vec<Task>, configuration: &Configuration) -> Vec<Task> {
    let filesystem = &configuration.base().filesystem;
    for task in &mut tasks {
        let Some(restart) = task.restart else { continue };
        let several = (restart.after.is_cut() && configuration.disks() > 1)
            .then(|| "The power of several disks is not cut at one moment yet.".to_owned());
        let reason = match &filesystem.recovery {
            Some(recovery) => recovery.lacks(restart.then),
            None => Some(format!("The catalogue does not say how {} recovers: it has no [recovery].", filesystem.name)),
        };
        let served = (configuration.below.is_some() && !filesystem.mount.is_empty()).then(|| {
            format!(
                "How {} comes up with a file system on it is not timed: it has commands of its own.",
                filesystem.name
            )
        });
        task.skip = task.skip.take().or(reason).or(several).or(served);
    }
    tasks
}

#[cfg(test)]
mod tests {
    use mountmark_model::{FileSystem, Outcome};

    use super::*;
    use crate::Catalogue;

    const SUITE: &str =
        "name = \"cut\"\nabout = \"\"\nroom = \"1 MiB\"\n[[task]]\nid = \"a\"\ntitle = \"a\"\nrun = \"true\"\n";

    fn suite(restart: &str) -> Suite {
        toml::from_str(&format!("{SUITE}{restart}\n")).unwrap()
    }

    #[test]
    fn the_power_is_cut_only_where_it_can_be() {
        let catalogue = Catalogue::built_in().unwrap();
        let disk = |name: &str| catalogue.get::<Disk>(name).unwrap().clone();
        let cut = suite("restart = { after = \"power-cut\", then = \"mount\" }");
        let refused = |lab: Lab, disk: &Disk| allowed(&cut, lab, disk).map_err(|error| error.to_string());
        for lab in Lab::ALL {
            let found = refused(*lab, &disk("hdd"));
            match lab.capabilities().exact_clock {
                true => assert_eq!(found, Ok(())),
                false => assert!(found.unwrap_err().ends_with("--lab virtual")),
            }
        }
        let memory = refused(Lab::DEFAULT, &disk("ram")).unwrap_err();
        assert!(memory.contains("nothing to lose") && memory.contains("task a"), "{memory}");
        // Unmounting is possible everywhere.
        let unmounted = suite("restart = { after = \"unmount\", then = \"mount\" }");
        assert!(Lab::ALL.iter().all(|lab| allowed(&unmounted, *lab, &disk("ram")).is_ok()));
    }

    #[test]
    fn every_file_system_recovers_or_says_why_not() {
        let catalogue = Catalogue::built_in().unwrap();
        let tasks = suite("restart = { after = \"power-cut\", then = \"repair\" }").tasks;
        for filesystem in catalogue.list::<FileSystem>().filter(|filesystem| filesystem.unavailable.is_none()) {
            let name = filesystem.name.clone();
            let filesystem = filesystem.clone();
            let configuration = Configuration {
                name: name.clone(),
                filesystem,
                mkfs_options: Vec::new(),
                mount_options: Vec::new(),
                layers: Vec::new(),
                own_disks: None,
                below: None,
            };
            let task = possible(tasks.clone(), &configuration).remove(0);
            let can = configuration.repair_command("/dev/x").is_some();
            let outcome = task.skip.map_or(Outcome::Ok, |reason| Outcome::Skipped { reason });
            assert_eq!(outcome.is_ok(), can, "{name}");
            assert!(
                outcome.reason().is_none_or(|reason| reason.split_whitespace().count() >= 4),
                "{name}: {outcome:?}"
            );
        }
    }

    #[test]
    fn what_contradicts_a_restart_is_a_fault() {
        let cut = "restart = { after = \"power-cut\", then = \"mount\" }";
        let faults = |text: &str| {
            let suite = suite(text);
            task_faults(&suite, &suite.tasks[0]).join("\n")
        };
        assert_eq!(faults(cut), "");
        assert!(faults(&format!("figure = \"x\"\n{cut}")).contains("figure and part_of have no place"));
        assert!(faults(&format!("least_seconds = 1.0\n{cut}")).contains("least_seconds"));
        let part = "[[task]]\nid = \"b\"\ntitle = \"b\"\npart_of = \"a\"";
        assert!(faults(&format!("{cut}\n{part}")).contains("no parts"));
        let on_loop = Suite { on_loop: true, ..suite(cut) };
        assert!(task_faults(&on_loop, &on_loop.tasks[0])[0].contains("remove on_loop"));
    }
}
