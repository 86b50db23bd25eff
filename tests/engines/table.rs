//! The table of results: what was the same, both rates, their ratio, the verdict.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mountmark_model::format_count;

use super::judge::{Kind, TOLERANCE, Verdict};
use super::pairs::Check;

/// The lines above the table.
pub struct Head<'a> {
    pub check: &'a Check,
    pub filesystem: &'a str,
    pub disk: &'a str,
    pub scale: &'a str,
    pub parameters: &'a BTreeMap<String, u64>,
}

/// The table and an empty line. Reasons are below it, by number.
pub fn text(head: &Head<'_>, verdicts: &[Verdict]) -> String {
    let filled = |text: &str| {
        // The longest name first: one may be a prefix of another.
        let mut names: Vec<_> = head.parameters.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${name}"), &format_count(*value as f64))
        })
    };
    let mut reasons: Vec<String> = Vec::new();
    let mut rows = vec![["phase", "matched", "engine", "program", "", "ratio", "verdict"].map(str::to_owned)];
    for verdict in verdicts {
        let (native, real) = verdict.rates.map_or_else(Default::default, |(a, b)| (format_count(a), format_count(b)));
        let word = match &verdict.kind {
            Kind::Agrees => format!("within {:.0} %", TOLERANCE * 100.0),
            Kind::Differs => "DIFFERS, no known reason".to_owned(),
            Kind::Explained(reason) => format!("differs rightly {}", note(&mut reasons, reason)),
            Kind::OwnWork { more, ratio } => {
                let reason = format!(
                    "the program's own work takes {more:.0} ns an operation more than the engine's, as measured without \
                     system calls; the ratio without it is the second one"
                );
                format!("own work: {ratio:.3} without {}", note(&mut reasons, &reason))
            }
            Kind::Unmeasured(reason) => format!("not measured {}", note(&mut reasons, reason)),
            Kind::Failed(reason) => format!("FAILED {}", note(&mut reasons, reason)),
        };
        let ratio = verdict.ratio().map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        let unit = if verdict.rates.is_some() { verdict.unit.clone() } else { String::new() };
        rows.push([verdict.phase.clone(), filled(&verdict.matched), native, real, unit, ratio, word]);
    }
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let Head { check, filesystem, disk, scale, .. } = head;
    let mut out =
        format!("{} on {filesystem}, disk {disk}, scale {scale}\n  {}\n", check.title, filled(&check.matched));
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            2 | 3 | 5 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        let _ = writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    for (index, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "  [{}] {reason}", index + 1);
    }
    out + "\n"
}

/// The mark of a reason; equal reasons share one.
fn note(reasons: &mut Vec<String>, reason: &str) -> String {
    let at = reasons.iter().position(|known| known == reason).unwrap_or_else(|| {
        reasons.push(reason.to_owned());
        reasons.len() - 1
    });
    format!("[{}]", at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::pairs;
    use super::*;

    #[test]
    fn rows_have_both_rates_and_reasons_are_told_once() {
        let check = pairs::of(pairs::PROGRAMS[0].1);
        let verdict = |phase: &str, rates, kind| Verdict {
            phase: phase.into(),
            matched: "$SEEKS places".into(),
            unit: "KiB/s".into(),
            rates,
            kind,
        };
        let verdicts = [
            verdict("a", Some((1_234_567.0, 1_200_000.0)), Kind::Agrees),
            verdict("b", Some((3.0, 2.0)), Kind::Explained("because".into())),
            verdict("c", Some((3.0, 2.0)), Kind::Explained("because".into())),
            verdict("d", None, Kind::Unmeasured("too fast".into())),
            verdict("e", Some((3.0, 2.0)), Kind::OwnWork { more: 500.0, ratio: 1.04 }),
        ];
        let parameters = BTreeMap::from([("SEEKS".to_owned(), 8000), ("FILE_MIB".to_owned(), 64)]);
        let head = Head { check: &check, filesystem: "ext4", disk: "ram", scale: "1", parameters: &parameters };
        let text = text(&head, &verdicts);
        assert!(text.starts_with("Bonnie++ on ext4, disk ram, scale 1\n  one file of 64 MiB"), "{text}");
        assert!(text.contains("8,000 places  1,234,567  1,200,000  KiB/s  1.029  within 10 %\n"), "{text}");
        assert_eq!(text.matches("differs rightly [1]").count(), 2, "{text}");
        assert_eq!(text.matches("[1] because").count(), 1, "{text}");
        assert!(
            text.contains("1.500  own work: 1.040 without [3]")
                && text.contains("[3] the program's own work takes 500 ns")
        );
        assert!(text.contains("not measured [2]") && text.contains("[2] too fast"), "{text}");
    }
}
