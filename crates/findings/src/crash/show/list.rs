//! The campaigns of power cuts that are kept.

use anyhow::Result;
use mountmark_crash::record::Record;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table};
use serde_json::json;

/// Oldest first.
#[derive(Clone, Copy, Debug)]
pub struct CrashList<'a>(pub &'a [CrashListed]);

/// A campaign in a list.
#[derive(Clone, Debug)]
pub struct CrashListed {
    pub id: String,
    /// Whether a process works on it.
    pub running: bool,
    pub record: Record,
}

impl Subject for CrashList<'_> {
    const COMMAND: &'static str = "crash list";
    const NAME: &'static str = "the list of campaigns";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

impl CrashListed {
    fn status(&self) -> &'static str {
        match (self.running, self.record.is_done()) {
            (true, _) => "running",
            (false, true) => "done",
            (false, false) => "interrupted",
        }
    }

    fn sum(&self, of: impl Fn(&mountmark_crash::campaign::Campaign) -> usize) -> String {
        self.record.campaigns().map(of).sum::<usize>().to_string()
    }

    fn cells(&self) -> [String; 6] {
        let broken = |campaign: &mountmark_crash::campaign::Campaign| {
            campaign.causes().iter().filter(|cause| cause.promised).count()
        };
        [
            self.id.clone(),
            self.status().to_owned(),
            self.sum(|campaign| campaign.chosen().count()),
            self.sum(|campaign| campaign.total(|explored| explored.states)),
            self.sum(broken),
            self.record.command_line.clone(),
        ]
    }
}

const HEAD: [&str; 6] = ["campaign", "status", "runs", "images", "promises broken", "command"];

fn parts(CrashList(all): &CrashList) -> Vec<Block> {
    if all.is_empty() {
        return vec![Block::Text("There is no campaign yet; `mountmark crash` makes one.".into())];
    }
    vec![Block::Table(Table::new(HEAD, all.iter().map(|listed| listed.cells().into()), 1, Last::Words))]
}

fn rows(CrashList(all): &CrashList, out: &mut Rows) -> Result<()> {
    out.head("campaign,status,runs,images,promises_broken,command")?;
    all.iter().try_for_each(|listed| out.line(listed.cells().each_ref().map(String::as_str)))
}

fn object(CrashList(all): &CrashList, out: &mut Object) -> Result<()> {
    let one = |listed: &CrashListed| {
        json!({ "campaign": listed.id, "status": listed.status(), "command": listed.record.command_line,
                "asked": listed.record.asked })
    };
    out.list("campaigns", all.iter().map(one))
}
