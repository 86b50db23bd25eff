//! Violations in plain English.

use mountmark_model::format_count;

use super::{Class, Evidence, Level, Violation};
use crate::tree::{Kind, Source};
use crate::workload::Workload;

impl Violation {
    /// One sentence, without the final stop.
    pub fn sentence(&self, workload: &Workload) -> String {
        let words = Words { workload, violation: self };
        words.sentence()
    }
}

struct Words<'a> {
    workload: &'a Workload,
    violation: &'a Violation,
}

impl Words<'_> {
    fn sentence(&self) -> String {
        let Violation { class, level, path, op, expected, found } = self.violation;
        let when = self.when();
        match (expected, found) {
            (_, Evidence::Error(error)) => format!("{path} cannot be read after the power cut: {error}"),
            (Evidence::Done(earlier), Evidence::Done(later)) => format!(
                "{} survived the power cut, but {}, which came before it, did not: see {path}",
                self.op(*later),
                self.op(*earlier)
            ),
            (Evidence::Names(names), Evidence::Names(left)) => {
                let by = op.map_or_else(String::new, |op| format!("after {} ", self.op(op)));
                let (names, there) = (listed(names), listed(left));
                match left.is_empty() {
                    true => format!("{by}and the power cut, none of the names {names} is there"),
                    false => format!("{by}and the power cut, of the names {names} these are there: {there}"),
                }
            }
            (Evidence::Links(names), Evidence::Links(links)) => {
                let (said, names) = (count(*links, "name"), digits(*names));
                format!("{path} says after the power cut that it has {said}, and has {names}")
            }
            (Evidence::Target(wanted), Evidence::Target(target)) => format!(
                "the symbolic link {path} led to {:?}; after the power cut it leads to {:?}",
                wanted.as_deref().unwrap_or_default(),
                target.as_deref().unwrap_or_default()
            ),
            _ if matches!(level, Level::L5 | Level::L7) => {
                let what = if *level == Level::L5 { "names and attributes are" } else { "data is" };
                format!(
                    "after the power cut {what} of no single moment: {path} {}; it {} when all else was as it was found",
                    self.is(found),
                    self.was(expected)
                )
            }
            (Evidence::Nothing, _) if op.is_none() && *class == Class::ExtraName => {
                format!("{path} is there after the power cut, and no operation has made it")
            }
            (Evidence::Nothing, _) => format!("{path} was not there {when}; after the power cut it {}", self.is(found)),
            (Evidence::Size { least, most }, Evidence::Size { least: size, .. }) => {
                let had = match (least, most) {
                    _ if size > most => format!("never had more than {} after that", count(*most, "byte")),
                    (least, most) if least == most => format!("had {}", count(*least, "byte")),
                    (least, _) => format!("had at least {}", count(*least, "byte")),
                };
                let tail = if *size > *most { when.replacen("when", "counted from when", 1) } else { when };
                format!("{path} {had} {tail}; after the power cut it has {}", digits(*size))
            }
            _ if *level == Level::L6 && *class == Class::Zeros => format!(
                "{path} has grown before its data was there: after the power cut it {}, and no operation has written zeros there",
                self.is(found)
            ),
            _ if self.is_later() => {
                let since = when.replacen("when", "since", 1);
                let may = self.verb(expected, ["may only be", "may only have", "may only hold"]);
                format!("{since}, {path} {may}; after the power cut it {}", self.is(found))
            }
            _ => format!("{path} {} {when}; after the power cut it {}", self.was(expected), self.is(found)),
        }
    }

    /// Whether an operation that began after the promise was given has led to what is expected.
    fn is_later(&self) -> bool {
        let alone = Violation { op: None, found: Evidence::Nothing, ..self.violation.clone() };
        let promised = self.violation.op.map_or(-1, i32::from);
        !self.replaces() && alone.ops().iter().any(|op| i32::from(*op) > promised)
    }

    fn when(&self) -> String {
        match self.violation.op {
            Some(op) if self.replaces() => format!("when {} replaced it", self.op(op)),
            Some(op) => format!("when {} returned", self.op(op)),
            None => "when the file system was made".to_owned(),
        }
    }

    /// Whether the operation put the file in the place of another.
    fn replaces(&self) -> bool {
        let op = self.violation.op.and_then(|op| self.workload.ops.get(usize::from(op)));
        self.violation.level == Level::L6 && op.is_some_and(|op| op.word() == "rename")
    }

    fn op(&self, op: u16) -> String {
        let text =
            self.workload.ops.get(usize::from(op)).map_or_else(|| "an operation".to_owned(), ToString::to_string);
        format!("{text} (op {op})")
    }

    fn was(&self, evidence: &Evidence) -> String {
        self.verb(evidence, ["was", "had", "held"])
    }

    fn is(&self, evidence: &Evidence) -> String {
        self.verb(evidence, ["is", "has", "holds"])
    }

    fn verb(&self, evidence: &Evidence, [is, has, holds]: [&str; 3]) -> String {
        match evidence {
            Evidence::Nothing => format!("{is} not there"),
            Evidence::Made(op) => format!("{is} what {} made", self.op(*op)),
            Evidence::Kind(kind) => format!("{is} {}", kind_word(*kind)),
            Evidence::Mode(mode) => format!("{has} the permissions {mode:04o}"),
            Evidence::Xattr { name, value: Some(value) } => {
                format!("{has} the attribute {name} with the value {value:?}")
            }
            Evidence::Xattr { name, value: None } => format!("{has} no attribute {name}"),
            Evidence::Bytes { offset, length, sources } => {
                let all: Vec<String> = sources.iter().map(|source| self.source(*source)).collect();
                let what = if all.is_empty() { "nothing".to_owned() } else { all.join(" or ") };
                format!("{holds} {what} in {} from byte {} on", count(*length, "byte"), digits(*offset))
            }
            Evidence::Size { least, most } if least == most => format!("{has} {}", count(*least, "byte")),
            Evidence::Size { least, most } => format!("{has} {} to {} bytes", digits(*least), digits(*most)),
            Evidence::Target(target) => format!("{is} a link to {:?}", target.as_deref().unwrap_or_default()),
            Evidence::Device(device) => {
                format!("{is} a node of the device {}", device.as_deref().unwrap_or_default())
            }
            Evidence::Links(links) => format!("{has} {}", count(*links, "link")),
            Evidence::Names(names) => format!("{has} the names {}", listed(names)),
            Evidence::Done(op) => format!("{is} as {} left it", self.op(*op)),
            Evidence::Error(error) => format!("{is} not readable: {error}"),
        }
    }

    fn source(&self, source: Source) -> String {
        match source {
            Source::Op(op) => format!("what {} wrote", self.op(op)),
            Source::Moved(op) => format!("what {} wrote to another place", self.op(op)),
            Source::Zero => "zeros".to_owned(),
            Source::Poison => "what was on the disk before it was formatted".to_owned(),
            Source::Other => "what no operation wrote".to_owned(),
        }
    }
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Folder => "a folder",
        Kind::Symlink => "a symbolic link",
        Kind::Fifo => "a FIFO",
        Kind::DeviceNode => "a device node",
        Kind::Other => "a special file",
    }
}

fn count(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", digits(value), if value == 1 { "" } else { "s" })
}

/// With commas.
fn digits(value: u64) -> String {
    format_count(value as f64)
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
