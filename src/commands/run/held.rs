//! `--fill` and `--age`: what the file system holds before the tasks, and several of it as the levels of a factor.

use anyhow::{Result, bail};
use mountmark_corpus::{AskedHistory, WrongHistory};
use mountmark_model::{Age, AgeingProfile};
use mountmark_plan::{Catalogue, CrossedFactor, CrossedLevel, SideChange, fill_percent, plain};

use crate::common::WrongUse;

/// The percents of the first value, and a factor if there are several.
pub fn fill(text: Option<&str>) -> Result<(Option<u32>, Option<CrossedFactor>)> {
    let Some(text) = text else { return Ok((None, None)) };
    let level = |text: &str| {
        let percent = fill_percent(text)?;
        let label = format!("fill-{}", plain(text));
        Ok((percent, CrossedLevel { text: text.to_owned(), label, change: SideChange::Fill(percent) }))
    };
    let levels = text.split(',').map(str::trim).map(level).collect::<Result<Vec<_>>>()?;
    let first = levels.first().map(|(percent, _)| *percent);
    let levels: Vec<CrossedLevel> = levels.into_iter().map(|(_, level)| level).collect();
    let factor = (levels.len() > 1).then(|| CrossedFactor { option: "fill", name: "fill".into(), levels });
    Ok((first, factor))
}

/// The level of a file system that is new.
const NONE: &str = "none";

/// The first history, and a factor if there are several. They are made in the cache, or only counted.
pub fn age(
    text: Option<&str>,
    seed: u64,
    catalogue: &Catalogue,
    is_kept: bool,
) -> Result<(Option<Age>, Option<CrossedFactor>)> {
    let Some(text) = text else { return Ok((None, None)) };
    let cache = mountmark_lab::cache::default_folder().join("corpora");
    let cache = is_kept.then_some(cache.as_path());
    let profile = |name: &str| catalogue.get::<AgeingProfile>(name).cloned().map_err(|error| error.to_string());
    let made = |text: &str| {
        let asked = AskedHistory::parse(text, &profile).map_err(|error| WrongUse(error.to_string()))?;
        match asked.make(seed, cache) {
            Err(error) if error.downcast_ref::<WrongHistory>().is_some() => bail!(WrongUse(format!("{error:#}"))),
            Err(error) => Err(error),
            Ok((age, told)) => {
                if let Some(told) = told.filter(|_| !age.copy) {
                    say!("mountmark: {told}");
                }
                Ok(age)
            }
        }
    };
    let mut levels: Vec<CrossedLevel> = Vec::new();
    for text in histories(text) {
        let age = if text == NONE { None } else { Some(made(&text)?) };
        let is_same = |known: &&CrossedLevel| match (&known.change, &age) {
            (SideChange::Age(Some(known)), Some(age)) => (&known.sha256, known.copy) == (&age.sha256, age.copy),
            (SideChange::Age(known), age) => known == age,
            _ => false,
        };
        if let Some(known) = levels.iter().filter(|known| known.text != text).find(is_same) {
            bail!(WrongUse(format!("--age: {} and {text} are one history; name others", known.text)));
        }
        let label = format!("age-{}", plain(text.rsplit('/').next().unwrap_or(&text)));
        let label = if text.starts_with("copy:") && !label.contains("copy") { format!("copy-{label}") } else { label };
        levels.push(CrossedLevel { text, label, change: SideChange::Age(age) });
    }
    let first = match levels.first().map(|level| &level.change) {
        Some(SideChange::Age(age)) => age.clone(),
        _ => None,
    };
    let factor = (levels.len() > 1).then(|| CrossedFactor { option: "age", name: "age".into(), levels });
    Ok((first, factor))
}

/// The histories of a list with commas, some of which have commas of their own.
fn histories(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        match out.last_mut().filter(|_| {
            part != NONE && !["seed:", "git:", "geriatrix:", "copy:"].iter().any(|kind| part.starts_with(kind))
        }) {
            Some(last) => *last = format!("{last},{part}"),
            None => out.push(part.to_owned()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_a_history_stay() {
        assert_eq!(histories("none,copy:seed:5, seed:5"), ["none", "copy:seed:5", "seed:5"]);
        assert_eq!(histories("git:/a,b,commits=3,seed:1"), ["git:/a,b,commits=3", "seed:1"]);
        assert_eq!(
            histories("geriatrix:a,overwrites=3,size=1GiB,copy:geriatrix:a,overwrites=3"),
            ["geriatrix:a,overwrites=3,size=1GiB", "copy:geriatrix:a,overwrites=3"]
        );
        assert_eq!(histories("what"), ["what"]);
    }
}
