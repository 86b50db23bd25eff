//! What the plugin writes: profiles by task and interval. `profiler.c` says what its lines are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::BufRead;
use std::str::{FromStr, SplitAsciiWhitespace};

use anyhow::{Context, Result, bail};
use mountmark_job::mark;
use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Interval, Part, PathTime, Profile, program};

/// Functions from this number on are programs.
const PROGRAMS: u32 = 0x4000_0000;

/// A path has the plugin's 256 frames and a program, and what is called without a frame.
const DEEPEST: usize = 300;

/// The line that ends an interval, after which the guest stands still.
const END: &str = "e";

/// In bytes: a program's name has 15, some of which may stand for no letter.
const LONGEST: usize = 64;

/// The profiles of a cell's tasks and steps.
#[derive(Debug, Default)]
pub struct Recording {
    /// By the task's number, in the order of its iterations.
    profiles: BTreeMap<(u64, Interval), Vec<Profile>>,
    /// When the last interval began.
    last: Option<u64>,
}

impl Recording {
    /// The profile of a task's interval; `None` if it has not ended so often.
    pub fn profile(&self, task: &str, interval: Interval, iteration: u32) -> Option<&Profile> {
        self.profiles.get(&(mark::number(task), interval))?.get(iteration as usize)
    }

    /// Reads the plugin's lines until it ends. `names` are the functions; an instruction takes 2^`shift` ns.
    ///
    /// The guest stands still at the end of an interval: `look` then tells what the disk holds at sectors, and `go` lets the
    /// guest go on, also where a line is not understood.
    pub(crate) fn read(
        lines: &mut dyn BufRead,
        names: &[String],
        shift: u8,
        look: &mut dyn FnMut(&BTreeSet<u64>) -> BTreeMap<u64, Part>,
        go: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Recording> {
        let mut parser =
            Parser { names, shift, nodes: HashMap::new(), programs: Vec::new(), paths: HashMap::new(), open: None };
        let mut found = Ok(Recording::default());
        let mut before: Option<Open> = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line).context("the profiler's lines cannot be read")?;
            // The last line may have been cut when QEMU ended.
            let Some(text) = line.strip_suffix(b"\n") else { return found };
            let text = String::from_utf8_lossy(text);
            if let Ok(recording) = &mut found {
                match parser.line(&text) {
                    Ok(None) => {}
                    Ok(Some(ended)) => before = Some(recording.take(before.take(), ended, look)),
                    Err(error) => {
                        found = Err(error.context(format!("the profiler wrote {text:?}, which is none of its lines")));
                    }
                }
            }
            if text == END {
                go()?;
            }
        }
    }

    /// Takes an interval, and gives it back; `before` is the one before it.
    fn take(
        &mut self,
        before: Option<Open>,
        ended: Open,
        look: &mut dyn FnMut(&BTreeSet<u64>) -> BTreeMap<u64, Part>,
    ) -> Open {
        // What a command leaves to be written may have its place only once it is.
        let of_task = before.filter(|before| before.task == ended.task && before.interval < ended.interval);
        let sectors = of_task.iter().chain([&ended]).flat_map(Open::sectors).collect();
        let parts = look(&sectors);
        let mut keep = |open: &Open, is_again: bool| {
            let profiles = self.profiles.entry((open.task, open.interval)).or_default();
            if is_again {
                profiles.pop();
            }
            profiles.push(open.profile(&parts));
        };
        of_task.iter().for_each(|before| keep(before, true));
        // The guest read its clock again, since its kernel had changed the time meanwhile: the last reading counts.
        let is_again = self.last == Some(ended.begin);
        self.last = Some(ended.begin);
        keep(&ended, is_again);
        ended
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
    paths: BTreeMap<Vec<String>, Times>,
    /// As [`Profile::strings`].
    strings: BTreeMap<Vec<String>, u64>,
    /// As [`Profile::entries`].
    entries: BTreeMap<Vec<String>, u64>,
}

impl Open {
    /// Reads the line that begins an interval.
    fn read(fields: &mut SplitAsciiWhitespace) -> Result<Open> {
        let task = u64::from_str_radix(fields.next().context("a number is missing")?, 16)?;
        let number: u64 = next(fields)?;
        let interval = Interval::ALL.into_iter().find(|interval| interval.number() == number);
        let (begin, end): (u64, u64) = (next(fields)?, next(fields)?);
        let _instructions: u64 = next(fields)?;
        let length: u64 = end.checked_sub(begin).context("an interval ends before it begins")?;
        let skew: i64 = next(fields)?;
        let left = i64::try_from(length).ok().and_then(|length| length.checked_sub(skew));
        let left = left.context("a time beyond all bounds")?;
        let interval = interval.context("an unknown interval")?;
        let (paths, strings, entries) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Open { task, interval, begin, left, paths, strings, entries })
    }
}

/// As [`PathTime`], with requests as the plugin writes them.
#[derive(Default)]
struct Times {
    running: u64,
    waiting: BTreeMap<Option<Request>, u64>,
}

/// What a disk works on, and its sector, if it is of the disk under test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    operation: DeviceOperation,
    sector: Option<u64>,
}

impl Request {
    /// As [`mark::serves`] writes it; `None` if nothing was asked of a disk.
    fn of(number: u64) -> Result<Option<Request>> {
        let Some(operation) = (number & 0xff).checked_sub(1) else { return Ok(None) };
        let operation = *DeviceOperation::ALL.get(operation as usize).context("an unknown request")?;
        let sector = (number >> 8).checked_sub(1).filter(|_| operation != DeviceOperation::Flush);
        Ok(Some(Request { operation, sector }))
    }
}

impl Open {
    fn sectors(&self) -> impl Iterator<Item = u64> {
        self.paths.values().flat_map(|times| times.waiting.keys()).filter_map(|request| request.as_ref()?.sector)
    }

    /// The interval's profile, with the parts of its requests.
    fn profile(&self, parts: &BTreeMap<u64, Part>) -> Profile {
        let (strings, entries) = (Some(self.strings.clone()), self.entries.clone());
        let mut out = Profile { strings, entries, ..Profile::default() };
        for (path, times) in &self.paths {
            let time =
                out.paths.entry(path.clone()).or_insert(PathTime { running: times.running, ..PathTime::default() });
            for (request, waited) in &times.waiting {
                let part = |request: &Request| request.sector.and_then(|sector| parts.get(&sector).copied());
                let awaited = request.map(|request| Awaited { operation: request.operation, part: part(&request) });
                *time.waiting.entry(awaited).or_default() += waited;
            }
        }
        out
    }
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
            "w" => self.open = Some(Open::read(&mut fields)?),
            "x" => {
                let (node, instructions): (u32, u64) = (next(&mut fields)?, next(&mut fields)?);
                let time = instructions.checked_mul(1 << self.shift).context("a time beyond all bounds")?;
                self.path(node, time)?.running += time;
            }
            "s" => {
                let (node, iterations): (u32, u64) = (next(&mut fields)?, next(&mut fields)?);
                let time = iterations.checked_mul(1 << self.shift).context("a time beyond all bounds")?;
                let running = self.path(node, 0)?.running;
                let open = self.open.as_mut().context("a figure of no interval")?;
                let strings = open.strings.entry(self.paths[&node].clone()).or_default();
                *strings = strings.checked_add(time).filter(|sum| *sum <= running).context("more than its path ran")?;
            }
            "c" => {
                let (node, count): (u32, u64) = (next(&mut fields)?, next(&mut fields)?);
                self.path(node, 0)?;
                let open = self.open.as_mut().context("a figure of no interval")?;
                let entries = open.entries.entry(self.paths[&node].clone()).or_default();
                *entries = entries.checked_add(count).context("a number beyond all bounds")?;
            }
            "i" => {
                let (request, node, time): (u64, u32, u64) =
                    (next(&mut fields)?, next(&mut fields)?, next(&mut fields)?);
                *self.path(node, time)?.waiting.entry(Request::of(request)?).or_default() += time;
            }
            END => {
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
    fn path(&mut self, node: u32, time: u64) -> Result<&mut Times> {
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
        Ok(open.paths.entry(self.paths[&node].clone()).or_default())
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
mod tests;
