//! Rankings by category, with the certainty of each place.

pub(crate) mod composite;

use mountmark_document::draw::plot;
use mountmark_document::forms::Block;
use mountmark_document::markup::Markup;
use mountmark_document::number::{range, ratio, share};
use mountmark_document::put;

use crate::figures::find::TaskFindings;
use crate::figures::say as metric;
use crate::overview::find::Conclusion;
use crate::overview::say as conclusions;
use crate::rankings;
use crate::rankings::find::rank::Rank;
use crate::robustness::say as robustness;
use crate::safety::say as safety;
use crate::view::View;

/// The section, if anything is ranked.
pub(crate) fn section(view: &View) -> Vec<Block> {
    let findings = view.findings();
    if findings.configurations.len() < 2 || findings.categories.iter().all(|category| category.ranking.is_empty()) {
        return Vec::new();
    }
    vec![Block::Drawn(rankings(view), rankings::show::tables(findings))]
}

fn rankings(view: &View) -> Markup {
    let mut out = Markup::new();
    let findings = view.findings();
    put!(
        out,
        "<p class=\"legend\">Score: geometric mean of a file system's ratios to the best of each test; 1 is the best everywhere, 2 is half as good."
    );
    let all = findings.categories.iter().flat_map(|category| &category.ranking);
    let firm = all.chain(&findings.overall.ranking).any(|rank| rank.stability.is_some());
    if firm {
        put!(out, " Firm: how often the place stays the same when repeats are resampled.");
    }
    put!(out, "</p>\n<div class=\"cards\">\n");
    if findings.overall.ranking.len() > 1 {
        put!(out, "<figure class=\"card\">\n<figcaption><strong>overall</strong> <span class=\"basis\">by ");
        put!(out, metric::basis(findings.overall.basis), "</span></figcaption>\n");
        table(&mut out, view, &findings.overall.ranking, |_| true);
        not_ranked(&mut out, view, &findings.overall.ranking);
        put!(out, "</figure>\n");
    }
    let concluded = |at| findings.conclusions.contains(&Conclusion::Category(at));
    for (at, found) in findings.categories.iter().enumerate().filter(|(_, found)| found.ranking.len() > 1) {
        put!(
            out,
            "<figure class=\"card\">\n<figcaption><strong>",
            metric::category(&found.category),
            "</strong> <span class=\"basis\">by "
        );
        put!(out, metric::basis(found.basis), "</span>");
        // Do not repeat conclusions from above.
        if !concluded(at) {
            put!(out, "<span class=\"verdict\">", conclusions::category(findings, found), "</span>");
        }
        put!(out, "</figcaption>\n");
        table(&mut out, view, &found.ranking, |task| task.category == found.category);
        if concluded(at) {
            not_ranked(&mut out, view, &found.ranking);
        }
        put!(out, "</figure>\n");
    }
    put!(out, "</div>\n");
    for said in rankings::show::without_order(findings) {
        put!(out, "<p>", said, "</p>\n");
    }
    out
}

fn not_ranked(out: &mut Markup, view: &View, ranking: &[Rank]) {
    if let Some(Block::Text(said)) = rankings::show::not_ranked(view.findings(), ranking) {
        put!(out, "<p class=\"legend\">", said, "</p>\n");
    }
}

fn table(out: &mut Markup, view: &View, ranking: &[Rank], is_meant: impl Fn(&TaskFindings) -> bool) {
    let has_interval = ranking.iter().any(|rank| rank.interval.is_some());
    let has_stability = ranking.iter().any(|rank| rank.stability.is_some());
    let mut heads = vec![plot::head("place"), ("words", plot::head("file system").1), plot::head("score")];
    heads.extend(has_interval.then(|| plot::head("95 % interval")));
    heads.extend(has_stability.then(|| plot::head("firm")));
    plot::begin_chart(out, "ranking", heads);
    let mut place = 0;
    for (position, rank) in ranking.iter().enumerate() {
        // Equal scores share a place.
        if position == 0 || ratio(ranking[position - 1].score) != ratio(rank.score) {
            place = position + 1;
        }
        put!(out, "<tr><td class=\"place\">", place, "</td><th scope=\"row\" class=\"words\">");
        out.name(&safety::named(view.findings(), rank.configuration, &is_meant));
        put!(out, "</th><td>", ratio(rank.score), "</td>");
        if has_interval {
            let text = rank.interval.map(range);
            put!(out, "<td>", text.unwrap_or("-".into()), "</td>");
        }
        if has_stability {
            let text = rank.stability.map(share);
            put!(out, "<td>", text.unwrap_or("-".into()), "</td>");
        }
        put!(out, "</tr>\n");
    }
    put!(out, "</tbody>\n</table>\n");
    if let Some(said) = robustness::ranking(view.findings(), &is_meant) {
        put!(out, "<p class=\"legend\">", said, "</p>\n");
    }
}
