//! Recorded histories of file operations, which age a file system: one operation a line.

use thiserror::Error;

/// What is done to one file, below the folder of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryOperation<'a> {
    /// A file of so many bytes; one that is there is removed before, as git does.
    Write { path: &'a str, size: u64 },
    /// So many bytes more.
    Append { path: &'a str, size: u64 },
    /// The file goes, and each folder that is empty then.
    Remove { path: &'a str },
    /// All so far is written out.
    Commit,
}

/// A line that is no operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} of the history is no file operation")]
pub struct BadHistory {
    /// From 1.
    pub line: usize,
}

impl<'a> HistoryOperation<'a> {
    /// The operation as a line, without the line's end.
    pub fn line(&self) -> String {
        match self {
            HistoryOperation::Write { path, size } => format!("w {size} {path}"),
            HistoryOperation::Append { path, size } => format!("a {size} {path}"),
            HistoryOperation::Remove { path } => format!("d {path}"),
            HistoryOperation::Commit => "c".into(),
        }
    }

    /// The operations of a history, in order.
    pub fn all(text: &'a str) -> impl Iterator<Item = Result<HistoryOperation<'a>, BadHistory>> {
        text.lines().enumerate().map(|(at, line)| HistoryOperation::parse(line).ok_or(BadHistory { line: at + 1 }))
    }

    fn parse(line: &'a str) -> Option<HistoryOperation<'a>> {
        let sized = |rest: &'a str| {
            let (size, path) = rest.split_once(' ')?;
            Some((size.parse::<u64>().ok()?, path))
        };
        let found = match line.split_once(' ') {
            None => return (line == "c").then_some(HistoryOperation::Commit),
            Some(("w", rest)) => sized(rest).map(|(size, path)| HistoryOperation::Write { path, size }),
            Some(("a", rest)) => sized(rest).map(|(size, path)| HistoryOperation::Append { path, size }),
            Some(("d", path)) => Some(HistoryOperation::Remove { path }),
            Some(_) => None,
        }?;
        found.path().is_some_and(stays_below).then_some(found)
    }

    /// Of the file; `None` of a commit.
    pub fn path(&self) -> Option<&'a str> {
        match *self {
            HistoryOperation::Write { path, .. } | HistoryOperation::Append { path, .. } => Some(path),
            HistoryOperation::Remove { path } => Some(path),
            HistoryOperation::Commit => None,
        }
    }
}

/// Whether a path leads nowhere but below its folder, and fits in a line.
pub fn stays_below(path: &str) -> bool {
    path.split('/').all(|part| !["", ".", ".."].contains(&part)) && !path.contains(['\n', '\r', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        let all = [
            HistoryOperation::Write { path: "a b/c", size: 0 },
            HistoryOperation::Append { path: "x", size: u64::MAX },
            HistoryOperation::Remove { path: ".git/index" },
            HistoryOperation::Commit,
        ];
        let text = all.map(|one| one.line() + "\n").concat();
        let read: Vec<_> = HistoryOperation::all(&text).collect::<Result<_, _>>().unwrap();
        assert_eq!(read, all);
    }

    #[test]
    fn what_leads_elsewhere_is_no_operation() {
        for line in [
            "", "w", "w 1", "w x a", "w -1 a", "q a", "d /etc/passwd", "d ../a", "a 1 a/../../b", "d a//b", "d ", "c x",
        ] {
            let text = format!("c\n{line}\n");
            let error = HistoryOperation::all(&text).collect::<Result<Vec<_>, _>>().unwrap_err();
            assert_eq!(error.line, 2, "{line}");
        }
    }
}
