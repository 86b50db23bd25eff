//! What `ci/` gives to others: each step runs here as it would there, in an empty folder with an empty environment.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mountmark_lab::cache::default_folder;
use mountmark_lab::image::kernel::Kernel;
use mountmark_lab::image::packages::Packages;
use yaml_rust2::{Yaml, YamlLoader};

use crate::lab::{Lab, binary};
use crate::{repeat, why};

const WORK: &str = "#!/bin/sh\nfor i in 1 2 3; do echo $i > f$i; done\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The YAML of a file.
fn yaml(path: &str) -> Yaml {
    let text = fs::read_to_string(root().join(path)).unwrap();
    YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}")).remove(0)
}

/// A folder with the program alone, for PATH.
fn programs(lab: &Lab) -> PathBuf {
    let folder = lab.path("bin");
    if !folder.exists() {
        fs::create_dir(&folder).unwrap();
        symlink(binary(), folder.join("mountmark")).unwrap();
    }
    folder
}

/// Runs a step in a repository of a user, with nothing of this environment.
fn step(lab: &Lab, folder: &Path, variables: &BTreeMap<String, String>, script: &str) -> Output {
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs(lab).display());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", script]).current_dir(folder).env_clear().env("PATH", path).env("HOME", lab.path("home"));
    shell.env("MOUNTMARK_CACHE", default_folder()).env("MOUNTMARK_OUT", lab.out()).envs(variables);
    shell.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A repository with a program and its baseline.
fn repository(lab: &Lab) -> PathBuf {
    let folder = lab.path("repository");
    fs::create_dir_all(folder.join("ci")).unwrap();
    program(&folder, WORK);
    fs::copy(root().join("ci/check"), folder.join("ci/check")).unwrap();
    let save = "mountmark baseline save bench.toml --fs ext4 --repeat 1 --conditions fixed --with ./tool -- ./tool";
    let saved = step(lab, &folder, &BTreeMap::new(), save);
    assert!(saved.status.success(), "{}", said(&saved));
    folder
}

fn program(folder: &Path, text: &str) {
    fs::write(folder.join("tool"), text).unwrap();
    fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_action_and_the_template_find_what_became_worse() {
    let Some(lab) = Lab::with_guests("the_action_and_the_template_find_what_became_worse", 1) else { return };
    let folder = repository(&lab);
    let action = yaml("ci/github/action.yml");
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let inputs = action["inputs"].as_hash().unwrap();
    let default = |name: &str| action["inputs"][name]["default"].as_str().unwrap_or("bench.toml").to_owned();
    let action_path = root().join("ci/github").to_string_lossy().into_owned();
    let summary = lab.path("summary.md");
    let on_github = || {
        let mut last = None;
        for one in action["runs"]["steps"].as_vec().unwrap() {
            assert_eq!(one["shell"].as_str(), Some("bash"));
            let mut variables =
                BTreeMap::from([("GITHUB_STEP_SUMMARY".into(), summary.to_string_lossy().into_owned())]);
            for (name, value) in one["env"].as_hash().into_iter().flatten() {
                let inside = value.as_str().unwrap().trim_start_matches("${{ ").trim_end_matches(" }}");
                let value = match inside.strip_prefix("inputs.") {
                    Some(input) if inputs.contains_key(&Yaml::from_str(input)) => default(input),
                    _ if inside == "github.action_path" => action_path.clone(),
                    _ => panic!("{inside} is nothing that GitHub knows"),
                };
                variables.insert(name.as_str().unwrap().to_owned(), value);
            }
            last = Some(step(&lab, &folder, &variables, one["run"].as_str().unwrap()));
        }
        last.unwrap()
    };
    let template = yaml("ci/gitlab.yml");
    let job = &template[".mountmark"];
    let variables = job["variables"].as_hash().unwrap().iter();
    let text = |yaml: &Yaml| yaml.as_str().unwrap().to_owned();
    let variables: BTreeMap<String, String> = variables.map(|(name, value)| (text(name), text(value))).collect();
    let on_gitlab = || {
        let script: Vec<String> = job["script"].as_vec().unwrap().iter().map(text).collect();
        step(&lab, &folder, &variables, &script.join("\n"))
    };

    let same = on_github();
    assert!(same.status.success(), "{}", said(&same));
    assert!(fs::read_to_string(&summary).unwrap().contains("none is worse"));
    program(&folder, &format!("{WORK}sync f1\nsync f2\n"));
    for worse in [on_github(), on_gitlab()] {
        assert_eq!(worse.status.code(), Some(1), "{}", said(&worse));
        assert!(said(&worse).contains("regression: ext4, tool"), "{}", said(&worse));
    }
    assert!(fs::read_to_string(&summary).unwrap().contains("| ext4 | tool"));
    let report = job["artifacts"]["reports"]["junit"].as_str().unwrap();
    assert!(fs::read_to_string(folder.join(report)).unwrap().contains("<failure"));
    fs::remove_file(folder.join("bench.toml")).unwrap();
    let none = on_gitlab();
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
    assert!(said(&none).contains("there is no baseline bench.toml"), "{}", said(&none));
}

#[test]
fn a_night_tells_which_commit_made_a_kernel_slower() {
    let Some(lab) = why::lab("a_night_tells_which_commit_made_a_kernel_slower") else { return };
    let suite = lab.suite("nightly", repeat::TASKS);
    let cache = default_folder();
    for (release, name) in [("6.1", "old"), ("6.12", "new")] {
        let kernel = Kernel::find(release, &Packages::new(&cache), &cache).unwrap();
        fs::create_dir(lab.path(name)).unwrap();
        symlink(&kernel.image, lab.path(name).join("vmlinux")).unwrap();
        symlink(kernel.modules_folder().unwrap(), lab.path(name).join("modules")).unwrap();
    }
    // Each way one of the two steps is to the worse.
    let tree = crate::bisect::tree(&lab, &["old", "new", "old"]);
    let build = r#"read kernel rest < kernel; test "$kernel" != none || exit 1; ln -sfn "$PWD/../$kernel" built"#;
    let night = |commit: &str| {
        crate::bisect::git(&tree, &["checkout", "--quiet", commit]);
        let variables = BTreeMap::from([
            ("KERNEL_PATH".to_owned(), "built/vmlinux,built/modules".to_owned()),
            ("FAIL_ON".to_owned(), "1%".to_owned()),
        ]);
        let options = "--scale 1 --fs ext4 --disk ssd --repeat 1 --conditions fixed --jobs 1";
        let script = format!(
            "{} {} '{}' --suite {suite} {options}",
            root().join("ci/kernel-nightly").display(),
            tree.display(),
            build
        );
        step(&lab, &lab.path(""), &variables, &script)
    };
    let first = night("work~2");
    assert!(first.status.success() && said(&first).starts_with("Subject: [mountmark] first night"), "{}", said(&first));
    let again = night("work~2");
    assert!(again.status.success() && said(&again).contains("nothing became worse"), "{}", said(&again));
    let nights = [night("work~1"), night("work")];
    let worse: Vec<&Output> = nights.iter().filter(|night| night.status.code() == Some(1)).collect();
    assert!(!worse.is_empty(), "{}{}", said(&nights[0]), said(&nights[1]));
    let mail = said(worse[0]);
    assert!(mail.starts_with("Subject: [mountmark] worse: ") && mail.contains("ext4"), "{mail}");
    assert!(!mail.contains("The commit was not found") && mail.contains("The step is from"), "{mail}");
    assert!(!tree.join(".git/BISECT_LOG").exists());
}

#[test]
fn a_night_that_cannot_build_says_so() {
    let lab = Lab::without_guests();
    let tree = crate::bisect::tree(&lab, &["old"]);
    let script = root().join("ci/kernel-nightly").display().to_string();
    let none = BTreeMap::new();
    let ended = step(&lab, &lab.path(""), &none, &format!("{script} {} 'echo no compiler; exit 2'", tree.display()));
    assert_eq!(ended.status.code(), Some(3));
    assert!(said(&ended).contains("it does not build") && said(&ended).contains("no compiler"), "{}", said(&ended));
    assert_eq!(step(&lab, &lab.path(""), &none, &format!("{script} /proc true")).status.code(), Some(2));
    assert_eq!(step(&lab, &lab.path(""), &none, &script).status.code(), Some(2));
    // A work tree has its git folder elsewhere, and a build may take another commit: the mail names what was built.
    let beside = lab.path("beside").display().to_string();
    crate::bisect::git(&tree, &["worktree", "add", "--quiet", "--detach", &beside]);
    let build = "git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m pulled; exit 2";
    let ended = step(&lab, &lab.path(""), &none, &format!("{script} {beside} '{build}'"));
    assert_eq!(ended.status.code(), Some(3), "{}", said(&ended));
    assert!(said(&ended).lines().next().unwrap().ends_with(" pulled"), "{}", said(&ended));
    let check = root().join("ci/check").display().to_string();
    // A file of somebody else is in the way, and stays.
    fs::write(lab.path("verdict.md"), "mine\n").unwrap();
    let refused = step(&lab, &lab.path(""), &none, &format!("{check} bench.toml"));
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("verdict.md is there already"), "{}", said(&refused));
    assert_eq!(fs::read_to_string(lab.path("verdict.md")).unwrap(), "mine\n");
    assert_eq!(step(&lab, &lab.path(""), &none, &check).status.code(), Some(2));
    let missing = Command::new("/bin/sh").args([&check, "bench.toml"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(missing.status.code(), Some(3));
}
