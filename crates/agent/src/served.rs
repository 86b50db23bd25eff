//! Programs that a file system's commands leave running: those that serve it, such as a FUSE file system's, and servers that
//! it needs. They stay until what they serve is taken away.

use anyhow::Result;

use super::command::{Keep, Kept};
use super::ground::{self, Process};
use super::perform::one_command;
use super::{Agent, STEP_LIMIT};
use crate::protocol::Disk;

/// How long programs stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// They end by themselves when the file system is unmounted, and are ended if they do not.
    Unmounted(Disk),
    /// They are ended when their file system is detached.
    Detached(Disk),
}

/// Programs that stay, with the first process above them.
pub(super) type Served = Vec<(Until, Box<dyn Process>)>;

impl Agent<'_> {
    /// Runs unmeasured commands, as [`Agent::call`] does, of which programs stay.
    pub(super) fn serve(&mut self, until: Until, commands: &[Vec<String>], done: &[i32]) -> Result<()> {
        let mut command = one_command(commands, done)?;
        self.set_step(&mut command);
        let kept = Kept::new(self.scratch.path(), Keep::Ends)?;
        let mut process = self.ground.start(&command, kept, None, None, None)?;
        process.stay();
        process.go()?;
        let finished = process.wait(STEP_LIMIT)?;
        let words: Vec<_> = commands.iter().map(|command| command.join(" ")).collect();
        ground::succeeded(&words.join("; "), &finished)?;
        self.served.push((until, process));
        Ok(())
    }

    /// Waits for the end of the programs that stayed so long, or ends them.
    pub(super) fn end_served(&mut self, until: Until) -> Result<()> {
        let (ended, others) = std::mem::take(&mut self.served).into_iter().partition(|(of, _)| *of == until);
        self.served = others;
        for (_, process) in ended {
            match until {
                Until::Unmounted(_) => process.leave()?,
                Until::Detached(_) => process.end()?,
            }
        }
        Ok(())
    }
}
