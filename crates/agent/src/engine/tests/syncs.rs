//! Syncs that fail: a seccomp filter refuses them to one thread and those that it starts.

use super::*;

/// Makes fsync and fdatasync of this thread fail with EIO, as on a broken disk.
fn break_syncs() {
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO};
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let equal = |number: libc::c_long, jt: u8| {
        let code = (BPF_JMP | BPF_JEQ | BPF_K) as u16;
        libc::sock_filter { code, jt, jf: 0, k: number as u32 }
    };
    let mut filter = [
        // The first word of the filter's data is the system call's number (linux/seccomp.h).
        statement(BPF_LD | BPF_W | BPF_ABS, 0),
        equal(libc::SYS_fsync, 2),
        equal(libc::SYS_fdatasync, 1),
        statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | libc::EIO as u32),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter outlive the calls, which copy them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

#[test]
fn a_sync_that_fails_is_an_error_of_the_phase() {
    let ways =
        ["sync = { end = true }", "sync = { every = 4 }\nlatency = false", "sync = { every = 4, data_only = true }"];
    for sync in ways.into_iter().chain(["sync = { every = 4 }\nrate = 100_000"]) {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "files = {{ size = \"64 KiB\" }}\n[[phases]]\nname = \"put\"\nwhat = \"write\"\nblock = \"4 KiB\"\n{sync}\n"
        );
        assert!(of(&well(&text, folder.path())[0], Operation::Fsync).count > 0, "{sync}");
        let path = folder.path().to_owned();
        let broken = std::thread::spawn(move || {
            break_syncs();
            done(&text, &path)
        });
        let phase = broken.join().unwrap().remove(0);
        let said = phase.errors.first().unwrap_or_else(|| panic!("{sync}: no error is told"));
        assert!(said.contains("fsync of ") && said.contains("f00000000: Input/output error"), "{sync}: {said}");
    }
}
