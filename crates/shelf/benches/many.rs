//! How long shelves of many cells take: `cargo bench -p mountmark-shelf -- 100000`, in a folder below $TMPDIR or /var/tmp.
//!
//! Entries are as large as those of the demo: 21 tasks with 40 figures each.

use std::collections::BTreeMap;
use std::time::Instant;

use mountmark_lab::CellKey;
use mountmark_model::{Environment, Event, Outcome};
use mountmark_shelf::{Access, Entry, Figures, Folder, Measured};

const TASKS: u32 = 21;
const FIGURES: u32 = 40;

fn entry(number: u64) -> Entry {
    // Figures of real cells have all their digits.
    let value = |task: u32, figure: u32| f64::from(task * 1000 + figure + 1).sqrt() * (number as f64 + 1.0).ln_1p();
    let sample = |task: u32| Event::Sample {
        task: format!("{task:03}"),
        iteration: 0,
        values: (0..FIGURES)
            .map(|figure| (format!("figure_{figure}"), value(task, figure)))
            .collect::<BTreeMap<_, _>>(),
    };
    Entry {
        key: CellKey::of(
            serde_json::json!({ "cell": number, "text": "options of mkfs, tasks, disk models".repeat(200) }),
        ),
        figures: Figures { outcome: Outcome::Ok, events: (0..TASKS).map(sample).collect() },
        measured: Measured { host: "node".into(), at: 0, environment: Environment::default(), log: String::new() },
        signed: None,
    }
}

/// Of this process and the kernel for it.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // utime and stime, in hundredths of a second.
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

fn main() {
    let given = std::env::args().find_map(|word| word.parse().ok());
    let cells: u64 = given.unwrap_or(10_000);
    let root = std::env::var_os("TMPDIR").unwrap_or_else(|| "/var/tmp".into());
    let folder = tempfile::Builder::new().prefix("shelf-").tempdir_in(root).unwrap();
    let made = Folder::open(&folder.path().join("made"), Access::Write).unwrap();
    let other = Folder::open(&folder.path().join("other"), Access::Write).unwrap();
    // On a machine with other work the time of its processors says more.
    let told = |what: &str, (begin, busy): (Instant, f64)| {
        let (seconds, busy) = (begin.elapsed().as_secs_f64(), processor_seconds() - busy);
        let rate = cells as f64 / seconds;
        println!("{what}: {cells} cells in {seconds:.2} s, {rate:.0} a second, {busy:.2} s of processors");
    };
    let now = || (Instant::now(), processor_seconds());
    let begin = now();
    let mut bytes = 0;
    for number in 0..cells {
        let packed = entry(number).pack().unwrap();
        bytes += packed.bytes.len() as u64;
        let part = made.path.join(&packed.name[..2]);
        std::fs::create_dir_all(&part).unwrap();
        std::fs::write(part.join(&packed.name), &packed.bytes).unwrap();
    }
    told("write", begin);
    println!("bytes a cell: {}", bytes / cells.max(1));
    let begin = now();
    assert_eq!(Folder::open(&made.path, Access::Read).unwrap().look().unwrap() as u64, cells);
    told("list", begin);
    let begin = now();
    made.look().unwrap();
    let imported = mountmark_shelf::import(&made, &other).unwrap();
    assert_eq!((imported.copied as u64, imported.faults.len()), (cells, 0));
    told("import", begin);
    let begin = now();
    for key in other.keys() {
        let found = other.get(&key);
        assert!(found.len() == 1 && found[0].1.is_ok());
    }
    told("take", begin);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
