//! The report of a real run, in a real browser.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::browser::{Browser, axe};
use crate::lab::{Lab, skip};
use crate::made::{noise, plan, record};

/// Widths of a telephone and of a large screen.
const WIDTHS: [u32; 2] = [360, 1600];

const TASKS: &str = r#"
[[task]]
id = "one"
title = "touch a hundred files </script><img src=x onerror=alert(1)>"
category = "small files"
run = "i=0; while [ $i -lt 100 ]; do : > $i || exit 1; i=$((i+1)); done"

[[task]]
id = "two"
title = "write a file"
category = "large files"
run = "head -c 4000000 /dev/urandom > big"

[[task]]
id = "three"
title = "fails"
category = "large files"
run = "echo no such thing >&2; exit 1"
"#;

/// A lab with a run of two file systems, and its report.
fn reported(test: &str) -> Option<(Lab, PathBuf)> {
    let lab = Lab::with_guests(test, 2)?;
    let suite = lab.suite("report", TASKS);
    lab.run(&["--fs", "ext4,xfs", "--suite", &suite, "--repeat", "3"]).ended_with(1);
    let page = lab.path("report.html");
    report(&lab, &["--output", &page.to_string_lossy()]).ended_with(0).says(&["wrote", "report.html"]);
    Some((lab, page))
}

/// `mountmark report latest` of a lab's store.
pub fn report(lab: &Lab, arguments: &[&str]) -> crate::lab::Ran {
    let out = lab.out().to_string_lossy().into_owned();
    let mut all = vec!["report", "latest", "--out", &out];
    all.extend(arguments);
    lab.command(&all)
}

#[test]
fn a_report_works_in_a_browser() {
    const TEST: &str = "a_report_works_in_a_browser";
    let Some((lab, page)) = reported(TEST) else { return };
    formats(&lab);
    let Some(mut browser) = Browser::start() else {
        skip(TEST, "there is no chromium; `scripts/setup test` installs it");
        return;
    };
    for width in WIDTHS {
        for scheme in ["light", "dark"] {
            browser.show(width, scheme);
            browser.open(&page);
            let place = format!("{width} px, {scheme}");
            assert_eq!(browser.errors, Vec::<String>::new(), "{place}");
            fits(&mut browser, &place);
            accessible(&mut browser, TEST, &place);
        }
    }
    interactive(&mut browser);
    without_scripts(&mut browser, &page);
}

/// Names of configurations hold all their options.
#[test]
fn long_names_stay_in_their_cards() {
    let lab = Lab::without_guests();
    let long = r"ext4:mkfs=-O ^metadata_csum+mount=noatime\,commit=30\,data=writeback#tuned-for-the-mail-server";
    let plan = plan("piszcz-2006", &["ext4", long, "xfs"], 3, 1, "0.02");
    record(&lab, &plan, &[], |name, task, repeat| Some(2.0 * noise(name, task, repeat, 1)));
    let page = lab.path("report.html");
    report(&lab, &["--output", &page.to_string_lossy()]).ended_with(0);
    readable("long_names_stay_in_their_cards", &page, |browser| {
        let beyond = browser.evaluate(
            "[...document.querySelectorAll('.card')].flatMap(card => [...card.querySelectorAll('th, td')].filter(cell => \
             !cell.closest('.scroll') && cell.getBoundingClientRect().right > card.getBoundingClientRect().right + 1))\
             .map(cell => cell.outerHTML.slice(0, 120))",
        );
        assert_eq!(beyond, json!([]));
        let cards = browser.evaluate("document.querySelectorAll('.card th wbr').length");
        assert!(cards.as_u64() > Some(20), "{cards} places where a name may break");
    });
}

/// The page itself is never wider than the window; each wider part scrolls inside its own box.
pub fn fits(browser: &mut Browser, place: &str) {
    let widths = browser.evaluate("[document.documentElement.scrollWidth, innerWidth]");
    assert_eq!(widths[0], widths[1], "{place}: the page is wider than the window");
    let beyond = browser.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg, pre, .unseen') \
         && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))",
    );
    assert_eq!(beyond, json!([]), "{place}");
}

/// A browser shows the page, narrow and wide, light and dark; `see` looks at what is on it.
pub fn readable(test: &str, page: &Path, see: impl Fn(&mut Browser)) {
    let Some(mut browser) = Browser::start() else { return skip(test, "there is no browser") };
    for (width, scheme) in [(400, "light"), (1300, "dark")] {
        browser.show(width, scheme);
        browser.open(page);
        see(&mut browser);
        let place = format!("{width} pixels, {scheme}");
        fits(&mut browser, &place);
        accessible(&mut browser, test, &place);
        assert!(browser.errors.is_empty(), "{:?}", browser.errors);
    }
}

/// No faults that an accessibility checker considers serious or critical, such as contrast below 4.5:1.
pub fn accessible(browser: &mut Browser, test: &str, place: &str) {
    let Some(axe) = axe() else {
        skip(test, "accessibility: there is no axe-core; `scripts/setup test` fetches it");
        return;
    };
    let script = std::fs::read_to_string(axe).expect("axe-core");
    browser.evaluate(&format!("{script};undefined"));
    let found = browser.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = true), axe.run().then(r => ({passes: r.passes.length, \
         violations: r.violations.filter(v => ['serious', 'critical'].includes(v.impact)) \
         .map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html + ' ' + n.failureSummary).join('; '))}))",
    );
    assert!(found["passes"].as_u64().is_some_and(|passes| passes >= 10), "{place}: {found}");
    assert_eq!(found["violations"], json!([]), "{place}");
}

/// The first cells of the matrix's rows, the cells of a column, and the state of that column.
fn column(browser: &mut Browser, index: usize) -> (Vec<String>, Vec<String>, String) {
    let value = browser.evaluate(&format!(
        "(() => {{ const t = document.querySelector('#matrix-table'), of = i => [...t.tBodies[0].rows].map(r => \
         r.cells[i].textContent.replace('★', '').replace(' best', '').trim()); \
         return [of(0), of({index}), t.tHead.rows[0].cells[{index}].getAttribute('aria-sort') ?? '']; }})()"
    ));
    let list = |value: &serde_json::Value| {
        value.as_array().expect("cells").iter().map(|cell| cell.as_str().expect("text").to_owned()).collect()
    };
    (list(&value[0]), list(&value[1]), value[2].as_str().expect("a state").to_owned())
}

fn interactive(browser: &mut Browser) {
    let numbers = |cells: &[String]| -> Vec<f64> { cells.iter().filter_map(|cell| cell.parse().ok()).collect() };
    let (labels, before, _) = column(browser, 1);
    assert!(labels.iter().any(|label| label.contains("onerror=alert(1)")), "{labels:?}");
    for (state, sign) in [("ascending", 1.0), ("descending", -1.0)] {
        browser.evaluate("document.querySelectorAll('#matrix-table thead button')[1].click()");
        let (_, cells, found) = column(browser, 1);
        assert_eq!(found, state);
        let sorted = numbers(&cells);
        assert!(sorted.len() > 3 && sorted.windows(2).all(|pair| sign * pair[0] <= sign * pair[1]), "{cells:?}");
        assert_eq!(cells.last().map(String::as_str), Some("failed"), "what has no figure stays at the end: {cells:?}");
    }
    browser.evaluate("document.querySelectorAll('#matrix-table thead button')[0].click()");
    let (again, values, _) = column(browser, 1);
    assert_eq!((&again, &values), (&labels, &before), "the script writes what the program wrote");

    browser.evaluate("document.querySelector('[data-mode=ratio]').click()");
    let (_, ratios, _) = column(browser, 1);
    assert!(numbers(&ratios).iter().all(|ratio| *ratio == 1.0), "the baseline's ratios: {ratios:?}");
    browser.evaluate("document.querySelector('[data-mode=value]').click()");
    browser.evaluate(
        "(() => { const s = document.querySelector('#metric'); s.value = 'cpu_percent'; \
         s.dispatchEvent(new Event('change')); })()",
    );
    let caption = browser.evaluate("document.querySelector('#matrix-table').caption.textContent");
    assert!(caption.as_str().is_some_and(|caption| caption.starts_with("CPU in per cent")), "{caption}");
    let (_, cpu, _) = column(browser, 1);
    assert_ne!(cpu, before);
    let dark = "getComputedStyle(document.body).backgroundColor";
    let first = browser.evaluate(dark);
    browser.evaluate("document.querySelector('#theme').click()");
    assert_ne!(browser.evaluate(dark), first, "the button changes the colours");
    assert_eq!(browser.errors, Vec::<String>::new());
}

fn without_scripts(browser: &mut Browser, page: &std::path::Path) {
    browser.scripts(false);
    browser.show(1600, "light");
    browser.open(page);
    let seen = browser.evaluate(
        "[document.querySelectorAll('#matrix-table tbody tr').length, document.querySelectorAll('svg.plot').length, \
         document.querySelectorAll('.part').length, document.querySelectorAll('button:not([hidden])').length, \
         [...document.querySelectorAll('.controls')].filter(c => c.offsetHeight > 0).length]",
    );
    let count = |index: usize| seen[index].as_u64().expect("a number");
    assert!(count(0) >= 5 && count(1) >= 8 && count(2) >= 4, "rows, drawings, parts of bars: {seen}");
    assert_eq!(count(4), 0, "nothing to press that does nothing");
    let maps = browser.evaluate(
        "[...document.querySelectorAll('.plate img')].map(i => [i.naturalWidth, i.naturalHeight, i.alt, i.width])",
    );
    let maps = maps.as_array().expect("maps of the device");
    let written = |map: &&serde_json::Value| map[2].as_str().is_some_and(|alt| alt.contains(" written in "));
    assert!(maps.iter().filter(written).count() >= 4, "{maps:?}");
    for map in maps {
        let number = |at: usize| map[at].as_u64().expect("a number");
        assert!((1..=120).contains(&number(0)) && number(1) > 96 && number(3) > 0, "{map}");
    }
    browser.scripts(true);
}

/// All formats of the same run, and files that are not overwritten.
fn formats(lab: &Lab) {
    for (format, start) in [
        ("table", "mountmark report: "),
        ("markdown", "<!-- mountmark report -->"),
        ("csv", "study,run,fs,task,"),
        ("json", "{\"mountmark_reports\""),
        ("svg", "<!-- mountmark"),
    ] {
        let ran = report(lab, &["--format", format]).ended_with(0);
        assert!(ran.stdout.starts_with(start), "{}", ran.text());
        assert!(ran.stderr.is_empty(), "{}", ran.text());
    }
    assert!(report(lab, &["--output", "-"]).ended_with(0).stdout.starts_with("<!DOCTYPE html>"));
    let page = lab.path("report.html").to_string_lossy().into_owned();
    report(lab, &["--output", &page, "--baseline", "xfs"]).ended_with(0);
    report(lab, &["--output", &page, "--format", "svg"]).ended_with(2).says(&["ends like a report in html", "is svg"]);
    let picture = lab.path("picture.svg").to_string_lossy().into_owned();
    report(lab, &["--output", &picture]).ended_with(0);
    assert!(
        std::fs::read_to_string(&picture).expect("the picture").starts_with("<!-- mountmark"),
        "the name says what it is"
    );
    let bare = lab.write("bare", "my notes");
    report(lab, &["--output", &bare, "--format", "svg"]).ended_with(2).says(&["is no svg report", "name another file"]);
    report(lab, &["--output", "report.pdf"]).ended_with(2).says(&["no report is a .pdf", "--format"]);
    let notes = lab.write("notes.html", "<html>my notes</html>");
    report(lab, &["--output", &notes]).ended_with(2).says(&["notes.html", "is no html report"]);
    assert_eq!(std::fs::read_to_string(&notes).expect("the file"), "<html>my notes</html>");
    report(lab, &["--baseline", "zfs"]).ended_with(2).says(&["--baseline zfs", "ext4, xfs"]);
    report(lab, &["--format", "pdf"]).ended_with(2).says(&["\"pdf\"", "table, markdown, csv, json, html, svg"]);
    report(lab, &["--output", "/no/such/folder/report.html"]).ended_with(2).says(&["/no/such/folder/report.html"]);
    report(lab, &["--study", "piszcz-1906"]).ended_with(2).says(&["piszcz-1906"]);
    let claimed = report(lab, &["--study", "piszcz-2006", "--claims", "--output", "-"]).ended_with(0);
    assert!(claimed.stdout.contains("id=\"study\"") && claimed.stdout.contains("id=\"claims\""));
    // The original: with the first configuration as its baseline.
    report(lab, &["--output", &page]).ended_with(0);
}
