//! Flame graphs, drawn by a library for them. This file does not know what the stacks are about.

use anyhow::{Context, Result};
use base64::prelude::*;
use inferno::flamegraph;
use inferno::flamegraph::Options;

use crate::markup::Markup;

/// Frames of less than this share of the whole are left out, in percent.
const LEAST: f64 = 0.05;

/// A flame graph, in a file of its own: it has a script to zoom and search, and needs no network.
pub struct Flames {
    pub picture: Markup,
    /// In pixels.
    pub height: u32,
}

impl Flames {
    /// As the address of a frame in a page, in which its names and scripts reach nothing else.
    pub fn address(self) -> String {
        format!("data:image/svg+xml;base64,{}", BASE64_STANDARD.encode(self.picture.into_string()))
    }
}

/// Draws lines of frames and nanoseconds; with two times a line, the second one and how it differs from the first.
pub fn graph(lines: &[String], title: &str) -> Result<Flames> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "ns".into();
    options.deterministic = true;
    options.min_width = LEAST;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
        .context("there is nothing to draw")?;
    let picture = String::from_utf8(picture).context("a flame graph in letters of no alphabet")?;
    let height = picture.split("height=\"").nth(1).and_then(|text| text.split('"').next()?.parse().ok());
    Ok(Flames { picture: Markup::drawn(picture), height: height.context("a flame graph without a height")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        let lines = ["cp;<script>alert(1)</script>;b 10 30", "cp;c 20 5"].map(str::to_owned);
        let found = graph(&lines, "what <b>went</b>").unwrap();
        assert!((50..500).contains(&found.height), "{}", found.height);
        let picture = found.picture.into_string();
        assert!(picture.contains("<svg") && picture.contains("cp"), "{picture}");
        assert!(!picture.contains("<script>alert") && !picture.contains("<b>went"), "{picture}");
        assert!(graph(&[], "nothing").is_err());
    }
}
