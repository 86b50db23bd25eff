//! Watches a campaign: what is on the shelf, which workers live; starts others for those that are lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mountmark_model::counted;
use mountmark_shelf::{Folder, Trust};

use super::{Campaign, Engine, Job, On};
use crate::commands::Stop;
use crate::common;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// Between two lines.
const SAY: Duration = Duration::from_secs(10);
/// How long workers may seem to be gone before others are started: queues take time.
const GRACE: Duration = Duration::from_secs(20);
/// How often lost workers are started again without a cell more on the shelf.
const TRIES: usize = 3;

/// How a watch ended.
pub enum Ended {
    /// Every cell is on the shelf, but those that failed.
    Complete,
    /// The user ended it: the workers go on.
    Left,
    /// The user ended it, and the workers.
    Cancelled,
}

/// Starts workers for what is missing, and watches until nothing is.
///
/// # Errors
/// Workers that end again and again and leave cells.
pub fn watch(campaign: &mut Campaign, shelf: &Folder, on: &On, detach: bool, stop: &Stop) -> Result<Ended> {
    let (mut engine, wanted) = on.engine()?;
    let mut seen = Seen::new(campaign, shelf)?;
    let (mut done, mut said_at) = (seen.missing(campaign)?.0, None::<Instant>);
    let begin = (Instant::now(), done);
    let (mut gone_since, mut tries) = (None::<Instant>, 0);
    loop {
        let Some((now, left)) = seen.now(campaign) else {
            if stop.is_set() {
                return leave(campaign, engine.as_mut(), (on, shelf));
            }
            thread::sleep(LOOK);
            continue;
        };
        if left == 0 {
            return Ok(Ended::Complete);
        }
        if now > done {
            (done, tries) = (now, 0);
        }
        let mut live = if campaign.stored.workers.is_empty() { Some(0) } else { engine.live(&campaign.stored.workers) };
        let lost = live.map_or(0, |live| wanted.min(left).saturating_sub(live));
        if lost == 0 {
            gone_since = None;
        } else if campaign.stored.started == 0 || gone_since.get_or_insert_with(Instant::now).elapsed() > GRACE {
            if tries == TRIES {
                let _ = engine.stop(&campaign.stored.workers);
                bail!(
                    "workers ended {TRIES} times and {left} of {} cells are missing; they said: {}",
                    campaign.keys.len(),
                    last_words(campaign)
                );
            }
            tries += 1;
            gone_since = None;
            start(campaign, engine.as_mut(), on, lost, wanted)?;
            live = None;
        }
        if detach {
            say!("mountmark: it goes on without this; `{}` watches it", again(campaign, shelf));
            return Ok(Ended::Left);
        }
        if let Some(live) = live.filter(|_| said_at.is_none_or(|at| at.elapsed() > SAY)) {
            said_at = Some(Instant::now());
            let (all, live, likely) = (campaign.keys.len(), counted(live, "worker"), likely(begin, now, left));
            say!("mountmark: {now} of {all} cells are there, {live} at work{likely}");
        }
        if stop.is_set() {
            return leave(campaign, engine.as_mut(), (on, shelf));
        }
        thread::sleep(LOOK);
    }
}

/// What is on the shelf.
struct Seen<'a> {
    shelf: &'a Folder,
    trust: Option<Trust>,
    /// Keys of cells that somebody who is trusted signed: none is read twice.
    signed: BTreeSet<String>,
    /// Why it could not be seen last.
    trouble: String,
}

impl Seen<'_> {
    fn new<'a>(campaign: &Campaign, shelf: &'a Folder) -> Result<Seen<'a>> {
        Ok(Seen { shelf, trust: campaign.trust()?, signed: BTreeSet::new(), trouble: String::new() })
    }

    /// Whether workers leave a cell as it is there.
    fn has(&mut self, key: &str) -> bool {
        let is_there = self.shelf.has(key);
        let Some(trust) = self.trust.as_ref().filter(|_| is_there) else { return is_there };
        if self.signed.contains(key) {
            return true;
        }
        let is_signed =
            self.shelf.get(key).iter().any(|(_, entry)| entry.as_ref().is_ok_and(|entry| trust.takes(entry)));
        if is_signed {
            self.signed.insert(key.to_owned());
        }
        is_signed
    }

    /// How many cells are there, and how many are neither there nor failed; `None` if that cannot be seen now. A server that is
    /// away for a while ends no worker.
    fn now(&mut self, campaign: &Campaign) -> Option<(usize, usize)> {
        let error = match self.missing(campaign) {
            Ok(found) => return Some(found),
            Err(error) => format!("{error:#}"),
        };
        if error != self.trouble {
            say!("mountmark: {error}; it is tried again");
            self.trouble = error;
        }
        None
    }

    fn missing(&mut self, campaign: &Campaign) -> Result<(usize, usize)> {
        self.shelf.look()?;
        let failed = campaign.failed()?;
        let left = campaign.keys.iter().filter(|key| !failed.contains(*key) && !self.has(key)).count();
        Ok((campaign.keys.len() - left, left))
    }
}

fn start(campaign: &mut Campaign, engine: &mut dyn Engine, on: &On, count: usize, wanted: usize) -> Result<()> {
    // A number above those of all workers would be refused: later ones begin where an earlier one did.
    let numbers: Vec<usize> = (0..count).map(|at| (campaign.stored.started + at) % wanted + 1).collect();
    let program = fs::read_link("/proc/self/exe")?;
    let text = |path: &std::path::Path| path.display().to_string();
    let mut words = vec![text(&program), "work".into(), format!("@{}", text(&campaign.plan()))];
    words.extend(["--expect".into(), text(&campaign.expected()), "--jobs".into(), on.cpus.to_string()]);
    words.extend(on.memory.iter().flat_map(|memory| ["--memory".to_owned(), memory.clone()]));
    let Campaign { folder, name, .. } = &*campaign;
    let names = engine.start(&Job { words: &words, folder, from: &campaign.stored.from, name }, &numbers, wanted)?;
    let (count_text, folder) = (counted(count, "worker"), folder.display());
    say!("mountmark: campaign {name}: {count_text} started; what they print is in {folder}");
    campaign.note(names, count)
}

/// The time that is left if it goes on as it did.
fn likely((begin, before): (Instant, usize), now: usize, left: usize) -> String {
    let seconds = begin.elapsed().as_secs_f64();
    if now <= before || seconds < 5.0 {
        return String::new();
    }
    let rest = seconds / (now - before) as f64 * left as f64;
    if rest < 90.0 { format!(", about {rest:.0} s left") } else { format!(", about {:.0} min left", rest / 60.0) }
}

/// The last line of each worker's output, each once.
fn last_words(campaign: &Campaign) -> String {
    let entries = fs::read_dir(&campaign.folder).into_iter().flatten().flatten();
    let logs = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "log"));
    let last = |path: std::path::PathBuf| {
        let text = mountmark_input::text(&path, 16 << 20).ok()?;
        text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| mountmark_model::visible(line).into_owned())
    };
    let lines: BTreeSet<String> = logs.filter_map(last).collect();
    if lines.is_empty() { "nothing".into() } else { lines.into_iter().collect::<Vec<_>>().join("; ") }
}

/// The command that watches a campaign.
fn again(campaign: &Campaign, shelf: &Folder) -> String {
    let words = ["mountmark", "campaign", "watch", &campaign.name, "--shelf", &shelf.path.to_string_lossy()];
    common::shell_line(&words.map(str::to_owned))
}

/// What becomes of the workers when the user ends the watch.
fn leave(campaign: &Campaign, engine: &mut dyn Engine, (on, shelf): (&On, &Folder)) -> Result<Ended> {
    if on.outlives() && std::io::stdin().is_terminal() {
        say!("mountmark: the workers can go on without this. End them too? [y/N]");
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if !answer.trim().eq_ignore_ascii_case("y") {
            say!("mountmark: they go on; `{}` watches them again", again(campaign, shelf));
            return Ok(Ended::Left);
        }
    }
    engine.stop(&campaign.stored.workers)?;
    say!("mountmark: the workers of campaign {} were ended; its cells stay on the shelf", campaign.name);
    Ok(Ended::Cancelled)
}

#[cfg(test)]
mod tests {
    use mountmark_lab::CellKey;
    use mountmark_model::{Environment, Outcome};
    use mountmark_shelf::{Access, Entry, Figures, Measured, Signer};

    use super::*;
    use crate::cluster::campaign::Stored;

    #[test]
    fn cells_that_nobody_who_is_trusted_signed_are_missing() {
        let root = tempfile::tempdir().unwrap();
        let shelf = Folder::open(&root.path().join("shelf"), Access::Write).unwrap();
        let signer = Signer::make(&root.path().join("key")).unwrap();
        let list = root.path().join("list");
        fs::write(&list, format!("{} Ann\n", signer.public())).unwrap();
        let entry = Entry {
            key: CellKey::of(serde_json::json!({})),
            figures: Figures { outcome: Outcome::Ok, events: Vec::new() },
            measured: Measured { host: "n1".into(), at: 1, environment: Environment::default(), log: String::new() },
            signed: None,
        };
        shelf.put(&entry.pack().unwrap(), &|_| true).unwrap();
        let (on, from, folder) = ("ssh:hosts".into(), root.path().into(), root.path().join("campaign"));
        let stored = Stored { on, from, workers: Vec::new(), started: 0, trust: Some(list) };
        let keys = vec![entry.key.sha256.clone()];
        let mut campaign = Campaign { name: "one".into(), folder, keys, stored };
        let mut seen = Seen::new(&campaign, &shelf).unwrap();
        assert_eq!(seen.missing(&campaign).unwrap(), (0, 1));
        shelf.put(&entry.pack_signed(&signer).unwrap(), &|there| there.signed.is_some()).unwrap();
        assert_eq!(seen.missing(&campaign).unwrap(), (1, 0));
        campaign.stored.trust = None;
        assert_eq!(Seen::new(&campaign, &shelf).unwrap().missing(&campaign).unwrap(), (1, 0));
    }

    #[test]
    fn the_command_that_watches_again_can_be_typed() {
        let root = tempfile::tempdir().unwrap();
        let shelf = Folder::open(&root.path().join("Ann's cells"), Access::Write).unwrap();
        let stored = Stored { on: "slurm".into(), from: "/".into(), workers: Vec::new(), started: 0, trust: None };
        let campaign = Campaign { name: "one".into(), folder: "/".into(), keys: Vec::new(), stored };
        let typed = shlex::split(&again(&campaign, &shelf)).unwrap();
        assert_eq!(typed[..4], ["mountmark", "campaign", "watch", "one"]);
        assert_eq!(typed[4..], ["--shelf", &*shelf.path.to_string_lossy()]);
    }
}
