//! Phases that run at the same time, and files created anew.

use std::fs;

use mountmark_model::workload::Operation;

use super::*;

#[test]
fn groups_run_together_each_in_its_own_way() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
files = { count = 4, size = "64 KiB" }

[[phases]]
name = "fill"
what = "write"
setup = true

[[phases]]
name = "readers"
what = "read"
pattern = "random"
block = 2048
threads = 3
shared = true
run = { seconds = 0.3 }

[[phases]]
name = "writers"
beside = true
what = "write"
pattern = "random"
threads = 2
shared = true
sync = { every = 1 }
run = { operations = 10 }

[[phases]]
name = "log"
beside = true
what = "write"
files = { prefix = "log", size = "1 MiB" }
block = "16 KiB"
rate = 100
run = "beside"

[[phases]]
name = "after"
what = "read"
"#;
    let phases = well(text, folder.path());
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["fill", "readers", "writers", "log", "after"]);
    let [_, readers, writers, log, after] = &phases[..] else { panic!() };
    assert!(readers.seconds >= 0.3 && of(readers, Operation::Read).count > 100);
    assert_eq!((readers.threads.len(), writers.threads.len(), log.threads.len()), (3, 2, 0));
    assert_eq!((of(writers, Operation::Write).count, of(writers, Operation::Fsync).count), (10, 10));
    // It ends after the readers and does what its rate allows in that time: at least one, at most a few more.
    let written = of(log, Operation::Write).count;
    assert!(
        log.seconds >= 0.25 && (1..=(log.seconds * 100.0) as u64 + 1).contains(&written),
        "{written}, {}",
        log.seconds
    );
    assert_eq!(of(after, Operation::Read).bytes, 4 << 16);
    assert!(fs::metadata(folder.path().join("log00000000")).unwrap().len() >= 16 << 10);
}

#[test]
fn a_group_in_the_background_ends_although_it_does_not_look_at_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let text = "files = { size = \"64 KiB\" }\n[[phases]]\nname = \"a\"\nwhat = \"write\"\n[[phases]]\nname = \"b\"\n\
                what = \"write\"\nbeside = true\nfiles = { prefix = \"b\", size = \"1 MiB\" }\nlatency = false\nrun = \"beside\"\n";
    let phases = well(text, folder.path());
    assert_eq!(of(&phases[0], Operation::Write).count, 16);
    assert!(phases[1].seconds < 60.0);
}

#[test]
fn fresh_files_are_made_anew_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = "files = { count = 2, size = \"8 KiB\" }\n[[phases]]\nname = \"a\"\nwhat = \"write\"\nfresh = true\n";
    let number = || fs::metadata(folder.path().join("f00000001")).unwrap().ino();
    well(text, folder.path());
    // A second name keeps the first file, so that its inode number is not reused.
    fs::hard_link(folder.path().join("f00000001"), folder.path().join("kept")).unwrap();
    let before = number();
    well(text, folder.path());
    assert_ne!(number(), before);
    assert_eq!(fs::metadata(folder.path().join("f00000000")).unwrap().len(), 8192);
}

#[test]
fn syncs_count_what_the_policy_says() {
    let folder = tempfile::tempdir().unwrap();
    let phase = |name: &str, more: &str| {
        format!(
            "[[phases]]\nname = \"{name}\"\nwhat = {{ read = 1, write = 1 }}\npattern = \"random\"\n\
             run = {{ operations = 400 }}\nsync = {{ every = 100{more} }}\n"
        )
    };
    let text = format!(
        "files = {{ size = \"1 MiB\" }}\n[[phases]]\nname = \"fill\"\nwhat = \"write\"\n{}{}",
        phase("writes", ""),
        phase("all", ", all_operations = true")
    );
    let phases = well(&text, folder.path());
    let writes = of(&phases[1], Operation::Write).count;
    assert_eq!(of(&phases[1], Operation::Fsync).count, writes / 100);
    assert_eq!(of(&phases[2], Operation::Fsync).count, 4);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said =
        |text: &str| run(&workload(text), folder.path(), &options(), &mut History::default()).unwrap_err().to_string();
    let phase = |name: &str, more: &str| {
        format!(
            "[[phases]]\nname = \"{name}\"\nwhat = \"write\"\nfiles = {{ size = 4096, prefix = \"{name}\" }}\n{more}\n"
        )
    };
    assert!(said(&phase("a", "beside = true")).contains("no phase before it"));
    assert!(said(&phase("a", "run = \"beside\"")).contains("no phase beside it ends by itself"));
    let beside = |more: &str| phase("a", "") + &phase("b", &format!("beside = true\n{more}"));
    assert!(said(&beside("processes = true")).contains("leave out processes"));
    assert!(said(&beside("verify = true")).contains("leave out verify"));
    assert!(said(&beside("run = \"beside\"\nwarm_up = 1")).contains("no warm_up"));
}
