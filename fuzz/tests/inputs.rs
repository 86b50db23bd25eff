//! All targets on the inputs in the repository, and on changed copies.

use std::time::Instant;

use mountmark_fuzz::change::{Random, change};
use mountmark_fuzz::guard::run_within;
use mountmark_fuzz::{TARGETS, Target, seeds};

/// This build is hardly optimised, and several times slower.
const SECONDS: f64 = 4.0;

/// Stores the input first, to run it again if the process is killed for its memory.
fn tried(target: &Target, name: &str, data: &[u8]) {
    let folder = seeds::root().join("target/fuzz/findings");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{}-test", target.name));
    std::fs::write(&path, data).unwrap();
    let found = std::panic::catch_unwind(|| run_within(target, data, SECONDS));
    assert!(found.is_ok(), "{}, {name}: the input is {}", target.name, path.display());
    std::fs::remove_file(&path).unwrap();
}

fn check(target: &Target) {
    let seeds = seeds::of(target);
    assert!(!seeds.is_empty(), "{} has no input", target.name);
    for (name, data) in &seeds {
        tried(target, name, data);
    }
    let small: Vec<_> = seeds.iter().filter(|(_, data)| data.len() <= 1 << 18).collect();
    // CHANGES sets another number for each target.
    let given = std::env::var("CHANGES").ok().map(|text| text.parse().expect("CHANGES is a number"));
    let (begin, changes) = (Instant::now(), given.unwrap_or(target.changes));
    for seed in 0..changes {
        let mut random = Random(seed);
        let (name, data) = small[random.below(small.len())];
        let (_, other) = small[random.below(small.len())];
        let mut data = data.clone();
        // One in ten may become long.
        let most = if seed % 10 == 0 { 1 << 20 } else { 1 << 18 };
        change(&mut data, other, most, &mut random);
        tried(target, &format!("{name}, changed by {seed}"), &data);
    }
    println!("{}: {changes} changed inputs in {:.0} s", target.name, begin.elapsed().as_secs_f64());
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                check(TARGETS.iter().find(|target| target.name == stringify!($name)).unwrap());
            }
        )+

        #[test]
        fn every_target_is_checked() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),+]);
        }
    };
}

targets! { suite fio_job catalogue study figures words events programs store forged tar kernel scenario log recording symbols profiles disk health module program image }

#[test]
fn one_input_again() {
    let Ok(finding) = std::env::var("FINDING") else {
        println!("skipped: FINDING=target:file names no input");
        return;
    };
    let (name, path) = finding.split_once(':').expect("target:file");
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    println!("{:?}", run_within(target, &std::fs::read(path).unwrap(), SECONDS));
}
