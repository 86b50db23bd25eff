//! How an answer is made and mounted, and how it is confirmed on a disk of one's own.

use std::path::Path;

use mountmark_findings::advice::Recipe;
use mountmark_findings::shell_word;
use mountmark_model::{Configuration, Lab, Site, Variant};
use mountmark_plan::{Catalogue, PlanError, configurations_for};

use super::search::Search;

/// Words that keep mkfs from asking: whoever pastes it wants to be asked.
const UNASKED: [&str; 3] = ["-q", "-f", "-F"];

/// Where the reader mounts it.
const FOLDER: &str = "/FOLDER";

/// How a configuration is made and mounted.
pub fn of(made: &Configuration) -> Recipe {
    if made.below.is_some() || made.filesystem.has_own_commands() || made.own_disks.is_some() {
        return Recipe { guest: by_guest(made, FOLDER).iter().map(|words| line(words)).collect(), ..Recipe::default() };
    }
    let stack = made.stack(disks(made));
    let guest: Vec<String> = stack.make().iter().map(|(_, words)| line(words)).collect();
    let words = made.mkfs_command(&stack.device());
    let words: Vec<String> = words.into_iter().filter(|word| !UNASKED.contains(&word.as_str())).collect();
    let options = if made.mount_options.is_empty() { "defaults".to_owned() } else { made.mount_options.join(",") };
    let fstab = format!("UUID=... {FOLDER} {} {options} 0 2", made.filesystem.mount_type);
    Recipe { guest, mkfs: Some(line(&words)), fstab: Some(fstab) }
}

/// All commands by which a guest makes and mounts it on a folder.
fn by_guest(made: &Configuration, folder: &str) -> Vec<Vec<String>> {
    let (mut out, site) = match &made.below {
        Some(below) => {
            let place = "/BELOW";
            let site = Site { below: place.into(), ..Site::on(Vec::new(), Path::new(folder)) };
            (by_guest(below, place), site)
        }
        None => {
            let stack = made.stack(disks(made));
            let devices = if made.layers.is_empty() { disks(made) } else { vec![stack.device()] };
            (stack.make().into_iter().map(|(_, words)| words).collect(), Site::on(devices, Path::new(folder)))
        }
    };
    out.extend([made.attach(&site), made.make(&site), made.mount(&site)].concat());
    out.retain(|words| !words.is_empty());
    if let Some(second) = site.devices.get(1) {
        out.iter_mut().flatten().for_each(|word| *word = word.replace(Variant::SECOND, second));
    }
    out
}

/// Names of its disks.
fn disks(made: &Configuration) -> Vec<String> {
    match made.disks() {
        1 => vec!["/dev/DEVICE".to_owned()],
        several => (1..=several).map(|number| format!("/dev/DEVICE{number}")).collect(),
    }
}

fn line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// The command that measures the answer on a disk of one's own, beside the first of the others that the lab on real disks takes.
///
/// # Errors
/// What that lab does not take, as a sentence's end.
pub fn confirm(catalogue: &Catalogue, search: &Search, answer: &str, others: &[String]) -> Result<String, String> {
    let real =
        Lab::ALL.iter().copied().find(|lab| !lab.capabilities().guest).ok_or("on a real disk: no lab has one")?;
    let can = |name: &str| configurations_for(real, catalogue, &[name.to_owned()]);
    let reason = |error: PlanError| format!("on a real disk: {error}");
    can(answer).map_err(reason)?;
    let mut both = vec![answer];
    match others.iter().find(|other| can(other).is_ok()) {
        Some(other) => both.push(other),
        None => others.first().map_or(Ok(()), |first| can(first).map(drop)).map_err(reason)?,
    }
    let arguments = search.arguments;
    let mut words: Vec<String> = ["sudo", "mountmark", "run", "--lab", real.name()].map(str::to_owned).into();
    words.extend(["--device".into(), "/dev/DEVICE".into(), "--fs".into(), both.join(",")]);
    words.extend(["--precision".into(), "2%".into(), "--scale".into(), search.scale()]);
    for (option, value) in [("--fill", &arguments.room), ("--age", &arguments.age)] {
        words.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
    }
    if let Some(file) = arguments.also.iter().find(|path| path.extension().is_some_and(|ending| ending == "json")) {
        words.extend(["--advice".into(), file.display().to_string()]);
    }
    words.extend(arguments.work.words());
    Ok(line(&words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn recipe(text: &str) -> Recipe {
        let catalogue = catalogue::load().unwrap();
        of(&mountmark_plan::configurations(&catalogue, &[text.to_owned()]).unwrap()[0])
    }

    #[test]
    fn what_is_made_by_two_lines_has_two_and_layers_stand_before_them() {
        let plain = recipe("ext4:noatime");
        assert_eq!(plain.mkfs.as_deref(), Some("mkfs.ext4 /dev/DEVICE"));
        assert_eq!(plain.fstab.as_deref(), Some("UUID=... /FOLDER ext4 noatime 0 2"));
        assert!(plain.guest.is_empty(), "{plain:?}");
        let stacked = recipe("ext4@luks@raid1");
        let makes = stacked.guest.first().unwrap();
        assert!(makes.starts_with("mdadm --create") && makes.ends_with("/dev/DEVICE1 /dev/DEVICE2"), "{makes}");
        assert!(stacked.guest.last().unwrap().starts_with("cryptsetup open "), "{stacked:?}");
        assert!(stacked.mkfs.as_deref().unwrap().starts_with("mkfs.ext4 /dev/mapper/"), "{stacked:?}");
        assert!(stacked.fstab.is_some());
    }

    #[test]
    fn what_has_commands_of_its_own_is_made_by_those() {
        for (text, made, mounted) in [
            ("zfs", "zpool create ", "mount "),
            ("overlay@xfs", "mkfs.xfs ", "sh -c "),
            ("gocryptfs", "mkfs.", "gocryptfs "),
            ("btrfs:raid1", "mkfs.btrfs ", "mount "),
            ("xfs:external-log", "mkfs.xfs ", "mount "),
        ] {
            let found = recipe(text);
            assert!(found.mkfs.is_none() && found.fstab.is_none(), "{found:?}");
            let last = found.guest.last().unwrap();
            assert!(found.guest.iter().any(|line| line.starts_with(made)), "{text}: {found:?}");
            assert!(last.starts_with(mounted) && last.contains(FOLDER), "{text}: {found:?}");
        }
        let has_both = |text: &str| recipe(text).guest.iter().any(|line| line.ends_with("/dev/DEVICE1 /dev/DEVICE2"));
        assert!(has_both("btrfs:raid1") && !has_both("xfs:external-log"));
        let log = recipe("xfs:external-log").guest;
        assert!(log.iter().all(|line| line.contains("logdev=/dev/DEVICE2")), "{log:?}");
    }
}
