//! Sentences about where time went.

use mountmark_analyse::why::{Account, Cause, Explanation, Ledger};
use mountmark_model::Metric;
use mountmark_model::device::DeviceOperation;

use super::number::{percent, quantity};

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

/// What most of the time of one configuration is.
pub(crate) fn alone(ledger: &Ledger) -> String {
    let total = ledger.total.durable;
    let largest = ledger.accounts.iter().max_by_key(|(_, time)| time.durable);
    let Some((largest, time)) = largest else { return format!("{} took no time.", ledger.configuration) };
    format!(
        "{} takes {} until durable; the largest part, {} ({}), is {}.",
        ledger.configuration,
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
pub(crate) fn difference(explanation: &Explanation) -> String {
    let Explanation { slow, fast, gap, cause, .. } = explanation;
    let (slow_name, fast_name) = (&slow.configuration, &fast.configuration);
    let both = format!(
        "{slow_name} takes {} until durable, {fast_name} {}",
        seconds(slow.total.durable),
        seconds(fast.total.durable)
    );
    // Other parts may be faster, so that one part has more than the difference.
    let of = |part_: &i64| match *part_ > *gap {
        true => format!("more than the {} between them, {},", seconds(*gap), seconds(*part_)),
        false => format!("of the {} between them {} ({})", seconds(*gap), seconds(*part_), part(*part_, *gap)),
    };
    match cause {
        Cause::Equal => format!("{slow_name} and {fast_name} both take {} until durable.", seconds(slow.total.durable)),
        Cause::Within { function, caller, gap } => {
            let called = caller.as_ref().map_or(String::new(), |caller| format!(", called from {caller}"));
            format!("{both}: {} are in {function} and what it calls{called}.", of(gap))
        }
        Cause::Program { program, gap } => format!("{both}: {} are instructions of {program} itself.", of(gap)),
        Cause::Waiting { operation, gap } => format!("{both}: {} are spent {}.", of(gap), waiting(*operation)),
        Cause::Kernel { gap } => {
            format!("{both}: {} are instructions of the kernel, and no function makes up most of them.", of(gap))
        }
        Cause::Many => format!("{both}: no single thing makes up most of the {} between them.", seconds(*gap)),
    }
}

/// What the colours of a flame graph of two mean.
pub(crate) fn flames(explanation: &Explanation) -> String {
    let (slow, fast) = (&explanation.slow.configuration, &explanation.fast.configuration);
    format!("{slow}, red where it takes longer than {fast}")
}

/// `98 %`; more than all of a difference is possible, as other parts may be faster.
pub(crate) fn part(part: i64, of: i64) -> String {
    if of == 0 { "-".into() } else { percent(part as f64 / of as f64) }
}

/// How the figures of the profiled cells agree with those of the run.
pub(crate) fn equal(figures: usize) -> String {
    format!("All {figures} figures that the run has up to this task came again, equal to the last bit.")
}

/// The same, where something differs from the run's time.
pub(crate) fn anew(figures: usize, differs: &str) -> String {
    format!(
        "{differs}. So these cells were measured anew, without and with the profiler; all {figures} figures up to this \
         task are equal to the last bit, and may differ from the run's."
    )
}
