//! Whether a run agrees with an answer of `mountmark advise`.

use std::path::Path;

use anyhow::{Result, bail};
use mountmark_cells::Plan;
use mountmark_findings::advice::{Foretold, confirmed};
use mountmark_record::RunRecord;
use serde_json::Value;

use crate::commands::advise::again::read;
use crate::common::WrongUse;

/// An answer in a file, and what it was compared with there.
#[derive(Clone)]
pub struct Answer {
    file: String,
    work: String,
    name: String,
    others: Vec<Foretold>,
    /// How full it was, its history and the scale of the work.
    ground: [(&'static str, Option<String>); 3],
}

impl Answer {
    /// The answer in the file after `--advice`.
    ///
    /// # Errors
    /// A file without an answer.
    pub fn load(path: &Path) -> Result<Answer> {
        let found = read("--advice", path)?;
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let foretold = |(name, gain): (&Value, &Value)| {
            let (ratio, shown) = (gain["ratio"].as_f64()?, gain["shown"].as_bool()?);
            Some(Foretold { name: name.as_str()?.to_owned(), ratio, shown })
        };
        let second = (&found["second"]["configuration"], &found["second"]["gain"]);
        let simplest = (&found["simplest"], &found["over_simplest"]);
        let mut others: Vec<Foretold> = [second, simplest].into_iter().filter_map(foretold).collect();
        others.dedup_by(|one, other| one.name == other.name);
        let (work, name) = (text(&found["work"]), text(&found["answer"]["name"]));
        let ground = [("--fill", "room"), ("--age", "age"), ("--scale", "scale")]
            .map(|(option, field)| (option, found[field].as_str().map(str::to_owned)));
        Ok(Answer { file: path.display().to_string(), work, name, others, ground })
    }

    /// Refuses a plan of other work, of a file system that is full or old otherwise, and one that does not measure the answer
    /// beside what it was compared with.
    pub fn check(&mut self, plan: &Plan, command: Option<String>, held: [Option<&str>; 2]) -> Result<()> {
        let wrong = |reason: String| WrongUse(format!("--advice {}: {reason}", self.file));
        let work = command.unwrap_or_else(|| plan.suite.clone());
        if work != self.work {
            bail!(wrong(format!("it is about {}, and this run is about {work}", self.work)));
        }
        let scale = plan.scale.to_string();
        for ((option, asked), here) in self.ground.iter().zip(held.into_iter().chain([Some(scale.as_str())])) {
            // An older answer has no scale.
            let is_known = *option != "--scale" || asked.is_some();
            if is_known && plain(asked.as_deref()) != plain(here) {
                bail!(wrong(match asked {
                    Some(asked) => format!("it was asked with {option} {asked}: say so here too"),
                    None => format!("it was asked without {option}: leave it out here"),
                }));
            }
        }
        let is_there = |name: &String| plan.configurations.contains(name);
        if !is_there(&self.name) || !self.others.iter().any(|other| is_there(&other.name)) {
            let all: Vec<&str> = std::iter::once(&self.name)
                .chain(self.others.iter().map(|other| &other.name))
                .map(String::as_str)
                .collect();
            bail!(wrong(format!("its answer is {}: say --fs {}", self.name, all.join(","))));
        }
        self.others.retain(|other| plan.configurations.contains(&other.name));
        Ok(())
    }

    /// Says whether a run agrees.
    pub fn say(&self, run: &RunRecord) {
        for sentence in confirmed(run, &self.name, &self.others) {
            say!("mountmark: {sentence}");
        }
    }
}

/// A share as `80%` and `80` have it.
fn plain(text: Option<&str>) -> Option<&str> {
    text.map(|text| text.trim().trim_end_matches('%'))
}
