//! What a report opens with, in a real browser and as text, and its claims: of made-up runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mountmark_model::Metric;
use mountmark_record::RunId;
use serde_json::json;

use crate::lab::Lab;
use crate::made::{noise, plan, record};
use crate::report::{fits, readable, report};

/// A made-up run of five file systems, the first the fastest.
fn made(suite: &str, lab: &Lab) -> RunId {
    let names = ["xfs", "ext4", "ext2", "btrfs", "jfs"];
    let plan = plan(suite, &names, 6, 1, "0.02");
    record(lab, &plan, &[Metric::CPU_PERCENT, Metric::SYNC, Metric::SETTLE, Metric::CAPACITY], |name, task, repeat| {
        let place = names.iter().position(|known| *known == name).expect("a name");
        Some((1.0 + 0.5 * place as f64) * noise(name, task, repeat, 1))
    })
}

/// The same, and its page.
fn made_up(suite: &str, lab: &Lab) -> PathBuf {
    made(suite, lab);
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
        assert_eq!(order, json!(["top", "answer", "under", "places", "conclusions", "UL", "DETAILS"]));
        let said = browser.evaluate(
            "[document.querySelector('.answer').textContent, ...[...document.querySelectorAll('#conclusions + ul li')]\
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
        let folded = browser.evaluate("document.querySelectorAll('details:not([open]) li').length");
        assert!(folded.as_u64() >= Some(3), "{folded}");
        let places = browser.evaluate(
            "[...document.querySelectorAll('.places tbody tr')].map(r => [r.cells[0].textContent, \
             r.querySelectorAll('.bar, .interval').length, r.querySelectorAll('.made').length, r.cells[3].textContent])",
        );
        assert_eq!(places.as_array().map(Vec::len), Some(5), "{places}");
        let risk = "may have to be repaired and may lose what was not synced and show deleted data of others in files";
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
        browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
        let seen = browser.evaluate(
            "(() => { const whys = [...document.querySelectorAll('.claims td:nth-child(3), .claims caption')]; \
             const box = e => e.getBoundingClientRect(); return {count: whys.length, \
             out: whys.filter(e => box(e).right > innerWidth || box(e).left < 0 || box(e).width < 150).length, \
             below: whys.filter(e => e.matches('td') && box(e).top < box(e.parentNode.cells[0]).bottom - 1).length, \
             reasons: [...document.querySelectorAll('details .claims caption')].map(e => e.textContent), \
             claims: document.querySelectorAll('details .claims tbody tr').length, width: innerWidth}; })()",
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
            "[...document.querySelectorAll('details .claims tbody th > .verdict')].map(e => e.textContent.split(';')[0])",
        );
        assert_eq!(studies[0], "piszcz-2006", "the suite's own study comes first");
    });
}

/// The claims of a study stand on one page above the runs that repeat it, each once and by the run that decides it.
#[test]
fn a_study_is_answered_on_one_page_by_all_runs_that_repeat_it() {
    let lab = Lab::without_guests();
    let study = "journaling-2010";
    let out = lab.out().to_string_lossy().into_owned();
    let asked = |arguments: &[&str]| {
        lab.command(&[&["report", "--study", study, "--claims", "--out", &out], arguments].concat())
    };
    made("oltp", &lab);
    asked(&[]).ended_with(3).says(&["no run in", "mountmark run --study journaling-2010"]);
    let old = made("recovery", &lab);
    let [recovery, piszcz, safety] = ["recovery", "piszcz-2006", "safety"].map(|suite| made(suite, &lab));

    let page = lab.path("study.html");
    let told = asked(&["--output", &page.to_string_lossy()]).ended_with(0);
    told.says(&["is of: mountmark run --suite recovery ", "--vary disk-size=1GiB..4GiB:2"]);
    let text = asked(&["--format", "markdown"]).ended_with(0).stdout;
    let (claims, runs) = text.split_once("\n# piszcz-2006: ").expect("a run below the claims");
    assert!(claims.contains("# journaling-2010, 25 claims: holds "), "{claims}");
    assert!(!runs.contains("| J"), "no claim below: {runs}");
    for number in 1..=25 {
        let rows = claims.lines().filter(|line| line.starts_with('|') && line.contains(&format!("| J{number:02} ")));
        assert_eq!(rows.count(), 1, "J{number:02}: {claims}");
    }
    let by = |run: &RunId, suite: &str| format!("Run {}, {suite}: ", run.as_str());
    let of = |id: &str| claims.lines().find(|line| line.starts_with(&format!("| {id} "))).expect("a claim");
    assert!(of("J04").contains(&by(&recovery, "recovery")) && of("J22").contains("| holds"), "{claims}");
    assert!(!of("J24").contains("Run "), "answered without a run: {claims}");
    assert!(!text.contains(old.as_str()), "the newest run of each command: {text}");

    let json = asked(&["--format", "json"]).ended_with(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let of_json = json["claims"].as_array().expect("claims");
    assert_eq!(of_json.len(), 25);
    let judge = |id: &str| of_json.iter().find(|claim| claim["id"] == id).expect("a claim")["run"].clone();
    assert_eq!((judge("J04"), judge("J05")), (json!(recovery.as_str()), json!(piszcz.as_str())));

    readable("a_study_is_answered_on_one_page_by_all_runs_that_repeat_it", &page, |browser| {
        let seen = browser.evaluate(
            "(() => { const ids = e => [...e.querySelectorAll('.claims tbody .id')].map(e => e.textContent); \
             return {all: ids(document).length, articles: [...document.querySelectorAll('article')].flatMap(ids).length, \
             head: document.querySelector('h1').textContent, \
             links: [...document.querySelectorAll('main > ul a')].map(e => document.querySelector(e.hash) !== null), \
             contents: document.querySelector('nav').getBoundingClientRect().height, high: innerHeight}; })()",
        );
        assert_eq!((&seen["all"], &seen["articles"]), (&json!(25), &json!(0)), "{seen}");
        assert!(seen["head"].as_str().is_some_and(|head| head.starts_with("journaling-2010, 25 claims: ")), "{seen}");
        let links = seen["links"].as_array().expect("links");
        assert!(!links.is_empty() && links.iter().all(|is_there| *is_there == json!(true)), "{seen}");
        let (contents, high) = (seen["contents"].as_f64(), seen["high"].as_f64());
        assert!(contents < high, "the contents leave no room: {seen}");
    });
    // Named runs are taken as they are.
    let named = [safety.as_str(), old.as_str()];
    let named = lab
        .command(&[&["report", "--study", study, "--claims", "--format", "table", "--out", &out], &named[..]].concat());
    assert!(named.ended_with(0).stdout.contains(&format!("Run {}, recovery: ", old.as_str())));
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
