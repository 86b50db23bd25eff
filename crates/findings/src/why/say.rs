//! Sentences about where time went.

use mountmark_document::number::percent;
use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, Part, program};
use mountmark_model::{Metric, heading};
use mountmark_record::RunRecord;

use crate::figures::say::quantity::quantity;
use crate::run;
use crate::why::find::{Account, Callee, Cause, Explanation, Ledger, Without};

/// `1.23 s`.
pub(crate) fn seconds(nanoseconds: i64) -> String {
    quantity(&Metric::ELAPSED, nanoseconds as f64 / 1e9)
}

/// All nine digits of a second, so that columns add up.
pub(crate) fn exact(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    format!("{sign}{}.{:09}", size / 1_000_000_000, size % 1_000_000_000)
}

/// What the processor waited for.
pub(crate) fn waiting(operation: Option<DeviceOperation>) -> &'static str {
    match operation {
        Some(DeviceOperation::Read) => "waiting for reads",
        Some(DeviceOperation::Write) => "waiting for writes",
        Some(DeviceOperation::Discard) => "waiting for discards",
        Some(DeviceOperation::Flush) => "waiting for flushes",
        None => "waiting for timers",
    }
}

/// The name of a request, with what it touched where that is known: `writes to the journal`.
pub(crate) fn request(awaited: Awaited) -> String {
    let (kind, direction) = match awaited.operation {
        DeviceOperation::Read => ("reads", "of"),
        DeviceOperation::Write => ("writes", "to"),
        DeviceOperation::Discard => ("discards", "of"),
        DeviceOperation::Flush => ("flushes", "of"),
    };
    awaited.part.map_or(kind.into(), |touched| format!("{kind} {direction} {}", part_of_disk(touched)))
}

/// What was waited for, with what the request touched.
pub(crate) fn awaited(awaited: Option<Awaited>) -> String {
    awaited.map_or_else(|| waiting(None).into(), |awaited| format!("waiting for {}", request(awaited)))
}

/// A part of a file system, as a request touches it.
fn part_of_disk(part: Part) -> String {
    match part {
        Part::Superblock => "the superblock".into(),
        Part::Groups => "group descriptors".into(),
        Part::FreeSpace => "maps of free space".into(),
        Part::Inodes => "inodes".into(),
        Part::Directories => "directories".into(),
        Part::Mapping => "maps of files' blocks".into(),
        Part::Attributes => "extended attributes".into(),
        Part::Journal => "the journal".into(),
        Part::Checksums => "checksums".into(),
        Part::FileTree => "the tree of files".into(),
        Part::OtherTrees => "other trees".into(),
        Part::Data => "data".into(),
        Part::Unused => "blocks that are in no use afterwards".into(),
        Part::Sixteenth(at) => format!("sixteenth {} of the disk", at + 1),
    }
}

/// The name of a line of a ledger.
pub(crate) fn account(account: &Account) -> String {
    match account {
        Account::Program(program) => format!("{program} (its own instructions)"),
        Account::Function(function) => function.clone(),
        Account::DiskServer => "the disk's server".into(),
        Account::Waiting(operation) => waiting(*operation).into(),
        Account::Unattributed => "unattributed".into(),
    }
}

/// A function of the kernel, or the code of a program without its folder: `libc.so.6:qsort`.
pub(crate) fn frame(name: &str) -> &str {
    match program::code(name) {
        Some(program::Code { file, .. }) => &name[file.rfind('/').map_or(0, |slash| slash + 1)..],
        None => name,
    }
}

/// A program and which code of it was executed: `sort > libc.so.6:qsort`.
pub(crate) fn program((program, code): &(String, Option<String>)) -> String {
    format!("{program} > {}", code.as_deref().map_or("code of no known file", frame))
}

/// A program and a system call of it: `tool > fsync`.
pub(crate) fn system_call((program, call): &(String, String)) -> String {
    format!("{program} > {call}")
}

/// A table's last line, for what is not told.
pub(crate) fn others(count: usize) -> String {
    format!("{count} others")
}

/// What most of the time of one configuration is.
pub(crate) fn alone(ledger: &Ledger) -> String {
    let total = ledger.total.durable;
    let largest = ledger.accounts.iter().max_by_key(|(_, time)| time.durable);
    let Some((largest, time)) = largest else { return format!("{} took no time.", heading(&ledger.configuration)) };
    format!(
        "{} takes {} until durable; the largest part, {} ({}), is {}.",
        heading(&ledger.configuration),
        seconds(total),
        seconds(time.durable),
        part(time.durable, total),
        match largest {
            Account::Function(function) => format!("instructions of {function}"),
            other => account(other),
        }
    )
}

/// What makes one slower than the other.
pub fn difference(explanation: &Explanation) -> String {
    difference_until(explanation, "until durable")
}

/// The same of another end than that, such as of [`Ledger::until_returned`].
pub fn difference_until(explanation: &Explanation, until: &str) -> String {
    let Explanation { slow, fast, gap, cause, .. } = explanation;
    let (slow_name, fast_name) = (heading(&slow.configuration), heading(&fast.configuration));
    let both = format!(
        "{slow_name} takes {} {until}, {fast_name} {}",
        seconds(slow.total.durable),
        seconds(fast.total.durable)
    );
    // Other parts may be faster, so that one part has more than the difference.
    let of = |part_: &i64| match *part_ > *gap {
        true => format!("more than the {} between them, {},", seconds(*gap), seconds(*part_)),
        false => format!("of the {} between them {} ({})", seconds(*gap), seconds(*part_), part(*part_, *gap)),
    };
    match cause {
        Cause::Equal => format!("{slow_name} and {fast_name} both take {} {until}.", seconds(slow.total.durable)),
        Cause::Within { function, caller, gap } => {
            let called = caller.as_ref().map_or(String::new(), |caller| format!(", called from {caller}"));
            format!("{both}: {} are in {function} and what it calls{called}.", of(gap))
        }
        Cause::Program { program, gap, code } => {
            let most = code.as_ref().map_or(String::new(), |code| format!(", most of them in {}", frame(code)));
            format!("{both}: {} are instructions of {program} itself{most}.", of(gap))
        }
        Cause::Waiting { operation, gap, part } => {
            let most = operation.zip(*part).map(|(operation, part)| Awaited { operation, part: Some(part) });
            let most = most.map_or(String::new(), |awaited| format!(", most of it for {}", request(awaited)));
            format!("{both}: {} are spent {}{most}.", of(gap), waiting(*operation))
        }
        Cause::SystemCall { program, call, gap } => {
            format!("{both}: {} go by in the system call {call} of {program}.", of(gap))
        }
        Cause::Kernel { gap } => {
            format!("{both}: {} are instructions of the kernel, and no function makes up most of them.", of(gap))
        }
        Cause::Many { call } => {
            let largest = call.as_ref().map_or(String::new(), |(program, call, gap_)| {
                format!("; the largest part, {}, goes by in the system call {call} of {program}", part(*gap_, *gap))
            });
            format!("{both}: no single thing makes up most of the {} between them{largest}.", seconds(*gap))
        }
    }
}

/// That another would be first without a kind of waiting; only the disk's time would change.
pub(crate) fn without(ledgers: &[Ledger], found: &Without) -> String {
    let (waiting, first) = (waiting(Some(found.operation)), &ledgers[found.first].configuration);
    let [first_time, other] = found.times.map(seconds);
    let what = if found.operation == DeviceOperation::Flush { "; `--if flush=0` measures it" } else { "" };
    format!("Without {waiting}, {} would be first: {first_time} until durable, against {other}{what}.", heading(first))
}

/// What opens the ledgers of a page.
pub(crate) const SHOW: &str = "Where the time went: ledger, difference, flame graph";

/// What a flame graph is, for readers who cannot see it.
pub(crate) fn flame_graph(task: &str) -> String {
    format!("Flame graph of task {task}; the tables above have its numbers")
}

/// The heading of a task's explanation in texts.
pub(crate) fn asked(title: &str) -> String {
    format!("Why: {title}")
}

/// The heading of ledgers.
pub(crate) const WHERE: &str = "Where the time went, in seconds of the lab's clock";

/// The heading of what one kernel alone calls.
pub(crate) const CALLS: &str = "Where one kernel calls what the other does not";

/// The heading of requests.
pub(crate) const REQUESTS: &str = "What was waited for at the disk, in seconds of the lab's clock";

/// The heading of programs' own instructions.
pub(crate) const PROGRAMS: &str = "What programs executed outside the kernel, in seconds of the lab's clock";

/// The heading of system calls.
pub(crate) const SYSTEM_CALLS: &str =
    "What system calls took with all that they ran and waited for, in seconds of the lab's clock";

/// The heading of waits.
pub(crate) fn who_waited(ledger: &Ledger) -> String {
    format!("Who waited on {}, until durable", heading(&ledger.configuration))
}

/// In place of the time of a function that a kernel does not have.
pub(crate) const NOT_THERE: &str = "not there";

/// Above what one kernel alone calls.
pub(crate) const REROUTED: &str = "A function that is renamed, replaced, or put into its caller by the compiler, is in the lines \
                                   above under another name. Here stand the functions around it that ran in both kernels, \
                                   with all that they call, so that both times are of the same work.";

/// What one kernel alone calls.
pub(crate) fn callee(callee: &Callee) -> String {
    let there = if callee.other_has == Some(false) { ", not there in the other" } else { "" };
    format!("{} ({}{there})", callee.function, seconds(callee.time))
}

/// The heading of a difference.
pub(crate) fn longer(explanation: &Explanation) -> String {
    format!(
        "What {} takes longer than {}, until durable",
        heading(&explanation.slow.configuration),
        heading(&explanation.fast.configuration)
    )
}

/// A run among two.
pub(crate) fn run(run: &RunRecord) -> String {
    format!("{}, kernel {}", run.name(), run::say::kernels(run))
}

/// Names for a configuration in two runs: by what differs, which is their names, the kernels, or else the runs.
pub fn sides(runs: [&RunRecord; 2], names: [&str; 2], kernels: [&str; 2]) -> [String; 2] {
    if names[0] != names[1] {
        return names.map(|name| heading(name).into_owned());
    }
    let by = if kernels[0] != kernels[1] {
        kernels.map(str::to_owned)
    } else {
        runs.map(|run| run.side.clone().unwrap_or_else(|| run.id.to_string()))
    };
    by.map(|by| format!("{} ({by})", heading(names[0])))
}

/// Why this configuration of two runs is explained.
pub fn changed_most(name: &str, of: usize, task: &str) -> String {
    let name = heading(name);
    format!("{name} changed most at {task}, of {of} configurations that both runs have")
}

/// What the colours of a flame graph of two mean.
pub(crate) fn flames(explanation: &Explanation) -> String {
    let (slow, fast) = (heading(&explanation.slow.configuration), heading(&explanation.fast.configuration));
    format!("{slow}, red where it takes longer than {fast}")
}

/// `98 %`; more than all of a difference is possible, as other parts may be faster.
pub(crate) fn part(part: i64, of: i64) -> String {
    if of == 0 { "-".into() } else { percent(part as f64 / of as f64) }
}

/// How the figures of the profiled cells agree with those of the run. `is_kept`: a run itself was profiled. `differs`: what
/// is not as at the run's time.
pub(crate) fn figures(count: usize, is_kept: bool, differs: Option<&str>) -> String {
    let kept = "The run was made with the profiler (--profile), so no guest ran again.";
    match (differs, is_kept) {
        (None, true) if count == 0 => kept.into(),
        (None, false) => {
            format!("All {count} figures that the run has up to this task came again, equal to the last bit.")
        }
        (None, true) => format!("All {count} figures that came again are equal to the last bit. {kept}"),
        (Some(differs), _) => format!(
            "{differs}. So these cells were measured anew, without and with the profiler; all {count} figures up to this \
             task are equal to the last bit, and may differ from the run's."
        ),
    }
}
