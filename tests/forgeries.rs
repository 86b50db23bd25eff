//! Commands of a suite that try to write their own figures, end others' measurements or take over the machine: none may
//! affect the agent's output, and later tasks are measured.

use crate::lab::Lab;

/// Requests port 0xe9, the line to the host, and writes its argument there: `ioperm(0xe9, 1, 1)`, then `rep outsb`,
/// whether access was granted, inherited or neither.
const SPEAK: &[u8] =
    b"\xb8\xad\0\0\0\xbf\xe9\0\0\0\xbe\x01\0\0\0\xba\x01\0\0\0\x0f\x05\x58\x58\x5e\x48\x89\xf7\x31\xc0\
    \x48\x83\xc9\xff\xf2\xae\x48\xf7\xd1\xba\xe9\0\0\0\xf3\x6e\x31\xff\xb8\x3c\0\0\0\x0f\x05";
/// `reboot(RESTART)`; exits with the error number.
const REBOOT: &[u8] = b"\xb8\xa9\0\0\0\xbf\xad\xde\xe1\xfe\xbe\x69\x19\x12\x28\xba\x67\x45\x23\x01\x0f\x05\
    \xf7\xd8\x89\xc7\xb8\x3c\0\0\0\x0f\x05";
/// `finit_module(-1, NULL, 0)`; exits with the error number.
const LOAD: &[u8] = b"\xb8\x39\x01\0\0\x83\xcf\xff\x31\xf6\x31\xd2\x0f\x05\xf7\xd8\x89\xc7\xb8\x3c\0\0\0\x0f\x05";
/// EPERM.
const REFUSED: i32 = 1;

/// A command that creates the program `path` from machine code: one segment, entered at its first byte.
fn program(path: &str, code: &[u8]) -> String {
    const BASE: u64 = 0x40_0000;
    const HEAD: u64 = 120;
    let length = HEAD + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    for word in [BASE + HEAD, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    // Flags; sizes of both headers; one program header; no section.
    file.extend(b"\0\0\0\0\x40\0\x38\0\x01\0\x40\0\0\0\0\0\x01\0\0\0\x05\0\0\0");
    for word in [0, BASE, BASE, length, length, 4096] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    let text: String = file.iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf '{text}' > {path}; chmod +x {path}")
}

/// Tasks by name, command and further lines; the command is between triple quotes.
fn tasks(of: &[(&str, &str, &str)]) -> String {
    let task = |(id, run, more): &(&str, &str, &str)| {
        format!("[[task]]\nid = \"{id}\"\ntitle = \"{id}\"\nrun = '''{run}'''\n{more}\n")
    };
    of.iter().map(task).collect()
}

#[test]
fn no_command_reaches_the_agent_its_line_or_the_machine() {
    let Some(lab) = Lab::with_guests("no_command_reaches_the_agent_its_line_or_the_machine", 1) else { return };
    let forged =
        r#"$(printf '\n{"event":"sample","task":"port","iteration":0,"values":{"elapsed":1}}\n{"event":"done"}\n.')"#;
    let speak = format!("{}; /tmp/speak \"{forged}\"; test $? -eq 139", program("/tmp/speak", SPEAK));
    let reboot = format!("{}; /tmp/reboot; test $? -eq {REFUSED}", program("/tmp/reboot", REBOOT));
    let load = format!("{}; /tmp/load; test $? -eq {REFUSED}", program("/tmp/load", LOAD));
    let helper = "printf '#!/bin/sh\\ngrep CapEff /proc/self/status > /tmp/helped\\n' > /tmp/helper; \
                  chmod +x /tmp/helper; mount -o remount,bind,rw /proc/sys; echo '|/tmp/helper' > /proc/sys/kernel/core_pattern; \
                  sh -c 'kill -SEGV $$'; sleep 1; echo core > /proc/sys/kernel/core_pattern; \
                  grep -q 'CapEff:.0000000000000000' /tmp/helped";
    let tasks = tasks(&[
        // Attempts that must be denied; the task succeeds if they are.
        ("port", "! printf x | dd of=/dev/port bs=1 seek=233 conv=notrunc", ""),
        ("ioperm", &speak, ""),
        (
            "memory",
            "! head -c 1 /dev/mem && ! head -c 1 /proc/kcore && ! head -c 1 /proc/1/mem && ! readlink /proc/1/fd/0",
            "",
        ),
        (
            "others",
            "! grep -a 'disk-[s]erver' /proc/[0-9]*/cmdline; ! umount /proc || ! grep -a 'disk-[s]erver' /proc/[0-9]*/environ",
            "",
        ),
        ("signals", "kill -KILL 1; kill -STOP 1; kill -SEGV 1; kill -SEGV 1; touch survived", ""),
        ("reboot", &reboot, ""),
        ("module", &load, ""),
        ("clock", "! date -s 2030-01-01", ""),
        (
            "lockdown",
            "mount -t securityfs none /sys/kernel/security && grep -F '[integrity]' /sys/kernel/security/lockdown",
            "",
        ),
        ("flag", "test ! -e /run/setup && test ! -e /run/trace", ""),
        ("helper", helper, ""),
        // Attempts that affect only the task itself.
        ("elsewhere", "mount -t tmpfs none \"$TEST\"; cd \"$TEST\"; touch here", ""),
        ("nowhere", "umount -l \"$TEST\"", ""),
        ("prepared", "true", "prepare = 'mount -t tmpfs none \"$TEST\"'"),
        ("bomb", "exec bash -c 'set -m; b() { b & b & }; b; sleep 1000'", "limit_seconds = 2"),
        ("left", "sleep 3000 & sleep 3000 &", ""),
        ("silent", "head -c 1000000000 /dev/zero", ""),
        ("loud", "head -c 100000000 /dev/zero >&2", ""),
        ("full", "head -c 1000000000 /dev/zero > /tmp/fill", ""),
        // Measured all the same.
        ("after", "test -e survived && test ! -e here && ! grep -x sleep /proc/[0-9]*/comm", ""),
    ]);
    let suite = lab.suite("forgeries", &tasks);
    let plan = ["--fs", "ext4", "--suite", &suite, "--repeat", "1", "--machine", "celeron-2006"];
    let ran = lab.run(&plan).ended_with(1);
    let results = ran.results();
    let refused = [
        "port", "ioperm", "memory", "others", "signals", "reboot", "module", "clock", "flag", "helper", "left",
        "silent",
    ];
    results.is_ok("ext4", &refused);
    results.is_ok("ext4", &["after", "umount", "fsck"]);
    let reason = |task: &str| {
        let (word, reason, _) = results.task("ext4", task);
        assert_eq!(word, "failed", "{task}: {reason}");
        reason
    };
    for task in ["elsewhere", "nowhere", "prepared"] {
        assert!(reason(task).contains("in the place of the file system"), "{}", reason(task));
    }
    assert!(reason("bomb").contains("task bomb was ended at its limit of 2 s"), "{}", reason("bomb"));
    assert!(reason("loud").contains("printed more than the 32 MiB"), "{}", reason("loud"));
    assert!(reason("full").contains("No space left") || reason("full").contains("exit code 1"), "{}", reason("full"));
    let notes = results.cell("ext4")["notes"].to_string();
    assert!(notes.contains("task left left processes running"), "{notes}");
    let figures = results.figures();
    assert!(refused.iter().chain(&["after"]).all(|task| results.value("ext4", task, "elapsed") > 0.0));
    for task in ["elsewhere", "nowhere", "prepared", "bomb", "loud", "full"] {
        assert!(figures.keys().all(|(_, _, named, _, _)| named != task), "{task} has figures");
    }
}

#[test]
fn a_machine_that_is_taken_away_fails_its_cell_alone() {
    let Some(lab) = Lab::with_guests("a_machine_that_is_taken_away_fails_its_cell_alone", 1) else { return };
    // The magic key restarts the machine, or kills every process except the first: the disk's server too.
    let run = "mount -o remount,bind,rw /proc/sysrq-trigger; case $(grep \" $TEST \" /proc/mounts) in *ext4*) echo b > /proc/sysrq-trigger;; \
               *xfs*) echo i > /proc/sysrq-trigger; sleep 1;; esac";
    let suite = lab.suite("taken", &tasks(&[("before", "true", ""), ("taken", run, ""), ("after", "true", "")]));
    let results = lab.run(&["--fs", "ext4,xfs,ext2", "--suite", &suite, "--repeat", "1"]).ended_with(1).results();
    let figures = results.figures();
    for (name, said) in [("ext4", "the guest ended before it was done"), ("xfs", "the server of /dev/nbd0 ended")] {
        let (word, reason, _) = crate::lab::outcome(results.cell(name));
        assert!(word == "failed" && reason.contains(said), "{name}: {reason}");
        let has = |wanted: &str| figures.keys().any(|(of, _, task, _, _)| of == name && task == wanted);
        assert!(has("before") && !has("taken") && !has("after"), "{name}");
    }
    results.is_ok("ext2", &["before", "taken", "after", "umount", "fsck"]);
}
