//! The drive's memory: read-ahead and the write cache.

use super::*;

#[test]
fn read_ahead_turns_the_next_read_into_a_transfer() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let first = disk.submit(0, read(1 << 30, 4096));
    let pause = first + 100_000_000;
    let next = disk.submit(pause, read((1 << 30) + 4096, 65_536));
    assert_eq!(next, pause + hdd.overhead_ns + duration(65_536, hdd.interface_rate));
    // A segment is half a megabyte: bytes beyond it were not read.
    let mut disk = started(&hdd);
    disk.submit(0, read(1 << 30, 4096));
    let beyond = disk.submit(pause, read((1 << 30) + (600 << 10), 4096));
    assert!(beyond > pause + hdd.overhead_ns + duration(4096, hdd.interface_rate));
}

#[test]
fn several_streams_keep_their_segments() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut now = 0;
    for stream in 0..8u64 {
        now = disk.submit(now, read(stream << 31, 4096)) + 50_000_000;
    }
    for stream in 0..8u64 {
        let done = disk.submit(now, read((stream << 31) + 4096, 4096));
        assert_eq!(done - now, hdd.overhead_ns + duration(4096, hdd.interface_rate));
        now = done;
    }
}

#[test]
fn a_slow_reader_never_waits_for_the_medium() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut now = disk.submit(0, read(0, 65_536));
    for index in 1..400u64 {
        now += 5_000_000;
        let done = disk.submit(now, read(index * 65_536, 65_536));
        assert_eq!(done - now, hdd.overhead_ns + duration(65_536, hdd.interface_rate), "{index}");
        now = done;
    }
}

#[test]
fn small_sequential_reads_cost_the_overhead() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut now = disk.submit(0, read(0, 4096));
    let begun = now;
    for index in 1..20_000u64 {
        now = disk.submit(now, read(index * 4096, 4096));
    }
    let each = (now - begun) as f64 / 19_999.0;
    let expected = (hdd.overhead_ns + duration(4096, hdd.interface_rate)) as f64;
    assert!((each / expected - 1.0).abs() < 0.01, "{each} {expected}");
}

#[test]
fn a_burst_that_fits_the_cache_runs_at_the_bus_rate() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut now = 0;
    for index in 0..64u64 {
        let done = disk.submit(now, write((1 << 33) + index * 65_536, 65_536));
        assert_eq!(done - now, hdd.overhead_ns + duration(65_536, hdd.interface_rate));
        now = done;
    }
    assert!(disk.idle_at() > now);
}

#[test]
fn long_sequential_writes_throttle_to_the_media_rate() {
    let hdd = drive();
    for request in [64u64 << 10, 128 << 10, 16 << 20] {
        let mut disk = started(&hdd);
        let mut now = 0;
        let mut begun = (0, 0);
        for index in 0..(1u64 << 30) / request {
            now = disk.submit(now, write(index * request, request));
            if index * request == 256 << 20 {
                begun = (now, (index + 1) * request);
            }
        }
        let rate = ((1u64 << 30) - begun.1) as f64 / ((now - begun.0) as f64 / 1e9);
        assert!((rate / hdd.outer_rate as f64 - 1.0).abs() < 0.02, "{rate} with {request}");
    }
}

#[test]
fn sequential_writes_without_cache_lose_a_turn_each() {
    let mut hdd = drive();
    hdd.write_cache = false;
    let mut disk = started(&hdd);
    let mut now = disk.submit(0, write(0, 4096));
    let begun = now;
    for index in 1..=100u64 {
        now = disk.submit(now, write(index * 4096, 4096));
    }
    let each = (now - begun) / 100;
    assert!(each > hdd.revolution_ns() && each < hdd.revolution_ns() * 11 / 10, "{each}");
}

#[test]
fn a_flush_waits_until_all_is_written() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut numbers = Numbers(3);
    let mut now = 0;
    for _ in 0..200 {
        now = disk.submit(now, write(numbers.below(hdd.capacity / 4096) * 4096, 4096));
    }
    let idle = disk.idle_at();
    let done = disk.submit(now, FLUSH);
    // Each extent costs at least a single-cylinder seek; C-LOOK keeps the rest far below random access.
    assert!(done - now > 190 * hdd.seek_single_ns);
    assert!(done < 200 * 14_000_000);
    assert!(idle.abs_diff(done) < 1_000_000, "{idle} {done}");
    assert!(disk.idle_at() <= done);
    assert_eq!(disk.submit(done, FLUSH), done + hdd.overhead_ns);
}

#[test]
fn sorting_makes_a_full_cache_faster_than_one_write_at_a_time() {
    let mut hdd = drive();
    let mut totals = [0u64; 2];
    for (cached, total) in [false, true].into_iter().zip(&mut totals) {
        hdd.write_cache = cached;
        let mut disk = started(&hdd);
        let mut numbers = Numbers(5);
        for _ in 0..3_000 {
            *total = disk.submit(*total, write(numbers.below(hdd.capacity / 4096) * 4096, 4096));
        }
        *total = disk.submit(*total, FLUSH);
    }
    assert!(totals[1] * 10 < totals[0] * 6, "{totals:?}");
}

#[test]
fn a_forced_write_reaches_the_medium_and_leaves_the_rest() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let cached = disk.submit(0, write(1 << 30, 4096));
    assert_eq!(cached, hdd.overhead_ns + duration(4096, hdd.interface_rate));
    let more = disk.submit(cached, write(30 << 30, 4096));
    let done = disk.submit(more, forced(10 << 30, 4096));
    assert!(done - more > cached);
    assert!(disk.idle_at() > done);
}

#[test]
fn a_forced_write_supersedes_what_the_cache_had_there() {
    let hdd = drive();
    let mut disk = started(&hdd);
    // The first extent is being written while the second waits.
    let first = disk.submit(0, write(30 << 30, 4096));
    let second = disk.submit(first, write(1 << 30, 4096));
    let done = disk.submit(second, forced(1 << 30, 4096));
    assert!(disk.idle_at() <= done);
    assert_eq!(disk.submit(done, FLUSH), done + hdd.overhead_ns);
}

#[test]
fn an_idle_drive_reads_ahead_before_it_destages() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let segment = hdd.read_buffer / hdd.segments;
    let first = disk.submit(0, read(0, 4096));
    let written = disk.submit(first, write(20 << 30, 4096));
    // A flush does not wait for the segment to fill.
    assert!(disk.clone().submit(written, FLUSH) < disk.idle_at());
    // An idle drive fills the segment first, so that its last bytes are there a moment later.
    let later = first + duration(segment, hdd.outer_rate) * 3 / 2;
    let done = disk.submit(later, read(segment - 4096, 4096));
    assert_eq!(done, later + hdd.overhead_ns + duration(4096, hdd.interface_rate));
}

#[test]
fn bytes_on_their_way_to_the_medium_still_take_room() {
    let hdd = Hdd { write_cache_size: 16_384, ..drive() };
    let mut disk = started(&hdd);
    let mut full = 0;
    for index in 1..=4u64 {
        full = disk.submit(full, write(index << 32, 4096));
    }
    assert_eq!(full, 4 * (hdd.overhead_ns + duration(4096, hdd.interface_rate)));
    // All four are cached, one of them is being written: the next waits until that one is on the medium.
    let next = disk.submit(full, write(5 << 32, 4096));
    assert!(next > hdd.seek_single_ns + hdd.write_settle_ns, "{next}");
}

#[test]
fn the_write_cache_answers_reads() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut now = 0;
    for index in 0..16u64 {
        now = disk.submit(now, write((1 << 34) + index * 4096, 4096));
    }
    // Destaging has begun with the first extent; the later ones wait.
    let done = disk.submit(now, read((1 << 34) + 4 * 4096, 8 * 4096));
    assert_eq!(done, now + hdd.overhead_ns + duration(8 * 4096, hdd.interface_rate));
}

#[test]
fn a_read_waits_for_one_extent_not_for_all() {
    let hdd = drive();
    let mut disk = started(&hdd);
    let mut numbers = Numbers(11);
    let mut now = 0;
    for _ in 0..500 {
        now = disk.submit(now, write(numbers.below(hdd.capacity / 4096) * 4096, 4096));
    }
    let done = disk.submit(now, read(20 << 30, 4096));
    let worst = 2 * (hdd.seek_full_ns + hdd.write_settle_ns + hdd.revolution_ns());
    assert!(done - now < worst + hdd.overhead_ns + 1_000_000);
    assert!(disk.idle_at() > done);
}
