//! Judged claims, in four formats.

use std::collections::BTreeMap;

use anyhow::Result;
use mountmark_analyse::claim::{ClaimOutcome, JudgedClaim};
use serde::Serialize;

use crate::csv::quote;
use crate::format::Options;
use crate::section::{Section, markdown, text};
use crate::study::check_comparison_format;

/// Which claims are judged by what.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimsHead {
    /// Name of the run.
    pub run: String,
    /// Its suite.
    pub suite: String,
    /// Cells of each configuration.
    pub repeats: u32,
    /// Configurations with results.
    pub filesystems: Vec<String>,
    /// What keeps the run from saying all that it could: sentences.
    pub warnings: Vec<String>,
    /// Titles of studies by name.
    pub titles: BTreeMap<String, String>,
}

/// The claims as text that ends with a line end.
pub fn claims(head: &ClaimsHead, claims: &[JudgedClaim], format: &str, options: &Options) -> Result<String> {
    check_comparison_format(format)?;
    Ok(match format {
        "json" => json(head, claims)?,
        "csv" => csv(head, claims),
        "markdown" => markdown(&sections(head, claims)),
        _ => text(&sections(head, claims), options),
    })
}

fn json(head: &ClaimsHead, claims: &[JudgedClaim]) -> Result<String> {
    #[derive(Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        head: &'a ClaimsHead,
        summary: BTreeMap<&'static str, usize>,
        claims: &'a [JudgedClaim],
    }
    let summary = counted(claims).into_iter().map(|(outcome, count)| (outcome.words(), count)).collect();
    Ok(serde_json::to_string_pretty(&All { head, summary, claims })? + "\n")
}

const HEAD: &str = "run,study,claim,outcome,complete,own_figures,clause,clause_outcome,holds,against,undecided,unmeasured,text,sentence,figures\n";

/// One line a clause; a claim without clauses has one line.
fn csv(head: &ClaimsHead, claims: &[JudgedClaim]) -> String {
    let mut out = String::from(HEAD);
    for claim in claims {
        let start = [
            head.run.clone(),
            claim.study.clone(),
            claim.id.clone(),
            claim.outcome.words().to_owned(),
            claim.complete.to_string(),
            claim.own_figures.map_or(String::new(), |outcome| outcome.words().to_owned()),
        ];
        let mut line = |middle: [String; 6], sentence: &str, figures: &str| {
            let fields = start.iter().chain(&middle).chain([&claim.text]).map(|field| quote(field).into_owned());
            out += &format!("{},{},{}\n", fields.collect::<Vec<_>>().join(","), quote(sentence), quote(figures));
        };
        if claim.clauses.is_empty() {
            line(Default::default(), &claim.sentence, "");
        }
        for clause in &claim.clauses {
            let counts = clause.counts;
            let numbers =
                [counts.holds, counts.against, counts.undecided, counts.unmeasured].map(|count| count.to_string());
            let [holds, against, undecided, unmeasured] = numbers;
            let outcome = clause.outcome.words().to_owned();
            line(
                [clause.test.clone(), outcome, holds, against, undecided, unmeasured],
                &clause.sentence,
                &clause.figures,
            );
        }
    }
    out
}

fn counted(claims: &[JudgedClaim]) -> Vec<(ClaimOutcome, usize)> {
    ClaimOutcome::ALL
        .into_iter()
        .map(|outcome| (outcome, claims.iter().filter(|claim| claim.outcome == outcome).count()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

fn sections(head: &ClaimsHead, claims: &[JudgedClaim]) -> Vec<Section> {
    let mut out = vec![
        Section::Labelled("run".into(), format!("{}, suite {}", head.run, head.suite)),
        Section::Labelled("file systems".into(), head.filesystems.join(", ")),
        Section::Labelled("judged".into(), rule(head.repeats)),
    ];
    out.extend(head.warnings.iter().map(|warning| Section::Labelled("note".into(), warning.clone())));
    let mut study = "";
    for claim in claims {
        if claim.study != study {
            study = &claim.study;
            let title = head.titles.get(study).map_or(String::new(), |title| format!(": {title}"));
            out.push(Section::Heading(format!("{study}{title}")));
        }
        lines(&mut out, claim);
    }
    commands(&mut out, claims);
    let counts: Vec<String> =
        counted(claims).iter().map(|(outcome, count)| format!("{} {count}", outcome.words())).collect();
    out.push(Section::Heading(format!("{} claims: {}.", claims.len(), counts.join(", "))));
    let partial = claims.iter().filter(|claim| is_measured(claim) && !claim.complete).count();
    if partial > 0 {
        out.push(Section::Paragraph(format!(
            "{partial} of those judged name something that this run has not: they are judged by what there is."
        )));
    }
    out
}

fn rule(repeats: u32) -> String {
    if repeats == 1 {
        "One repeat: figures are taken as they are, and a difference counts from 1 % on. What other seeds would give is not \
         known; more repeats would tell."
            .into()
    } else {
        format!(
            "{repeats} repeats: a difference counts where it is shown at 95 %, corrected for all comparisons of all claims \
             together, and from 1 % on."
        )
    }
}

/// Whether the run says something of it.
pub(crate) fn is_measured(claim: &JudgedClaim) -> bool {
    !matches!(claim.outcome, ClaimOutcome::NotMeasured | ClaimOutcome::Undecidable)
}

/// Whether it is judged without some of the file systems that it speaks of.
pub(crate) fn is_partial(claim: &JudgedClaim) -> bool {
    is_measured(claim) && !claim.complete
}

/// A claim: verdict and text, and below why, what is missing, what the article's own figures say, and what to note.
fn lines(out: &mut Vec<Section>, claim: &JudgedClaim) {
    let id = claim.id.clone();
    let so_far = if is_partial(claim) { ", as far as measured" } else { "" };
    out.push(Section::Labelled(id, format!("{}{so_far}: {}", claim.outcome.words().to_uppercase(), claim.text)));
    let mut below = |text: String| out.push(Section::Labelled(String::new(), text));
    if !claim.sentence.is_empty() {
        below(format!("Why: {}", claim.sentence));
    }
    if is_measured(claim) && !claim.missing.is_empty() {
        below(format!("Left out: {}", claim.missing.join(" ")));
    }
    if let Some(own) = claim.own_figures {
        below(format!("The article's own figures: {}.", own.words()));
    }
    if let Some(note) = &claim.note {
        below(format!("Note: {note}"));
    }
}

/// Commands that would measure what is missing, each with the claims that it is for.
fn commands(out: &mut Vec<Section>, claims: &[JudgedClaim]) {
    let mut by_command: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for claim in claims {
        for command in &claim.commands {
            by_command.entry(command).or_default().push(&claim.id);
        }
    }
    if by_command.is_empty() {
        return;
    }
    out.push(Section::Heading("To measure what this run has not:".into()));
    for (command, claims) in by_command {
        out.push(Section::Item(format!("for {}:", claims.join(", "))));
        out.push(Section::Command(command.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use mountmark_analyse::claim::{Counts, JudgedClause};

    use super::*;

    fn claim(id: &str, outcome: ClaimOutcome) -> JudgedClaim {
        let is_measured = outcome != ClaimOutcome::NotMeasured;
        JudgedClaim {
            study: "mine-2006".into(),
            id: id.into(),
            text: "A claim that is long enough to need a second line on a terminal of eighty columns, and more.".into(),
            note: Some("what to note".into()),
            outcome,
            complete: is_measured,
            sentence: "001: xfs 1.00, \"ext4\" 2.00 (s).".into(),
            clauses: vec![JudgedClause {
                test: "001 (elapsed): xfs > ext4".into(),
                outcome,
                counts: Counts { holds: 1, ..Counts::default() },
                sentence: String::new(),
                figures: "001: xfs 1.00, \"ext4\" 2.00 (s).".into(),
                comparisons: Vec::new(),
            }],
            missing: if is_measured { Vec::new() } else { vec!["xfs is not in the run.".into()] },
            commands: if is_measured { Vec::new() } else { vec!["mountmark run --fs xfs".into()] },
            own_figures: Some(ClaimOutcome::Holds),
        }
    }

    fn rendered(format: &str) -> String {
        let head = ClaimsHead {
            run: "20260131-0902-aaaa".into(),
            suite: "mine".into(),
            repeats: 1,
            filesystems: vec!["ext4".into()],
            warnings: Vec::new(),
            titles: BTreeMap::from([("mine-2006".into(), "Mine".into())]),
        };
        let judged = [
            claim("M01", ClaimOutcome::Holds),
            claim("M02", ClaimOutcome::NotMeasured),
            claim("M03", ClaimOutcome::Holds),
        ];
        claims(&head, &judged, format, &Options { width: 80, ..Options::default() }).unwrap()
    }

    #[test]
    fn the_table_fits_and_counts() {
        let text = rendered("table");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("3 claims: holds 2, not measured 1."), "{text}");
        assert!(text.contains("for M02:\n    mountmark run --fs xfs\n"), "{text}");
        assert!(text.contains("mine-2006: Mine\n"), "{text}");
    }

    #[test]
    fn each_format_holds_each_claim() {
        for format in crate::COMPARISON_FORMATS {
            let text = rendered(format);
            assert!(
                ["M01", "M02", "M03"].iter().all(|id| text.contains(id)) && text.ends_with('\n'),
                "{format}: {text}"
            );
        }
        let json: serde_json::Value = serde_json::from_str(&rendered("json")).unwrap();
        assert_eq!(json["summary"]["holds"], 2);
        assert_eq!(json["claims"][1]["outcome"], "not-measured");
        let csv = rendered("csv");
        assert!(csv.contains("\"001: xfs 1.00, \"\"ext4\"\" 2.00 (s).\"\n"), "{csv}");
        assert_eq!(csv.lines().count(), 4);
        let unknown = claims(
            &ClaimsHead {
                run: String::new(),
                suite: String::new(),
                repeats: 1,
                filesystems: vec![],
                warnings: vec![],
                titles: BTreeMap::new(),
            },
            &[],
            "tabel",
            &Options::default(),
        );
        assert!(unknown.unwrap_err().to_string().contains("did you mean table?"));
    }
}
