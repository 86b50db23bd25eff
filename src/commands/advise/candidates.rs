//! Which file systems are asked, and which are left out by fact.

use anyhow::{Context, Result, bail};
use mountmark_findings::Survive;
use mountmark_findings::advice::{Candidate, LeftOut};
use mountmark_model::facts::{Fact, Topic};
use mountmark_model::promises::Level;
use mountmark_model::{Configuration, FileSystem, TuningOption};
use mountmark_plan::{Catalogue, configurations};

use super::Arguments;
use crate::common::WrongUse;

/// The file systems that meet the needs, in the user's order or the catalogue's, with what they stand on where the user says so;
/// the others are left out, with the reason.
pub fn choose(catalogue: &Catalogue, arguments: &Arguments, left_out: &mut Vec<LeftOut>) -> Result<Vec<String>> {
    let mut chosen = Vec::new();
    for text in named(catalogue, arguments)? {
        let mounted = mounted(&text, arguments);
        let obstacle = match obstacle(filesystem(catalogue, &text)?, arguments) {
            None => loses_returned(catalogue, &mounted, arguments)?,
            found => found,
        };
        match obstacle {
            None => chosen.push(mounted),
            Some(why) => left_out.push(LeftOut { what: text, why }),
        }
    }
    Ok(chosen)
}

/// All that may be asked: what the user names, or the catalogue's file systems.
fn named(catalogue: &Catalogue, arguments: &Arguments) -> Result<Vec<String>> {
    for text in &arguments.fs {
        let (own, _) = text.split_once('@').unwrap_or((text, ""));
        if own.contains(':') || text.contains('#') {
            bail!(WrongUse(format!(
                "--fs {text}: leave out what is behind {own}; advise asks its options itself",
                own = own.split(':').next().unwrap_or(own)
            )));
        }
        configurations(catalogue, std::slice::from_ref(text))?;
    }
    let all = || catalogue.list::<FileSystem>().map(|one| one.name.clone()).collect();
    Ok(if arguments.fs.is_empty() { all() } else { arguments.fs.clone() })
}

/// A file system, and what it stands on, with these options.
pub fn candidate(filesystem: &str, options: &[&str]) -> Candidate {
    let escaped: Vec<String> = options.iter().map(|option| option.replace(',', "\\,").replace('@', "\\@")).collect();
    let own = filesystem.split('@').next().unwrap_or(filesystem);
    // Of `ext4:mount=sync` the options stand behind those that it has.
    let sign = if own.contains(':') { '+' } else { ':' };
    let name = match escaped.is_empty() {
        true => filesystem.to_owned(),
        false => format!("{own}{sign}{}{}", escaped.join("+"), &filesystem[own.len()..]),
    };
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Candidate { name, filesystem: filesystem.to_owned(), options }
}

/// The file system of a text such as `ext4@luks` or `ext4:mount=sync`.
pub fn filesystem<'a>(catalogue: &'a Catalogue, text: &str) -> Result<&'a FileSystem> {
    Ok(catalogue.get::<FileSystem>(text.split(['@', ':']).next().unwrap_or(text))?)
}

/// It as it has to be mounted so that what has to survive can: all that returned needs `sync`.
fn mounted(text: &str, arguments: &Arguments) -> String {
    match arguments.survive.0 {
        Some(Survive::EverythingReturned) => candidate(text, &["mount=sync"]).name,
        _ => text.to_owned(),
    }
}

/// Why all that returned does not survive on it, mounted with `sync`: that is known before anything is measured.
fn loses_returned(catalogue: &Catalogue, text: &str, arguments: &Arguments) -> Result<Option<String>> {
    let Some(survive @ Survive::EverythingReturned) = arguments.survive.0 else { return Ok(None) };
    let made = configurations(catalogue, &[text.to_owned()])?;
    let (promises, undocumented) = made.first().map(Configuration::promises).context("a configuration has a name")?;
    let why = match undocumented {
        _ if promises.has(Level::L1) => return Ok(None),
        Some(reason) => reason,
        None => format!("its documents do not promise {}", Level::L1),
    };
    Ok(Some(format!("--survive {}: {why}; --survive nothing asks it too", survive.name())))
}

/// Why a file system is not asked, as a sentence's end.
fn obstacle(filesystem: &FileSystem, arguments: &Arguments) -> Option<String> {
    let unmet = unmet(filesystem, &arguments.need);
    general_obstacle(filesystem, arguments).or_else(|| (!unmet.is_empty()).then(|| unmet.join("; ")))
}

/// The same, whatever is needed.
fn general_obstacle(filesystem: &FileSystem, arguments: &Arguments) -> Option<String> {
    let fact = |topic: Topic| filesystem.facts.get(&topic);
    let said = |fact: &Fact| format!("\"{}\"", fact.says);
    if let Some(reason) = &filesystem.unavailable {
        return Some(reason.trim_end_matches('.').to_owned());
    }
    // Whoever names a file system has decided that it is one for him, and kept.
    if arguments.fs.is_empty() {
        if filesystem.below.is_some() || filesystem.has_own_commands() {
            let name = &filesystem.name;
            return Some(format!("it is made and mounted by commands of its own; --fs NAME,{name} asks it too"));
        }
        let general = fact(Topic::Purpose).filter(|fact| fact.is_met() == Some(false));
        if let Some(purpose) = general {
            return Some(format!("it is for another purpose: {}", said(purpose)));
        }
        let is_kept = fact(Topic::Support).is_some_and(|fact| fact.is_met() == Some(true));
        if !is_kept && !arguments.allow.iter().any(|allowed| allowed == "unmaintained") {
            return Some(match fact(Topic::Support) {
                Some(fact) => format!("it is not maintained: {}; --allow unmaintained asks it too", said(fact)),
                None => "nobody has looked up whether it is maintained; --allow unmaintained asks it too".into(),
            });
        }
    }
    None
}

/// A value of `--need`: a fact that a file system has or lacks.
pub fn need(text: &str) -> Result<Topic, String> {
    match text.parse()? {
        Topic::Purpose => Err("what is made for another purpose is left out in any case, unless --fs names it".into()),
        Topic::LargestFile => Err("a largest file is a size; `mountmark list filesystems --facts` has them".into()),
        topic => Ok(topic),
    }
}

/// The needs that a file system does not meet, each with what it has.
fn unmet(filesystem: &FileSystem, needs: &[Topic]) -> Vec<String> {
    let why = |topic: &Topic| match filesystem.facts.get(topic) {
        Some(fact) if fact.is_met() == Some(true) => None,
        Some(fact) => Some(format!("--need {}: it has \"{}\"", topic.title(), fact.says)),
        None => Some(format!("--need {}: nobody has looked up whether it has that", topic.title())),
    };
    needs.iter().filter_map(why).collect()
}

/// What would be asked, a file system a line with its options, and what is left out.
pub fn told(catalogue: &Catalogue, arguments: &Arguments, chosen: &[String], left_out: &[LeftOut]) -> Result<String> {
    let (mut lines, mut left) = (Vec::new(), Vec::new());
    left.extend(left_out.iter().map(|left| format!("left out: {}: {}", left.what, left.why)));
    for name in chosen {
        let mut options = Vec::new();
        for one in &filesystem(catalogue, name)?.tuning {
            let whole = candidate(name, &[&one.option]).name;
            match refused(catalogue, arguments, name, one)? {
                Some(why) => left.push(format!("left out: {whole}: {why}")),
                None => options.push(one.option.as_str()),
            }
        }
        lines.push(match options.is_empty() {
            true => format!("{name} as it is"),
            false => format!("{name} as it is, and with {}", options.join(", ")),
        });
    }
    Ok([lines, left].concat().join("\n") + "\n")
}

/// The file system that lacks the fewest needs, of those that would be asked without them, and what it lacks.
pub fn nearest(catalogue: &Catalogue, arguments: &Arguments) -> Option<String> {
    let all = named(catalogue, arguments).ok()?;
    let all = all.into_iter().filter_map(|text| Some((filesystem(catalogue, &text).ok()?, text)));
    let without = all.filter(|(one, _)| general_obstacle(one, arguments).is_none());
    let lacks = without.map(|(one, text)| (text, unmet(one, &arguments.need)));
    let (nearest, lacks) = lacks.min_by_key(|(_, lacks)| lacks.len()).filter(|(_, lacks)| !lacks.is_empty())?;
    Some(format!("the nearest is {nearest}: {}", lacks.join("; ")))
}

/// Why an option is not tried: it takes away what is needed, or what has to survive. `None` if it does not.
pub fn refused(
    catalogue: &Catalogue,
    arguments: &Arguments,
    filesystem: &str,
    option: &TuningOption,
) -> Result<Option<String>> {
    let own = &self::filesystem(catalogue, filesystem)?.name;
    let lost = catalogue.without(own, &option.option).iter().find(|topic| arguments.need.contains(topic));
    match lost {
        Some(topic) => Ok(Some(format!("--need {}: it takes that away", topic.title()))),
        None => weakens(catalogue, arguments, filesystem, &candidate(filesystem, &[&option.option]).name),
    }
}

/// Why an option is not tried: it takes away what documents promise of its file system's defaults, or nobody wrote down what
/// it does to that. `None` if it takes nothing away, or the user needs nothing.
fn weakens(catalogue: &Catalogue, arguments: &Arguments, filesystem: &str, with: &str) -> Result<Option<String>> {
    if arguments.survive.0.is_none() || arguments.allow.iter().any(|allowed| allowed == WEAKER) {
        return Ok(None);
    }
    let both = configurations(catalogue, &[filesystem.to_owned(), with.to_owned()])?;
    let [defaults, with] = &both[..] else { return Ok(None) };
    let ((own, _), (kept, undocumented)) = (defaults.promises(), with.promises());
    let lost: Vec<String> =
        own.levels.iter().filter(|level| !kept.has(*level)).map(|level| level.to_string()).collect();
    Ok(match undocumented {
        Some(reason) => Some(format!("{reason}; --allow {WEAKER} asks it too")),
        None if !lost.is_empty() => {
            Some(format!("it takes away what the defaults promise ({}); --allow {WEAKER} asks it too", lost.join(", ")))
        }
        None => None,
    })
}

/// What the options of a candidate risk, a sentence's end each.
pub fn risks(catalogue: &Catalogue, answer: &Candidate) -> Result<Vec<String>> {
    let tuning = &filesystem(catalogue, &answer.filesystem)?.tuning;
    let taken = tuning.iter().filter(|one| answer.options.contains(&one.option));
    Ok(taken.filter_map(|one| Some(format!("{}: {}", one.option, one.risk.as_ref()?))).collect())
}

/// The value of `--allow` for options that take promises away.
pub const WEAKER: &str = "weaker-promises";

/// What the user needs, as typed.
pub fn needs(arguments: &Arguments) -> Vec<String> {
    let survive = arguments.survive.0.map_or("nothing", |survive| survive.name());
    let facts = arguments.need.iter().map(|topic| format!("--need {}", topic.title()));
    let allowed = arguments.allow.iter().map(|what| format!("--allow {what}"));
    let room = arguments.room.iter().map(|share| format!("--room {share}"));
    let age = arguments.age.iter().map(|history| format!("--age {history}"));
    std::iter::once(format!("--survive {survive}")).chain(room).chain(age).chain(facts).chain(allowed).collect()
}

/// What is left out, where there is no answer that has it.
pub fn say_left_out(left_out: &[LeftOut]) {
    for LeftOut { what, why } in left_out {
        say!("mountmark: {what} is left out: {why}");
    }
}
