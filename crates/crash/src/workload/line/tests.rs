use super::*;
use crate::workload::{MOST_BYTES, MOST_OPS, check};

const PAGE: &str = include_str!("../../../../../docs/reference/workloads.md");

#[test]
fn the_reference_has_each_operation_as_it_is_written_and_its_examples_work() {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let written: Vec<String> = rows.map(|(form, _)| form.replace("\\|", "|")).collect();
    assert_eq!(written, FORMS);
    let blocks = PAGE.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let examples: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let workload: Workload = example.parse().unwrap_or_else(|error| panic!("{error}"));
        check(&workload).unwrap_or_else(|fault| panic!("{example}: {fault}"));
        assert_eq!(workload.to_string(), example, "it is shown as it is written");
    }
    let bounds = [MOST_OPS.to_string(), (MOST_BYTES >> 20).to_string() + " MiB"];
    assert!(bounds.iter().all(|bound| PAGE.contains(bound)), "{bounds:?}");
}

#[test]
fn nodes_are_written_with_their_device() {
    for (text, error) in [
        ("mknod node char 1:3", ""),
        ("mknod node block 7:200; mkfifo fifo; sync | rename fifo bar; chmod node 0600; fsync .", ""),
        ("mknod node pipe 1:3", "\"pipe\" is none of char, block"),
        ("mknod node char 1", "\"1\" are no numbers of a device, such as 1:3"),
        ("mknod node char +1:3", "no numbers of a device"),
        ("mknod node", "it is written mknod PATH char|block MAJOR:MINOR"),
    ] {
        match text.parse::<Workload>() {
            Ok(workload) => {
                check(&workload).unwrap();
                assert_eq!((workload.to_string().as_str(), error), (text, ""));
            }
            Err(wrong) => {
                assert!(!error.is_empty() && wrong.to_string().contains(error), "{text}: {wrong}");
            }
        }
    }
    for (text, error) in [
        ("mknod node char 256:0", "beyond 255:255"),
        ("mkfifo fifo; fsync fifo", "not a plain file"),
        ("mkfifo fifo; write fifo 0+8", "not a plain file"),
        ("mkfifo fifo; mkfifo fifo", "something is there already"),
        ("symlink a s; chmod s 0600", "not a plain file"),
    ] {
        let fault = check(&text.parse().unwrap()).unwrap_err().to_string();
        assert!(fault.contains(error), "{text}: {fault}");
    }
}

#[test]
fn the_stage_ends_with_a_sync_that_runs_and_is_shown() {
    for (text, shown, begin) in [
        ("creat bar; mkdir B | rename bar B/foo", "creat bar; mkdir B; sync | rename bar B/foo", 3),
        ("creat bar; sync | unlink bar", "creat bar; sync | unlink bar", 2),
        ("creat bar; sync; mkdir B | unlink bar", "creat bar; sync; mkdir B; sync | unlink bar", 4),
        (" | creat bar", "creat bar", 0),
        ("creat bar; unlink bar", "creat bar; unlink bar", 0),
    ] {
        let workload: Workload = text.parse().unwrap();
        check(&workload).unwrap();
        assert_eq!((workload.to_string().as_str(), workload.recorded), (shown, begin), "{text}");
        assert_eq!(workload.staging().map(|sync| &workload.ops[usize::from(sync)]), (begin > 0).then_some(&Op::Sync));
        assert_eq!(shown.parse::<Workload>().unwrap(), workload);
    }
    let mut unsynced: Workload = "creat bar; sync | unlink bar".parse().unwrap();
    unsynced.ops.remove(1);
    unsynced.recorded = 1;
    unsynced.ops.push(Op::Sync);
    assert!(check(&unsynced).unwrap_err().to_string().contains("does not end with sync"));
}
