//! What a report opens with, in a real browser and as text, and its claims: of made-up runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mountmark_model::Metric;
use serde_json::json;

use crate::lab::Lab;
use crate::made::{noise, plan, record};
use crate::report::{fits, readable, report};

/// A made-up run of five file systems, the first the fastest, and its page.
fn made_up(suite: &str, lab: &Lab) -> PathBuf {
    let names = ["xfs", "ext4", "ext2", "btrfs", "jfs"];
    let plan = plan(suite, &names, 6, 1, "0.02");
    record(lab, &plan, &[Metric::CPU_PERCENT, Metric::SYNC, Metric::SETTLE, Metric::CAPACITY], |name, task, repeat| {
        let place = names.iter().position(|known| *known == name).expect("a name");
        Some((1.0 + 0.5 * place as f64) * noise(name, task, repeat, 1))
    });
    let page = lab.path("report.html");
    report(lab, &["--claims", "--output", &page.to_string_lossy()]).ended_with(0);
    page
}

/// One sentence, one picture, at most six conclusions, the rest folded; texts begin with the same sentences.
#[test]
fn a_report_opens_with_its_answer() {
    let lab = Lab::without_guests();
    let page = made_up("piszcz-2006", &lab);
    let texts = ["table", "markdown"].map(|format| report(&lab, &["--format", format]).ended_with(0).stdout);
    readable("a_report_opens_with_its_answer", &page, |browser| {
        let heads = browser.evaluate("[document.title, document.querySelector('h1').textContent]");
        for head in heads.as_array().expect("heads") {
            let head = head.as_str().expect("a head");
            assert!(head.contains("xfs is first of 5 file systems, 1.50 times ahead of ext4"), "{head}");
        }
        let order = browser.evaluate(
            "[...document.querySelector('article').children].map(e => e.className || e.id || e.tagName).slice(0, 7)",
        );
        assert_eq!(order, json!(["top", "answer", "under", "places", "conclusions", "conclusions", "folded"]));
        let said = browser.evaluate(
            "[document.querySelector('.answer').textContent, ...[...document.querySelectorAll('article > .conclusions li')]\
             .map(e => e.textContent)]",
        );
        let said: Vec<&str> = said.as_array().expect("sentences").iter().filter_map(|text| text.as_str()).collect();
        assert!((3..=7).contains(&said.len()), "{said:?}");
        assert!(said[0].contains("xfs") && said[0].contains("after a power cut, xfs may lose"), "{}", said[0]);
        for text in &texts {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['\\', '*'], "");
            let text = words(text);
            let at: Vec<Option<usize>> = said.iter().map(|said| text.find(&words(&said.replace('*', "")))).collect();
            assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{at:?} {text}");
            assert!(text.find("What was compared") > at[at.len() - 1], "{text}");
        }
        let folded = browser.evaluate("document.querySelectorAll('.folded:not([open]) .conclusions li').length");
        assert!(folded.as_u64() >= Some(3), "{folded}");
        let places = browser.evaluate(
            "[...document.querySelectorAll('.places tbody tr')].map(r => [r.cells[0].textContent, \
             r.querySelectorAll('.bar, .interval').length, r.querySelectorAll('.made').length, r.cells[3].textContent])",
        );
        assert_eq!(places.as_array().map(Vec::len), Some(5), "{places}");
        let risk = "may have to be repaired and may lose what was not synced and show what the disk held before";
        assert_eq!(places[2], json!(["ext2", 2, 1, risk]));
        assert_eq!(places[0][2], json!(6));
        for width in [400, 800, 1200] {
            browser.show(width, "light");
            fits(browser, &format!("{width} px"));
        }
        let clipped = browser.evaluate(
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)\
             .map(e => e.querySelector('caption')?.textContent ?? e.className)",
        );
        assert_eq!(clipped, json!([]), "no column is cut off at 1200 px");
        let bars = browser.evaluate("document.querySelectorAll('.cpu .plot .bar').length");
        assert!(bars.as_u64() >= Some(5 * 21), "{bars} bars of processor shares");
    });
}

/// On a narrow screen why a claim is judged so stands below it, in sight; a reason that claims share stands once.
#[test]
fn reasons_of_claims_are_in_sight_and_told_once() {
    let lab = Lab::without_guests();
    let page = made_up("piszcz-2006", &lab);
    let markdown = report(&lab, &["--claims", "--format", "markdown"]).ended_with(0).stdout;
    let is_open = |line: &&str| line.contains("not judged") && line.starts_with('|');
    let open = markdown.lines().filter(is_open).count();
    // A paragraph above its claims, so never in a row of a table, and no two alike.
    let reasons: Vec<&str> = markdown.lines().filter(|line| line.contains("--anyway judges all the same")).collect();
    let once: BTreeSet<&&str> = reasons.iter().collect();
    assert!(reasons.iter().all(|reason| !reason.starts_with('|')), "{markdown}");
    assert_eq!(once.len(), reasons.len(), "{reasons:?}");
    assert!(!reasons.is_empty() && reasons.len() * 2 < open, "{reasons:?} for {open} claims");
    let text = report(&lab, &["--claims", "--format", "table"]).ended_with(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("--anyway judges all the same").count(), reasons.len(), "{text}");
    for text in [&text, &markdown] {
        assert_eq!(text.matches("It is about power cuts").count(), 1, "{text}");
    }
    readable("reasons_of_claims_are_in_sight_and_told_once", &page, |browser| {
        browser.evaluate("document.querySelectorAll('.open-claims').forEach(d => d.open = true)");
        let seen = browser.evaluate(
            "(() => { const whys = [...document.querySelectorAll('.claims .long, .claims caption')]; \
             const box = e => e.getBoundingClientRect(); return {count: whys.length, \
             out: whys.filter(e => box(e).right > innerWidth || box(e).left < 0 || box(e).width < 150).length, \
             below: whys.filter(e => e.matches('.long') && box(e).top < box(e.parentNode.cells[0]).bottom - 1).length, \
             reasons: [...document.querySelectorAll('.open-claims caption')].map(e => e.textContent), \
             claims: document.querySelectorAll('.open-claims tbody tr').length, width: innerWidth}; })()",
        );
        let reasons: Vec<&str> =
            seen["reasons"].as_array().expect("reasons").iter().filter_map(|r| r.as_str()).collect();
        let once: BTreeSet<&&str> = reasons.iter().collect();
        assert_eq!(once.len(), reasons.len(), "{reasons:?}");
        assert!(reasons.len() as u64 * 2 < seen["claims"].as_u64().expect("claims"), "{seen}");
        assert_eq!(seen["out"], json!(0), "{seen}");
        if seen["width"] == json!(400) {
            assert_eq!(seen["below"], json!(0), "stacked: {seen}");
        }
        let studies = browser.evaluate(
            "[...document.querySelectorAll('.open-claims tbody th > .verdict')].map(e => e.textContent.split(';')[0])",
        );
        assert_eq!(studies[0], "piszcz-2006", "the suite's own study comes first");
    });
}

/// Where a suite is about coming up again, the answer is how soon each is usable, and no average.
#[test]
fn a_recovery_report_opens_with_how_soon_each_is_usable() {
    let lab = Lab::without_guests();
    made_up("recovery", &lab);
    let text = report(&lab, &["--format", "markdown"]).ended_with(0).stdout;
    let first = text.lines().filter(|line| !line.is_empty()).nth(2).expect("a sentence");
    assert!(
        first.starts_with("Usable again after a power cut: xfs after ") && first.contains(", jfs after "),
        "{text}"
    );
    assert!(first.contains(" 3.0") && first.contains(" times that (95 %: "), "{first}");
}
