//! The clock that is read once per operation: the processor's time-stamp counter where it is invariant, else
//! CLOCK_MONOTONIC; both in nanoseconds.
//!
//! A guest of the virtual lab has no invariant counter, so it reads CLOCK_MONOTONIC, which is the guest's time.

use std::sync::OnceLock;

/// A clock with an arbitrary origin: only differences are meaningful.
pub(super) trait Clock: Copy {
    /// Nanoseconds.
    fn now(self) -> u64;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Monotonic;

impl Clock for Monotonic {
    #[inline(always)]
    fn now(self) -> u64 {
        monotonic()
    }
}

/// The time-stamp counter, scaled: nanoseconds = counter * `factor` / 2^32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tsc {
    factor: u64,
}

impl Clock for Tsc {
    #[inline(always)]
    fn now(self) -> u64 {
        ((u128::from(counter()) * u128::from(self.factor)) >> 32) as u64
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    Monotonic(Monotonic),
    Tsc(Tsc),
}

/// CLOCK_MONOTONIC in nanoseconds.
#[inline(always)]
pub(super) fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of this frame; the call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The best clock, chosen once per process; calibrating a counter takes 20 ms.
pub(super) fn best() -> Choice {
    static BEST: OnceLock<Choice> = OnceLock::new();
    *BEST.get_or_init(|| match even_counter() {
        true => calibrate().map_or(Choice::Monotonic(Monotonic), Choice::Tsc),
        false => Choice::Monotonic(Monotonic),
    })
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and no kernel that is in use forbids it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn counter() -> u64 {
    0
}

/// Whether the counter is invariant (CPUID 8000_0007h, EDX bit 8: it neither stops nor changes its rate) and the kernel
/// trusts it, so that the processors' counters agree.
#[cfg(target_arch = "x86_64")]
fn even_counter() -> bool {
    use std::arch::x86_64::__cpuid;
    #[allow(unused_unsafe, reason = "safe since Rust 1.93")]
    // SAFETY: every x86-64 processor has CPUID; the second leaf is only read if the first reports it.
    let invariant = unsafe { __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0 };
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    invariant && source.is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(not(target_arch = "x86_64"))]
fn even_counter() -> bool {
    false
}

/// The counter's scale, measured over 20 ms; `None` if it does not run evenly.
fn calibrate() -> Option<Tsc> {
    // Of several pairs the one read closest together: an interruption between the two readings falsifies a pair.
    let pair = || {
        (0..20)
            .map(|_| {
                let before = counter();
                let time = monotonic();
                let after = counter();
                (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), time)
            })
            .min()
            .unwrap_or_default()
    };
    let (_, first_ticks, first_time) = pair();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let (_, last_ticks, last_time) = pair();
    let ticks = last_ticks.checked_sub(first_ticks).filter(|ticks| *ticks > 0)?;
    let factor = (u128::from(last_time - first_time) << 32) / u128::from(ticks);
    u64::try_from(factor).ok().filter(|factor| *factor > 0).map(|factor| Tsc { factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_clock_runs_as_fast_as_monotonic() {
        let Choice::Tsc(clock) = best() else {
            eprintln!("skipped: no invariant time-stamp counter that the kernel trusts");
            return;
        };
        let (begin, reference) = (clock.now(), monotonic());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (took, true_time) = (clock.now() - begin, monotonic() - reference);
        // An interruption between two readings shifts one of them; a wrong scale is off by far more.
        assert!(took.abs_diff(true_time) < true_time / 100, "{took} ns against {true_time} ns");
    }
}
