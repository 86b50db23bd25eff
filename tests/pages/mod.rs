//! Commands of pages: each is replayed, and shows what the page says beside it.

mod page;
mod tables;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mountmark_model::KnownFault;
use mountmark_plan::Catalogue;
use serde::Deserialize;
use serde_json::Value;

use crate::crash::words;
use crate::lab::{Lab, Ran};
use page::Command;

/// The pages about power cuts: a test knows what each of their commands must find. `blocks` replays all other pages.
const PAGES: [(&str, &str); 8] = [
    ("docs/explanation/crash-model.md", include_str!("../../docs/explanation/crash-model.md")),
    ("docs/explanation/recovery.md", include_str!("../../docs/explanation/recovery.md")),
    ("docs/reference/crash-disks.md", include_str!("../../docs/reference/crash-disks.md")),
    ("docs/findings/power-cuts.md", include_str!("../../docs/findings/power-cuts.md")),
    ("docs/findings/arrays.md", include_str!("../../docs/findings/arrays.md")),
    ("docs/findings/document.md", include_str!("../../docs/findings/document.md")),
    ("docs/findings/safety.md", include_str!("../../docs/findings/safety.md")),
    ("docs/findings/recovery.md", include_str!("../../docs/findings/recovery.md")),
];

/// Replays only the commands that have one of these texts, with `|` between them, in themselves or in the heading above.
const CHOICE: &str = "MOUNTMARK_PAGES";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    command: Vec<Entry>,
}

/// How a command is replayed of which the page has no line `# finds`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    line: String,
    how: How,
    /// Options that are added.
    #[serde(default)]
    add: Vec<String>,
    /// Commands that make what it is given.
    #[serde(default)]
    before: Vec<String>,
    /// Its exit code; 0 or 1 if absent.
    code: Option<i32>,
    /// What it must print.
    #[serde(default)]
    says: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// It ends well, or with a finding, and prints what follows it on the page.
    Ends,
    /// It would take hours: it is played with `--dry-run`.
    Dry,
    /// It makes the table below it, of one of these kinds.
    Promised,
    Applications,
    Faults,
    Cases,
    Curve,
    Safety,
}

fn known() -> Vec<Entry> {
    toml::from_str::<Known>(include_str!("pages.toml")).expect("a table of commands").command
}

fn all() -> Vec<(&'static str, Command)> {
    PAGES.iter().flat_map(|(name, text)| page::commands(text).into_iter().map(|command| (*name, command))).collect()
}

#[test]
fn each_command_of_a_page_is_one_that_is_replayed() {
    let (all, known) = (all(), known());
    assert!(all.len() > 35, "{} commands", all.len());
    let is_known = |line: &str| known.iter().any(|entry| entry.line == line);
    for (page, Command { line, finds, table, .. }) in &all {
        let says = "says nothing of what it finds (`# finds ...`), and tests/pages/pages.toml not how it is replayed";
        assert!(finds.is_some() != is_known(line), "{page}: {line}\n{says}, or both");
        let makes_table = |entry: &Entry| entry.line == *line && !matches!(entry.how, How::Ends | How::Dry);
        assert!(table.len() > 1 || !known.iter().any(makes_table), "{page}: {line}: no table follows");
    }
    for entry in &known {
        assert!(all.iter().any(|(_, command)| command.line == entry.line), "on no page: {}", entry.line);
    }
    let counted: BTreeSet<&str> = known.iter().map(|entry| entry.line.as_str()).collect();
    assert_eq!(counted.len(), known.len(), "a command twice in tests/pages/pages.toml");
}

#[test]
fn each_finding_of_a_page_is_a_known_fault_and_each_known_fault_is_on_a_page() {
    let catalogue = Catalogue::built_in().unwrap();
    let faults: Vec<&KnownFault> = catalogue.list().collect();
    let all = all();
    for fault in &faults {
        let shows = |(_, command): &&(&str, Command)| command.line == fault.shown_by;
        let (_, command) =
            all.iter().find(shows).unwrap_or_else(|| panic!("{}: on no page: {}", fault.name, fault.shown_by));
        let level = format!("{} ", fault.level);
        assert!(command.finds.as_ref().is_some_and(|finds| finds.starts_with(&level)), "{}: {command:?}", fault.name);
    }
    let mut findings = 0;
    for (page, command) in &all {
        // What a planted fault of the disk breaks is no fault of a file system.
        let Some(finds) = command.finds.as_ref().filter(|finds| *finds != "nothing" && !command.line.contains("+i"))
        else {
            continue;
        };
        let words: Vec<&str> = command.line.split_whitespace().collect();
        let named = words.iter().skip_while(|word| **word != "--fs").nth(1).unwrap();
        let filesystem = named.split([':', '@']).next().unwrap();
        let is_known =
            |fault: &&&KnownFault| fault.filesystem == filesystem && finds.starts_with(&fault.level.to_string());
        assert!(faults.iter().any(|fault| is_known(&fault)), "{page}: no file of catalog/faults has {}", command.line);
        findings += 1;
    }
    assert!(findings > 5, "{findings}");
}

#[test]
fn a_cell_that_is_not_as_the_page_says_is_told() {
    let page = "# A\n\n`mountmark crash --cases`\n\n| | C1 | C2 |\n|---|---|---|\n| ext2 | about 1,000, sound | new, old |\n\
                | xfs | about 0.1, sound | new |\n";
    let command = page::commands(page).remove(0);
    let seen = |cells: [[&str; 3]; 2]| cells.map(|row| row.map(str::to_owned).to_vec()).to_vec();
    let same = [["ext2", "about 1,000, sound", "new, old"], ["xfs", "about 0.1, sound", "new"]];
    let with = |row: usize, cell: usize, text: &'static str| {
        let mut cells = same;
        cells[row][cell] = text;
        seen(cells)
    };
    assert_eq!(tables::compare(&command, &seen(same), false), Ok(()));
    let told = tables::compare(&command, &with(1, 2, "new, old"), false).unwrap_err();
    assert!(told.contains("xfs | about 0.1, sound | new\n  is xfs | about 0.1, sound | new, old"), "{told}");
    assert!(tables::compare(&command, &with(0, 2, ""), false).is_err());
    let at_times = page::commands(&page.replace("new, old", "new, at times old")).remove(0);
    for (seen, is_it) in [("new, old", true), ("new", true), ("old", false), ("new, missing", false)] {
        assert_eq!(tables::compare(&at_times, &with(0, 2, seen), false).is_ok(), is_it, "{seen}");
    }
    assert!(tables::compare(&command, &seen(same)[..1].to_vec(), false).is_err(), "a row is lacking");
    // What depends on the build may be other by a factor of 2, and in nothing else.
    for (count, exactly, about) in
        [("about 600, sound", false, true), ("about 400, sound", false, false), ("about 1,000, damaged", false, false)]
    {
        let seen = with(0, 1, count);
        assert_eq!(tables::compare(&command, &seen, false).is_ok(), exactly, "{count}");
        assert_eq!(tables::compare(&command, &seen, true).is_ok(), about, "{count}");
    }
    assert!(!tables::alike("0", "100") && !tables::alike("L1", "L2"));
}

#[test]
#[ignore = "an hour: make nightly"]
fn each_command_of_a_page_shows_what_the_page_says() {
    let Some(lab) = Lab::with_guests("each_command_of_a_page_shows_what_the_page_says", 2) else { return };
    let folder = lab.path("tmp").to_string_lossy().into_owned();
    let lab = lab.under(&["env", "-C", &folder]);
    let choice = std::env::var(CHOICE).unwrap_or_default();
    let (all, known) = (all(), known());
    let has = |command: &Command, text: &str| command.heading.contains(text) || command.line.contains(text);
    let is_chosen = |command: &Command| choice.split('|').any(|text| has(command, text));
    let chosen: Vec<_> = all.iter().filter(|(_, command)| is_chosen(command)).collect();
    assert!(!chosen.is_empty(), "{CHOICE}={choice}: no heading and no command has this text");
    let mut wrong = Vec::new();
    for (page, command) in &chosen {
        let begun = Instant::now();
        let entry = known.iter().find(|entry| entry.line == command.line);
        // One that cannot be judged does not end the others.
        let replayed = || entry.map_or_else(|| finds(&lab, command), |entry| replay(&lab, command, entry));
        let seen = catch_unwind(AssertUnwindSafe(replayed)).unwrap_or_else(|_| Err("it panics, as told above".into()));
        println!(
            "{} s: {page}: {}: {}",
            begun.elapsed().as_secs(),
            command.line,
            seen.clone().err().unwrap_or_default()
        );
        wrong.extend(seen.err().map(|seen| format!("{page}: {}\n  {seen}", command.line)));
    }
    assert!(wrong.is_empty(), "{} of {} commands differ:\n{}", wrong.len(), chosen.len(), wrong.join("\n"));
}

#[test]
#[ignore = "an hour: make nightly"]
fn each_block_of_the_other_pages_runs() {
    let Some(lab) = Lab::with_guests("each_block_of_the_other_pages_runs", 2) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/pages");
    let ran = lab.under(&[script]).start_command(&[]).wait_within(Duration::from_secs(14_400));
    print!("{}", ran.stdout);
    ran.ended_with(0);
}

/// A command with further options.
fn run(lab: &Lab, line: &str, add: &[String]) -> Ran {
    let words = words(line);
    let all: Vec<&str> = words.iter().skip(1).chain(add).map(String::as_str).collect();
    lab.start_command(&all).wait_within(Duration::from_secs(7200))
}

/// The signatures of the broken promises that a campaign found, and whether these are what the page says.
fn finds(lab: &Lab, command: &Command) -> Result<(), String> {
    let ran = run(lab, &command.line, &["--format", "json"].map(str::to_owned));
    let answer: Value = serde_json::from_str(&ran.stdout).map_err(|error| format!("{error}: {}", ran.text()))?;
    let causes = answer["configurations"].as_array().expect("configurations").iter();
    let causes = causes.flat_map(|one| one["causes"].as_array().expect("causes"));
    let broken = causes.filter(|cause| cause["promised"] == true);
    let seen: BTreeSet<&str> = broken.map(|cause| cause["signature"].as_str().expect("a signature")).collect();
    let said = command.finds.as_deref().unwrap_or_default();
    let expected: BTreeSet<&str> = said.split("; ").filter(|signature| *signature != "nothing").collect();
    let code = i32::from(!expected.is_empty());
    if seen != expected || ran.code() != code {
        return Err(format!("says {said}, and what was found: {seen:?}, exit code {}", ran.code()));
    }
    Ok(())
}

fn replay(lab: &Lab, command: &Command, entry: &Entry) -> Result<(), String> {
    let table = match entry.how {
        How::Ends | How::Dry => return ends(lab, command, entry),
        How::Promised => tables::promised,
        How::Applications => tables::applications,
        How::Faults => tables::faults,
        How::Cases => tables::cases,
        How::Curve => tables::curve,
        How::Safety => tables::safety,
    };
    let depends_on_build = !matches!(entry.how, How::Faults | How::Cases);
    tables::compare(command, &table(lab, command), depends_on_build)
}

/// Whether it ends as it should, and prints what it should.
fn ends(lab: &Lab, command: &Command, entry: &Entry) -> Result<(), String> {
    for line in &entry.before {
        run(lab, line, &[]).ended_with(0);
    }
    let mut add = entry.add.clone();
    add.extend((entry.how == How::Dry).then(|| "--dry-run".to_owned()));
    let ran = run(lab, &command.line, &add);
    if entry.code.map_or(ran.code() > 1, |code| ran.code() != code) {
        return Err(ran.text());
    }
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (seen, printed) = (one_line(&format!("{}{}", ran.stdout, ran.stderr)), one_line(&command.printed));
    match entry.says.iter().chain([&printed]).find(|text| !seen.contains(*text)) {
        Some(text) => Err(format!("{text:?} is not in {}", ran.text())),
        None => Ok(()),
    }
}
