//! The answer in sentences.

use mountmark_document::number::{and, counted};
use mountmark_record::RunRecord;

use crate::advice::find::before::{Before, changed};
use crate::advice::find::gains::gains;
use crate::advice::find::speeds::{speeds, unmeasured};
use crate::advice::find::{Advice, Candidate, Foretold, LeftOut, OnMachines, Order, PowerCuts, Tried, Turn};
use crate::effects::find::Gain;
use crate::{crash, robustness};

/// `27 % faster (24 to 31 %) than ext4`, or `2.5 times as fast (2.3 to 2.8) as ext4`.
fn faster(gain: &Gain, other: &str) -> String {
    let is_many = gain.ratio >= 2.0;
    let number = |ratio: f64| match is_many {
        true => format!("{ratio:.1}"),
        false => format!("{:.0}", 100.0 * (ratio - 1.0)),
    };
    let unit = if is_many { "" } else { " %" };
    let between = gain.interval.map(|interval| [number(interval.low), number(interval.high)]);
    let between = between.map_or(String::new(), |[low, high]| format!(" ({low} to {high}{unit})"));
    let own = number(gain.ratio);
    match is_many {
        true => format!("{own} times as fast{between} as {other}"),
        false => format!("{own} % faster{between} than {other}"),
    }
}

/// How it is made and mounted: `xfs with noatime and mkfs=-m reflink=0`.
pub(crate) fn named(candidate: &Candidate) -> String {
    match candidate.options.is_empty() {
        true => format!("{} as it is", candidate.filesystem),
        false => format!("{} with {}", candidate.filesystem, and(&candidate.options)),
    }
}

/// The answer in one breath.
pub(crate) fn headline(advice: &Advice) -> String {
    let name = named(&advice.answer);
    let simplest = &advice.simplest;
    let is_out = |one: &&Tried| advice.left_out.iter().any(|left| left.what == one.configuration);
    let left = advice.tried.iter().filter(|one| !is_out(one)).count();
    // What is left out may be faster.
    let tried = counted(left, "configuration", "configurations");
    let work = format!("{} on disk {}", advice.work, advice.disk);
    let (role, this, out) = match &advice.instead_of {
        None => ("the default", "this default", String::new()),
        Some(LeftOut { what, why }) => {
            ("the simplest that is left", "it, the simplest that is left", format!(" {what} is left out: {why}."))
        }
    };
    let over = match &advice.over_simplest {
        Some(over) if over.shown && over.ratio > 1.0 => over,
        None if left == 1 => return format!("Take {name}: nothing else that was asked is left for {work}.{out}"),
        None => return format!("Take {name}: of {tried} none is shown to be faster for {work} than {this}.{out}"),
        Some(_) => {
            return format!("Take {name}: for {work} it is not shown to be faster than {simplest}, {role}.{out}");
        }
    };
    let second = advice.second.as_ref().filter(|second| second.configuration != advice.simplest).map(|second| {
        match second.gain {
            gain if gain.shown && gain.ratio > 1.0 => {
                format!(", and {}, the second", faster(&gain, &second.configuration))
            }
            gain if gain.shown => format!(", and slower than {}", second.configuration),
            _ => format!(", and level with {}", second.configuration),
        }
    });
    let second = second.unwrap_or_default();
    format!("Take {name}: for {work} it is {}, {role}{second}.{out}", faster(over, simplest))
}

/// What the answer was before, and what changed since.
pub(crate) fn before(advice: &Advice) -> Option<String> {
    let before = advice.before.as_ref()?;
    let Before { sentence, kernel, name, .. } = before;
    let is = if *name == advice.answer.name { "The answer is the same" } else { "The answer is another" };
    let changed = changed(advice, before);
    let version = |(name, then, now): &(String, String, String)| format!("{name} {then} is {now}");
    let versions = match (&changed.versions[..], before.versions.is_empty()) {
        (_, true) => String::new(),
        ([], _) => " Kernel and packages are the same.".to_owned(),
        (all, _) => format!(" What changed: {} now.", and(all.iter().map(version))),
    };
    let speed = |(name, ratio): &(String, f64)| match (ratio - 1.0).abs() < SAME {
        true => format!("{name} is as fast as it was"),
        false if *ratio > 1.0 => format!("{name} is {} faster", share(*ratio)),
        false => format!("{name} is {} slower", share(*ratio)),
    };
    let speeds = match &changed.speeds[..] {
        [] => String::new(),
        all => format!(" In the first repeat {}.", and(all.iter().map(speed))),
    };
    Some(format!("{is}. With kernel {kernel} it was: {sentence}{versions}{speeds}"))
}

/// A speed that differs by less than this share from what it was is called the same.
const SAME: f64 = 0.001;

/// What its own options bring.
pub(crate) fn over_defaults(advice: &Advice) -> Option<String> {
    let (gain, name) = (advice.over_defaults.as_ref()?, &advice.answer.filesystem);
    Some(match gain {
        Gain { shown: false, .. } => format!("No difference to {name} with its defaults is shown."),
        Gain { ratio, .. } if *ratio < 1.0 => {
            format!("{name} with its defaults is {}.", faster(&gain.inverse(), "the answer"))
        }
        _ => format!("{} with its defaults.", faster(gain, name)),
    })
}

/// What becomes of the order in a situation.
pub(crate) fn order(turn: &Turn) -> &'static str {
    match turn.order {
        Order::Holds => "holds",
        Order::Turns => "TURNS",
        Order::Open => "no difference shown",
    }
}

/// When the answer holds, and when not.
pub(crate) fn turns(advice: &Advice) -> String {
    let turned = |turn: &&Turn| turn.order == Order::Turns;
    let other = |turn: &Turn| {
        format!("{} ({} is {} there)", turn.situation, turn.beside, faster(&turn.gain.inverse(), "the answer"))
    };
    let other: Vec<String> = advice.turns.iter().filter(turned).map(other).collect();
    let open: Vec<String> = advice
        .turns
        .iter()
        .filter(|turn| turn.order == Order::Open)
        .map(|turn| format!("{} (beside {})", turn.situation, turn.beside))
        .collect();
    let hold = advice.turns.iter().filter(|turn| turn.order == Order::Holds).count();
    let mut out = Vec::new();
    match advice.turns.len() {
        0 if advice.costs.is_empty() => out.push("Nobody asked in which other situations it holds.".to_owned()),
        _ if !other.is_empty() => out.push(format!("It would be another with {}.", and(&other))),
        _ => {}
    }
    if !open.is_empty() {
        out.push(format!("No difference is shown with {}.", and(&open)));
    }
    if hold > 0 {
        out.push(format!(
            "It holds in {hold} of {}.",
            counted(advice.turns.len(), "other comparison", "other comparisons")
        ));
    }
    out.extend(costs(advice));
    if !advice.not_asked.is_empty() {
        let number = counted(advice.not_asked.len(), "thing was", "things were");
        out.push(format!("{number} not asked, see below."));
    }
    out.join(" ")
}

/// Whether it is faster on machines that pay other costs, a sentence for each configuration that was compared.
pub(crate) fn costs(advice: &Advice) -> Vec<String> {
    let of = |one: &OnMachines| format!("Its lead over {} {}.", one.beside, robustness::say::turns(&one.survival));
    advice.costs.iter().map(of).collect()
}

/// What it was measured on.
pub(crate) fn ground(advice: &Advice) -> String {
    let Advice { machine, disk, kernel, work, scale, .. } = advice;
    format!(
        "the virtual lab: a guest with models of machine {machine} and disk {disk}, kernel {kernel}; {work} at scale {scale}"
    )
}

/// Whether a run agrees with what an answer said of itself and others, a sentence for each that both have.
pub fn confirmed(run: &RunRecord, answer: &str, others: &[Foretold]) -> Vec<String> {
    let speeds = match speeds(run, &unmeasured(run)) {
        Ok(speeds) => speeds,
        Err(error) => return vec![format!("Nobody knows whether this machine agrees: {error}.")],
    };
    let pairs: Vec<(&str, &str)> = others.iter().map(|other| (answer, other.name.as_str())).collect();
    let of = |(other, gain): (&Foretold, Option<Gain>)| {
        let name = &other.name;
        let Some(gain) = gain else { return format!("{answer} and {name} have no figures in common here.") };
        if gain.interval.is_none() {
            return format!("So few repeats show nothing of {answer} and {name}: take --repeat 5, or more.");
        }
        let said = Gain { ratio: other.ratio, interval: None, shown: other.shown };
        let words = |gain: &Gain| match gain.ratio >= 1.0 {
            true => format!("{answer} is {}", faster(gain, name)),
            false => format!("{name} is {}", faster(&gain.inverse(), answer)),
        };
        match (gain.shown, said.shown) {
            (true, true) if (gain.ratio > 1.0) == (said.ratio > 1.0) => {
                format!("This machine agrees: {} here; the advice said {}.", words(&gain), amount(&said))
            }
            (true, true) => {
                format!("This machine does not agree: {} here; the advice said that {}.", words(&gain), words(&said))
            }
            (true, false) => format!("{} here; the advice shows no difference.", words(&gain)),
            (false, true) => format!(
                "This machine shows no difference of {answer} and {name}; the advice said {}. A smaller --precision may.",
                amount(&said)
            ),
            (false, false) => format!("This machine agrees: no difference of {answer} and {name} is shown."),
        }
    };
    others.iter().zip(gains(&speeds, &pairs, pairs.len())).map(of).collect()
}

/// `27 %`, or `2.5 times as fast`.
fn amount(gain: &Gain) -> String {
    let ratio = gain.ratio.max(1.0 / gain.ratio);
    if ratio >= 2.0 { format!("{ratio:.1} times as fast") } else { format!("{:.0} %", 100.0 * (ratio - 1.0)) }
}

/// `27.0 %`, or `2.5 times`: by how much a speed differs from another.
fn share(ratio: f64) -> String {
    let ratio = ratio.max(1.0 / ratio);
    if ratio >= 2.0 { format!("{ratio:.1} times") } else { format!("{:.1} %", 100.0 * (ratio - 1.0)) }
}

/// Above the commands that make and mount it.
pub(crate) const MAKE: &str = "Make it, which erases the device, and mount it by a line of /etc/fstab:";

/// Above the commands by which the guest made what it stands on, or all of it.
pub(crate) const GUEST: &str = "By these commands the guest made and attached what it stands on. They suit a guest that is thrown away: \
     choose keys, names and devices of your own.";
pub(crate) const GUEST_ALL: &str = "By these commands the guest made and mounted it. They suit a guest that is thrown away: choose keys, \
     names and devices of your own.";

/// Above the situations.
pub(crate) const SITUATIONS: &str =
    "Each situation differs from the search in this alone. Brackets: no difference is shown.";

/// Above what power cuts showed.
pub(crate) const SMALL: &str = "A guest did in small what the work syncs, as below, and its power was cut after each request to the \
     disk. Images are the contents that the disk may then have; they are fewer where a file system orders its writes. A promise \
     is what the documents of a file system say of the time after a power cut.";

/// Above what options do.
pub(crate) const OPTIONS: &str = "Speed with the option over speed without, in one repeat. That shows no difference; those that gain are measured again.";

/// Above all that was measured.
pub(crate) fn measured(advice: &Advice) -> String {
    format!(
        "{} (one file system, once) were measured. How much faster or slower each configuration is than the answer; brackets: no \
         difference is shown. Intervals and what is shown hold at 95 % for the whole search.",
        counted(advice.cells, "cell", "cells")
    )
}

/// Above the command that confirms the answer.
pub(crate) fn confirm(command: &str) -> &'static str {
    match command.contains(" --advice ") {
        true => {
            "It measures the answer and another on a disk of yours, and says whether that disk agrees. It erases nothing without --wipe."
        }
        false => {
            "It measures the answer and another on a disk of yours. It erases nothing without --wipe. After `advise --also FILE.json`, \
                  `run --advice FILE.json` says whether that disk agrees."
        }
    }
}

/// What power cuts showed of a configuration, a sentence.
pub(crate) fn power_cuts(cuts: &PowerCuts) -> String {
    let images = counted(cuts.images, "image", "images");
    let late = if cuts.cut_short { "; its time ended before all were made" } else { "" };
    let name = &cuts.configuration;
    if cuts.images == 0 {
        return format!("{name}: no image was made, so nothing is known.");
    }
    if cuts.broken.is_empty() {
        return format!("{name} broke no promise in {images} of its disk{late}.");
    }
    let broken = cuts.broken.iter().map(|one| format!("\"{}\" in {}", crash::say::promise(one.level), one.images));
    format!("{name} broke promises: of {images} of its disk{late}, {}.", and(broken.collect::<Vec<_>>()))
}

/// A gain in a cell of a table: `+12.0 %`, in brackets if it is not shown.
pub(crate) fn cell(gain: &Gain) -> String {
    crate::effects::say::gain(gain)
}
