use mountmark_document::forms::Block;
use mountmark_model::{Factor, Level};
use mountmark_record::RunRecord;

use crate::effects::find::{Effects, Gain};
use crate::effects::say;
use crate::tests::run;

/// Configurations with a time of task 002, which each repeat scales; the runs' other tasks are removed.
fn effects(times: &[(&str, f64)], noise: f64, factors: Vec<Factor>, sides: &[&str]) -> Option<Effects> {
    let names: Vec<&str> = times.iter().map(|(name, _)| *name).collect();
    let mut run: RunRecord = run(&names, 4);
    run.plan.factors = factors;
    run.plan.sides = sides.iter().map(|side| (*side).to_owned()).collect();
    for cell in &mut run.cells {
        let time = times.iter().find(|(name, _)| *name == cell.configuration).unwrap().1;
        let wobble = 1.0 + noise * f64::from((cell.index * 7919) % 11) / 10.0;
        cell.samples.retain(|sample| sample.task != "001");
        for (_, value) in
            cell.samples.iter_mut().filter(|(sample, _)| sample.task == "002" && sample.metric == "elapsed")
        {
            *value = time * wobble * (1.0 + f64::from(cell.repeat));
        }
    }
    crate::findings(&run, &crate::Options::default()).effects
}

fn factor(name: &str, levels: &[&str]) -> Factor {
    let level = |text: &&str| Level { text: (*text).to_owned(), label: (*text).to_owned() };
    Factor { name: name.into(), levels: levels.iter().map(level).collect() }
}

fn close(gain: Gain, ratio: f64, shown: bool) {
    assert!((gain.ratio - ratio).abs() < 1e-9, "{gain:?}");
    assert_eq!(gain.shown, shown, "{gain:?}");
}

#[test]
fn options_that_gain_on_one_file_system_alone_are_an_interaction() {
    let times = [("ext4", 108.0), ("ext4:noatime", 100.0), ("xfs", 50.0), ("xfs:mount=noatime", 50.0)];
    let found = effects(&times, 0.0, Vec::new(), &[]).unwrap();
    assert_eq!(found.factors[0].levels, ["ext4", "xfs"]);
    assert_eq!(found.factors[1].levels, ["defaults", "noatime"], "a variant and the option that it is are one level");
    let [task] = &found.tasks[..] else { panic!("{found:?}") };
    let [effect] = &task.effects[..] else { panic!("{task:?}") };
    close(effect.gain, 1.08_f64.sqrt(), true);
    close(effect.at[0].gain, 1.08, true);
    close(effect.at[1].gain, 1.0, false);
    assert_eq!([effect.at[0].differs, effect.at[1].differs], [false, true]);
    assert_eq!(
        say::sentences(&found),
        ["Noatime beside defaults is 8.0 % faster on ext4 and is not shown to differ on xfs, in 002."]
    );
}

#[test]
fn crossed_factors_have_main_effects_and_noise_has_none() {
    let (old, new) = (["6.1-hdd", "6.1-ssd"], ["6.12-hdd", "6.12-ssd"]);
    let sides = [old[0], old[1], new[0], new[1]];
    let factors = || vec![factor("kernel", &["6.1", "6.12"]), factor("disk", &["hdd", "ssd"])];
    let times = |kernel: f64, disk: f64| {
        [
            ("ext4#6.1-hdd", 100.0),
            ("ext4#6.1-ssd", 100.0 * disk),
            ("ext4#6.12-hdd", 100.0 * kernel),
            ("ext4#6.12-ssd", 100.0 * kernel * disk),
        ]
    };
    let found = effects(&times(0.8, 0.25), 0.0, factors(), &sides).unwrap();
    let [kernel, disk] = &found.tasks[0].effects[..] else { panic!("{found:?}") };
    close(kernel.gain, 1.25, true);
    close(disk.gain, 4.0, true);
    assert!(kernel.at.iter().chain(&disk.at).all(|at| !at.differs), "costs multiply: nothing depends on the other");
    let text = say::sentences(&found);
    assert_eq!(text[0], "Disk ssd beside disk hdd is 4.0 times as fast, in 002.");
    assert_eq!(text[1], "Kernel 6.12 beside kernel 6.1 is 25.0 % faster, in 002.");
    let found = effects(&times(1.0, 1.0), 0.2, factors(), &sides).unwrap();
    assert!(found.tasks[0].effects.iter().all(|effect| !effect.gain.shown), "{found:?}");
    assert!(say::sentences(&found).is_empty());
}

#[test]
fn nothing_crossed_has_no_effects() {
    let times = [("ext4", 1.0), ("ext4:noatime", 2.0), ("xfs", 3.0)];
    assert_eq!(effects(&times, 0.0, Vec::new(), &[]), None);
}

#[test]
fn one_repeat_shows_nothing_and_a_missing_side_leaves_the_others() {
    let mut run = run(&["ext4#a", "ext4#b", "xfs#a", "xfs#b"], 1);
    run.plan.factors = vec![factor("build", &["a", "b"])];
    run.plan.sides = vec!["a".into(), "b".into()];
    run.cells.retain(|cell| cell.configuration != "xfs#b");
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    let effect = &found.tasks[0].effects[0];
    assert!(effect.gain.interval.is_none() && !effect.gain.shown);
    assert!(effect.at.is_empty(), "one file system is left: {effect:?}");
}

#[test]
fn orders_that_turn_at_another_level_are_named() {
    let factors = || vec![factor("age", &["copy:seed:9", "seed:9"])];
    let sides = ["copy", "aged"];
    let times = |aged: f64| [("ext4#copy", 50.0), ("xfs#copy", 60.0), ("ext4#aged", aged), ("xfs#aged", 66.0)];
    let found = effects(&times(80.0), 0.0, factors(), &sides).unwrap();
    assert_eq!(
        say::orders(&found),
        [
            "Of 1 order shown with age copy:seed:9, 0 hold with age seed:9, 1 are reversed, and 0 are not shown there.",
            "ext4 is 20.0 % faster than xfs with age copy:seed:9, and 17.5 % slower with age seed:9, in 002.",
        ]
    );
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["orders"][0]["turned"][0]["one"], "ext4#copy");
    let found = effects(&times(55.0), 0.0, factors(), &sides).unwrap();
    assert_eq!(say::orders(&found), ["Of 1 order shown with age copy:seed:9, all hold with age seed:9."]);
    let found = effects(&times(66.0), 0.0, factors(), &sides).unwrap();
    assert!(say::orders(&found)[0].ends_with("0 are reversed, and 1 are not shown there."), "{found:?}");
    // One file system has no orders, and options that stand on two have no level of their own.
    let one = effects(
        &times(80.0)[..1].iter().chain(&times(80.0)[2..3]).copied().collect::<Vec<_>>(),
        0.0,
        factors(),
        &sides,
    );
    assert!(one.unwrap().orders.is_empty());
}

#[test]
fn orders_without_a_figure_at_another_level_are_counted_and_who_is_left_out_is_named() {
    let names = ["ext4#copy", "xfs#copy", "jfs#copy", "ext4#aged", "xfs#aged", "jfs#aged"];
    let mut run: RunRecord = run(&names, 4);
    run.plan.factors = vec![factor("age", &["none", "seed:40"])];
    run.plan.sides = vec!["copy".into(), "aged".into()];
    for cell in run.cells.iter_mut().filter(|cell| cell.configuration == "jfs#aged") {
        cell.samples.retain(|sample| sample.task != "002");
    }
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    assert_eq!([found.orders[0].hold, found.orders[0].missing], [4, 2], "{found:?}");
    assert_eq!(
        say::orders(&found)[0],
        "Of 6 orders shown with age none, 4 hold with age seed:40, 0 are reversed, 0 are not shown there, and 2 lack a \
         figure there."
    );
    let said = "Left out of these means, as figures are missing: jfs#aged in 002.";
    let blocks = crate::effects::show::beside_first(&found);
    assert!(blocks.iter().any(|block| matches!(block, Block::Text(text) if text == said)), "{blocks:?}");
}

#[test]
fn steps_between_levels_are_found_where_they_are() {
    let kernels = ["6.1", "6.6", "6.12", "6.16"];
    let times = [
        ("ext4#6.1", 100.0),
        ("ext4#6.6", 100.0),
        ("ext4#6.12", 125.0),
        ("ext4#6.16", 125.0),
        ("xfs#6.1", 80.0),
        ("xfs#6.6", 80.4),
        ("xfs#6.12", 80.0),
        ("xfs#6.16", 40.0),
    ];
    let found = effects(&times, 0.0, vec![factor("kernel", &kernels)], &kernels).unwrap();
    let [curve] = &found.curves[..] else { panic!("one task has one curve, and no mean over tasks: {found:?}") };
    let names: Vec<&str> = curve.lines.iter().map(|line| line.configuration.as_str()).collect();
    assert_eq!(names, ["ext4", "xfs"]);
    let [ext4, xfs] = &curve.lines[..] else { panic!("{curve:?}") };
    assert!((ext4.speeds[3].unwrap() - 0.8).abs() < 1e-9, "{ext4:?}");
    assert_eq!(ext4.steps.iter().map(|step| (step.from, step.to)).collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(
        xfs.steps.iter().map(|step| (step.from, step.to)).collect::<Vec<_>>(),
        [(2, 3)],
        "0.5 % does not matter"
    );
    close(xfs.steps[0].gain, 2.0, true);
    let [title, answer] = say::opening(&found).unwrap();
    assert_eq!(title, "By kernel: xfs becomes 2.0 times as fast from kernel 6.12 to kernel 6.16, in 002");
    assert_eq!(
        answer,
        "In 002, ext4 becomes 20.0 % slower from kernel 6.6 to kernel 6.12 and xfs becomes 2.0 times as fast from kernel 6.12 to \
         kernel 6.16. Of single tests 2 steps are shown."
    );
    assert_eq!(
        say::steps(&found, 2),
        [
            "By kernel, 2 steps from one level to the next are shown.",
            "xfs becomes 2.0 times as fast from kernel 6.12 to kernel 6.16, in 002.",
            "ext4 becomes 20.0 % slower from kernel 6.6 to kernel 6.12, in 002.",
        ]
    );
}

#[test]
fn the_largest_step_of_kernels_has_the_command_that_explains_it() {
    let kernels = ["6.1", "6.6", "6.12"];
    let mut run = run(&["ext4#6.1", "ext4#6.6", "ext4#6.12"], 3);
    run.plan.factors = vec![factor("kernel", &kernels)];
    run.plan.sides = kernels.iter().map(|side| (*side).to_owned()).collect();
    for cell in run.cells.iter_mut().filter(|cell| cell.configuration == "ext4#6.12") {
        for (_, value) in cell.samples.iter_mut().filter(|(sample, _)| sample.task == "002") {
            *value *= 3.0;
        }
    }
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    let id = &run.id;
    let command = format!("mountmark why '{id}#6.6' '{id}#6.12' --task 002 --fs ext4");
    assert_eq!(say::explains(&run, &found).as_deref(), Some(command.as_str()));
    run.plan.factors[0].name = "disk".into();
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    assert_eq!(say::explains(&run, &found), None, "`why` compares sides of one disk");
}

#[test]
fn a_level_without_figures_is_a_gap_and_its_neighbours_are_compared() {
    let kernels = ["6.1", "6.6", "6.12"];
    let times = [("ext4#6.1", 100.0), ("ext4#6.6", 1.0), ("ext4#6.12", 50.0), ("xfs#6.6", 3.0), ("xfs#6.12", 3.0)];
    let mut run = run(&times.map(|(name, _)| name), 4);
    run.plan.factors = vec![factor("kernel", &kernels)];
    run.plan.sides = kernels.iter().map(|side| (*side).to_owned()).collect();
    run.cells.retain(|cell| cell.configuration != "ext4#6.6");
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    let lines = &found.curves[0].lines;
    assert_eq!(lines[0].speeds.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(lines[1].speeds[1], Some(1.0), "the first level that has figures is the measure");
    assert!(lines[0].steps.iter().all(|step| (step.from, step.to) == (0, 2)));
}

#[test]
fn two_levels_and_noise_have_no_steps() {
    let noisy = [("ext4#a", 100.0), ("ext4#b", 100.0), ("ext4#c", 100.0)];
    let found = effects(&noisy, 0.4, vec![factor("build", &["a", "b", "c"])], &["a", "b", "c"]).unwrap();
    assert!(found.curves[0].lines[0].steps.is_empty(), "{found:?}");
    assert_eq!(say::steps(&found, 2), ["No task is shown to be faster or slower from one build to the next."]);
    let [title, answer] = say::opening(&found).unwrap();
    assert_eq!(title, "No test is shown to change from one build to the next");
    assert_eq!(answer, "In 002, nothing is shown to change from one build to the next.");
    let found = effects(&noisy[..2], 0.0, vec![factor("build", &["a", "b"])], &["a", "b"]).unwrap();
    assert!(found.curves.is_empty(), "{found:?}");
}

#[test]
fn more_bytes_are_worse_and_not_slower() {
    let mut run: RunRecord = run(&["ext4#a", "ext4#b"], 3);
    run.plan.factors = vec![factor("build", &["a", "b"])];
    run.plan.sides = ["a", "b"].map(str::to_owned).to_vec();
    for cell in &mut run.cells {
        let value = if cell.configuration == "ext4#a" { 100.0 } else { 125.0 };
        cell.samples.retain(|sample| sample.task != "002");
        cell.samples.push(mountmark_model::Sample {
            task: "002".into(),
            iteration: 0,
            metric: mountmark_model::Metric::FIGURE_LESS.id.into(),
            value,
        });
    }
    let found = crate::findings(&run, &crate::Options::default()).effects.unwrap();
    assert_eq!(found.no_speeds, ["002"]);
    assert!(found.tasks.iter().all(|task| task.task.is_some()), "one speed alone has no mean: {found:?}");
    assert_eq!(
        say::sentences(&found),
        ["Build b beside build a is 50.0 % slower, in 001.", "Build b beside build a is 20.0 % worse, in 002."]
    );
    assert!(say::no_speeds(&found).unwrap().ends_with("and not among all tasks: 002."));
}
