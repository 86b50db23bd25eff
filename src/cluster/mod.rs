//! Runs a campaign's workers on other machines. An engine is one file: it starts workers, says how many live, and ends them.
//!
//! Nothing that an engine says is trusted for results: what is measured is what is on the shelf.

mod campaign;
mod slurm;
mod ssh;
mod watch;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use mountmark_model::Bytes;

pub use campaign::{Campaign, PLAN_TEXT, find, has_failed, list, note_failure};
pub use watch::{Ended, watch};

use crate::common;

/// How many workers there are, unless the user says.
const WORKERS: usize = 4;

/// How a worker is started: `words` are complete but for `--worker`.
pub struct Job<'a> {
    pub words: &'a [String],
    /// The campaign's folder, for what workers print.
    pub folder: &'a Path,
    /// Where workers start, as relative paths in the plan have to mean there what they mean here.
    pub from: &'a Path,
    /// The campaign's name.
    pub name: &'a str,
}

/// What starts workers.
pub trait Engine {
    /// Starts workers of these numbers, of `of`; returns what they are called here.
    ///
    /// # Errors
    /// None was started, and why.
    fn start(&mut self, job: &Job, numbers: &[usize], of: usize) -> Result<Vec<String>>;

    /// How many of these live, or wait for their turn; `None` if that cannot be said now.
    fn live(&mut self, names: &[String]) -> Option<usize>;

    /// Ends them.
    fn stop(&mut self, names: &[String]) -> Result<()>;
}

/// What `--on` says: an engine and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct On {
    pub engine: EngineKind,
    pub workers: usize,
    /// Processors of a worker.
    pub cpus: usize,
    /// How long a worker may take before another goes on.
    pub time: Option<Duration>,
    /// Memory of a worker, as written.
    pub memory: Option<String>,
    /// As the user wrote it.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EngineKind {
    Slurm {
        partition: Option<String>,
        account: Option<String>,
    },
    /// Nodes from a file, one a line.
    Ssh {
        nodes: PathBuf,
    },
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<On, String> {
        let (engine, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut on = On {
            engine: EngineKind::Slurm { partition: None, account: None },
            workers: WORKERS,
            cpus: 1,
            time: None,
            memory: None,
            text: text.to_owned(),
        };
        let mut words = rest.split(',').filter(|word| !word.is_empty());
        match engine {
            "slurm" => {}
            "ssh" => {
                let nodes = words.next().ok_or("ssh needs a file with a node a line, such as ssh:hosts.txt")?;
                on.engine = EngineKind::Ssh { nodes: nodes.into() };
                on.workers = 0;
            }
            _ => return Err(format!("there is no engine {engine:?}: slurm, or ssh:FILE")),
        }
        for word in words {
            let pair = word.split_once('=').filter(|(_, value)| !value.is_empty());
            let (name, value) = pair.ok_or_else(|| format!("`{word}` is not NAME=VALUE"))?;
            let number =
                || value.parse().ok().filter(|number| *number > 0).ok_or(format!("`{word}` needs a number from 1"));
            match (name, &mut on.engine) {
                ("workers", _) => on.workers = number()?,
                ("cpus", _) => on.cpus = number()?,
                // Workers by ssh end with this process.
                ("time", EngineKind::Slurm { .. }) => {
                    let time = Some(common::duration(value)?).filter(|time| !time.is_zero());
                    on.time = Some(time.ok_or(format!("`{word}`: a worker needs time"))?);
                }
                ("memory", _) => {
                    let memory: Bytes = value.parse().map_err(|error| format!("memory: {error}"))?;
                    if memory.0 == 0 {
                        return Err(format!("`{word}`: a guest needs memory"));
                    }
                    on.memory = Some(value.to_owned());
                }
                ("partition", EngineKind::Slurm { partition, .. }) => *partition = Some(value.to_owned()),
                ("account", EngineKind::Slurm { account, .. }) => *account = Some(value.to_owned()),
                _ => {
                    return Err(format!(
                        "{engine} has no option {name:?}: workers, cpus, memory{}",
                        match on.engine {
                            EngineKind::Slurm { .. } => ", time, partition, account",
                            EngineKind::Ssh { .. } => "",
                        }
                    ));
                }
            }
        }
        Ok(on)
    }
}

impl On {
    /// The engine, and how many workers it starts.
    pub fn engine(&self) -> Result<(Box<dyn Engine>, usize)> {
        match &self.engine {
            EngineKind::Slurm { .. } => Ok((Box::new(slurm::Slurm::new(self.clone())?), self.workers)),
            EngineKind::Ssh { nodes } => {
                let ssh = ssh::Ssh::new(nodes)?;
                let workers = if self.workers == 0 { ssh.nodes() } else { self.workers };
                Ok((Box::new(ssh), workers))
            }
        }
    }

    /// Whether workers live on when this process ends.
    pub fn outlives(&self) -> bool {
        matches!(self.engine, EngineKind::Slurm { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_and_their_options_are_read() {
        let on: On = "slurm:partition=test,account=a,time=1h,workers=8,cpus=2,memory=4GiB".parse().unwrap();
        assert_eq!((on.workers, on.cpus, on.time), (8, 2, Some(Duration::from_secs(3600))));
        assert_eq!(on.engine, EngineKind::Slurm { partition: Some("test".into()), account: Some("a".into()) });
        assert_eq!("slurm".parse::<On>().unwrap().workers, WORKERS);
        let on: On = "ssh:hosts.txt,cpus=4".parse().unwrap();
        assert_eq!((on.engine, on.cpus), (EngineKind::Ssh { nodes: "hosts.txt".into() }, 4));
        for wrong in [
            "", "pbs", "ssh", "ssh:", "slurm:workers=0", "slurm:x", "slurm:nodes=3", "ssh:f,partition=a",
            "slurm:time=1y", "slurm:time=0s", "slurm:memory=0", "slurm:partition=", "ssh:f,time=1h",
        ] {
            assert!(wrong.parse::<On>().is_err(), "{wrong}");
        }
    }
}
