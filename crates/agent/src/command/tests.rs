use std::io::PipeWriter;
use std::os::fd::AsFd;

use super::super::ground::{This, call, feed};
use super::super::scratch::Scratch;
use super::*;

/// A folder like the agent's; `None`, with the reason printed, if this user may not create one.
fn scratch(base: &tempfile::TempDir) -> Option<Scratch> {
    match Scratch::new(base.path()) {
        Ok(scratch) => Some(scratch),
        Err(error) => {
            eprintln!("skipped: needs root and mounts: {error:#}");
            None
        }
    }
}

fn confined(test: &Path) -> Confined<'_> {
    Confined { test, tree: None }
}

/// Runs a command of a suite whose file system is mounted at `base`.
fn suite(base: &tempfile::TempDir, scratch: &Scratch, script: &str, limit: f64) -> Finished {
    let mut ready =
        start(&sh(script), Kept::new(scratch.path(), Keep::All).unwrap(), None, Some(confined(base.path())), None)
            .unwrap();
    let finished = ready.run(limit).unwrap();
    ready.end().unwrap();
    finished
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("PATH", mountmark_job::PATH).env("WORD", "a word").current_dir("/");
    command
}

#[test]
fn a_command_has_what_it_was_given_and_nothing_of_the_agent() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0, "the agent's folder has no place");
    let script = "pwd; echo $WORD; echo error >&2; echo \"[$HOME]\"; ls /proc/self/fd | wc -l; echo $$; cat; exit 3";
    let finished = suite(&base, &scratch, script, 60.0);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    // Three streams and the folder that ls reads; the second process of its name space.
    assert_eq!(lines, ["/", "a word", "[]", "4", "2"]);
    assert_eq!((finished.stderr.as_str(), finished.status.code()), ("error\n", Some(3)));
    assert!(finished.elapsed > 0 && !finished.leftovers && !finished.moved && finished.timed_out.is_none());
    assert!(finished.written.is_none_or(|bytes| bytes > 15));
    // The agent's folder is passed on if requested.
    let kept = || Kept::new(scratch.path(), Keep::All).unwrap();
    let write = sh(&format!("echo result > {}/result", scratch.path().display()));
    start(&write, kept(), None, Some(confined(base.path())), Some(scratch.as_fd())).unwrap().run(60.0).unwrap();
    assert_eq!(std::fs::read_to_string(scratch.path().join("result")).unwrap(), "result\n");
    let refused = start(&write, kept(), None, Some(confined(base.path())), None).unwrap().run(60.0).unwrap();
    assert!(!refused.status.success(), "another has it too");
}

#[test]
fn rights_that_reach_the_agent_are_taken() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    let masks = suite(&base, &scratch, "grep -E '^Cap(Prm|Eff|Bnd|Inh)' /proc/self/status", 60.0).stdout;
    let masks: Vec<u64> =
        masks.lines().map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()).collect();
    assert_eq!((masks.len(), masks[0]), (4, 0), "nothing is inherited");
    for mask in masks {
        // CAP_SYS_MODULE, CAP_SYS_RAWIO, CAP_SYS_PTRACE, CAP_SYS_BOOT, CAP_SYS_TIME (capability.h).
        assert_eq!(mask & (1 << 16 | 1 << 17 | 1 << 19 | 1 << 22 | 1 << 25), 0, "{mask:x}");
    }
    // Neither the memory nor the open files of the process above it are accessible.
    let said = suite(&base, &scratch, "head -c 1 /proc/1/mem; readlink /proc/1/fd/1; kill -9 1; echo alive", 60.0);
    assert_eq!(said.stdout, "alive\n");
}

#[test]
fn nothing_of_a_command_outlives_it_or_its_limit() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    let mark = base.path().join("mark").display().to_string();
    let daemon = format!("(setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 0.1; echo >> {mark}; done' &)");
    for (script, limit) in [(format!("{daemon}; exit 0"), 60.0), (format!("{daemon}; sleep 1000"), 1.0)] {
        let finished = suite(&base, &scratch, &script, limit);
        assert_eq!((finished.leftovers, finished.timed_out.is_some()), (limit > 1.0, limit <= 1.0));
        let length = || std::fs::metadata(&mark).map_or(0, |data| data.len());
        let then = length();
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(length(), then, "it still writes");
    }
    // Children that have ended by then do not count.
    assert!(!suite(&base, &scratch, "(sleep 0.1 &); sleep 0.5", 60.0).leftovers);
    let stopped = suite(&base, &scratch, "kill -STOP $$", 0.5);
    assert!(stopped.failure("it").unwrap().contains("limit of 0.5 s"));
}

#[test]
fn mounts_of_a_command_are_its_own_and_one_in_the_wrong_place_is_told() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    let folder = base.path().display();
    let moved = suite(&base, &scratch, &format!("mount -t tmpfs none {folder} && touch {folder}/there"), 60.0);
    assert!(
        moved.moved && moved.failure("it").unwrap().contains("in the place of the file system"),
        "{}",
        moved.stderr
    );
    assert!(!base.path().join("there").exists());
    let script = format!("mkdir {folder}/in && mount -t tmpfs none {folder}/in && touch {folder}/in/there");
    let beside = suite(&base, &scratch, &script, 60.0);
    assert!(beside.failure("it").is_none() && !base.path().join("in/there").exists());
}

#[test]
fn what_is_printed_takes_no_more_room_than_there_is() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    let flood = suite(&base, &scratch, "head -c 100000000 /dev/zero", 60.0);
    assert!(flood.failure("it").unwrap().contains("printed more than the 32 MiB"));
    assert_eq!(flood.stdout.len() as u64, MOST_KEPT);
    // The next one has all the room again.
    assert!(suite(&base, &scratch, "head -c 20000000 /dev/zero", 60.0).failure("it").is_none());
}

#[test]
fn a_command_is_fed_until_it_ends() {
    let base = tempfile::tempdir().unwrap();
    let Some(scratch) = scratch(&base) else { return };
    let path = base.path().join("fed");
    let write = |to: &mut PipeWriter| Ok(std::io::Write::write_all(to, &vec![b'x'; 1 << 20])?);
    feed(&This, &sh(&format!("cat > {}", path.display())), scratch.path(), write).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    let failed = feed(&This, &sh("echo enough >&2; exit 4"), scratch.path(), write).unwrap_err();
    assert!(format!("{failed:#}").contains("exit code 4: enough"), "{failed:#}");
    let absent = call(&This, &Command::new("no-such-program"), scratch.path()).unwrap_err();
    assert!(format!("{absent:#}").contains("cannot start no-such-program"), "{absent:#}");
}
