//! Two results under one key must be equal to the last bit; where they are not, something that determines figures is unknown.

use std::path::Path;

use anyhow::Result;
use mountmark_model::Event;

use crate::entry::Entry;

/// Two results of one cell that differ: with both hosts, both builds, and the first figure that differs.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(String);

/// A result, and its file if it has one.
pub(crate) type Side<'a> = (&'a Entry, Option<&'a Path>);

/// # Errors
/// [`Difference`].
pub(crate) fn compare((one, one_path): Side, (other, other_path): Side) -> Result<()> {
    if one.figures == other.figures {
        return Ok(());
    }
    let side = |entry: &Entry| {
        let environment = &entry.measured.environment;
        let [host, version, build] =
            [&entry.measured.host, &environment.mountmark, &environment.build].map(|text| plain(text));
        let build: String = build.chars().take(12).collect();
        format!("{host} (mountmark {version}, build {build})")
    };
    let paths: Vec<String> = one_path.into_iter().chain(other_path).map(|path| path.display().to_string()).collect();
    Err(Difference(format!(
        "one cell has two results, from {} and from {}: {}. What determines a figure is the same for both, so one is wrong: \
         damaged, forged, or from a machine that does not compute right. --fresh measures all cells and takes none; remove \
         what is wrong: {}",
        side(one),
        side(other),
        plain(&first(one, other)),
        paths.join(" or ")
    ))
    .into())
}

/// Text of a file that anyone may have written, for a terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_control()).take(200).collect()
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
    fn a_difference_names_hosts_builds_files_and_the_first_figure() {
        let (one, other) = (entry("a", 1.5, "n1"), entry("a", 1.25, "n2"));
        let path = Path::new("/shelf/aa/one.cell");
        compare((&one, Some(path)), (&entry("a", 1.5, "n2"), None)).unwrap();
        let error = compare((&one, Some(path)), (&other, None)).unwrap_err();
        assert!(error.is::<Difference>());
        for part in ["n1", "n2", "build n1-build", "build n2-build", "elapsed of untar is 1.5 and 1.25"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(error.to_string().ends_with("wrong: /shelf/aa/one.cell"), "{error}");
        let mut longer = one.clone();
        longer.figures.events.push(Event::Done);
        longer.measured.environment.mountmark = "\x1b[31m".into();
        let error = compare((&one, None), (&longer, None)).unwrap_err().to_string();
        assert!(error.contains("3 and 4 events") && !error.contains('\x1b'), "{error}");
    }
}
