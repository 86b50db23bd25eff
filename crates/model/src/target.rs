//! What the host lab works on: a file over a loop device, a disk or several, or a folder of a file system that is mounted
//! already.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Disk, DiskModel};

/// Which disk figures of the host lab belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A file, over a loop device.
    Image {
        /// The file, or the folder in which files without names are made; absolute.
        path: String,
        /// The type of the file system that holds it, and what that is mounted from; empty if unknown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        filesystem: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        source: String,
    },
    /// A disk, partition, volume or array.
    Device(Identity),
    /// Several of these, which a file system, or a layer below it, has together.
    Devices {
        /// As the user named them: `/dev/sdb+/dev/sdc`.
        path: String,
        devices: Vec<Identity>,
    },
    /// A file system that somebody else made and mounted.
    Folder {
        /// Where tasks work, in a folder of their own.
        path: String,
        /// The type of the file system, as the kernel names it.
        filesystem: String,
        /// What is mounted there: a device, a server's export.
        source: String,
        /// As mounted.
        options: String,
    },
}

/// Tells one device from all others, and from itself after it was taken out and put in again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// As the user named it.
    pub path: String,
    /// The kernel's name: `sda1`, `dm-0`.
    pub name: String,
    /// Major and minor number: `8:1`.
    pub number: String,
    /// What it is: `disk`, `partition of sda`, `LVM volume vg-data on sda1`.
    pub sort: String,
    /// The drive's; empty if it has none.
    pub model: String,
    /// The drive's, else what names a virtual device: its UUID, the file of a loop device. Empty if there is nothing.
    pub serial: String,
    /// World-wide name; empty if there is none.
    pub wwid: String,
    pub size: Bytes,
    /// Where its sectors lie: a hash over it and all devices below, with their parts and maps.
    #[serde(default)]
    pub ground: String,
    /// The kernel's count of media; 0 if it keeps none (before Linux 5.15).
    pub diskseq: u64,
    /// Whether the kernel takes it for a turning disk.
    pub rotational: bool,
}

impl Identity {
    /// In one line: sort, model, serial, size.
    pub fn about(&self) -> String {
        let named = |what: &str, text: &str| (!text.is_empty()).then(|| format!("{what}{text}"));
        let parts = [
            Some(self.sort.clone()),
            named("", &self.model),
            named("serial ", &self.serial),
            Some(self.size.to_string()),
            Some(if self.rotational { "turning" } else { "not turning" }.to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// In what a device differs from the one that was looked at; `None` if it is the same one.
    pub fn difference(&self, now: &Identity) -> Option<String> {
        let facts = [
            ("its number", self.number.clone(), now.number.clone()),
            ("its size", self.size.0.to_string(), now.size.0.to_string()),
            ("its serial", self.serial.clone(), now.serial.clone()),
            ("its world-wide name", self.wwid.clone(), now.wwid.clone()),
            ("the kernel's count of it", self.diskseq.to_string(), now.diskseq.to_string()),
            ("what it is", self.sort.clone(), now.sort.clone()),
            ("the map of where its sectors lie", self.ground.clone(), now.ground.clone()),
        ];
        changed(&facts)
    }

    /// In what a device differs from the one that a run was measured on, which may have been taken out, or got another
    /// number when the machine was started anew.
    fn difference_later(&self, now: &Identity) -> Option<String> {
        let has_name = !self.serial.is_empty() || !self.wwid.is_empty();
        let number = |identity: &Identity| if has_name { String::new() } else { identity.number.clone() };
        changed(&[
            ("its size", self.size.0.to_string(), now.size.0.to_string()),
            ("its model", self.model.clone(), now.model.clone()),
            ("its serial", self.serial.clone(), now.serial.clone()),
            ("its world-wide name", self.wwid.clone(), now.wwid.clone()),
            ("its number", number(self), number(now)),
        ])
    }
}

/// The first fact that differs, of names, earlier and present values.
fn changed(facts: &[(&str, String, String)]) -> Option<String> {
    let (what, then, now) = facts.iter().find(|(_, then, now)| then != now)?;
    let shown = |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
    Some(format!("{what} was {} and is {}", shown(then), shown(now)))
}

impl Target {
    /// The name of its disk in tables.
    pub fn name(&self) -> &str {
        match self {
            Target::Image { .. } => "loop",
            Target::Device(identity) => &identity.path,
            Target::Devices { path, .. } | Target::Folder { path, .. } => path,
        }
    }

    /// In one line.
    pub fn about(&self) -> String {
        match self {
            Target::Image { .. } => "a loop device on a file of this machine".into(),
            Target::Device(identity) => identity.about(),
            Target::Devices { devices, .. } => {
                let each = devices.iter().map(|device| format!("{}: {}", device.path, device.about()));
                each.collect::<Vec<_>>().join("; ")
            }
            Target::Folder { filesystem, source, options, .. } => {
                format!("a folder of a mounted file system: {filesystem} on {source}, {options}")
            }
        }
    }

    /// Its disks, partitions, volumes or arrays.
    pub fn devices(&self) -> &[Identity] {
        match self {
            Target::Device(device) => std::slice::from_ref(device),
            Target::Devices { devices, .. } => devices,
            Target::Image { .. } | Target::Folder { .. } => &[],
        }
    }

    /// As a disk of a plan: a drive of which no model is known, or several of them.
    pub fn disk(&self) -> Disk {
        Disk {
            name: self.name().into(),
            about: self.about(),
            sources: Vec::new(),
            model: DiskModel::NO_DRIVE,
            others: Vec::new(),
        }
    }

    /// In what a target differs from the one that a run was measured on; `None` if it is the same thing, perhaps after the
    /// machine was started anew.
    pub fn difference(&self, now: &Target) -> Option<String> {
        match (self, now) {
            (Target::Device(then), Target::Device(now)) => then.difference_later(now),
            (Target::Devices { devices: then, .. }, Target::Devices { devices: now, .. }) => {
                let count = |devices: &[Identity]| devices.len().to_string();
                let one = |(then, now): (&Identity, &Identity)| {
                    Some(format!("of {}, {}", then.path, then.difference_later(now)?))
                };
                let number = changed(&[("the number of its disks", count(then), count(now))]);
                number.or_else(|| then.iter().zip(now).find_map(one))
            }
            (Target::Folder { options, .. }, Target::Folder { options: options_now, .. }) if options != options_now => {
                changed(&[("how it is mounted", options.clone(), options_now.clone())])
            }
            _ => {
                let [then, now] = [self, now].map(Target::place);
                changed(&[
                    ("its path", then[0].clone(), now[0].clone()),
                    ("its file system", then[1].clone(), now[1].clone()),
                    ("what is mounted there", then[2].clone(), now[2].clone()),
                ])
            }
        }
    }

    /// Path, type of the file system that holds it, and what that is mounted from.
    fn place(&self) -> [String; 3] {
        match self {
            Target::Image { path, filesystem, source } | Target::Folder { path, filesystem, source, .. } => {
                [path, filesystem, source].map(Clone::clone)
            }
            Target::Device(_) | Target::Devices { .. } => [self.name().to_owned(), String::new(), String::new()],
        }
    }

    /// Whether its file system is somebody else's, and is neither made, mounted nor checked.
    pub fn is_mounted(&self) -> bool {
        matches!(self, Target::Folder { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Identity {
        Identity {
            path: "/dev/sdb".into(),
            name: "sdb".into(),
            number: "8:16".into(),
            sort: "disk".into(),
            model: "SomeDrive".into(),
            serial: "S1".into(),
            size: Bytes(1 << 30),
            diskseq: 7,
            ..Identity::default()
        }
    }

    #[test]
    fn another_disk_at_the_same_place_is_told() {
        let then = disk();
        assert_eq!(then.difference(&disk()), None);
        // A name alone makes no other disk.
        assert_eq!(then.difference(&Identity { path: "/dev/disk/by-id/x".into(), ..disk() }), None);
        for (now, word) in [
            (Identity { number: "8:32".into(), ..disk() }, "8:32"),
            (Identity { size: Bytes(512), ..disk() }, "size"),
            (Identity { serial: String::new(), ..disk() }, "nothing"),
            (Identity { wwid: "naa.5".into(), ..disk() }, "naa.5"),
            (Identity { diskseq: 8, ..disk() }, "was 7 and is 8"),
            (Identity { sort: "mapping on sdc".into(), ..disk() }, "what it is was disk and is mapping on sdc"),
            (Identity { ground: "ab".into(), ..disk() }, "the map of where its sectors lie"),
        ] {
            let difference = then.difference(&now).unwrap();
            assert!(difference.contains(word), "{difference}");
        }
    }

    #[test]
    fn a_disk_is_known_again_after_a_boot_and_another_is_not() {
        let then = Target::Device(disk());
        let now = |change: fn(&mut Identity)| {
            let mut now = disk();
            change(&mut now);
            then.difference(&Target::Device(now))
        };
        // Its number and the count of media are the kernel's, and another boot counts anew.
        assert_eq!(now(|now| (now.number, now.diskseq, now.name) = ("8:32".into(), 1, "sdc".into())), None);
        assert!(now(|now| now.serial = "S2".into()).unwrap().contains("its serial was S1 and is S2"));
        assert!(now(|now| now.wwid = "naa.5".into()).unwrap().contains("world-wide"));
        assert!(now(|now| now.size = Bytes(512)).unwrap().contains("size"));
        assert!(now(|now| now.model = "Other".into()).unwrap().contains("model"));
        // What has no name of its own is known by its number alone.
        let [nameless, moved] = ["8:16", "8:32"]
            .map(|n| Identity { serial: String::new(), number: n.into(), ..disk() })
            .map(Target::Device);
        assert_eq!(nameless.difference(&nameless), None);
        assert!(nameless.difference(&moved).unwrap().contains("its number was 8:16 and is 8:32"));
    }

    #[test]
    fn one_of_several_disks_that_is_another_is_told() {
        let second = Identity { path: "/dev/sdc".into(), serial: "S2".into(), ..disk() };
        let both =
            |devices: [Identity; 2]| Target::Devices { path: "/dev/sdb+/dev/sdc".into(), devices: devices.into() };
        let then = both([disk(), second.clone()]);
        assert_eq!(then.difference(&both([disk(), second.clone()])), None);
        let swapped = then.difference(&both([second.clone(), disk()])).unwrap();
        assert_eq!(swapped, "of /dev/sdb, its serial was S1 and is S2");
        let short = Target::Devices { path: "/dev/sdb+/dev/sdc".into(), devices: vec![disk()] };
        assert_eq!(then.difference(&short).unwrap(), "the number of its disks was 2 and is 1");
        let one = then.difference(&Target::Device(disk())).unwrap();
        assert!(one.contains("its path was /dev/sdb+/dev/sdc and is /dev/sdb"), "{one}");
        assert_eq!((then.devices().len(), then.name()), (2, "/dev/sdb+/dev/sdc"));
        assert!(
            then.about().starts_with("/dev/sdb: disk, SomeDrive, serial S1") && then.about().contains("; /dev/sdc: ")
        );
    }

    #[test]
    fn a_folder_or_an_image_elsewhere_is_another_target() {
        let image = |path: &str, source: &str| Target::Image {
            path: path.into(),
            filesystem: "xfs".into(),
            source: source.into(),
        };
        assert_eq!(image("/a", "/dev/vda").difference(&image("/a", "/dev/vda")), None);
        assert!(image("/a", "/dev/vda").difference(&image("/b", "/dev/vda")).unwrap().contains("path was /a"));
        assert!(image("/a", "/dev/vda").difference(&image("/a", "/dev/vdb")).unwrap().contains("/dev/vdb"));
        assert!(image("/a", "").difference(&Target::Device(disk())).unwrap().contains("is /dev/sdb"));
        let folder = |options: &str| Target::Folder {
            path: "/a".into(),
            filesystem: "xfs".into(),
            source: "/dev/vda".into(),
            options: options.into(),
        };
        assert_eq!(folder("rw").difference(&folder("rw")), None);
        assert!(folder("rw").difference(&folder("rw,noatime")).unwrap().contains("how it is mounted was rw"));
    }

    #[test]
    fn a_target_says_which_disk_it_is() {
        let target = Target::Device(disk());
        assert_eq!(target.about(), "disk, SomeDrive, serial S1, 1.00 GiB, not turning");
        let text = serde_json::to_string(&target).unwrap();
        assert!(text.starts_with(r#"{"kind":"device","path":"/dev/sdb""#), "{text}");
        assert_eq!(serde_json::from_str::<Target>(&text).unwrap(), target);
        assert!(!target.is_mounted() && target.disk().name == "/dev/sdb");
    }
}
