//! Failures are results: a guest panics, hangs or runs out of memory, or a task fails, and everything beside and after
//! it continues.

use crate::lab::{Lab, outcome};

/// True only in the cells of ext4.
const ON_EXT4: &str = r#"grep -q \"$TEST ext4\" /proc/mounts"#;

/// Three tasks: one before, `run` under the id `trouble`, one after.
fn around(run: &str, more: &str) -> String {
    format!(
        r#"
[[task]]
id = "before"
title = "before"
run = "touch before"

[[task]]
id = "trouble"
title = "trouble"
run = "{run}"
{more}

[[task]]
id = "after"
title = "after"
run = "test -e before"
"#
    )
}

#[test]
fn a_panic_of_the_guests_kernel_is_told_and_the_others_go_on() {
    let Some(lab) = Lab::with_guests("a_panic_of_the_guests_kernel_is_told_and_the_others_go_on", 1) else { return };
    let run =
        format!("if {ON_EXT4}; then mount -o remount,bind,rw /proc/sysrq-trigger; echo c > /proc/sysrq-trigger; fi");
    let suite = lab.suite("panic", &around(&run, ""));
    let ran = lab.run(&["--fs", "ext4,xfs,ext2", "--suite", &suite, "--repeat", "1"]).ended_with(1);
    ran.says(&["ext4 #1 failed: ", "panicked", "xfs #1 done", "ext2 #1 done"]);
    let results = ran.results();
    let (word, reason, detail) = outcome(results.cell("ext4"));
    assert_eq!(word, "failed");
    assert!(reason.contains("panicked") && reason.contains("trouble"), "{reason}");
    assert!(detail.contains("Kernel panic") && detail.contains("sysrq"), "the kernel's last lines: {detail}");
    assert_eq!(results.task("ext4", "before").0, "ok", "what was measured before it is kept");
    for name in ["xfs", "ext2"] {
        results.is_ok(name, &["mkfs", "mount", "before", "trouble", "after", "umount", "fsck"]);
    }
}

#[test]
fn a_task_that_does_not_end_is_ended_at_its_limit() {
    let Some(lab) = Lab::with_guests("a_task_that_does_not_end_is_ended_at_its_limit", 1) else { return };
    let suite = lab.suite("endless", &around("(while :; do :; done) & while :; do :; done", "limit_seconds = 1.5"));
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1"]).ended_with(1);
    let results = ran.results();
    let (word, reason, _) = results.task("ext4", "trouble");
    assert_eq!(word, "failed");
    assert!(reason.contains("task trouble") && reason.contains("limit of 1.5 s"), "{reason}");
    // Its children are gone too; otherwise unmounting would find them.
    results.is_ok("ext4", &["before", "after", "umount", "fsck"]);
}

#[test]
fn a_guest_that_says_nothing_is_ended_as_hung() {
    let Some(lab) = Lab::with_guests("a_guest_that_says_nothing_is_ended_as_hung", 1) else { return };
    let run = format!("if {ON_EXT4}; then while :; do :; done; fi");
    let suite = lab.suite("hung", &around(&run, ""));
    let plan = ["--fs", "ext4,ext2", "--suite", &suite, "--repeat", "1", "--silence-limit", "15"];
    let ran = lab.run(&plan).ended_with(1);
    let results = ran.results();
    let (word, reason, _) = outcome(results.cell("ext4"));
    assert_eq!(word, "failed");
    assert!(reason.contains("said nothing for 15 s") && reason.contains("trouble"), "{reason}");
    assert_eq!(results.task("ext4", "before").0, "ok");
    results.is_ok("ext2", &["before", "trouble", "after", "umount", "fsck"]);
    assert_eq!(lab.processes(), [""; 0], "guests are left");
}

#[test]
fn a_guest_out_of_memory_is_told_and_the_others_go_on() {
    let Some(lab) = Lab::with_guests("a_guest_out_of_memory_is_told_and_the_others_go_on", 1) else { return };
    // The first frees its memory when killed; the other's stays allocated for the rest of the cell.
    let suite = lab.suite("memory", &around("tail /dev/zero", ""));
    let plan = ["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--machine", "celeron-2006"];
    let ran = lab.run(&plan).ended_with(1);
    let results = ran.results();
    let (word, reason, detail) = results.task("ext4", "trouble");
    assert_eq!(word, "failed");
    assert!(reason.contains("SIGKILL") && reason.contains("out of memory"), "{reason}");
    assert!(detail.contains("Out of memory"), "the kernel's last lines: {detail}");
    results.is_ok("ext4", &["before", "after", "umount", "fsck"]);

    let run = format!("if {ON_EXT4}; then mkdir /m; mount -t ramfs none /m; cat /dev/zero > /m/fill; fi");
    let suite = lab.suite("memory", &around(&run, ""));
    let plan = ["--fs", "ext4,ext2", "--suite", &suite, "--repeat", "1", "--machine", "celeron-2006"];
    let ran = lab.run(&plan).ended_with(1);
    let results = ran.results();
    // Either some process can be killed, and the task has failed, or none is left, and the kernel panics.
    let (word, reason, detail) = outcome(results.cell("ext4"));
    if word == "failed" {
        assert!(reason.contains("panicked") && detail.contains("deadlocked on memory"), "{reason}\n{detail}");
    } else {
        let (word, reason, detail) = results.task("ext4", "trouble");
        assert_eq!(word, "failed");
        assert!(reason.contains("out of memory"), "{reason}\n{detail}");
        results.is_ok("ext4", &["before", "after", "umount", "fsck"]);
    }
    results.is_ok("ext2", &["before", "trouble", "after", "umount", "fsck"]);
}

#[test]
fn a_failed_task_keeps_what_it_said_and_the_next_ones_run() {
    let Some(lab) = Lab::with_guests("a_failed_task_keeps_what_it_said_and_the_next_ones_run", 1) else { return };
    let suite = lab.suite(
        "failing",
        r#"
[[task]]
id = "three"
title = "ends with 3"
run = "touch three; cp /none . || printf 'because of \\377 this\n' >&2; exit 3"

[[task]]
id = "absent"
title = "a program that is not there"
run = "no-such-program --fast file"

[[task]]
id = "unprepared"
title = "a prepare that fails"
prepare = "echo not prepared >&2; exit 4"
run = "touch unprepared"

[[task]]
id = "killed"
title = "kills itself"
run = "kill -9 $$"

[[task]]
id = "untidy"
title = "a cleanup that fails"
run = "touch untidy"
cleanup = "exit 5"

[[task]]
id = "again"
title = "fails the second time"
run = "if test -e again; then exit 6; fi; touch again"
repeat = 3

[[task]]
id = "last"
title = "goes on"
run = "test -e three && test ! -e unprepared && test -e untidy"
"#,
    );
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1"]).ended_with(1);
    ran.says(&["5 tasks failed"]);
    let results = ran.results();
    let failed = |task: &str| {
        let (word, reason, detail) = results.task("ext4", task);
        assert_eq!(word, "failed", "{task}: {reason}");
        (reason, detail)
    };
    let (reason, detail) = failed("three");
    assert!(reason.contains("task three") && reason.contains("exit code 3"), "{reason}");
    assert!(detail.contains("because of") && detail.contains("this"), "{detail}");
    assert!(
        reason.ends_with("cp: cannot stat '/none': No such file or directory"),
        "the cause, not the last line: {reason}"
    );
    let (reason, _) = failed("absent");
    assert!(reason.contains("no-such-program") && reason.contains("`packages`"), "{reason}");
    let (reason, detail) = failed("unprepared");
    assert!(reason.contains("prepare of task unprepared") && reason.contains("exit code 4"), "{reason}");
    assert!(format!("{reason}{detail}").contains("not prepared"), "{reason}: {detail}");
    let (reason, _) = failed("killed");
    assert!(reason.contains("signal 9"), "{reason}");
    let (reason, _) = failed("again");
    assert!(reason.contains("exit code 6"), "{reason}");
    results.is_ok("ext4", &["untidy", "last", "umount", "fsck"]);
    let notes = results.cell("ext4")["notes"].to_string();
    assert!(notes.contains("cleanup of task untidy"), "{notes}");
    // Figures of failed work would look like figures of completed work.
    let figures = results.figures();
    assert!(figures.keys().all(|(_, _, task, _, _)| task != "three" && task != "absent"));
    assert!(results.value("ext4", "last", "elapsed") > 0.0);
}

#[test]
fn a_file_system_that_cannot_be_made_fails_alone() {
    let Some(lab) = Lab::with_guests("a_file_system_that_cannot_be_made_fails_alone", 1) else { return };
    let suite = lab.suite("simple", &around("true", ""));
    let plan = ["--fs", "ext4:mkfs=-b 17,ext4:mount=nosuchoption,ext4", "--suite", &suite, "--repeat", "1"];
    let ran = lab.run(&plan).ended_with(1);
    let results = ran.results();
    for (name, step) in [("ext4:mkfs=-b 17", "mkfs"), ("ext4:mount=nosuchoption", "mount")] {
        let (word, reason, detail) = results.task(name, step);
        assert_eq!(word, "failed", "{name}");
        assert!(reason.contains(step), "{reason}");
        assert!(detail.contains("17") || detail.contains("nosuchoption"), "{detail}");
        assert_eq!(outcome(results.cell(name)).0, "failed", "{name}");
    }
    let (_, reason, _) = results.task("ext4:mount=nosuchoption", "mount");
    assert!(reason.ends_with("The kernel says: ext4: Unknown parameter 'nosuchoption'"), "{reason}");
    results.is_ok("ext4", &["before", "trouble", "after"]);
}

#[test]
fn what_a_task_leaves_running_or_unwritten_spoils_no_other() {
    let Some(lab) = Lab::with_guests("what_a_task_leaves_running_or_unwritten_spoils_no_other", 1) else { return };
    // Ending the task's group does not reach a process in a separate session; fio gives each of its jobs one.
    let tasks = r#"
[[task]]
id = "leave"
title = "leave a process behind"
run = "setsid sh -c 'echo there > left; exec sleep 3000' & while [ ! -e left ]; do sleep 0.1; done"

[[task]]
id = "alone"
title = "nobody else is here"
run = "! cat /proc/[0-9]*/comm | grep -x sleep"

[[task]]
id = "unwritten"
title = "what it wrote cannot be written"
run = "head -c 1000000 /dev/zero > data; xfs_io -x -c shutdown ."

[[task]]
id = "reading"
title = "a file system that was shut down"
run = "cat left"
"#;
    let head = "name = \"left\"\nabout = \"what is left\"\nroom = \"16 MiB\"\n\
                packages = [\"util-linux\", \"xfsprogs\"]\ntools = [\"setsid\", \"xfs_io\"]\n";
    let suite = lab.write("left.toml", &format!("{head}{tasks}"));
    let results = lab.run(&["--fs", "xfs", "--suite", &suite, "--repeat", "1"]).ended_with(1).results();
    results.is_ok("xfs", &["leave", "alone"]);
    let (word, reason, _) = results.task("xfs", "unwritten");
    assert_eq!(word, "failed");
    assert!(reason.contains("task unwritten: what it wrote could not be made durable"), "{reason}");
}

#[test]
fn nothing_is_measured_on_what_lies_under_a_lost_file_system() {
    let Some(lab) = Lab::with_guests("nothing_is_measured_on_what_lies_under_a_lost_file_system", 1) else { return };
    let tasks = r#"
[[task]]
id = "wipe"
title = "write over the device"
run = "dd if=/dev/zero of=$(grep \" $TEST \" /proc/mounts | cut -d ' ' -f 1) bs=1M count=16 conv=notrunc"

[[task]]
id = "cold"
title = "needs a remount"
cold = true
run = "true"

[[task]]
id = "later"
title = "would run in the guest's own memory"
run = "touch here"
"#;
    let suite = lab.suite("lost", tasks);
    let results = lab.run(&["--fs", "ext2", "--suite", &suite, "--repeat", "1"]).ended_with(1).results();
    let reason = |task: &str| {
        let (word, reason, _) = results.task("ext2", task);
        assert_eq!(word, "failed", "{task}: {reason}");
        reason
    };
    assert!(reason("cold").contains("cannot remount before task cold"), "{}", reason("cold"));
    assert!(reason("later").contains("could not be mounted again"), "{}", reason("later"));
    let (word, reason, _) = outcome(results.cell("ext2"));
    assert!(word == "failed" && reason.contains("cannot remount"), "{word}: {reason}");
}
