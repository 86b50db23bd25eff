//! What safety costs: of each configuration what it promises, what power cuts showed, and the columns of its suite.

use anyhow::Result;
use mountmark_crash::campaign::Campaign;
use mountmark_document::forms::{Block, Last, Object, Rows, Subject, Table};
use mountmark_model::{Column, Metric, heading};
use mountmark_record::RunRecord;
use serde_json::json;

use crate::figures::say::quantity::quantity;
use crate::found::Findings;
use crate::run::show::about::about;
use crate::safety::find::AfterCut;
use crate::safety::say as words;

#[derive(Clone, Debug)]
pub struct Safety<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
    /// Of the run's suite.
    pub columns: &'a [Column],
    /// What power cuts showed; those of other configurations are left out.
    pub campaigns: &'a [Campaign],
}

impl Subject for Safety<'_> {
    const COMMAND: &'static str = "show --safety";
    const NAME: &'static str = "what safety costs";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(parts);
    const ROWS: Option<fn(&Self, &mut Rows) -> Result<()>> = Some(rows);
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(object);
}

/// One configuration.
struct Row<'a> {
    name: &'a str,
    safety: &'a AfterCut,
    campaign: Option<&'a Campaign>,
    /// Of the run.
    kernel: Option<&'a str>,
    /// By column.
    figures: Vec<Option<f64>>,
}

impl Safety<'_> {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.findings.configurations.iter().enumerate().map(|(index, name)| Row {
            name,
            safety: &self.findings.safety[index],
            campaign: self.campaigns.iter().find(|campaign| campaign.configuration == *name),
            kernel: self
                .run
                .cells
                .iter()
                .find(|cell| cell.configuration == *name)
                .map(|cell| &*cell.environment.kernel),
            figures: self.columns.iter().map(|column| self.findings.column(column, index)).collect(),
        })
    }

    fn figure(&self, column: usize, value: Option<f64>) -> String {
        let Some(value) = value else { return "-".into() };
        match self.findings.column_metric(&self.columns[column]) {
            Some(metric) => quantity(metric, value),
            None => format!("{value:.2}"),
        }
    }
}

fn parts(subject: &Safety) -> Vec<Block> {
    let mut head = ["file system", "promises", "power cuts"].map(str::to_owned).to_vec();
    head.extend(subject.columns.iter().map(|column| column.title.clone()));
    let row = |row: Row| {
        let figures = row.figures.iter().enumerate().map(|(column, value)| subject.figure(column, *value));
        let promises = words::levels(row.safety.promises.levels);
        [heading(row.name).into_owned(), promises, words::shown(row.campaign, row.kernel)]
            .into_iter()
            .chain(figures)
            .collect()
    };
    let mut parts = about(subject.run);
    parts.push(Block::Table(Table::new(head, subject.rows().map(row), 1, Last::Figure)));
    parts.extend(
        subject
            .rows()
            .filter_map(|row| words::undocumented(&heading(row.name), row.safety.undocumented.as_deref()))
            .map(Block::Item),
    );
    parts.extend(words::broken_promises(words::known(subject.findings, |_| true)).into_iter().map(Block::Item));
    parts.push(Block::Heading(words::LEVELS.into()));
    parts.extend(words::all_levels().map(Block::Item));
    parts.push(Block::Text(words::HOW.into()));
    parts
}

fn rows(subject: &Safety, out: &mut Rows) -> Result<()> {
    out.head("configuration,figure,value")?;
    for row in subject.rows() {
        let images = row.campaign.map(|campaign| campaign.total(|explored| explored.states).to_string());
        let broken = row.campaign.map(|campaign| words::levels(words::broken(campaign)));
        let mut line = |figure: &str, value: &str| out.line([row.name, figure, value]);
        line("promises", &words::levels(row.safety.promises.levels))?;
        line("images", images.as_deref().unwrap_or_default())?;
        line("promises broken", broken.as_deref().unwrap_or_default())?;
        line("kernel of images", row.campaign.map_or("", |campaign| &campaign.kernel))?;
        for (column, value) in subject.columns.iter().zip(&row.figures) {
            line(&column.title, &value.map(|value| value.to_string()).unwrap_or_default())?;
        }
    }
    Ok(())
}

fn object(subject: &Safety, out: &mut Object) -> Result<()> {
    let one = |row: Row| {
        let campaign = row.campaign.map(|campaign| {
            json!({ "images": campaign.total(|explored| explored.states), "kernel": campaign.kernel,
                    "broken": words::broken(campaign) })
        });
        let figures: Vec<_> = subject
            .columns
            .iter()
            .zip(&row.figures)
            .map(|(column, value)| {
                let unit = subject.findings.column_metric(column).map(Metric::unit_text);
                json!({ "title": column.title, "task": column.task, "metric": column.metric, "per": column.per,
                        "unit": unit, "value": value })
            })
            .collect();
        json!({ "configuration": row.name, "promises": row.safety.promises, "undocumented": row.safety.undocumented,
                "faults": row.safety.faults,
                "power_cuts": campaign, "figures": figures })
    };
    out.list("configurations", subject.rows().map(one))
}
