//! Kernel options that a guest needs, each with its purpose.
//!
//! `doctor`, a refused run and a guest that lacks an option all take their words from here. docs/reference/kernels.md shows the
//! list to people, docs/kernel.config has it as a fragment for merge_config.sh.

/// The cells that need an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum For {
    All,
    /// Modelled disks: all but `ram`.
    Modelled,
    /// Modelled hard disks.
    HardDisk,
    Ram,
    /// Suites whose file system lies in a file.
    Loop,
    /// Some figures or programs; all else works without.
    Some,
}

/// An option of a kernel's configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// Without `CONFIG_`.
    pub option: &'static str,
    /// Options that it depends on and that small configurations may lack, too.
    with: &'static [&'static str],
    pub by: For,
    purpose: &'static str,
    /// The first Linux version with the option: older ones always have the feature.
    since: (u32, u32),
    /// Whether a module is enough.
    may_be_module: bool,
}

impl std::fmt::Display for Need {
    fn fmt(&self, text: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(text, "CONFIG_{}", self.option)?;
        if !self.with.is_empty() {
            let with: Vec<String> = self.with.iter().map(|option| format!("CONFIG_{option}")).collect();
            write!(text, " (which needs {})", with.join(", "))?;
        }
        write!(text, ": {}", self.purpose)
    }
}

const fn need(by: For, option: &'static str, purpose: &'static str) -> Need {
    Need { option, with: &[], by, purpose, since: (0, 0), may_be_module: false }
}

impl Need {
    const fn with(self, with: &'static [&'static str]) -> Need {
        Need { with, ..self }
    }

    const fn since(self, major: u32, minor: u32) -> Need {
        Need { since: (major, minor), ..self }
    }

    const fn or_module(self) -> Need {
        Need { may_be_module: true, ..self }
    }

    /// Whether a kernel of this release lacks it. `setting` returns whether an option is built in (true) or a module
    /// (false); `None` if it is not set.
    pub fn is_lacking(&self, release: &str, setting: impl Fn(&str) -> Option<bool>) -> bool {
        version(release) >= self.since && !setting(self.option).is_some_and(|built_in| built_in || self.may_be_module)
    }
}

/// The entry by which QEMU starts an uncompressed image. A bzImage has another, so the image is checked, not the
/// option.
pub static PVH: Need = need(
    For::All,
    "PVH",
    "QEMU starts a vmlinux by its PVH entry. The bzImage of the same build (arch/x86/boot/bzImage) can be started without",
)
.with(&["HYPERVISOR_GUEST", "PARAVIRT"]);

/// Only if the block translation table (CONFIG_BTT) is a module: it creates a folder in debugfs, or fails.
pub static DEBUG_FS: Need = need(
    For::Ram,
    "DEBUG_FS",
    "the module nd_btt, which comes with the driver of the disk ram, does not load without; or leave CONFIG_BTT out",
);

/// All other options, in the order in which a guest would fail without them.
pub static NEEDS: [Need; 26] = [
    need(For::All, "BLK_DEV_INITRD", "a guest's root is an initramfs"),
    need(For::All, "BINFMT_ELF", "programs are ELF files"),
    need(For::All, "PROC_FS", "memory, mounts and processes are read from /proc"),
    need(For::All, "SYSFS", "disks are set up and their counters read in /sys"),
    need(For::All, "DEVTMPFS", "disks appear in /dev"),
    need(For::All, "TMPFS", "/tmp and /run are in memory").with(&["SHMEM"]),
    need(For::All, "FUTEX", "threads wait for each other"),
    need(For::All, "MULTIUSER", "programs ask and set owners of files and processes"),
    need(For::All, "X86_IOPL_IOPERM", "jobs come in and events go out by I/O ports").since(5, 5),
    need(For::Modelled, "DEVMEM", "disks and corpora are memory of the guest that lies beyond the kernel's own"),
    need(For::Modelled, "UNIX", "the nbd driver talks to the disk's model over a socket").with(&["NET"]),
    need(For::Modelled, "BLK_DEV_NBD", "the driver of disks with a model").with(&["BLK_DEV", "NET"]).or_module(),
    need(For::HardDisk, "MQ_IOSCHED_DEADLINE", "the scheduler of hard disks").or_module(),
    // arch/x86/pci/i386.c calls e820__reserve_resources_late(); without it the driver finds no region.
    need(For::Ram, "PCI", "memory that memmap= sets aside is registered when the kernel surveys the PCI bus"),
    need(For::Ram, "X86_PMEM_LEGACY", "memory that memmap= sets aside becomes a disk").with(&["BLK_DEV"]).or_module(),
    need(For::Ram, "BLK_DEV_PMEM", "the driver of the disk ram").with(&["LIBNVDIMM"]).or_module(),
    need(For::Loop, "BLK_DEV_LOOP", "the file system under test lies in a file").with(&["BLK_DEV"]).or_module(),
    need(For::Some, "SERIAL_8250_CONSOLE", "without it nobody hears why the kernel failed").with(&["TTY", "PRINTK"]),
    need(For::Some, "BINFMT_SCRIPT", "programs that are scripts, such as fsck.xfs"),
    need(
        For::Some,
        "SCHEDSTATS",
        "processor time to the nanosecond and without the disk server's; otherwise in hundredths of a second, with it",
    )
    .with(&["PROC_FS"]),
    need(For::Some, "TASK_IO_ACCOUNTING", "what a command wrote, from /proc/PID/io").with(&["TASKSTATS", "TASK_XACCT"]),
    need(For::Some, "VM_EVENT_COUNTERS", "the kernel's own counters, from /proc/vmstat"),
    need(For::Some, "HIGH_RES_TIMERS", "disks answer at their time; otherwise at the next tick"),
    need(For::Some, "AIO", "workloads and fio jobs with libaio"),
    need(For::Some, "IO_URING", "workloads and fio jobs with io_uring").since(5, 1),
    need(For::Some, "SYSVIPC", "fio's processes share memory"),
];

/// The need for an option.
///
/// # Panics
/// If the table lacks the option.
pub fn need_of(option: &str) -> &'static Need {
    NEEDS.iter().find(|need| need.option == option).expect("an option of the table")
}

/// The sentence of a guest that lacks an option.
pub fn lacks(option: &str) -> String {
    format!("the guest's kernel lacks {}", need_of(option))
}

/// `6.12.117+deb12-amd64` is 6 and 12.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_does_where_one_can() {
        let lacking = |option: &str, set: Option<bool>| need_of(option).is_lacking("6.12.1", |_| set);
        assert!(lacking("BLK_DEV_NBD", None));
        assert!(!lacking("BLK_DEV_NBD", Some(false)) && !lacking("BLK_DEV_NBD", Some(true)));
        assert!(lacking("DEVMEM", None) && lacking("BINFMT_SCRIPT", Some(false)) && !lacking("DEVMEM", Some(true)));
    }

    #[test]
    fn an_option_that_a_version_did_not_have_yet_is_not_missed() {
        let lacking = |release: &str| need_of("X86_IOPL_IOPERM").is_lacking(release, |_| None);
        assert!(!lacking("4.19.300") && !lacking("5.4.1-own") && lacking("5.5.0-rc1") && lacking("6.12.117+deb12"));
    }

    #[test]
    fn the_fragment_has_all_of_the_list() {
        let fragment = include_str!("../../../docs/kernel.config");
        let page = include_str!("../../../docs/reference/kernels.md");
        for need in NEEDS.iter().chain([&PVH]) {
            for option in need.with.iter().chain([&need.option]) {
                // The option that selects it is set.
                let is_selected = ["LIBNVDIMM"].contains(option);
                assert!(is_selected || fragment.contains(&format!("\nCONFIG_{option}=y\n")), "{option}");
            }
            assert!(page.contains(need.option), "{}", need.option);
        }
    }
}
