//! Resolves runs by name: complete, by a unique prefix, or `latest`.

use crate::{RunId, StoreError};

/// The run, or `what` they are, for `name` among `runs`, oldest first.
pub(crate) fn resolve(what: &'static str, name: &str, runs: &[RunId]) -> Result<RunId, StoreError> {
    let latest = runs.last().ok_or(StoreError::NoRuns { what })?;
    if matches!(name, "latest" | "last") {
        return Ok(latest.clone());
    }
    if let Some(exact) = runs.iter().find(|run| run.as_str() == name) {
        return Ok(exact.clone());
    }
    // The empty text is a prefix of every name; reject it.
    let matches: Vec<RunId> =
        runs.iter().filter(|run| !name.is_empty() && run.as_str().starts_with(name)).cloned().collect();
    match matches.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(StoreError::UnknownRun { what, name: name.to_owned(), near: near(name, runs) }),
        _ => Err(StoreError::AmbiguousRun { what, name: name.to_owned(), matches }),
    }
}

/// At most three names similar to `name`, the latest first; otherwise the three latest.
fn near(name: &str, runs: &[RunId]) -> Vec<RunId> {
    let latest = || runs.iter().rev().map(RunId::as_str);
    let mut near = mountmark_model::names::near(name, latest());
    if near.is_empty() {
        near = latest().take(3).collect();
    }
    near.into_iter().map(RunId::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<RunId> {
        ["20261120-0900-00ff", "20261121-0345-a1b2", "20261121-0346-c3d4"].map(RunId::new).to_vec()
    }

    #[test]
    fn names_are_whole_or_a_unique_beginning_or_latest() {
        let runs = runs();
        assert_eq!(resolve("run", "20261121-0345-a1b2", &runs).unwrap(), runs[1]);
        assert_eq!(resolve("run", "20261120", &runs).unwrap(), runs[0]);
        assert_eq!(resolve("run", "latest", &runs).unwrap(), runs[2]);
        assert_eq!(resolve("run", "last", &runs).unwrap(), runs[2]);
    }

    #[test]
    fn a_name_that_begins_another_means_itself() {
        let runs = ["a", "ab"].map(RunId::new);
        assert_eq!(resolve("run", "a", &runs).unwrap(), runs[0]);
    }

    #[test]
    fn errors_help() {
        let runs = runs();
        let text = |name: &str| resolve("run", name, &runs).unwrap_err().to_string();
        assert_eq!(text("20261121"), "\"20261121\" may be any of 2 runs: 20261121-0345-a1b2, 20261121-0346-c3d4");
        assert_eq!(text("a1b2"), "there is no run \"a1b2\"; there are: 20261121-0345-a1b2");
        assert!(
            text("20261121-0345-a1bb")
                .starts_with("there is no run \"20261121-0345-a1bb\"; there are: 20261121-0345-a1b2")
        );
        assert!(text("").contains("20261121-0346-c3d4"));
        assert_eq!(resolve("run", "latest", &[]).unwrap_err().to_string(), "there is no run in the results store yet");
        assert!(resolve("campaign", "x", &runs).unwrap_err().to_string().starts_with("there is no campaign \"x\"; "));
    }
}
