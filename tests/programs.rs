//! Real benchmark programs and native suites in guests, to the last printed line.

use crate::lab::Lab;

/// A real program and Mountmark's engine in one cell, so that one guest is enough.
const TASKS: &str = r#"
[parameters.MIB]
value = 16
fixed = true

[[task]]
id = "bonnie"
title = "Bonnie++ itself"
program = "bonnie++"
run = "bonnie++ -q -f -d . -s ${MIB}m -r $((MIB / 2)) -n 0 -u root -m guest"

[[task]]
id = "rewrite"
title = "over at once"
part_of = "bonnie"

[[task]]
id = "seq_create"
title = "not asked for"
part_of = "bonnie"

[[task]]
id = "create"
title = "fs_mark itself"
program = "fs_mark"
run = "fs_mark -d . -n 100 -s 1024 -S 0"

[[task]]
id = "wrong"
title = "a program that says something else"
program = "bonnie++"
run = "echo 1.98,cut,short,1,2,3,4,5,6,7,8,9"
figure = "putc"

[[task]]
id = "hangs"
title = "a program that does not end"
program = "bonnie++"
figure = "putc"
run = "echo before; sleep 100"
limit_seconds = 2

[[task]]
id = "put_block"
title = "blocks, by the engine"
workload.files = { folder = "own", size = "$MIB * 64 KiB" }

[[task.workload.phases]]
name = "put_block"
what = "write"
block = "8 KiB"

[[task]]
id = "seeks"
title = "seeks, by the engine"
rate = "operations"
least_seconds = 0.05
cleanup = "rm -r own"
workload.files = { folder = "own", size = "$MIB * 64 KiB" }

[[task.workload.phases]]
name = "seeks"
what = { read = 9, rewrite = 1 }
pattern = "random"
block = "8 KiB"
threads = 3
processes = true
shared = true
run = { operations = 60 }

[[task]]
id = "nothing"
title = "files that are not there"
workload.files = { folder = "nothing", existing = true }

[[task.workload.phases]]
name = "nothing"
what = "read-file"
"#;

#[test]
fn programs_and_workloads_in_a_guest() {
    let Some(lab) = Lab::with_guests("programs_and_workloads_in_a_guest", 1) else { return };
    let suite =
        lab.write("programs.toml", &format!("name = \"programs\"\nabout = \"a test\"\nroom = \"64 MiB\"\n{TASKS}"));
    let ran = lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--scale", "1"]).ended_with(1);
    let results = ran.results();

    results.is_ok("ext4", &["bonnie", "create", "put_block", "seeks"]);
    let (files, elapsed) = (results.value("ext4", "create", "rate"), results.value("ext4", "create", "elapsed"));
    // 100 files within the time of the whole program.
    assert!(files > 100.0 / elapsed, "{files} files/s, {elapsed} s");
    let (word, reason, _) = results.task("ext4", "rewrite");
    assert!(word == "skipped" && reason.contains("too fast to be measured"), "{word}: {reason}");
    let (word, reason, _) = results.task("ext4", "seq_create");
    assert_eq!((word.as_str(), reason.as_str()), ("skipped", "bonnie++ was not asked to run this test."));
    let (word, reason, detail) = results.task("ext4", "wrong");
    assert_eq!(word, "failed");
    assert!(reason.contains("line 1 of what bonnie++ printed") && reason.contains("expected 50 fields"), "{reason}");
    assert!(detail.contains("1.98,cut,short"), "{detail}");
    let (word, reason, detail) = results.task("ext4", "hangs");
    assert_eq!((word.as_str(), reason.as_str()), ("failed", "task hangs was ended at its limit of 2 s"));
    assert!(detail.contains("before"), "{detail}");
    assert_eq!(results.task("ext4", "nothing").0, "failed");

    // 1 MiB in its time; at least 60 seeks, and as many repeats as 0.05 s require.
    let seconds = results.value("ext4", "put_block", "measured");
    let rate = results.value("ext4", "put_block", "rate");
    assert!((rate * seconds - 1024.0).abs() < 1e-6 * 1024.0, "{rate} KiB/s for {seconds} s");
    assert!(results.value("ext4", "seeks", "measured") >= 0.05);
    let (seeks, time) = (results.value("ext4", "seeks", "operations"), results.value("ext4", "seeks", "measured"));
    assert!(seeks >= 60.0 && seeks % 60.0 == 0.0, "{seeks} seeks");
    assert!((results.value("ext4", "seeks", "rate") - seeks / time).abs() < 1e-6 * seeks / time);
    assert!(results.value("ext4", "seeks", "latency_p50") <= results.value("ext4", "seeks", "latency_max"));

    let out = lab.out().display().to_string();
    let show = |arguments: &[&str]| lab.command(&[&["show", "latest", "--out", &out], arguments].concat());
    let raw = show(&["--raw", "rewrite"]).ended_with(0).stdout;
    assert!(raw.starts_with("==> ext4 #1, bonnie, stdout <==\n1.98,2.00a,guest,"), "{raw}");
    assert!(show(&["--raw", "hangs"]).ended_with(0).stdout.contains("before"));
    assert!(show(&["--raw", "seeks"]).ended_with(0).stdout.contains("\"phases\""));
    show(&["--raw", "mkfs"]).ended_with(2).says(&["there are outputs of bonnie, create, hangs"]);
}

#[test]
fn job_files_run_as_they_are_or_are_refused_with_the_line() {
    let lab = Lab::without_guests();
    let job = lab.write("bad.fio", "[global]\nsize=1m\n[a]\nfilename=/dev/sda\n");
    let ran = lab.run(&["--fs", "ext4", "--suite", &job]).ended_with(2);
    ran.says(&["bad.fio:4: filename=/dev/sda: ", "is outside of the file system under test"]);
    let job = lab.write("unknown.fio", "[a]\nrw=read\n");
    lab.run(&["--fs", "ext4", "--suite", &job]).ended_with(2).says(&["unknown.fio:1: [a]: it has no size="]);
}

#[test]
fn a_suite_names_the_kernel_modules_of_its_tasks() {
    let Some(lab) = Lab::with_guests("a_suite_names_the_kernel_modules_of_its_tasks", 1) else { return };
    let task = r#"
[[task]]
id = "layer"
title = "a layer"
prepare = "mkdir lower upper work merged"
run = "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged && echo x > merged/x && umount merged"
"#;
    let suite = lab.suite("layers", &format!("modules = [\"overlay\"]\n{task}"));
    lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1"]).ended_with(0).results().is_ok("ext4", &["layer"]);
    let suite = lab.suite("none", &format!("modules = [\"nosuchmodule\"]\n{task}"));
    lab.run(&["--fs", "ext4", "--suite", &suite, "--repeat", "1"]).ended_with(3).says(&["nosuchmodule"]);
}

#[test]
fn a_command_that_no_shell_can_read_is_refused_in_the_plan() {
    let lab = Lab::without_guests();
    for (field, script) in [
        ("run", "if then"),
        ("run", "echo '"),
        ("prepare", "("),
        ("run", "case x in"),
        ("cleanup", "fi"),
        ("run", "echo ${"),
    ] {
        let run = if field == "run" { "" } else { "run = \"true\"\n" };
        let suite = lab.suite("unread", &format!("[[task]]\nid = \"a\"\ntitle = \"a\"\n{run}{field} = \"{script}\"\n"));
        let ran = lab.command(&["run", "--dry-run", "--fs", "ext4", "--suite", &suite]).ended_with(2);
        ran.says(&["suite unread", &format!("task a, {field}: ")]);
    }
}
