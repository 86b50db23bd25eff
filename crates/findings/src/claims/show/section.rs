//! Verdicts on claims as a section of a report.

use mountmark_document::forms::{Block, Last, Shade, Table, aside, chip, code, named};
use mountmark_document::markup::Markup;
use mountmark_document::number::{capital, counted};
use mountmark_document::put;
use mountmark_record::RunRecord;

use crate::cases;
use crate::claims::find::{ClaimOutcome, JudgedClaim};
use crate::claims::say::{self, Open, outcome};
use crate::view::View;

/// The section, if claims were judged.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let Some(claims) = view.report.claims else { return Vec::new() };
    let mut out = vec![Block::Text(format!("Judged by this run: {}.", say::judge(view.run())))];
    out.extend(verdicts(&[view.run()], claims));
    out
}

/// What several runs say together; `links` are the ids of their articles on a page.
pub(crate) fn together(runs: &[&RunRecord], links: &[String], claims: &[JudgedClaim]) -> Vec<Block> {
    let mut list = Markup::new();
    put!(list, "<ul>\n");
    for (run, link) in runs.iter().zip(links) {
        put!(list, "<li><a href=\"#", link, "\">", say::named(run), "</a></li>\n");
    }
    put!(list, "</ul>\n");
    let items = runs.iter().map(|run| Block::Item(say::named(run))).collect();
    if runs.is_empty() {
        return std::iter::once(Block::Text(say::CUTS_ALONE.into())).chain(verdicts(runs, claims)).collect();
    }
    let mut out = vec![Block::Text(say::SEVERAL.into()), Block::Drawn(list, items)];
    out.extend(verdicts(runs, claims));
    out
}

/// The claims that these runs decide, then the others; none are named where there is one or none.
pub(crate) fn verdicts(runs: &[&RunRecord], claims: &[JudgedClaim]) -> Vec<Block> {
    let (head, caption, who) = match runs {
        _ if claims.iter().all(|claim| claim.run.is_empty()) => {
            ("verdict", "Claims that power cuts decide", "power cuts do not decide")
        }
        [] | [_] => ("this run", "Claims that this run's figures decide", "this run does not decide"),
        _ => ("verdict", "Claims that are decided", "these runs do not decide"),
    };
    let mut out = vec![Block::Text(format!("{}.", say::counts(claims)))];
    let (judged, open) = say::by_reason(claims);
    match judged.is_empty() {
        true => out.push(Block::Text("There are no figures for any of them.".into())),
        false => {
            let rows = judged.iter().map(|claim| decided(claim, runs)).collect();
            out.push(table(caption.into(), &["claim", head, "why"], rows));
            out.extend(cases::say::hurried_at(claims).map(Block::Text));
        }
    }
    if !open.is_empty() {
        let count = counted(claims.len() - judged.len(), "claim", "claims");
        let groups = open.into_iter().flat_map(|group| undecided(group, head)).collect();
        out.push(Block::Fold(format!("{count} that {who}, and what would"), groups));
    }
    out
}

fn table(caption: String, head: &[&str], rows: Vec<Vec<String>>) -> Block {
    let keys = head.len() - 1;
    let head = head.iter().map(|head| (*head).to_owned()).collect();
    Block::Table(Table { caption, look: "claims", head, rows, keys, last: Last::Words })
}

/// A group of undecided claims below their reason, with the commands that would decide them.
fn undecided(group: Open, head: &str) -> Vec<Block> {
    let row = |claim: &&JudgedClaim| {
        let note = claim.note.iter().map(|note| aside(note));
        vec![claimed(claim), std::iter::once(verdict(claim.outcome)).chain(note).collect::<Vec<_>>().join("\n")]
    };
    let mut out = vec![table(group.reason, &["claim", head], group.claims.iter().map(row).collect())];
    out.extend(group.commands.into_iter().map(|command| Block::Command(command.to_owned())));
    out
}

fn verdict(found: ClaimOutcome) -> String {
    let shade = match found {
        ClaimOutcome::Holds | ClaimOutcome::Exceeded => Shade::Good,
        ClaimOutcome::Partly => Shade::Partly,
        ClaimOutcome::NoDifference => Shade::Equal,
        ClaimOutcome::Reversed => Shade::Reversed,
        ClaimOutcome::Fails => Shade::Bad,
        ClaimOutcome::NotJudged
        | ClaimOutcome::NotMeasured
        | ClaimOutcome::NeedsCrashLab
        | ClaimOutcome::Undecidable => Shade::Open,
    };
    chip(shade, outcome(found))
}

/// A claim with its study, and what the study's own figures say.
fn claimed(claim: &JudgedClaim) -> String {
    let own = say::own(claim).map_or(String::new(), |own| format!("; by its own figures: {own}"));
    format!("{}\n{}", named(&claim.id, &claim.text), aside(&format!("{}{own}", claim.study)))
}

fn decided(claim: &JudgedClaim, runs: &[&RunRecord]) -> Vec<String> {
    let mut found = vec![verdict(claim.outcome)];
    found.extend(claim.is_partial().then(|| aside("as far as measured")));
    let lacks = Some(say::lacks(claim).join(" ")).filter(|text| !text.is_empty());
    let by = say::by(claim, runs).map_or(String::new(), |by| format!("{}: ", capital(&by)));
    let mut why = vec![by + &say::sentence(claim)];
    why.extend([claim.note.clone(), say::stretched(claim), lacks].into_iter().flatten().map(|text| aside(&text)));
    why.extend(claim.commands.iter().map(|command| code(command)));
    vec![claimed(claim), found.join("\n"), why.join("\n")]
}
