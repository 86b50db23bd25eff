//! Workers as one array job of Slurm: sites ask for few and long allocations.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::{Engine, EngineKind, Job, On};

/// Before Slurm ends a worker by force, it ends by itself.
const SPARE_SECONDS: u64 = 30;

pub struct Slurm {
    on: On,
}

impl Slurm {
    pub fn new(on: On) -> Result<Slurm> {
        if let Err(error) = Command::new("sbatch").arg("--version").output() {
            bail!("cannot start sbatch ({error}): --on slurm is for a node from which jobs are submitted");
        }
        Ok(Slurm { on })
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// The pattern of the files for what workers print. A folder's own percent signs begin no number.
fn output(folder: &Path) -> String {
    format!("{}/worker-%a.log", folder.display().to_string().replace('%', "%%"))
}

impl Engine for Slurm {
    fn start(&mut self, job: &Job, numbers: &[usize], of: usize) -> Result<Vec<String>> {
        let array = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut command = Command::new("sbatch");
        command.args(["--parsable", "--ntasks=1", "--no-requeue"]);
        command.arg(format!("--array={array}")).arg(format!("--job-name=mountmark-{}", job.name));
        command.arg(format!("--cpus-per-task={}", self.on.cpus));
        command.arg(format!("--output={}", output(job.folder))).arg("--open-mode=append");
        command.arg(format!("--chdir={}", job.from.display()));
        let EngineKind::Slurm { partition, account } = &self.on.engine else { bail!("not an engine of Slurm") };
        command.args(partition.iter().map(|name| format!("--partition={name}")));
        command.args(account.iter().map(|name| format!("--account={name}")));
        if let Some(memory) = self.on.memory.as_ref().and_then(|memory| memory.parse::<mountmark_model::Bytes>().ok()) {
            command.arg(format!("--mem={}M", memory.0.div_ceil(1 << 20)));
        }
        let mut words = job.words.to_vec();
        if let Some(time) = self.on.time {
            let seconds = time.as_secs();
            command.arg(format!("--time={}", seconds.div_ceil(60)));
            words.extend(["--until".into(), format!("{}s", seconds.saturating_sub(SPARE_SECONDS).max(1))]);
        }
        let words = shlex::try_join(words.iter().map(String::as_str)).context("a word of the plan has a NUL")?;
        let script = format!("#!/bin/sh\nexec {words} --worker \"$SLURM_ARRAY_TASK_ID/{of}\"\n");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start sbatch")?;
        // If it fails, sbatch has ended and gives its own reason.
        let _ = child.stdin.take().expect("piped").write_all(script.as_bytes());
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("sbatch: {}", said(&output));
        }
        let id = String::from_utf8_lossy(&output.stdout).trim().split(';').next().unwrap_or_default().to_owned();
        Ok(vec![id])
    }

    fn live(&mut self, names: &[String]) -> Option<usize> {
        let output =
            Command::new("squeue").args(["--noheader", "--array", "--format=%i", "--jobs", &names.join(",")]).output();
        let output = output.ok()?;
        if output.status.success() {
            return Some(
                String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.trim().is_empty()).count(),
            );
        }
        // A job that ended long ago is forgotten; any other failure is the controller's.
        said(&output).contains("Invalid job id").then_some(0)
    }

    fn stop(&mut self, names: &[String]) -> Result<()> {
        let output = Command::new("scancel").args(names).output().context("cannot start scancel")?;
        if !output.status.success() {
            bail!("scancel: {}", said(&output));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_of_a_shelf_are_not_those_of_slurm() {
        assert_eq!(output(Path::new("/nfs/100%a/one")), "/nfs/100%%a/one/worker-%a.log");
    }
}
