//! The disks of the catalog, and their file format.

use mountmark_disk::{Disk, DiskModel, Operation, Request};
use std::fs;
use std::path::PathBuf;

fn catalog() -> Vec<(String, Disk)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog/disks");
    let mut disks = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match toml::from_str(&fs::read_to_string(&path).unwrap()) {
                Ok(disk) => disks.push((name, disk)),
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }
    disks
}

fn disk(name: &str) -> Disk {
    catalog().into_iter().find(|(file, _)| file == name).unwrap().1
}

fn run(disk: &Disk, requests: impl IntoIterator<Item = Request>) -> u64 {
    let mut model = disk.model.start().unwrap();
    requests.into_iter().fold(0, |now, request| model.submit(now, request))
}

fn sequential(operation: Operation, from: u64, length: u64) -> impl Iterator<Item = Request> {
    let piece = 128 << 10;
    (0..length / piece).map(move |index| Request { operation, offset: from + index * piece, length: piece })
}

#[test]
fn every_file_is_a_disk_of_its_name_and_survives_being_written() {
    let disks = catalog();
    assert!(disks.len() >= 7);
    for (file, disk) in disks {
        assert_eq!(file, disk.name);
        assert!(!disk.about.is_empty() && !disk.sources.is_empty());
        assert_eq!(toml::from_str::<Disk>(&toml::to_string(&disk).unwrap()).unwrap(), disk);
        let model: DiskModel = toml::from_str(&toml::to_string(&disk.model).unwrap()).unwrap();
        assert_eq!(model, disk.model);
        assert_eq!(disk.model.start().is_none(), disk.model == DiskModel::NO_DRIVE);
        assert_eq!(disk.model.capacity().is_none(), disk.model == DiskModel::NO_DRIVE);
    }
}

#[test]
fn rotating_disks_read_at_the_rates_in_their_files() {
    for (name, disk) in catalog() {
        let DiskModel::Hdd(hdd) = &disk.model else {
            continue;
        };
        let length = 256 << 20;
        for (from, rate) in [(0, hdd.outer_rate), (hdd.capacity / 512 * 512 - 2 * length, hdd.inner_rate)] {
            let took = run(&disk, sequential(Operation::Read, from, length));
            let got = length as f64 / (took as f64 / 1e9);
            // This includes the first seek.
            assert!((got / rate as f64 - 1.0).abs() < 0.02, "{name}: {got} for {rate}");
        }
    }
}

#[test]
fn solid_state_disks_do_what_their_files_say() {
    for (name, read_us, written) in [("ssd", 82.0, 500e6), ("nvme", 78.0, 2.5e9)] {
        let disk = disk(name);
        let reads = (0..1_000).map(|index| Request { operation: Operation::Read, offset: index << 24, length: 4096 });
        let each = run(&disk, reads) as f64 / 1e6;
        assert!((each / read_us - 1.0).abs() < 0.02, "{name}: {each} us");
        let length = 4 << 30;
        let mut model = disk.model.start().unwrap();
        // Four requests at a time, as in the kernel's writeback.
        let mut times = [0u64; 4];
        for (index, request) in sequential(Operation::Write { fua: false }, 0, length).enumerate() {
            let slot = index % 4;
            times[slot] = model.submit(times[slot], request);
        }
        let took = *times.iter().max().unwrap();
        let rate = length as f64 / (took as f64 / 1e9);
        assert!((rate / written - 1.0).abs() < 0.03, "{name}: {rate}");
    }
}

/// Thousands of small cached extents must not make requests expensive: the drive runs in an emulated guest.
#[test]
fn a_full_cache_of_small_writes_stays_cheap() {
    let disk = disk("hdd");
    let begun = std::time::Instant::now();
    let scattered = (0..100_000u64).map(|index| Request {
        operation: Operation::Write { fua: false },
        offset: (index * 7_919 % 200_000) * 4_096_000,
        length: 4096,
    });
    run(&disk, scattered);
    // One second would be three orders of magnitude too long.
    assert!(begun.elapsed().as_secs() < 10);
}

#[test]
fn what_does_not_belong_is_refused_by_name() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog/disks");
    let text = fs::read_to_string(folder.join("hdd.toml")).unwrap();
    let cases = [
        (text.replace("rpm =", "rmp ="), "unknown field `rmp`"),
        (text.replace("about =", "abuot ="), "unknown field `abuot`"),
        (text.replace("model = \"hdd\"", "model = \"flash\""), "model = \"flash\" takes no table [hdd]"),
        (text.replace("model = \"hdd\"", "model = \"tape\""), "unknown variant `tape`"),
        (text.replace("rpm = 7200", "rpm = 0"), "rpm = 0 is not between"),
        (text.split("[hdd]").next().unwrap().to_owned(), "model = \"hdd\" needs a table [hdd]"),
        (text.replace("rpm = 7200", ""), "missing field `rpm`"),
    ];
    for (text, expected) in cases {
        let error = toml::from_str::<Disk>(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
