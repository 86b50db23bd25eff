//! Classes of work: what a processor does, sorted by what real machines pay for it beside the virtual lab's clock.

use serde::{Deserialize, Serialize};

use crate::profile::program;

/// A class of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// The kernel's core: all of it that is in no other class. Its cost is the unit.
    Kernel,
    /// Code of the kernel's modules: the file system's own, its journal's.
    Modules,
    /// Programs outside the kernel.
    Programs,
    /// Copies and clears: iterations of string instructions, and functions of the kernel that copy without them.
    Copies,
    /// Checksums that the kernel computes, told by their functions' names.
    Checksums,
    /// The driver of the modelled disk and what it calls, on the way to its server. A real machine has another driver, and DMA.
    Driver,
    /// The server of the modelled disk, which no real machine runs.
    Server,
    /// Waiting for the disk and for timers, which no processor makes shorter.
    Waiting,
}

impl Work {
    /// All, in the order of tables.
    pub const ALL: [Work; 8] = [
        Work::Kernel,
        Work::Modules,
        Work::Programs,
        Work::Copies,
        Work::Checksums,
        Work::Driver,
        Work::Server,
        Work::Waiting,
    ];

    /// In files: `copies`.
    pub fn name(self) -> &'static str {
        match self {
            Work::Kernel => "kernel",
            Work::Modules => "modules",
            Work::Programs => "programs",
            Work::Copies => "copies",
            Work::Checksums => "checksums",
            Work::Driver => "driver",
            Work::Server => "server",
            Work::Waiting => "waiting",
        }
    }

    /// Whether its cost may differ from machine to machine, beside that of the kernel's core.
    pub fn has_cost(self) -> bool {
        !matches!(self, Work::Kernel | Work::Server)
    }
}

/// Nanoseconds of the guest by class of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkTimes([u64; Work::ALL.len()]);

impl WorkTimes {
    /// Of one class.
    pub fn of(&self, work: Work) -> u64 {
        self.0[work as usize]
    }

    /// Adds to one class.
    pub fn add(&mut self, work: Work, nanoseconds: u64) {
        self.0[work as usize] = self.of(work).saturating_add(nanoseconds);
    }

    /// Adds those of another interval.
    pub fn add_all(&mut self, other: &WorkTimes) {
        Work::ALL.into_iter().for_each(|work| self.add(work, other.of(work)));
    }

    /// Adds what a path of this class ran, `strings` of it in iterations of string instructions, and waited.
    pub fn add_path(&mut self, class: Work, running: u64, strings: u64, waiting: u64) {
        let copies = if class == Work::Server { 0 } else { strings.min(running) };
        self.add(Work::Copies, copies);
        self.add(class, running - copies);
        self.add(Work::Waiting, waiting);
    }
}

/// Where a path of calls has led so far, name by name, as in [`crate::profile::Profile::paths`].
#[derive(Clone, Copy, Debug)]
pub struct Place {
    class: Work,
}

impl Place {
    /// At a path's first name, its program.
    pub fn program(name: &str) -> Place {
        Place { class: if name == program::DISK_SERVER { Work::Server } else { Work::Programs } }
    }

    /// In what is called from there.
    pub fn called(self, name: &str) -> Place {
        let class = match self.class {
            Work::Server | Work::Driver => self.class,
            _ if program::code(name).is_some() => Work::Programs,
            _ => of_function(name),
        };
        Place { class }
    }

    /// The class of its own instructions.
    pub fn class(self) -> Work {
        self.class
    }
}

/// The modelled disk's driver, as a module and as a part of the kernel.
const DRIVER: [&str; 2] = ["nbd:", "nbd_"];
/// Parts of names of functions that only compute checksums.
const CHECKSUMS: [&str; 5] = ["crc32", "xxh", "sha256", "blake2", "csum_partial"];
/// Beginnings of names of functions that only copy or clear, for processors without fast string instructions.
const COPIES: [&str; 12] = [
    "rep_movs_", "rep_stos_", "memcpy", "memmove", "memset", "__memcpy", "__memmove", "__memset", "clear_page_",
    "copy_page_re", "copy_user_generic", "clear_user_",
];

fn of_function(name: &str) -> Work {
    let (module, function) = name.rsplit_once(':').map_or((None, name), |(module, function)| (Some(module), function));
    if DRIVER.iter().any(|driver| name.starts_with(driver)) {
        return Work::Driver;
    }
    if CHECKSUMS.iter().any(|part| function.contains(part)) {
        return Work::Checksums;
    }
    if module.is_none() && COPIES.iter().any(|begin| function.starts_with(begin)) {
        return Work::Copies;
    }
    if module.is_some() { Work::Modules } else { Work::Kernel }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_class_of_its_end() {
        let class = |path: &str| {
            let mut names = path.split(';');
            let first = Place::program(names.next().unwrap());
            names.fold(first, Place::called).class()
        };
        for (path, wanted) in [
            ("cp", Work::Programs),
            ("cp;/usr/lib/libc.so.6:memcpy", Work::Programs),
            ("cp;do_syscall_64;vfs_read", Work::Kernel),
            ("cp;do_syscall_64;vfs_write;ext4:ext4_da_write_begin", Work::Modules),
            ("cp;do_syscall_64;ext4:ext4_find_entry;__brelse", Work::Kernel),
            ("cp;do_syscall_64;crc32c_intel:crc32c_pcl_intel_update", Work::Checksums),
            ("cp;do_syscall_64;clear_page_rep", Work::Copies),
            ("cp;do_syscall_64;rep_movs_alternative", Work::Copies),
            ("cp;do_syscall_64;copy_page_to_iter", Work::Kernel),
            ("interrupts;asm_sysvec_apic_timer_interrupt", Work::Kernel),
            ("kworker/0:1H;blk_mq_run_work_fn;nbd:nbd_queue_rq;sock_sendmsg;unix_stream_sendmsg", Work::Driver),
            ("disk server;do_syscall_64;sock_read_iter", Work::Server),
        ] {
            assert_eq!(class(path), wanted, "{path}");
        }
    }

    #[test]
    fn iterations_are_copies_but_for_the_disk_s_server() {
        let mut times = WorkTimes::default();
        times.add_path(Work::Kernel, 100, 70, 5);
        times.add_path(Work::Server, 50, 40, 0);
        let of = |work| times.of(work);
        assert_eq!([of(Work::Kernel), of(Work::Copies), of(Work::Server), of(Work::Waiting)], [30, 70, 50, 5]);
    }
}
