//! Tests of sentences about what safety costs.

use mountmark_model::promises::{Level, SyncedLost};

use crate::crash::say::explored::tests::campaign;
use crate::found::Findings;
use crate::safety::find::BrokenPromise;
use crate::safety::say::{beside, levels, losses, risk, row, shown};
use crate::tests::{page, run};

#[test]
fn levels_are_written_as_ranges() {
    use Level::{L0, L1, L2, L4, L6, L7};
    let written = |all: &[Level]| levels(all.iter().copied().collect());
    assert_eq!(written(&[L0, L1, L2, L4, L6, L7]), "L0-L2 L4 L6 L7");
    assert_eq!((written(&[]), written(&[L1])), ("none".to_owned(), "L1".to_owned()));
    assert_eq!(levels(Level::ALL.into_iter().collect()), "L0-L7");
}

/// Three file systems in a run with syncs: one that keeps them, one that lost some elsewhere, one that nothing is known of.
fn found(flushes: [Option<f64>; 3]) -> Findings {
    let run = run(&["ext4", "jfs", "udf"], 2);
    let mut found = page::findings(&run);
    let known = |files| SyncedLost {
        option: None,
        kernel: "6.12".into(),
        release: "6.12.117".into(),
        date: "2026-11-27".into(),
        files,
        of: 100,
    };
    for ((safety, known), flushes) in found.safety.iter_mut().zip([Some(known(0)), Some(known(98)), None]).zip(flushes)
    {
        (safety.known, safety.flushes) = (known, flushes);
    }
    found
}

#[test]
fn what_loses_synced_files_is_said_where_something_syncs() {
    assert_eq!(losses(&found([None; 3])), Vec::<String>::new(), "nothing syncs");
    let said = losses(&found([Some(4.0), Some(0.0), Some(0.0)]));
    assert_eq!(
        said,
        [
            "jfs sends no flush for its syncs here, and a power cut took 98 of 100 files whose fsync had returned \
             (kernel 6.12.117, measured 2026-11-27).",
            "udf sends no flush for its syncs here: a power cut takes what the disk's cache still holds.",
        ]
    );
    let mut kept = found([Some(4.0), Some(7.0), Some(2.0)]);
    kept.safety[2].lost = 3.0;
    assert_eq!(
        losses(&kept),
        [
            "jfs loses synced files: a power cut took 98 of 100 files whose fsync had returned (kernel 6.12.117, \
             measured 2026-11-27).",
            "udf loses synced files: a power cut took 3 files whose fsync had returned, in this run.",
        ]
    );
    let mut both = found([Some(4.0), Some(0.0), Some(0.0)]);
    both.safety[2].known = both.safety[1].known.clone();
    let said = losses(&both);
    assert!(
        said.len() == 1 && said[0].starts_with("jfs and udf send no flush for their syncs here, and a"),
        "{said:?}"
    );
    assert!(said[0].contains("took 98 of 100 files of each whose fsync had returned ("), "{said:?}");
    let broken = |level| BrokenPromise {
        level,
        about: "sync sends no flush".into(),
        release: "6.12.117".into(),
        date: "2026-11-27".into(),
    };
    kept.safety[0].faults = vec![broken(Level::L1), broken(Level::L3)];
    let said = beside(&kept);
    assert_eq!(said.len(), 4, "two that lose, no stars, and one of the two faults: {said:?}");
    assert_eq!(said[3], "ext4: sync sends no flush (breaks L1; kernel 6.12.117, 2026-11-27; `mountmark list faults`).");
    kept.safety[0].flushes = None;
    assert_eq!(beside(&kept).len(), 3, "where nothing syncs, nothing is said of syncs");
    assert_eq!(row(&kept).unwrap(), ["synced files lost (%)", "0", "98", "-"]);
    assert_eq!(row(&found([None; 3])), None);
    assert_eq!(risk(&kept.safety[1]), "lost 98 of 100 files that were synced (kernel 6.12)");
    assert!(risk(&found([None, None, Some(0.0)]).safety[2]).contains("no flush"));
    kept.safety[1].without_layers = true;
    assert!(losses(&kept)[0].ends_with("(kernel 6.12.117, measured 2026-11-27, on one disk without layers)."));
    assert_eq!(
        risk(&kept.safety[1]),
        "lost 98 of 100 files that were synced (kernel 6.12, on one disk without layers)"
    );
}

#[test]
fn power_cuts_on_another_kernel_name_it() {
    let campaign = campaign(&["creat a; fsync a"], &[0, 0]);
    let on = |kernel| shown(Some(&campaign), kernel);
    assert_eq!([on(Some("6.12")), on(None)], ["none broken\nin 2 images"; 2]);
    assert_eq!(on(Some("6.1")), "none broken\nin 2 images\non 6.12");
}
