//! What is kept of a campaign over one or more configurations, and in which pieces: one is written as soon as it is
//! known, so that little is lost when the program ends.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::application::Application;
use crate::campaign::{Campaign, Tried};
use crate::oracle::{Level, Promises};
use crate::states::Device;
use crate::trace::Policy;
use crate::workload::{Generator, Workload};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// File systems and variants, as on the command line.
    pub configurations: Vec<String>,
    /// Workloads that were named.
    pub workloads: Vec<Workload>,
    /// Workloads that are generated after those: of how many operations, and how many.
    pub generate: Option<(u8, u64)>,
    pub policies: Vec<Policy>,
    pub device: Device,
    pub seed: u64,
    /// Wall time for each configuration in seconds.
    pub budget: u64,
    /// Size of the disk in bytes.
    pub disk_size: u64,
    /// The guest's kernel, as on the command line.
    pub kernel: String,
    /// Most images of one tier at one moment.
    pub images: usize,
    /// Of each workload: in how many recoveries the power is cut again.
    pub recoveries: usize,
    /// Whether findings are shrunk.
    pub shrink: bool,
    /// Of applications.
    #[serde(default)]
    pub pauses: Pauses,
}

/// In which recordings of applications time passes between the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pauses {
    /// Each application is recorded without them, and with pauses drawn by the campaign's seed.
    #[default]
    Both,
    None,
    /// In all recordings, drawn by this seed.
    Drawn(u64),
}

impl Asked {
    /// What is asked of a file system that promises this: of a log, whose operations nobody knows, that it mounts and
    /// passes its check.
    pub fn judged_by(&self, promises: Promises) -> Promises {
        match self.workloads.iter().any(|workload| workload.log.is_some()) {
            true => {
                Promises { levels: promises.levels.iter().filter(|level| *level == Level::L0).collect(), ..promises }
            }
            false => promises,
        }
    }

    /// Workloads that were named, an application with and without pauses.
    pub fn named(&self) -> Vec<Workload> {
        let paused = |workload: &Workload, seed| {
            let application = workload.application.as_deref().filter(|application| application.steps.len() > 1)?;
            let application = Some(Box::new(Application { pauses: Some(seed), ..application.clone() }));
            Some(Workload { application, ..workload.clone() })
        };
        let of = |workload: &Workload| match self.pauses {
            Pauses::None => vec![workload.clone()],
            Pauses::Both => std::iter::once(workload.clone()).chain(paused(workload, self.seed)).collect(),
            Pauses::Drawn(seed) => vec![paused(workload, seed).unwrap_or_else(|| workload.clone())],
        };
        self.workloads.iter().flat_map(of).collect()
    }

    /// All workloads: those that were named, then those that are generated.
    pub fn workloads(&self) -> Vec<Workload> {
        let mut all = self.named();
        if let Some((length, count)) = self.generate {
            let generator = Generator::new();
            all.extend((0..count).filter_map(|index| generator.workload(length, self.seed, index)));
        }
        all
    }
}

/// A piece of a record, in the order of their making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The first.
    Asked {
        asked: Asked,
        /// The program's version.
        program: String,
        command_line: String,
    },
    /// A configuration begins: all but what was tried.
    Begun(Campaign),
    /// Of the last that has begun.
    Tried {
        /// Its place among all that is to be tried; `None` if it was tried only to find a smaller workload.
        place: Option<usize>,
        tried: Box<Tried>,
    },
    /// The last that has begun has ended, or the user stopped it.
    Ended {
        seconds: f64,
        /// [`Campaign::prepared`].
        #[serde(default)]
        prepared: f64,
        cut_short: bool,
        /// Whether it can go on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stopped: bool,
    },
}

/// A record, as far as it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub asked: Asked,
    pub program: String,
    pub command_line: String,
    pub parts: Vec<Part>,
}

/// What is known of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub campaign: Campaign,
    /// What is not to be tried again.
    pub places: BTreeSet<usize>,
    /// Whether it has ended by itself.
    pub ended: bool,
}

impl Record {
    /// # Errors
    /// If the pieces do not begin with what was asked for.
    pub fn from_pieces(pieces: Vec<Piece>) -> Result<Record, String> {
        let mut pieces = pieces.into_iter();
        let Some(Piece::Asked { asked, program, command_line }) = pieces.next() else {
            return Err("it does not begin with what was asked for".into());
        };
        let mut record = Record { asked, program, command_line, parts: Vec::new() };
        pieces.for_each(|piece| record.add(piece));
        Ok(record)
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Asked { .. } => {}
            Piece::Begun(campaign) => {
                // It goes on where it was interrupted.
                if self.part(&campaign.configuration).is_none() {
                    self.parts.push(Part { campaign, places: BTreeSet::new(), ended: false });
                }
            }
            Piece::Tried { place, tried } => {
                if let Some(part) = self.parts.last_mut() {
                    part.places.extend(place);
                    part.campaign.tried.push(*tried);
                }
            }
            Piece::Ended { seconds, prepared, cut_short, stopped } => {
                if let Some(part) = self.parts.last_mut() {
                    part.campaign.seconds += seconds;
                    part.campaign.prepared += prepared;
                    part.campaign.cut_short = cut_short;
                    part.ended = !stopped;
                }
            }
        }
    }

    /// What is known of a configuration.
    pub fn part(&self, configuration: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.campaign.configuration == configuration)
    }

    /// Configurations in the order in which they were asked for, as far as they have begun.
    pub fn campaigns(&self) -> impl Iterator<Item = &Campaign> {
        self.parts.iter().map(|part| &part.campaign)
    }

    /// Whether all that was asked for has ended.
    pub fn is_done(&self) -> bool {
        self.parts.len() == self.asked.configurations.len() && self.parts.iter().all(|part| part.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::Explored;

    #[test]
    fn pieces_make_a_record_that_knows_what_is_left() {
        let asked = Asked {
            configurations: vec!["a".into(), "b".into()],
            workloads: vec!["creat foo; fsync foo".parse().unwrap()],
            generate: Some((1, 3)),
            policies: vec![Policy::Fifo],
            device: "sector".parse().unwrap(),
            seed: 1,
            budget: 60,
            disk_size: 1 << 29,
            kernel: "6.12".into(),
            images: 256,
            recoveries: 1,
            shrink: true,
            pauses: Pauses::Both,
        };
        assert_eq!(asked.workloads().len(), 4);
        let steps = |count: usize| {
            let application = Application { steps: vec!["true".into(); count], ..Application::default() };
            Workload { application: Some(Box::new(application)), ..Workload::default() }
        };
        let pauses = |pauses, count| -> Vec<Option<u64>> {
            let asked = Asked { pauses, workloads: vec![steps(count)], ..asked.clone() };
            asked.named().iter().map(|workload| workload.application.as_ref().unwrap().pauses).collect()
        };
        assert_eq!(pauses(Pauses::Both, 2), [None, Some(1)], "half of the recordings, by the campaign's seed");
        assert_eq!(pauses(Pauses::Both, 1), [None], "nothing is between the steps of one");
        assert_eq!((pauses(Pauses::None, 2), pauses(Pauses::Drawn(7), 2)), (vec![None], vec![Some(7)]));
        let workload = asked.workloads()[0].clone();
        let begun = |configuration: &str| {
            Piece::Begun(Campaign {
                configuration: configuration.into(),
                kernel: "6.12".into(),
                kernel_option: String::new(),
                disk_size: 1 << 29,
                disks: 1,
                device: asked.device,
                promises: crate::oracle::Promises::least(),
                undocumented: None,
                has_check: true,
                seed: 1,
                tried: Vec::new(),
                seconds: 0.0,
                prepared: 0.0,
                cut_short: false,
            })
        };
        let tried = |place| Piece::Tried {
            place,
            tried: Box::new(Tried {
                workload: workload.clone(),
                policy: Policy::Fifo,
                shrunk: place.is_none(),
                explored: Explored::default(),
            }),
        };
        let head = Piece::Asked { asked: asked.clone(), program: "1".into(), command_line: "crash".into() };
        let mut pieces = vec![head, begun("a"), tried(Some(0)), tried(None)];
        let text = serde_json::to_string(&pieces).unwrap();
        pieces = serde_json::from_str(&text).unwrap();
        let mut record = Record::from_pieces(pieces).unwrap();
        assert_eq!(record.part("a").unwrap().places, BTreeSet::from([0]));
        assert_eq!(record.part("a").unwrap().campaign.tried.len(), 2);
        // It was interrupted, and goes on.
        let ended = |seconds, cut_short, stopped| Piece::Ended { seconds, prepared: 0.5, cut_short, stopped };
        record.add(ended(9.0, false, true));
        assert!(!record.part("a").unwrap().ended);
        record.add(begun("a"));
        record.add(tried(Some(1)));
        record.add(ended(2.0, false, false));
        assert!(record.part("a").unwrap().ended && !record.is_done());
        assert_eq!(record.part("a").unwrap().campaign.seconds, 11.0, "of all sittings");
        record.add(begun("b"));
        record.add(ended(1.0, true, false));
        assert!(record.is_done() && record.campaigns().count() == 2);
        Record::from_pieces(vec![tried(None)]).unwrap_err();
    }
}
