//! `--fill`: what the file system holds before the tasks, and several of it as the levels of a factor.

use anyhow::Result;
use mountmark_plan::{CrossedFactor, CrossedLevel, SideChange, fill_percent, plain};

/// The percents of the first value, and a factor if there are several.
pub fn fill(text: Option<&str>) -> Result<(u32, Option<CrossedFactor>)> {
    let Some(text) = text else { return Ok((0, None)) };
    let level = |text: &str| {
        let percent = fill_percent(text)?;
        let label = format!("fill-{}", plain(text));
        Ok((percent, CrossedLevel { text: text.to_owned(), label, change: SideChange::Fill(percent) }))
    };
    let levels = text.split(',').map(str::trim).map(level).collect::<Result<Vec<_>>>()?;
    let first = levels.first().map_or(0, |(percent, _)| *percent);
    let levels: Vec<CrossedLevel> = levels.into_iter().map(|(_, level)| level).collect();
    let factor = (levels.len() > 1).then(|| CrossedFactor { option: "fill", name: "fill".into(), levels });
    Ok((first, factor))
}
