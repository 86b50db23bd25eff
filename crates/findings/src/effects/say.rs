//! Sentences about what factors change.

use mountmark_document::number::{and, and_more, capital};
use mountmark_document::text;
use mountmark_model::{counted, heading};
use mountmark_record::RunRecord;

use crate::effects::find::curves::{LevelCurve, LevelLine, Step};
use crate::effects::find::orders::{LevelOrders, TurnedOrder};
use crate::effects::find::{Effect, EffectAt, Effects, FILE_SYSTEM, Gain, OPTIONS, TaskEffects};
use crate::found::Findings;
use crate::group::by_key;
use crate::run::say::again::shell_word;

/// Sentences about single tasks; tables have all.
const MOST: usize = 6;

/// What stands above the tables.
pub(crate) const OVER: &str = "How much faster a level is than the factor's first, as speed: the mean over \
     the pairs of configurations that differ in the factor alone and have figures. Brackets: no difference is shown. ≠: shown to be another than \
     in the first of these columns for its factor.";

/// What else stands there; `None` if all figures are speeds.
pub(crate) fn no_speeds(effects: &Effects) -> Option<String> {
    let names = and_more(effects.no_speeds.iter().cloned(), effects.no_speeds.len(), MOST);
    (!effects.no_speeds.is_empty())
        .then(|| format!("Judged by another figure than a speed, where + is better, and not among all tasks: {names}."))
}

/// `+8.1 %`, in brackets if it is not shown.
pub(crate) fn gain(gain: &Gain) -> String {
    let text = signed(gain.ratio);
    if gain.shown { text } else { format!("({text})") }
}

/// `+8.1 %` of a ratio of speeds.
pub(crate) fn signed(ratio: f64) -> String {
    match ratio {
        many if many >= 2.0 => format!("{many:.1}x"),
        same if (100.0 * (same - 1.0)).abs() < 0.05 => "0.0 %".into(),
        few => format!("{:+.1} %", 100.0 * (few - 1.0)),
    }
}

/// Of a level by itself: `kernel 6.12`, `mount=noatime`.
pub(crate) fn level(effects: &Effects, factor: usize, level: usize) -> String {
    let found = &effects.factors[factor];
    let text = &found.levels[level];
    match found.name.as_str() {
        FILE_SYSTEM | OPTIONS => text.clone(),
        // The level of a parameter says its name.
        name if text.starts_with(name) => text.clone(),
        name => format!("{name} {text}"),
    }
}

/// Where an effect was looked at.
fn place(effects: &Effects, at: &EffectAt) -> String {
    let word = if effects.factors[at.factor].name == FILE_SYSTEM { "on" } else { "with" };
    format!("{word} {}", level(effects, at.factor, at.level))
}

/// `is 8.1 % faster` in a task, or in all; `better` where the task is judged by what is no speed.
fn speed(effects: &Effects, task: Option<&str>, gain: &Gain) -> String {
    let is_speed = task.is_none_or(|task| effects.no_speeds.iter().all(|other| other != task));
    let [good, more, less] = if is_speed { ["fast", "faster", "slower"] } else { ["good", "better", "worse"] };
    match gain.ratio {
        _ if !gain.shown => "is not shown to differ".into(),
        many if many >= 2.0 => format!("is {many:.1} times as {good}"),
        above if above >= 1.0 => format!("is {:.1} % {more}", 100.0 * (above - 1.0)),
        below => format!("is {:.1} % {less}", 100.0 * (1.0 - below)),
    }
}

/// Over all tasks each level, then the tasks that say most.
pub(crate) fn sentences(effects: &Effects) -> Vec<String> {
    let whole = effects.tasks.iter().find(|task| task.task.is_none());
    let mut out: Vec<String> =
        whole.iter().flat_map(|task| &task.effects).map(|effect| sentence(effects, effect, None)).collect();
    let of_tasks = effects.tasks.iter().filter_map(|task| Some((task.task.as_deref()?, &task.effects)));
    let mut all: Vec<(&str, &Effect)> =
        of_tasks.flat_map(|(task, found)| found.iter().map(move |effect| (task, effect))).collect();
    all.retain(|(_, effect)| effect.gain.shown || effect.at.iter().any(|at| at.differs));
    all.sort_by(|one, other| largest(other.1).total_cmp(&largest(one.1)));
    out.extend(all.into_iter().take(MOST).map(|(task, effect)| sentence(effects, effect, Some(task))));
    out
}

/// Which configurations the means over pairs leave out, and in which tests; `None` if none.
pub(crate) fn left_out(effects: &Effects, (factor, level): (usize, usize)) -> Option<String> {
    let of_task = |task: &TaskEffects| -> Vec<(String, String)> {
        let Some(name) = &task.task else { return Vec::new() };
        let own = task.effects.iter().filter(|effect| (effect.factor, effect.level) == (factor, level));
        own.flat_map(|effect| &effect.left_out).map(|one| (one.clone(), name.clone())).collect()
    };
    let all = by_key(effects.tasks.iter().flat_map(of_task));
    let one = |(configuration, tasks): &(String, Vec<String>)| {
        format!("{} in {}", heading(configuration), and_more(tasks.iter().cloned(), tasks.len(), MOST))
    };
    let named = and_more(all.iter().map(one), all.len(), MOST);
    (!all.is_empty()).then(|| format!("Left out of these means, as figures are missing: {named}."))
}

/// What became of orders at other levels of the factors, and the largest that turned.
pub(crate) fn orders(effects: &Effects) -> Vec<String> {
    effects.orders.iter().flat_map(|found| of_level(effects, found)).collect()
}

fn of_level(effects: &Effects, found: &LevelOrders) -> Vec<String> {
    let (here, first) = (level(effects, found.factor, found.level), level(effects, found.factor, 0));
    let LevelOrders { hold, open, missing, turned, .. } = found;
    let all = hold + open + missing + turned.len();
    let shown = format!("of {} shown with {first}", counted(all, "order"));
    let whole = match (turned.len(), open, missing) {
        (0, 0, 0) => format!("{shown}, all hold with {here}."),
        (turn, open, 0) => {
            format!("{shown}, {hold} hold with {here}, {turn} are reversed, and {open} are not shown there.")
        }
        (turn, open, missing) => {
            let lack = if *missing == 1 { "lacks" } else { "lack" };
            format!(
                "{shown}, {hold} hold with {here}, {turn} are reversed, {open} are not shown there, and {missing} {lack} a figure there."
            )
        }
    };
    let turn = |one: &TurnedOrder| {
        let TurnedOrder { task, one, other, first: before, here: after } = one;
        let [one, other] = [one, other].map(|name| name.split('#').next().unwrap_or_default());
        let [before, after] = [before, after].map(|gain| speed(effects, Some(task), gain).replacen("is ", "", 1));
        format!("{one} is {before} than {other} with {first}, and {after} with {here}, in {task}.")
            .replace("times as fast than", "times as fast as")
            .replace("times as good than", "times as good as")
    };
    std::iter::once(capital(&whole)).chain(turned.iter().take(MOST).map(turn)).collect()
}

/// What the curves over a factor show, for a title.
pub(crate) fn by_factor(effects: &Effects, factor: usize) -> String {
    format!("speed by {}, over that with {}", effects.factors[factor].name, level(effects, factor, 0))
}

/// What a report over a factor with curves opens with: a title, and its answer; `None` if no factor has one.
pub(crate) fn opening(effects: &Effects) -> Option<[String; 2]> {
    let curve = effects.curves.first()?;
    let name = &effects.factors[curve.factor].name;
    let all = largest_first(effects, curve.factor);
    let said = |(curve, line, step): &(&LevelCurve, &LevelLine, &Step)| {
        let [from, to] = [step.from, step.to].map(|at| level(effects, curve.factor, at));
        format!("{} {} from {from} to {to}", line.configuration, became(effects, curve, &step.gain))
    };
    let (title, largest) = match &all[..] {
        [] => (format!("No test is shown to change from one {name} to the next"), String::new()),
        [first, ..] => {
            let largest = format!("{}, in {}", said(first), whose(first.0));
            let steps = counted(all.len(), "step");
            (format!("By {name}: {largest}"), format!(" Of single tests {steps} {} shown.", are(all.len())))
        }
    };
    let of = curve.task.as_ref().map_or("All tests together".to_owned(), |task| format!("In {task}"));
    Some([title, format!("{of}, {}.{largest}", of_line(curve, &said, name))])
}

fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// The steps of all lines of a curve.
fn of_line(curve: &LevelCurve, said: &dyn Fn(&(&LevelCurve, &LevelLine, &Step)) -> String, name: &str) -> String {
    let steps = curve.lines.iter().flat_map(|line| line.steps.iter().map(move |step| (curve, line, step)));
    let all: Vec<String> = steps.map(|step| said(&step)).collect();
    if all.is_empty() { format!("nothing is shown to change from one {name} to the next") } else { and(all) }
}

/// `becomes 8.1 % faster`.
fn became(effects: &Effects, curve: &LevelCurve, gain: &Gain) -> String {
    speed(effects, curve.task.as_deref(), gain).replacen("is ", "becomes ", 1)
}

/// What stands above the curves over a factor.
pub(crate) fn over(effects: &Effects, factor: usize) -> String {
    format!(
        "Speed over that with {}; above the line is faster. A band marks where a level is shown to differ from the one before.",
        level(effects, factor, 0)
    )
}

/// What a curve is of: all tasks, or the id of one.
pub(crate) fn whose(curve: &LevelCurve) -> &str {
    curve.task.as_deref().unwrap_or("all tasks")
}

/// The same with the task's title.
pub(crate) fn titled(findings: &Findings, curve: &LevelCurve) -> String {
    let found = findings.tasks.iter().find(|task| Some(&task.id) == curve.task.as_ref());
    found.map_or(whose(curve).to_owned(), |task| text::titled(&task.id, &task.title))
}

/// The steps of tasks over a factor, the largest first.
fn largest_first(effects: &Effects, factor: usize) -> Vec<(&LevelCurve, &LevelLine, &Step)> {
    let of_factor = effects.curves.iter().filter(|curve| curve.factor == factor);
    let mut all: Vec<(&LevelCurve, &LevelLine, &Step)> = Vec::new();
    for curve in of_factor.filter(|curve| curve.task.is_some()) {
        all.extend(curve.lines.iter().flat_map(|line| line.steps.iter().map(move |step| (curve, line, step))));
    }
    let size = |step: &Step| libm::log(step.gain.ratio).abs();
    all.sort_by(|one, other| size(other.2).total_cmp(&size(one.2)));
    all
}

/// The command that explains the largest step of a run's only factor, if the factor is the guest's computer.
pub(crate) fn explains(run: &RunRecord, effects: &Effects) -> Option<String> {
    let [factor] = &run.plan.factors[..] else { return None };
    let at = effects.factors.iter().position(|found| found.name == factor.name)?;
    let (curve, line, step) = largest_first(effects, at).into_iter().next().filter(|_| factor.name == "kernel")?;
    let [from, to] = [step.from, step.to].map(|level| format!("{}#{}", run.id, factor.levels[level].label));
    let sides = format!("{} {}", shell_word(&from), shell_word(&to));
    let task = whose(curve);
    Some(format!("mountmark why {sides} --task {task} --fs {}", shell_word(&line.configuration)))
}

/// The largest steps of all curves over a factor, or a sentence that there is none.
pub(crate) fn steps(effects: &Effects, factor: usize) -> Vec<String> {
    let all = largest_first(effects, factor);
    let name = &effects.factors[factor].name;
    if all.is_empty() {
        return vec![format!("No task is shown to be faster or slower from one {name} to the next.")];
    }
    let count = match all.len() {
        1 => "one step from one level to the next is".to_owned(),
        many => format!("{many} steps from one level to the next are"),
    };
    let more = if all.len() > MOST { format!("; the {MOST} largest follow") } else { String::new() };
    let step = |(curve, line, step): (&LevelCurve, &LevelLine, &Step)| {
        let became = became(effects, curve, &step.gain);
        let [from, to] = [step.from, step.to].map(|at| level(effects, factor, at));
        format!("{} {became} from {from} to {to}, in {}.", line.configuration, whose(curve))
    };
    std::iter::once(format!("By {name}, {count} shown{more}.")).chain(all.into_iter().take(MOST).map(step)).collect()
}

/// The largest logarithm that is shown of an effect, in any place where it differs.
fn largest(effect: &Effect) -> f64 {
    let differ = effect.at.iter().filter(|at| at.differs).map(|at| &at.gain);
    let shown = std::iter::once(&effect.gain).chain(differ).filter(|gain| gain.shown);
    shown.map(|gain| libm::log(gain.ratio).abs()).fold(0.0, f64::max)
}

fn sentence(effects: &Effects, effect: &Effect, task: Option<&str>) -> String {
    let own = level(effects, effect.factor, effect.level);
    let first = level(effects, effect.factor, 0);
    let differs = effect.at.iter().find(|at| at.differs).map(|at| at.factor);
    let says = match differs {
        None => speed(effects, task, &effect.gain),
        // It depends: the mean over such places would say nothing.
        Some(factor) => {
            let at = effect.at.iter().filter(|at| at.factor == factor);
            and(at.map(|at| format!("{} {}", speed(effects, task, &at.gain), place(effects, at))))
        }
    };
    let whose = task.map_or("over all tasks".to_owned(), |task| format!("in {task}"));
    capital(&format!("{own} beside {first} {says}, {whose}."))
}
