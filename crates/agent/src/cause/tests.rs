use super::*;

/// What programs really print when they fail, and the line that names the cause.
const PRINTED: [(&str, &str, &str); 40] = [
    // Standard error, standard output, the cause.
    ("sh: 1: nosuch: not found\n", "", "sh: 1: nosuch: not found"),
    ("sh: 1: ./a.py: Permission denied\n", "", "sh: 1: ./a.py: Permission denied"),
    ("sh: 1: Syntax error: \";\" unexpected\n", "", "sh: 1: Syntax error: \";\" unexpected"),
    ("sh: 1: NOPE: parameter not set\n", "", "sh: 1: NOPE: parameter not set"),
    (
        "+ mkdir /nope/x\nmkdir: cannot create directory '/nope/x': No such file or directory\n",
        "",
        "mkdir: cannot create directory '/nope/x': No such file or directory",
    ),
    ("cp: cannot stat '/nope': No such file or directory\n", "", "cp: cannot stat '/nope': No such file or directory"),
    (
        "dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n0 bytes copied, 0.000539866 s, 0.0 kB/s\n",
        "",
        "dd: error writing '/dev/full': No space left on device",
    ),
    (
        "tar: Removing leading `/' from member names\ntar: /nope: Cannot stat: No such file or directory\ntar: Exiting with failure status due to previous errors\n",
        "",
        "tar: /nope: Cannot stat: No such file or directory",
    ),
    (
        "\ngzip: stdin: not in gzip format\ntar: Child returned status 1\ntar: Error is not recoverable: exiting now\n",
        "",
        "gzip: stdin: not in gzip format",
    ),
    ("fatal: repository '/nope' does not exist\n", "", "fatal: repository '/nope' does not exist"),
    (
        "Error: in prepare, near \"selec\": syntax error\n  selec 1; \n  ^--- error here\n",
        "",
        "Error: in prepare, near \"selec\": syntax error",
    ),
    (
        "cc1: fatal error: nope.c: No such file or directory\ncompilation terminated.\nmake: *** [Makefile:2: all] Error 1\n",
        "start\n",
        "cc1: fatal error: nope.c: No such file or directory",
    ),
    ("make: *** No rule to make target 'nosuch'.  Stop.\n", "", "make: *** No rule to make target 'nosuch'.  Stop."),
    ("make: *** [Makefile:5: b] Error 1\n", "", "make: *** [Makefile:5: b] Error 1"),
    (
        "b.c: In function 'main':\nb.c:1:27: error: 'x' undeclared (first use in this function)\n    1 | int main(){ int y; return x;}\n      |                           ^\nb.c:1:17: warning: unused variable 'y' [-Wunused-variable]\n",
        "",
        "b.c:1:27: error: 'x' undeclared (first use in this function)",
    ),
    (
        "/usr/bin/ld: /tmp/ccMWFKIS.o: in function `main':\nc.c:(.text+0xa): undefined reference to `foo'\ncollect2: error: ld returned 1 exit status\n",
        "",
        "c.c:(.text+0xa): undefined reference to `foo'",
    ),
    (
        "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nModuleNotFoundError: No module named 'nosuch'\n",
        "",
        "ModuleNotFoundError: No module named 'nosuch'",
    ),
    (
        "Traceback (most recent call last):\n  File \"<string>\", line 4, in <module>\nValueError: 1\na note\n",
        "",
        "ValueError: 1",
    ),
    (
        "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nAssertionError\n",
        "",
        "AssertionError",
    ),
    (
        "  File \"/a.py\", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax\n",
        "",
        "SyntaxError: invalid syntax",
    ),
    (
        "Python path configuration:\n  PYTHONHOME = '/nope'\nFatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding\nPython runtime state: core initialized\nModuleNotFoundError: No module named 'encodings'\n\nCurrent thread 0x00007f8dd9e76b80 (most recent call first):\n  <no Python frame>\n",
        "",
        "ModuleNotFoundError: No module named 'encodings'",
    ),
    (
        "sh: 1: fsmark: not found\nTraceback (most recent call last):\n  File \"b.py\", line 3, in <module>\nsubprocess.CalledProcessError: Command 'fsmark' returned non-zero exit status 127.\n",
        "",
        "sh: 1: fsmark: not found",
    ),
    (
        "usage: -c [-h] --n N\n-c: error: the following arguments are required: --n\n",
        "",
        "-c: error: the following arguments are required: --n",
    ),
    (
        "cannot open: No such file or directory at -e line 1.\n",
        "",
        "cannot open: No such file or directory at -e line 1.",
    ),
    (
        "node:fs:573\n  return binding.open(\n                 ^\n\nError: ENOENT: no such file or directory, open '/nope'\n    at Object.openSync (node:fs:573:18) {\n  errno: -2\n}\n\nNode.js v20.20.2\n",
        "",
        "Error: ENOENT: no such file or directory, open '/nope'",
    ),
    (
        "[eval]:1\nfunction f(){ throw new Error(\"boom\")}; f()\n              ^\n\nError: boom\n    at f ([eval]:1:21)\n\nNode.js v20.20.2\n",
        "",
        "Error: boom",
    ),
    (
        "Exception in thread \"main\" java.lang.RuntimeException: bench\n\tat A.main(A.java:1)\nCaused by: java.io.FileNotFoundException: /nope (No such file or directory)\n\tat java.base/java.io.FileInputStream.open0(Native Method)\n",
        "",
        "Caused by: java.io.FileNotFoundException: /nope (No such file or directory)",
    ),
    (
        "\nthread 'main' (7268) panicked at p.rs:1:35:\ncalled `Result::unwrap()` on an `Err` value: NotFound\nstack backtrace:\n   0: __rustc::rust_begin_unwind\nnote: Some details are omitted\n",
        "",
        "thread 'main' (7268) panicked at p.rs:1:35: called `Result::unwrap()` on an `Err` value: NotFound",
    ),
    (
        "error[E0308]: mismatched types\n --> r.rs:1:25\n  |\n1 | fn main(){ let x: i32 = \"a\"; }\n\nerror: aborting due to 1 previous error\n",
        "",
        "error[E0308]: mismatched types",
    ),
    (
        "panic: open /nope: no such file or directory\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/a.go:6 +0x1d\nexit status 2\n",
        "",
        "panic: open /nope: no such file or directory",
    ),
    (
        "pgbench: error: connection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?\npgbench: error: could not create connection for setup\n",
        "",
        "pgbench: error: connection to server at \"127.0.0.1\", port 1 failed: Connection refused",
    ),
    (
        "  % Total    % Received\n  0     0    0\r  0     0    0\ncurl: (7) Failed to connect to 127.0.0.1 port 1\n",
        "",
        "curl: (7) Failed to connect to 127.0.0.1 port 1",
    ),
    (
        "fio: CPU 2 too large (max=1)\nfio: failed parsing cpus_allowed=0-3\nfio: job w dropped\n",
        "",
        "fio: CPU 2 too large (max=1)",
    ),
    ("Bad option <foo>\nDid you mean flow?\nfio: job a dropped\n", "", "Bad option <foo>"),
    (
        "",
        "fio: pid=13098, err=5/file:backend.c:471, func=full resid, error=Input/output error\n{\n  \"fio version\" : \"fio-3.33\",\n      \"error\" : 5,\n",
        "fio: pid=13098, err=5/file:backend.c:471, func=full resid, error=Input/output error",
    ),
    (
        "fio: engine nosuch not loadable\nfio: failed to load engine\n",
        "fio: file:ioengines.c:134, func=dlopen, error=nosuch: cannot open shared object file\n",
        "fio: engine nosuch not loadable",
    ),
    (
        "Invalid value 999 for -b size option. Value must be a power of 2.\nUsage: mkfs.xfs\n/* blocksize */\t\t[-b size=num]\n\t\t\tdevicename\n<devicename> is required unless -d name=xxx is given.\n",
        "",
        "Invalid value 999 for -b size option. Value must be a power of 2.",
    ),
    (
        "mke2fs 1.47.0 (5-Feb-2023)\nInvalid filesystem option set: nosuch\n",
        "",
        "Invalid filesystem option set: nosuch",
    ),
    (
        "mkfs.xfs: d400 appears to contain an existing filesystem (xfs).\nmkfs.xfs: Use the -f option to force overwrite.\n",
        "",
        "mkfs.xfs: d400 appears to contain an existing filesystem (xfs).",
    ),
    (
        "mount: /test: unknown filesystem type 'overlay'.\n       dmesg(1) may have more information after failed mount system call.\n",
        "",
        "mount: /test: unknown filesystem type 'overlay'.",
    ),
];

#[test]
fn the_cause_is_found_in_what_programs_print() {
    for (stderr, stdout, cause) in PRINTED {
        assert_eq!(line(stderr, stdout).as_deref(), Some(cause), "of {stderr:?} {stdout:?}");
        // As from a program that colours its words, or was made for another system.
        let coloured = stderr.lines().map(|line| format!("\x1b[1;31m{line}\x1b[0m\r\n")).collect::<String>();
        assert_eq!(line(&coloured, stdout).as_deref(), Some(cause), "of {coloured:?}");
    }
}

#[test]
fn what_is_broken_gives_a_line_or_none() {
    for (text, cause) in [
        ("", None),
        (" \n\r\n\x1b[0m\n", None),
        ("\0\x01\u{fffd}\u{fffd}\n", Some("\u{fffd}\u{fffd}")),
        // No word of another language is known: the last line that is not only what follows.
        (
            "cp: reguläre Datei 'x' kann nicht angelegt werden\n1+0 records in\n",
            Some("cp: reguläre Datei 'x' kann nicht angelegt werden"),
        ),
        ("Traceback (most recent call last):\n", Some("Traceback (most recent call last):")),
        ("thread 'main' panicked at a.rs:1:1:\n", Some("thread 'main' panicked at a.rs:1:1:")),
        (
            "terminate called after throwing an instance of 'int'\n",
            Some("terminate called after throwing an instance of 'int'"),
        ),
        ("one\ntwo\n", Some("two")),
    ] {
        assert_eq!(line(text, "").as_deref(), cause, "of {text:?}");
        assert_eq!(line("", text).as_deref(), cause, "of {text:?} on standard output");
    }
    let long = line(&format!("error: {}", "ü".repeat(1 << 20)), "").unwrap();
    assert_eq!(long.chars().count(), MOST_SHOWN + 1);
}

#[test]
fn before_a_signal_a_program_may_say_why() {
    for (text, cause) in [
        ("Segmentation fault\n", None),
        ("Killed\n", None),
        ("free(): double free detected in tcache 2\nAborted\n", Some("free(): double free detected in tcache 2")),
        ("as: as.c:2: main: Assertion `1==2' failed.\nAborted\n", Some("as: as.c:2: main: Assertion `1==2' failed.")),
        (
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no space for it\nAborted\n",
            Some("terminate called after throwing an instance of 'std::runtime_error': what():  no space for it"),
        ),
    ] {
        assert_eq!(before_signal(text, "").as_deref(), cause, "of {text:?}");
    }
}

#[test]
fn the_kernel_says_why_a_mount_failed() {
    let boot = "<4>[    0.1] old: failed\n<6>[    1.4] Write protecting the kernel read-only data: 28672k\n";
    let told = "<3>[    3.5] ext4: Unknown parameter 'nosuch'\n<3>[    3.6] second error\n<6>[    3.7] is not bad\n";
    assert_eq!(of_mount(&format!("{boot}{told}")).as_deref(), Some("ext4: Unknown parameter 'nosuch'"));
    assert_eq!(of_mount(&format!("{told}<6>[    3.9] EXT4-fs (nbd0): mounted filesystem r/w\n")), None);
    assert_eq!(of_mount("not a log: failed\n<3>[ x] failed\n<3> failed\n"), None);
}

/// Logs of a guest after power cuts, on gfs2 and on ntfs.
#[test]
fn the_kernel_says_what_is_damaged() {
    let gfs2 = "<3>[   61.686771] gfs2: fsid=nbd0.0: fatal: filesystem consistency error - function = gfs2_make_fs_rw, \
                file = fs/gfs2/super.c, line = 151\n<3>[   61.686785] gfs2: fsid=nbd0.0: about to withdraw this file system\n\
                <4>[   61.688479]  </TASK>\n<3>[   61.688516] gfs2: fsid=nbd0.0: can't make FS RW: -5\n";
    let said =
        "mount -t gfs2 /dev/nbd0 /test ended with exit code 32: mount: /test: can't read superblock on /dev/nbd0.";
    let told = of_kernel(said, Path::new("/dev/nbd0"), || gfs2.to_owned()).expect("the kernel's own line");
    assert!(told.starts_with("gfs2: fsid=nbd0.0: fatal: filesystem consistency error - function"), "{told}");
    let ntfs = "<3>[   81.782971] ntfs3(nbd0): MFT: r=44, expect seq=1 instead of 0!\n\
                <5>[   81.782984] ntfs3(nbd0): Mark volume as dirty due to NTFS errors\n<3>[   82.1] other failed\n";
    let said = "its work ended with exit code 1: cannot make the folder /test/new: Invalid argument (os error 22)";
    let told = |reason, device| of_kernel(reason, Path::new(device), || ntfs.to_owned());
    assert_eq!(told(said, "/dev/nbd0").as_deref(), Some("ntfs3(nbd0): MFT: r=44, expect seq=1 instead of 0!"));
    assert_eq!(told(said, "/dev/nbd1"), None, "another device's");
    assert_eq!(told("cmp: EOF on a: it is shorter", "/dev/nbd0"), None, "no call failed");
}
