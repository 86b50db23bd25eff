//! What may be wrong on a campaign's shelf: equal doubles, damaged entries, and a forged one.

use std::fs;
use std::path::{Path, PathBuf};

use mountmark_shelf::Entry;

use crate::lab::{Lab, Ran};
use crate::shelf::{entries, forge, slower};

/// The cache of the machines of the campaign, which are one here.
pub const OWN: &str = "cells-of-campaign";

pub struct Wrongs {
    shelf: PathBuf,
    /// The shelf of somebody else, who measured some of the campaign's cells.
    others: PathBuf,
    /// The entries there.
    doubles: Vec<PathBuf>,
    damaged: usize,
    made: Option<Made>,
}

/// What was made.
struct Made {
    /// In the place of one that was sound, with right hashes.
    forged: PathBuf,
    damaged: Vec<PathBuf>,
}

impl Wrongs {
    /// Measures so many doubles, one a repeat; so many entries are damaged later.
    pub fn new(lab: &Lab, suite: &str, shelf: &Path, (doubles, damaged): (usize, usize)) -> Wrongs {
        let others = lab.path("shelf-of-others");
        if doubles > 0 {
            let (folder, repeats) = (others.to_string_lossy(), doubles.to_string());
            let plan = ["work", "run", "--suite", suite, "--fs", "ext2", "--repeat", &repeats, "--shelf", &folder];
            lab.command(&plan).ended_with(0).says(&["0 were there, 0 left"]);
        }
        let found = entries(&others);
        assert_eq!(found.len(), doubles);
        Wrongs { shelf: shelf.to_owned(), others, doubles: found, damaged, made: None }
    }

    fn place(&self, double: &Path) -> PathBuf {
        let name = double.file_name().unwrap();
        self.shelf.join(&name.to_str().unwrap()[..2]).join(name)
    }

    /// Once all of them are on the campaign's shelf: forges the first double, damages others, and copies the doubles there.
    pub fn make_once(&mut self, lab: &Lab) {
        let places: Vec<PathBuf> = self.doubles.iter().map(|double| self.place(double)).collect();
        let Some(first) = places.first() else { return };
        if self.made.is_some() || !places.iter().all(|place| place.exists()) {
            return;
        }
        let mut damaged: Vec<PathBuf> = entries(&self.shelf);
        damaged.retain(|path| !places.contains(path) && Entry::read(path).is_ok());
        damaged.truncate(self.damaged);
        if damaged.len() < self.damaged {
            return;
        }
        for (number, path) in damaged.iter().enumerate() {
            let bytes = fs::read(path).unwrap();
            // Nothing, half of it, all but a byte.
            let length = [0, bytes.len() / 2, bytes.len() - 1][number % 3];
            fs::write(path, &bytes[..length]).unwrap();
            // The machine that prints the table did not measure it itself.
            let _ = fs::remove_file(lab.path(OWN).join("cells").join(path.strip_prefix(&self.shelf).unwrap()));
        }
        let forged = forge(first, slower);
        fs::remove_file(first).unwrap();
        let [shelf, others] = [&self.shelf, &self.others].map(|folder| folder.to_string_lossy());
        let copied = lab.command(&["shelf", "import", &others, "--shelf", &shelf]).ended_with(0);
        let there = format!("1 cell copied to {shelf}, {} were there", places.len() - 1);
        assert!(copied.stdout.contains(&there), "{}", copied.text());
        self.made = Some(Made { forged, damaged });
    }

    /// Asserts that a run named the forged entry; removes it, and returns the run with these words, which must name the damaged.
    pub fn found(&self, lab: &Lab, campaign: Ran, words: &[&str]) -> Ran {
        let made = self.made.as_ref().expect("the campaign ended before anything was wrong");
        let forged = made.forged.to_string_lossy();
        campaign.says(&["one cell has two results", "forger", "elapsed of mkfs is", &forged]);
        fs::remove_file(&made.forged).unwrap();
        let run = lab.run(words);
        for path in &made.damaged {
            // Those that the campaign's run met before it ended were measured and written anew.
            let shown = path.to_string_lossy();
            assert!(run.stderr.contains(&*shown) || campaign.stderr.contains(&*shown), "{shown}: {}", run.text());
            Entry::read(path).unwrap();
        }
        run
    }
}
