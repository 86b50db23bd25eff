//! How a file system is mounted: by mount(8), or by mount(2) with what mount(8) would make of the options.

use std::ffi::CString;
use std::path::Path;

use mountmark_job::plain;
use mountmark_model::{Configuration, Site};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

/// One mount, with what must run before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// What must run first; empty if nothing must.
    pub before: Vec<String>,
    /// mount(8) with its arguments, or the file system's own commands.
    pub commands: Vec<Vec<String>>,
    /// Whether programs that the commands leave running serve it.
    pub is_served: bool,
    kind: String,
    /// As given to `-o`.
    options: Vec<String>,
    device: String,
    folder: String,
}

impl Mount {
    /// Of a file system that was unmounted.
    pub fn sound(configuration: &Configuration, site: &Site) -> Mount {
        Mount {
            before: Vec::new(),
            commands: configuration.mount(site),
            is_served: !configuration.filesystem.mount.is_empty(),
            kind: configuration.filesystem.mount_type.clone(),
            options: configuration.mount_options.clone(),
            device: site.device().to_owned(),
            folder: site.folder.clone(),
        }
    }

    /// Of a file system that was not.
    pub fn after_cut(configuration: &Configuration, site: &Site) -> Mount {
        let before = configuration.before_mount_command(site.device()).unwrap_or_default();
        Mount { before, ..Mount::sound(configuration, site) }
    }

    /// This one, and then the one that lies on a folder of it.
    pub(super) fn with(mut self, upper: Mount) -> Mount {
        self.commands.extend(upper.commands);
        Mount { before: self.before, commands: self.commands, ..upper }
    }

    /// Of a disk that only holds files for the one under test.
    pub(super) fn plain(device: &str, folder: &Path) -> Mount {
        let folder = folder.display().to_string();
        Mount {
            before: Vec::new(),
            commands: vec![["mount", "-i", "-t", plain::TYPE, device, &folder].map(str::to_owned).into()],
            is_served: false,
            kind: plain::TYPE.to_owned(),
            options: Vec::new(),
            device: device.to_owned(),
            folder,
        }
    }

    /// Whether [`Mount::call`] does what its commands do.
    pub fn is_one_call(&self) -> bool {
        !self.is_served && self.commands.len() == 1
    }

    /// All commands, in order.
    pub fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        Some(&self.before).filter(|before| !before.is_empty()).into_iter().chain(&self.commands)
    }

    /// Exit codes after which the first of the commands was done, beside 0; `recovery` are those of what runs before.
    pub fn done<'d>(&self, recovery: &'d [i32]) -> &'d [i32] {
        if self.before.is_empty() { &[] } else { recovery }
    }

    /// Mounts by mount(2) as mount(8) would, without starting a program; not for a file system with commands of its own.
    /// `before` is the caller's.
    pub fn call(&self) -> Result<(), Errno> {
        let (flags, data) = flags_and_data(&self.options);
        let data = CString::new(data).map_err(|_| Errno::INVAL)?;
        mount(self.device.as_str(), self.folder.as_str(), self.kind.as_str(), flags, Some(data.as_c_str()))
    }
}

/// What an option is to mount(8).
enum Meaning {
    Set(MountFlags),
    Clear(MountFlags),
}

use Meaning::{Clear, Set};

/// `include/uapi/linux/mount.h`
const IVERSION: MountFlags = MountFlags::from_bits_retain(1 << 23);
const CONFINED: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Options that mount(2) takes as flags: mount(8), "filesystem-independent mount options", and `libmount/src/optmap.c`
/// of util-linux 2.38.
const FLAGS: [(&str, Meaning); 37] = [
    ("ro", Set(MountFlags::RDONLY)),
    ("rw", Clear(MountFlags::RDONLY)),
    ("exec", Clear(MountFlags::NOEXEC)),
    ("noexec", Set(MountFlags::NOEXEC)),
    ("suid", Clear(MountFlags::NOSUID)),
    ("nosuid", Set(MountFlags::NOSUID)),
    ("dev", Clear(MountFlags::NODEV)),
    ("nodev", Set(MountFlags::NODEV)),
    ("sync", Set(MountFlags::SYNCHRONOUS)),
    ("async", Clear(MountFlags::SYNCHRONOUS)),
    ("dirsync", Set(MountFlags::DIRSYNC)),
    ("silent", Set(MountFlags::SILENT)),
    ("loud", Clear(MountFlags::SILENT)),
    ("mand", Set(MountFlags::PERMIT_MANDATORY_FILE_LOCKING)),
    ("nomand", Clear(MountFlags::PERMIT_MANDATORY_FILE_LOCKING)),
    ("atime", Clear(MountFlags::NOATIME)),
    ("noatime", Set(MountFlags::NOATIME)),
    ("iversion", Set(IVERSION)),
    ("noiversion", Clear(IVERSION)),
    ("diratime", Clear(MountFlags::NODIRATIME)),
    ("nodiratime", Set(MountFlags::NODIRATIME)),
    ("relatime", Set(MountFlags::RELATIME)),
    ("norelatime", Clear(MountFlags::RELATIME)),
    ("strictatime", Set(MountFlags::STRICTATIME)),
    ("nostrictatime", Clear(MountFlags::STRICTATIME)),
    ("lazytime", Set(MountFlags::LAZYTIME)),
    ("nolazytime", Clear(MountFlags::LAZYTIME)),
    ("symfollow", Clear(MountFlags::NOSYMFOLLOW)),
    ("nosymfollow", Set(MountFlags::NOSYMFOLLOW)),
    ("user", Set(CONFINED.union(MountFlags::NOEXEC))),
    ("users", Set(CONFINED.union(MountFlags::NOEXEC))),
    ("owner", Set(CONFINED)),
    ("group", Set(CONFINED)),
    ("nouser", Clear(MountFlags::empty())),
    ("nousers", Clear(MountFlags::empty())),
    ("noowner", Clear(MountFlags::empty())),
    ("nogroup", Clear(MountFlags::empty())),
];

/// Options that mount(8) keeps to itself; an option `name=value` is kept if `name=` is here.
const KEPT: [&str; 11] =
    ["defaults", "auto", "noauto", "nofail", "_netdev", "comment=", "uhelper=", "helper=", "x-", "X-", "user="];

/// The flags and the text of mount(2) for options as the user wrote them; of two that disagree the last one holds.
fn flags_and_data(given: &[String]) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut data = Vec::new();
    let is_kept = |option: &str| {
        KEPT.iter().any(|kept| if kept.ends_with(['=', '-']) { option.starts_with(kept) } else { option == *kept })
    };
    for option in given.iter().flat_map(|options| options.split(',')).filter(|option| !option.is_empty()) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, Set(flag))) => flags |= *flag,
            Some((_, Clear(flag))) => flags &= !*flag,
            None if is_kept(option) => {}
            None => data.push(option),
        }
    }
    (flags, data.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[&str]) -> (MountFlags, String) {
        flags_and_data(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn flags_and_data_are_told_apart() {
        let (flags, data) = of(&["noatime,data=writeback", "rw", "sync", "commit=1"]);
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::SYNCHRONOUS);
        assert_eq!(data, "data=writeback,commit=1");
    }

    /// A file system refuses what mount(8) does not hand on to it.
    #[test]
    fn what_mount_keeps_or_takes_back_never_reaches_the_file_system() {
        let (flags, data) = of(&["lazytime,async", "atime", "nofail,x-systemd.automount,_netdev,auto", "noexec,exec"]);
        assert_eq!((flags, data.as_str()), (MountFlags::LAZYTIME, ""));
        assert_eq!(
            of(&["noatime", "atime", "xattr,auto_da_alloc"]),
            (MountFlags::empty(), "xattr,auto_da_alloc".into())
        );
    }
}
