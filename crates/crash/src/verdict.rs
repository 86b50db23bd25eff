//! Whether what was seen of an image is what its configuration promises.

use mountmark_model::{Configuration, FileOutcome};

use crate::application::End;
use crate::campaign::{Check, Fault, Seen, Told};
use crate::moment::Moment;
use crate::oracle::{History, Level, Levels, Promises, Violation, unreadable};
use crate::tree::Tree;

/// What is wrong with an image: with what its configuration promises, and with what others promise.
pub fn faults(
    seen: &Seen,
    configuration: &Configuration,
    promises: &Promises,
    history: &History,
    moment: Moment,
) -> Vec<Told> {
    // Of what the medium has lost a file system promises nothing.
    let none = Promises { levels: Levels::default(), ..*promises };
    let has_lost = history.has_lost(moment);
    let promises = if has_lost { &none } else { promises };
    let sound = promises.has(Level::L0);
    let mut all: Vec<Told> =
        unsound(seen, configuration).into_iter().map(|fault| Told { fault, promised: sound }).collect();
    // What need not be sound is judged as it is after its repair.
    let repaired = seen.repaired.as_ref().filter(|_| !sound).and_then(|repaired| repaired.tree.as_ref());
    if !history.has_model() {
        // An application relies on what fsync covers, if it says that its steps are durable.
        let relies = history.is_durable() && promises.has(Level::L1);
        let is_promised = |fault: &Fault| sound && (relies || !matches!(fault, Fault::Application(_)));
        let told = |fault| Told { promised: is_promised(&fault), fault };
        all.extend(of_application(seen).into_iter().map(told));
    } else if let Some(tree) = repaired.or(seen.tree.as_ref()) {
        let told = |promised: bool| {
            move |violation: Violation| {
                let promised = promised && is_owed(promises, violation.level);
                Told { fault: Fault::Broken(violation), promised }
            }
        };
        let broken = history.judge(moment, promises, tree);
        let beyond = beyond(&broken, history, promises, moment, tree);
        all.extend(broken.into_iter().map(told(!has_lost)));
        all.extend(beyond.into_iter().map(told(false)));
    }
    all
}

/// What is wrong with an application's image that could be mounted, beyond what the file system's own check says.
fn of_application(seen: &Seen) -> Vec<Fault> {
    let files = seen.tree.iter().flat_map(unreadable).map(Fault::Broken);
    let own = seen.application.iter().filter(|verdict| verdict.end != End::Status(0));
    files.chain(own.cloned().map(Fault::Application)).collect()
}

/// Whether what [`History::judge`] says to be broken was promised: it says that something cannot be read, or was put there
/// by nobody, of those too that promise nothing.
fn is_owed(promises: &Promises, level: Level) -> bool {
    level != Level::L0 || promises.has(Level::L0)
}

/// What became of the file system itself.
pub fn whole(seen: &Seen, told: &[Told]) -> FileOutcome {
    match () {
        () if seen.mount.is_some() => FileOutcome::NotMounted,
        () if told.iter().any(|told| told.fault.is_damage()) => FileOutcome::Broken,
        () if seen.recovery.as_ref().is_some_and(|recovery| recovery.status != 0) => FileOutcome::Mended,
        () => FileOutcome::New,
    }
}

/// What is wrong before anyone asks what it holds.
fn unsound(seen: &Seen, configuration: &Configuration) -> Vec<Fault> {
    // What is checked and recovered is what lies on the disks.
    let filesystem = &configuration.base().filesystem;
    let fsck = filesystem.fsck.as_ref();
    let leaves_damage = |check: &&Check| {
        let done = filesystem.recovery.as_ref().is_some_and(|recovery| recovery.done.contains(&check.status));
        !(done || fsck.is_some_and(|fsck| fsck.clean.contains(&check.status)))
    };
    let mut all: Vec<Fault> = seen.recovery.iter().filter(leaves_damage).cloned().map(Fault::Recovery).collect();
    // What cannot be mounted has not recovered, and a check of it says nothing more.
    if let Some(reason) = &seen.mount {
        all.push(Fault::Mount(reason.clone()));
        return all;
    }
    all.extend(seen.write.clone().map(Fault::Write));
    all.extend(seen.umount.clone().map(Fault::Umount));
    let is_clean = |check: &Check| fsck.is_none_or(|fsck| fsck.clean.contains(&check.status));
    all.extend(seen.check.clone().filter(|check| !is_clean(check)).map(Fault::Check));
    all
}

/// What would break the promises of a file system that promises everything, where nothing else is wrong, each under the
/// first level that `promises` lacks and with which it is wrong.
fn beyond(broken: &[Violation], history: &History, promises: &Promises, moment: Moment, tree: &Tree) -> Vec<Violation> {
    let mut beyond = history.judge(moment, &Promises::most(), tree);
    beyond.retain(|violation| broken.iter().all(|broken| broken.path != violation.path));
    let lacking: Vec<Level> = Level::ALL.into_iter().filter(|level| !promises.has(*level)).collect();
    let with = |count: usize| {
        let levels = promises.levels.iter().chain(lacking[..=count].iter().copied()).collect();
        history.judge(moment, &Promises { levels, ..*promises }, tree)
    };
    let is_kept = |violation: &Violation| promises.has(violation.level);
    if beyond.iter().any(is_kept) {
        // Which places are told apart may depend on a level that is lacking: it is what was given up.
        let judged: Vec<Vec<Violation>> = (0..lacking.len()).map(with).collect();
        for violation in beyond.iter_mut().filter(|violation| is_kept(violation)) {
            let shows = |all: &Vec<Violation>| all.iter().any(|other| other.path == violation.path);
            let given_up = judged.iter().position(shows).map_or(Level::L6, |count| lacking[count]);
            violation.level = if promises.has(given_up) { Level::L7 } else { given_up };
        }
        beyond.retain(|violation| !is_kept(violation));
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::Verdict;
    use crate::tree::{Entry, Kind, Run, Source};
    use crate::workload::Workload;

    #[test]
    fn what_is_not_promised_is_never_of_a_level_that_is() {
        let text = "mkdir A; creat A/foo; write A/foo 0+16384; sync | rename A/foo A/bar; creat A/foo; write A/foo 0+4096; \
                    fsync A/foo";
        let workload: Workload = text.parse().unwrap();
        let history = History::new(&workload, &[0; 8]);
        let entry = |path: &str, inode, kind, runs: &[(u64, Source)]| Entry {
            path: path.into(),
            inode,
            kind,
            mode: if kind == Kind::Folder { 0o755 } else { 0o644 },
            links: 1,
            size: runs.iter().map(|(length, _)| length).sum(),
            xattrs: Vec::new(),
            target: None,
            runs: runs.iter().map(|&(length, source)| Run { length, source }).collect(),
            error: None,
        };
        let folder = entry("A", 3, Kind::Folder, &[]);
        let moment = Moment { begun: 8, returned: 7 };
        let contents = [Source::Op(2), Source::Op(6), Source::Zero, Source::Poison];
        let mut seen = 0;
        for source in contents {
            for length in [0, 4096, 16384] {
                let runs = if length == 0 { vec![] } else { vec![(length, source)] };
                let tree = Tree {
                    entries: vec![folder.clone(), entry("A/foo", 4, Kind::File, &runs)],
                    unreadable: Vec::new(),
                };
                for count in 0..=Level::ALL.len() {
                    let promises =
                        Promises { levels: Level::ALL[..count].iter().copied().collect(), ..Promises::least() };
                    let broken = history.judge(moment, &promises, &tree);
                    let beyond = beyond(&broken, &history, &promises, moment, &tree);
                    seen += beyond.len();
                    assert!(beyond.iter().all(|violation| !promises.has(violation.level)), "{promises:?}: {beyond:?}");
                }
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn nothing_is_owed_by_those_that_promise_nothing() {
        let none = Promises { levels: Levels::default(), ..Promises::least() };
        assert!(!is_owed(&none, Level::L0) && is_owed(&Promises::least(), Level::L0));
    }

    #[test]
    fn only_status_0_is_sound() {
        let faults = |end| {
            let verdict = Verdict { end, said: "no".into() };
            of_application(&Seen { application: Some(verdict), ..Seen::default() }).len()
        };
        assert_eq!([End::Status(0), End::Status(1), End::Signal(11), End::Limit(5)].map(faults), [0, 1, 1, 1]);
        assert_eq!(of_application(&Seen::default()), []);
    }

    #[test]
    fn what_lies_on_a_folder_is_sound_if_the_file_system_below_is() {
        let below = serde_json::json!({
            "name": "jfs", "mkfs_options": [], "mount_options": [], "filesystem": {
                "name": "jfs", "about": "", "mount_type": "jfs", "modules": [], "min_size": 1,
                "fsck": { "command": ["check"], "clean": [0] },
                "recovery": { "before_mount": ["recover"], "repair": [], "done": [0, 1], "source": "" },
            },
        });
        let mut upper = below.clone();
        for field in ["fsck", "recovery"] {
            upper["filesystem"].as_object_mut().unwrap().remove(field);
        }
        upper["below"] = below;
        let configuration: Configuration = serde_json::from_value(upper).unwrap();
        let faults = |recovered, checked| {
            let ended = |status| Some(Check { status, said: String::new() });
            let seen = Seen { recovery: ended(recovered), check: ended(checked), ..Seen::default() };
            unsound(&seen, &configuration).len()
        };
        assert_eq!([faults(0, 0), faults(1, 0), faults(0, 4), faults(8, 4)], [0, 0, 1, 2]);
    }
}
