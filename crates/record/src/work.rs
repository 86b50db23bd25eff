//! What a run's tasks did, by class of work, from the profiles of its cells.

use std::collections::HashMap;

use mountmark_model::{Place, Work, WorkTimes};
use serde_json::Error as JsonError;

use crate::profiles::{self, Packed, Strings, Timed, damaged};

/// The work of a cell that ran with the profiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellWork {
    /// Its index in the plan.
    pub cell: u32,
    /// `None` if an older program made the profile, which told copies from nothing.
    pub tasks: Option<Vec<TaskWork>>,
}

/// The work of one task, the time `iteration` that it ran (from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWork {
    pub task: String,
    pub iteration: u32,
    /// Until the command had returned.
    pub returned: WorkTimes,
    /// After that, until its data were durable.
    pub sync: WorkTimes,
}

/// The work in a cell's packed profile. Paths are not made for it: a tree is gone through once.
pub(crate) fn work(packed: &[u8]) -> Result<Option<Vec<TaskWork>>, JsonError> {
    let Packed { names, nodes, tasks } = profiles::read(packed)?;
    let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
    for (at, (parent, name)) in nodes.iter().enumerate() {
        let name = names.get(*name as usize).ok_or_else(|| damaged("a function that is not known"))?;
        let parent = *parent as usize;
        // A parent is made before its children.
        let before = if parent == at { None } else { Some(places.get(parent).copied()) };
        let before = before.map(|found| found.ok_or_else(|| damaged("a path that leads nowhere"))).transpose()?;
        places.push(before.map_or_else(|| Place::program(name), |place| place.called(name)));
    }
    let class = |node: u32| places.get(node as usize).map(|place| place.class());
    let mut out = Vec::new();
    for task in tasks {
        let Some([of_returned, of_sync]) = task.strings else { return Ok(None) };
        let sum = |timed: &Timed, strings| sum(timed, strings, &class);
        let (returned, sync) = (sum(&task.returned, of_returned)?, sum(&task.sync, of_sync)?);
        out.push(TaskWork { task: task.task, iteration: task.iteration, returned, sync });
    }
    Ok(Some(out))
}

fn sum(timed: &Timed, strings: Strings, class: &dyn Fn(u32) -> Option<Work>) -> Result<WorkTimes, JsonError> {
    let strings: HashMap<u32, u64> = strings.into_iter().collect();
    let mut out = WorkTimes::default();
    for (node, running, waits) in timed {
        let class = class(*node).ok_or_else(|| damaged("a path that is not known"))?;
        let waiting = waits.iter().fold(0_u64, |sum, wait| sum.saturating_add(wait.nanoseconds()));
        out.add_path(class, *running, strings.get(node).copied().unwrap_or(0), waiting);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mountmark_model::profile::{PathTime, Profile, TaskProfile};

    use super::*;
    use crate::Profiles;

    fn packed(tells_strings: bool) -> Profiles {
        let path = |text: &str| -> Vec<String> { text.split(';').map(str::to_owned).collect() };
        let time = |running, waited| PathTime { running, waiting: BTreeMap::from([(None, waited)]) };
        let paths = [
            ("cp", time(100, 0)),
            ("cp;do_syscall_64;ext4:write", time(50, 7)),
            ("cp;do_syscall_64;clear_huge", time(400, 0)),
            ("disk server;read", time(300, 0)),
        ];
        let paths = paths.into_iter().map(|(text, time)| (path(text), time)).collect();
        let strings = [("cp;do_syscall_64;clear_huge", 390), ("disk server;read", 200)];
        let strings = strings.map(|(text, time)| (path(text), time)).into();
        let returned = Profile { paths, strings: tells_strings.then_some(strings), ..Profile::default() };
        let sync = Profile { strings: tells_strings.then(BTreeMap::new), ..Profile::default() };
        Profiles::pack(&[TaskProfile { task: "001".into(), iteration: 0, returned, sync }]).unwrap()
    }

    #[test]
    fn a_profile_s_time_is_sorted_by_classes_and_none_is_lost() {
        let [of_task] = &work(packed(true).bytes()).unwrap().unwrap()[..] else { panic!() };
        let of = |work| of_task.returned.of(work);
        assert_eq!([of(Work::Programs), of(Work::Modules), of(Work::Copies), of(Work::Kernel)], [100, 50, 390, 10]);
        assert_eq!([of(Work::Server), of(Work::Waiting)], [300, 7]);
        assert_eq!(of_task.sync, WorkTimes::default());
    }

    #[test]
    fn profiles_of_before_tell_no_classes() {
        assert_eq!(work(packed(false).bytes()).unwrap(), None);
        assert!(work(b"nothing").is_err());
    }
}
