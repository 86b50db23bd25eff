//! Numbers that any command prints, found by a pattern of the user's.

use std::collections::BTreeMap;

use mountmark_model::{Metric, PrintedFigure};
use regex_lite::Regex;

use super::{Printed, number, shorten};

/// Matches that a message repeats.
const SHOWN: usize = 3;

/// The number that `wanted` finds in an output, by metric.
///
/// # Errors
/// A sentence, if the pattern does not match once, or what it matches is no number.
pub fn figure(wanted: &PrintedFigure, printed: Printed<'_>) -> Result<BTreeMap<String, f64>, String> {
    let metric = if wanted.less { Metric::FIGURE_LESS } else { Metric::FIGURE };
    Ok(BTreeMap::from([(metric.id.to_owned(), found(&wanted.pattern, printed)?)]))
}

fn found(pattern: &str, printed: Printed<'_>) -> Result<f64, String> {
    let expression = Regex::new(pattern).map_err(|error| format!("{pattern:?} is no regular expression: {error}"))?;
    let texts = [printed.stdout, printed.stderr].into_iter();
    let group = |found: regex_lite::Captures<'_>| {
        found.get(1).or(found.get(0)).map(|group| group.as_str().to_owned()).unwrap_or_default()
    };
    let all: Vec<String> =
        texts.flat_map(|text| expression.captures_iter(text).map(group).collect::<Vec<_>>()).collect();
    match &all[..] {
        [one] => number(one.trim())
            .ok_or_else(|| format!("what {pattern:?} matches, {:?}, is no number such as 12 or 3.4", shorten(one))),
        [] => Err(format!("nothing that was printed matches {pattern:?}")),
        many => {
            let first: Vec<String> = many.iter().take(SHOWN).map(|text| format!("{:?}", shorten(text))).collect();
            let more = if many.len() > SHOWN { ", ..." } else { "" };
            Err(format!("{pattern:?} matches {} times ({}{more}); let it match once", many.len(), first.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str, stdout: &str) -> Result<f64, String> {
        found(pattern, Printed { stdout, stderr: "took 1.5 ms\n" })
    }

    #[test]
    fn a_pattern_finds_one_number() {
        let text = "tps = 85.2 (without initial connection time)\nlatency average = 11.7 ms\n";
        assert_eq!(of("tps = ([0-9.]+)", text), Ok(85.2));
        assert_eq!(
            of("[0-9]+ \\(without", "x"),
            Err("nothing that was printed matches \"[0-9]+ \\\\(without\"".into())
        );
        assert_eq!(of("took ([0-9.]+)", text), Ok(1.5));
        assert!(
            of("([0-9.]+)", text)
                .unwrap_err()
                .contains("matches 3 times (\"85.2\", \"11.7\", \"1.5\"); let it match once")
        );
        assert!(of("average = (.*)", text).unwrap_err().contains("\"11.7 ms\", is no number"));
        assert!(of("(", text).unwrap_err().contains("no regular expression"));
        assert!(of("tps = (-?[0-9]+)", "tps = -5").unwrap_err().contains("is no number"));
    }
}
