//! Whether standard output was open when this program started. Before `main`, Rust's run-time library opens /dev/null in
//! the place of a standard stream that is closed, and what is printed then seems to have been written.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Among the functions that the C library calls before the run-time library begins.
#[used]
// SAFETY: the section holds pointers to functions; this one only makes a system call and writes to a static.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks for the flags of a descriptor and changes nothing.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
