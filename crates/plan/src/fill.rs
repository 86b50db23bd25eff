//! `--fill`: a share of the file system that is taken before the tasks.

use mountmark_model::{CorpusKind, CorpusSource, Fill, RealisedCorpus};

use crate::{PlanError, Result};

/// The percents of `--fill`: `80%` or `80`.
///
/// # Errors
/// No whole number, or more than [`Fill::MOST`].
pub fn fill_percent(text: &str) -> Result<u32> {
    let refused = |reason: String| PlanError::Options(format!("--fill {text}: {reason}"));
    let digits = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: u32 = digits.parse().map_err(|_| refused("give a whole number of percent, such as 80%".into()))?;
    match percent > Fill::MOST {
        true => Err(refused(format!("tasks need room of their own: at most {}% can be taken before", Fill::MOST))),
        false => Ok(percent),
    }
}

/// The fill of a cell, with data of its corpus' kind.
pub(crate) fn of(percent: u32, source: Option<&CorpusSource>, facts: Option<&RealisedCorpus>) -> Fill {
    let is_text = |corpus: &CorpusSource| match corpus {
        CorpusSource::Catalogue(corpus) => matches!(&corpus.kind, CorpusKind::Tree(tree) if tree.text),
        CorpusSource::Path(_) | CorpusSource::Bring(_) => false,
    };
    // Without files all suites and repeats have one.
    if percent == 0 {
        return Fill::with_sizes(0, [Fill::LEAST_MEAN; 3], false);
    }
    let sizes = match facts.filter(|corpus| corpus.files > 0) {
        Some(corpus) => [corpus.size_median, corpus.size_mean, corpus.size_max],
        None => [Fill::USUAL[0], Fill::USUAL[1], Fill::USUAL_MAX],
    };
    Fill::with_sizes(percent, sizes, source.is_some_and(is_text))
}

/// The size on which `bytes` fit beside the fill.
pub(crate) fn beside(bytes: u64, percent: u32) -> u64 {
    let left = u64::from(100 - percent.min(Fill::MOST));
    bytes.saturating_mul(100) / left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_are_whole_and_leave_room() {
        let said = |text: &str| fill_percent(text).unwrap_err().to_string();
        assert_eq!(
            (fill_percent("80%").unwrap(), fill_percent("0").unwrap(), fill_percent("99%").unwrap()),
            (80, 0, 99)
        );
        for text in ["", "%", "x", "-1", "8.5%", "80%%", "0x10"] {
            assert!(said(text).contains("a whole number of percent"), "{text}");
        }
        assert!(said("100%").contains("at most 99%") && said("101").contains("at most 99%"));
    }

    #[test]
    fn tasks_have_their_room_beside_the_fill() {
        assert_eq!((beside(100, 0), beside(100, 50), beside(100, 80)), (100, 200, 500));
        let corpus =
            RealisedCorpus { files: 3, size_median: 70_000, size_mean: 80_000, size_max: 90_000, ..Default::default() };
        assert_eq!(of(50, None, Some(&corpus)).size_max.0, 90_000);
        assert_eq!(of(0, None, Some(&corpus)), of(0, None, None));
        assert_eq!(of(50, None, None).size_max.0, Fill::USUAL_MAX);
    }
}
