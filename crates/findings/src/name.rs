//! Looks up names from the user, with similar names on failure.

use mountmark_model::Metric;
use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} {name:?}{}; there are: {}", near_text(near), all.join(", "))]
pub struct UnknownName {
    /// Kind of name: `metric` or `format`.
    pub kind: &'static str,
    /// As given.
    pub name: String,
    /// Similar names, the nearest first.
    pub near: Vec<&'static str>,
    pub all: Vec<&'static str>,
}

fn near_text(near: &[&str]) -> String {
    if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(" or ")) }
}

/// Finds a metric by id, or by title if unambiguous, since reports show titles.
pub fn find_metric(name: &str) -> Result<&'static Metric, UnknownName> {
    let mut titled = Metric::ALL.iter().filter(|metric| metric.title.eq_ignore_ascii_case(name));
    let by_title = titled.next().filter(|_| titled.next().is_none());
    Metric::find(name)
        .or(by_title)
        .ok_or_else(|| unknown("metric", name, Metric::ALL.iter().map(|metric| metric.id).collect()))
}

pub(crate) fn unknown(kind: &'static str, name: &str, all: Vec<&'static str>) -> UnknownName {
    // No name is as long as this, and comparing takes time proportional to both lengths.
    let lower = if name.len() > 200 { String::new() } else { name.to_lowercase() };
    let mut scored: Vec<(f64, &'static str)> = all
        .iter()
        .map(|known| (strsim::jaro_winkler(&lower, known), *known))
        .filter(|(score, _)| *score >= 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = scored.into_iter().take(3).map(|(_, known)| known).collect();
    UnknownName { kind, name: name.to_owned(), near, all }
}
