//! Two results under one key must be equal to the last bit; where they are not, something that determines figures is unknown.

use anyhow::Result;
use mountmark_model::Event;

use crate::entry::Entry;

/// Two results of one cell that differ: with both hosts, both builds, and the first figure that differs.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(String);

/// # Errors
/// [`Difference`].
pub(crate) fn compare(one: &Entry, other: &Entry) -> Result<()> {
    if one.figures == other.figures {
        return Ok(());
    }
    let side = |entry: &Entry| {
        let environment = &entry.measured.environment;
        let build: String = environment.build.chars().take(12).collect();
        format!("{} (mountmark {}, build {build})", entry.measured.host, environment.mountmark)
    };
    Err(Difference(format!(
        "one cell has two results, from {} and from {}: {}. What determines a figure is the same for both, so one is wrong: \
         damaged, forged, or from a machine that does not compute right. --fresh measures it anew; its key is {}",
        side(one),
        side(other),
        first(one, other),
        one.key.sha256
    ))
    .into())
}

/// The first difference, in words.
fn first(one: &Entry, other: &Entry) -> String {
    let pairs = one.figures.events.iter().zip(&other.figures.events);
    let Some((a, b)) = pairs.into_iter().find(|(a, b)| a != b) else {
        let [one, other] = [one, other].map(|entry| entry.figures.events.len());
        return format!("{one} and {other} events");
    };
    if let (Event::Sample { task, values, .. }, Event::Sample { task: again, values: others, .. }) = (a, b)
        && task == again
        && let Some((metric, value)) = values.iter().find(|(metric, value)| others.get(*metric) != Some(*value))
    {
        let other = others.get(metric).map_or("nothing".into(), f64::to_string);
        return format!("{metric} of {task} is {value} and {other}");
    }
    let task = match (a, b) {
        (Event::Output { task, .. } | Event::Device { task, .. } | Event::Sample { task, .. }, _) => task.as_str(),
        _ => "the cell",
    };
    format!("what was received of {task} differs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::entry;

    #[test]
    fn a_difference_names_hosts_builds_and_the_first_figure() {
        let (one, other) = (entry("a", 1.5, "n1"), entry("a", 1.25, "n2"));
        compare(&one, &entry("a", 1.5, "n2")).unwrap();
        let error = compare(&one, &other).unwrap_err();
        assert!(error.is::<Difference>());
        for part in ["n1", "n2", "build n1-build", "build n2-build", "elapsed of untar is 1.5 and 1.25"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let mut longer = one.clone();
        longer.figures.events.push(Event::Done);
        assert!(compare(&one, &longer).unwrap_err().to_string().contains("3 and 4 events"));
    }
}
