//! The answer for every format.

use anyhow::Result;
use mountmark_document::forms::{Block, Last, Object, Subject, Table, list};
use serde::Serialize;

use crate::advice::find::{Advice, LeftOut, Recipe, Screened, Tried, Turn};
use crate::advice::say;
use crate::shell_word;

/// A search's answer.
#[derive(Clone, Copy, Debug)]
pub struct Advised<'a>(pub &'a Advice);

impl Advised<'_> {
    /// How its files for programs begin, by the names of formats.
    pub const STARTS: [(&'static str, &'static str); 1] = [("json", "{\"work\":")];
}

impl Subject for Advised<'_> {
    const COMMAND: &'static str = "advise";
    const NAME: &'static str = "advice";
    const BLOCKS: Option<fn(&Self) -> Vec<Block>> = Some(|advised| blocks(advised.0));
    const OBJECT: Option<fn(&Self, &mut Object) -> Result<()>> = Some(|advised, out| {
        let Advised(advice) = advised;
        out.head(&Worded { advice, sentence: say::headline(advice) })
    });
}

/// An answer and its sentence.
#[derive(Serialize)]
struct Worded<'a> {
    #[serde(flatten)]
    advice: &'a Advice,
    sentence: String,
}

fn blocks(advice: &Advice) -> Vec<Block> {
    let fact = |label: &str, text: String| Block::Fact(label.into(), text);
    let mut out =
        vec![Block::Title(format!("Which file system for {}", advice.work)), Block::Text(say::headline(advice))];
    out.extend(recipe(&advice.recipe));
    out.extend(say::before(advice).map(|text| fact("before", text)));
    out.extend(say::over_defaults(advice).map(|text| fact("its options", text)));
    out.push(fact("power cut", advice.after_cut.clone()));
    out.extend(advice.known_faults.iter().map(|known| fact("known fault", known.clone())));
    out.extend(advice.risks.iter().map(|risk| fact("risk", risk.clone())));
    out.push(fact("elsewhere", say::turns(advice)));
    out.push(fact("measured on", say::ground(advice)));
    if !advice.needs.is_empty() {
        out.push(fact("asked for", advice.needs.join(" ")));
    }
    list(&mut out, "Why", &advice.why);
    if !advice.turns.is_empty() || !advice.costs.is_empty() {
        out.push(Block::Heading("When it would be another".into()));
    }
    if !advice.turns.is_empty() {
        out.push(Block::Text(say::SITUATIONS.into()));
        out.push(Block::Table(turns(&advice.turns)));
    }
    out.extend(say::costs(advice).into_iter().map(Block::Item));
    out.extend(power_cuts(advice));
    if !advice.screened.is_empty() {
        out.push(Block::Heading("What options do".into()));
        out.push(Block::Text(say::OPTIONS.into()));
        out.push(Block::Table(screened(&advice.screened)));
    }
    out.push(Block::Heading("All that was measured".into()));
    out.push(Block::Text(say::measured(advice)));
    // Of file systems that few repeats left behind, the best.
    let is_known = |one: &Tried, before: &[Tried]| {
        one.repeats > 1 || before.iter().all(|known| filesystem(known) != filesystem(one))
    };
    let (often, once): (Vec<_>, Vec<_>) =
        advice.tried.iter().enumerate().partition(|(at, one)| is_known(one, &advice.tried[..*at]));
    out.push(Block::Table(tried(advice, &often.into_iter().map(|(_, one)| one).collect::<Vec<_>>())));
    if !once.is_empty() {
        let was = if once.len() == 1 { "was" } else { "were" };
        out.push(Block::Text(format!("{} more {was} measured once, in the screening.", once.len())));
    }
    list(&mut out, "Not asked", &advice.not_asked);
    let is_option = |left: &&LeftOut| left.what.contains(':');
    let (options, others): (Vec<_>, Vec<_>) = advice.left_out.iter().partition(is_option);
    let left_out: Vec<String> =
        options.iter().chain(&others).map(|left| format!("{}: {}.", left.what, left.why)).collect();
    list(&mut out, "Left out", &left_out);
    if let Some(command) = &advice.confirm {
        out.push(Block::Heading("Confirm it on your own disk".into()));
        out.push(Block::Text(say::confirm(command).into()));
        out.push(Block::Command(command.clone()));
    }
    out.push(fact("runs", advice.runs.join(", ")));
    out
}

fn power_cuts(advice: &Advice) -> Vec<Block> {
    let Some(first) = advice.power_cuts.first() else { return Vec::new() };
    let mut out = vec![Block::Heading("What power cuts showed".into()), Block::Text(say::SMALL.into())];
    out.extend(advice.power_cuts.iter().map(|cuts| Block::Item(say::power_cuts(cuts))));
    let again = |line: &String| {
        let (name, line) = (shell_word(&first.configuration), shell_word(line));
        Block::Command(format!("mountmark crash --fs {name} --kernel {} --workload {line}", advice.kernel))
    };
    out.extend(first.workloads.iter().map(again));
    out
}

/// How it is made and mounted.
fn recipe(recipe: &Recipe) -> Vec<Block> {
    let mut out = Vec::new();
    let lines = [&recipe.mkfs, &recipe.fstab].into_iter().flatten();
    if !recipe.guest.is_empty() {
        let is_all = recipe.mkfs.is_none();
        out.push(Block::Text(if is_all { say::GUEST_ALL } else { say::GUEST }.into()));
        out.extend(recipe.guest.iter().cloned().map(Block::Command));
    }
    if recipe.mkfs.is_some() {
        out.push(Block::Text(say::MAKE.into()));
    }
    out.extend(lines.cloned().map(Block::Command));
    out
}

/// The file system of a configuration, with what it stands on.
fn filesystem(tried: &Tried) -> (&str, &str) {
    let (own, below) = tried.configuration.split_once('@').unwrap_or((&tried.configuration, ""));
    (own.split(':').next().unwrap_or_default(), below)
}

fn turns(turns: &[Turn]) -> Table {
    let row = |turn: &Turn| {
        vec![turn.situation.clone(), turn.beside.clone(), say::cell(&turn.gain), say::order(turn).to_owned()]
    };
    Table::new(["situation", "compared with", "answer faster by", "order"], turns.iter().map(row), 1, Last::Words)
}

fn screened(all: &[Screened]) -> Table {
    let row = |one: &Screened| {
        vec![
            one.filesystem.clone(),
            one.option.clone(),
            one.ratio.map_or("failed".into(), crate::effects::say::signed),
            one.risk.clone().unwrap_or_default(),
        ]
    };
    Table::new(["file system", "option", "faster by", "risk"], all.iter().map(row), 2, Last::Words)
}

fn tried(advice: &Advice, all: &[&Tried]) -> Table {
    let name = |one: &Tried| match advice.left_out.iter().any(|left| left.what == one.configuration) {
        true => format!("{} (left out)", one.configuration),
        false => one.configuration.clone(),
    };
    let row = |one: &&Tried| vec![name(one), one.repeats.to_string(), say::cell(&one.gain)];
    Table::new(["configuration", "repeats", "faster by"], all.iter().map(row), 1, Last::Figure)
}
