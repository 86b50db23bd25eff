//! Requirements of a cell: of the kernel and of the image, and the job it gets.

use mountmark_job::kernel_options::For;
use mountmark_job::{Job, Region, Share, Token};
use mountmark_model::{Cell, Configuration, DiskModel, RealisedCorpus};

use crate::image::{Released, Wanted};

/// The cell as its guest gets it. Reading a longer job takes more instructions, so neither the cell's place in the plan
/// nor a path of this machine may be part of it.
pub(super) fn image_key(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    cell.index = 0;
    cell.repeat = 0;
    cell.point = None;
    cell.target = None;
    let restarts = cell.tasks.iter().any(|task| task.restart.is_some());
    strip(&mut cell.configuration, restarts);
    if let Some(age) = &mut cell.age {
        [&mut age.text, &mut age.sha256, &mut age.path].into_iter().for_each(String::clear);
    }
    if let Some(medium) = &mut cell.second_disk {
        medium.tar.clear();
        medium.corpus = RealisedCorpus::default();
    }
    cell
}

/// The job of a guest that has the disk under test and nothing else.
pub(super) fn plain_job(token: Token, cell: Cell, test: Region) -> Job {
    Job {
        token,
        cell,
        test,
        more: Vec::new(),
        source: None,
        corpus: None,
        undo: None,
        history: None,
        share: Share::Whole,
        symbols: None,
        crash: None,
    }
}

/// What its guest has no use for.
fn strip(configuration: &mut Configuration, restarts: bool) {
    configuration.name.clear();
    let filesystem = &mut configuration.filesystem;
    filesystem.variants.clear();
    filesystem.crash = None;
    filesystem.synced_lost.clear();
    filesystem.roomy_size = None;
    // The module's bytes are part of the image.
    filesystem.module_source = None;
    if !restarts {
        filesystem.recovery = None;
    }
    for layer in &mut configuration.layers {
        layer.modules.clear();
        layer.packages.clear();
        layer.tools.clear();
        layer.attach_degraded.clear();
        layer.hole.clear();
        layer.gives_up = false;
    }
    if let Some(below) = &mut configuration.below {
        below.filesystem.about.clear();
        strip(below, restarts);
    }
}

/// The models of a guest's disks, those under test first.
pub(super) fn disks(cell: &Cell) -> impl Iterator<Item = &DiskModel> {
    let under_test = (0..cell.configuration.disks() as usize).map(|at| cell.disk.model_of(at));
    under_test.chain(cell.second_disk.as_ref().map(|medium| &medium.disk.model))
}

/// The driver of modelled disks, with its parameters.
pub(super) fn driver(cell: &Cell) -> String {
    // The second disk has its number whether there is one or not.
    format!("nbd nbds_max={} max_part=0", cell.configuration.disks() + 1)
}

pub(super) fn needed_by(cell: &Cell) -> Vec<For> {
    let mut needed = vec![For::All];
    for disk in disks(cell) {
        needed.push(if disk.has_drive() { For::Modelled } else { For::Ram });
        needed.extend(disk.rotational().then_some(For::HardDisk));
    }
    needed.extend(cell.on_loop.then_some(For::Loop));
    needed
}

/// The programs that make, check and repair the file system at the bottom.
fn maintaining(cell: &Cell) -> Vec<String> {
    let filesystem = &cell.configuration.base().filesystem;
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
    programs
}

pub(super) fn wanted(cell: &Cell) -> Wanted {
    let configuration = &cell.configuration;
    let filesystem = &configuration.base().filesystem;
    let mut wanted = Wanted {
        packages: filesystem.packages.iter().chain(&cell.packages).cloned().collect(),
        programs: maintaining(cell).into_iter().chain(filesystem.tools.iter().chain(&cell.tools).cloned()).collect(),
        whole_packages: cell.whole_packages.clone(),
        modules: filesystem.modules.iter().chain(&cell.modules).cloned().collect(),
        released: None,
        built: None,
        brought: None,
    };
    if filesystem.module_source.is_some() {
        let component = filesystem.component.clone();
        wanted.released = Some(Released { component, packages: filesystem.packages.clone() });
        wanted.packages = cell.packages.clone();
    }
    if configuration.below.is_some() {
        let upper = &configuration.filesystem;
        wanted.packages.extend(upper.packages.iter().cloned());
        wanted.programs.extend(upper.mkfs.first().into_iter().chain(&upper.tools).cloned());
        wanted.modules.extend(upper.modules.iter().cloned());
    }
    for one in std::iter::once(configuration).chain(configuration.below.as_deref()) {
        let commands = one.filesystem.own_commands().into_iter().flat_map(|(_, commands)| commands);
        wanted.programs.extend(commands.filter_map(|command| command.first()).cloned());
    }
    for layer in &configuration.base().layers {
        wanted.packages.extend(layer.packages.iter().cloned());
        wanted.programs.extend(layer.commands().filter_map(|command| command.first()).chain(&layer.tools).cloned());
        wanted.modules.extend(layer.modules.iter().cloned());
    }
    let driver = driver(cell);
    for disk in disks(cell) {
        let modules: &[&str] = if disk.has_drive() { &[&driver] } else { &["nd_e820", "nd_pmem"] };
        let scheduler = disk.rotational().then_some("?mq-deadline");
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
