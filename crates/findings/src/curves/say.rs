//! Sentences about curves over a varied parameter.

use mountmark_document::number::{counted, ratio};

use crate::curves::find::{Cliff, Curve, Curves, Unsearched, WhyUnsearched};
use crate::figures::say::quantity::quantity;
use crate::found::Findings;
use crate::missing::say::named;

/// What stands above the curves of a report.
pub(crate) fn over(curves: &Curves) -> String {
    format!(
        "Over {}: medians of the repeats. A cliff, which a band marks where curves are drawn, is a step far above the \
         trend of its curve.",
        curves.parameter
    )
}

/// "ram from 512MiB to 2GiB, 8 points".
pub(crate) fn varied(parameter: &str, points: &[mountmark_model::VaryPoint]) -> String {
    let [first, .., last] = points else { return parameter.to_owned() };
    format!("{parameter} from {} to {}, {}", first.text, last.text, counted(points.len(), "point", "points"))
}

/// One sentence for each cliff, or one that there is none; and where none could be found.
pub(crate) fn cliffs(findings: &Findings, curves: &Curves) -> Vec<String> {
    let all = curves.curves.iter().flat_map(|curve| curve.cliffs.iter().map(move |found| (curve, found)));
    let mut out: Vec<String> = all.map(|(curve, found)| cliff(findings, curves, curve, found)).collect();
    let of_suite = || curves.curves.iter().filter(|curve| !curve.step);
    let lines = of_suite().count() * findings.configurations.len();
    let unsearched =
        |why| of_suite().flat_map(|curve| &curve.unsearched).filter(|line: &&Unsearched| line.why == why).count();
    let (few, once) = (unsearched(WhyUnsearched::FewPoints), unsearched(WhyUnsearched::OneRepeat));
    if out.is_empty() && few + once < lines {
        out.push("No step is far above the trend of its curve and the spread of its repeats.".into());
    }
    out.extend(few_points(few, lines, curves.points.len()));
    out.extend(one_repeat(once, lines));
    out
}

fn few_points(few: usize, lines: usize, points: usize) -> Option<String> {
    match few {
        _ if few == lines && points == 2 => {
            Some("Two points have no trend above which a step could be a cliff: give three or more.".into())
        }
        _ if few == lines => Some("Fewer than three points have figures: too few to look for a cliff.".into()),
        0 => None,
        _ => Some(format!(
            "{few} of {lines} curves {} figures at fewer than three points: too few to look for a cliff.",
            have(few)
        )),
    }
}

fn one_repeat(once: usize, lines: usize) -> Option<String> {
    match once {
        0 => None,
        _ if once == lines => {
            Some("One repeat under wall time cannot tell a cliff from noise: more can (--repeat 5).".into())
        }
        _ => Some(format!("{once} of {lines} curves {} one repeat, which cannot tell a cliff from noise.", have(once))),
    }
}

fn have(count: usize) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

/// "ext4, 001 (read): a cliff between ram=512MiB and ram=640MiB, from 12.1 s to 2.30 s, a factor of 5.3."
fn cliff(findings: &Findings, curves: &Curves, curve: &Curve, found: &Cliff) -> String {
    let point = |at: usize| format!("{}={}", curves.parameter, curves.points[at].text);
    let value = |at: usize| quantity(curve.metric, curve.medians[found.configuration][at].unwrap_or_default());
    let times = if found.factor < 1.0 { 1.0 / found.factor } else { found.factor };
    format!(
        "{}, {}: a cliff between {} and {}, from {} to {}, a factor of {}{}.",
        findings.headings[found.configuration],
        named(&curve.task, &curve.title),
        point(found.from),
        point(found.to),
        value(found.from),
        value(found.to),
        ratio(times),
        if findings.measured == 1 { "; one repeat cannot tell it from noise" } else { "" }
    )
}
