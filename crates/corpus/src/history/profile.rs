//! A history that ends with files as old, as large and as deep as those of a profile.
//!
//! After the method of Kadekodi, Nagarajan and Ganger ("Geriatrix: Aging what you see and what you don't see", ATC 2018). Files
//! are made until they take the volume. Then as many are made as removed, in random order, each in the class that has most too
//! few or most too many. A file's class of age follows from the operation that made it, as the history's length is known before.

use mountmark_model::{AgeingProfile, Bytes, HistoryOperation};
use mountmark_random::Stream;

use super::{Builder, WrongHistory};

/// Most operations of a history.
const MOST: f64 = 10e6;
/// Larger files than this part of the volume are left out.
const PART: u64 = 16;
/// Fewer files have no distribution.
const LEAST_FILES: f64 = 100.0;
/// The file system is synced after so many new bytes: what is written together is not all that there is.
const SYNCED: u64 = 16 << 20;

/// What is asked of a history that follows a profile.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub profile: AgeingProfile,
    /// How often the volume is written, at most.
    pub overwrites: u32,
    /// What the files take.
    pub volume: Bytes,
}

/// How far a history came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Of 1, how many files have an age as in the profile.
    pub ages: f64,
    /// After so many overwrites all would.
    pub needs: f64,
}

/// Shares of 1 from weights.
fn shares(weights: impl Iterator<Item = u64>) -> Vec<f64> {
    let weights: Vec<u64> = weights.collect();
    let sum: u64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight as f64 / sum as f64).collect()
}

impl Asked {
    /// Classes of size whose files are not too large for the volume, with their shares.
    fn sizes(&self) -> (Vec<u64>, Vec<f64>) {
        let classes = self.profile.sizes.iter().filter(|(size, _)| *size <= self.volume.0 / PART);
        (classes.clone().map(|class| class.0).collect(), shares(classes.map(|class| class.1)))
    }

    /// Why it cannot be.
    pub(super) fn check(&self) -> Result<(), WrongHistory> {
        let mean = |sizes: &[u64], shares: &[f64]| -> f64 {
            sizes.iter().zip(shares).map(|(size, share)| *size as f64 * share).sum()
        };
        let (sizes, shares) = self.sizes();
        let files = self.volume.0 as f64 / mean(&sizes, &shares);
        // Without any class of a weight the mean is not a number.
        if !(files.is_finite() && files >= LEAST_FILES) {
            let whole = Asked { volume: Bytes(u64::MAX), ..self.clone() };
            let (sizes, shares) = whole.sizes();
            let largest = sizes.last().map_or(0, |size| size.saturating_mul(PART));
            let enough =
                largest.max((mean(&sizes, &shares) * LEAST_FILES) as u64).saturating_add(1).next_power_of_two();
            return Err(WrongHistory(format!(
                "{} is too little for files of this profile; size={}MiB is enough",
                self.volume,
                (enough >> 20).max(1)
            )));
        }
        let operations = files * 2.0 * f64::from(self.overwrites);
        if operations > MOST {
            return Err(WrongHistory(format!(
                "it would have {:.0} million operations; with at most {:.0} million they take hours: give fewer overwrites or a smaller size",
                operations / 1e6,
                MOST / 1e6
            )));
        }
        Ok(())
    }
}

/// Records the history.
pub(super) fn record(asked: &Asked, seed: u64, builder: &mut Builder) -> Fit {
    let mut maker = Maker::new(asked, seed, builder);
    maker.fill();
    let needs = maker.settle(asked.overwrites);
    maker.change();
    maker.builder.commit_all();
    Fit { ages: maker.fit(), needs }
}

struct File {
    path: String,
    depth: usize,
    /// The operation that made it.
    born: u64,
}

struct Maker<'a> {
    asked: &'a Asked,
    builder: &'a mut Builder,
    draw: Stream,
    sizes: Vec<u64>,
    /// Shares of files by class of size, age and depth.
    size_shares: Vec<f64>,
    age_shares: Vec<f64>,
    depth_shares: Vec<f64>,
    /// Files by class of age and of size.
    files: Vec<Vec<Vec<File>>>,
    by_age: Vec<usize>,
    by_size: Vec<usize>,
    by_depth: Vec<usize>,
    count: usize,
    live: u64,
    made: u64,
    unsynced: u64,
    /// Operations so far, and at the end.
    now: u64,
    end: u64,
    /// Bytes that may be written.
    most_made: u64,
}

/// By how many files each class has more than its share of `count`.
fn excess<'b>(have: &'b [usize], shares: &'b [f64], count: usize) -> impl Fn(usize) -> f64 + 'b {
    move |at| have[at] as f64 - shares[at] * count as f64
}

/// The class that most lacks files, of those that `may` have one.
fn scarcest(have: &[usize], shares: &[f64], count: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    let excess = excess(have, shares, count);
    let classes = (0..have.len()).filter(|at| shares[*at] > 0.0 && may(*at));
    classes.max_by(|a, b| (-excess(*a)).total_cmp(&-excess(*b)))
}

/// The class that has most too many files, of those that `may` lose one.
fn fullest(have: &[usize], shares: &[f64], count: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    let excess = excess(have, shares, count);
    (0..have.len()).filter(|at| may(*at)).max_by(|a, b| excess(*a).total_cmp(&excess(*b)))
}

impl<'a> Maker<'a> {
    fn new(asked: &'a Asked, seed: u64, builder: &'a mut Builder) -> Maker<'a> {
        let (sizes, size_shares) = asked.sizes();
        let AgeingProfile { ages, depths, .. } = &asked.profile;
        let files = ages.iter().map(|_| sizes.iter().map(|_| Vec::new()).collect()).collect();
        Maker {
            draw: Stream::new(seed, "history/profile"),
            by_age: vec![0; ages.len()],
            by_size: vec![0; sizes.len()],
            by_depth: vec![0; depths.len()],
            age_shares: shares(ages.iter().map(|class| class.1)),
            depth_shares: shares(depths.iter().map(|class| class.1)),
            asked,
            builder,
            sizes,
            size_shares,
            files,
            count: 0,
            live: 0,
            made: 0,
            unsynced: 0,
            now: 0,
            end: 0,
            most_made: 0,
        }
    }

    /// Makes files, their sizes drawn, until they take the volume. All are of the oldest class for now.
    fn fill(&mut self) {
        while let Some(class) = self.drawn().filter(|class| self.live + self.sizes[*class] <= self.asked.volume.0) {
            self.make(class);
        }
    }

    /// A class of size by its share.
    fn drawn(&mut self) -> Option<usize> {
        let mut left = self.draw.below(1 << 53) as f64 / (1_u64 << 53) as f64;
        self.size_shares.iter().position(|share| {
            left -= share;
            left < 0.0
        })
    }

    /// Sets the end: when the ages can be those of the profile, or when the overwrites are done. Returns after how many
    /// overwrites they can.
    ///
    /// Half of the operations make a file. So in the part of the time in which files of a class are made, half as many can be
    /// made as it has operations; the oldest class also has those of the beginning, and no more than it should.
    fn settle(&mut self, overwrites: u32) -> f64 {
        let files = self.count as f64;
        let ages = &self.asked.profile.ages;
        let all = self.greatest_age();
        let mut younger = 0.0;
        let mut needed: f64 = 1.0;
        for (at, (age, _)) in ages.iter().enumerate() {
            let (part, share) = ((age - younger) / all, self.age_shares[at]);
            let is_oldest = at + 1 == ages.len();
            needed =
                needed.max(if is_oldest { ((2.0 * share - 1.0) / part).max(1.0 / part) } else { 2.0 * share / part });
            younger = *age;
        }
        let asked = 1.0 + 2.0 * (f64::from(overwrites) - 1.0);
        self.end = (needed.min(asked) * files) as u64;
        self.most_made = u64::from(overwrites).saturating_mul(self.asked.volume.0);
        // Which of the first files are older than which follows from the end alone.
        self.sort_by_age();
        1.0 + (needed - 1.0) / 2.0
    }

    /// In the profile's unit.
    fn greatest_age(&self) -> f64 {
        self.asked.profile.ages.last().map_or(1.0, |class| class.0)
    }

    /// The class of age that what is made at this operation has at the end.
    fn age_class(&self, born: u64) -> usize {
        let ages = &self.asked.profile.ages;
        let age = self.greatest_age() * (1.0 - born as f64 / self.end.max(1) as f64);
        ages.iter().position(|(most, _)| age <= *most).unwrap_or(ages.len() - 1)
    }

    fn sort_by_age(&mut self) {
        let oldest = self.files.len() - 1;
        for size in 0..self.sizes.len() {
            for file in std::mem::take(&mut self.files[oldest][size]) {
                let class = self.age_class(file.born);
                self.by_age[oldest] -= 1;
                self.by_age[class] += 1;
                self.files[class][size].push(file);
            }
        }
    }

    /// Makes and removes files until the end.
    fn change(&mut self) {
        while self.now < self.end && self.made < self.most_made && self.count > 1 {
            let room = self.asked.volume.0 - self.live;
            let class = match self.draw.below(2) {
                0 => scarcest(&self.by_size, &self.size_shares, self.count + 1, |at| self.sizes[at] <= room),
                _ => None,
            };
            match class {
                Some(class) => self.make(class),
                None => self.remove(),
            }
        }
    }

    fn make(&mut self, size_class: usize) {
        let (size, number) = (self.sizes[size_class], self.now);
        let depth = scarcest(&self.by_depth, &self.depth_shares, self.count + 1, |_| true).unwrap_or(0);
        let (below, _, folders) = self.asked.profile.depths[depth];
        let mut path: String = (1..below).map(|level| format!("d{level}/")).collect();
        if below > 0 {
            path += &format!("s{}/", self.draw.below(folders.max(1).into()));
        }
        path += &format!("f{number}");
        self.builder.put(HistoryOperation::Write { path: &path, size });
        // Before the end is known, all are of the oldest class.
        let age = if self.end == 0 { self.files.len() - 1 } else { self.age_class(number) };
        self.files[age][size_class].push(File { path, depth, born: number });
        self.by_age[age] += 1;
        self.by_size[size_class] += 1;
        self.by_depth[depth] += 1;
        self.count += 1;
        self.now += 1;
        self.live += size;
        self.made += size;
        self.unsynced += size;
        if self.unsynced >= SYNCED {
            self.unsynced = 0;
            self.builder.commit_all();
        }
    }

    /// Removes a file of the class of age that has most too many, and there of such a class of size.
    fn remove(&mut self) {
        let age = fullest(&self.by_age, &self.age_shares, self.count, |age| self.by_age[age] > 0);
        let Some(age) = age else { return };
        let has_some = |size: usize| !self.files[age][size].is_empty();
        let Some(size) = fullest(&self.by_size, &self.size_shares, self.count, has_some) else { return };
        let at = self.draw.below(self.files[age][size].len() as u64) as usize;
        let file = self.files[age][size].swap_remove(at);
        self.builder.put(HistoryOperation::Remove { path: &file.path });
        self.by_age[age] -= 1;
        self.by_size[size] -= 1;
        self.by_depth[file.depth] -= 1;
        self.count -= 1;
        self.now += 1;
        self.live -= self.sizes[size];
    }

    /// Of 1, how many files have an age as in the profile: what is left of 1 without half of the differences of shares.
    fn fit(&self) -> f64 {
        let share = |have: &usize| *have as f64 / self.count.max(1) as f64;
        let differences =
            self.by_age.iter().zip(&self.age_shares).map(|(have, of_profile)| (share(have) - of_profile).abs());
        1.0 - differences.sum::<f64>() / 2.0
    }
}
