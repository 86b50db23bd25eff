//! Options of guests.

use mountmark_model::Lab;

use crate::image::kernel;
use crate::options::{LabOption, Takes};

/// In a lab without guests.
const NO_GUEST: &str = "--machine and --kernel choose a guest; the {lab} lab runs on this machine and its kernel";

pub static MACHINE: LabOption = LabOption {
    name: "machine",
    value: "MACHINE",
    takes: Takes::Text { usual: None },
    help: "The computer of the virtual lab, or several with commas; `mountmark list machines` [default: modern]",
    with: None,
    against: &[],
    elsewhere: NO_GUEST,
};

pub static KERNEL: LabOption = LabOption {
    name: "kernel",
    value: "KERNEL",
    takes: Takes::Text { usual: Some(kernel::DEFAULT) },
    help: "The guest's kernel: a Debian version such as 6.12 or 6.1, a release of Debian such as sid or trixie:6.12, a package name, \
           PATH[,MODULES] of a vmlinux, a vmlinuz or a build tree, or `host`; several versions with commas are crossed",
    with: None,
    against: &[],
    elsewhere: NO_GUEST,
};

pub static SILENCE_LIMIT: LabOption = LabOption {
    name: "silence-limit",
    value: "SECONDS",
    takes: Takes::Count { most: u64::MAX, usual: Some("1800"), alone: None },
    help: "Seconds of wall time that a guest, or the host lab's agent, may be silent before it counts as hung",
    with: None,
    against: &[],
    elsewhere: "--silence-limit is of labs with an agent, which the {lab} lab has not",
};

pub static DISK: LabOption = LabOption {
    name: "disk",
    value: "DISK",
    takes: Takes::Text { usual: None },
    help: "The disk under test instead of the machine's, or several with commas; hdd+ssd*2 are the disks of one guest, in the \
           order in which a layer takes them",
    with: None,
    against: &[],
    elsewhere: "--disk chooses the disk of a guest; --image says where the {lab} lab's disk lies",
};

pub static IF: LabOption = LabOption {
    name: "if",
    value: "CHANGES",
    takes: Takes::Texts,
    help: "What if the disk were another: flush=0, seek=0.5, read=2x, write=0.5, or a parameter of its model (rpm=15000). Exact for \
           the model: nothing else changes",
    with: None,
    against: &[],
    elsewhere: "--if changes the model of a guest's disk, and the {lab} lab has a real one",
};

/// Of the exact clock alone.
pub static PROFILE: LabOption = LabOption {
    name: "profile",
    value: "",
    takes: Takes::Nothing,
    help: "Virtual lab, with QEMU 10 or newer: run with the profiler, and keep where the time of each task went, so that `mountmark why` needs no second \
           run. Figures stay the same to the last bit; it takes some 1.7 times the processor time, and 1.1 times with --no-callers",
    with: None,
    against: &[],
    elsewhere: "--profile: the profiler is in the virtual lab's emulator, and would change what it looks at in the {lab} lab: use \
                perf there",
};

/// Of the exact clock alone.
pub static NO_CALLERS: LabOption = LabOption {
    name: "no-callers",
    value: "",
    takes: Takes::Nothing,
    help: "Leave out of the profiles who calls a function, which takes less of this machine's time",
    with: Some("profile"),
    against: &[],
    elsewhere: "--no-callers is of the profiler, which the {lab} lab has not",
};

static GUESTS: [&LabOption; 5] = [&MACHINE, &KERNEL, &SILENCE_LIMIT, &DISK, &IF];
static EXACT: [&LabOption; 7] = [&MACHINE, &KERNEL, &SILENCE_LIMIT, &DISK, &IF, &PROFILE, &NO_CALLERS];

/// The options of a lab of guests.
pub(super) fn of(lab: Lab) -> &'static [&'static LabOption] {
    if lab.capabilities().exact_clock { &EXACT } else { &GUESTS }
}
