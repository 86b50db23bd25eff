//! Sentences about curves over a varied parameter.

use mountmark_analyse::{Cliff, Curve, Curves, Findings};

use super::missing::named;
use super::number::{counted, quantity, ratio};

/// "ram from 512MiB to 2GiB, 8 points".
pub(crate) fn varied(parameter: &str, points: &[mountmark_model::VaryPoint]) -> String {
    let [first, .., last] = points else { return parameter.to_owned() };
    format!("{parameter} from {} to {}, {}", first.text, last.text, counted(points.len(), "point", "points"))
}

/// One sentence for each cliff; one that there is none.
pub(crate) fn cliffs(findings: &Findings, curves: &Curves) -> Vec<String> {
    let all = curves.curves.iter().flat_map(|curve| curve.cliffs.iter().map(move |found| (curve, found)));
    let mut out: Vec<String> = all.map(|(curve, found)| cliff(findings, curves, curve, found)).collect();
    if out.is_empty() {
        out.push(match curves.points.len() {
            2 => "Two points have no trend above which a step could be a cliff: give three or more.".into(),
            _ => "No step is far above the trend of its curve and the spread of its repeats.".into(),
        });
    }
    out
}

/// "ext4, 001 (read): a cliff between ram=512MiB and ram=640MiB, from 12.1 s to 2.30 s, a factor of 5.3."
fn cliff(findings: &Findings, curves: &Curves, curve: &Curve, found: &Cliff) -> String {
    let point = |at: usize| format!("{}={}", curves.parameter, curves.points[at].text);
    let value = |at: usize| quantity(curve.metric, curve.medians[found.configuration][at].unwrap_or_default());
    let times = if found.factor < 1.0 { 1.0 / found.factor } else { found.factor };
    format!(
        "{}, {}: a cliff between {} and {}, from {} to {}, a factor of {}{}.",
        findings.configurations[found.configuration],
        named(&curve.task, &curve.title),
        point(found.from),
        point(found.to),
        value(found.from),
        value(found.to),
        ratio(times),
        if findings.repeats == 1 { "; one repeat cannot tell it from noise" } else { "" }
    )
}
