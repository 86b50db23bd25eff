//! Programs of every shape run as they do without it: signals, stops, threads, deep trees; what cannot be is refused.

mod recorder;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mountmark_capture::{Ended, Refusal};
use recorder::{Recorder, has};

fn refusal(script: &str) -> String {
    let recorder = Recorder::new();
    match recorder.try_record(script) {
        Ok(recorded) => panic!("{script} was recorded, and ended with {:?}", recorded.ended()),
        Err(error) => error.to_string(),
    }
}

/// A program in C, built for the test. None if there is no compiler.
fn built(recorder: &Recorder, name: &str, source: &str) -> Option<PathBuf> {
    if !has(&["gcc"]) {
        return None;
    }
    recorder.write(&format!("{name}.c"), source);
    let program = recorder.path(name);
    let built = std::process::Command::new("gcc")
        .args(["-pthread", "-o"])
        .arg(&program)
        .arg(recorder.path(&format!("{name}.c")))
        .status()
        .unwrap();
    assert!(built.success());
    Some(program)
}

#[test]
fn signals_and_stops_are_left_as_they_are() {
    let recorder = Recorder::new();
    let script = "trap 'echo usr1 >> log' USR1; kill -USR1 $$; kill -USR1 $$; \
        sh -c 'kill -STOP $$; echo continued >> log' & child=$!; \
        sleep 0.5; test ! -e early || exit 9; \
        kill -CONT $child; wait $child || exit 8; \
        sh -c 'kill -TERM $$'; test $? -eq 143 || exit 7; cat log";
    let recorded = recorder.record(script);
    assert_eq!(recorded.ended(), Ended::Code(0));
    assert_eq!(fs::read_to_string(recorder.path("log")).unwrap(), "usr1\nusr1\ncontinued\n");
    let recorded = recorder.record("kill -KILL $$");
    assert_eq!(recorded.ended(), Ended::Signal(libc::SIGKILL));
}

#[test]
fn a_shell_has_job_control() {
    if !has(&["bash"]) {
        return;
    }
    let recorder = Recorder::new();
    let script = "set -m; sleep 0.2 & kill -STOP %1; sleep 0.05; jobs > jobs; kill -CONT %1; wait %1; echo $? >> jobs";
    let recorded = recorder.record_words(&["bash", "-c", script]).unwrap();
    assert_eq!(recorded.ended(), Ended::Code(0));
    let jobs = fs::read_to_string(recorder.path("jobs")).unwrap();
    assert!(jobs.contains("Stopped") && jobs.ends_with("0\n"), "{jobs}");
}

#[test]
fn deep_trees_are_followed_to_their_leaves() {
    let recorder = Recorder::new();
    recorder.write("deep.sh", "n=$1\nif [ $n -gt 0 ]; then sh deep.sh $((n-1)); else cat leaf > made; fi\n");
    recorder.write("leaf", "leaf");
    let recorded = recorder.record("sh deep.sh 60; for i in 1 2 3 4 5 6 7 8; do (cat leaf > w$i) & done; wait");
    assert_eq!(recorded.made_here(), ["made", "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"]);
    assert_eq!(recorded.pack().text("leaf"), "leaf");
}

#[test]
fn threads_and_programs_started_by_them_are_followed() {
    let recorder = Recorder::new();
    let source = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>
extern char **environ;
static void *look(void *n) { char name[32]; sprintf(name, "in%ld", (long)n); for (int i = 0; i < 200; i++) close(open(name, O_RDONLY)); return 0; }
static void *run(void *n) { (void)n; char *words[] = {"/bin/cat", "last", 0}; execve(words[0], words, environ); return 0; }
int main(void) {
    pthread_t t[8];
    for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, look, (void *)i);
    for (long i = 0; i < 8; i++) pthread_join(t[i], 0);
    char *words[] = {"/bin/cat", "spawned", 0}; pid_t id; int status;
    if (posix_spawn(&id, words[0], 0, 0, words, environ)) return 3;
    waitpid(id, &status, 0);
    pid_t child = vfork();
    if (child == 0) { char *w[] = {"/bin/cat", "vforked", 0}; execve(w[0], w, environ); _exit(127); }
    waitpid(child, &status, 0);
    pthread_create(&t[0], 0, run, 0);
    for (;;) pause();
}
"#;
    let Some(_) = built(&recorder, "threads", source) else { return };
    for name in ["in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7", "spawned", "vforked", "last"] {
        recorder.write(name, name);
    }
    let recorded = recorder.record("./threads > out");
    assert_eq!(recorded.ended(), Ended::Code(0));
    assert_eq!(fs::read_to_string(recorder.path("out")).unwrap(), "spawnedvforkedlast");
    let packed = recorded.pack();
    for name in ["in0", "in7", "spawned", "vforked", "last"] {
        assert_eq!(packed.text(name), name);
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let recorder = Recorder::new();
    let error = |words: &[&str]| recorder.record_words(words).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(error(&["no-such-command-here"]), "no-such-command-here: command not found");
    assert_eq!(error(&[]), "no command was given");
    recorder.write("plain", "x");
    assert!(error(&["./plain"]).contains("./plain: cannot be run: permission denied"));
    recorder.write("suid", "#!/bin/sh\necho\n");
    fs::set_permissions(recorder.path("suid"), fs::Permissions::from_mode(0o4755)).unwrap();
    let said = error(&["sh", "-c", "./suid"]);
    assert!(said.contains("suid is a set-user-ID program"), "{said}");
    let fifo = refusal("test -e /dev/fuse || exit 0; cat /dev/fuse");
    assert!(fifo.contains("opens the device /dev/fuse"), "{fifo}");
    fs::create_dir(recorder.path("pipes")).unwrap();
    std::process::Command::new("mkfifo").arg(recorder.path("pipes/p")).status().unwrap();
    let said = error(&["sh", "-c", "cat < pipes/p"]);
    assert!(said.contains("opens the named pipe"), "{said}");
}

#[test]
fn networks_and_daemons_are_refused_and_failures_are_not() {
    if !has(&["python3"]) {
        return;
    }
    let recorder = Recorder::new();
    let python = |text: &str| recorder.record_words(&["python3", "-S", "-E", "-c", text]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = |port: u16| format!("import socket\ns = socket.socket()\ns.connect(('127.0.0.1', {port}))");
    let said = python(&connect(port)).err().unwrap().to_string();
    assert!(said.contains(&format!("uses the network: it reaches 127.0.0.1:{port}")), "{said}");
    drop(listener);
    // Nobody listens: as in a guest.
    assert_eq!(python(&connect(port)).unwrap().ended(), Ended::Code(1));
    let daemon = std::os::unix::net::UnixListener::bind(recorder.path("daemon")).unwrap();
    let reach = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('daemon')";
    let said = python(reach).err().unwrap().to_string();
    assert!(said.contains("talks to a daemon") && said.contains("/daemon"), "{said}");
    drop(daemon);
    let own = "import socket\nl = socket.socket(socket.AF_UNIX)\nl.bind('own')\nl.listen()\ns = socket.socket(socket.AF_UNIX)\ns.connect('own')";
    assert_eq!(python(own).unwrap().ended(), Ended::Code(0));
}

#[test]
fn tracers_other_roots_and_other_calls_are_refused() {
    let recorder = Recorder::new();
    if has(&["strace"]) {
        let said = recorder.record_words(&["strace", "-o", "log", "true"]).err().unwrap().to_string();
        assert!(said.starts_with("strace traces or debugs other programs"), "{said}");
    }
    if has(&["unshare"]) {
        let said = recorder.record_words(&["unshare", "-m", "true"]).err().unwrap().to_string();
        assert!(said.contains("makes namespaces of its own"), "{said}");
    }
    let source =
        "int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r > 0 ? 0 : 1; }";
    if built(&recorder, "foreign", source).is_some() {
        let said = recorder.record_words(&["./foreign"]).err().unwrap().to_string();
        assert!(said.starts_with("foreign makes a system call of another architecture"), "{said}");
    }
}

#[test]
fn io_uring_is_not_had_while_recording() {
    let recorder = Recorder::new();
    let source = "#include <sys/syscall.h>\n#include <unistd.h>\n#include <errno.h>\n#include <stdlib.h>\n\
        int main(int n, char **w) { char p[120] = {0}; long r = syscall(SYS_io_uring_setup, 4, p);\n\
        return r == -1 && errno == ENOSYS ? (n > 1 ? atoi(w[1]) : 0) : 9; }";
    let Some(_) = built(&recorder, "ring", source) else { return };
    let recorded = recorder.record_words(&["./ring"]).unwrap();
    assert_eq!(recorded.ended(), Ended::Code(0), "it is told that the kernel has none");
    assert!(recorded.recording.borrow().notes.io_uring.contains("ring"));
    let said = recorder.record_words(&["./ring", "5"]).err().unwrap().to_string();
    assert!(said.contains("ring uses io_uring") && said.contains("ended with code 5"), "{said}");
}

#[test]
fn what_a_guest_has_otherwise_is_noted() {
    let recorder = Recorder::new();
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let outside = place.path().join("out");
    let recorded =
        recorder.record(&format!("cat /proc/self/status > status; echo x > {}; sleep 60 &", outside.display()));
    let notes = recorded.recording.borrow().notes.clone();
    assert_eq!(recorded.ended(), Ended::Code(0));
    assert!(notes.outside.contains(&outside), "{notes:?}");
    assert!(notes.kernel.iter().any(|path| path.ends_with("status")), "{notes:?}");
    assert_eq!(notes.left, ["sleep"]);
}

#[test]
fn nothing_waits_for_a_terminal() {
    let recorder = Recorder::new();
    let recorded = recorder.record("cat; (cat < /dev/tty) 2> error || echo none > answer");
    assert_eq!(recorded.ended(), Ended::Code(0));
    assert_eq!(fs::read_to_string(recorder.path("answer")).unwrap(), "none\n");
}

#[test]
fn an_interrupt_ends_all_of_it() {
    let recorder = Recorder::new();
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !recorder.path("begun").exists() && begin.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let result =
            recorder.record_until(&["sh", "-c", "(sleep 1.5; echo late > late) & echo > begun; sleep 600"], &stop);
        assert!(matches!(result.err(), Some(Refusal::Interrupted)));
    });
    assert!(begin.elapsed() < Duration::from_secs(10));
    thread::sleep(Duration::from_secs(2));
    assert!(!recorder.path("late").exists(), "a part of it went on");
}

#[test]
fn too_much_is_refused_with_the_largest() {
    let mut recorder = Recorder::new();
    recorder.limit = 64 << 20;
    for (name, size) in [("small", 1 << 20), ("large", 90 << 20)] {
        fs::File::create(recorder.path(name)).unwrap().set_len(size).unwrap();
    }
    let recorded = recorder.record("cat small large > /dev/null");
    let error = recorded.pack_with(mountmark_capture::Contents::Kept).err().unwrap().to_string();
    assert!(error.contains("larger than 64.0 MiB") && error.contains("large (90.0 MiB)"), "{error}");
    let said = recorder.try_record("rm large").err();
    assert!(said.is_none() || matches!(said, Some(Refusal::TooLarge { .. })));
}

#[test]
fn memory_that_no_guest_has_is_refused() {
    let recorder = Recorder::new();
    let source = "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
        int main(void) { size_t s = 3300ul << 20; char *m = malloc(s); if (!m) return 0; memset(m, 1, s); sleep(5); return 0; }";
    let free = fs::read_to_string("/proc/meminfo").unwrap();
    let free: u64 = free
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    if free < 6 << 20 {
        eprintln!("skipped: less than 6 GiB of memory are free");
        return;
    }
    let Some(_) = built(&recorder, "hog", source) else { return };
    let said = recorder.record_words(&["./hog"]).err().unwrap().to_string();
    assert!(said.starts_with("the command needs 3.") && said.contains("a guest has 3.00 GiB"), "{said}");
}
