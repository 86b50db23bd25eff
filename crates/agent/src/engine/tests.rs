//! The engine as a whole, on a temporary folder and on a loop-mounted ext4.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use mountmark_model::workload::{Operation, OperationResult, PhaseResult};

use super::*;

mod groups;
mod listed;
mod mounted;
mod refusals;
mod suites;
mod syncs;
mod verified;

pub(super) fn workload(text: &str) -> Workload {
    toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(super) fn options() -> Options {
    // The test program itself plays the worker process.
    let worker = ["engine::tests::as_worker", "--exact", "--ignored", "--nocapture"];
    Options { seed: 7, worker: worker.map(Into::into).into(), ..Options::default() }
}

/// Not a test: the main function of the tests' worker processes.
#[test]
#[ignore = "started by other tests as a worker process"]
fn as_worker() {
    worker_main();
}

pub(super) fn done(text: &str, folder: &Path) -> Vec<PhaseResult> {
    run(&workload(text), folder, &options(), &mut History::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .phases
}

/// Runs the workload and asserts that no operation failed.
pub(super) fn well(text: &str, folder: &Path) -> Vec<PhaseResult> {
    let phases = done(text, folder);
    for phase in &phases {
        assert!(phase.errors.is_empty(), "{}: {:?}", phase.name, phase.errors);
        assert!(phase.operations.iter().all(|operation| operation.errors == 0), "{}", phase.name);
    }
    phases
}

pub(super) fn of(phase: &PhaseResult, operation: Operation) -> &OperationResult {
    let found = phase.operations.iter().find(|result| result.operation == operation);
    found.unwrap_or_else(|| panic!("{}: no {}", phase.name, operation.name()))
}

#[test]
fn every_engine_verifies_what_it_wrote_and_what_others_wrote() {
    for writer in ["psync", "uring", "mmap", "stdio"] {
        let folder = tempfile::tempdir().unwrap();
        let mut text = format!(
            "files = {{ count = 3, size = 100_000, folder = \"set\" }}\n\
             [[phases]]\nname = \"put\"\nwhat = \"write\"\nengine = \"{writer}\"\nverify = true\nsync = {{ end = true }}\n"
        );
        let depth = if writer == "uring" { "queue_depth = 8\n" } else { "" };
        text += depth;
        for (reader, more) in [("psync", ""), ("uring", "queue_depth = 8\n"), ("mmap", ""), ("stdio", "")] {
            text += &format!(
                "[[phases]]\nname = \"get-{reader}\"\nwhat = \"read\"\nengine = \"{reader}\"\nverify = true\n\
                 pattern = \"shuffled\"\n{more}"
            );
        }
        let phases = well(&text, folder.path());
        let syncs = of(&phases[0], Operation::Fsync);
        assert_eq!((syncs.count, of(&phases[0], Operation::Write).bytes), (3, 300_000), "{writer}");
        for phase in &phases[1..] {
            assert_eq!(phase.verified_bytes, 300_000, "{writer}, {}", phase.name);
            let read = of(phase, Operation::Read);
            assert_eq!((read.count, read.bytes), (75, 300_000));
            assert_eq!(read.latency.as_ref().map(|latency| latency.count), Some(75));
            assert_eq!(phase.series.points.iter().map(|point| point.bytes).sum::<u64>(), 300_000);
        }
        for file in 0..3 {
            assert_eq!(fs::metadata(folder.path().join(format!("set/f{file:08}"))).unwrap().len(), 100_000);
        }
    }
}

#[test]
fn the_life_of_names() {
    let folder = tempfile::tempdir().unwrap();
    names_live(folder.path());
}

/// Every operation on names, and the files that are left.
pub(super) fn names_live(folder: &Path) {
    let files = "files = { folder = \"n\", count = 100, directories = 7, names = \"random\" }\n";
    let mut text = files.to_owned();
    let steps = ["create", "stat", "open", "readdir", "chmod", "link", "rename"];
    for name in steps {
        let target = if name == "rename" { "target = \"r\"\n" } else { "" };
        text += &format!("[[phases]]\nname = \"{name}\"\nwhat = \"{name}\"\npattern = \"shuffled\"\n{target}");
    }
    let phases = well(&text, folder);
    for (phase, name) in phases.iter().zip(steps) {
        let expected = if name == "readdir" { 7 } else { 100 };
        assert_eq!(phase.operations.iter().map(|o| o.count).sum::<u64>(), expected, "{name}");
        assert_eq!(phase.operations.iter().map(|o| o.bytes).sum::<u64>(), 0, "{name}");
    }
    let census = |folder: &Path| {
        let mut letters = BTreeMap::new();
        for directory in fs::read_dir(folder.join("n")).unwrap() {
            for entry in fs::read_dir(directory.unwrap().path()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                *letters.entry(name.chars().next().unwrap()).or_insert(0) += 1;
            }
        }
        letters
    };
    // `link` added second names that begin with t, `rename` turned f into r.
    assert_eq!(census(folder), BTreeMap::from([('r', 100), ('t', 100)]));
    let one = fs::read_dir(folder.join("n/d00000000")).unwrap().next().unwrap().unwrap();
    assert_eq!(one.metadata().unwrap().nlink(), 2);
    let renamed = files.replace("count", "prefix = \"r\", count");
    let linked = files.replace("count", "prefix = \"t\", count");
    for set in [&renamed, &linked] {
        well(&format!("{set}[[phases]]\nname = \"rm\"\nwhat = \"unlink\"\n"), folder);
    }
    assert_eq!(census(folder), BTreeMap::new());
    let directories = "files = { folder = \"m\", count = 50 }\n";
    well(&format!("{directories}[[phases]]\nname = \"a\"\nwhat = \"mkdir\"\n"), folder);
    assert_eq!(fs::read_dir(folder.join("m")).unwrap().count(), 50);
    well(&format!("{directories}[[phases]]\nname = \"a\"\nwhat = \"rmdir\"\npattern = \"backward\"\n"), folder);
    assert_eq!(fs::read_dir(folder.join("m")).unwrap().count(), 0);
    let links = "files = { folder = \"s\", count = 10 }\n";
    well(
        &format!("{links}[[phases]]\nname = \"a\"\nwhat = \"create\"\n[[phases]]\nname = \"b\"\nwhat = \"symlink\"\n"),
        folder,
    );
    assert!(fs::symlink_metadata(folder.join("s/t00000003")).unwrap().is_symlink());
}

#[test]
fn whole_files_are_written_read_copied_and_cut() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        files = { count = 40, directories = 3, sizes = { lognormal = { mu = 9.0, sigma = 1.5, min = 0, max = "1 MiB" } } }
        [[phases]]
        name = "put"
        what = "write-file"
        block = "16 KiB"
        verify = true
        sync = { every = 1 }
        [[phases]]
        name = "get"
        what = "read-file"
        pattern = "shuffled"
        threads = 3
        verify = true
        [[phases]]
        name = "copy"
        what = "copy-file"
        block = "1 MiB"
        [[phases]]
        name = "get-copies"
        what = "read-file"
        files = { count = 40, directories = 3, prefix = "t", sizes = { lognormal = { mu = 9.0, sigma = 1.5, min = 0, max = "1 MiB" } } }
        verify = true
        [[phases]]
        name = "append"
        what = "append-file"
        block = 1000
        [[phases]]
        name = "cut"
        what = "truncate"
        [[phases]]
        name = "existing"
        what = "read-file"
        files = { existing = true }
    "#;
    let phases = well(text, folder.path());
    let written = of(&phases[0], Operation::WriteFile);
    assert!(written.count == 40 && written.bytes > 0);
    // Each file is synced before it is closed.
    let syncs = of(&phases[0], Operation::Fsync);
    assert_eq!((syncs.count, syncs.latency.as_ref().map(|latency| latency.count)), (40, Some(40)));
    assert_eq!(phases[1].verified_bytes, written.bytes);
    assert_eq!(of(&phases[2], Operation::CopyFile).bytes, written.bytes);
    assert_eq!(phases[3].verified_bytes, written.bytes);
    assert_eq!(of(&phases[4], Operation::AppendFile).bytes, 40_000);
    let existing = of(&phases[6], Operation::ReadFile);
    // Truncating removed the appended bytes.
    assert_eq!((existing.count, existing.bytes), (80, 2 * written.bytes));
    assert_eq!(phases[1].threads.len(), 3);
}

#[test]
fn a_mix_makes_and_removes_without_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        files = { count = 200, directories = 4, sizes = { uniform = { min = 500, max = 10_000 } } }
        [[phases]]
        name = "half"
        what = "write-file"
        pattern = "shuffled"
        run = { operations = 100 }
        setup = true
        [[phases]]
        name = "transactions"
        what = { write-file = 3, unlink = 3, read-file = 5, append-file = 5, stat = 2 }
        block = 512
        threads = 2
        pattern = "random"
        run = { operations = 3000 }
    "#;
    let phases = well(text, folder.path());
    assert!(phases[0].setup && !phases[1].setup);
    let total: u64 = phases[1].operations.iter().map(|operation| operation.count).sum();
    assert_eq!(total, 3000);
    // 5 of 18 each; six standard deviations are 147.
    for operation in [Operation::ReadFile, Operation::AppendFile] {
        assert!(of(&phases[1], operation).count.abs_diff(833) < 147, "{:?}", phases[1].operations);
    }
    let there: u64 = (0..4).map(|d| fs::read_dir(folder.path().join(format!("d{d:08}"))).unwrap().count() as u64).sum();
    let made = of(&phases[1], Operation::WriteFile).count;
    assert_eq!(there, 100 + made - of(&phases[1], Operation::Unlink).count);
}

#[test]
fn processes_find_what_threads_find() {
    let folder = tempfile::tempdir().unwrap();
    let text = |processes| {
        format!(
            "files = {{ count = 4, size = \"1 MiB\", folder = \"{processes}\" }}\n\
             [[phases]]\nname = \"put\"\nwhat = \"write\"\nthreads = 4\nprocesses = {processes}\nverify = true\n\
             [[phases]]\nname = \"seeks\"\nwhat = \"read\"\nthreads = 3\nshared = true\nprocesses = {processes}\n\
             pattern = \"random\"\nrun = {{ operations = 20_000 }}\nverify = true\n\
             [[phases]]\nname = \"mixed\"\nwhat = {{ read = 9, rewrite = 1 }}\nthreads = 3\nprocesses = {processes}\n\
             pattern = \"random\"\nrun = {{ operations = 20_000 }}\nverify = true\n"
        )
    };
    for processes in [false, true] {
        let phases = well(&text(processes), folder.path());
        assert_eq!(of(&phases[0], Operation::Write).bytes, 4 << 20);
        assert_eq!(phases[0].threads.len(), 4);
        assert!(phases[0].threads.iter().all(|thread| thread.operations[0].bytes == 1 << 20));
        let [_, seeks, mixed] = &phases[..] else { panic!("{} phases", phases.len()) };
        assert_eq!(of(seeks, Operation::Read).count, 20_000);
        assert_eq!(of(mixed, Operation::Read).count + of(mixed, Operation::Rewrite).count, 20_000);
        for phase in [seeks, mixed] {
            assert_eq!(phase.verified_bytes, 20_000 * 4096);
            // Long enough for kernels that count processor time in ticks.
            assert!(phase.seconds > 0.0 && phase.user_seconds + phase.system_seconds > 0.0);
        }
    }
    let file = |processes: bool| fs::read(folder.path().join(format!("{processes}/f00000003"))).unwrap();
    assert_eq!(file(false).len(), file(true).len());
}

#[test]
fn a_worker_that_breaks_down_is_told_about() {
    let folder = tempfile::tempdir().unwrap();
    let text = "files = { size = 4096 }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\nprocesses = true\n";
    let broken = Options { worker: vec!["--list".into()], ..options() };
    let error = run(&workload(text), folder.path(), &broken, &mut History::default()).unwrap_err().to_string();
    assert!(error.contains("worker process 0 ended before its work was done"), "{error}");
}

#[test]
fn times_rates_syncs_and_warm_ups_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let set = "files = { count = 2, size = \"256 KiB\" }\n";
    let text = format!(
        "{set}[[phases]]\nname = \"put\"\nwhat = \"write\"\nsync = {{ every = 16, data_only = true }}\n\
         [[phases]]\nname = \"timed\"\nwhat = \"read\"\npattern = \"random\"\nrun = {{ seconds = 0.2 }}\nwarm_up = 0.1\n\
         [[phases]]\nname = \"paced\"\nwhat = \"read\"\npattern = \"random\"\nrun = {{ operations = 100 }}\nrate = 200\nthreads = 2\n\
         [[phases]]\nname = \"quick\"\nwhat = \"read\"\nlatency = false\nrun = {{ passes = 3 }}\n\
         [[phases]]\nname = \"ringed\"\nwhat = \"write\"\nengine = \"uring\"\nqueue_depth = 4\nsync = {{ every = 16 }}\n\
         [[phases]]\nname = \"paced-ring\"\nwhat = \"read\"\nengine = \"uring\"\nqueue_depth = 4\nrate = 200\n\
         run = {{ operations = 50 }}\n"
    );
    let begin = Instant::now();
    let phases = well(&text, folder.path());
    let elapsed = begin.elapsed().as_secs_f64();
    assert_eq!(of(&phases[0], Operation::Fsync).count, 8);
    assert!(phases[1].seconds >= 0.2, "{}", phases[1].seconds);
    // The warm-up is beside all that counts, however busy the machine is.
    let counted: f64 = phases.iter().map(|phase| phase.seconds).sum();
    assert!(elapsed >= counted + 0.1, "{elapsed} s, of which {counted} count");
    assert!(of(&phases[1], Operation::Read).count > 1000);
    // Two threads, each an operation every 10 ms: the last is due after 490 ms, however busy the machine is.
    assert_eq!(of(&phases[2], Operation::Read).count, 100);
    assert!(phases[2].seconds >= 0.49, "{}", phases[2].seconds);
    let quick = of(&phases[3], Operation::Read);
    assert!(quick.count == 3 * 128 && quick.latency.is_none() && phases[3].series.points.is_empty());
    assert_eq!((of(&phases[4], Operation::Write).count, of(&phases[4], Operation::Fsync).count), (128, 8));
    assert_eq!(of(&phases[5], Operation::Read).count, 50);
    assert!(phases[5].seconds >= 0.24, "{}", phases[5].seconds);
}

#[test]
fn patterns_of_old_programs_do_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let set = "files = { count = 1, size = 50_000 }\n";
    let mut text = set.to_owned();
    for (name, what, engine, pattern) in [
        ("putc", "write", "stdio", "\"per-character\""),
        ("getc", "read", "stdio", "\"per-character\""),
        ("write1", "write", "psync", "\"per-character\""),
        ("read1", "read", "psync", "\"per-character\""),
        ("fwrite", "write", "stdio", "\"sequential\""),
        ("fread", "read", "stdio", "\"backward\""),
        ("stride", "read", "psync", "{ strided = 5 }"),
        ("record", "write", "psync", "\"same-record\""),
        ("append", "write", "psync", "\"append\""),
        ("append-ring", "write", "uring", "\"append\""),
        ("append-stdio", "write", "stdio", "\"append\""),
    ] {
        text +=
            &format!("[[phases]]\nname = \"{name}\"\nwhat = \"{what}\"\nengine = \"{engine}\"\npattern = {pattern}\n");
    }
    let phases = well(&text, folder.path());
    for phase in &phases {
        let expected = if phase.name == "record" { 13 * 4096 } else { 50_000 };
        assert_eq!(phase.operations[0].bytes, expected, "{}", phase.name);
    }
    assert_eq!(fs::metadata(folder.path().join("f00000000")).unwrap().len(), 4 * 50_000);
}

#[test]
fn results_are_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let text = "files = { size = 8192 }\n[[phases]]\nname = \"put\"\nwhat = \"write\"\n";
    let result = run(&workload(text), folder.path(), &options(), &mut History::default()).unwrap();
    let json = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<WorkloadResult>(&json).unwrap(), result);
    assert!(["tsc", "monotonic"].contains(&result.clock.as_str()));
}
