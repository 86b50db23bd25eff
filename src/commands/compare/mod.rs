//! `mountmark compare`: compares a run with another run, a real machine's, published figures, or claims.

pub(super) mod agreement;
pub(super) mod claims;
pub(super) mod runs;
pub(super) mod study;

use anyhow::Result;
use clap::Args;

use crate::common::{StoreOptions, WrongUse};

/// Compare two runs, or a run with a published study or with what the old studies claimed
#[derive(Args)]
#[command(
    after_help = "Examples:\n  mountmark compare 20260131-0902 latest\n  mountmark compare 20260131-0902 latest --fail-on 5%\n  mountmark compare latest --study piszcz-2006\n  mountmark compare latest --study 'piszcz-2006#1'     its older run\n  mountmark compare latest --claims\n  mountmark compare latest --claims --anyway           whatever the run's suite and machine\n  mountmark compare 20260131-0902 latest --claims      also what changed between a study's runs\n  mountmark compare VIRTUAL REAL --agreement          how far the model's order is a real machine's"
)]
pub struct Arguments {
    /// One run and --study or --claims; or two runs, the earlier first, with or without --claims
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    runs: Vec<String>,
    /// Set the run beside the figures of this study, NAME or NAME#RUN; `mountmark list studies` has them all
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Judge the claims of all studies, or of --study alone, by the run; with two runs, the earlier stands for a study's
    /// older run
    #[arg(long)]
    claims: bool,
    /// Say how far the order of file systems in the virtual lab's run agrees with that on a real machine: the run of the
    /// virtual lab first
    #[arg(long, conflicts_with_all = ["study", "claims"])]
    agreement: bool,
    #[command(flatten)]
    between: runs::Options,
    /// How to print: table, markdown, csv, json or html [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    store: StoreOptions,
}

pub fn run(arguments: Arguments) -> Result<u8> {
    if arguments.agreement {
        return agreement::run(&arguments);
    }
    match (&arguments.runs[..], &arguments.study, arguments.claims) {
        ([run], Some(study), false) if !arguments.between.anyway => study::run(&arguments, run, study),
        ([run], _, true) => claims::run(&arguments, None, run),
        ([before, after], _, true) => claims::run(&arguments, Some(before), after),
        ([before, after], None, false) => runs::run(&arguments, before, after),
        ([_], Some(_), false) => Err(WrongUse("--anyway is for two runs, or for --claims".into()).into()),
        ([_], ..) => {
            Err(WrongUse("compare one run with what? Name a second run, --study STUDY or --claims".into()).into())
        }
        _ => Err(WrongUse("--study takes one run".into()).into()),
    }
}
