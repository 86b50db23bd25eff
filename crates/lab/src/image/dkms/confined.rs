//! Runs a build apart from the machine: as this user, in name spaces of its own, with nothing of the machine's files but its root
//! folder and five devices without a drive, without a network, without rights.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::child::{self, Limits};

/// What a build runs: inside, and before that what leads inside.
pub(super) const SCRIPTS: [&str; 2] = [include_str!("build.sh"), include_str!("confine.sh")];
/// A compiler says nothing while it works on a large file.
const BUILDING: Limits = Limits { idle: Duration::from_secs(1200), total: Duration::from_secs(3 * 3600) };
/// Name spaces: users, mounts, network, processes, IPC, the machine's name.
const SPACES: [&str; 8] = ["--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork"];

pub(super) struct Said {
    pub log: String,
    pub is_done: bool,
}

/// Refuses a machine that confines nothing for this user.
///
/// # Errors
/// Why not, and the remedy.
pub(super) fn check() -> Result<()> {
    let output =
        child::output(unshare().args(["sh", "-c", "mount --make-rprivate / && exec setpriv --version"]), child::QUICK)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "modules are built in name spaces of their own, apart from this machine, and it gives this user none ({}): \
         sysctl kernel.unprivileged_userns_clone=1 (on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), or in a container let \
         it have them",
        said.trim()
    );
    Ok(())
}

/// Builds the modules in a root folder into its /out.
///
/// # Errors
/// A program that cannot be started, an interrupt, a build that takes hours.
pub(super) fn build(root: &Path, source: &str, release: &str) -> Result<Said> {
    let [build, confine] = SCRIPTS;
    let mut command = unshare();
    command.args(["sh", "-c", confine, "sh"]).arg(root);
    command.args(["bash", "-c", "exec 2>&1; eval \"$0\"", build, source, release]);
    let output = child::output(&mut command, BUILDING).context("the build of a module was not finished")?;
    let mut log = String::from_utf8_lossy(&output.stdout).into_owned();
    log += &String::from_utf8_lossy(&output.stderr);
    Ok(Said { log, is_done: output.status.success() })
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    // Users' PATH lacks the folder of pivot_root.
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").args(SPACES).args(["--kill-child", "--"]);
    command
}
