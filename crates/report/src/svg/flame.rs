//! Flame graphs, drawn by a library for them. This file does not know what the stacks are about.

use anyhow::{Context, Result};
use inferno::flamegraph::{self, Options};

use crate::markup::Markup;

/// Frames of less than this share of the whole are left out, in percent.
const LEAST: f64 = 0.05;

/// Draws lines of frames and nanoseconds; with two times a line, the second one and how it differs from the first.
pub(crate) fn graph(lines: &[String], title: &str) -> Result<Markup> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "ns".into();
    options.deterministic = true;
    options.min_width = LEAST;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
        .context("there is nothing to draw")?;
    Ok(Markup::drawn(String::from_utf8(picture).context("a flame graph in letters of no alphabet")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        let lines = ["cp;<script>alert(1)</script>;b 10 30", "cp;c 20 5"].map(str::to_owned);
        let picture = graph(&lines, "what <b>went</b>").unwrap().into_string();
        assert!(picture.contains("<svg") && picture.contains("cp"), "{picture}");
        assert!(!picture.contains("<script>alert") && !picture.contains("<b>went"), "{picture}");
        assert!(graph(&[], "nothing").is_err());
    }
}
