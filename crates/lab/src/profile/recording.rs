//! What the plugin wrote: profiles by task and interval. `profiler.c` says what its lines are.

use std::collections::{BTreeMap, HashMap};
use std::str::{FromStr, SplitAsciiWhitespace};

use anyhow::{Context, Result, bail};
use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Interval, PathTime, Profile, program};

use crate::mark;

/// Functions from this number on are programs.
const PROGRAMS: u32 = 0x4000_0000;

/// A path has the plugin's 256 frames and a program, and what is called without a frame.
const DEEPEST: usize = 300;

/// In bytes: a program's name has 15, some of which may stand for no letter.
const LONGEST: usize = 64;

/// The profiles of a cell's tasks and steps.
#[derive(Debug, Default)]
pub struct Recording {
    /// By the task's number, in the order of its iterations.
    profiles: BTreeMap<(u64, Interval), Vec<Profile>>,
}

impl Recording {
    /// The profile of a task's interval; `None` if it has not ended so often.
    pub fn profile(&self, task: &str, interval: Interval, iteration: u32) -> Option<&Profile> {
        self.profiles.get(&(mark::number(task), interval))?.get(iteration as usize)
    }

    /// Reads the plugin's lines. `names` are the functions; an instruction takes 2^`shift` ns.
    pub(crate) fn parse(text: &str, names: &[String], shift: u8) -> Result<Recording> {
        let mut parser =
            Parser { names, shift, nodes: HashMap::new(), programs: Vec::new(), paths: HashMap::new(), open: None };
        let mut recording = Recording::default();
        let mut last = None;
        // The last line may have been cut when QEMU ended.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let ended = parser
                .line(line)
                .with_context(|| format!("the profiler wrote {line:?}, which is none of its lines"))?;
            let Some(ended) = ended else { continue };
            let profiles = recording.profiles.entry((ended.task, ended.interval)).or_default();
            // The guest read its clock again, since its kernel had changed the time meanwhile: the last reading counts.
            if last == Some(ended.begin) {
                profiles.pop();
            }
            last = Some(ended.begin);
            profiles.push(ended.profile);
        }
        Ok(recording)
    }
}

struct Parser<'a> {
    names: &'a [String],
    shift: u8,
    /// Parent and function of each path's end.
    nodes: HashMap<u32, (u32, u32)>,
    programs: Vec<String>,
    paths: HashMap<u32, Vec<String>>,
    open: Option<Open>,
}

struct Open {
    task: u64,
    interval: Interval,
    begin: u64,
    /// Of its length, what no path has had so far.
    left: i64,
    profile: Profile,
}

impl Parser<'_> {
    /// Takes one line; the interval that it ends.
    fn line(&mut self, line: &str) -> Result<Option<Open>> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut fields = rest.split_ascii_whitespace();
        match kind {
            "n" => {
                let (node, parent, function) = (next(&mut fields)?, next(&mut fields)?, next(&mut fields)?);
                self.nodes.insert(node, (parent, function));
            }
            "p" => {
                let (number, name) = rest.split_once(' ').context("a program without a name")?;
                if number.parse() != Ok(self.programs.len()) || name.len() > LONGEST {
                    bail!("a program is missing or has no such name");
                }
                self.programs.push(name.to_owned());
            }
            "w" => {
                let task = u64::from_str_radix(fields.next().context("a number is missing")?, 16)?;
                let number: u64 = next(&mut fields)?;
                let interval = Interval::ALL.into_iter().find(|interval| interval.number() == number);
                let (begin, end): (u64, u64) = (next(&mut fields)?, next(&mut fields)?);
                let _instructions: u64 = next(&mut fields)?;
                let length: u64 = end.checked_sub(begin).context("an interval ends before it begins")?;
                let skew: i64 = next(&mut fields)?;
                let left = i64::try_from(length).ok().and_then(|length| length.checked_sub(skew));
                let left = left.context("a time beyond all bounds")?;
                let (interval, profile) = (interval.context("an unknown interval")?, Profile::default());
                self.open = Some(Open { task, interval, begin, left, profile });
            }
            "x" => {
                let (node, instructions): (u32, u64) = (next(&mut fields)?, next(&mut fields)?);
                let time = instructions.checked_mul(1 << self.shift).context("a time beyond all bounds")?;
                self.path(node, time)?.running += time;
            }
            "i" => {
                let (operation, node, time): (usize, u32, u64) =
                    (next(&mut fields)?, next(&mut fields)?, next(&mut fields)?);
                let operation = match operation {
                    0 => None,
                    number => Some(*DeviceOperation::ALL.get(number - 1).context("an unknown request")?),
                };
                *self.path(node, time)?.waiting.entry(operation).or_default() += time;
            }
            "e" => {
                let ended = self.open.take().context("the end of no interval")?;
                if ended.left != 0 {
                    bail!("an interval's paths are {} ns away from its length", ended.left);
                }
                return Ok(Some(ended));
            }
            "f" => bail!("the profiler ended: {rest}"),
            _ => bail!("an unknown kind of line"),
        }
        Ok(None)
    }

    /// The time of the path that ends in `node`, to which `time` is added by the caller.
    fn path(&mut self, node: u32, time: u64) -> Result<&mut PathTime> {
        if !self.paths.contains_key(&node) {
            let mut path = Vec::new();
            let mut at = node;
            while at != 0 {
                let (parent, function) = *self.nodes.get(&at).context("a path that is not known")?;
                let name = match function.checked_sub(PROGRAMS) {
                    Some(program) => self.programs.get(program as usize),
                    None => self.names.get(function as usize),
                };
                path.push(name.context("a function that is not known")?.clone());
                // A parent is made before its child, so that a circle is no path, and the plugin follows calls so far only.
                if parent >= at || path.len() == DEEPEST {
                    bail!("a path that leads nowhere");
                }
                at = parent;
            }
            path.reverse();
            // An interrupt is not called by what it interrupts.
            if let Some(at) = path.iter().skip(1).position(|name| is_interrupt(name)) {
                path.splice(..=at, [program::INTERRUPTS.to_owned()]);
            }
            self.paths.insert(node, path);
        }
        let open = self.open.as_mut().context("a figure of no interval")?;
        open.left = open.left.checked_sub_unsigned(time).context("a time beyond all bounds")?;
        Ok(open.profile.paths.entry(self.paths[&node].clone()).or_default())
    }
}

/// Whether the kernel's function is where an interrupt from outside begins.
fn is_interrupt(name: &str) -> bool {
    name == "asm_common_interrupt" || name.starts_with("asm_sysvec_")
}

fn next<T: FromStr<Err = std::num::ParseIntError>>(fields: &mut SplitAsciiWhitespace) -> Result<T> {
    Ok(fields.next().context("a number is missing")?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Recording> {
        let names = ["user", "unknown", "ksys_read", "ext4:ext4_match", "asm_sysvec_x", "tick"].map(str::to_owned);
        Recording::parse(text, &names, 1)
    }

    fn text() -> String {
        let task = mark::number("001");
        format!(
            "p 0 unknown\np 1 cp\nn 2 0 1073741825\nn 3 2 2\nn 5 3 3\nn 6 3 4\nn 7 6 5\nw {task:x} 1 1000 2040 300 -7\nx 2 100\nx 7 \
             20\nx 5 200\ni 1 3 400\ni 0 2 7\ne\nw {task:x} 1 9"
        )
    }

    #[test]
    fn paths_have_names_and_times() {
        let recording = parse(&text()).unwrap();
        let profile = recording.profile("001", Interval::Returned, 0).unwrap();
        let of = |path: &[&str]| profile.paths[&path.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()].clone();
        assert_eq!(profile.paths.len(), 4);
        assert_eq!(of(&["interrupts", "asm_sysvec_x", "tick"]).running, 40, "whatever it interrupts");
        assert_eq!(of(&["cp", "ksys_read", "ext4:ext4_match"]).running, 400);
        assert_eq!(of(&["cp", "ksys_read"]).waiting, BTreeMap::from([(Some(DeviceOperation::Read), 400)]));
        assert_eq!((of(&["cp"]).running, of(&["cp"]).waiting[&None]), (200, 7));
        assert!(recording.profile("001", Interval::Returned, 1).is_none(), "it was cut");
        assert!(recording.profile("002", Interval::Returned, 0).is_none());
    }

    #[test]
    fn damaged_recordings_are_refused() {
        for (from, to) in [
            ("n 3 2 2", "n 3 9 2"),
            ("n 3 2 2", "n 3 5 2"),
            ("n 5 3 3", "n 5 3 9"),
            ("x 5 200", "x 5"),
            ("x 5 200", "x 6 1"),
            ("i 1 3", "i 9 3"),
            ("1000 2040", "2040 1000"),
            ("1000 2040", "1000 2041"),
            ("p 1 cp", "p 2 cp"),
            ("p 1 cp", "f no memory"),
            ("p 1 cp", "x 2 1"),
            ("p 1 cp", "what is this"),
        ] {
            let damaged = text().replace(from, to);
            assert_ne!(damaged, text());
            assert!(parse(&damaged).is_err(), "{from} as {to}");
        }
    }
}
