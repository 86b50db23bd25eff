//! `compare --agreement` and `agree`, as a user sees them: the answer, the file, what reports say then, refusals.

use std::fs;

use mountmark_model::Lab as LabName;
use mountmark_record::RunId;

use crate::lab::{Lab, Ran};
use crate::made::{noise, plan, record};
use crate::report::readable;

const FS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// Five repeats in which xfs is the best, but for the task `reversed`, of which it is the worst.
fn run(lab: &Lab, name: LabName, reversed: &str) -> RunId {
    let mut plan = plan("piszcz-2006", &FS, 5, 1, "0.02");
    plan.suite = "tried".into();
    plan.lab = name;
    record(lab, &plan, &[], |name, task, repeat| {
        let place = FS.iter().position(|known| *known == name).unwrap() as f64;
        let best = if task == reversed { 1.0 } else { -1.0 };
        Some((3.0 + best * place) * noise(name, task, repeat, 1))
    })
}

fn with_store(lab: &Lab, arguments: &[&str]) -> Ran {
    let out = lab.out().to_string_lossy().into_owned();
    lab.command(&[arguments, &["--out", &out]].concat())
}

#[test]
fn a_machine_that_disagrees_is_kept_and_reports_say_so() {
    let lab = Lab::without_guests();
    let (model, machine) = (run(&lab, LabName::Virtual, ""), run(&lab, LabName::Host, "014"));
    let (model, machine) = (model.as_str(), machine.as_str());
    let said = |ran: &Ran| ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");

    let told = with_store(&lab, &["compare", model, machine, "--agreement"]).ended_with(0);
    let answer = "The real machine tells file systems apart in 21 of 21 tests. In 20 of them the model has its order.";
    assert!(said(&told).contains(answer), "{}", told.text());
    assert!(
        said(&told).contains("the machine has ext4 before xfs, ext4 before btrfs and xfs before btrfs"),
        "{}",
        told.text()
    );
    for format in ["markdown", "csv", "json"] {
        let told = with_store(&lab, &["compare", model, machine, "--agreement", "--format", format]).ended_with(0);
        assert!(told.stdout.contains("014"), "{format}: {}", told.text());
    }

    let name = "a_machine_that_disagrees_is_kept_and_reports_say_so";
    for (subject, many) in [(&["compare", model, machine, "--agreement"][..], 2), (&["show", model, "--verdict"], 5)] {
        let page = lab.path("table.html");
        let told = with_store(&lab, &[subject, &["--format", "html"]].concat()).ended_with(0);
        fs::write(&page, told.stdout).unwrap();
        readable(name, &page, |browser| {
            let tables = browser.evaluate("document.querySelectorAll('table.plain').length");
            assert!(tables.as_u64() >= Some(many), "{subject:?}: {tables} tables");
        });
    }

    let report = || with_store(&lab, &["report", model, "--format", "table"]).ended_with(0);
    assert!(
        said(&report()).contains("No real machine has been compared with it for this suite"),
        "{}",
        report().text()
    );
    with_store(&lab, &["agree", model, machine, "--name", "desk"]).ended_with(0).says(&["agreements/desk.toml"]);
    let sentence = "(desk) file systems came in its order in 20 of 21 tests; not in: 014.";
    assert!(said(&report()).contains(sentence), "{}", report().text());
    // The machine's own report speaks of no model.
    let of_machine = with_store(&lab, &["report", machine, "--format", "table"]).ended_with(0);
    assert!(!said(&of_machine).contains("is a model"), "{}", of_machine.text());
    // A second machine, written to a file that is then put into the catalogue.
    let file = lab.path("rack.toml");
    let named = ["--name", "rack", "--about", "a faster one", "--output", file.to_str().unwrap()];
    with_store(&lab, &[&["agree", model, machine], &named[..]].concat()).ended_with(0);
    assert!(!said(&report()).contains("rack"), "{}", report().text());
    // What was put in before stays, and the file of another machine is not written over.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("suite = \"tried\"", "suite = \"varmail\"", 1)).unwrap();
    with_store(&lab, &[&["agree", model, machine], &named[..]].concat()).ended_with(0);
    let both = fs::read_to_string(&file).unwrap();
    assert!(both.contains("suite = \"varmail\"") && both.contains("suite = \"tried\""), "{both}");
    let other = ["agree", model, machine, "--name", "desk", "--output", named[5]];
    with_store(&lab, &other).ended_with(2).says(&["it is of the machine rack, not of desk"]);
    fs::write(&file, text).unwrap();
    fs::rename(&file, lab.path("config/mountmark/catalog/agreements/rack.toml")).unwrap();
    assert!(said(&report()).contains("(desk and rack)"), "{}", report().text());
    let listed = lab.command(&["list", "agreements"]).ended_with(0);
    assert!(listed.stdout.contains("rack") && listed.stdout.contains("a faster one"), "{}", listed.text());
}

#[test]
fn runs_that_say_nothing_of_a_model_are_refused() {
    let lab = Lab::without_guests();
    let (model, machine) = (run(&lab, LabName::Virtual, ""), run(&lab, LabName::Host, ""));
    let (model, machine) = (model.as_str(), machine.as_str());
    for (runs, says) in [
        (vec![machine, model], "was measured under wall time: name a run of the virtual lab first"),
        (vec![model, model], "is a run of the virtual lab: name one of a real machine second"),
        (vec![model], "--agreement takes two runs"),
    ] {
        with_store(&lab, &[&["compare"], &runs[..], &["--agreement"]].concat()).ended_with(2).says(&[says]);
    }
    let bad = [model, machine, "--name", "My Desk"];
    with_store(&lab, &[&["agree"], &bad[..]].concat()).ended_with(2).says(&["lower-case letters"]);
    let both = [model, machine, "--agreement", "--claims"];
    with_store(&lab, &[&["compare"], &both[..]].concat()).ended_with(2).says(&["cannot be used with"]);
    // A file that nobody can have written by `agree`.
    let folder = lab.path("config/mountmark/catalog/agreements");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("desk.toml"), "name = \"desk\"\nabout = \"\"\n[[suite]]\nsuite = 1\n").unwrap();
    lab.command(&["list", "agreements"]).ended_with(2).says(&["desk.toml"]);
}
