//! The filter of system calls: those that name a file or reach out stop the process for the tracer, all others run as
//! they do without it.

use libc::{c_long, sock_filter, sock_fprog};

use crate::calls::{Call, Kind};

/// What the filter tells the tracer of a call by another architecture than x86-64.
pub const FOREIGN: u16 = 1;

const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
/// Numbers from here on are calls of the x32 ABI.
const X32: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Calls by which the C library and Rust ask about an open file, with this flag and an empty name; far more often than
/// about a name. The number is that of the argument with the flags.
const OPEN_FILE: [(c_long, u32); 2] = [(libc::SYS_newfstatat, 3), (libc::SYS_statx, 2)];

/// Calls that stop if the argument of this number, an address, is given: whom something is sent to, and the name of a file
/// whose times are set. An open file whose times, mode or owner are set was noted when it was opened.
const GIVEN: [(c_long, u32); 3] = [(libc::SYS_sendto, 4), (libc::SYS_utimensat, 1), (libc::SYS_futimesat, 1)];

/// No number of a call of x86-64 is above.
const NUMBERS: c_long = 512;

/// Calls that always stop: of which something is said, whatever their arguments are.
fn stopped() -> impl Iterator<Item = c_long> {
    let of_their_own = |number: &c_long| OPEN_FILE.iter().chain(&GIVEN).any(|(known, _)| known == number);
    let is_said = |number: &c_long| {
        let call = Call { number: *number, arguments: [u64::MAX; 6] };
        call.kind() != Kind::Files || !call.touches(|_| None).is_empty()
    };
    (0..NUMBERS).filter(move |number| !of_their_own(number) && is_said(number))
}

/// The filter's program.
pub struct Filter(Vec<sock_filter>);

impl Filter {
    pub fn new() -> Filter {
        let stop = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE);
        let allow = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
        let foreign = || statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE | u32::from(FOREIGN));
        let mut program = vec![
            load(ARCHITECTURE),
            jump(libc::BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
            foreign(),
            load(NUMBER),
            jump(libc::BPF_JGE, X32, 0, 1),
            foreign(),
        ];
        for number in stopped() {
            program.extend([jump(libc::BPF_JEQ, number as u32, 0, 1), stop()]);
        }
        for (number, argument) in OPEN_FILE {
            program.extend([
                jump(libc::BPF_JEQ, number as u32, 0, 4),
                load(ARGUMENTS + 8 * argument),
                jump(libc::BPF_JSET, libc::AT_EMPTY_PATH as u32, 0, 1),
                allow(),
                stop(),
            ]);
        }
        for (number, argument) in GIVEN {
            program.extend([
                jump(libc::BPF_JEQ, number as u32, 0, 6),
                load(ARGUMENTS + 8 * argument),
                jump(libc::BPF_JEQ, 0, 0, 2),
                load(ARGUMENTS + 8 * argument + 4),
                jump(libc::BPF_JEQ, 0, 1, 0),
                stop(),
                allow(),
            ]);
        }
        program.push(allow());
        Filter(program)
    }

    /// Puts it on this thread and all that it starts. Allocates nothing, so that it may be called after a fork.
    pub fn install(&self) -> bool {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the kernel reads `program` and its instructions during the call, and changes neither.
        unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) == 0
        }
    }
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn jump(test: u32, value: u32, when_true: u8, when_false: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: when_true, jf: when_false, k: value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program answers to a call: an interpreter of the few instructions that it is made of.
    fn answer(architecture: u32, number: i64, arguments: [u64; 6]) -> u32 {
        let program = Filter::new().0;
        let mut data = [number as u32, architecture, 0, 0].map(u32::to_ne_bytes).concat();
        data.extend(arguments.iter().flat_map(|argument| argument.to_ne_bytes()));
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let is_true = match u32::from(code) & 0xf7 {
                code if code == libc::BPF_RET | libc::BPF_K => return k,
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    let at = k as usize;
                    value = u32::from_ne_bytes(data[at..at + 4].try_into().unwrap());
                    continue;
                }
                code if code == libc::BPF_JMP | libc::BPF_JEQ => value == k,
                code if code == libc::BPF_JMP | libc::BPF_JGE => value >= k,
                code if code == libc::BPF_JMP | libc::BPF_JSET => value & k != 0,
                other => panic!("instruction {other:#x}"),
            };
            at += usize::from(if is_true { jt } else { jf });
        }
    }

    #[test]
    fn calls_that_name_files_stop_and_others_do_not() {
        let own = |number, arguments| answer(AUDIT_ARCH_X86_64, number, arguments);
        let (stop, allow) = (libc::SECCOMP_RET_TRACE, libc::SECCOMP_RET_ALLOW);
        assert_eq!(stopped().count(), 52);
        for number in stopped() {
            assert_eq!(own(number, [0; 6]), stop, "{number}");
        }
        for number in
            [libc::SYS_read, libc::SYS_write, libc::SYS_mmap, libc::SYS_fstat, libc::SYS_fchmod, libc::SYS_exit]
        {
            assert_eq!(own(number, [1; 6]), allow, "{number}");
        }
        let empty = libc::AT_EMPTY_PATH as u64;
        assert_eq!(own(libc::SYS_newfstatat, [3, 1, 1, empty, 0, 0]), allow);
        assert_eq!(own(libc::SYS_newfstatat, [3, 1, 1, 0, 0, 0]), stop);
        assert_eq!(own(libc::SYS_statx, [3, 1, empty, 0, 0, 0]), allow);
        assert_eq!(own(libc::SYS_statx, [3, 1, 0, 0, 0, 0]), stop);
        for (number, argument) in GIVEN {
            let mut arguments = [0; 6];
            assert_eq!(own(number, arguments), allow, "{number}");
            for address in [1, 1 << 32] {
                arguments[argument as usize] = address;
                assert_eq!(own(number, arguments), stop, "{number}");
            }
        }
    }

    #[test]
    fn calls_of_other_architectures_are_told_apart() {
        let foreign = libc::SECCOMP_RET_TRACE | u32::from(FOREIGN);
        assert_eq!(answer(0x4000_0003, 20, [0; 6]), foreign);
        assert_eq!(answer(AUDIT_ARCH_X86_64, i64::from(X32) + 1, [0; 6]), foreign);
    }
}
