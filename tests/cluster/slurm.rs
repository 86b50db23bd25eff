//! A Slurm of the test's own: one controller and some nodes on this machine, as whoever runs the test.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::skip;

const PROGRAMS: [&str; 5] = ["slurmctld", "slurmd", "sbatch", "squeue", "sinfo"];

pub struct Slurm {
    folder: PathBuf,
    nodes: Vec<Child>,
    controller: Child,
}

/// A program, also in the folders of daemons.
fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    command
}

fn quiet(command: &mut Command, log: &Path) -> Child {
    let log = fs::File::options().create(true).append(true).open(log).unwrap();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

impl Slurm {
    /// With so many nodes of one processor each; `None`, with a message, if Slurm is not here.
    pub fn start(test: &str, folder: &Path, nodes: usize) -> Option<Slurm> {
        if let Some(missing) = PROGRAMS.iter().find(|name| command(name).arg("-V").output().is_err()) {
            skip(test, &format!("{missing} cannot be started; `scripts/setup test` installs it"));
            return None;
        }
        let text =
            |command: &mut Command| String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned();
        let (user, host) = (text(Command::new("id").arg("-un")), text(Command::new("hostname").arg("-s")));
        for part in ["state", "spool", "log"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        // Ports that are free now; nobody else is known to take them in between.
        let listeners: Vec<TcpListener> = (0..nodes + 2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(listeners);
        let shown = folder.display();
        let mut config = format!(
            "ClusterName=trial\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\nSlurmUser={user}\n\
             SlurmdUser={user}\nAuthType=auth/none\nCredType=cred/none\nStateSaveLocation={shown}/state\n\
             SlurmdSpoolDir={shown}/spool/%n\nSlurmctldPidFile={shown}/state/pid\nSlurmdPidFile={shown}/spool/%n.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\nSwitchType=switch/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSchedulerType=sched/backfill\n\
             SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1,bf_interval=1\n\
             SlurmdParameters=config_overrides\nReturnToService=2\nSlurmdTimeout=30\nMessageTimeout=5\nKillWait=2\n\
             MinJobAge=300\nCommunicationParameters=block_null_hash\n\
             PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            ports[0], ports[1]
        );
        for (number, port) in (1..=nodes).zip(&ports[2..]) {
            config += &format!(
                "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n"
            );
        }
        fs::write(folder.join("slurm.conf"), config).unwrap();
        let controller = controller(folder, true);
        let node = |number: usize| {
            let name = format!("n{number}");
            fs::create_dir_all(folder.join("spool").join(&name)).unwrap();
            let mut slurmd = command("slurmd");
            slurmd.args(["-D", "-N", &name, "-f"]).arg(folder.join("slurm.conf"));
            quiet(&mut slurmd, &folder.join("log").join(&name))
        };
        let slurm = Slurm { folder: folder.to_owned(), nodes: (1..=nodes).map(node).collect(), controller };
        slurm.wait_until_up();
        Some(slurm)
    }

    pub fn config(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    fn wait_until_up(&self) {
        let begin = Instant::now();
        loop {
            let mut sinfo = command("sinfo");
            sinfo.args(["-h", "-N", "-t", "idle,alloc,mix", "-o", "%N"]).env("SLURM_CONF", self.config());
            let up = sinfo.output().map_or(0, |output| String::from_utf8_lossy(&output.stdout).lines().count());
            if up == self.nodes.len() {
                return;
            }
            let log = fs::read_to_string(self.folder.join("log/controller")).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(60), "Slurm does not come up: {log}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Kills the controller, and starts it again after a while.
    pub fn lose_controller(&mut self, away: Duration) {
        self.controller.kill().unwrap();
        self.controller.wait().unwrap();
        std::thread::sleep(away);
        self.controller = controller(&self.folder, false);
        self.wait_until_up();
    }
}

fn controller(folder: &Path, is_new: bool) -> Child {
    let mut slurmctld = command("slurmctld");
    slurmctld.args(["-D", "-i"]).args(is_new.then_some("-c")).arg("-f").arg(folder.join("slurm.conf"));
    quiet(&mut slurmctld, &folder.join("log/controller"))
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let mut scancel = command("scancel");
        let _ = scancel.arg("--me").env("SLURM_CONF", self.config()).stderr(Stdio::null()).status();
        for child in self.nodes.iter_mut().chain([&mut self.controller]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
