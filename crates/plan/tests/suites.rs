//! Runs the built-in suites' own commands in this machine's shell, from first to last.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use mountmark_model::workload::{Operation, Run};
use mountmark_model::{Parameter, Quantity, Scale, Source, Suite};
use mountmark_plan::Catalogue;

/// Programs that the suites call; if one is missing, the test is skipped.
const PROGRAMS: [&str; 6] = ["sh", "tar", "find", "split", "xargs", "cp"];

#[test]
fn the_commands_of_every_suite_work_and_leave_nothing() {
    if let Some(missing) = PROGRAMS.iter().find(|program| !runs(program)) {
        eprintln!("skipped: {missing} cannot be started here");
        return;
    }
    let catalogue = Catalogue::built_in().unwrap();
    // Benchmark programs and the engine have their own tests.
    let plain = |suite: &&Suite| {
        suite.tasks.iter().all(|task| task.program.is_none() && task.workload.is_none() && task.part_of.is_none())
    };
    for suite in catalogue.list::<Suite>().filter(plain) {
        for (name, fill) in [("several files", several as fn(&Path)), ("one file", one)] {
            eprintln!("{}, a corpus of {name}", suite.name);
            run(suite, fill);
        }
    }
}

fn run(suite: &Suite, fill: fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let (test, source, corpus) =
        (folder.path().join("test fs"), folder.path().join("second disk"), folder.path().join("corpus"));
    for path in [&test, &source, &corpus] {
        std::fs::create_dir(path).unwrap();
    }
    fill(&corpus);
    // Replaces programs that wait.
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink("/bin/true", programs.join("sleep")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let tar = |arguments: &[&str], into: &Path| {
        let status = Command::new("tar").args(arguments).current_dir(into).status().unwrap();
        assert!(status.success());
    };
    let file = source.join("corpus.tar");
    tar(&["cf", file.to_str().unwrap(), "."], &corpus);
    if suite.source == Source::Tree {
        let tree = source.join("tree");
        std::fs::create_dir(&tree).unwrap();
        tar(&["xf", file.to_str().unwrap()], &tree);
        std::fs::remove_file(&file).unwrap();
    }

    // Small, but more pieces than two letters can number.
    let parameters: BTreeMap<&str, u64> = suite
        .parameters
        .iter()
        .map(|(name, parameter)| {
            (
                name.as_str(),
                if parameter.fixed {
                    parameter.value.0
                } else {
                    (parameter.value.0 / 10).clamp(parameter.min.0, 700_000)
                },
            )
        })
        .map(|(name, value)| {
            (
                name,
                if name == "BIG_MIB" {
                    2
                } else if name == "FILES" {
                    50
                } else {
                    value
                },
            )
        })
        .collect();
    let shell = |what: &str, command: &str, directory: &Path| {
        let output = Command::new("sh")
            .args(["-e", "-c", command])
            .current_dir(directory)
            .env("PATH", &path)
            .env("TEST", &test)
            .env("SOURCE", &source)
            .env("SEED", "1")
            .envs(parameters.iter().map(|(name, value)| (name, value.to_string())))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{} {what}: {}", suite.name, String::from_utf8_lossy(&output.stderr));
    };
    if let Some(prepare) = &suite.source_prepare {
        shell("source_prepare", prepare, &source);
    }
    let before = names(&source);
    for task in &suite.tasks {
        for command in task.prepare.iter().chain([&task.run]).chain(&task.cleanup) {
            shell(&task.id, command, &test);
        }
        match (suite.name.as_str(), task.id.as_str()) {
            ("piszcz-2006", "001" | "004") => {
                assert_eq!(names(&test.join(&names(&test)[0])).len() as u64, parameters["FILES"])
            }
            ("piszcz-2006", "009") => assert_eq!(names(&test.join("tree")), names(&corpus)),
            ("piszcz-2006", "013") => {
                assert_eq!(std::fs::metadata(test.join("big")).unwrap().len(), parameters["BIG_MIB"] << 20)
            }
            ("piszcz-2006", "015") => {
                assert_eq!(std::fs::metadata(test.join("whole")).unwrap().len(), parameters["SPLIT_BYTES"])
            }
            ("hans-2006", "isocopy") => {
                assert_eq!(std::fs::metadata(test.join("image.iso")).unwrap().len(), parameters["ISO_BYTES"])
            }
            ("hans-2006", "treerecopy") => assert_eq!(names(&test.join("again/tree")), names(&corpus)),
            ("hans-2006", "list") => {
                assert!(std::fs::read_to_string(test.join("listing")).unwrap().contains("letter.doc"))
            }
            _ => {}
        }
    }
    assert_eq!(names(&test), [""; 0], "{}: left on the file system under test", suite.name);
    assert_eq!(names(&source), before, "{}: left on the second disk", suite.name);
}

fn several(corpus: &Path) {
    std::fs::create_dir_all(corpus.join("top/deeper/deepest")).unwrap();
    std::fs::write(corpus.join("top/letter.doc"), vec![b'x'; 5000]).unwrap();
    std::fs::write(corpus.join("top/deeper/a name with spaces"), vec![b'y'; 50_000]).unwrap();
    std::fs::write(corpus.join("top/deeper/deepest/.hidden"), b"").unwrap();
    std::fs::write(corpus.join("beside"), b"z").unwrap();
}

fn one(corpus: &Path) {
    std::fs::write(corpus.join("letter.doc"), b"q").unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.args(if program == "sh" { ["-c", "true"].as_slice() } else { &["--version"] });
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The set of files of a thread that creates and removes files at random does a random walk between empty and full.
#[test]
fn no_thread_runs_out_of_files() {
    let catalogue = Catalogue::built_in().unwrap();
    let mut mixes = 0;
    for suite in catalogue.list::<Suite>() {
        for scale in ["0.001", "0.01", "0.015", "0.1", "0.2", "0.5", "1", "4"] {
            let scale: Scale = scale.parse().unwrap();
            let value = |parameter: &Parameter| scale.apply(parameter.value.0, parameter.min.0);
            let parameters: BTreeMap<String, u64> =
                suite.parameters.iter().map(|(name, parameter)| (name.clone(), value(parameter))).collect();
            for workload in suite.tasks.iter().filter_map(|task| task.workload.as_ref()) {
                for phase in &workload.phases {
                    let weight = |operation| phase.what.0.get(&operation).copied().unwrap_or_default() as f64;
                    let [make, remove] = [Operation::WriteFile, Operation::Unlink].map(weight);
                    let Run::Operations(operations) = &phase.run else { continue };
                    if make == 0.0 || remove == 0.0 {
                        continue;
                    }
                    mixes += 1;
                    let number = |quantity: &Quantity| quantity.value(&parameters).unwrap() as f64;
                    let threads = number(&phase.threads);
                    let names = number(&workload.files.count) / threads;
                    let total: f64 = phase.what.0.values().map(|weight| *weight as f64).sum();
                    let steps = number(operations) / threads * (make + remove) / total;
                    // Half of the names exist at first, drawn for all threads together.
                    let deviation = (steps + names / 4.0).sqrt();
                    assert!(names / 2.0 > 5.3 * deviation, "{} at {scale}: {names} names, {deviation}", suite.name);
                }
            }
        }
    }
    assert_eq!(mixes, 3 * 8);
}
