//! The commands that a run suggests next work as printed, in the shell from which the run was started.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::lab::{Lab, binary};
use crate::made;

/// A run that was interrupted after its last cell ended: resuming it needs no guest.
fn ended(lab: &Lab) {
    let plan = made::plan("piszcz-2006", &["ext4", "xfs"], 2, 1, "0.01");
    made::record(lab, &plan, &[], |name, task, repeat| Some(made::noise(name, task, repeat, 1)));
    let store = rusqlite::Connection::open(lab.out().join("results.sqlite")).unwrap();
    assert_eq!(store.execute("UPDATE run SET status = 'interrupted'", []).unwrap(), 1);
}

/// The program started in the test's own folder.
fn in_its_folder(lab: Lab) -> Lab {
    let enter = format!("cd '{}' && exec \"$@\"", lab.path("").display());
    lab.under(&["sh", "-c", &enter, "sh"])
}

#[test]
fn what_to_type_next_works_as_typed() {
    let lab = Lab::without_guests();
    let program = std::fs::canonicalize(binary()).unwrap().to_string_lossy().into_owned();
    let folder = lab.path("programs");
    std::fs::create_dir(&folder).unwrap();
    symlink(binary(), folder.join("mountmark")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let with_ours = format!("{}:{path}", folder.display());
    let mut lab = in_its_folder(lab);
    for (path, name) in [(path.clone(), program), (with_ours, "mountmark".into())] {
        if name == "mountmark" {
            lab = lab.with_programs(&folder);
        }
        ended(&lab);
        let out = lab.out().to_string_lossy().into_owned();
        let ran = lab.command(&["resume", "--out", &out]).ended_with(0);
        ran.says(&["mountmark: scale 0.01: 1 % of the suite's own counts and sizes", "is kept in"]);
        let next: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert!(next.len() >= 2 && next.iter().all(|line| line.starts_with(&format!("{name} "))), "{}", ran.text());
        for line in next {
            let typed = Command::new("sh").args(["-c", line]).current_dir(lab.path("")).env("PATH", &path).output();
            let typed = typed.unwrap();
            assert!(typed.status.success(), "{line}: {}", String::from_utf8_lossy(&typed.stderr));
        }
        let page = std::fs::read_to_string(lab.path("report.html")).unwrap();
        assert!(page.contains("touch 100 files"), "the titles are not those of the scale");
        std::fs::remove_file(lab.path("report.html")).unwrap();
        std::fs::remove_dir_all(lab.out()).unwrap();
    }
}

#[test]
fn programs_are_told_nothing_to_type() {
    let lab = Lab::without_guests();
    ended(&lab);
    let out = lab.out().to_string_lossy().into_owned();
    let ran = lab.command(&["resume", "--format", "json", "--out", &out]).ended_with(0);
    assert!(ran.stderr.lines().all(|line| line.starts_with("mountmark: run ")), "{}", ran.text());
}
