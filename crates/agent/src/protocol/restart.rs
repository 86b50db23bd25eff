//! The steps of a task whose machine goes down when its work has returned.
//!
//! The kernel itself keeps running. Its file system is unmounted, after a power cut into contents that are thrown away,
//! and everything that it had cached of the disk is dropped: what follows begins with the disk alone, as after a start.

use mountmark_model::{Configuration, Restart, Task, Up};

use super::{Act, Disk, Part, Stand, Step};

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

/// The steps from the end of the work on; `base` is what is made on the disks.
pub(super) fn steps<'a>(task: &'a Task, restart: Restart, base: &Configuration, stand: &Stand<'a>) -> Restarted<'a> {
    let step = |part: Part, act: Act<'a>| Step { of: &task.id, part, act };
    let is_cut = restart.after.is_cut();
    let recovery = base.filesystem.recovery.as_ref();
    let mut down = stand.down();
    if is_cut {
        down.extend([Act::PowerBack { cache_lost: restart.after.loses_cache() }, Act::Forget(Disk::Test)]);
    }
    down.extend(stand.attach(None));
    let needs_replay = restart.then == Up::Repair && is_cut && recovery.is_some_and(|recovery| recovery.mount_first);
    let replay = if needs_replay { stand.replay() } else { Vec::new() };
    let up = match restart.then {
        Up::Repair => base.repair_command(&stand.device()).map(Act::Repair),
        Up::Mount => Some(Act::Mount(Disk::Test, stand.come_up(is_cut))),
    };
    Restarted {
        down: down.into_iter().map(|act| step(Part::Restart, act)).collect(),
        replay: replay.into_iter().map(|act| step(Part::Restart, act)).collect(),
        up: up.filter(|_| recovery.is_some()).map(|act| step(Part::Timed, act)),
        lost: task.lost.as_deref().map(|text| step(Part::Lost, Act::Script(Disk::Test, text))),
        back: step(Part::Remount, Act::Mount(Disk::Test, stand.come_up(true))),
    }
}
