//! How many states a second are made: `cargo bench -p mountmark-crash`. It is not a test and checks nothing.

use std::time::{Duration, Instant};

use mountmark_crash::states::{Budget, States};
use mountmark_crash::trace::{Event, Request, SECTOR, Trace};

/// Writes so long, in sectors, one behind the other; a flush behind every so many of them.
fn recording(writes: u64, sectors: u64, per_flush: u64) -> Trace {
    let size = writes * sectors * SECTOR;
    let data = (0..size).map(|byte| (byte / SECTOR) as u8 | 1).collect();
    let mut trace = Trace { size, data, ..Trace::default() };
    let mut number = 0;
    let mut ask = |events: &mut Vec<Event>, request| {
        events.extend([Event::Sent { number, request }, Event::Done { number, error: 0 }]);
        number += 1;
    };
    for index in 0..writes {
        let (offset, length) = (index * sectors * SECTOR, sectors * SECTOR);
        ask(&mut trace.events, Request::Write { offset, length, fua: false, data: offset });
        if (index + 1).is_multiple_of(per_flush) && index + 1 < writes {
            ask(&mut trace.events, Request::Flush);
        }
    }
    trace
}

fn measure(name: &str, trace: &Trace, device: &str, tiers: [usize; 5]) {
    let base = vec![0u8; trace.size as usize];
    let begin = Instant::now();
    let Ok(device) = device.parse() else { return println!("{device} is no device") };
    let states = match States::new(trace, base.as_slice(), device, 0) {
        Ok(states) => states,
        Err(error) => return println!("{error}"),
    };
    let read = begin.elapsed();
    let budget = Budget { tiers, ..Budget::default() };
    let (mut made, mut different, mut rounds, mut open, mut time) = (0, 0, 0, Duration::ZERO, Duration::ZERO);
    while time + open < Duration::from_secs(1) {
        for epoch in states.epochs() {
            let begin = Instant::now();
            let Some(pending) = states.open(epoch.number) else { continue };
            open += begin.elapsed();
            let begin = Instant::now();
            let mut explore = pending.explore(&budget, 1);
            different += explore.by_ref().map(std::hint::black_box).count();
            time += begin.elapsed();
            made += explore.tested().iter().map(|tier| tier.made).sum::<usize>();
        }
        rounds += 1;
    }
    let rate = different as f64 / time.as_secs_f64();
    let opened = open.as_secs_f64() * 1e6 / f64::from(rounds) / states.epochs().len() as f64;
    println!(
        "{name}: read in {read:.1?}, {} epochs opened in {opened:.1} µs each, {made} made, {rate:.0} different states/s",
        states.epochs().len()
    );
}

fn main() {
    let few = recording(40, 8, 4);
    measure("4 writes of 4 KiB an epoch, all subsets", &few, "request", [0, 0, 4096, 0, 0]);
    let twelve = recording(120, 8, 12);
    measure("12 writes of 4 KiB an epoch, all subsets", &twelve, "request", [0, 0, 4096, 0, 0]);
    measure("the same, all tiers", &twelve, "sector", Budget::default().tiers);
    let many = recording(1000, 256, 1000);
    measure("1000 writes of 128 KiB in one epoch", &many, "sector", Budget::default().tiers);
    let long = recording(4000, 8, 4);
    measure("1000 epochs of 4 writes", &long, "request", [0, 0, 4096, 0, 0]);
}
