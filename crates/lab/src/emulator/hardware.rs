//! The guest's machine: QEMU's command line and the kernel's.

use std::path::PathBuf;

use mountmark_job::{MEDIA_START, Region};
use mountmark_model::Processor;
use mountmark_model::processor::FEATURES;

/// How guest time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Every instruction takes 2^shift ns; waiting takes no host time.
    Instructions {
        /// log2 of nanoseconds.
        shift: u8,
    },
    /// The host's clock, under KVM.
    Kvm,
}

/// While a guest boots, its instructions take at least 2^this ns. The kernel measures its timer in a loop of `pause` for a
/// tenth of a second, and the emulator leaves its own fast loop at each: at 1 ns an instruction that is a third of a boot's
/// processor time. With more the kernel's work at each tick of its clock takes more than that saves.
const BOOT_SHIFT: u8 = 3;

impl Clock {
    /// How time passes until a guest is ready for its job.
    pub(super) fn of_boot(self) -> Clock {
        match self {
            Clock::Instructions { shift } => Clock::Instructions { shift: shift.max(BOOT_SHIFT) },
            Clock::Kvm => Clock::Kvm,
        }
    }
}

/// Everything that QEMU's command line depends on.
#[derive(Clone, Debug)]
pub struct Hardware {
    pub clock: Clock,
    /// The processor's features; under KVM they are the host's.
    pub processor: Processor,
    /// Guest RAM in bytes, the image's share included.
    pub ram: u64,
    /// Size of the media in bytes.
    pub media: u64,
    /// The rest of the kernel's command line: `memmap=` arguments that reserve the media or turn them into pmem
    /// devices, and parameters of built-in drivers.
    pub arguments: Vec<String>,
    /// The kernel: an ELF image with a PVH entry, or a bzImage.
    pub kernel: PathBuf,
    pub image: PathBuf,
}

/// What follows `-append`, without the memory map. No address-space randomisation, and no entropy but RDRAND, which the
/// emulator derives from its seed: all boots are alike. Mitigations are off, since no untrusted code runs; a bug in a
/// file system's kernel code ends the cell.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet nokaslr norandmaps random.trust_cpu=on numa=off tsc=reliable \
                                mitigations=off oops=panic panic=-1";

/// `-cpu`: one model for all machines, so that they differ only in the named features, and RDRAND for the kernel's
/// random numbers. The guest's choice of checksum and cipher implementations follows from this alone: its kernel looks
/// at the processor. The model has no ERMS: an instruction that moves one byte a step would make every copy slow under
/// a clock that counts steps.
fn model(processor: &Processor) -> String {
    let features = FEATURES
        .iter()
        .map(|feature| format!(",{}={}", feature.emulator, if processor.has(feature) { "on" } else { "off" }));
    format!("Nehalem-v1,rdrand=on{}", features.collect::<String>())
}

impl Hardware {
    pub fn kernel_arguments(&self) -> String {
        format!("{KERNEL_ARGUMENTS} {}", self.arguments.join(" "))
    }

    /// The parts of QEMU's command line; apart from files, a snapshot depends on nothing else.
    pub fn identity(&self) -> Vec<String> {
        let mut parts = self.machine_arguments();
        parts.extend([self.ram.to_string(), self.media.to_string(), self.kernel_arguments()]);
        parts.push(format!("{:?}", self.clock.of_boot()));
        parts
    }

    pub(super) fn machine_arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        // Pinned machine type and processor model: "pc" and "max" change with QEMU's version, and with them the boot.
        // An HPET that a kernel has used once ticks on, 250 times a second of idleness, and each tick stops the emulator.
        add("-machine", format!("pc-i440fx-7.2,hpet=off,suppress-vmdesc=on,max-ram-below-4g={}", self.ram));
        match self.clock {
            Clock::Instructions { shift } => {
                add("-accel", "tcg,thread=single".into());
                // Without a recording, QEMU's main loop may look at a halted processor that has not yet booked its last
                // instructions, and then moves the clock that many past the next timer. A recording, here to /dev/null,
                // makes the two alternate.
                add("-icount", format!("shift={shift},sleep=off,rr=record,rrfile=/dev/null"));
                add("-cpu", model(&self.processor));
                add("-rtc", "base=2006-01-01T00:00:00,clock=vm".into());
            }
            Clock::Kvm => {
                add("-accel", "kvm".into());
                add("-cpu", "host".into());
                add("-rtc", "base=2006-01-01T00:00:00,clock=host".into());
            }
        }
        add("-seed", "1".into());
        add("-smp", "1".into());
        arguments
    }
}

/// `memmap=` arguments: `pmem` regions become pmem devices, the rest of the media is reserved.
pub fn memory_map(media: u64, pmem: &[Region]) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut at = 0;
    for region in pmem {
        if region.offset > at {
            arguments.push(format!("memmap={:#x}${:#x}", region.offset - at, MEDIA_START + at));
        }
        arguments.push(format!("memmap={:#x}!{:#x}", region.size, MEDIA_START + region.offset));
        at = region.offset + region.size;
    }
    if at < media {
        arguments.push(format!("memmap={:#x}${:#x}", media - at, MEDIA_START + at));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_said_to_be_there_or_not() {
        let all = model(&Processor::default());
        assert!(FEATURES.iter().all(|feature| all.contains(&format!(",{}=on", feature.emulator))), "{all}");
        let one = model(&Processor(vec!["sse4_2".into()]));
        assert!(one.contains(",sse4.2=on") && one.contains(",sse4.1=off") && one.contains(",aes=off"), "{one}");
    }

    #[test]
    fn all_media_are_kept_from_the_kernel() {
        assert_eq!(memory_map(1 << 30, &[]), ["memmap=0x40000000$0x100000000"]);
        let pmem = [Region { offset: 0, size: 1 << 28 }];
        assert_eq!(memory_map(1 << 30, &pmem), ["memmap=0x10000000!0x100000000", "memmap=0x30000000$0x110000000"]);
    }
}
