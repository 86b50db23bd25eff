//! The steps of a task whose machine goes down when its work has returned.
//!
//! The kernel itself keeps running. Its file system is unmounted, after a power cut into contents that are thrown away,
//! and everything that it had cached of the disk is dropped: what follows begins with the disk alone, as after a start.

use mountmark_job::Places;
use mountmark_model::{Cell, Restart, Task, Up};

use super::{Act, Disk, Mount, Part, Step, unmount_command};

/// How a machine goes down and comes up again.
#[derive(Clone, Debug, PartialEq)]
pub struct Restarted<'a> {
    pub down: Vec<Step<'a>>,
    /// Replays the log for a repair that cannot.
    pub replay: Vec<Step<'a>>,
    /// What is timed; `None` if the catalogue does not say how the file system comes up.
    pub up: Option<Step<'a>>,
    pub lost: Option<Step<'a>>,
    /// Mounts it if it is not mounted by then: the tasks that follow need it.
    pub back: Step<'a>,
}

impl Restarted<'_> {
    /// Whether what is timed leaves the file system mounted, so that only a failure is followed by `back`.
    pub fn mounts(&self) -> bool {
        matches!(self.up, Some(Step { act: Act::Mount(..), .. }))
    }
}

/// The steps from the end of the work on.
pub(super) fn steps<'a>(cell: &'a Cell, task: &'a Task, restart: Restart, places: &Places) -> Restarted<'a> {
    let (configuration, folder) = (&cell.configuration, &places.test_folder);
    let stack = configuration.stack(places.disks());
    let device = &stack.device();
    let step = |part: Part, act: Act<'a>| Step { of: &task.id, part, act };
    let is_cut = restart.after.is_cut();
    let after_cut = || Act::Mount(Disk::Test, Mount::after_cut(configuration, device, folder));
    let unmount = || Act::Unmount(Disk::Test, unmount_command(folder));
    let recovery = configuration.filesystem.recovery.as_ref();
    let layer = |(_, command): (&str, Vec<String>)| Act::Layer(command);
    let mut down = vec![unmount()];
    down.extend(stack.detach().into_iter().map(layer));
    down.push(Act::Forget(Disk::Test));
    if is_cut {
        down.extend([Act::PowerBack { cache_lost: restart.after.loses_cache() }, Act::Forget(Disk::Test)]);
    }
    down.extend(stack.attach().into_iter().map(layer));
    let needs_replay = restart.then == Up::Repair && is_cut && recovery.is_some_and(|recovery| recovery.mount_first);
    let replay = if needs_replay { vec![after_cut(), unmount(), Act::Forget(Disk::Test)] } else { Vec::new() };
    let up = match restart.then {
        Up::Repair => configuration.repair_command(device).map(Act::Repair),
        Up::Mount if is_cut => Some(after_cut()),
        Up::Mount => Some(Act::Mount(Disk::Test, Mount::sound(configuration, device, folder))),
    };
    Restarted {
        down: down.into_iter().map(|act| step(Part::Restart, act)).collect(),
        replay: replay.into_iter().map(|act| step(Part::Restart, act)).collect(),
        up: up.filter(|_| recovery.is_some()).map(|act| step(Part::Timed, act)),
        lost: task.lost.as_deref().map(|text| step(Part::Lost, Act::Script(Disk::Test, text))),
        back: step(Part::Remount, after_cut()),
    }
}
