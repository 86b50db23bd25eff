//! Workers by ssh, one a node and more if a node is named more often. They end with this process.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{Engine, Job};
use crate::common::WrongUse;

pub struct Ssh {
    nodes: Vec<String>,
    children: Vec<(String, Child)>,
    started: usize,
}

impl Ssh {
    pub fn new(path: &Path) -> Result<Ssh> {
        let text = mountmark_input::text(path, mountmark_input::MOST_TEXT)
            .map_err(|error| WrongUse(format!("--on ssh:{}: {error}", path.display())))?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let nodes: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
        if let Some(wrong) = nodes.iter().find(|node| node.starts_with('-') || node.contains(char::is_whitespace)) {
            bail!(WrongUse(format!("{}: `{wrong}` is no node; one a line, such as user@host", path.display())));
        }
        if nodes.is_empty() {
            bail!(WrongUse(format!("{} names no node; one a line, such as user@host", path.display())));
        }
        Ok(Ssh { nodes, children: Vec::new(), started: 0 })
    }

    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn reap(&mut self) {
        self.children.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
    }
}

impl Engine for Ssh {
    fn start(&mut self, job: &Job, numbers: &[usize], of: usize) -> Result<Vec<String>> {
        let from = job.from.to_str().context("this folder's name is not UTF-8")?;
        let from = shlex::try_quote(from)?;
        let mut names = Vec::new();
        for number in numbers {
            // In turns, so that a node that fails gets no second one before the others.
            let node = self.nodes[self.started % self.nodes.len()].clone();
            self.started += 1;
            let worker = format!("{number}/{of}");
            let words = job.words.iter().map(String::as_str).chain(["--worker", &worker]);
            let words = shlex::try_join(words).context("a word of the plan has a NUL")?;
            let log = job.folder.join(format!("worker-{number}.log"));
            let log = File::options()
                .create(true)
                .append(true)
                .open(&log)
                .with_context(|| format!("cannot write {}", log.display()))?;
            let mut command = Command::new("ssh");
            command.args(["-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", &node, "--", &watched(&from, &words)]);
            // Its standard input is open as long as this process lives.
            command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).process_group(0);
            let child = command.spawn().context("cannot start ssh")?;
            let name = format!("{number}@{node}");
            self.children.push((name.clone(), child));
            names.push(name);
        }
        Ok(names)
    }

    fn live(&mut self, _: &[String]) -> Option<usize> {
        self.reap();
        Some(self.children.len())
    }

    fn stop(&mut self, names: &[String]) -> Result<()> {
        if self.started == 0 && !names.is_empty() {
            bail!("workers by ssh end with the command that started them: end that one");
        }
        for (_, child) in &mut self.children {
            // The end of its input ends the worker.
            drop(child.stdin.take());
        }
        for (_, child) in &mut self.children {
            let _ = child.wait();
        }
        self.children.clear();
        Ok(())
    }
}

/// A shell's command that starts a worker in a folder, ends with it, and ends it when its own input ends: a lost connection
/// would leave it otherwise.
fn watched(from: &str, words: &str) -> String {
    format!("exec 3<&0; cd {from} && {{ {words} 3<&- & p=$!; {{ cat <&3; kill $p; }} > /dev/null 2>&1 & wait $p; }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(words: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", &watched("/", words)]).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_worker_ends_the_command_and_its_lost_input_ends_the_worker() {
        let mut child = shell("sh -c 'exit 7'");
        let input = child.stdin.take();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        drop(input);
        let begin = std::time::Instant::now();
        let mut child = shell("sleep 60");
        drop(child.stdin.take());
        assert!(!child.wait().unwrap().success());
        assert!(begin.elapsed().as_secs() < 30);
    }

    #[test]
    fn workers_of_another_process_are_not_said_to_be_ended() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a\n").unwrap();
        let mut ssh = Ssh::new(file.path()).unwrap();
        assert!(ssh.stop(&["1@a".to_owned()]).unwrap_err().to_string().contains("the command that started them"));
        ssh.stop(&[]).unwrap();
    }

    #[test]
    fn files_of_nodes_are_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, nodes) in
            [("a\n# all\nuser@b # big\n\n", Some(2)), ("", None), ("-oProxyCommand=x\n", None), ("a b\n", None)]
        {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(Ssh::new(file.path()).ok().map(|ssh| ssh.nodes()), nodes, "{text:?}");
        }
    }
}
