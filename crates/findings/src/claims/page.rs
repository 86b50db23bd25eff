//! Verdicts on the claims of published studies.

use mountmark_document::markup::Markup;
use mountmark_document::number::counted;
use mountmark_document::put;

use crate::cases;
use crate::claims::find::{ClaimOutcome, JudgedClaim};
use crate::claims::say;
use crate::claims::say::Open;
use crate::sections::Section;
use crate::view::View;

/// The section, if claims were judged.
pub(crate) fn claims(view: &View) -> Markup {
    let mut out = Markup::new();
    let Some(claims) = view.report.claims else { return out };
    view.heading(&mut out, &Section::CLAIMS);
    put!(out, "<p>Judged by this run: ", say::judge(view.report.run), ".</p>\n");
    verdicts(&mut out, &[view], claims);
    out
}

/// What several runs say together.
pub(crate) fn together(views: &[View], claims: &[JudgedClaim]) -> Markup {
    let mut out = Markup::new();
    out.heading(2, Section::CLAIMS.id, say::HEADING);
    put!(out, "<p>", say::SEVERAL, "</p>\n<ul>\n");
    for view in views {
        put!(out, "<li><a href=\"#", view.id("top"), "\">", say::named(view.run()), "</a></li>\n");
    }
    put!(out, "</ul>\n");
    verdicts(&mut out, &views.iter().collect::<Vec<_>>(), claims);
    out
}

/// The claims that the runs of these views decide, then the others.
fn verdicts(out: &mut Markup, views: &[&View], claims: &[JudgedClaim]) {
    let (head, caption, who) = match views {
        [_] => ("this run", "Claims that this run's figures decide", "this run does not decide"),
        _ => ("verdict", "Claims that are decided", "these runs do not decide"),
    };
    let id = |name: &str| if let [view] = views { view.id(name) } else { name.to_owned() };
    put!(out, "<p class=\"key\">");
    for (outcome, count) in ClaimOutcome::counts(claims) {
        put!(out, badge(outcome), count, " ");
    }
    put!(out, "</p>\n");
    let (judged, open_claims) = say::by_reason(claims);
    if judged.is_empty() {
        put!(out, "<p>There are no figures for any of them.</p>\n");
    } else {
        begin(out, &id("claims-judged-caption"), caption, &["claim", head, "why"]);
        judged.iter().for_each(|claim| decided(out, claim, views));
        put!(out, "</tbody>\n</table>\n");
        if let Some(text) = cases::say::hurried_at(claims) {
            put!(out, "<p>", text, "</p>\n");
        }
    }
    if !open_claims.is_empty() {
        let count = counted(claims.len() - judged.len(), "claim", "claims");
        put!(out, "<details class=\"open-claims\"><summary>", count, " that ", who, ", and what would</summary>\n");
        for (at, group) in open_claims.iter().enumerate() {
            open(out, &id(&format!("claims-open-{at}")), group, head);
        }
        put!(out, "</details>\n");
    }
}

/// A group of undecided claims below their reason.
fn open(out: &mut Markup, caption: &str, group: &Open, head: &str) {
    begin(out, caption, &group.reason, &["claim", head]);
    for claim in &group.claims {
        claimed(out, claim);
        put!(out, "<td class=\"words\">", badge(claim.outcome));
        if let Some(note) = &claim.note {
            put!(out, "<span class=\"verdict\">", note, "</span>");
        }
        put!(out, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n");
    for command in &group.commands {
        put!(out, "<p class=\"verdict\"><code>", *command, "</code></p>\n");
    }
}

/// An outcome as a word on a shade, with a sign for readers who cannot see colours.
fn badge(outcome: ClaimOutcome) -> Markup {
    let (class, sign) = match outcome {
        ClaimOutcome::Holds => ("best", "✓"),
        ClaimOutcome::Exceeded => ("best", "✓"),
        ClaimOutcome::Partly => ("heat1", "◐"),
        ClaimOutcome::NoDifference => ("calm", "="),
        ClaimOutcome::Reversed => ("heat3", "⇄"),
        ClaimOutcome::Fails => ("heat2", "✗"),
        ClaimOutcome::NotJudged
        | ClaimOutcome::NotMeasured
        | ClaimOutcome::NeedsCrashLab
        | ClaimOutcome::Undecidable => ("calm", "–"),
    };
    let mut out = Markup::new();
    put!(
        out,
        "<span class=\"chip ",
        class,
        "\"><span aria-hidden=\"true\">",
        sign,
        "</span> ",
        say::outcome(outcome),
        "</span> "
    );
    out
}

fn begin(out: &mut Markup, caption: &str, text: &str, heads: &[&str]) {
    put!(out, "<table class=\"plain claims\">\n<caption id=\"", caption, "\">", text, "</caption>\n<thead><tr>");
    for head in heads {
        put!(out, "<th scope=\"col\" class=\"words\">", *head, "</th>");
    }
    put!(out, "</tr></thead>\n<tbody>\n");
}

/// The first cell of a claim's row.
fn claimed(out: &mut Markup, claim: &JudgedClaim) {
    put!(out, "<tr><th scope=\"row\"><span class=\"id\">", claim.id, "</span> ", claim.text);
    put!(out, "<span class=\"verdict\">", claim.study);
    if let Some(own) = say::own(claim) {
        put!(out, "; by its own figures: ", own);
    }
    put!(out, "</span></th>");
}

fn decided(out: &mut Markup, claim: &JudgedClaim, views: &[&View]) {
    claimed(out, claim);
    put!(out, "<td class=\"words\">", badge(claim.outcome));
    if claim.is_partial() {
        put!(out, "<span class=\"verdict\">as far as measured</span>");
    }
    let is_it = |view: &&&View| view.run().id.as_str() == claim.run;
    if let Some(view) = views.iter().find(is_it).filter(|_| views.len() > 1 && claim.is_by_figures()) {
        let (run, suite) = (view.run().id.as_str(), view.run().plan.suite.as_str());
        put!(out, "<span class=\"verdict\">by <a href=\"#", view.id("top"), "\">run ", run, "</a>, ", suite, "</span>");
    }
    put!(out, "</td><td class=\"long\">", say::sentence(claim));
    let lacks = Some(say::lacks(claim).join(" ")).filter(|text| !text.is_empty());
    for text in [claim.note.clone(), say::stretched(claim), lacks].into_iter().flatten() {
        put!(out, "<span class=\"verdict\">", text, "</span>");
    }
    for command in &claim.commands {
        put!(out, "<span class=\"verdict\"><code>", command, "</code></span>");
    }
    put!(out, "</td></tr>\n");
}
