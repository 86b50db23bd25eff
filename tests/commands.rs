//! Commands of one's own: measured like suites, with programs, packages and trees that are brought.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::lab::{Lab, Ran, skip};

/// `mountmark run` of a command; `words` begin with the options.
fn run(lab: &Lab, words: &[&str]) -> Ran {
    let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (options, command) = words.split_at(at);
    let out = lab.out().to_string_lossy().into_owned();
    let usual = ["run", "--fs", "ext4", "--repeat", "1", "--format", "json", "--jobs", "1", "--out", &out];
    lab.command(&[&usual[..], options, command].concat())
}

/// What the cell noted.
fn notes(ran: &Ran) -> String {
    ran.results().cell("ext4")["notes"].to_string()
}

/// A program and its libraries, copied below `root`; false if this machine's is static or not there.
fn copy_with_libraries(program: &str, root: &Path, to: &str) -> bool {
    let Ok(listed) = Command::new("ldd").arg(program).output() else { return false };
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let paths: BTreeSet<&str> = text.split_whitespace().filter(|word| word.starts_with('/')).collect();
    for (from, to) in paths.iter().map(|path| (*path, *path)).chain([(program, to)]) {
        let to = root.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    !paths.is_empty()
}

#[test]
fn a_command_is_a_suite_of_its_own() {
    let Some(lab) = Lab::with_guests("a_command_is_a_suite_of_its_own", 1) else { return };
    let saved = lab.path("saved.toml").to_string_lossy().into_owned();
    let line = "for i in $(seq $N); do echo $i > f$i; done; echo tps=$N.5 done; echo x > /tmp/beside";
    let words = [
        "--prepare",
        "mkdir -p d",
        "--then",
        "test -d d && rm f1",
        "--parameter",
        "N=20",
        "--figure",
        "tps[1/s]=tps=([0-9.]+)",
        "--figure",
        "none=nothing=([0-9]+)",
        "--figure",
        "lines[,lower]=(?m)^.*done$",
        "--save",
        &saved,
        "--",
        "sh",
        "-c",
        line,
    ];
    let ran = run(&lab, &words).ended_with(1);
    let results = ran.results();
    results.is_ok("ext4", &["sh", "test", "tps"]);
    assert_eq!(results.value("ext4", "tps", "figure"), 20.5);
    for reason in ["nothing that was printed matches", "is no number"] {
        assert!(ran.stdout.contains(reason), "{reason}");
    }
    assert!(
        notes(&ran).contains("tasks wrote 1 file (/tmp/beside; 2 B) beside the file system under test, in memory"),
        "{}",
        notes(&ran)
    );

    // Its file is the same work: the same figures, to the bit.
    let again = run(&lab, &["--suite", &saved, "--scale", "1"]).ended_with(1).results();
    for task in ["sh", "test", "tps"] {
        for metric in ["elapsed", "durable", "written_bytes", "figure"] {
            let figure = |results: &crate::lab::Results| {
                let all = results.figures();
                let found = all.iter().find(|((_, _, of, _, named), _)| of == task && named == metric);
                found.map(|(_, bits)| *bits)
            };
            assert_eq!(figure(&again), figure(&results), "{task} {metric}");
        }
    }
}

#[test]
fn programs_files_and_packages_are_brought() {
    let test = "programs_files_and_packages_are_brought";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let data = lab.path("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("words"), "b\na\n").unwrap();
    // A program that guests do not have: it is called otherwise, and needs libraries.
    let tool = lab.path("mysort");
    fs::copy("/usr/bin/sort", &tool).unwrap();
    let script = lab.path("sum.py");
    fs::write(&script, "#!/usr/bin/env python3\nopen('made', 'w').write(str(sum(range(100))))\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (tool, data, script) = (text(&tool), text(&data), text(&script));
    let check = "cat sorted && test \"$(head -n 1 sorted)\" = a";
    let ran =
        run(&lab, &["--with", &tool, "--with", &data, "--then", check, "--", "./mysort", "-o", "sorted", "data/words"]);
    ran.ended_with(0).results().is_ok("ext4", &["mysort", "cat"]);

    let refused = run(&lab, &["--with", &script, "--", "./sum.py"]).ended_with(2);
    refused.says(&["there is no program python3 in the guest", "--package python3"]);
    let all =
        ["--with", &script, "--package", "python3-minimal", "--then", "test $(cat made) = 4950", "--", "./sum.py"];
    run(&lab, &all).ended_with(0).results().is_ok("ext4", &["sum-py", "test"]);

    run(&lab, &["--", "no-such-program", "x"])
        .ended_with(2)
        .says(&["there is no program no-such-program in the guest", "--with PATH"]);
    run(&lab, &["--", &tool]).ended_with(2).says(&["is a file of this machine", &format!("--with {tool} -- ./mysort")]);
}

#[test]
fn a_tree_of_its_own_is_all_that_a_command_sees() {
    let test = "a_tree_of_its_own_is_all_that_a_command_sees";
    let Some(lab) = Lab::with_guests(test, 1) else { return };
    let root = lab.path("root");
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    symlink("usr/bin", root.join("bin")).unwrap();
    let copied =
        ["sh", "cat", "ls"].map(|name| copy_with_libraries(&format!("/bin/{name}"), &root, &format!("usr/bin/{name}")));
    if copied.contains(&false) {
        return skip(test, "/bin/sh, cat and ls of this machine are no programs with libraries");
    }
    fs::write(root.join("here"), "of the tree\n").unwrap();
    let line = "cat /here > kept && echo x > /written && cat /written && test ! -e /bin/sort && test ! -e /init && ls /proc/self/exe";
    let tree = root.to_string_lossy().into_owned();
    let ran = run(&lab, &["--root", &tree, "--then", "cat /written kept", "--", "sh", "-c", line]).ended_with(0);
    ran.results().is_ok("ext4", &["sh", "cat"]);
    assert!(notes(&ran).contains("(/written; 2 B) beside the file system under test"), "{}", notes(&ran));
    // The same as a tar.
    let tar = lab.path("root.tar").to_string_lossy().into_owned();
    let packed = Command::new("tar").args(["-C", &tree, "-cf", &tar, "."]).status().unwrap();
    assert!(packed.success());
    run(&lab, &["--root", &tar, "--", "sh", "-c", line]).ended_with(0).results().is_ok("ext4", &["sh"]);
}

#[test]
fn what_cannot_be_measured_is_refused_before_a_guest_starts() {
    let lab = Lab::without_guests();
    let refused = |words: &[&str], says: &[&str]| run(&lab, words).ended_with(2).says(says);
    refused(&["--cold"], &["--cold is for a command, and there is none"]);
    refused(&["--suite", "varmail", "--", "true"], &["there is a command too"]);
    refused(&["--study", "hans-2006", "--", "true"], &["has suites of its own"]);
    refused(&["--with", "/nowhere/x", "--", "./x"], &["--with /nowhere/x: No such file or directory"]);
    refused(&["--with", "x=", "--", "./x"], &["--with x=: No such file or directory"]);
    refused(&["--with", "/dev/zero", "--", "./x"], &["cannot bring /dev/zero: it is neither a file nor a folder"]);
    refused(&["--with", "/", "--", "./x"], &["cannot bring /: it has no name; give it one: NAME=PATH"]);
    refused(&["--", " "], &["-- '': the command is empty"]);
    refused(&["--then", "", "--", "true"], &["--then '': the command is empty"]);
    refused(&["--parameter", "n=1", "--", "true"], &["a name must be a capital letter"]);
    refused(&["--parameter", "N", "--", "true"], &["give a name and a value"]);
    refused(&["--package", "No Such", "--", "true"], &["it is no name of a Debian package"]);
    refused(&["--package", "", "--", "true"], &["--package \"\": it is no name of a Debian package"]);
    refused(&["--compare", "N=1,2", "--", "true"], &["1: No such file", "there is no parameter N"]);
    refused(&["--root", "/", "--", "true"], &["cannot use / as a root: it is all of this machine"]);
    refused(&["--figure", "tps=", "--", "true"], &["the pattern is empty"]);
    refused(&["--figure", "tps=(", "--", "true"], &["is no regular expression"]);
    refused(&["--figure", "tps[s,up]=x", "--", "true"], &["neither lower nor higher"]);
    refused(&["--figure", "tps", "--", "true"], &["give a name and a pattern"]);
    refused(&["--corpus", "tree", "--with", "/bin/true", "--", "true"], &["brings files of its own"]);
    let text = lab.write("tool", "");
    let mut program = fs::read(std::env::current_exe().unwrap()).unwrap();
    program[18] = 183;
    fs::write(&text, program).unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
    refused(&["--with", &text, "--", "./tool"], &["is a program for 64-bit ARM, and guests have x86-64"]);
    // In a folder it may be what nobody starts.
    let folder = lab.path("").to_string_lossy().into_owned();
    let dry = run(&lab, &["--dry-run", "--with", &format!("all={folder}"), "--", "true"]).ended_with(0);
    dry.says(&["tool is a program for 64-bit ARM", "it comes as it is"]);
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    let own = "name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\nwith = [\"socket\"]\n[[task]]\nid = \"a\"\ntitle = \"a\"\nrun = \"true\"\n";
    refused(&["--suite", &lab.write("own.toml", own)], &["cannot bring", "socket: it is neither a file nor a folder"]);
    let zip = lab.write("root.zip", "PK\u{3}\u{4}");
    refused(&["--root", &zip, "--", "sh"], &["this is zip"]);
    let there = lab.write("there.toml", "mine = 1\n");
    refused(&["--save", &there, "--", "true"], &["it is there already, and is not this command as a suite"]);
    assert_eq!(fs::read_to_string(&there).unwrap(), "mine = 1\n");
    fs::write(&there, b"# \xfcber alles\n").unwrap();
    refused(&["--save", &there, "--", "true"], &["it is there already, and is not this command as a suite"]);
    let saved = lab.path("saved.toml").to_string_lossy().into_owned();
    refused(&["--with", "/bin/true", "--save", &saved, "--", "true"], &["does not lie in its folder"]);
}
