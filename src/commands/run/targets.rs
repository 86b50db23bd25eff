//! What the host lab works on: looked at before anything is fetched, and brought into the plan.

use anyhow::{Result, bail};
use mountmark_model::{Bytes, Configuration, OwnComputer, OwnTarget, Target};
use mountmark_plan::{Catalogue, Options, configurations_for};

use super::Arguments;
use crate::common::WrongUse;

/// Fits options and catalogue to the targets; refuses what has no effect on them. Returns what is compared.
pub fn fit(arguments: &Arguments, options: &mut Options, catalogue: &mut Catalogue) -> Result<Vec<Configuration>> {
    let own = options.own.clone();
    let targets = own.as_ref().map_or(&[][..], |own: &OwnComputer| &own.targets);
    let sizes = targets.iter().filter(|own| !own.target.is_mounted()).filter_map(|own| own.size);
    let sizes: Vec<u64> = sizes.map(|size| size.0).collect();
    if let Some(least) = sizes.iter().min() {
        if options.disk_size.is_some() {
            bail!(WrongUse(
                "--disk-size: a device has its own size; make a partition of that size, and name it".into()
            ));
        }
        options.disk_size = Some(Bytes(*least));
        // Each repeat is a block on each device.
        let blocks = options.repeats.checked_mul(targets.len() as u32);
        options.repeats = blocks.ok_or_else(|| WrongUse("--repeat: too many for so many devices".into()))?;
        if arguments.vary.iter().any(|vary| vary.starts_with("disk-size")) {
            bail!(WrongUse("--vary disk-size: a device has its own size; use --image".into()));
        }
    }
    if let [OwnTarget { target: Target::Folder { filesystem, path, .. }, .. }] = targets {
        if !arguments.fs.is_empty() {
            bail!(WrongUse(format!("--fs has no effect with --dir {path}, which is {filesystem}; leave it away")));
        }
        if options.disk_size.is_some() {
            bail!(WrongUse("--disk-size has no effect with --dir; leave it away".into()));
        }
        let held = [
            ("--fill", arguments.fill.is_some()),
            ("--age", arguments.age.is_some()),
            ("--options", arguments.options.is_some()),
        ];
        if let Some((option, _)) = held.iter().find(|(_, given)| *given) {
            bail!(WrongUse(format!(
                "{option} has no effect with --dir {path}: somebody else's file system stays as it is; use --image"
            )));
        }
        options.fs = vec![mountmark_plan::put_mounted(catalogue, filesystem)];
    }
    Ok(configurations_for(options.lab, catalogue, &options.fs)?)
}
