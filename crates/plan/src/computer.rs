//! The computer of a plan's cells: a profile of the catalogue, or a lab's own computer.

use mountmark_model::{Bytes, Disk, Machine, OwnComputer};

use crate::bounds::RAM_UNIT;
use crate::check::machine;
use crate::{Catalogue, Options, PlanError, Result, disks};

pub(crate) struct Computer {
    pub machine: Machine,
    pub disk: Disk,
    pub second_disk: Option<Disk>,
    pub kernel: String,
    /// The unit of a disk's size, and a sentence about it.
    unit: (u64, &'static str),
    /// The smallest of the user's own disks, whose size all file systems get.
    smallest: Option<String>,
}

impl Computer {
    pub fn of(catalogue: &Catalogue, options: &Options, has_second: bool) -> Result<Computer> {
        let pages = (4096, "disks have whole pages of 4096 bytes");
        if let Some(OwnComputer { machine, disk, kernel, targets }) = options.own.clone() {
            let second_disk = has_second.then(|| disk.clone());
            let disks = targets.iter().filter(|own| own.size.is_some() && !own.target.is_mounted());
            let smallest = disks.min_by_key(|own| own.size).map(|own| own.target.name().to_owned());
            return Ok(Computer { machine, disk, second_disk, kernel, unit: pages, smallest });
        }
        let mut machine = catalogue.get::<Machine>(&options.machine)?.clone();
        // A plan records the processor's features, even if the profile omits them.
        let is_profiled = options.lab.capabilities().profiled_processor;
        machine.processor = is_profiled.then(|| machine.processor.unwrap_or_default());
        let disk = disks::disk(catalogue, &machine, options.disk.as_deref())?;
        let second_disk = has_second.then(|| catalogue.get::<Disk>(&machine.second_disk).cloned()).transpose()?;
        // The guest's kernel takes memory for a disk in units of that size: the rest of one would become disk too.
        let parts = (RAM_UNIT, "a disk in memory has whole parts of 128 MiB");
        let unit = if disk.model.has_drive() { pages } else { parts };
        Ok(Computer { machine, disk, second_disk, kernel: options.kernel.clone(), unit, smallest: None })
    }

    /// With other memory.
    pub fn with_ram(mut self, ram: Bytes) -> Result<Computer> {
        self.machine.ram = ram;
        let faults = machine(&self.machine);
        if faults.is_empty() { Ok(self) } else { Err(PlanError::Options(faults.join("; "))) }
    }

    /// The size of which the disk under test has whole ones, in bytes.
    pub fn unit(&self) -> u64 {
        self.unit.0
    }

    /// Rejects a `--disk-size` that the disk cannot have.
    pub fn suits(&self, given: Bytes) -> Result<()> {
        let (unit, what) = self.unit;
        if !given.0.is_multiple_of(unit) {
            let up = Bytes(given.0.div_ceil(unit).saturating_mul(unit));
            return Err(PlanError::Options(format!("--disk-size {}: {what}; give {} ({up})", given.0, up.0)));
        }
        holds(&self.disk, given.0)
    }

    /// The disk under test is too small, for a `cause`; `enough` MiB would do.
    pub fn too_small(&self, given: Bytes, cause: &str, enough: u64) -> PlanError {
        let reason = match &self.smallest {
            Some(name) => {
                format!(
                    "{name} has {given}, which is too small: {cause}; take a disk of {enough} MiB, or a smaller --scale"
                )
            }
            None => {
                format!("--disk-size {given} is too small: {cause}; --disk-size {enough}MiB would do, or leave it away")
            }
        };
        PlanError::TooSmall { enough, reason }
    }

    /// Rejects sizes that its disks cannot have.
    pub fn hold(&self, first: u64, second: u64) -> Result<()> {
        holds(&self.disk, first)?;
        self.second_disk.as_ref().map_or(Ok(()), |disk| holds(disk, second))
    }
}

fn holds(disk: &Disk, wanted: u64) -> Result<()> {
    match disk.capacity().filter(|capacity| *capacity < wanted) {
        None => Ok(()),
        Some(capacity) => Err(PlanError::Options(format!(
            "the disk {} holds {}, and {} are needed; choose another disk, a smaller --scale or --disk-size",
            disk.name,
            Bytes(capacity),
            Bytes(wanted)
        ))),
    }
}
