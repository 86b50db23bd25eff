//! Sentences about synthetic runs.

use mountmark_model::{Down, Lab, Outcome, Restart, Scale, Study, Task, Up};
use mountmark_record::{RunRecord, RunStatus, TaskOutcome};

use crate::analysis::findings;
use crate::changes::find::changes;
use crate::claims::find::{Judges, Reach, judge_claims};
use crate::found::Findings;
use crate::options::Options;
use crate::tests::{run, sample};
use crate::{changes, claims, missing, overview, remarks, studies, verdicts};

const NAMES: [&str; 4] = ["ext4", "xfs", "jfs", "btrfs"];

/// A run of the first `count` of [`NAMES`] in which `figure(configuration, repeat)` is the durable time of task 001.
fn timed(count: usize, repeats: u32, figure: impl Fn(usize, u32) -> f64) -> RunRecord {
    let mut record = run(&NAMES[..count], repeats);
    record.plan.tasks.truncate(1);
    record.plan.scale = Scale::ONE;
    for cell in &mut record.cells {
        let value = figure(cell.index as usize % count, cell.repeat);
        cell.samples = vec![sample("001", "durable", value)].into();
    }
    record
}

/// Three file systems at two tasks of fs_mark, with rates of which the first is the best.
fn rated(repeats: u32) -> RunRecord {
    let mut record = timed(3, repeats, |configuration, _| 10.0 / (1 + configuration) as f64);
    record.plan.tasks = vec![("001".into(), "create".into()), ("002".into(), "002".into())];
    let task = |id: &str| serde_json::json!({"id": id, "title": id, "program": "fs_mark"});
    record.plan.cells[0].tasks =
        serde_json::from_value::<Vec<Task>>(serde_json::json!([task("001"), task("002")])).unwrap().into();
    for cell in &mut record.cells {
        let value = 4000.0 / (1 + cell.index % 3) as f64 + f64::from(cell.repeat);
        cell.samples.extend(["001", "002"].map(|task| sample(task, "rate", value)));
    }
    record
}

fn found(run: &RunRecord) -> Findings {
    findings(run, &Options::default())
}

/// The sentence about task 001.
fn said(found: &Findings) -> String {
    let task = found.tasks.iter().find(|task| task.id == "001").unwrap();
    verdicts::say::sentence(found, task.judged().unwrap())
}

#[test]
fn processor_times_are_told_where_times_show_nothing() {
    let noise = |configuration: usize, repeat: u32| ((configuration as u32 * 7 + repeat * 5) % 11) as f64 / 5.0;
    let mut record = timed(2, 12, |configuration, repeat| 4.0 + noise(configuration, repeat));
    record.plan.lab = Lab::Host;
    for cell in &mut record.cells {
        let more = if cell.index % 2 == 1 { 1.05 } else { 1.0 };
        let value = more * (1.0 + f64::from(cell.index % 5) / 1000.0);
        cell.samples.extend(["user", "system"].map(|metric| sample("001", metric, value)));
    }
    let found = found(&record);
    let task = found.tasks.iter().find(|task| task.id == "001").unwrap();
    let said = verdicts::say::sentences(&found, task, task.judged().unwrap());
    assert!(said.starts_with("Durable time: no difference is shown"), "{said}");
    let processor =
        "Processor time of its programs: ext4 has the least with 2.00 s; the next is xfs with 2.10 s: 1.05 times";
    assert!(said.contains(processor), "{said}");
    let conclusion = "No difference in time is shown in 1 test, but one in the processor time of the programs: 001.";
    assert!(overview::say::sentences(&found).iter().any(|said| said == conclusion));
    let remark = "What the kernel's threads or a file system's own server do is not in it";
    assert!(remarks::say::sentences(&found).iter().any(|said| said.contains(remark)));
    assert!(!said.contains("depends"), "{said}");
}

#[test]
fn a_winner_is_named_with_the_next_and_their_distance() {
    let found = found(&timed(2, 3, |configuration, repeat| [2.0, 3.0][configuration] + f64::from(repeat) / 100.0));
    let text = said(&found);
    assert!(text.starts_with("Durable time: ext4 is fastest with 2.01 s; the next is xfs with 3.01 s: 1.50"), "{text}");
    assert!(text.ends_with(" times that (95 %: 1.49 to 1.50)."), "{text}");
    let first = &overview::say::sentences(&found)[0];
    assert!(
        first.starts_with(
            "In the one test, ext4 took the least durable time and was the best in every test; next is xfs, on average "
        ),
        "{first}"
    );
}

#[test]
fn rates_have_their_unit_and_are_reached() {
    let found = found(&rated(3));
    let text = said(&found);
    assert!(text.starts_with("Rate: ext4 is fastest with 4,001 ops/s; the next is xfs with 2,001"), "{text}");
    assert!(text.contains(": 0.50 of that (95 %: "), "{text}");
    let all = overview::say::sentences(&found).join("\n");
    assert!(
        all.contains(
            "Over all 2 tests, ext4 was fastest (by rate) and was the best in every test; next is xfs, on average "
        ),
        "{all}"
    );
    assert!(all.contains("Of 2 tests, ext4 is fastest in 2."), "{all}");
    assert!(all.contains("001 (create): ext4 reached 4,001 ops/s; jfs reached 1,334"), "{all}");
    assert!(!all.contains("took") && !all.contains("composite"), "{all}");
}

#[test]
fn one_repeat_is_told_in_the_past_tense() {
    let found = found(&rated(1));
    let all = overview::say::sentences(&found);
    assert!(
        all[0].starts_with("Over all 2 tests, in one repeat, ext4 was fastest (by rate)")
            && all[1].starts_with("This run has one repeat.")
            && all[1].contains("cannot show that file systems differ"),
        "{all:?}"
    );
    assert!(all.contains(&"Of 2 tests, ext4 had the best figure in 2.".to_owned()), "{all:?}");
    assert!(all.iter().all(|sentence| !sentence.contains(" is fastest") && !sentence.contains("%:")), "{all:?}");
    let text = said(&found);
    assert!(text.starts_with("Rate in this one repeat: ext4 4,000 ops/s, xfs 2,000 ops/s, "), "{text}");
    assert!(text.ends_with(". One repeat cannot show a difference."), "{text}");
    assert!(
        remarks::say::sentences(&found)[0].starts_with("One repeat: no intervals, no verdicts. The figures are exact")
    );
    let mut host = rated(1);
    host.plan.lab = Lab::Host;
    assert!(
        remarks::say::sentences(&self::found(&host))[0]
            .ends_with("Only more repeats can tell differences from noise (--repeat 5).")
    );
}

#[test]
fn a_shared_first_place_is_not_a_win() {
    let noise = |configuration: usize, repeat: u32| 0.004 * f64::from((repeat * 7 + configuration as u32 * 3) % 5);
    let found = found(&timed(4, 5, |one, repeat| [1.0, 1.0, 1.2, 1.3][one] + noise(one, repeat)));
    let text = said(&found);
    let shared = "Durable time: ext4 (1.01 s) and xfs (1.01 s) share the first place: no difference between them is shown; \
                  all others are slower, and the next is jfs (1.21 s).";
    assert_eq!(text, shared);
    let all = overview::say::sentences(&found);
    assert!(all[0].contains("ext4 and xfs are level: on average (geometric mean) 1.00"), "{all:?}");
    assert!(all[0].contains("; last is btrfs with 1.30 "), "{all:?}");
    assert_eq!(all[1], "Of 1 test, several come first, in no order that is shown, in 1.");
}

#[test]
fn what_is_not_shown_is_said_with_what_could_have_been() {
    let found = found(&timed(3, 3, |_, repeat| 1.0 + f64::from(repeat) / 10.0));
    let text = said(&found);
    assert_eq!(text, "Durable time: no difference of 1 % or more is shown (medians 1.10 s to 1.10 s).");
    let first = &overview::say::sentences(&found)[0];
    assert!(
        first.contains("all 3 file systems are level: on average (geometric mean) they are less than 1 % apart"),
        "{first}"
    );
    // A small difference that is shown hides no large one that is not shown.
    let wild = |repeat: u32| [0.7, 1.4, 0.9, 1.5, 1.0][repeat as usize];
    let found = self::found(&timed(3, 5, |one, repeat| [1.0, 1.005, 1.1 * wild(repeat)][one]));
    let text = said(&found);
    assert!(text.contains(": no difference that matters is shown (medians 1.00 s to 1.10 s); one of "), "{text}");
    assert!(text.ends_with(" would be detected in four cases of five."), "{text}");
}

#[test]
fn what_could_have_been_detected_is_no_nonsense() {
    let noise = |repeat: u32, size: f64| [1.0, 1.0 + size, 1.0 + size / 3.0][repeat as usize];
    let text = |size: f64| {
        // Each configuration varies by itself, so that the spread of their ratio is the noise.
        said(&found(&timed(3, 3, |one, repeat| noise((repeat + one as u32) % 3, size))))
    };
    let ending = |size: f64| text(size).split("); ").last().map(str::to_owned).unwrap_or_default();
    assert!(ending(0.1).contains(" % would be detected in four cases of five."), "{}", text(0.1));
    let times = ending(1.0);
    assert!(times.starts_with("one of ") && times.contains(" times would be detected"), "{times}");
    assert_eq!(ending(40.0), "the repeats spread so far that even one of 10 times could be missed.");
}

#[test]
fn who_could_not_be_compared_is_named() {
    let mut record = timed(3, 5, |one, repeat| [1.0, 1.3, 3.0][one] * (1.0 + 0.001 * f64::from(repeat % 3)));
    record.cells.retain(|cell| cell.configuration != "jfs" || cell.repeat == 0);
    let text = said(&found(&record));
    assert!(text.starts_with("Durable time: ext4 is fastest with 1.00 s; the next is xfs"), "{text}");
    assert!(
        text.ends_with(" Not judged, because too few of its repeats are shared with the others: jfs (3.00 s)."),
        "{text}"
    );
}

#[test]
fn what_is_missing_is_said_with_its_reason() {
    let mut record = timed(2, 3, |one, repeat| if (one, repeat) == (0, 1) { -1.0 } else { 1.0 });
    record.plan.skipped = vec![("ntfs".into(), "its driver cannot write".into())];
    for cell in record.cells.iter_mut().filter(|cell| cell.configuration == "xfs") {
        let outcome = Outcome::Failed { reason: "no space".into(), detail: String::new() };
        cell.outcomes = vec![TaskOutcome { task: "001".into(), outcome }];
    }
    record.cells.retain(|cell| cell.configuration != "ext4" || cell.repeat != 2);
    assert_eq!(
        missing::say::sentences(&found(&record).missing),
        [
            "ntfs was skipped: its driver cannot write.",
            "ext4: 1 of 3 planned cells was not run.",
            "xfs: 001 (touch 10,000 files) failed in every repeat: no space.",
            "ext4: 001 (touch 10,000 files) has an impossible value of durable (-1), which was omitted.",
        ]
    );
}

#[test]
fn a_change_is_said_with_both_figures() {
    let before = rated(3);
    let mut after = before.clone();
    for (sample, value) in after.cells.iter_mut().flat_map(|cell| cell.samples.iter_mut()) {
        *value *= if sample.metric == "rate" && sample.task == "001" { 0.8 } else { 1.0 };
    }
    let found = changes(&before, &after, None, &Options::default());
    let text = changes::say::sentence(&found, found.beyond(0.05)[0]);
    assert!(text.contains(", 001 (create), rate: ") && text.contains(" ops/s before, "), "{text}");
    assert!(text.contains(": 20 % less, which is worse (ratio, 95 %: "), "{text}");
    after.plan.skipped.push(("xfs".into(), "The kernel has no xfs.".into()));
    after.plan.suite = "other".into();
    let found = changes(&before, &after, None, &Options::default());
    assert!(changes::say::remarks(&found).contains(&"The later run skipped xfs: The kernel has no xfs.".to_owned()));
    let reasons: Vec<String> =
        changes::find::differences::incomparable(&before, &after).iter().map(changes::say::incomparable).collect();
    assert_eq!(reasons, ["the suites differ: tiny and other"]);
}

#[test]
fn a_change_speaks_of_the_repeats_that_both_runs_have() {
    let (before, after) = (timed(1, 1, |_, _| 3.0), timed(1, 5, |_, repeat| if repeat == 0 { 2.94 } else { 3.3 }));
    let found = changes(&before, &after, None, &Options::default());
    let text = changes::say::sentence(&found, &found.changes[0]);
    let known = "ext4, 001 (touch 10,000 files), durable time: 3.00 s before, 2.94 s after: 2 % less, which is better (one \
                 repeat, exact for its seed).";
    assert_eq!(text, known);
}

fn study() -> Study {
    let clause = |order: &str| serde_json::json!({"tasks": ["001"], "metric": "durable", "order": order});
    serde_json::from_value(serde_json::json!({
        "name": "mine", "about": "", "title": "Mine", "authors": [], "published": "here", "year": 2006,
        "suite": "tiny", "tasks": {},
        "run": [{"id": "1", "about": "", "filesystems": ["ext4", "xfs", "reiser4"]}],
        "claim": [
            {"id": "M1", "text": "A.", "clauses": [clause("ext4 > xfs")]},
            {"id": "M2", "text": "B.", "clauses": [clause("reiser4 > xfs"), clause("xfs > ext4")]}
        ]
    }))
    .unwrap()
}

#[test]
fn claims_are_argued_with_figures_and_with_what_is_lacking() {
    let (study, record) = (study(), timed(2, 1, |one, _| [1.0, 2.0][one]));
    let reach = Reach { own_kernel: ["reiser4".to_owned()].into(), ..Reach::default() };
    let judged = judge_claims(&Judges::of(&record), &[&study], &reach);
    assert_eq!(claims::say::sentence(&judged[0]), "001: ext4 1.00, xfs 2.00 (durable, s).");
    assert_eq!(claims::say::test(&judged[1].clauses[1].clause), "001 (durable): xfs > ext4");
    let lacks = claims::say::lacks(&judged[1]);
    assert_eq!(lacks[0], format!("reiser4 has no figures in run {}.", record.id));
    assert!(lacks[1].starts_with("No distribution's kernel supports reiser4: give one that does"), "{lacks:?}");
}

#[test]
fn a_run_that_may_not_judge_is_told_why() {
    let (mut study, record) = (study(), timed(2, 1, |one, _| [1.0, 2.0][one]));
    let mut clause = serde_json::json!({"tasks": ["001"], "metric": "durable", "runs_order": "1 > 2", "on": ["xfs"]});
    study.runs.push(serde_json::from_value(serde_json::json!({"id": "2", "about": "", "filesystems": []})).unwrap());
    study.claims[0].clauses[0] = serde_json::from_value(clause.take()).unwrap();
    let reach = Reach { suites: ["tiny".to_owned()].into(), ..Reach::default() };
    let judged = judge_claims(&Judges::of(&record), &[&study], &reach);
    assert_eq!(claims::say::test(&judged[0].clauses[0].clause), "001 (durable): the study's runs 1 > 2 on xfs");
    let lacks = claims::say::lacks(&judged[0]);
    assert_eq!(lacks, ["One part is about the study's run 2: give an earlier run, which stands for it."]);
    study.machine = Some("fast".into());
    let judged = judge_claims(&Judges::of(&record), &[&study], &reach);
    let misfit = format!("the machine of run {} is slow, that of the claim fast", record.id);
    let text = claims::say::sentence(&judged[1]);
    assert_eq!(text.to_lowercase(), format!("{misfit}; --anyway judges all the same."));
    assert_eq!(judged[1].commands, ["mountmark run --suite tiny --fs ext4,reiser4,xfs --machine fast --scale 1"]);
    let judged = judge_claims(&Judges { anyway: true, ..Judges::of(&record) }, &[&study], &reach);
    assert_eq!(claims::say::stretched(&judged[1]), Some(format!("Judged all the same: {misfit}.")));
    study.suite = None;
    let judged = judge_claims(&Judges::of(&record), &[&study], &reach);
    assert!(claims::say::sentence(&judged[1]).contains("is tiny, and none repeats the study; the machine of"));
}

#[test]
fn warnings_say_what_cannot_be_compared() {
    let (study, mut record) = (study(), timed(2, 1, |_, _| 1.0));
    record.cells.truncate(1);
    record.status = RunStatus::Interrupted;
    let found = studies::find::compare_study(&record, &study, None).unwrap();
    let texts = studies::say::warnings(&found.warnings);
    assert_eq!(texts[0], "The run is interrupted: 1 of 2 cells have ended.");
    assert!(texts[1].starts_with("No profile models the study's computer; the run's is slow. "), "{texts:?}");
    assert_eq!(texts.last().unwrap(), "One repeat: a measured figure is one sample, not a mean.");
}

#[test]
fn a_copy_that_writes_nothing_is_named_where_it_wins() {
    let of = |bytes: [f64; 3], restart: Option<Restart>| {
        let mut record = timed(3, 3, |one, repeat| [1.0, 30.0, 31.0][one] + f64::from(repeat) / 1e3);
        for cell in &mut record.cells {
            let own = bytes[cell.index as usize % 3];
            cell.samples.push(sample("001", "task_written_bytes", own));
        }
        let task = serde_json::json!([{"id": "001", "title": "001", "run": "true", "restart": restart}]);
        record.plan.cells[0].tasks = serde_json::from_value::<Vec<Task>>(task).unwrap().into();
        overview::say::sentences(&found(&record))
    };
    let with = |bytes: [f64; 3]| of(bytes, None);
    let shared = with([0.0, 1e9, 1e9]);
    assert_eq!(shared[1], "In 001 ext4 shares blocks instead of writing a copy.");
    let striking = shared.iter().find(|sentence| sentence.starts_with("001 (")).unwrap();
    assert!(striking.ends_with(" ext4 shares blocks there instead of writing a copy."), "{striking}");
    for bytes in [[1e9; 3], [0.0; 3], [0.0, 1e5, 1e5], [2e8, 1e9, 1e9]] {
        let said = with(bytes).concat();
        assert!(!said.contains("shares blocks"), "{said}");
    }
    let up_again = Some(Restart { after: Down::PowerCut, then: Up::Repair });
    let said = of([0.0, 1e9, 1e9], up_again).concat();
    assert!(!said.contains("blocks"), "what a check writes is no copy: {said}");
}

#[test]
fn of_equal_figures_none_is_the_best() {
    let said = |value: fn(usize) -> f64| overview::say::sentences(&found(&timed(2, 1, |one, _| value(one)))).join("\n");
    let unequal = said(|one| 4.0 + one as f64);
    assert!(unequal.contains("ext4 had the best figure in 1"), "{unequal}");
    let equal = said(|_| 4.0);
    assert!(!equal.contains("best figure"), "{equal}");
}

#[test]
fn a_command_has_no_counts_and_sizes_at_a_scale() {
    let said = |record: &RunRecord| remarks::say::sentences(&found(record)).join("\n");
    let mut record = timed(2, 1, |_, _| 4.0);
    record.plan.scale = serde_json::from_value(0.005.into()).unwrap();
    assert!(said(&record).contains("this run used 0.005 of them"), "{}", said(&record));
    for cell in &mut record.cells {
        cell.corpus = None;
    }
    assert!(!said(&record).contains("of them"), "{}", said(&record));
}
