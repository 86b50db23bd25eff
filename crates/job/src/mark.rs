//! Tells a profiler in the emulator what the guest is about to do: by an instruction without effect, which every build
//! executes in every lab, so that a profiler's figures are those of a run without it.
//!
//! The instruction is a NOP of seven bytes whose displacement holds a code; `rax` holds a number. `profile/profiler.c` looks
//! for it.

use std::arch::asm;

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::Interval;

const TASK: u8 = 1;
const CLOCK: u8 = 2;
const CLOCK_READ: u8 = 3;
const DISK: u8 = 4;
const BEGIN: u64 = 1;
const END: u64 = 2;
/// Bytes by which the place of a request is told.
pub const SECTOR: u64 = 512;

fn mark<const CODE: u8>(number: u64) {
    // SAFETY: a NOP: it reads no memory and changes nothing.
    unsafe {
        asm!(".byte 0x0f, 0x1f, 0x80, {code}, 0x4b, 0x4d, 0x6d", code = const CODE, in("rax") number,
             options(nostack, preserves_flags));
    }
}

/// The number of a task or a step of the protocol; never 0.
pub fn number(id: &str) -> u64 {
    // FNV-1a.
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) | 1
}

/// All intervals until [`task_ended`] belong to this task.
pub fn task_begins(id: &str) {
    mark::<TASK>(number(id));
}

pub fn task_ended() {
    mark::<TASK>(0);
}

/// Reads the clock, with which an interval begins.
pub fn begin(interval: Interval, clock: impl FnOnce() -> u64) -> u64 {
    read(interval, BEGIN, clock)
}

/// Reads the clock, with which an interval ends.
pub fn end(interval: Interval, clock: impl FnOnce() -> u64) -> u64 {
    read(interval, END, clock)
}

fn read(interval: Interval, edge: u64, clock: impl FnOnce() -> u64) -> u64 {
    mark::<CLOCK>(interval.number() << 8 | edge);
    let time = clock();
    mark::<CLOCK_READ>(0);
    time
}

/// What a disk's server works on, and at which byte of the disk under test; `None` if nothing was asked of it.
pub fn serves(request: Option<(DeviceOperation, u64)>, is_under_test: bool) {
    let place = |offset: u64| if is_under_test { offset / SECTOR + 1 } else { 0 };
    mark::<DISK>(request.map_or(0, |(operation, offset)| place(offset) << 8 | (operation as u64 + 1)));
}
