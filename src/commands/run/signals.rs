//! Handles Ctrl-C and similar signals: the first requests an end, the second ends the program.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// Set by the first SIGINT or SIGTERM; the second ends the program and its guests at once.
#[derive(Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl std::ops::Deref for Stop {
    type Target = AtomicBool;
    fn deref(&self) -> &AtomicBool {
        &self.flag
    }
}

impl Stop {
    /// Installs the handlers for the rest of the program's life.
    pub fn on_signals() -> Result<Stop> {
        let signalled = Arc::new(AtomicBool::new(false));
        let stop = Stop { flag: Arc::new(AtomicBool::new(false)), signal: Arc::new(AtomicUsize::new(0)) };
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            // nohup, and a shell's background job, request that the signal be ignored.
            if is_ignored(signal) {
                continue;
            }
            // The order matters: at the second signal the flag must already be set. An end for want of time is no signal.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&signalled))?;
            signal_hook::flag::register(signal, Arc::clone(&signalled))?;
            signal_hook::flag::register(signal, Arc::clone(&stop.flag))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
        }
        // Child programs have their own process groups, which a terminal's Ctrl-C does not reach.
        mountmark_lab::child::heed(Arc::clone(&stop.flag));
        Ok(stop)
    }

    /// Returns `interrupted` for an error after a signal, since the signal ends child programs and so causes the error;
    /// otherwise `result`.
    pub fn or<T>(&self, result: Result<T>, interrupted: T) -> Result<T> {
        match result {
            Err(_) if self.load(Ordering::SeqCst) => Ok(interrupted),
            other => other,
        }
    }

    /// Whether the user requests an end.
    pub fn is_set(&self) -> bool {
        self.load(Ordering::SeqCst)
    }

    /// Requests an end after so much time, as a signal would, for as long as what is returned lives.
    pub fn after(&self, most: Duration) -> TimeLimit {
        let (alive, ends) = mpsc::channel::<()>();
        let stop = self.clone();
        let waits = thread::spawn(move || {
            if ends.recv_timeout(most) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.flag.store(true, Ordering::SeqCst);
            }
        });
        TimeLimit { stop: self.clone(), alive: Some(alive), waits: Some(waits) }
    }

    /// The exit code of a program ended by a signal; [`TIME_IS_OVER`] without a signal.
    pub fn code(&self) -> u8 {
        128 + self.signal.load(Ordering::SeqCst) as u8
    }
}

/// What [`Stop::code`] is where the time was over: no signal has the number 0.
pub const TIME_IS_OVER: u8 = 128;

/// A request to end that comes by itself.
pub struct TimeLimit {
    stop: Stop,
    alive: Option<mpsc::Sender<()>>,
    waits: Option<thread::JoinHandle<()>>,
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        self.alive.take();
        let _ = self.waits.take().map(thread::JoinHandle::join);
        if self.stop.code() == TIME_IS_OVER {
            self.stop.flag.store(false, Ordering::SeqCst);
        }
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: a sigaction of zeroes is a valid value, and the kernel writes the current one to it.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}
