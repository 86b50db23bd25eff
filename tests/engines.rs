//! Compares benchmark programs with Mountmark's engine by `self-check engines`.

use crate::lab::Lab;

#[test]
fn sysbench_and_the_engine_agree() {
    let Some(lab) = Lab::with_guests("sysbench_and_the_engine_agree", 1) else { return };
    let arguments = ["--fs", "ext4", "--disk", "ram", "--programs", "sysbench", "--scale", "0.25", "--jobs", "1"];
    let ran = lab.command(&[&["self-check", "engines"], &arguments[..]].concat()).ended_with(0);
    let table = &ran.stdout;
    // At a smaller scale, sysbench's start-up work would be more than a tenth of its runs.
    assert!(table.starts_with("sysbench fileio on ext4, disk ram, scale 0.25\n  4 files of "), "{table}");
    for phase in ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"] {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(phase));
        let row = row.unwrap_or_else(|| panic!("{phase} is missing in {table}"));
        let (_, figures) = row.split_once("KiB/s").unwrap_or_else(|| panic!("no rate in {row}"));
        let ratio: f64 = figures.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a ratio");
        assert!((0.9..=1.0 / 0.9).contains(&ratio), "{row}");
        assert!(figures.trim_end().ends_with("within 10 %"), "{row}");
    }
}

#[test]
fn wrong_options_are_refused_before_anything_runs() {
    let lab = Lab::without_guests();
    let check = |more: &[&str]| lab.command(&[&["self-check", "engines"], more].concat()).ended_with(2);
    check(&["--programs", "bonnie"]).says(&["no program \"bonnie\" to compare with; there are bonnie++, iozone"]);
    check(&["--programs", "fio", "--scale", "much"]).says(&["--scale"]);
    check(&["--programs", "fio", "--fs", "ext5"]).says(&["ext5", "did you mean ext"]);
}
