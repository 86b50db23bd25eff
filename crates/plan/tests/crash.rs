//! The catalogue's workloads and applications: each can run, and files of users are read with care.

use std::path::Path;

use mountmark_crash::model::Model;
use mountmark_crash::scenario::Scenario;
use mountmark_crash::workload::{Op, Workload};
use mountmark_model::KnownFault;
use mountmark_plan::{Catalogue, Kind, PlanError, configurations};

fn scenarios(catalogue: &Catalogue, is_application: bool) -> Vec<Scenario> {
    let all = catalogue.scenarios().map(|written| written.read(Scenario::faults).unwrap());
    all.filter(|scenario| scenario.is_application() == is_application).collect()
}

fn workload(catalogue: &Catalogue, text: &str) -> Result<Workload, PlanError> {
    Ok(catalogue.scenario(text)?.read(Scenario::faults)?.runs(text).unwrap())
}

#[test]
fn each_workload_is_within_bounds_and_runs_in_memory() {
    let catalogue = Catalogue::built_in().unwrap();
    let all = scenarios(&catalogue, false);
    assert!(all.len() >= 25, "{}", all.len());
    for scenario in all {
        assert!(!scenario.sources.is_empty(), "{} has no source", scenario.name);
        let workload = workload(&catalogue, &scenario.name).unwrap();
        assert_eq!(workload.name, scenario.name);
        // Written as it is read.
        let again = workload.to_string().parse::<Workload>().unwrap();
        assert_eq!((again.ops, again.recorded), (workload.ops.clone(), workload.recorded));
        let mut model = Model::default();
        for (number, op) in (0..).zip(&workload.ops) {
            model.apply(number, op).unwrap_or_else(|refusal| panic!("{}: {op}: {refusal:?}", scenario.name));
        }
        // What is unmounted before the medium loses something is durable.
        let makes_durable = |op: &Op| matches!(op, Op::Lose { .. }) || op.to_string().contains("sync");
        let is_durable = workload.ops[usize::from(workload.recorded)..].iter().any(makes_durable);
        assert!(is_durable, "{} makes nothing durable: no power cut says anything of it", scenario.name);
    }
}

#[test]
fn each_application_says_what_it_is_judged_by() {
    let catalogue = Catalogue::built_in().unwrap();
    let all = scenarios(&catalogue, true);
    assert!(all.len() >= 8, "{}", all.len());
    for scenario in all {
        assert!(!scenario.sources.is_empty() && !scenario.packages.is_empty(), "{}", scenario.name);
        let workload = workload(&catalogue, &scenario.name).unwrap();
        let application = workload.application.unwrap();
        // As a shell writes it, or Perl.
        let reads_returned = ["$RETURNED", "$ENV{RETURNED}"].iter().any(|word| application.check.contains(word));
        assert!(application.steps.len() >= 3 && reads_returned, "{}", scenario.name);
    }
}

#[test]
fn a_known_fault_is_of_what_has_it_and_promises_otherwise() {
    let catalogue = Catalogue::built_in().unwrap();
    let (tried, other) = ("6.12.120+deb12-amd64", "6.17.2-amd64");
    for (name, fault, release, has_it) in [
        ("f2fs", "f2fs-moved-data", tried, true),
        ("f2fs:mount=noatime", "f2fs-moved-data", tried, true),
        ("f2fs", "f2fs-moved-data", other, false),
        ("f2fs:mount=noinline_data", "f2fs-moved-data", tried, false),
        ("xfs", "f2fs-moved-data", tried, false),
        ("ext4", "ext4-zeros", tried, true),
        ("ext4@luks", "ext4-zeros", tried, true),
        ("ext4:mount=nobarrier", "ext4-zeros", tried, false),
        ("ext4:mount=data=writeback", "ext4-zeros", tried, false),
        ("ext4", "ext4-striped", tried, false),
        ("ext4@luks", "ext4-striped", tried, false),
        ("ext4@raid0", "ext4-striped", tried, true),
    ] {
        let configuration = configurations(&catalogue, &[name.to_owned()]).unwrap().remove(0);
        let fault = catalogue.get::<KnownFault>(fault).unwrap();
        assert_eq!(fault.of(&configuration, release).is_some(), has_it, "{name} {release}: {}", fault.name);
    }
}

#[test]
fn a_known_fault_without_a_kernel_or_a_day_is_refused() {
    let fault = Catalogue::built_in().unwrap().get::<KnownFault>("xfs-same-tick").unwrap().clone();
    assert_eq!(fault.faults(), Vec::<String>::new());
    let changed = |change: fn(&mut KnownFault)| {
        let mut changed = fault.clone();
        change(&mut changed);
        changed.faults().join(" ")
    };
    assert!(changed(|fault| fault.seen.clear()).contains("name a kernel"));
    assert!(changed(|fault| fault.seen[0].kernel = "6.1".into()).contains("give a series such as 6.12"));
    assert!(changed(|fault| fault.seen[0].date = "yesterday".into()).contains("give a day"));
}

#[test]
fn files_of_users_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let good = "name = \"mine\"\ntitle = \"Mine\"\nabout = \"Mine\"\nsteps = [\"true\"]\ncheck = \"true\"\n";
    let refused = |text: &str, says: &[&str]| {
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, text).unwrap();
        let error = workload(&Catalogue::built_in().unwrap(), path.to_str().unwrap()).unwrap_err().to_string();
        for part in says.iter().chain(&["mine.toml"]) {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    refused(&format!("{good}chek = 1\n"), &["6:1", "chek"]);
    refused(&good.replace("\"mine\"", "\"other\""), &["other", "make them equal"]);
    refused(&good.replace("check = \"true\"\n", ""), &["check is missing"]);
    refused(&good.replace("\"true\"]", "\"true\"]\npackages = [\"-y\"]"), &["packages", "-y"]);
    refused(&format!("{good}workload = \"creat foo; fsync foo\"\n"), &["steps", "workload"]);
    refused("", &["missing field"]);
    std::fs::write(folder.path().join("mine.toml"), good).unwrap();
    let mine = folder.path().join("mine.toml");
    let its = workload(&Catalogue::built_in().unwrap(), mine.to_str().unwrap()).unwrap();
    assert_eq!(Path::new(&its.to_string()), mine);
    let unknown = workload(&Catalogue::built_in().unwrap(), "sqlite-wall").unwrap_err().to_string();
    assert!(unknown.contains("sqlite-wal"), "{unknown}");
    assert_eq!(Kind::Scenario.folder(), "crash");
}

#[test]
fn images_are_checked_and_judged_by_what_lies_on_the_disks() {
    let catalogue = Catalogue::built_in().unwrap();
    let configuration = |name: &str| configurations(&catalogue, &[name.to_owned()]).unwrap().remove(0);
    let check = |name: &str| configuration(name).base().image_check_command("disk").unwrap();
    assert_eq!(check("xfs:external-log"), ["xfs_repair", "-n", "-l", "/dev/nbd2", "disk"], "a variant's own check");
    assert_eq!(check("xfs:realtime"), ["xfs_repair", "-n", "-r", "/dev/nbd2", "disk"]);
    assert!(check("xfs:noatime").contains(&"-P".to_owned()) && check("overlay@xfs") == check("xfs"));
    let promised = |name: &str| {
        let (promises, undocumented) = configuration(name).promises();
        (promises.levels.iter().map(|level| level.to_string()).collect::<Vec<_>>().join(" "), undocumented.is_some())
    };
    for (name, levels, is_undocumented) in [
        ("overlay", "L0 L1", true),
        ("overlay@ext2", "L1", true),
        ("overlay@ext4:mount=nobarrier", "", true),
        ("bindfs@ext4@integrity:mode=none", "", true),
        ("ext4@integrity:mode=none", "", false),
        ("ext4@integrity", "L0 L1 L2 L3 L4 L5 L6", false),
        ("ext4@integrity:mode=bitmap@raid5", "L0 L1 L2 L3 L4 L5 L6", false),
    ] {
        assert_eq!(promised(name), (levels.to_owned(), is_undocumented), "{name}");
    }
}
