//! Explores: runs a campaign, keeps what it finds, and says how far it is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use mountmark_crash::campaign::Campaign;
use mountmark_crash::record::{Asked, Piece, Record};
use mountmark_findings::{Cases, Crash};
use mountmark_lab::emulator::Witnesses;
use mountmark_lab::image::kernel::Kernel;
use mountmark_model::{Cell, Configuration, Study, heading};
use mountmark_plan::Catalogue;
use mountmark_record::{Campaigns, RunId, Writing};
use mountmark_run::crash::campaign::{CampaignProgress, End, Ended, Work};

use super::Stop;
use crate::common::{self, StoreOptions};

/// Time between two lines of progress.
const PACE: Duration = Duration::from_secs(5);

/// What it takes to run a campaign.
pub(super) struct Effort<'a> {
    pub store: &'a StoreOptions,
    pub catalogue: &'a Catalogue,
    pub configurations: &'a [Configuration],
    pub jobs: Option<usize>,
    pub format: Option<&'a str>,
    /// Whether the cases of studies are shown, and not findings.
    pub cases: bool,
    pub stop: &'a Stop,
}

impl Effort<'_> {
    /// A campaign from its start; says what it found.
    pub fn begin(&self, asked: Asked) -> Result<u8> {
        match self.collect(asked)? {
            Some((id, record)) => self.say(&id, &record),
            None => Ok(self.stop.code()),
        }
    }

    /// A campaign from its start; `None` if the user ended it.
    pub fn collect(&self, asked: Asked) -> Result<Option<(RunId, Record)>> {
        let (lab, cells) = super::lab(self.catalogue, &asked, self.configurations)?;
        let first = Piece::Asked {
            asked: asked.clone(),
            program: env!("CARGO_PKG_VERSION").into(),
            command_line: common::command_line(std::env::args()),
        };
        let (id, writing) = Campaigns::beside(&self.store.path()).begin(&first)?;
        let record = Record::from_pieces(vec![first]).expect("the first piece is what was asked for");
        Ok(self.go_on(&id, record, writing, &lab, &cells)?.map(|record| (id, record)))
    }

    /// What is left of a campaign; `None` if the user ended it.
    pub fn go_on(
        &self,
        id: &RunId,
        mut record: Record,
        mut writing: Writing,
        lab: &Witnesses,
        cells: &[Cell],
    ) -> Result<Option<Record>> {
        for cell in cells {
            let configuration = &cell.configuration.name;
            if record.part(configuration).is_some_and(|part| part.ended) {
                continue;
            }
            let places = record.part(configuration).map(|part| part.places.clone()).unwrap_or_default();
            let begun = Piece::Begun(head(&record.asked, lab, cell)?);
            writing.add(&begun)?;
            record.add(begun);
            if self.explore(lab, cell, &places, &mut record, &mut writing)? == Ended::Stopped {
                let out = common::out_option(&self.store.path());
                say!("mountmark: ended; `mountmark crash resume {id}{out}` goes on");
                return Ok(None);
            }
        }
        Ok(Some(record))
    }

    /// Prints what a campaign found; returns the exit code.
    pub fn say(&self, id: &RunId, record: &Record) -> Result<u8> {
        let campaigns: Vec<Campaign> = record.campaigns().cloned().collect();
        match self.cases {
            true => print_cases(&campaigns, self.catalogue, self.format)?,
            false => common::show(&Crash(&campaigns), self.format)?,
        };
        let out = common::out_option(&self.store.path());
        if campaigns.iter().any(|campaign| !campaign.causes().is_empty()) {
            say!(
                "mountmark: `mountmark crash show {id} --finding 1{out}` shows the order of writes of the first finding"
            );
        }
        let has_failed = campaigns.iter().any(Campaign::has_failed);
        let is_lacking = campaigns.iter().any(Campaign::is_empty)
            || campaigns.iter().flat_map(Campaign::chosen).any(|tried| tried.explored.error.is_some());
        for campaign in campaigns.iter().filter(|campaign| campaign.is_empty()) {
            say!("mountmark: {}: no image was made, so nothing is known of it", heading(&campaign.configuration));
        }
        Ok(match (has_failed, is_lacking) {
            (true, _) => common::FAILED,
            (false, true) => common::CANNOT_RUN,
            (false, false) => common::DONE,
        })
    }

    fn explore(
        &self,
        lab: &Witnesses,
        cell: &Cell,
        places: &BTreeSet<usize>,
        record: &mut Record,
        writing: &mut Writing,
    ) -> Result<Ended> {
        let workloads = record.asked.workloads();
        let policies = record.asked.policies.clone();
        let promises = record.asked.judged_by(cell.configuration.promises().0);
        let begun = Instant::now();
        let work = Work {
            lab,
            cell,
            promises,
            device: record.asked.device,
            seed: record.asked.seed,
            images: record.asked.images,
            recoveries: record.asked.recoveries,
            workloads: &workloads,
            policies: &policies,
            budget: Duration::from_secs(record.asked.budget),
            sharing: record.asked.named().len(),
            jobs: self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            shrink: record.asked.shrink,
        };
        let heading = cell.configuration.heading();
        let mut progress = Progress::new(&heading, work.places(), places.len());
        let End { ended, prepared } = work.run(places, self.stop, |CampaignProgress { place, tried }| {
            progress.add(place.is_some(), &tried);
            let piece = Piece::Tried { place, tried: Box::new(tried) };
            writing.add(&piece)?;
            record.add(piece);
            Ok(())
        })?;
        let piece = Piece::Ended {
            seconds: begun.elapsed().as_secs_f64(),
            prepared: prepared.as_secs_f64(),
            cut_short: ended == Ended::Late,
            stopped: ended == Ended::Stopped,
        };
        writing.add(&piece)?;
        record.add(piece);
        progress.end();
        Ok(ended)
    }
}

/// What campaigns say of the cases of studies.
pub(super) fn print_cases(campaigns: &[Campaign], catalogue: &Catalogue, format: Option<&str>) -> Result<u8> {
    let studies: Vec<&Study> = catalogue.list::<Study>().filter(|study| !study.cases.is_empty()).collect();
    let subject = Cases {
        cases: mountmark_crash::cases::cases(&studies, campaigns),
        claims: mountmark_crash::cases::claims(&studies, campaigns),
        hurried: mountmark_crash::cases::hurried(campaigns),
    };
    common::show(&subject, format)
}

/// All that is known of a campaign before it begins.
fn head(asked: &Asked, lab: &Witnesses, cell: &Cell) -> Result<Campaign> {
    let (promises, undocumented) = cell.configuration.promises();
    let promises = asked.judged_by(promises);
    let kernel = lab.environment(cell)?.kernel;
    // A kernel of one's own is named by its path, and not by its release.
    let kernel_option = if Kernel::is_own(&asked.kernel) { asked.kernel.clone() } else { kernel.clone() };
    Ok(Campaign {
        configuration: cell.configuration.name.clone(),
        kernel,
        kernel_option,
        disk_size: asked.disk_size,
        disks: cell.configuration.disks(),
        device: asked.device,
        promises,
        undocumented,
        has_check: cell.configuration.base().image_check_command("").is_some(),
        seed: asked.seed,
        tried: Vec::new(),
        seconds: 0.0,
        prepared: 0.0,
        cut_short: false,
    })
}

/// Lines of progress: a finding at once, everything else from time to time.
struct Progress<'a> {
    configuration: &'a str,
    all: usize,
    done: usize,
    images: usize,
    findings: BTreeSet<String>,
    begun: Instant,
    last: Instant,
}

impl Progress<'_> {
    fn new(configuration: &str, all: usize, done: usize) -> Progress<'_> {
        let now = Instant::now();
        Progress { configuration, all, done, images: 0, findings: BTreeSet::new(), begun: now, last: now }
    }

    fn add(&mut self, counts: bool, tried: &mountmark_crash::campaign::Tried) {
        self.done += usize::from(counts);
        self.images += tried.explored.states;
        for finding in tried.explored.findings.iter().filter(|finding| finding.promised) {
            let signature = finding.fault.signature(&tried.workload);
            if tried.shrunk || !self.findings.insert(signature.clone()) {
                continue;
            }
            say!("mountmark: {}: {signature}: {}", self.configuration, tried.workload);
        }
        if self.last.elapsed() > PACE {
            self.say();
        }
    }

    fn say(&mut self) {
        self.last = Instant::now();
        let rate = self.images as f64 / self.begun.elapsed().as_secs_f64().max(0.001);
        let findings = mountmark_model::counted(self.findings.len(), "finding");
        say!(
            "mountmark: {}: {} of {} runs, {} images, {rate:.0} a second, {findings}",
            self.configuration,
            self.done,
            self.all,
            self.images
        );
    }

    fn end(mut self) {
        self.say();
    }
}
