//! Follows all threads of a command from its first call to its last, and leaves their signals and stops as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

use crate::child::Child;
use crate::filter::FOREIGN;
use crate::observe::{Awaited, Observer, Then};
use crate::process::Thread;
use crate::refusal::{Refusal, Result};

/// What the lab's guests have for a command.
pub const MOST_MEMORY: u64 = 3 << 30;

const OPTIONS: c_int = libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_EXITKILL;

/// How long programs may end after the command.
const GRACE: Duration = Duration::from_millis(300);
/// How long the next stop is looked for before this thread sleeps.
const SPIN: Duration = Duration::from_micros(20);
const SAMPLE: Duration = Duration::from_millis(50);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

/// What following it showed, beside its files.
pub struct Followed {
    pub ended: Ended,
    /// The most memory that its programs had at once, in bytes.
    pub memory: u64,
    /// Calls that were stopped.
    pub stops: u64,
}

/// Runs the child to its end.
pub fn follow(child: &mut Child, observer: &mut Observer, stop: &AtomicBool) -> Result<Followed> {
    let root = child.id;
    let handle = open_process(root).map_err(Refusal::Forbidden);
    let handle =
        match handle.and_then(|handle| Thread(root).seize(OPTIONS).map_err(Refusal::Forbidden).map(|()| handle)) {
            Ok(handle) => handle,
            Err(error) => {
                // SAFETY: the child was started by this thread and is not waited for yet, so that the number is its own.
                unsafe {
                    libc::kill(root, libc::SIGKILL);
                    libc::waitpid(root, std::ptr::null_mut(), 0);
                }
                return Err(error);
            }
        };
    let shared = Shared { processes: Mutex::new(BTreeSet::from([root])), memory: AtomicU64::new(0) };
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (handle, shared) = (&handle, &shared);
        scope.spawn(move || watch(handle, shared, stop, &over));
        let mut tracer = Tracer {
            root,
            threads: BTreeSet::from([root]),
            awaited: BTreeMap::new(),
            shared,
            observer,
            stops: 0,
            ended: None,
        };
        let result = child.go().map_err(Refusal::input("the command")).and_then(|()| tracer.run(stop));
        // Whatever happened, nothing of the command goes on.
        tracer.end();
        drop(done);
        result
    })
}

struct Shared {
    processes: Mutex<BTreeSet<pid_t>>,
    memory: AtomicU64,
}

struct Tracer<'a> {
    root: pid_t,
    /// All that are not waited for, so that their numbers are theirs.
    threads: BTreeSet<pid_t>,
    /// Threads in a call whose result matters.
    awaited: BTreeMap<pid_t, Awaited>,
    shared: &'a Shared,
    observer: &'a mut Observer,
    stops: u64,
    ended: Option<Ended>,
}

impl Tracer<'_> {
    fn run(&mut self, stop: &AtomicBool) -> Result<Followed> {
        let mut ended_at = None;
        loop {
            let Some((id, status)) = self.wait(self.ended.is_some()) else {
                let Some(ended) = self.ended else { return Err(Refusal::Interrupted) };
                if self.threads.is_empty() || ended_at.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    let left: BTreeSet<pid_t> = self.threads.iter().filter_map(|id| Thread(*id).process()).collect();
                    self.observer.notes.left = left.into_iter().map(|id| Thread(id).label()).collect();
                    self.check(stop)?;
                    let memory = self.shared.memory.load(Ordering::Relaxed);
                    return Ok(Followed { ended, memory, stops: self.stops });
                }
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            self.stopped(Thread(id), status)?;
            self.check(stop)?;
        }
    }

    fn check(&self, stop: &AtomicBool) -> Result<()> {
        if stop.load(Ordering::Relaxed) {
            return Err(Refusal::Interrupted);
        }
        let needed = self.shared.memory.load(Ordering::Relaxed);
        if needed > MOST_MEMORY {
            return Err(Refusal::Memory { needed, most: MOST_MEMORY });
        }
        Ok(())
    }

    /// The next that stopped or ended. None if there is none, or none yet.
    fn wait(&mut self, only_now: bool) -> Option<(pid_t, c_int)> {
        let begin = Instant::now();
        loop {
            // The next stop is mostly close, and to sleep and be woken on another processor takes longer than it.
            let sleeps = !only_now && begin.elapsed() > SPIN;
            let mut status = 0;
            // SAFETY: all zeroes are a valid value of this plain data.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // Children of other threads of this program are theirs.
            let flags = libc::__WALL | libc::__WNOTHREAD | if sleeps { 0 } else { libc::WNOHANG };
            // SAFETY: the kernel writes to `status` and `usage`.
            let id = unsafe { libc::wait4(-1, &raw mut status, flags, &raw mut usage) };
            if id > 0 {
                if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                    self.shared.memory.fetch_max(usage.ru_maxrss as u64 * 1024, Ordering::Relaxed);
                }
                return Some((id, status));
            }
            let is_error = id < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted;
            if is_error || only_now && id == 0 {
                return None;
            }
        }
    }

    fn stopped(&mut self, thread: Thread, status: c_int) -> Result<()> {
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            self.threads.remove(&thread.0);
            self.awaited.remove(&thread.0);
            self.processes().remove(&thread.0);
            if thread.0 == self.root {
                self.ended = Some(match libc::WIFEXITED(status) {
                    true => Ended::Code(libc::WEXITSTATUS(status)),
                    false => Ended::Signal(libc::WTERMSIG(status)),
                });
            }
            return Ok(());
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => return self.call(thread),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Some(new) = thread.message().and_then(|id| pid_t::try_from(id).ok()) {
                    self.threads.insert(new);
                    if status >> 16 != libc::PTRACE_EVENT_CLONE || Thread(new).process() == Some(new) {
                        self.processes().insert(new);
                    }
                }
                thread.go_on(0);
            }
            libc::PTRACE_EVENT_EXEC => {
                // A thread that executes a program becomes the process, and its own number is gone.
                let former = thread.message().and_then(|id| pid_t::try_from(id).ok());
                if let Some(former) = former.filter(|former| *former != thread.0) {
                    self.threads.remove(&former);
                    self.awaited.remove(&former);
                }
                thread.go_on(0);
            }
            libc::PTRACE_EVENT_STOP => match signal {
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => thread.stay(),
                _ => {
                    // The first stop of a new thread may come before its parent's.
                    self.threads.insert(thread.0);
                    thread.go_on(0);
                }
            },
            _ if signal == libc::SIGTRAP | 0x80 => {
                let result = thread.result();
                if let (Some(awaited), Some(result)) = (self.awaited.remove(&thread.0), result) {
                    self.observer.returned(thread, &awaited, result)?;
                }
                thread.go_on(0);
            }
            // A signal on its way.
            0 => thread.go_on(signal),
            _ => thread.go_on(0),
        }
        Ok(())
    }

    fn call(&mut self, thread: Thread) -> Result<()> {
        self.stops += 1;
        let Some((call, said)) = thread.call() else {
            thread.go_on(0);
            return Ok(());
        };
        if said == u32::from(FOREIGN) {
            return Err(Refusal::ForeignCall { program: thread.label() });
        }
        match self.observer.see(thread, &call)? {
            Then::GoOn => thread.go_on(0),
            Then::Gone => {}
            Then::Await(awaited) => {
                self.awaited.insert(thread.0, awaited);
                thread.finish_call();
            }
            Then::Fail(error) => {
                thread.refuse_call(error).map_err(Refusal::input("io_uring_setup"))?;
                thread.go_on(0);
            }
        }
        Ok(())
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, BTreeSet<pid_t>> {
        self.shared.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Ends all that still run.
    fn end(&mut self) {
        while !self.threads.is_empty() {
            for id in &self.threads {
                // SAFETY: the number is that of a thread that this one traces and has not waited for.
                unsafe { libc::kill(*id, libc::SIGKILL) };
            }
            let Some((id, status)) = self.wait(false) else { break };
            let is_over = libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
            match is_over {
                true => drop(self.threads.remove(&id)),
                false => {
                    self.threads.insert(id);
                    Thread(id).go_on(0);
                }
            }
            if is_over {
                self.processes().remove(&id);
            }
        }
    }
}

/// A handle that stays this process's own when its number is given to another.
fn open_process(id: pid_t) -> io::Result<OwnedFd> {
    // SAFETY: the call makes a descriptor that nothing else owns.
    unsafe {
        match libc::syscall(libc::SYS_pidfd_open, id, 0) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor as c_int)),
        }
    }
}

/// Ends the command when the user wants it, or when it has more memory than a guest.
fn watch(root: &OwnedFd, shared: &Shared, stop: &AtomicBool, over: &mpsc::Receiver<()>) {
    while over.recv_timeout(SAMPLE) == Err(mpsc::RecvTimeoutError::Timeout) {
        let processes = shared.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let used: u64 = processes.into_iter().map(memory).sum();
        let most = shared.memory.fetch_max(used, Ordering::Relaxed).max(used);
        if stop.load(Ordering::Relaxed) || most > MOST_MEMORY {
            // SAFETY: the handle is of this command's first process.
            unsafe {
                libc::syscall(libc::SYS_pidfd_send_signal, root.as_raw_fd(), libc::SIGKILL, std::ptr::null::<()>(), 0);
            }
        }
    }
}

/// What a process has in memory and shares with none.
fn memory(process: pid_t) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let mut pages = text.split(' ').skip(1).map(|number| number.parse().unwrap_or(0u64));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * 4096
}
