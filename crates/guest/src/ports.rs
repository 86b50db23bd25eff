//! The guest's two channels to the host: fw_cfg brings the job in, the debug console takes events out.
//!
//! Both are port I/O, done within one instruction: they take no further guest time and raise no interrupt, so the
//! host's speed cannot affect a measured figure. A disk, a network card or a serial line would complete at a time that
//! depends on the host.

use std::arch::asm;
use std::io;

use anyhow::{Context, Result, bail};

/// QEMU's `isa-debugcon`.
const DEBUG_CONSOLE: u16 = 0xe9;
/// QEMU's fw_cfg: selector and data register (docs/specs/fw_cfg.rst in QEMU).
const FW_CFG_SELECTOR: u16 = 0x510;
const FW_CFG_DATA: u16 = 0x511;
const FW_CFG_FILE_DIRECTORY: u16 = 0x19;
/// QEMU's `ib700` watchdog: a write starts a countdown; when it ends, QEMU pauses the guest.
const WATCHDOG: u16 = 0x443;
/// Index 14 of the watchdog's table of times: two seconds (hw/watchdog/wdt_ib700.c in QEMU).
const WATCHDOG_TWO_SECONDS: u8 = 14;

/// Proof that the kernel has granted the ports.
pub struct Ports(());

impl Ports {
    /// Asks the kernel for the ports; needs root.
    pub fn open() -> Result<Ports> {
        for (first, count) in [(DEBUG_CONSOLE, 1), (FW_CFG_SELECTOR, 2), (WATCHDOG, 1)] {
            // SAFETY: ioperm changes this thread's I/O permissions and touches no memory.
            if unsafe { libc::ioperm(first.into(), count, 1) } != 0 {
                let error = io::Error::last_os_error();
                if error.raw_os_error() == Some(libc::ENOSYS) {
                    bail!(mountmark_job::kernel_options::lacks("X86_IOPL_IOPERM"));
                }
                return Err(error).context(format!("cannot use I/O port {first:#x}"));
            }
        }
        Ok(Ports(()))
    }

    /// Sends one line to the host.
    pub fn send(&self, line: &str) {
        for byte in line.bytes().chain([b'\n']) {
            // SAFETY: the port was granted in `open`; writing to it has no effect on memory.
            unsafe { asm!("out dx, al", in("dx") DEBUG_CONSOLE, in("al") byte, options(nomem, nostack)) }
        }
    }

    /// Lets the host stop the guest's clock at an exact nanosecond, for a snapshot.
    ///
    /// The guest sleeps past the end of the watchdog's countdown. A device by which a running processor stops itself
    /// (pvpanic) would not do: until QEMU's main loop notices, the processor counts as idle, and an idle guest's clock
    /// jumps to its next timer, once, twice or not at all, depending on the host's load. The main loop itself handles a
    /// timer's end and stops the guest before the clock can move.
    pub fn pause(&self) {
        // SAFETY: as in `send`.
        unsafe { asm!("out dx, al", in("dx") WATCHDOG, in("al") WATCHDOG_TWO_SECONDS, options(nomem, nostack)) }
        std::thread::sleep(std::time::Duration::from_secs(3));
    }

    /// Reads the fw_cfg file `name`.
    pub fn read_file(&self, name: &str) -> Result<Vec<u8>> {
        self.select(FW_CFG_FILE_DIRECTORY);
        let count = u32::from_be_bytes(self.read_array());
        for _ in 0..count {
            let size = u32::from_be_bytes(self.read_array());
            let selector = u16::from_be_bytes(self.read_array());
            let _reserved: [u8; 2] = self.read_array();
            let entry: [u8; 56] = self.read_array();
            let end = entry.iter().position(|&byte| byte == 0).unwrap_or(entry.len());
            if &entry[..end] == name.as_bytes() {
                self.select(selector);
                return Ok((0..size).map(|_| self.read_byte()).collect());
            }
        }
        bail!("the host gave no fw_cfg file {name:?}")
    }

    fn select(&self, key: u16) {
        // SAFETY: as in `send`.
        unsafe { asm!("out dx, ax", in("dx") FW_CFG_SELECTOR, in("ax") key, options(nomem, nostack)) }
    }

    fn read_byte(&self) -> u8 {
        let byte: u8;
        // SAFETY: as in `send`; reading advances fw_cfg's position and nothing else.
        unsafe { asm!("in al, dx", in("dx") FW_CFG_DATA, out("al") byte, options(nomem, nostack)) }
        byte
    }

    fn read_array<const N: usize>(&self) -> [u8; N] {
        std::array::from_fn(|_| self.read_byte())
    }
}
