//! Effects of factors as tables.

use std::collections::BTreeSet;

use mountmark_document::forms::{Block, Last, Table};

use crate::effects::find::curves::{LevelCurve, LevelLine};
use crate::effects::find::{Effect, EffectAt, Effects};
use crate::effects::say;

/// Tables of levels that stand open; more are folded.
const OPEN: usize = 4;

/// The speeds of a curve, by level.
pub(crate) fn levels(effects: &Effects, curve: &LevelCurve) -> Table {
    let row = |(at, text): (usize, &String)| {
        let cells = curve.lines.iter().map(|line| speed(line, at));
        std::iter::once(text.clone()).chain(cells).collect()
    };
    let found = &effects.factors[curve.factor];
    let head = std::iter::once(found.name.clone()).chain(curve.lines.iter().map(|line| line.configuration.clone()));
    let rows = found.levels.iter().enumerate().map(row);
    Table { caption: say::whose(curve).to_owned(), ..Table::new(head, rows, 1, Last::Figure) }
}

/// The speed of a line at a level, with a mark where a step ends there.
pub(crate) fn speed(line: &LevelLine, level: usize) -> String {
    let ends = line.steps.iter().any(|step| step.to == level);
    line.speeds[level].map_or("-".to_owned(), |speed| format!("{}{}", say::signed(speed), if ends { " ≠" } else { "" }))
}

/// Each level beside the first, by sentences and tables.
pub(crate) fn beside_first(effects: &Effects) -> Vec<Block> {
    let mut out: Vec<Block> =
        say::sentences(effects).into_iter().chain(say::orders(effects)).map(Block::Item).collect();
    out.push(Block::Text(say::OVER.into()));
    out.extend(say::no_speeds(effects).map(Block::Text));
    let all = effects.tasks.iter().flat_map(|task| &task.effects);
    let levels: BTreeSet<(usize, usize)> = all.map(|effect| (effect.factor, effect.level)).collect();
    let count = levels.len();
    let tables = levels.into_iter().flat_map(|level| {
        let left_out = say::left_out(effects, level).map(Block::Text);
        std::iter::once(Block::Table(table(effects, level))).chain(left_out)
    });
    let tables: Vec<Block> = tables.collect();
    match count {
        0..=OPEN => out.extend(tables),
        many => out.push(Block::Fold(format!("{many} tables: each level beside the first"), tables)),
    }
    out
}

/// A row for each task, and a column for each place.
fn table(effects: &Effects, (factor, level): (usize, usize)) -> Table {
    let of_task = |found: &'_ [Effect]| found.iter().position(|one| (one.factor, one.level) == (factor, level));
    let rows: Vec<(String, &Effect)> = effects
        .tasks
        .iter()
        .filter_map(|task| {
            let name = task.task.clone().unwrap_or_else(|| "all tasks".into());
            Some((name, &task.effects[of_task(&task.effects)?]))
        })
        .collect();
    let all = rows.iter().flat_map(|(_, effect)| &effect.at);
    let places: BTreeSet<(usize, usize)> = all.map(|at| (at.factor, at.level)).collect();
    let cell = |effect: &Effect, place: &(usize, usize)| {
        let at = effect.at.iter().find(|at| (at.factor, at.level) == *place);
        at.map_or("-".to_owned(), |at: &EffectAt| {
            format!("{}{}", say::gain(&at.gain), if at.differs { " ≠" } else { "" })
        })
    };
    let overall = |effect: &Effect| {
        let interval = effect
            .gain
            .interval
            .map(|interval| format!("\n{} to {}", say::signed(interval.low), say::signed(interval.high)));
        format!("{}{}", say::gain(&effect.gain), interval.unwrap_or_default())
    };
    let row = |(name, effect): &(String, &Effect)| {
        let at = places.iter().map(|place| cell(effect, place));
        [name.clone(), overall(effect)].into_iter().chain(at).collect()
    };
    let caption = format!("{} beside {}", say::level(effects, factor, level), say::level(effects, factor, 0));
    let head = places.iter().map(|(factor, level)| say::level(effects, *factor, *level));
    let head = [caption.clone(), "over all".into()].into_iter().chain(head);
    Table { caption, ..Table::new(head, rows.iter().map(row), 1, Last::Figure) }
}
