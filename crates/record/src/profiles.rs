//! A cell's profiles as they are kept: names, a tree of the paths of all tasks, and the times of each task's paths, as JSON,
//! compressed.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};

use mountmark_model::Bytes;
use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Part, PathTime, Profile, TaskProfile};
use serde::{Deserialize, Serialize};
use serde_json::Error as JsonError;
use thiserror::Error;

/// Better ones take longer than they save.
const LEVEL: i32 = 9;
/// 16 MiB, of which this level makes no use, so that a stranger's file cannot ask for more memory.
const WINDOW: u32 = 24;
/// Most bytes of a cell in a store, of which it would be most otherwise.
const MOST_PACKED: Bytes = Bytes(8 << 20);
/// Most bytes of JSON, and of the paths of a cell in memory: what is written keeps to them, and what is read must.
const MOST_TEXT: Bytes = Bytes(64 << 20);
const MOST_PATHS: Bytes = Bytes(1 << 30);
/// Most bytes of a name and functions of a path: more than the profiler has.
const LONGEST: usize = 512;
const DEEPEST: usize = 300;

/// Profiles of a cell's tasks, packed.
#[derive(Clone, Debug)]
pub struct Profiles(Vec<u8>);

/// Profiles that are not to be kept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what} take {size}, and {most} are the most")]
pub struct TooLarge {
    what: String,
    size: Bytes,
    most: Bytes,
}

fn fit(what: &str, size: usize, most: Bytes) -> Result<(), TooLarge> {
    let size = Bytes(size as u64);
    if size > most { Err(TooLarge { what: what.to_owned(), size, most }) } else { Ok(()) }
}

impl Profiles {
    /// # Errors
    /// They would fill the store, or could not be read again.
    pub fn pack(profiles: &[TaskProfile]) -> Result<Profiles, TooLarge> {
        let parts = profiles.iter().flat_map(|profile| [&profile.returned, &profile.sync]);
        fit("their paths", parts.flat_map(|part| part.paths.keys()).map(|path| held(path)).sum(), MOST_PATHS)?;
        let mut tree = Tree::default();
        let tasks = profiles.iter().map(|profile| Task {
            task: profile.task.clone(),
            iteration: profile.iteration,
            returned: tree.paths(&profile.returned),
            sync: tree.paths(&profile.sync),
            strings: tree
                .strings(&profile.returned)
                .map(|of_returned| [of_returned, tree.strings(&profile.sync).unwrap_or_default()]),
            entries: [&profile.returned, &profile.sync].map(|part| tree.numbers(&part.entries)),
        });
        let tasks = tasks.collect();
        let text = super::store::json(&Packed { names: tree.names, nodes: tree.nodes, tasks });
        fit("they", text.len(), MOST_TEXT)?;
        let packed = zstd::stream::encode_all(text.as_bytes(), LEVEL).expect("memory takes every write");
        fit("they", packed.len(), MOST_PACKED)?;
        Ok(Profiles(packed))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Packed {
    pub names: Vec<String>,
    /// The parent of each, and its name: numbers from 0. A path's first node is its own parent.
    pub nodes: Vec<(u32, u32)>,
    pub tasks: Vec<Task>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Task {
    pub task: String,
    pub iteration: u32,
    pub returned: Timed,
    pub sync: Timed,
    /// Nodes, and nanoseconds of iterations of string instructions there, of both parts; none in profiles of before these
    /// were told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strings: Option<[Strings; 2]>,
    /// Nodes, and how often system calls were entered there, of both parts; none without callers, and before these were
    /// counted.
    #[serde(default, skip_serializing_if = "no_entries")]
    pub entries: [Strings; 2],
}

fn no_entries(entries: &[Strings; 2]) -> bool {
    entries.iter().all(Vec::is_empty)
}

pub(crate) type Timed = Vec<Path>;
pub(crate) type Strings = Vec<(u32, u64)>;

/// The last node; nanoseconds that it ran; and that it waited.
pub(crate) type Path = (u32, u64, Vec<Wait>);

/// The operation (from 1, or 0 for none), nanoseconds, and the number of what the request touched (0 for none, as in
/// profiles of before it was told).
#[derive(Serialize, Deserialize)]
pub(crate) struct Wait(u8, u64, #[serde(default)] u8);

impl Wait {
    pub fn nanoseconds(&self) -> u64 {
        self.1
    }
}

#[derive(Default)]
struct Tree {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    nodes: Vec<(u32, u32)>,
    children: HashMap<(Option<u32>, u32), u32>,
}

impl Tree {
    fn paths(&mut self, profile: &Profile) -> Vec<Path> {
        let path = |(path, time): (&Vec<String>, &PathTime)| {
            let wait = |(awaited, waited): (&Option<Awaited>, &u64)| {
                let operation = awaited.map_or(0, |awaited| awaited.operation as u8 + 1);
                Wait(operation, *waited, awaited.and_then(|awaited| awaited.part).map_or(0, Part::number))
            };
            let waiting = time.waiting.iter().map(wait);
            Some((self.node(path)?, time.running, waiting.collect()))
        };
        profile.paths.iter().filter_map(path).collect()
    }

    fn strings(&mut self, profile: &Profile) -> Option<Strings> {
        Some(self.numbers(profile.strings.as_ref()?))
    }

    fn numbers(&mut self, of: &BTreeMap<Vec<String>, u64>) -> Strings {
        of.iter().filter_map(|(path, number)| Some((self.node(path)?, *number))).collect()
    }

    /// The node of a path; `None` of the empty one.
    fn node(&mut self, path: &[String]) -> Option<u32> {
        let mut at = None;
        for name in path {
            let name = match self.numbers.get(name) {
                Some(number) => *number,
                None => {
                    self.names.push(name.clone());
                    self.numbers.insert(name.clone(), self.names.len() as u32 - 1);
                    self.names.len() as u32 - 1
                }
            };
            let new = self.nodes.len() as u32;
            let node = *self.children.entry((at, name)).or_insert(new);
            if node == new {
                self.nodes.push((at.unwrap_or(new), name));
            }
            at = Some(node);
        }
        at
    }
}

/// What was packed, as it is.
pub(crate) fn read(packed: &[u8]) -> Result<Packed, JsonError> {
    let mut text = Vec::new();
    let mut reader = zstd::stream::Decoder::new(packed).map_err(JsonError::io)?;
    reader.window_log_max(WINDOW).map_err(JsonError::io)?;
    reader.take(MOST_TEXT.0).read_to_end(&mut text).map_err(JsonError::io)?;
    let found: Packed = serde_json::from_slice(&text)?;
    if found.names.iter().any(|name| name.len() > LONGEST) {
        return Err(damaged("a name that is too long"));
    }
    Ok(found)
}

/// The profiles of tasks that are `wanted`.
pub(crate) fn unpack(packed: &[u8], wanted: &dyn Fn(&str) -> bool) -> Result<Vec<TaskProfile>, JsonError> {
    let Packed { names, nodes, tasks } = read(packed)?;
    let mut left = MOST_PATHS.0 as usize;
    let mut profile = |paths: Vec<Path>, strings: Option<Strings>, entries: Strings| -> Result<Profile, JsonError> {
        let of_node = |(node, number): (u32, u64)| Ok((path(&names, &nodes, node)?, number));
        let numbers = |all: Strings| all.into_iter().map(of_node).collect::<Result<_, JsonError>>();
        let (strings, entries) = (strings.map(numbers).transpose()?, numbers(entries)?);
        let mut out = Profile { strings, entries, ..Profile::default() };
        for (node, running, waiting) in paths {
            let path = path(&names, &nodes, node)?;
            left = left.checked_sub(held(&path)).ok_or_else(|| damaged("too many paths"))?;
            let time: &mut PathTime = out.paths.entry(path).or_default();
            time.running = running;
            time.waiting = waiting.into_iter().map(awaited).collect::<Result<BTreeMap<_, _>, JsonError>>()?;
        }
        Ok(out)
    };
    let tasks = tasks.into_iter().filter(|task| wanted(&task.task));
    tasks
        .map(|task| {
            let [of_returned, of_sync] = task.strings.map_or([None, None], |both| both.map(Some));
            let [entries, of_sync_entries] = task.entries;
            let returned = profile(task.returned, of_returned, entries)?;
            let sync = profile(task.sync, of_sync, of_sync_entries)?;
            Ok(TaskProfile { task: task.task, iteration: task.iteration, returned, sync })
        })
        .collect()
}

/// Bytes of memory of a path.
fn held(path: &[String]) -> usize {
    path.iter().map(|name| name.len() + size_of::<String>() + size_of::<usize>()).sum()
}

fn path(names: &[String], nodes: &[(u32, u32)], last: u32) -> Result<Vec<String>, JsonError> {
    let mut out = Vec::new();
    let mut at = last;
    loop {
        let (parent, name) = *nodes.get(at as usize).ok_or_else(|| damaged("a path that is not known"))?;
        out.push(names.get(name as usize).ok_or_else(|| damaged("a function that is not known"))?.clone());
        // A parent is made before its children.
        match parent.cmp(&at) {
            std::cmp::Ordering::Less if out.len() < DEEPEST => at = parent,
            std::cmp::Ordering::Equal => break,
            _ => return Err(damaged("a path that leads nowhere")),
        }
    }
    out.reverse();
    Ok(out)
}

fn awaited(Wait(number, waited, part): Wait) -> Result<(Option<Awaited>, u64), JsonError> {
    let Some(at) = number.checked_sub(1) else { return Ok((None, waited)) };
    let operation = *DeviceOperation::ALL.get(usize::from(at)).ok_or_else(|| damaged("an unknown request"))?;
    let part = match part {
        0 => None,
        part => Some(Part::of_number(part).ok_or_else(|| damaged("an unknown part of a file system"))?),
    };
    Ok((Some(Awaited { operation, part }), waited))
}

pub(crate) fn damaged(what: &'static str) -> JsonError {
    JsonError::io(io::Error::new(io::ErrorKind::InvalidData, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(paths: &[(&str, u64)]) -> Profile {
        let time = |(path, running): &(&str, u64)| {
            let awaited = |operation, part| Some(Awaited { operation, part });
            let waiting = BTreeMap::from([
                (None, 3),
                (awaited(DeviceOperation::Flush, None), running + 1),
                (awaited(DeviceOperation::Write, Some(Part::Journal)), 5),
                (awaited(DeviceOperation::Write, Some(Part::Sixteenth(15))), 6),
            ]);
            (path.split(';').map(str::to_owned).collect(), PathTime { running: *running, waiting })
        };
        let strings = paths.iter().map(|(path, time)| (path.split(';').map(str::to_owned).collect(), time / 2));
        let entries = paths.iter().map(|(path, time)| (path.split(';').map(str::to_owned).collect(), time / 3));
        Profile {
            paths: paths.iter().map(time).collect(),
            strings: Some(strings.collect()),
            entries: entries.collect(),
        }
    }

    fn all() -> Vec<TaskProfile> {
        let returned = profile(&[("cp", 0), ("cp;read;ext4:find", u64::MAX - 1), ("cp;read", 7), ("sh;read", 8)]);
        let sync = profile(&[("init;a;b;a;b", 9)]);
        let one = TaskProfile { task: "001".into(), iteration: 0, returned, sync: sync.clone() };
        vec![
            one.clone(),
            TaskProfile {
                task: "002".into(),
                iteration: 1,
                sync: Profile { strings: Some(BTreeMap::new()), ..Profile::default() },
                returned: sync,
            },
        ]
    }

    #[test]
    fn profiles_come_back_as_they_were() {
        let packed = Profiles::pack(&all()).unwrap();
        assert_eq!(unpack(packed.bytes(), &|_| true).unwrap(), all());
        assert_eq!(unpack(packed.bytes(), &|task| task == "002").unwrap(), all()[1..]);
        assert!(packed.bytes().len() < 400, "{}", packed.bytes().len());
    }

    #[test]
    fn as_many_paths_as_a_long_task_has_come_back() {
        // 120,000 paths of 25 functions: more than 100 MiB in memory, and a small part of that in the store.
        let deep = "entry_SYSCALL_64_after_hwframe;".repeat(24);
        let paths: Vec<(String, u64)> = (0..120_000).map(|number| (format!("{deep}f{number}"), number)).collect();
        let paths: Vec<(&str, u64)> = paths.iter().map(|(path, time)| (path.as_str(), *time)).collect();
        // It has no second part.
        let sync = Profile { strings: Some(BTreeMap::new()), ..Profile::default() };
        let long = TaskProfile { task: "long".into(), iteration: 0, returned: profile(&paths), sync };
        let packed = Profiles::pack(std::slice::from_ref(&long)).unwrap();
        assert_eq!(unpack(packed.bytes(), &|_| true).unwrap(), [long]);
    }

    #[test]
    fn what_could_not_be_read_again_is_not_packed() {
        let too_large = fit("their paths", 2 * MOST_PATHS.0 as usize, MOST_PATHS).unwrap_err();
        assert_eq!(too_large.to_string(), "their paths take 2.00 GiB, and 1.00 GiB are the most");
    }

    #[test]
    fn damaged_profiles_are_refused() {
        let text = super::super::store::json(&serde_json::json!({
            "names": ["cp", "read"], "nodes": [[0, 0], [0, 1]],
            "tasks": [{ "task": "001", "iteration": 0, "returned": [[1, 5, [[4, 6]]]], "sync": [] }],
        }));
        let read = |text: &str| unpack(&zstd::stream::encode_all(text.as_bytes(), 1).unwrap(), &|_| true);
        assert_eq!(read(&text).unwrap()[0].returned.paths.len(), 1);
        for (from, to) in [
            ("[[1,5", "[[2,5"),
            ("[0,1]]", "[1,9]]"),
            ("[0,1]]", "[2,1]]"),
            ("[4,6]", "[5,6]"),
            ("[4,6]", "[4,6,14]"),
            ("[4,6]", "[4,6,8,1]"),
            ("\"iteration\":0", "\"iteration\":-1"),
        ] {
            let damaged = text.replace(from, to);
            assert_ne!(damaged, text, "{from}");
            assert!(read(&damaged).is_err(), "{from} as {to}");
        }
        assert!(unpack(b"nothing", &|_| true).is_err());
    }
}
