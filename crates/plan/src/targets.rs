//! Blocks of a plan take turns on the targets of the host lab.

use std::path::Path;

use mountmark_cells::Plan;
use mountmark_model::{Configuration, FileSystem, OwnTarget, Target, counted};

use crate::{Catalogue, Origin, PlanError, Result, configuration};

/// The plan with its blocks on these targets, one after the other. A block keeps to one target: what it compares within
/// itself is then the file systems' own, and not the disks'.
///
/// # Errors
/// A mounted file system without room for what the plan's cells write, or fewer disks than a configuration takes.
pub fn on_targets(mut plan: Plan, targets: &[OwnTarget]) -> Result<Plan> {
    if targets.is_empty() {
        return Ok(plan);
    }
    for cell in &plan.cells {
        let own = &targets[cell.repeat as usize % targets.len()];
        has_disks(own, &cell.configuration)?;
        let needed = plan.disk_written.unwrap_or(cell.disk_size);
        if let Some(free) = own.free.filter(|free| *free < needed) {
            return Err(PlanError::Options(format!(
                "{} has {free} free and the tasks need up to {needed}; make room, name a folder on another disk, or choose a \
                 smaller --scale",
                own.target.name()
            )));
        }
    }
    plan.change(|cell| {
        let at = cell.repeat as usize % targets.len();
        let own = &targets[at];
        cell.target = Some(at as u32);
        cell.is_mounted = own.target.is_mounted();
        cell.disk = own.target.disk();
        cell.disk_size = own.size.unwrap_or(cell.disk_size);
    });
    if let [one] = targets {
        plan.machine.disk = one.target.name().to_owned();
    }
    plan.targets = targets.iter().map(|own| own.target.clone()).collect();
    Ok(plan)
}

/// Refuses a configuration that takes more disks than a target has.
fn has_disks(own: &OwnTarget, configuration: &Configuration) -> Result<()> {
    let (takes, has) = (configuration.disks() as usize, own.target.devices().len().max(1));
    if takes <= has {
        return Ok(());
    }
    let named = match &own.target {
        Target::Image { .. } => "an image is one".to_owned(),
        target => format!("--device {} names {}", target.name(), counted(has, "disk")),
    };
    Err(PlanError::Options(format!(
        "{} takes {takes} disks, and {named}; join so many with +, such as --device /dev/sdb+/dev/sdc",
        configuration.name,
    )))
}

/// Leaves out what mkfs programs discard by themselves, where they have an argument for it: a disk that was brought into
/// steady state would lose it. Arguments of the user's own come later, and may say otherwise.
///
/// # Errors
/// A file system that is not in the catalogue.
pub fn keep_written(plan: &mut Plan, catalogue: &Catalogue) -> Result<()> {
    plan.change_alike(|alike| {
        let Configuration { filesystem, mkfs_options, .. } = &mut alike.configuration;
        mkfs_options.splice(0..0, catalogue.get::<FileSystem>(&filesystem.name)?.nodiscard.iter().cloned());
        Ok(())
    })
}

/// What is neither made nor checked here.
const MOUNTED: &str =
    "name = ''\nabout = ''\nmount_type = ''\nmodules = []\nmin_size = 1\nno_fsck = 'It is mounted by somebody else.'";

/// Puts the file system that somebody has mounted into the catalogue: known by the kernel's name for its type, and not
/// made, mounted or checked. Returns its name for `--fs`.
pub fn put_mounted(catalogue: &mut Catalogue, kind: &str) -> String {
    let name = if configuration::is_name(kind) { kind } else { "mounted" };
    let known = catalogue.list::<FileSystem>().find(|known| known.name == kind);
    let known = known.or_else(|| catalogue.list::<FileSystem>().find(|known| known.mount_type == kind));
    let filesystem = FileSystem {
        name: name.to_owned(),
        about: known.map_or_else(|| format!("{kind}, mounted by somebody else"), |known| known.about.clone()),
        mount_type: kind.to_owned(),
        posix: known.is_none_or(|known| known.posix),
        max_subdirectories: known.and_then(|known| known.max_subdirectories),
        max_directory_entries: known.and_then(|known| known.max_directory_entries),
        ..toml::from_str(MOUNTED).expect("the definition is sound")
    };
    let origin = Origin::File(Path::new("/proc/self/mountinfo").to_owned());
    catalogue.put(filesystem, origin);
    name.to_owned()
}
