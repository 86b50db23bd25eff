//! What changes a key, and what does not.

use mountmark_model::{Processor, Restart};

use super::*;
use crate::emulator::hardware::{Clock, memory_map};

/// A cell with all that a cell can have.
const CELL: &str = include_str!("cell.toml");
/// Parts of it that no guest can see: places in a plan, names of the user's, facts that the host uses, a path of this machine.
const FREE: [&str; 10] = [
    "/index",
    "/repeat",
    "/point",
    "/target",
    "/configuration/name",
    "/configuration/filesystem/roomy_size",
    "/configuration/filesystem/module_source",
    "/second_disk/tar",
    "/age/text",
    "/age/path",
];
/// Tables of which no part can be seen. Without a task that restarts the machine, nothing is recovered.
const FREE_TABLES: [&str; 3] =
    ["/configuration/filesystem/variants/", "/configuration/filesystem/recovery/", "/second_disk/corpus/"];
/// Of the corpus its hash, and the length of its medium.
const OF_THE_CORPUS: [&str; 2] = ["/second_disk/corpus/sha256", "/second_disk/corpus/tar_bytes"];
/// Values of fields that take one of a list.
const WORDS: [&str; 9] = ["tree", "data", "ram", "read", "random", "mmap", "dsync", "zero", "beside"];

type Change<'a> = &'a dyn Fn(&mut Inputs);

/// All that a key is made of.
#[derive(Clone)]
struct Inputs {
    cell: Cell,
    hardware: Hardware,
    image: String,
    kernel: String,
    emulator: BTreeMap<String, String>,
}

impl Inputs {
    fn new() -> Inputs {
        let cell: Cell = toml::from_str(CELL).unwrap();
        Inputs {
            hardware: Hardware {
                clock: Clock::Instructions { shift: 1 },
                processor: Processor::default(),
                ram: 1 << 30,
                media: 64 << 30,
                arguments: memory_map(64 << 30, &[]),
                kernel: "/cache/kernels/a/vmlinux".into(),
                image: "/cache/images/a/initramfs.cpio".into(),
            },
            cell,
            image: "1".repeat(64),
            kernel: "2".repeat(64),
            emulator: [PROGRAM].iter().chain(&FIRMWARE).map(|name| ((*name).to_owned(), "3".repeat(64))).collect(),
        }
    }

    fn parts(&self) -> Value {
        let layout = Layout::of(&self.cell).unwrap();
        parts(&self.cell, &self.hardware, &layout, (&self.image, &self.kernel), &self.emulator)
    }

    fn key(&self) -> String {
        CellKey::of(self.parts()).sha256
    }

    /// The key after a change of the inputs.
    fn after(change: impl FnOnce(&mut Inputs)) -> String {
        let mut inputs = Inputs::new();
        change(&mut inputs);
        inputs.key()
    }
}

/// Pointers to all values of a JSON document that hold no others.
fn leaves(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| leaves(field, &format!("{at}/{name}"), into)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{at}/{index}"), into));
        }
        _ => into.push(at.to_owned()),
    }
}

/// The cell with another value at this place; `None` if there is no other one.
fn changed(cell: &Value, at: &str) -> Option<Cell> {
    let old = cell.pointer(at).unwrap();
    let candidates = match old {
        Value::Bool(on) => vec![json!(!on)],
        Value::Number(number) => match number.as_u64() {
            Some(number) => vec![json!(number + 1), json!(number * 2)],
            None => vec![json!(number.as_f64().unwrap() + 0.25)],
        },
        Value::String(text) => {
            std::iter::once(format!("{text}x")).chain(WORDS.map(String::from)).map(Value::from).collect()
        }
        other => panic!("{at}: {other}"),
    };
    let was: Cell = serde_json::from_value(cell.clone()).unwrap();
    candidates.into_iter().find_map(|candidate| {
        let mut new = cell.clone();
        *new.pointer_mut(at).unwrap() = candidate;
        if let Some(disk) = at.strip_suffix("/model") {
            // Another model has other parameters: in a table of a disk, or beside the model.
            let disk = new.pointer_mut(disk).unwrap().as_object_mut().unwrap();
            let is_disk = disk.contains_key("name");
            disk.retain(|field, _| field == "model" || is_disk && !["flash", "hdd"].contains(&&field[..]));
        }
        serde_json::from_value(new).ok().filter(|new| *new != was)
    })
}

#[test]
fn every_field_of_a_cell_changes_the_key_or_is_known_not_to() {
    let inputs = Inputs::new();
    let (key, cell) = (inputs.key(), serde_json::to_value(&inputs.cell).unwrap());
    let (mut all, mut free) = (Vec::new(), 0);
    leaves(&cell, "", &mut all);
    // What is null here would not be looked at: only what excludes another field may be.
    let nulls: Vec<String> = all.extract_if(.., |at| cell.pointer(at).unwrap().is_null()).collect();
    assert!(nulls.iter().all(|at| at.starts_with("/tasks/")), "{nulls:?}");
    for at in &all {
        let Some(cell) = changed(&cell, at) else { panic!("{at} takes no other value") };
        let is_free = FREE.contains(&at.as_str())
            || FREE_TABLES.iter().any(|table| at.starts_with(table)) && !OF_THE_CORPUS.contains(&at.as_str());
        free += usize::from(is_free);
        assert_eq!(Inputs { cell, ..inputs.clone() }.key() == key, is_free, "{at}");
    }
    assert!(all.len() > 100 && free > FREE.len() + FREE_TABLES.len(), "{} {free}", all.len());
}

#[test]
fn what_lies_in_no_field_of_the_cell_changes_the_key_too() {
    let key = Inputs::new().key();
    assert_eq!(Inputs::new().key(), key);
    let features = |inputs: &mut Inputs| inputs.hardware.processor = Processor(vec!["sse4_2".into()]);
    let changes: [(&str, Change); 9] = [
        ("image: guest's program, packages, modules", &|inputs| inputs.image = "4".repeat(64)),
        ("kernel", &|inputs| inputs.kernel = "4".repeat(64)),
        ("time of an instruction", &|inputs| inputs.hardware.clock = Clock::Instructions { shift: 2 }),
        ("clock", &|inputs| inputs.hardware.clock = Clock::Kvm),
        ("processor", &features),
        ("memory with the image's share", &|inputs| inputs.hardware.ram += 2 << 20),
        ("room of the media", &|inputs| inputs.hardware.media += 1 << 30),
        ("kernel's command line", &|inputs| inputs.hardware.arguments.push("nbd.nbds_max=3".into())),
        ("firmware that is missing", &|inputs| drop(inputs.emulator.remove("pvh.bin"))),
    ];
    for (what, change) in changes {
        assert_ne!(Inputs::after(change), key, "{what}");
    }
    for name in [PROGRAM].iter().chain(&FIRMWARE) {
        let other = |inputs: &mut Inputs| drop(inputs.emulator.insert((*name).to_owned(), "4".repeat(64)));
        assert_ne!(Inputs::after(other), key, "{name}");
    }
    let swapped = |inputs: &mut Inputs| std::mem::swap(&mut inputs.image, &mut inputs.kernel);
    assert_ne!(Inputs::after(swapped), key, "hashes at each other's place");
    // Each of these changes another number of the media's places.
    for (what, field) in
        [("test", "offset"), ("source", "size"), ("corpus", "offset"), ("undo", "size"), ("history", "size")]
    {
        let mut inputs = Inputs::new();
        inputs.cell.tasks[1].restart = Some(cut());
        let mut layout = Layout::of(&inputs.cell).unwrap();
        let parts = |layout: &Layout| {
            let Inputs { cell, hardware, image, kernel, emulator } = &inputs;
            CellKey::of(parts(cell, hardware, layout, (image, kernel), emulator)).sha256
        };
        let before = parts(&layout);
        let Layout { test, source, corpus, undo, history, .. } = &mut layout;
        let region = match what {
            "test" => test,
            "source" => source.as_mut().unwrap(),
            "corpus" => corpus.as_mut().unwrap(),
            "history" => history.as_mut().unwrap(),
            _ => undo.as_mut().unwrap(),
        };
        *if field == "size" { &mut region.size } else { &mut region.offset } += 4096;
        assert_ne!(parts(&layout), before, "{what}");
    }
}

fn cut() -> Restart {
    serde_json::from_value(json!({ "after": "power-cut", "then": "repair" })).unwrap()
}

#[test]
fn how_it_recovers_matters_where_something_is_recovered() {
    let with_cut = |change: &dyn Fn(&mut Inputs)| {
        Inputs::after(|inputs| {
            inputs.cell.tasks[1].restart = Some(cut());
            change(inputs);
        })
    };
    let key = with_cut(&|_| {});
    assert_ne!(key, Inputs::new().key());
    let repaired = |inputs: &mut Inputs| {
        inputs.cell.configuration.filesystem.recovery.as_mut().unwrap().repair = vec!["fsck".into()];
    };
    assert_ne!(with_cut(&repaired), key);
    assert_eq!(Inputs::after(repaired), Inputs::new().key());
}

#[test]
fn nothing_of_this_machine_is_in_a_key() {
    let mut inputs = Inputs::new();
    let key = inputs.key();
    inputs.hardware.kernel = "/elsewhere/vmlinux".into();
    inputs.hardware.image = "/elsewhere/initramfs.cpio".into();
    assert_eq!(inputs.key(), key);
    let text = inputs.parts().to_string();
    for own in ["/cache/", "/home/", "/elsewhere/", "/tmp", std::env!("CARGO_MANIFEST_DIR")] {
        assert!(!text.contains(own), "{own}: {text}");
    }
}

#[test]
fn the_emulator_that_is_here_has_a_hash_of_each_file() {
    let Ok(hashes) = emulator() else {
        assert!(
            std::process::Command::new(PROGRAM).arg("--version").output().is_err(),
            "QEMU is there, and has no hash"
        );
        return eprintln!("skipped: {PROGRAM} cannot be started");
    };
    assert!(hashes.values().all(|hash| hash.len() == 64));
    // Whatever the kernel's form: the firmware, and a loader.
    for name in [PROGRAM, "bios-256k.bin", "linuxboot_dma.bin", "pvh.bin"] {
        assert!(hashes.contains_key(name), "{name}: {hashes:?}");
    }
}
