//! Verdicts on the claims of published studies.

use mountmark_analyse::claim::{ClaimOutcome, JudgedClaim};

use crate::markup::{Markup, put};
use crate::view::View;
use crate::words;
use crate::words::number::counted;
use crate::words::section::Section;

/// The section, if claims were judged.
pub(super) fn claims(view: &View) -> Markup {
    let mut out = Markup::new();
    let Some(claims) = view.report.claims else { return out };
    view.heading(&mut out, &Section::CLAIMS);
    put!(out, "<p>Judged by this run: ", words::claims::judge(view.report.run), ".</p>\n<p class=\"key\">");
    for (outcome, count) in ClaimOutcome::counts(claims) {
        put!(out, badge(outcome), count, " ");
    }
    put!(out, "</p>\n");
    let (judged, rest): (Vec<&JudgedClaim>, Vec<&JudgedClaim>) = claims.iter().partition(|claim| claim.is_measured());
    if judged.is_empty() {
        put!(out, "<p>This run has no figures for any of them.</p>\n");
    } else {
        table(&mut out, view, &judged, "judged", "Claims that this run's figures decide");
    }
    if !rest.is_empty() {
        put!(
            out,
            "<details><summary>",
            counted(rest.len(), "claim", "claims"),
            " that this run does not decide, and what would</summary>\n"
        );
        table(&mut out, view, &rest, "open", "Claims that this run's figures do not decide");
        put!(out, "</details>\n");
    }
    out
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
        words::claims::outcome(outcome),
        "</span> "
    );
    out
}

fn table(out: &mut Markup, view: &View, claims: &[&JudgedClaim], name: &str, text: &str) {
    let caption = view.id(&format!("claims-{name}-caption"));
    put!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"",
        caption,
        "\">\n<table class=\"plain claims\">\n"
    );
    put!(out, "<caption id=\"", caption, "\">", text, "</caption>\n<thead><tr><th scope=\"col\">claim</th>");
    put!(
        out,
        "<th scope=\"col\" class=\"words\">this run</th><th scope=\"col\" class=\"words\">why</th></tr></thead>\n<tbody>\n"
    );
    for claim in claims {
        put!(
            out,
            "<tr><th scope=\"row\"><span class=\"id\">",
            claim.id,
            "</span> ",
            claim.text,
            "<span class=\"verdict\">"
        );
        put!(out, claim.study);
        if let Some(own) = words::claims::own(claim) {
            put!(out, "; by its own figures: ", own);
        }
        put!(out, "</span></th><td class=\"words\">", badge(claim.outcome));
        if claim.is_partial() {
            put!(out, "<span class=\"verdict\">as far as measured</span>");
        }
        put!(out, "</td><td class=\"long\">", words::claims::sentence(claim));
        if let Some(note) = &claim.note {
            put!(out, "<span class=\"verdict\">", note, "</span>");
        }
        if let Some(text) = words::claims::stretched(claim) {
            put!(out, "<span class=\"verdict\">", text, "</span>");
        }
        if !claim.missing.is_empty() {
            put!(out, "<span class=\"verdict\">", words::claims::lacks(claim).join(" "), "</span>");
        }
        for command in &claim.commands {
            put!(out, "<span class=\"verdict\"><code>", command, "</code></span>");
        }
        put!(out, "</td></tr>\n");
    }
    put!(out, "</tbody>\n</table>\n</div>\n");
}
