//! What a power cut interrupts, as one file says it: a workload of operations in a line, or an application.

use mountmark_model::names;
use serde::{Deserialize, Serialize};

use crate::application::Application;
use crate::workload::{self, MOST_OPS, Workload};

/// Seconds that a check may take, unless its file says otherwise, and the most that it may say.
const LIMIT: u32 = 5;
const MOST_LIMIT: u32 = 60;
/// Most bytes of one command.
const LONGEST: usize = 16 << 10;

/// One file of `catalog/crash/`, or a user's own. It has either `workload` or `steps` and `check`.
///
/// Commands run under `sh -c` in the root of the file system under test, with an empty `/tmp`, in which nothing lasts
/// from one command to the next, and without the disk's device. Their processes end with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without `.toml`.
    pub name: String,
    /// In reports.
    pub title: String,
    /// One line for lists.
    pub about: String,
    /// Where it is written what is promised, or where the workload is from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Operations, as on the command line.
    #[serde(default)]
    pub workload: Option<String>,
    /// Debian packages with the application's programs, and the programs.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The programs from those packages.
    #[serde(default)]
    pub tools: Vec<String>,
    /// A command that sets the stage. What it leaves is durable before the first step.
    #[serde(default)]
    pub prepare: Option<String>,
    /// Commands that a power cut may interrupt, each with `$STEP`, its number from 1.
    #[serde(default)]
    pub steps: Vec<String>,
    /// How often all steps are run.
    #[serde(default)]
    pub count: Option<u16>,
    /// A command whose exit status is 0 if the image is sound. It sees `$BEGUN` and `$RETURNED`, the numbers of steps
    /// that had begun and that had returned. It may write.
    #[serde(default)]
    pub check: Option<String>,
    /// Whether what a step has done must be durable once it has returned; otherwise `$RETURNED` is 0.
    #[serde(default)]
    pub durable: Option<bool>,
    /// Most seconds of the guest's clock that the check may take.
    #[serde(default)]
    pub limit: Option<u32>,
}

impl Scenario {
    pub fn is_application(&self) -> bool {
        self.workload.is_none()
    }

    /// Why it is unusable although well-formed, as sentences.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (field, text) in [("title", &self.title), ("about", &self.about)] {
            if text.trim().is_empty() {
                faults.push(format!("{field} is empty: say what this is"));
            }
        }
        match &self.workload {
            Some(text) => {
                let others = [
                    ("steps", !self.steps.is_empty()),
                    ("check", self.check.is_some()),
                    ("prepare", self.prepare.is_some()),
                    ("count", self.count.is_some()),
                    ("durable", self.durable.is_some()),
                    ("limit", self.limit.is_some()),
                    ("packages", !self.packages.is_empty()),
                    ("tools", !self.tools.is_empty()),
                ];
                let given = others.iter().filter(|(_, given)| *given);
                faults.extend(given.map(|(field, _)| {
                    format!("{field} is of an application, and workload of operations: leave one of them out")
                }));
                faults.extend(operations(text).err().map(|reason| format!("workload: {reason}")));
            }
            None => self.application_faults(&mut faults),
        }
        names::list("packages", &self.packages, names::package, &mut faults);
        names::list("tools", &self.tools, names::program, &mut faults);
        faults
    }

    fn application_faults(&self, faults: &mut Vec<String>) {
        if self.steps.is_empty() {
            faults.push("there is nothing to do: add steps, a list of commands, or workload, operations".into());
        }
        if self.check.is_none() {
            faults.push("check is missing: a command whose exit status is 0 if an image is sound".into());
        }
        let count = usize::from(self.count.unwrap_or(1));
        if count == 0 {
            faults.push("count is 0: leave it out, or let steps run at least once".into());
        }
        let steps = self.steps.len().saturating_mul(count);
        if steps > MOST_OPS {
            faults
                .push(format!("there are {steps} steps, and {MOST_OPS} are the most: take fewer, or a smaller count"));
        }
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=MOST_LIMIT).contains(&limit) {
            faults.push(format!("limit is {limit} seconds: take 1 to {MOST_LIMIT}"));
        }
        let steps = self.steps.iter().map(|step| ("a step", step));
        let others = [("prepare", &self.prepare), ("check", &self.check)];
        for (what, command) in steps.chain(others.into_iter().filter_map(|(what, one)| Some((what, one.as_ref()?)))) {
            if command.trim().is_empty() {
                faults.push(format!("{what} is empty: write a command, or leave it out"));
            } else if command.len() > LONGEST || command.contains('\0') {
                faults.push(format!("{what} has a null character, or more than {LONGEST} bytes: make it shorter"));
            }
        }
    }

    /// What runs, under the name by which the command line calls it.
    ///
    /// # Errors
    /// Why the operations are none; not for one without [`Scenario::faults`].
    pub fn runs(&self, called: &str) -> Result<Workload, String> {
        let mut workload = match &self.workload {
            Some(text) => operations(text)?,
            None => Workload { application: Some(Box::new(self.application())), ..Workload::default() },
        };
        called.clone_into(&mut workload.name);
        Ok(workload)
    }

    fn application(&self) -> Application {
        let count = usize::from(self.count.unwrap_or(1));
        Application {
            packages: self.packages.clone(),
            tools: self.tools.clone(),
            prepare: self.prepare.clone(),
            steps: self.steps.iter().cycle().take(self.steps.len() * count).cloned().collect(),
            check: self.check.clone().unwrap_or_default(),
            durable: self.durable.unwrap_or(true),
            limit: self.limit.unwrap_or(LIMIT),
            whole_packages: Vec::new(),
            said: None,
            pauses: None,
        }
    }
}

fn operations(text: &str) -> Result<Workload, String> {
    let workload: Workload = text.parse().map_err(|error: workload::WrongLine| error.to_string())?;
    workload::check(&workload).map_err(|fault| fault.to_string())?;
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application() -> Scenario {
        Scenario {
            name: "one".into(),
            title: "One".into(),
            about: "Something".into(),
            steps: vec!["echo 1 >> a\n sync".into(), "true".into()],
            count: Some(3),
            check: Some("true".into()),
            ..Scenario::default()
        }
    }

    #[test]
    fn steps_are_run_as_often_as_said() {
        let scenario = application();
        assert_eq!(scenario.faults(), [] as [String; 0]);
        let workload = scenario.runs("./one.toml").unwrap();
        let application = workload.application.as_ref().unwrap();
        assert_eq!((application.steps.len(), application.step(4)), (6, "echo 1 >> a; sync".to_owned()));
        assert_eq!((application.durable, application.limit), (true, LIMIT));
        assert_eq!(workload.to_string(), "./one.toml");
    }

    #[test]
    fn operations_are_those_of_the_command_line() {
        let text = "creat foo;\n sync |\n write foo 0+4096; fsync foo\n";
        let scenario =
            Scenario { workload: Some(text.into()), steps: vec![], count: None, check: None, ..application() };
        assert_eq!(scenario.faults(), [] as [String; 0]);
        let workload = scenario.runs("foo").unwrap();
        assert_eq!(workload.to_string(), "creat foo; sync | write foo 0+4096; fsync foo");
        assert_eq!(workload.name, "foo");
    }

    #[test]
    fn what_cannot_run_is_said() {
        type Change = fn(&mut Scenario);
        let wrong: [(Change, &str); 11] = [
            (|one| one.steps.clear(), "steps"),
            (|one| one.check = None, "check is missing"),
            (|one| one.check = Some(" ".into()), "check is empty"),
            (|one| one.count = Some(0), "count is 0"),
            (|one| one.count = Some(101), "202 steps"),
            (|one| one.limit = Some(0), "limit is 0"),
            (|one| one.limit = Some(61), "limit is 61"),
            (|one| one.steps[1] = "x".repeat(LONGEST + 1), "a step has"),
            (|one| one.title.clear(), "title is empty"),
            (|one| one.workload = Some("sync".into()), "check is of an application"),
            (
                |one| {
                    *one = Scenario {
                        workload: Some("fsync foo".into()),
                        steps: vec![],
                        check: None,
                        count: None,
                        ..application()
                    }
                },
                "workload: op 0, fsync foo",
            ),
        ];
        for (change, says) in wrong {
            let mut scenario = application();
            change(&mut scenario);
            let faults = scenario.faults().join("\n");
            assert!(faults.contains(says), "{says}: {faults}");
        }
    }
}
