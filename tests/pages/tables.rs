//! Tables of pages, made anew by the commands that stand above them.

use serde_json::Value;

use super::page::{self, Command};
use super::run;
use crate::lab::{Lab, Ran};

/// The rows below a page's head.
pub type Rows = Vec<Vec<String>>;

fn json() -> [String; 2] {
    ["--format", "json"].map(str::to_owned)
}

/// The name in a cell, without what stands behind it.
fn name(cell: &str) -> &str {
    cell.strip_prefix('`').map_or(cell, |rest| rest.split('`').next().unwrap_or_default())
}

/// The command for all file systems that begin the rows.
fn for_rows(command: &Command) -> String {
    let names: Vec<&str> = command.rows().map(|row| name(&row[0])).collect();
    let names = names.join(",");
    command.line.split(' ').map(|word| if word == "FS" { &names } else { word }).collect::<Vec<_>>().join(" ")
}

fn answer(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.text()))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}: {value}"))
}

/// `12345` as `12,345`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let grouped = digits.char_indices().map(|(at, digit)| match (digits.len() - at) % 3 {
        0 if at > 0 => format!(",{digit}"),
        _ => digit.to_string(),
    });
    grouped.collect()
}

/// How many of what was tried in a configuration.
fn total(configuration: &Value, key: &str) -> u64 {
    list(configuration, "tried").iter().map(|tried| tried["explored"][key].as_u64().expect("a count")).sum()
}

fn broken(configuration: &Value) -> impl Iterator<Item = &Value> {
    list(configuration, "causes").iter().filter(|cause| cause["promised"] == true)
}

/// Workloads, about how many images, those shown, and promises broken, by file system.
pub fn promised(lab: &Lab, command: &Command) -> Rows {
    let answer = answer(&run(lab, &for_rows(command), &json()));
    let row = |(row, configuration): (&Vec<String>, &Value)| {
        let causes = broken(configuration).count();
        let images: u64 = broken(configuration).map(|cause| cause["images"].as_u64().expect("a count")).sum();
        let images = if causes > 0 { format!(", in {images} images") } else { String::new() };
        let counts = ["states", "shown"].map(|key| format!("about {}", thousands(total(configuration, key))));
        let tried = list(configuration, "tried").len().to_string();
        assert_eq!(tried, row[1], "workloads of {}, which no build changes", row[0]);
        [row[0].clone(), tried].into_iter().chain(counts).chain([format!("{causes}{images}")]).collect()
    };
    command.rows().zip(list(&answer, "configurations")).map(row).collect()
}

/// About how many images, and whether an application was sound in all of them, by application and file system.
pub fn applications(lab: &Lab, command: &Command) -> Rows {
    let cell = |configuration: &Value| {
        let verdict = if list(configuration, "causes").is_empty() { "sound" } else { "damaged" };
        format!("about {}, {verdict}", thousands(total(configuration, "states")))
    };
    let row = |row: &Vec<String>| {
        let answer = answer(&run(lab, &command.line.replace("NAME", name(&row[0])), &json()));
        std::iter::once(row[0].clone()).chain(list(&answer, "configurations").iter().map(cell)).collect()
    };
    command.rows().map(row).collect()
}

/// The lowest level that was broken, by fault and file system.
pub fn faults(lab: &Lab, command: &Command) -> Rows {
    let cell = |configuration: &Value| {
        let levels = broken(configuration).map(|cause| cause["signature"].as_str().unwrap().split(' ').next().unwrap());
        let lowest = levels.min().unwrap_or("-");
        let in_turn = &list(configuration, "tried")[0]["explored"]["in_turn"];
        match in_turn.as_array() {
            Some(of) => format!("{lowest}, {} of {}", of[1], of[0]),
            None => lowest.to_owned(),
        }
    };
    let row = |row: &Vec<String>| {
        let fault = name(&row[0]);
        let device = if fault == "none" { "request" } else { fault };
        let images = if fault.contains("each") { "--images 2 " } else { "--images 16 " };
        let line = command.line.replace("FAULT", device).replace("--images 16 ", images);
        let answer = answer(&run(lab, &line, &json()));
        std::iter::once(row[0].clone()).chain(list(&answer, "configurations").iter().map(cell)).collect()
    };
    command.rows().map(row).collect()
}

/// What became of a file, by file system and case.
pub fn cases(lab: &Lab, command: &Command) -> Rows {
    const FATES: [(&str, &str); 12] = [
        ("new", "new"),
        ("old", "old"),
        ("between", "between"),
        ("part", "a part"),
        ("mixed", "mixed"),
        ("empty", "empty"),
        ("zeros", "zeros"),
        ("stale", "stale data"),
        ("missing", "missing"),
        ("mended", "damaged and mended"),
        ("broken", "damaged"),
        ("not-mounted", "not mounted"),
    ];
    run(lab, &for_rows(command), &json());
    let shown = answer(&lab.command(&["crash", "show", "latest", "--cases", "--format", "json"]));
    assert!(list(&shown, "hurried").is_empty(), "its time ended before all images were made: {}", shown["hurried"]);
    let cell = |case: &String, configuration: &str| {
        let mut seen = list(&shown, "cases").iter().filter(|seen| seen["id"] == case.as_str());
        let seen = list(seen.next().unwrap_or_else(|| panic!("no case {case}: {shown}")), "seen");
        let fates = &seen.iter().find(|of| of[0] == configuration).expect("a configuration")[1];
        let told = FATES.iter().filter(|(fate, _)| fates.get(fate).is_some()).map(|(_, word)| *word);
        told.collect::<Vec<_>>().join(", ")
    };
    let row = |row: &Vec<String>| {
        let cells = command.columns().map(|case| cell(case, name(&row[0])));
        std::iter::once(row[0].clone()).chain(cells).collect()
    };
    command.rows().map(row).collect()
}

/// Seconds at the points of `--vary`, by disk and file system.
pub fn curve(lab: &Lab, command: &Command) -> Rows {
    let seconds = |value: f64| match value {
        ..1.0 => format!("{value:.3}"),
        1.0..10.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    };
    let mut results = None;
    let row = |row: &Vec<String>| {
        if !row[0].is_empty() {
            results = Some(run(lab, &command.line.replace("DISK", &row[0]), &json()).ended_with(0).results());
        }
        let (results, point) = (results.as_ref().expect("a disk"), row[1].replace([',', ' '], ""));
        let cells = command.columns().skip(1).map(|head| {
            let filesystem = head.split(' ').next().unwrap();
            let of = |task: &str| seconds(results.value(filesystem, &format!("{task}@{point}"), "elapsed"));
            format!("{}, {}", of("usable"), of("check"))
        });
        row[..2].iter().cloned().chain(cells).collect()
    };
    command.rows().map(row).collect()
}

/// The columns of `show --safety` that the page has.
pub fn safety(lab: &Lab, command: &Command) -> Rows {
    run(lab, &for_rows(command), &json()).ended_with(0);
    let shown = lab.command(&["show", "latest", "--safety", "--format", "markdown"]).ended_with(0);
    let table = page::table(&shown.stdout.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>());
    let places: Vec<usize> = command
        .columns()
        .map(|head| table[0].iter().position(|its| its == head).unwrap_or_else(|| panic!("no column {head}")))
        .collect();
    let row = |row: &Vec<String>| {
        // Markdown escapes some letters of names.
        let is_it = |shown: &&Vec<String>| shown[0].replace('\\', "") == name(&row[0]);
        let shown = table.iter().find(is_it).unwrap_or_else(|| panic!("no row {} in {table:?}", row[0]));
        std::iter::once(row[0].clone()).chain(places.iter().map(|place| shown[*place].clone())).collect()
    };
    command.rows().map(row).collect()
}

/// Whether a page's rows are those that were seen; numbers may be `about` the same.
pub fn compare(command: &Command, seen: &Rows, about: bool) -> Result<(), String> {
    let is_same = |(said, seen): (&String, &String)| is_said(said, seen) || (about && alike(said, seen));
    let is_other =
        |(said, seen): &(&Vec<String>, &Vec<String>)| said.len() != seen.len() || !said.iter().zip(*seen).all(is_same);
    let differ = command.rows().zip(seen).filter(is_other);
    let differ: Vec<String> =
        differ.map(|(said, seen)| format!("{}\n  is {}", said.join(" | "), seen.join(" | "))).collect();
    if command.rows().count() != seen.len() || seen.is_empty() || !differ.is_empty() {
        return Err(format!("{} rows of {}:\n  {}", seen.len(), command.rows().count(), differ.join("\n  ")));
    }
    Ok(())
}

/// Whether a cell has what the page says. What it says to be there `at times` may be there or not.
fn is_said(said: &str, seen: &str) -> bool {
    let mut seen = seen.split(", ").peekable();
    let is_next = |word: &str| match word.strip_prefix("at times ") {
        Some(word) => {
            seen.next_if_eq(&word);
            true
        }
        None => seen.next() == Some(word),
    };
    said.split(", ").all(is_next) && seen.next().is_none()
}

/// Whether two cells say the same, with numbers within a factor of 2: another build of the guest's programs lies elsewhere on
/// the disk, which moves short reads.
pub fn alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(|word| word.replace(',', "")).collect() };
    let (one, other) = (words(one), words(other));
    let is_alike = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one <= 2.0 * other && other <= 2.0 * one,
        _ => one == other,
    };
    one.len() == other.len() && one.iter().zip(&other).all(is_alike)
}
