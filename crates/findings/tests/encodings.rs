//! Each claim tests its sentence: made-up figures that agree with the sentence, and others that a looser or another test
//! would let pass.

mod support;

use ClaimOutcome::{Exceeded, Fails, Holds, NoDifference, NotMeasured, Partly, Reversed};
use mountmark_findings::claims::{ClaimOutcome, Judges};
use mountmark_model::{Claim, Study, Test, protocol_task};
use mountmark_record::{RunId, RunRecord};

use support::sample;
use support::studies::{catalogue, empty, judged};

/// Those of a study that measured none.
const FIVE: [&str; 5] = ["ext2", "ext3", "jfs", "reiserfs", "xfs"];

/// A run of a study's suite in which every figure of a claim is 1, except those in `figures`: lines of file systems,
/// tasks, metric and value, where * stands for all
/// and the last line counts.
fn made(study: &Study, claim: &Claim, at: usize, figures: &str) -> RunRecord {
    let names = &study.runs[at.min(study.runs.len() - 1)].filesystems;
    let names: Vec<&str> = if names.is_empty() { FIVE.into() } else { names.iter().map(String::as_str).collect() };
    let mut run = empty(study.suite.as_ref().unwrap(), &names);
    run.id = RunId::new(["20261121-0345-a1b2", "20251121-0345-a1b2"][at]);
    let mut metrics: Vec<String> = claim.clauses.iter().map(|clause| clause.metric.clone()).collect();
    for clause in &claim.clauses {
        if let Test::Metrics { order, .. } = &clause.test {
            metrics.extend(order.names().map(str::to_owned));
        }
    }
    metrics.sort();
    metrics.dedup();
    let steps = [protocol_task::MKFS, protocol_task::MOUNT, protocol_task::UMOUNT, protocol_task::CAPACITY];
    let is_in = |list: &str, name: &str| list == "*" || list.split(',').any(|one| one == name);
    let given: Vec<Vec<&str>> = figures
        .split(';')
        .map(|line| line.split_whitespace().collect())
        .filter(|line: &Vec<&str>| !line.is_empty())
        .collect();
    let mut used = vec![false; given.len()];
    for cell in &mut run.cells {
        cell.samples.clear();
        let tasks = run.plan.tasks.iter().map(|(task, _)| task.as_str()).chain(steps);
        for (task, metric) in tasks.flat_map(|task| metrics.iter().map(move |metric| (task, metric))) {
            let fits =
                |line: &Vec<&str>| is_in(line[0], &cell.configuration) && is_in(line[1], task) && line[2] == metric;
            let mut value = 1.0;
            for (line, used) in given.iter().zip(&mut used).filter(|(line, _)| fits(line)) {
                (value, *used) = (line[3].parse().unwrap(), true);
            }
            cell.samples.push(sample(task, metric, value));
        }
    }
    assert!(used.iter().all(|used| *used), "{}: {figures}", claim.id);
    run
}

/// The verdict on a claim by made-up figures of a later and an earlier run.
fn verdict(id: &str, later: &str, earlier: &str) -> ClaimOutcome {
    let catalogue = catalogue();
    let mut claims = catalogue.list::<Study>().flat_map(|study| study.claims.iter().map(move |claim| (study, claim)));
    let (study, claim) = claims.find(|(_, claim)| claim.id == id).unwrap();
    let (run, earlier) = (made(study, claim, 0, later), made(study, claim, 1, earlier));
    judged(&Judges { earlier: Some(&earlier), ..Judges::of(&run) })[id].outcome
}

fn check(rows: &[(&str, &str, &str, ClaimOutcome)]) {
    for (id, later, earlier, expected) in rows {
        assert_eq!(verdict(id, later, earlier), *expected, "{id}: {later} | {earlier}");
    }
}

#[test]
fn piszcz() {
    check(&[
        ("P02", "reiserfs mount elapsed 3", "", Holds),
        ("P02", "reiserfs mount elapsed 1.5", "", Partly),
        ("P03", "* capacity capacity_device 98", "", Holds),
        ("P03", "* capacity capacity_device 99.9", "", Fails),
        ("P04", "reiserfs 001 elapsed 0.9", "reiserfs 001 elapsed 0.9", Holds),
        ("P04", "reiserfs 001 elapsed 0.9; jfs 001 elapsed 0.8", "reiserfs 001 elapsed 0.9", Partly),
        ("P04", "reiserfs 001 elapsed 0.9", "jfs 001 elapsed 0.9", Partly),
        ("P05", "reiser4 002 elapsed 2", "xfs 002 elapsed 2", Holds),
        ("P05", "reiser4 002 elapsed 2", "jfs 002 elapsed 2", Partly),
        (
            "P06",
            "ext2,ext3 003 elapsed .2; reiser4 003 elapsed 2",
            "ext2,ext3 003 elapsed .2; xfs 003 elapsed 2",
            Holds,
        ),
        ("P06", "ext2,ext3 003 elapsed .2; reiser4 003 elapsed 2", "ext2,ext3 003 elapsed .2", Partly),
        ("P07", "ext2,ext3 004 elapsed 2", "ext2,ext3 004 elapsed 2", Holds),
        ("P07", "ext2,ext3 004 elapsed 2", "ext2,ext3 004 elapsed .5", Partly),
        ("P08", "reiserfs 005 elapsed 2; reiser4 005 elapsed 3", "xfs 005 elapsed 1.1; ext3 005 elapsed 2", Holds),
        ("P08", "reiserfs 005 elapsed 2; reiser4 005 elapsed 3", "ext3 005 elapsed 2", Partly),
        // Which of the two is slower is not said.
        ("P09", "reiserfs 006 elapsed 9; reiser4 006 elapsed 5", "", Holds),
        ("P10", "xfs 007 elapsed .8", "ext2 007 elapsed .8", Holds),
        ("P10", "xfs 007 elapsed .8", "xfs 007 elapsed .8", Partly),
        ("P11", "xfs 008 elapsed .8", "", Holds),
        ("P11", "xfs 008 elapsed .8", "xfs 008 elapsed .8", Partly),
        ("P12", "ext2,ext3 009 elapsed .8", "reiserfs 009 elapsed .8", Holds),
        ("P12", "ext2,ext3 009 elapsed .8", "ext3 009 elapsed .8", Partly),
        // It wins the test, and had led the journaled ones alone before.
        ("P13", "jfs 010 elapsed .8", "reiserfs 010 elapsed .8; ext2 010 elapsed .5", Holds),
        ("P13", "jfs 010 elapsed .8; ext2 010 elapsed .5", "reiserfs 010 elapsed .8", Partly),
        ("P14", "ext2,ext3 011 elapsed .5", "reiserfs 011 elapsed .5", Holds),
        ("P14", "ext2,ext3 011 elapsed .5; jfs 011 elapsed .4", "reiserfs 011 elapsed .5", Partly),
        ("P15", "reiser4,xfs 012 elapsed 9", "ext3 012 elapsed 2; jfs 012 elapsed 4; xfs 012 elapsed 8", Holds),
        ("P15", "reiser4,xfs 012 elapsed 9", "", Partly),
        ("P15", "reiser4,xfs,jfs 012 elapsed 9", "", Fails),
        ("P16", "ext2 013 elapsed 1.09", "", Holds),
        ("P16", "ext2 013 elapsed 1.2", "", Partly),
        ("P17", "", "ext2 014 elapsed 1.5", Partly),
        ("P17", "* 014 elapsed 1.1", "* 014 elapsed 1.1; ext3 014 elapsed 1.2; ext2 014 elapsed 1", Holds),
    ]);
}

#[test]
fn piszczs_conclusions() {
    let many = "001,002,003,004,005,006,007,008,009,010,011,012";
    check(&[
        (
            "P19",
            "ext2,ext3 020 elapsed .5; reiserfs 020 elapsed 1.6; reiserfs 001,002,003,004,005,006,007,008,009,010,011 elapsed 2",
            "reiserfs 020 elapsed .5",
            Holds,
        ),
        // ext2 and ext3 need not be ahead of Reiser4.
        (
            "P19",
            "reiser4 020 elapsed .3; ext2,ext3 020 elapsed .4; reiserfs 020 elapsed .5",
            "reiserfs 020 elapsed .5",
            Partly,
        ),
        ("P20", "jfs 021 elapsed .95", "jfs 021 elapsed .9", Holds),
        ("P20", "jfs 021 elapsed .95", "xfs 021 elapsed .9", Partly),
        // Now, and not before.
        ("P21", "", "ext3 * elapsed 2", Holds),
        ("P21", "", "", Partly),
        ("P22", "", "xfs * elapsed 2", Holds),
        ("P22", "xfs * elapsed 2", "", Reversed),
        // ReiserFS is slower in three tests, and not the last but one in total.
        ("P23", &format!("reiser4 {many} elapsed 3; reiserfs 001,002,003 elapsed 2; xfs 020 elapsed 9"), "", Holds),
        ("P23", &format!("reiser4 {many} elapsed 3; reiserfs 001,002 elapsed 2; xfs 020 elapsed 9"), "", Partly),
        ("P24", "", "jfs 001,002,003 elapsed 2", Holds),
        ("P24", "", "jfs 001,002 elapsed 2", NoDifference),
    ]);
}

#[test]
fn hans() {
    let xfs =
        "* capacity capacity 99; ext3 capacity capacity 90; xfs mkfs,mount,umount,isocopy,isorecopy,isorm elapsed .5;
        ext3 treecopy elapsed .9; xfs treecopy elapsed .95; xfs list,find elapsed .5; reiserfs list,find cpu_percent 2";
    check(&[
        ("H01", "* capacity capacity 99.5; ext3 capacity capacity 93", "", Holds),
        ("H01", "* capacity capacity 97; ext3 capacity capacity 93", "", Partly),
        // Points of the copies; at the removal one of the others may need much more.
        (
            "H05",
            "* isocopy,isorecopy cpu_percent 50; jfs isocopy,isorecopy cpu_percent 43; reiserfs isorm cpu_percent 49",
            "",
            Holds,
        ),
        ("H05", "* isocopy,isorecopy cpu_percent 50; jfs isocopy,isorecopy cpu_percent 38", "", Partly),
        ("H05", "* isocopy,isorecopy cpu_percent 50; jfs isocopy,isorecopy cpu_percent 47", "", Partly),
        ("H07", "jfs treecopy,treerecopy elapsed 1.1; jfs treecopy,treerecopy cpu_percent .5", "", Holds),
        ("H07", "jfs treecopy,treerecopy elapsed 1.02; jfs treecopy,treerecopy cpu_percent .5", "", Partly),
        ("H09", "reiserfs treerecopy,treerm minor_faults 6; reiserfs list,find minor_faults 3", "", Holds),
        ("H09", "reiserfs treerecopy,treerm minor_faults 2.5; reiserfs list,find minor_faults 3", "", Partly),
        // Two groups, and no order in them.
        (
            "H10",
            "reiserfs,xfs * elapsed .5; xfs * elapsed .4; reiserfs * cpu_percent 3; xfs * cpu_percent 2",
            "",
            Holds,
        ),
        // At finding XFS needs about as much as ext3 and JFS.
        (
            "H10",
            "reiserfs,xfs * elapsed .5; reiserfs * cpu_percent 3; xfs list cpu_percent 2; xfs find cpu_percent .9",
            "",
            Holds,
        ),
        (
            "H10",
            "reiserfs,xfs * elapsed .5; jfs * elapsed .4; reiserfs * cpu_percent 3; xfs * cpu_percent 2",
            "",
            Partly,
        ),
        ("H13", "reiserfs isocopy,isorm,list,find,treecopy minor_faults 2.5", "", Holds),
        // Not one task whose many faults are most of all.
        ("H13", "reiserfs treecopy minor_faults 50", "", Fails),
        ("H14", xfs, "", Holds),
        ("H14", &format!("{xfs}; reiserfs capacity capacity 100; jfs capacity capacity 100.5"), "", Partly),
        ("H14", &format!("{xfs}; xfs treecopy elapsed 2"), "", Partly),
        ("H14", &format!("{xfs}; ext3 find elapsed .4"), "", Partly),
        ("H15", "reiserfs mount elapsed 10", "", Holds),
        ("H15", "reiserfs mount elapsed 4", "", Fails),
        ("H15", "reiserfs mount elapsed 80", "", Exceeded),
        ("H15", "reiserfs mount elapsed 20; xfs mount elapsed 2", "", Exceeded),
        ("H15", "reiserfs mount elapsed 20; xfs mount elapsed 10", "", Partly),
        ("H16", "reiserfs umount elapsed 2", "", Holds),
        ("H17", "jfs,xfs isorm elapsed .01", "", Holds),
        ("H17", "jfs,xfs isorm elapsed .1", "", Fails),
        ("H18", "ext3 treerm elapsed 2", "", Holds),
        ("H19", "xfs mkfs cpu_percent 1.5", "", Holds),
        ("H19", "xfs mkfs cpu_percent 2", "", Partly),
        ("H19", "xfs treecopy cpu_percent 2", "", Partly),
        ("H20", "ext3,xfs umount cpu_percent 2", "", Holds),
        ("H20", "ext3,xfs umount cpu_percent 2; jfs umount cpu_percent 0.5; reiserfs umount cpu_percent 2", "", Partly),
        ("H21", "reiserfs isorm cpu_percent 5", "", Holds),
        ("H22", "reiserfs treerm cpu_percent 6; xfs treerm cpu_percent 4", "", Holds),
        ("H22", "reiserfs treerm cpu_percent 4; xfs treerm cpu_percent 6", "", Partly),
        ("H22", "reiserfs treerm cpu_percent 5", "", Partly),
        ("H23", "reiserfs * minor_faults 1.1", "", Holds),
        ("H23", "reiserfs * minor_faults 3", "", Fails),
        ("H24", "ext3 treerecopy elapsed .8", "", Holds),
        ("H24", "ext3,xfs treerecopy elapsed .8", "", Partly),
        ("H25", "reiserfs treecopy,treerecopy,treerm minor_faults 4", "", Holds),
        ("H25", "reiserfs treecopy,treerecopy,treerm minor_faults 9", "", Exceeded),
        ("H25", "reiserfs treecopy,treerecopy,treerm minor_faults 2", "", Fails),
        ("H26", "reiserfs,xfs list,find cpu_percent 3", "", Holds),
        ("H26", "jfs find cpu_percent 1.5", "", Partly),
        ("H27", "ext3 mkfs elapsed 7", "", Holds),
        ("H27", "ext3 mkfs elapsed 7; reiserfs mkfs elapsed 2", "", Partly),
        ("H28", "xfs isorecopy elapsed .9", "", Holds),
        ("H28", "xfs,jfs isorecopy elapsed .9", "", Partly),
    ]);
}

#[test]
fn linux_magazin() {
    let slow = "ext3:data=journal * rate .5; jfs * rate 2";
    check(&[
        // The second place is the processor's, not the rates'.
        ("LM01", &format!("{slow}; xfs * rate .9; xfs * cpu_percent .5"), "", Holds),
        ("LM01", &format!("{slow}; xfs * rate 1.5"), "", Partly),
        // First in all but one test, and last in that.
        ("LM02", "jfs * rate 2", "", Holds),
        ("LM02", "jfs * rate 2; jfs seq_create rate .5", "", Partly),
        ("LM03", "xfs * cpu_percent .5", "", Holds),
        ("LM03", "xfs * cpu_percent .5; xfs * rate 2", "", Partly),
        ("LM04", "reiserfs * rate 2; ext2 * rate 3", "", Holds),
        ("LM04", "reiserfs * rate 2; ext2,xfs * rate 3", "", Fails),
        (
            "LM11",
            "reiserfs * rate 4; reiserfs,ext3:data=journal put_block_2g rate .8; reiserfs put_block_2g rate 3",
            "",
            Holds,
        ),
        ("LM05", "reiserfs * cpu_percent 1.5; reiserfs seq_del cpu_percent 3", "", Holds),
        ("LM05", "reiserfs * cpu_percent 1.5", "", Partly),
        ("LM06", "jfs * rate 1.2; reiserfs * rate .9; jfs,xfs * cpu_percent 2", "", Holds),
        ("LM06", "jfs * rate 1.5; reiserfs * rate .9; jfs,xfs * cpu_percent 2", "", Partly),
        ("LM06", "ext2 * rate .9; jfs,xfs * cpu_percent 2", "", Partly),
        ("LM13", "xfs put_block_1g rate 2", "", Holds),
        ("LM13", "xfs put_block_1g rate 2; ext2,jfs put_block_1g rate 3", "", Partly),
        ("LM14", "ext2 put_block_4g rate 1.2", "", Holds),
        ("LM14", "ext2 put_block_4g rate 1.05", "", NoDifference),
        ("LM17", "ext3:data=journal,xfs seq_stat rate 2", "", Holds),
        ("LM17", "ext3:data=journal,xfs seq_stat rate 2; xfs seq_stat rate 3", "", Partly),
        ("LM18", "reiserfs seq_del rate 3", "", Holds),
        // In part: twice the rate of one of the others.
        ("LM18", "* seq_del rate 2; ext2 seq_del rate 1; reiserfs seq_del rate 2.5", "", Holds),
        // Random deletes are another claim's.
        ("LM18", "reiserfs seq_del rate 1.1; reiserfs ran_del rate 3", "", Partly),
        ("LM20", "reiserfs ran_stat,ran_del rate 1.2", "", Holds),
        ("LM20", "reiserfs ran_stat,ran_del rate 1.05", "", NoDifference),
        ("LM22", "* seq_del,ran_del cpu_percent .2; xfs,jfs seq_del,ran_del cpu_percent .1", "", Holds),
        ("LM22", "* seq_del,ran_del cpu_percent .15; ext2 seq_del,ran_del cpu_percent .1", "", Partly),
        // A relation, not a rate.
        ("LM25", "xfs frewrite_2g rate .8; xfs fwrite_2g rate .5", "", Holds),
        ("LM25", "xfs frewrite_2g,fwrite_2g rate 5", "", NoDifference),
        // Even within each file system; these need not be equal.
        ("LM30", "jfs * rate 5", "", Holds),
        ("LM30", "* random_read_2g_64k rate .1", "", Partly),
        ("LM32", "jfs * rate 2; ext2,xfs put_block_4g rate 5", "", Holds),
        ("LM32", "jfs * rate 2; ext2,xfs,reiserfs put_block_4g rate 5", "", Partly),
        ("LM23", "reiserfs seq_del,ran_del cpu_percent 99.5", "", Holds),
        ("LM29", "* random_read_2g,stride_read_2g rate 2; * random_read_2g_16m,stride_read_2g_16m rate 3", "", Holds),
        ("LM29", "* random_read_2g_16m,stride_read_2g_16m rate 3", "", Partly),
        ("LM33", "jfs fwrite_2g,frewrite_2g rate 2; jfs fwrite_4g,frewrite_4g rate 3", "", Holds),
        ("LM33", "jfs put_block_4g rate 2", "", Partly),
        ("LM34", "ext2 seq_create,seq_stat rate 2; xfs seq_create,seq_stat rate .5", "", Holds),
        ("LM34", "reiserfs seq_create,seq_stat rate 2", "", Partly),
        ("LM36", "xfs put_block_1g rate 3; xfs put_block_2g rate 2", "", Holds),
        ("LM36", "xfs put_block_1g rate 3", "", Partly),
        ("LM37", "ext2 ran_create rate 4", "", Holds),
        ("LM37", "ext2 ran_create rate 9", "", Exceeded),
        // ext3 itself was not among the study's file systems.
        ("LM35", "", "", NotMeasured),
    ]);
}

#[test]
fn journals() {
    let more = "ext3,jfs,reiserfs,xfs * written_bytes 2; ext3,jfs,reiserfs,xfs * write_requests 2";
    check(&[
        ("J05", &format!("{more}; ext3,jfs,reiserfs,xfs * flushes 2"), "", Holds),
        ("J05", more, "", Partly),
        ("J07", "jfs 007,008,013,021 elapsed .5", "", Holds),
        // Copies that share blocks are no faster work on large files.
        ("J07", "xfs 012,014 elapsed .01", "", NoDifference),
        ("J21", "ext3 * elapsed 2; ext3 * durable 2", "", Holds),
        ("J21", "ext3 * elapsed 2; ext3 * durable .5", "", Partly),
    ]);
}
