//! Job files with the files that they include.

use std::path::Path;
use std::rc::Rc;

use crate::Result;
use crate::error::fault;

/// Maximum number of files in one another, and of all lines with the word; a file may include itself.
const DEEPEST: usize = 8;
const MOST: usize = 100;

/// The text of a job file in which included files stand in place of the lines that name them, and each line's origin.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub text: String,
    /// The file of each line, and its number there.
    places: Vec<(Rc<str>, usize)>,
}

impl Job {
    /// A text that includes nothing; `shown` is its name in messages.
    pub fn alone(text: &str, shown: &str) -> Job {
        let shown: Rc<str> = shown.into();
        Job {
            places: (1..=text.lines().count().max(1)).map(|line| (shown.clone(), line)).collect(),
            text: text.to_owned(),
        }
    }

    /// The text that was read from `path`, with the files that it includes: they lie in its folder or below.
    pub fn with_included(text: &str, path: &Path) -> Result<Job> {
        let mut job = Job::default();
        let mut count = 0;
        job.take(text, path, 1, &mut count)?;
        if count == 0 {
            return Ok(Job::alone(text, &path.display().to_string()));
        }
        Ok(job)
    }

    /// A line's file and number, as messages begin.
    pub fn place(&self, line: usize) -> String {
        let place = self.places.get(line - 1).or(self.places.last());
        place.map_or_else(String::new, |(shown, line)| format!("{shown}:{line}"))
    }

    fn take(&mut self, text: &str, path: &Path, depth: usize, count: &mut usize) -> Result<()> {
        let shown: Rc<str> = path.display().to_string().into();
        for (index, line) in text.lines().enumerate() {
            let Some(name) = included(line) else {
                self.text += line;
                self.text.push('\n');
                self.places.push((shown.clone(), index + 1));
                continue;
            };
            *count += 1;
            let refused = |reason: String| fault(&format_args!("{shown}:{}", index + 1), format!("{line}: {reason}"));
            if depth == DEEPEST || *count > MOST {
                let reason = format!("files are included at most {DEEPEST} deep, and {MOST} times in all");
                return Err(refused(reason));
            }
            let path = mountmark_input::beside(path, name).map_err(|error| refused(error.to_string()))?;
            let text =
                mountmark_input::text(&path, mountmark_input::MOST_TEXT).map_err(|error| refused(error.to_string()))?;
            self.take(&text, &path, depth + 1, count)?;
        }
        Ok(())
    }
}

/// The name in a line `include NAME`.
fn included(line: &str) -> Option<&str> {
    let line = line.split([';', '#']).next().unwrap_or_default().trim();
    let rest = line.strip_prefix("include")?;
    let name = rest.strip_prefix(|c: char| c.is_whitespace() || c == '=')?.trim();
    (!name.is_empty()).then_some(name)
}
