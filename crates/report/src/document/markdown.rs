//! What was found, as Markdown for web pages, wikis and articles.

use anyhow::Result;
use mountmark_analyse::claim::{ClaimOutcome, JudgedClaim};
use mountmark_analyse::study::StudyComparison;
use mountmark_analyse::{MetricFindings, Rank, TaskFindings};
use mountmark_model::Metric;

use super::{Document, Report};
use crate::claims::is_partial;
use crate::command::again;
use crate::header::header;
use crate::html::view::{View, best, counted, label, quantity, ratio_text, shown};
use crate::html::{best_means, title};
use crate::markdown::escape;

pub(crate) struct Markdown;

/// The first line of every file.
const MARK: &str = "<!-- mountmark report -->\n";

impl Document for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn about(&self) -> &'static str {
        "conclusions, tables and verdicts as Markdown"
    }

    fn render(&self, reports: &[Report]) -> Result<String> {
        let mut out = String::from(MARK);
        for report in reports {
            run(&mut out, &View::new(report, 0, 1));
        }
        Ok(out)
    }

    fn is_ours(&self, start: &str) -> bool {
        start.starts_with(MARK)
    }
}

fn run(out: &mut String, view: &View) {
    let findings = view.findings();
    *out += &format!("\n# {}: {}\n\n", escape(&view.run().plan.suite), escape(&title(view)));
    sentences(out, &findings.conclusions);
    for (label, text) in header(view.run()) {
        let label = if label.is_empty() { "corpus" } else { label };
        *out += &format!("- {label}: {}\n", escape(&text));
    }
    section(out, "How far this goes", &findings.remarks);
    matrix(out, view);
    rankings(out, view);
    verdicts(out, view);
    section(out, "Failed and skipped", &findings.missing);
    doubts(out, view);
    if let Some(compared) = view.report.study {
        study(out, compared);
    }
    if let Some(judged) = view.report.claims {
        claims(out, judged);
    }
    *out += &format!("\n## To make it again\n\n{}\n", fenced(&again(view.run())));
}

/// A block of code, in a fence that the text cannot end.
fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{text}\n{fence}")
}

fn section(out: &mut String, heading: &str, texts: &[String]) {
    if !texts.is_empty() {
        *out += &format!("\n## {heading}\n\n");
        sentences(out, texts);
    }
}

fn sentences(out: &mut String, texts: &[String]) {
    for text in texts {
        *out += &format!("- {}\n", line(text));
    }
    if !texts.is_empty() {
        out.push('\n');
    }
}

/// Text in one line that Markdown leaves as it is.
fn line(text: &str) -> String {
    escape(&crate::text::clean(text))
}

/// One row of a table.
fn row(out: &mut String, cells: impl Iterator<Item = String>) {
    *out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
}

fn head(out: &mut String, first: &str, others: impl Iterator<Item = String>) {
    let cells: Vec<String> = std::iter::once(first.to_owned()).chain(others).collect();
    let rule = (0..cells.len()).map(|index| if index == 0 { "---".to_owned() } else { "---:".to_owned() });
    row(out, cells.iter().cloned());
    row(out, rule);
}

fn matrix(out: &mut String, view: &View) {
    let all = view.findings().tasks.iter().map(|task| (task, shown(task, view.main())));
    let rows: Vec<(&TaskFindings, Option<&MetricFindings>)> =
        all.filter(|(task, found)| found.is_some() || (!task.step && task.metrics.is_empty())).collect();
    if rows.iter().all(|(_, found)| found.is_none()) {
        return;
    }
    let main = view.main();
    *out += &format!("\n## Tests and file systems\n\n{}, medians over {}. ", main.title, repeats(view));
    *out += &format!("Bold: the best {} {}\n\n", best_means(view), escape(main.about));
    let unit = format!("{} ({})", main.title, main.unit_text());
    head(out, &unit, view.findings().configurations.iter().map(|name| line(name)));
    for (task, found) in rows {
        let mut label = line(&label(task));
        if let Some(found) = found.filter(|found| found.metric.id != main.id) {
            label += &format!(" ({}, {})", found.metric.title, found.metric.unit_text());
        }
        let best = found.map(best).unwrap_or_default();
        let cells = (0..view.findings().configurations.len()).map(|configuration| {
            let estimate = found.and_then(|found| Some((found, found.estimates.get(configuration)?.as_ref()?)));
            let Some((found, estimate)) = estimate else { return view.absent(configuration, &task.id).to_owned() };
            let text = found.metric.format(estimate.summary.median);
            if best.contains(&configuration) { format!("**{text}**") } else { text }
        });
        row(out, std::iter::once(label).chain(cells));
    }
}

fn repeats(view: &View) -> String {
    counted(view.findings().repeats as usize, "repeat", "repeats")
}

fn rankings(out: &mut String, view: &View) {
    let findings = view.findings();
    let overall = ("all tests".to_owned(), &findings.overall.ranking);
    let categories = findings
        .categories
        .iter()
        .map(|category| (format!("{} ({})", category.name, category.basis), &category.ranking));
    let rankings: Vec<(String, &Vec<Rank>)> =
        std::iter::once(overall).chain(categories).filter(|(_, ranking)| !ranking.is_empty()).collect();
    if rankings.is_empty() || findings.configurations.len() < 2 {
        return;
    }
    *out += "\n## Rankings\n\nBest first, with the geometric mean of the ratios to the best of each test; 1 is best everywhere.\n\n";
    for (name, ranking) in rankings {
        let places =
            ranking.iter().map(|rank| format!("{} {}", line(view.name(rank.configuration)), ratio_text(rank.score)));
        *out += &format!("- {}: {}\n", line(&name), places.collect::<Vec<_>>().join(", "));
    }
}

fn verdicts(out: &mut String, view: &View) {
    let verdict = |task: &TaskFindings| {
        let verdict = task.judged()?.verdict.as_ref()?;
        Some(line(&format!("{}: {}", label(task), verdict.sentence)))
    };
    let verdicts: Vec<String> = view.findings().tasks.iter().filter_map(verdict).collect();
    if !verdicts.is_empty() {
        *out += "\n## Verdicts\n\n";
        for sentence in verdicts {
            *out += &format!("- {sentence}\n");
        }
    }
}

fn doubts(out: &mut String, view: &View) {
    let doubts = view.findings().doubts.iter().map(|doubt| {
        let text = |value| Metric::find(&doubt.metric).map_or(format!("{value}"), |metric| quantity(metric, value));
        let again = if doubt.again { "; its cell was run again" } else { "" };
        format!(
            "{}, {}, repeat {}: {} is {} where the others have {}{again}",
            view.name(doubt.configuration),
            doubt.task,
            doubt.repeat + 1,
            doubt.metric,
            text(doubt.value),
            text(doubt.others)
        )
    });
    section(out, "Doubtful samples", &doubts.collect::<Vec<_>>());
}

fn claims(out: &mut String, judged: &[JudgedClaim]) {
    *out += "\n## Claims of published studies\n\n";
    for outcome in ClaimOutcome::ALL {
        let count = judged.iter().filter(|claim| claim.outcome == outcome).count();
        if count > 0 {
            *out += &format!("- {}: {count}\n", outcome.words());
        }
    }
    *out += "\n| claim | this run | why |\n| --- | --- | --- |\n";
    for claim in judged {
        let text = format!("{} {}", claim.id, claim.text);
        let (far, lacking) =
            if is_partial(claim) { (", as far as measured", claim.missing.join(" ")) } else { ("", String::new()) };
        let why = format!("{} {lacking}", claim.sentence);
        row(out, [line(&text), format!("{}{far}", claim.outcome.words()), line(&why)].into_iter());
    }
}

/// The summary alone: `mountmark compare --study --format markdown` has every test.
fn study(out: &mut String, compared: &StudyComparison) {
    *out +=
        &format!("\n## Beside published figures\n\n{}, run {}.\n\n", line(&compared.source), line(&compared.study_run));
    sentences(out, &compared.warnings);
    let heads =
        compared.common.iter().map(|name| line(name)).chain(["mean tau".to_owned(), "pairs in order".to_owned()]);
    head(out, "ratio to the group, published → this run", heads);
    for all in &compared.overall {
        let text = |value: &Option<f64>| value.map_or("–".to_owned(), ratio_text);
        let scores = all.published_score.iter().zip(&all.measured_score);
        let scores = scores.map(|(published, measured)| format!("{} → {}", text(published), text(measured)));
        let tau = all.mean_tau.map_or("–".to_owned(), |tau| format!("{tau:.2}"));
        let pairs = format!("{} of {}", all.same, all.same + all.reversed + all.tied);
        row(out, std::iter::once(line(&all.metric)).chain(scores).chain([tau, pairs]));
    }
}
