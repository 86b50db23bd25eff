//! Requirements of a cell: of the kernel and of the image, and the job it gets.

use mountmark_job::kernel_options::For;
use mountmark_model::{Cell, Disk, RealisedCorpus};

use crate::image::Wanted;

/// The cell as its guest gets it. Reading a longer job takes more instructions, so neither the cell's place in the plan
/// nor a path of this machine may be part of it.
pub(super) fn image_key(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    cell.index = 0;
    cell.repeat = 0;
    cell.point = None;
    cell.target = None;
    cell.configuration.name.clear();
    let filesystem = &mut cell.configuration.filesystem;
    filesystem.variants.clear();
    filesystem.crash = None;
    filesystem.synced_lost.clear();
    filesystem.roomy_size = None;
    for layer in &mut cell.configuration.layers {
        layer.modules.clear();
        layer.packages.clear();
        layer.tools.clear();
    }
    let filesystem = &mut cell.configuration.filesystem;
    if cell.tasks.iter().all(|task| task.restart.is_none()) {
        filesystem.recovery = None;
    }
    if let Some(age) = &mut cell.age {
        [&mut age.text, &mut age.sha256, &mut age.path].into_iter().for_each(String::clear);
    }
    if let Some(medium) = &mut cell.second_disk {
        medium.tar.clear();
        medium.corpus = RealisedCorpus::default();
    }
    cell
}

pub(super) fn disks(cell: &Cell) -> impl Iterator<Item = &Disk> {
    let under_test = std::iter::repeat_n(&cell.disk, cell.configuration.disks() as usize);
    under_test.chain(cell.second_disk.as_ref().map(|medium| &medium.disk))
}

/// The driver of modelled disks, with its parameters.
pub(super) fn driver(cell: &Cell) -> String {
    // The second disk has its number whether there is one or not.
    format!("nbd nbds_max={} max_part=0", cell.configuration.disks() + 1)
}

pub(super) fn needed_by(cell: &Cell) -> Vec<For> {
    let mut needed = vec![For::All];
    for disk in disks(cell) {
        needed.push(if disk.model.has_drive() { For::Modelled } else { For::Ram });
        needed.extend(disk.model.rotational().then_some(For::HardDisk));
    }
    needed.extend(cell.on_loop.then_some(For::Loop));
    needed
}

pub(super) fn wanted(cell: &Cell) -> Wanted {
    let filesystem = &cell.configuration.filesystem;
    let commands = [filesystem.mkfs.first(), filesystem.fsck.as_ref().and_then(|fsck| fsck.command.first())];
    let restarts = cell.tasks.iter().any(|task| task.restart.is_some());
    let recovery = filesystem.recovery.iter().filter(|_| restarts);
    let recovery =
        recovery.flat_map(|recovery| recovery.before_mount.first().into_iter().chain(recovery.repair.first()));
    let mut programs: Vec<String> = commands.into_iter().flatten().cloned().collect();
    for program in recovery {
        // A check that also repairs is there already: an image of another length would change figures.
        if !programs.contains(program) {
            programs.push(program.clone());
        }
    }
    let mut wanted = Wanted {
        packages: filesystem.packages.iter().chain(&cell.packages).cloned().collect(),
        programs: programs.into_iter().chain(filesystem.tools.iter().chain(&cell.tools).cloned()).collect(),
        whole_packages: cell.whole_packages.clone(),
        modules: filesystem.modules.iter().chain(&cell.modules).cloned().collect(),
        brought: None,
    };
    for layer in &cell.configuration.layers {
        wanted.packages.extend(layer.packages.iter().cloned());
        wanted.programs.extend(layer.commands().filter_map(|command| command.first()).chain(&layer.tools).cloned());
        wanted.modules.extend(layer.modules.iter().cloned());
    }
    let driver = driver(cell);
    for disk in disks(cell) {
        let modules: &[&str] = if disk.model.has_drive() { &[&driver] } else { &["nd_e820", "nd_pmem"] };
        let scheduler = disk.model.rotational().then_some("?mq-deadline");
        wanted.modules.extend(modules.iter().copied().chain(scheduler).map(String::from));
    }
    wanted.modules.extend(cell.on_loop.then(|| "loop".to_owned()));
    if cell.second_disk.is_some() || cell.on_loop {
        wanted.packages.push("e2fsprogs".into());
        wanted.programs.push("mke2fs".into());
        wanted.modules.push("ext4".into());
    }
    wanted.packages.sort();
    wanted.packages.dedup();
    wanted.modules.dedup();
    wanted
}
