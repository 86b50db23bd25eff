use super::*;

fn parse(text: &str) -> Result<Recording> {
    let names = ["user", "unknown", "ksys_read", "ext4:ext4_match", "asm_sysvec_x", "tick"].map(str::to_owned);
    let mut look = |sectors: &BTreeSet<u64>| sectors.iter().map(|sector| (*sector, part(*sector))).collect();
    let mut gone = 0;
    let go = &mut || {
        gone += 1;
        Ok(())
    };
    let read = Recording::read(&mut text.as_bytes(), &names, 1, &mut look, go);
    assert_eq!(gone, text.lines().filter(|line| *line == END).count(), "the guest goes on");
    read
}

fn part(sector: u64) -> Part {
    if sector == 5 { Part::Journal } else { Part::Data }
}

fn text() -> String {
    let task = mark::number("001");
    let read = (5 + 1) << 8 | 1;
    let flush = 1 << 8 | 4;
    format!(
        "p 0 unknown\np 1 cp\nn 2 0 1073741825\nn 3 2 2\nn 5 3 3\nn 6 3 4\nn 7 6 5\nw {task:x} 1 1000 2040 300 -7\nx 2 100\nx 7 \
         20\nx 5 200\ns 5 150\nc 3 2\ni {read} 3 300\ni 1 3 99\ni {flush} 3 1\ni 0 2 7\ne\nw {task:x} 1 9"
    )
}

#[test]
fn paths_have_names_and_times() {
    let recording = parse(&text()).unwrap();
    let profile = recording.profile("001", Interval::Returned, 0).unwrap();
    let of = |path: &[&str]| profile.paths[&path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()].clone();
    assert_eq!(profile.paths.len(), 4);
    assert_eq!(of(&["interrupts", "asm_sysvec_x", "tick"]).running, 40, "whatever it interrupts");
    assert_eq!(of(&["cp", "ksys_read", "ext4:ext4_match"]).running, 400);
    let strings = profile.strings.as_ref().unwrap();
    assert_eq!(strings.iter().map(|(path, time)| (path.len(), *time)).collect::<Vec<_>>(), [(3, 300)]);
    let entries: Vec<(usize, u64)> = profile.entries.iter().map(|(path, count)| (path.len(), *count)).collect();
    assert_eq!(entries, [(2, 2)]);
    let awaited = |operation, part| Some(Awaited { operation, part });
    let waiting = BTreeMap::from([
        (awaited(DeviceOperation::Read, Some(Part::Journal)), 300),
        (awaited(DeviceOperation::Read, None), 99),
        (awaited(DeviceOperation::Flush, None), 1),
    ]);
    assert_eq!(of(&["cp", "ksys_read"]).waiting, waiting);
    assert_eq!((of(&["cp"]).running, of(&["cp"]).waiting[&None]), (200, 7));
    assert!(recording.profile("001", Interval::Returned, 1).is_none(), "it was cut");
    assert!(recording.profile("002", Interval::Returned, 0).is_none());
}

#[test]
fn damaged_recordings_are_refused() {
    for (from, to) in [
        ("n 3 2 2", "n 3 9 2"),
        ("n 3 2 2", "n 3 5 2"),
        ("n 5 3 3", "n 5 3 9"),
        ("x 5 200", "x 5"),
        ("x 5 200", "x 6 1"),
        ("s 5 150", "s 5 201"),
        ("s 5 150", "s 9 1"),
        ("c 3 2", "c 9 2"),
        ("c 3 2", "c 3"),
        ("i 1 3", "i 9 3"),
        ("i 1 3", "i -1 3"),
        ("1000 2040", "2040 1000"),
        ("1000 2040", "1000 2041"),
        ("p 1 cp", "p 2 cp"),
        ("p 1 cp", "f no memory"),
        ("p 1 cp", "x 2 1"),
        ("p 1 cp", "what is this"),
    ] {
        let damaged = text().replace(from, to);
        assert_ne!(damaged, text());
        assert!(parse(&damaged).is_err(), "{from} as {to}");
    }
}
