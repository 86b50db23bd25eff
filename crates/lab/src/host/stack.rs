//! Layers between a file system and the disks of this machine: what they are called here, and how they are taken down when
//! the agent that made them is dead.
//!
//! A layer's commands make names from `{name}` and `{number}`. On a machine with volumes and arrays of its own both must be
//! ones that nothing else has. Taken down are mappings of these names, and arrays of these numbers on the run's own disks.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mountmark_job::PATH;
use mountmark_model::Cell;
use serde::{Deserialize, Serialize};

use super::agent::HostJob;
use super::device::upper::{self, Upper};
use super::device::{name_of_number, number_of};
use super::own;
use super::undo::Journal;
use crate::child;

/// The beginning of mappings' names. LVM doubles a hyphen in the names of its devices, so there is none.
const NAME: &str = "mountmark_";
/// Beginnings of arrays' numbers, with up to two digits behind: mdadm itself counts down from 127, and the kernel takes 20 bits.
const NUMBERS: std::ops::Range<u32> = 200..9200;
/// How long what lay on a layer may take to let it go: the kernel unmounts late, and udev looks at what is new.
const BUSY_LIMIT: Duration = Duration::from_secs(20);

/// The layers of a cell, for the journal: written before they are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnStack {
    /// The beginning of its mappings' names.
    name: String,
    /// The beginning of its arrays' numbers.
    number: String,
    /// The kernel's numbers of its disks: `8:16`.
    disks: Vec<String>,
}

impl OwnStack {
    /// Names the layers of a job on its disks, and has them in the journal before they are made; `None` if it has none.
    pub(super) fn begin(job: &mut HostJob, journal: &Journal) -> Result<Option<OwnStack>> {
        if job.cell.configuration.layers.is_empty() {
            return Ok(None);
        }
        let disks = std::iter::once(&job.test).chain(&job.more);
        let nodes: Vec<&Path> = disks.map(|disk| Path::new(&disk.path)).collect();
        let stack = OwnStack::new(job.cell.index, &nodes);
        stack.name(&mut job.cell);
        journal.add_stack(stack.clone())?;
        Ok(Some(stack))
    }

    /// After the agent's end. Returns a remark if that left something.
    pub fn end(&self, journal: &Journal) -> Result<Option<String>> {
        let left = self.take_down(false)?;
        journal.remove_stack(self)?;
        Ok((!left.is_empty()).then(|| format!("{} had to be taken down after the agent's end", left.join(", "))))
    }

    /// Names that nothing of this machine has, for layers on disks with these nodes.
    fn new(cell: u32, nodes: &[&Path]) -> OwnStack {
        let now = own::wall_clock();
        let is_free = |number: &u32| {
            let taken = |behind: u32| Path::new(&format!("/sys/block/md{number}{behind}")).exists();
            !(0..100).any(taken)
        };
        let first = NUMBERS.start + (now % NUMBERS.len() as u128) as u32;
        let number = (first..NUMBERS.end).find(is_free).unwrap_or(first).to_string();
        let name = format!("{NAME}{}_{cell}_{now:x}_", std::process::id());
        OwnStack { name, number, disks: nodes.iter().filter_map(|node| number_of(node)).collect() }
    }

    /// As it is shown before it has a name.
    pub fn shown() -> OwnStack {
        OwnStack { name: format!("{NAME}ID_"), number: "N".to_owned(), disks: Vec::new() }
    }

    /// Gives the layers of a cell these names.
    pub fn name(&self, cell: &mut Cell) {
        let named = |text: &mut String| {
            *text = text.replace("{name}", &format!("{}{{name}}", self.name));
            *text = text.replace("{number}", &format!("{}{{number}}", self.number));
        };
        for layer in &mut cell.configuration.layers {
            let commands = [&mut layer.make, &mut layer.attach, &mut layer.detach, &mut layer.attach_degraded];
            commands.into_iter().flatten().flatten().for_each(named);
            named(&mut layer.device);
        }
    }

    /// Takes down what is left of it, the uppermost first. Returns what that was.
    ///
    /// # Errors
    /// Something uses it.
    pub fn take_down(&self, dry_run: bool) -> Result<Vec<String>> {
        let begin = Instant::now();
        let mut done = Vec::new();
        loop {
            let left = self.left();
            if dry_run || left.is_empty() {
                done.extend(left.iter().map(Upper::path));
                if !dry_run {
                    self.remove_links();
                }
                return Ok(done);
            }
            let mut said = "something lies on it".to_owned();
            let uppermost: Vec<&Upper> = left.iter().filter(|upper| upper.is_uppermost()).collect();
            for upper in &uppermost {
                match upper.take_down() {
                    Ok(()) => done.push(upper.path()),
                    Err(error) => said = format!("{error:#}"),
                }
            }
            if uppermost.is_empty() || begin.elapsed() > BUSY_LIMIT {
                bail!(
                    "{} cannot be taken down ({said}): something still uses it; when that has ended, `mountmark clean` goes on",
                    left.iter().map(Upper::path).collect::<Vec<_>>().join(", ")
                );
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Its mappings, wherever they lie, as nothing else has their names; its arrays on its disks, as others may have got their
    /// numbers since.
    fn left(&self) -> Vec<Upper> {
        let disks: Vec<String> = self.disks.iter().filter_map(|number| name_of_number(number)).collect();
        let mut left = upper::mappings();
        left.extend(upper::arrays_on(&disks));
        left.retain(|upper| self.is_own(upper));
        left
    }

    /// Removes the links that LVM made of its volumes where no udev did.
    fn remove_links(&self) {
        let folders = fs::read_dir("/dev").into_iter().flatten().flatten();
        let own = folders.filter(|entry| entry.file_name().to_string_lossy().starts_with(&self.name));
        for folder in own.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let _ = fs::remove_dir_all(folder.path());
        }
    }

    fn is_own(&self, upper: &Upper) -> bool {
        let array = |name: &str| {
            let behind = name.strip_prefix("md").and_then(|number| number.strip_prefix(self.number.as_str()));
            behind.is_some_and(|behind| (1..=2).contains(&behind.len()) && behind.bytes().all(|b| b.is_ascii_digit()))
        };
        upper.mapped.starts_with(&self.name) || upper.mapped.is_empty() && array(&upper.name)
    }
}

impl Upper {
    fn take_down(&self) -> Result<()> {
        let path = self.path();
        let (program, arguments) = match self.mapped.as_str() {
            "" => ("mdadm", vec!["--stop", "--quiet", &path]),
            mapped => ("dmsetup", vec!["remove", mapped]),
        };
        let mut command = Command::new(program);
        // Waiting for udev would hang where none runs; the node of a mapping is removed all the same.
        command.args(arguments).env("PATH", PATH).env("DM_DISABLE_UDEV", "1");
        // After Ctrl-C, too.
        let output = child::output_to_the_end(&mut command, child::QUICK)?;
        if output.status.success() {
            return Ok(());
        }
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper(name: &str, mapped: &str) -> Upper {
        Upper { name: name.into(), mapped: mapped.into() }
    }

    #[test]
    fn only_what_bears_its_names_is_its_own() {
        let stack = OwnStack { name: "mountmark_7_0_ab_".into(), number: "200".into(), disks: Vec::new() };
        for (name, mapped, is_own) in [
            ("dm-3", "mountmark_7_0_ab_layer0", true),
            ("dm-3", "mountmark_7_0_ab_layer1-disk", true),
            ("dm-3", "mountmark_7_0_abc_layer0", false),
            ("dm-3", "vg-home", false),
            ("md2000", "", true),
            ("md20012", "", true),
            ("md200", "", false),
            ("md200123", "", false),
            ("md127", "", false),
            ("bcache0", "", false),
            // A mapping that somebody has called like an array.
            ("dm-3", "md2000", false),
        ] {
            assert_eq!(stack.is_own(&upper(name, mapped)), is_own, "{name} {mapped}");
        }
    }

    #[test]
    fn two_cells_have_names_of_their_own() {
        let [one, other] = [0, 1].map(|cell| OwnStack::new(cell, &[Path::new("/dev/null")]));
        assert_ne!(one.name, other.name);
        assert!(!one.name.contains('-') && one.name.len() + "layer12-pool_tdata".len() < 128);
        assert!(NUMBERS.contains(&one.number.parse().unwrap()));
        assert!(format!("{}99", NUMBERS.end - 1).parse::<u32>().unwrap() < 1 << 20);
    }
}
