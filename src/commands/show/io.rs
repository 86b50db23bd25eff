//! `mountmark show --io`: device I/O of tasks.

use anyhow::Result;
use mountmark_findings::Device;
use mountmark_record::DeviceUses;

use crate::common::{self, StoreOptions, WrongUse};

/// Prints the device records of the run `name` for one task, or for all if `task` is empty.
pub fn io(store: &StoreOptions, name: &str, task: &str, format: Option<&str>) -> Result<u8> {
    let store = store.open_read_only()?;
    if let Some((run, _)) = name.rsplit_once('#') {
        return Err(WrongUse(format!("{name}: --io has all sides of a run: name {run}")).into());
    }
    let run = store.load(&store.resolve(name)?)?;
    let part = run.plan.cells.iter().flat_map(|cell| &cell.tasks).find(|known| known.id == task);
    let whole = part.and_then(|part| part.part_of.as_deref()).unwrap_or(task);
    let wanted = DeviceUses { task: Some(whole.to_owned()).filter(|task| !task.is_empty()), repeat: None };
    let uses = store.devices(&run.id, &wanted)?;
    if uses.is_empty() {
        let mut known: Vec<String> = Vec::new();
        for found in store.devices(&run.id, &DeviceUses { task: None, repeat: Some(0) })? {
            if !known.contains(&found.task) {
                known.push(found.task);
            }
        }
        let reason = match known.is_empty() {
            _ if store.resolve(task).is_ok() => {
                format!("{task} is a run, and a task is looked for here: write `mountmark show {task} --io`")
            }
            true if run.cells.is_empty() => format!("no cell of run {} has ended", run.id),
            true => {
                format!("run {} holds no record of its device; it was made by an older mountmark or failed", run.id)
            }
            false => format!("no record of the device by task {task:?}; there are those of {}", known.join(", ")),
        };
        return Err(WrongUse(format!("--io: {reason}")).into());
    }
    common::show(&Device { run: &run, uses: &uses }, format)
}
