//! A run over a shelf of very many cells.
//!
//! Nobody measures so many here: one repeat is measured, and the cells of the others are made from it, with the keys that the
//! program would give them, and with figures up to 1 % away. The run that takes them is the real one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mountmark_cells::Plan;
use mountmark_lab::CellKey;
use mountmark_model::Event;
use mountmark_random::Stream;
use mountmark_record::Store;
use mountmark_shelf::Entry;

use crate::lab::Lab;
use crate::shelf::entries;
use crate::tasks::TOUCH;

const FILESYSTEMS: &str =
    "ext2,ext3,ext4,ext2:mount=noatime,ext3:mount=noatime,ext4:mount=noatime,jfs,reiserfs,xfs,btrfs";
const CONFIGURATIONS: usize = 10;

/// The plan of a run that was begun and interrupted before its first cell.
fn plan(lab: &Lab, words: &[&str]) -> Plan {
    let out = lab.path("planned");
    let mut run = lab.start_run(&[words, &["--out", &out.to_string_lossy()]].concat());
    run.wait_for(" cells (");
    run.signal(libc::SIGINT);
    run.wait();
    let store = Store::open(out.join("results.sqlite")).unwrap();
    store.load(&store.resolve("latest").unwrap()).unwrap().plan
}

/// Figures of another repeat, up to 1 % away.
fn varied(events: &mut [Event], seed: u64) {
    let mut random = Stream::new(seed, "test.many");
    for event in events {
        if let Event::Sample { values, .. } = event {
            for value in values.values_mut().filter(|value| value.fract() != 0.0) {
                *value *= 0.99 + random.below(1000) as f64 / 50_000.0;
            }
        }
    }
}

/// Makes an entry for each cell of the plan from the measured one of its configuration.
fn fill(plan: &Plan, shelf: &Path) {
    let measured: Vec<Entry> = entries(shelf).iter().map(|path| Entry::read(path).unwrap()).collect();
    assert_eq!(measured.len(), CONFIGURATIONS);
    let like = |entry: &Entry, configuration: &serde_json::Value| {
        let own = &entry.key.parts["cell"]["configuration"];
        ["mkfs_options", "mount_options"].iter().all(|name| own[name] == configuration[name])
            && own["filesystem"]["name"] == configuration["filesystem"]["name"]
    };
    let mut of = BTreeMap::new();
    for cell in &plan.cells {
        let name = &cell.configuration.name;
        if !of.contains_key(name) {
            let configuration = serde_json::to_value(&cell.configuration).unwrap();
            let found: Vec<&Entry> = measured.iter().filter(|entry| like(entry, &configuration)).collect();
            assert_eq!(found.len(), 1, "{name}");
            of.insert(name, found[0]);
        }
        let mut entry = of[name].clone();
        let mut parts = entry.key.parts.clone();
        parts["cell"]["seed"] = cell.seed.into();
        parts["cell"]["conditions"] = serde_json::to_value(cell.conditions.as_deref()).unwrap();
        entry.key = CellKey::of(parts);
        if cell.repeat > 0 {
            varied(&mut entry.figures.events, cell.seed);
            let packed = entry.pack().unwrap();
            let part = shelf.join(&packed.name[..2]);
            fs::create_dir_all(&part).unwrap();
            fs::write(part.join(&packed.name), &packed.bytes).unwrap();
        }
    }
}

/// `MANY_CELLS` is how many. With `MOUNTMARK_BINARY`, of a release build.
#[test]
#[ignore = "takes ten minutes and 3 GB in a temporary folder, and two free processors: started by hand"]
fn a_run_over_100_000_cells_is_quick_and_small() {
    let test = "many::a_run_over_100_000_cells_is_quick_and_small";
    let Some(lab) = Lab::with_guests(test, 2) else { return };
    let lab = lab.with_own_cells("cells-of-many").taking_cells();
    let shelf = lab.path("cells-of-many").join("cells");
    let suite = lab.suite("many", TOUCH);
    let cells: usize = std::env::var("MANY_CELLS").map_or(100_000, |number| number.parse().unwrap());
    let repeats = (cells / CONFIGURATIONS).to_string();
    let words = |repeats| ["--suite", &suite, "--fs", FILESYSTEMS, "--verify", "0%", "--repeat", repeats];
    lab.run(&words("1")).ended_with(0);
    fill(&plan(&lab, &words(&repeats)), &shelf);
    assert_eq!(entries(&shelf).len(), cells);
    let begin = Instant::now();
    let mut run = lab.start_run(&[&words(&repeats)[..], &["--format", "table"]].concat());
    let mut peak = 0;
    while run.is_running() {
        peak = peak.max(run.peak_memory());
        std::thread::sleep(Duration::from_millis(50));
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{cells} cells: {seconds:.1} s, {:.0} MiB", peak as f64 / 1024.0);
    let ran = run.wait().ended_with(0);
    ran.says(&[&format!("{cells} cells taken from the shelf, 0 measured")]);
    assert!(seconds <= 120.0, "{seconds} s");
    assert!(peak <= 1 << 20, "{peak} KiB");
}
