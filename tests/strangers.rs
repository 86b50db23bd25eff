//! Untrusted suites, catalogues, job files and stores: whatever they contain, nothing on this machine is started, read
//! or written for them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mountmark_cells::Plan;
use mountmark_model::Environment;
use mountmark_record::{RunStatus, Store};

use crate::apt::{NAMES, asked, fake_apt};
use crate::lab::Lab;
use crate::made;

/// A store with one run that can be resumed, after `change` of its plan.
fn stored(lab: &Lab, change: impl FnOnce(&mut Plan)) {
    let mut plan = made::plan("piszcz-2006", &["ext4"], 1, 1, "0.005");
    change(&mut plan);
    let _ = fs::remove_dir_all(lab.out());
    let store = Store::open(lab.out().join("results.sqlite")).expect("a store");
    let run = store.begin_run(&plan, &Environment::default(), "mountmark run").expect("a run");
    store.end_run(&run, RunStatus::Interrupted).expect("an end");
}

#[test]
fn a_strangers_store_starts_and_reads_nothing() {
    let lab = Lab::without_guests();
    let bin = fake_apt(&lab, "true");
    let cache = lab.path("cache");
    let lab = lab.with_cache(&cache).with_programs(&bin);
    let out = lab.out().to_string_lossy().into_owned();
    let resumed = |code: u8, says: &[&str]| {
        let ran = lab.command(&["resume", "--out", &out]);
        assert_eq!(ran.code(), i32::from(code), "{}", ran.text());
        ran.says(says);
        assert_eq!(asked(&bin), "");
    };
    for name in NAMES {
        stored(&lab, |plan| plan.change(|cell| cell.packages.push(name.into())));
        resumed(2, &["cannot be resumed", "cell 0 (ext4)", &format!("packages has {name:?}")]);
        stored(&lab, |plan| plan.change(|cell| cell.configuration.filesystem.packages.push(name.into())));
        resumed(2, &[&format!("packages has {name:?}")]);
    }
    // The package of a module's source, which would be built here.
    for (name, says) in [("zfs", "end in -dkms"), ("evil-dkms", "evil-dkms, which no file system of this machine's")] {
        stored(&lab, |plan| plan.change(|cell| cell.configuration.filesystem.module_source = Some(name.into())));
        resumed(2, &["cannot be resumed", says]);
    }
    stored(&lab, |plan| plan.change(|cell| cell.tools.push("/usr/share/../../etc/shadow".into())));
    resumed(2, &["tools has"]);
    stored(&lab, |plan| plan.machine.shift = 200);
    resumed(2, &["shift is 200"]);
    stored(&lab, |plan| plan.change(|cell| cell.disk_size.0 = u64::MAX));
    resumed(2, &["the disk_size is"]);
    // A file of this machine as the corpus, which would be handed to the guest.
    let secret = lab.write("secret", "of the host");
    let corpora = lab.path("cache/corpora");
    fs::create_dir_all(&corpora).unwrap();
    symlink(&secret, corpora.join("link.tar")).unwrap();
    for tar in [secret, "/etc/passwd".into(), corpora.join("link.tar").to_string_lossy().into_owned()] {
        stored(&lab, |plan| {
            plan.change(|cell| {
                let medium = cell.second_disk.as_mut().expect("a second disk");
                medium.tar = tar.clone();
                medium.corpus.tar_bytes = 11;
            });
        });
        resumed(3, &["its corpus", &tar, "as it was"]);
    }
    let pipe = lab.path("vmlinux-6.12");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_string_lossy().into_owned();
    stored(&lab, |plan| plan.kernel = pipe.clone());
    resumed(3, &["cannot read its kernel", "a pipe"]);
}

#[test]
fn a_name_of_a_run_is_no_path() {
    let lab = Lab::without_guests();
    stored(&lab, |_| {});
    let out = lab.out().to_string_lossy().into_owned();
    let store = rusqlite::Connection::open(lab.out().join("results.sqlite")).unwrap();
    store.execute("UPDATE run SET id = 'x/../../up'", []).unwrap();
    drop(store);
    for command in [vec!["report", "--out", &out], vec!["runs", "--out", &out], vec!["show", "--out", &out]] {
        lab.command(&command).ended_with(3).says(&["is not the name of a run"]);
    }
}

/// What the engine would refuse in each guest is refused before the first one.
#[test]
fn a_workload_that_could_run_nowhere_is_refused_in_the_plan() {
    let lab = Lab::without_guests();
    let workload = |files: &str, phases: &str| {
        let head = "[parameters.COUNT]\nvalue = 100\n\n[[task]]\nid = \"w\"\ntitle = \"w\"\n";
        format!("{head}workload.files = {{ folder = \"f\", count = \"$COUNT\"{files} }}\n{phases}")
    };
    let phase = |name: &str, more: &str| format!("[[task.workload.phases]]\nname = \"{name}\"\n{more}\n");
    let sized = ", size = \"16 KiB\"";
    let fill = phase("fill", "what = \"write-file\"\nsetup = true");
    let beside = "what = \"unlink\"\nbeside = true\nrun = \"beside\"";
    for (name, text, said) in [
        ("appends", workload("", &phase("a", "what = \"write\"\npattern = \"append\"")), "its files have no size"),
        ("deletes", workload(sized, &format!("{fill}{}", phase("d", beside))), "can be done once to each file"),
        (
            "folder",
            workload(sized, &fill.replace("setup = true", "")).replace("\"f\"", "\"../f\""),
            "below the workload's own",
        ),
    ] {
        let suite = lab.suite(name, &text);
        for more in [&["--dry-run"][..], &[]] {
            let arguments = [&["run", "--fs", "ext4", "--suite", &suite], more].concat();
            lab.command(&arguments).ended_with(2).says(&["task w: phase ", said]);
        }
    }
}

#[test]
fn a_suite_reads_what_came_with_it() {
    let lab = Lab::without_guests();
    let folder = lab.path("suite");
    fs::create_dir_all(folder.join("jobs")).unwrap();
    let secret = "root:$6$secret:19000:0:99999:7:::\n";
    fs::write(lab.path("shadow"), secret).unwrap();
    symlink("../shadow", folder.join("link.fio")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    fs::write(folder.join("jobs/beside.fio"), secret).unwrap();
    let whole = lab.path("shadow").to_string_lossy().into_owned();
    let suite = folder.join("own.toml");
    let of = |fio: &str| {
        let task = "[[task]]\nid = \"one\"\ntitle = \"one\"\n";
        fs::write(&suite, format!("name = \"own\"\nabout = \"x\"\nroom = \"1 MiB\"\n{task}fio = {fio:?}\n")).unwrap();
        let ran = lab.run(&["--fs", "ext4", "--suite", &suite.to_string_lossy()]).ended_with(2);
        assert!(!ran.text().contains("secret"), "{}", ran.text());
        ran
    };
    for fio in ["/etc/shadow", "../shadow", "link.fio", "up/shadow", &whole] {
        of(fio).says(&["own.toml", "task one: fio = ", "does not lie in the folder"]);
    }
    of("jobs/beside.fio").says(&["beside.fio:1: ", "no job file of fio"]);
    symlink("/dev/zero", folder.join("device.fio")).unwrap();
    of("device.fio").says(&["does not lie in the folder"]);
    assert!(Command::new("mkfifo").arg(folder.join("pipe.fio")).status().unwrap().success());
    of("pipe.fio").says(&["task one: fio = \"pipe.fio\": it is a pipe"]);
    // Named by the user, it may be anywhere; its contents are not repeated either.
    let job = lab.path("shadow.fio");
    fs::rename(lab.path("shadow"), &job).unwrap();
    let ran = lab.run(&["--fs", "ext4", "--suite", &job.to_string_lossy()]).ended_with(2);
    ran.says(&["shadow.fio:1: ", "no job file of fio"]);
    assert!(!ran.text().contains("secret"), "{}", ran.text());
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let lab = Lab::without_guests();
    let pipe = |path: PathBuf| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.to_string_lossy().into_owned()
    };
    let words = ["a pipe and not a regular file"];
    lab.run(&["--suite", &pipe(lab.path("own.toml"))]).ended_with(2).says(&words);
    lab.run(&["--suite", &pipe(lab.path("own.fio"))]).ended_with(2).says(&words);
    lab.command(&[&format!("@{}", pipe(lab.path("own.plan")))]).ended_with(2).says(&words);
    for command in ["show", "runs", "resume", "report"] {
        let store = lab.out().join("results.sqlite");
        let _ = fs::remove_file(&store);
        pipe(store);
        lab.command(&[command, "--out", &lab.out().to_string_lossy()]).ended_with(3).says(&words);
    }
    lab.run(&["--suite", "piszcz-2006"]).ended_with(3).says(&words);
    let large = lab.write("large.toml", &"# much\n".repeat(200_000));
    lab.run(&["--suite", &large]).ended_with(2).says(&["large.toml", "more than 1 MiB"]);
    let catalogue = lab.path("config/mountmark/catalog");
    for name in ["suites/own.toml", "filesystems/own.toml", "studies/own.toml"] {
        let path = pipe(catalogue.join(name));
        lab.command(&["list", "suites"]).ended_with(2).says(&["cannot read", &path, words[0]]);
        fs::remove_file(&path).unwrap();
    }
    symlink("/dev/zero", catalogue.join("suites/own.toml")).unwrap();
    lab.command(&["list", "suites"]).ended_with(2).says(&["cannot read", "a device and not a regular file"]);
}

#[test]
fn guests_are_bounded() {
    let Some(lab) = Lab::with_guests("guests_are_bounded", 1) else { return };
    let suite = lab.suite("busy", "[[task]]\nid = \"one\"\ntitle = \"one\"\nrun = \"while :; do :; done\"\n");
    let mut run = lab.start_run(&["--fs", "ext2", "--suite", &suite, "--repeat", "1", "--verbose"]);
    run.wait_for(": one");
    let guests = run.guests();
    let begin = std::time::Instant::now();
    let guest = loop {
        if let Some(guest) = guests().first() {
            break *guest;
        }
        assert!(begin.elapsed().as_secs() < 60, "no guest is seen");
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let read = |name: &str| fs::read_to_string(format!("/proc/{guest}/{name}")).unwrap_or_default();
    let limits = read("limits");
    let file = limits.lines().find(|line| line.starts_with("Max file size")).unwrap_or_default();
    assert!(file.contains("268435456"), "{limits}");
    assert_eq!(read("oom_score_adj").trim(), "1000");
    run.signal(libc::SIGINT);
    run.wait();
}

/// Every test that is named beside a threat exists.
#[test]
fn what_is_said_about_security_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("crates"), root.join("tests"), root.join("src")];
    let mut sources = String::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources += &fs::read_to_string(path).unwrap();
            }
        }
    }
    let threats: toml::Table = toml::from_str(include_str!("threats.toml")).unwrap();
    let threats = threats["threat"].as_array().unwrap();
    assert!(threats.len() > 15, "{threats:?}");
    let held_by = threats.iter().flat_map(|threat| threat["held_by"].as_array().unwrap());
    let names = held_by.map(|name| name.as_str().unwrap()).filter(|name| name.contains("::"));
    for name in names {
        let function = name.rsplit("::").next().unwrap();
        assert!(sources.contains(&format!("fn {function}(")), "there is no test {name}");
    }
}
