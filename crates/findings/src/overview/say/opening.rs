//! What a report opens with: a title and a sentence that say what was found, the few conclusions that a reader needs
//! beside it, and the rest, which is folded or follows below.

use mountmark_document::number::{and, and_more, counted, ratio};

use crate::found::Findings;
use crate::overview::find::Conclusion;
use crate::overview::say;
use crate::overview::say::kind::kind;
use crate::overview::say::usable_times;
use crate::rankings::find::rank::{FEW, Lead, Level};
use crate::{effects, safety};

/// How many further conclusions stand beside the answer.
pub(crate) const FURTHER: usize = 6;

/// Heading of the rest.
pub(crate) const REST: &str = "More conclusions";

/// Above this length of a name, a title tells how many there are.
const LONG: usize = 24;

pub(crate) struct Opening {
    /// One sentence.
    pub answer: String,
    /// At most [`FURTHER`].
    pub further: Vec<String>,
    pub rest: Vec<String>,
}

impl Opening {
    pub fn of(findings: &Findings) -> Opening {
        let by_factor = findings.effects.as_ref().and_then(effects::say::opening);
        let mut all = by_factor.map(|[_, answer]| answer).into_iter().chain(say::sentences(findings));
        // Steps and room answer nothing where the suite's tests do not.
        let is_beside = !matches!(findings.conclusions.first(), None | Some(Conclusion::SyncedLost));
        let none = (is_beside && !has_compared(findings)).then(|| nothing(findings));
        let answer = none.or_else(|| all.next()).unwrap_or_else(|| nothing(findings));
        Opening { answer, further: all.by_ref().take(FURTHER).collect(), rest: all.collect() }
    }
}

/// Whether a test of the suite has figures of several.
fn has_compared(findings: &Findings) -> bool {
    findings.suite().any(|task| {
        let Some(found) = task.shown() else { return false };
        found.estimates.iter().flatten().count() > 1
    })
}

/// The answer where nothing can be compared.
fn nothing(findings: &Findings) -> String {
    let tests = findings.suite().filter(|task| task.shown().is_some()).count();
    match (&findings.headings[..], tests) {
        ([], _) => "No file system was measured.".into(),
        (_, 0) => "No test has a figure.".into(),
        ([one], _) => {
            format!(
                "{one} alone was measured, in {}: there is nothing to compare it with.",
                counted(tests, "test", "tests")
            )
        }
        _ => "No two file systems have figures of the same test.".into(),
    }
}

/// What was found, in the few words of a title.
pub(crate) fn title(findings: &Findings) -> String {
    let name = |one: usize| safety::say::named(findings, one, |_| true);
    let count = findings.configurations.len();
    let things = kind(findings)[1];
    if let Some([title, _]) = findings.effects.as_ref().and_then(effects::say::opening) {
        return title;
    }
    match findings.conclusions.first() {
        Some(Conclusion::Usable { task, order, .. }) => {
            let (one, other) = (order[0], order[order.len() - 1]);
            let times = usable_times(findings, *task, &if order.len() > 3 { vec![one, other] } else { order.clone() });
            format!("Usable again after a power cut: {}", and(times))
        }
        Some(Conclusion::Overall { tests }) => {
            let over = match findings.overall.unranked.len() + say::unmeasured(findings).len() {
                0 => String::new(),
                unranked => format!(" over {} of {tests} tests", tests - unranked),
            };
            let ([first, second, ..], Some(lead)) = (&findings.overall.ranking[..], findings.overall.lead) else {
                return compared(findings);
            };
            let (one, other) = (name(first.configuration), name(second.configuration));
            let ranked = findings.overall.ranking.len();
            // One without a place may be faster.
            let of = match ranked {
                _ if ranked < count => format!(" of {ranked} ranked {things}"),
                0..=2 => String::new(),
                _ => format!(" of {count} {things}"),
            };
            match lead {
                Lead::AllLevel if ranked < count => format!("{ranked} of {count} {things} are level{over}"),
                Lead::AllLevel => format!("{count} {things} are level{over}"),
                Lead::Shared { count: first, level } => {
                    let names =
                        and_more(findings.overall.ranking.iter().map(|rank| name(rank.configuration)), first, FEW);
                    match level {
                        Level::Close if ranked > first => format!("{names} are level, and come first{of}{over}"),
                        Level::Close => format!("{names} are level{over}"),
                        _ if ranked > first => format!("{names} come first{of}{over}, in no order that is shown"),
                        _ => format!("{names}: no order is shown{over}"),
                    }
                }
                Lead::First { .. } => {
                    let repeat = if findings.measured > 1 { "" } else { " in one repeat" };
                    format!(
                        "{one} is first{of}{over}{repeat}, {} times ahead of {other}",
                        ratio(second.score / first.score)
                    )
                }
            }
        }
        _ => compared(findings),
    }
}

/// The compared configurations.
fn compared(findings: &Findings) -> String {
    let names: Vec<&str> = findings.headings.iter().map(String::as_str).collect();
    match names.len() {
        0 => "No file system was measured".into(),
        1 => format!("{} measured", names[0]),
        2..=4 if names.iter().all(|name| name.chars().count() <= LONG) => format!("{} compared", and(names)),
        count => format!("{count} {} compared", kind(findings)[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_conclusion_is_told_once_and_six_stand_beside_the_answer() {
        let run = crate::tests::page::whole(&["ext4", "xfs", "jfs"], 3);
        let mut found = crate::tests::page::findings(&run);
        found.conclusions = vec![Conclusion::Overall { tests: 3 }];
        found.conclusions.extend((0..9).map(|tied| Conclusion::Tally {
            tests: 9,
            wins: vec![],
            tied: tied + 1,
            none: 0,
            rest: 0,
        }));
        let opening = Opening::of(&found);
        assert_eq!((opening.further.len(), opening.rest.len()), (FURTHER, 3));
        assert!(opening.answer.starts_with("Over all 3 tests, ext4 "), "{}", opening.answer);
        assert_eq!(opening.answer.matches(". ").count(), 0, "one sentence: {}", opening.answer);
        let all = crate::overview::say::sentences(&found);
        assert_eq!([&[opening.answer][..], &opening.further, &opening.rest].concat(), all);
        assert_eq!(say::sentence(&found, &found.conclusions[9]), all[9]);
    }

    #[test]
    fn titles_say_what_was_found() {
        let run = crate::tests::page::whole(&["ext4", "xfs", "jfs"], 3);
        let mut found = crate::tests::page::findings(&run);
        for (lead, wanted) in [
            (Lead::First { everywhere: true }, "ext4 is first of 3 file systems, 2.00 times ahead of xfs"),
            (
                Lead::Shared { count: 2, level: Level::Close },
                "ext4 and xfs are level, and come first of 3 file systems",
            ),
            (
                Lead::Shared { count: 2, level: Level::NotShown },
                "ext4 and xfs come first of 3 file systems, in no order that is shown",
            ),
            (Lead::Shared { count: 3, level: Level::Unsteady }, "ext4, xfs and jfs: no order is shown"),
            (Lead::AllLevel, "3 file systems are level"),
        ] {
            found.overall.lead = Some(lead);
            assert_eq!(title(&found), wanted);
        }
        found.overall.ranking.pop();
        assert_eq!(title(&found), "2 of 3 file systems are level", "one lacks figures");
        for (lead, wanted) in [
            (Lead::First { everywhere: true }, "ext4 is first of 2 ranked file systems, 2.00 times ahead of xfs"),
            (Lead::Shared { count: 2, level: Level::Close }, "ext4 and xfs are level"),
        ] {
            found.overall.lead = Some(lead);
            assert_eq!(title(&found), wanted);
        }
        found.overall.lead = Some(Lead::AllLevel);
        found.configurations[1] = "ext4:noatime".into();
        assert_eq!(title(&found), "2 of 3 configurations are level", "one file system is there twice");
        found.conclusions.clear();
        assert_eq!(title(&found), "ext4, xfs and jfs compared");
    }
}
