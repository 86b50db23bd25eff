//! How much slower commands are while they are recorded: `cargo bench -p mountmark-capture`, in folders below $TMPDIR or
//! /var/tmp. Each runs five times as it is and five times recorded, in turn. A word keeps the rows that have it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use mountmark_capture::{Command, Ended, record};

const ROUNDS: usize = 5;
/// As slow as a command may be.
const GOAL: f64 = 2.0;

/// A package, what is made first, and the command. `$D` is a tree of headers and modules.
const COMMANDS: [(&str, &str, &str); 20] = [
    ("coreutils", "", "cp -r $D copy"),
    ("coreutils", "cp -r $D copy", "rm -r copy"),
    ("coreutils", "", "du -s $D > sum"),
    ("coreutils", "cat $D/*.h > text", "sort text > sorted"),
    ("coreutils", "", "sha256sum $D/*.h > sums"),
    ("tar", "", "tar -cPf all.tar $D"),
    ("tar", "tar -C $D -cf all.tar .", "tar -xf all.tar"),
    ("gzip", "cat $D/*.h > text", "gzip text"),
    ("xz-utils", "cat $D/*.h > text", "xz -1 text"),
    ("zstd", "cat $D/*.h > text", "zstd -q -9 text"),
    ("findutils", "", "find $D -type f -size +20k > large"),
    ("grep", "", "grep -rc define $D > counts"),
    ("sed", "cp -r $D copy", "sed -i s/define/DEFINE/ copy/*.h"),
    ("diffutils", "cp -r $D copy", "diff -r $D copy"),
    ("gawk", "cat $D/*.h > text", "awk '{ n[$1]++ } END { for (k in n) print n[k], k }' text > words"),
    (
        "gcc",
        "i=0; while [ $i -lt 6 ]; do echo \"#include <stdio.h>\nint f$i(void) { return puts(\\\"x\\\"); }\" > $i.c; i=$((i+1)); done",
        "gcc -O2 -c 0.c 1.c 2.c 3.c 4.c 5.c",
    ),
    (
        "git",
        "cp -r $D copy",
        "git init -q r && cp copy/*.h r && cd r && git add . && git -c user.name=n -c user.email=e@x commit -qm m",
    ),
    ("python3", "", "python3 -B -c 'import json, os; [json.dumps(list(os.walk(\".\"))) for i in range(200)]'"),
    ("perl", "cat $D/*.h > text", "perl -ne '$n{$_}++ for split; END { print scalar(keys %n), \"\\n\" }' text > words"),
    (
        "sqlite3",
        "",
        "sqlite3 db 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) insert into t select i, hex(i) from n; create index x on t(b)'",
    ),
];

fn main() {
    // Cargo's: programs would look for their libraries in a dozen folders first.
    // SAFETY: there is one thread.
    unsafe { std::env::remove_var("LD_LIBRARY_PATH") };
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let place = std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
    let folder = tempfile::tempdir_in(place).unwrap();
    let data = folder.path().join("data");
    shell(
        folder.path(),
        "mkdir data && cp -rL /usr/include/linux/. data && cp -r /usr/include/asm-generic data",
        &data,
    );
    println!("{:<12} {:>9} {:>9} {:>7} {:>8}  command", "package", "plain s", "recorded", "times", "calls");
    let mut slow = 0;
    for (package, first, command) in COMMANDS {
        if !words.is_empty() && !words.iter().any(|word| package.contains(word.as_str())) {
            continue;
        }
        let program = command.split(' ').next().unwrap();
        if !std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|path| path.join(program).is_file()) {
            println!("{package:<12} skipped: {program} is not installed");
            continue;
        }
        let (mut plain, mut recorded, mut calls) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            plain.push(in_new(folder.path(), first, &data, |work| shell(work, command, &data)));
            recorded.push(in_new(folder.path(), first, &data, |work| {
                let words: Vec<OsString> = ["sh", "-c", &filled(command, &data)].map(Into::into).to_vec();
                let spool = tempfile::tempdir_in(folder.path()).unwrap();
                let command = Command::new(words, work, &[]).unwrap();
                let begin = Instant::now();
                let done = record(command, spool.path(), Path::new("/none"), 4 << 30, &AtomicBool::new(false)).unwrap();
                assert_eq!(done.ended, Ended::Code(0));
                calls = done.calls;
                begin.elapsed()
            }));
        }
        let (plain, recorded) = (median(plain), median(recorded));
        let times = recorded / plain;
        slow += usize::from(times > GOAL);
        let shown: String = command.chars().take(60).collect();
        println!("{package:<12} {plain:>9.3} {recorded:>9.3} {times:>6.2}x {calls:>8}  {shown}");
    }
    println!("slower than {GOAL} times: {slow}");
}

fn filled(command: &str, data: &Path) -> String {
    command.replace("$D", &data.display().to_string())
}

fn shell(work: &Path, command: &str, data: &Path) -> Duration {
    let begin = Instant::now();
    let mut run = std::process::Command::new("sh");
    let status = run.args(["-c", &filled(command, data)]).current_dir(work).stdin(Stdio::null()).status().unwrap();
    let elapsed = begin.elapsed();
    assert!(status.success(), "{command}");
    elapsed
}

fn in_new(folder: &Path, first: &str, data: &Path, run: impl FnOnce(&Path) -> Duration) -> Duration {
    let work = tempfile::tempdir_in(folder).unwrap();
    shell(work.path(), first, data);
    run(work.path())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}
