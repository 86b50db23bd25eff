//! What else this machine did while a cell was measured: other programs, stolen time, stalls.
//!
//! Sources: /proc/stat (all processors, steal), /proc/PID/stat (processor time of other programs; those that began and
//! ended meanwhile are not seen), /proc/pressure (Documentation/accounting/psi.rst). Kernel threads count for nobody: they
//! work for the cell too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Instant;

use mountmark_model::DISTURBED;

/// Shares of time above which a cell is measured again: of all processors, taken by other programs.
const MOST_OTHERS: f64 = 0.05;
/// Of all processors, stolen by the machine below a virtual one.
const MOST_STOLEN: f64 = 0.02;
/// Of wall time, in which some process waited for memory.
const MOST_STALLED: f64 = 0.02;
/// Ticks of /proc/stat in a second (USER_HZ, the same on all machines).
const TICKS: f64 = 100.0;

/// A moment.
pub(super) struct Noise {
    at: Instant,
    stolen: u64,
    others: BTreeMap<u32, u64>,
    /// Microseconds of stalls: cpu, io, memory.
    stalls: [u64; 3],
}

/// Shares of the time between two moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Disturbance {
    others: f64,
    stolen: f64,
    stalls: [f64; 3],
}

impl Noise {
    pub(super) fn now() -> Noise {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let stall = |what: &str| stalled(&fs::read_to_string(format!("/proc/pressure/{what}")).unwrap_or_default());
        Noise {
            at: Instant::now(),
            stolen: field(stat.lines().next().unwrap_or_default(), 8),
            others: others(std::process::id()),
            stalls: ["cpu", "io", "memory"].map(stall),
        }
    }

    /// What happened since.
    pub(super) fn since(&self) -> Disturbance {
        let now = Noise::now();
        let seconds = (now.at - self.at).as_secs_f64().max(1e-3);
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let used = |(process, ticks): (&u32, &u64)| {
            let before = self.others.get(process).copied();
            before.map_or(*ticks, |before| ticks.saturating_sub(before))
        };
        let others: u64 = now.others.iter().map(used).sum();
        let share = |ticks: u64| ticks as f64 / TICKS / seconds / processors;
        let stalls = [0, 1, 2].map(|at| now.stalls[at].saturating_sub(self.stalls[at]) as f64 / 1e6 / seconds);
        Disturbance { others: share(others), stolen: share(now.stolen.saturating_sub(self.stolen)), stalls }
    }
}

impl Disturbance {
    /// All figures, in a sentence.
    pub(super) fn text(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        format!(
            "meanwhile other programs took {} of the processors' time, {} of it was stolen; processes waited {} of the time \
             for a processor, {} for I/O, {} for memory",
            percent(self.others),
            percent(self.stolen),
            percent(self.stalls[0]),
            percent(self.stalls[1]),
            percent(self.stalls[2])
        )
    }

    /// The remark of a cell that was disturbed past a limit; `None` if it was not.
    pub(super) fn remark(&self) -> Option<String> {
        let limits = [
            ("other programs took", self.others, MOST_OTHERS, "of the processors' time"),
            ("the machine below stole", self.stolen, MOST_STOLEN, "of the processors' time"),
            ("processes waited for memory", self.stalls[2], MOST_STALLED, "of the time"),
        ];
        let past: Vec<String> = limits
            .iter()
            .filter(|(_, share, most, _)| share > most)
            .map(|(what, share, most, of)| format!("{what} {:.1} % {of} (limit {:.0} %)", 100.0 * share, 100.0 * most))
            .collect();
        (!past.is_empty()).then(|| format!("{DISTURBED}{}", past.join(", ")))
    }
}

/// A number of a line; the first word is number 0.
fn field(line: &str, at: usize) -> u64 {
    line.split_whitespace().nth(at).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Microseconds in which some process was stalled: `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`.
fn stalled(text: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with("some "));
    line.and_then(|line| line.split_once("total=")?.1.trim().parse().ok()).unwrap_or(0)
}

/// Ticks of all programs but `own` and what it has started.
fn others(own: u32) -> BTreeMap<u32, u64> {
    let all: BTreeMap<u32, Stat> = super::device::processes()
        .into_iter()
        .filter_map(|process| Some((process, stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?)))
        .collect();
    let mut ours = BTreeSet::from([own]);
    // Parents may have higher numbers than their children.
    loop {
        let more: Vec<u32> = all
            .iter()
            .filter(|(process, stat)| !ours.contains(process) && ours.contains(&stat.parent))
            .map(|(process, _)| *process)
            .collect();
        if more.is_empty() {
            break;
        }
        ours.extend(more);
    }
    let others = all.into_iter().filter(|(process, stat)| !ours.contains(process) && !stat.is_kernels);
    others.map(|(process, stat)| (process, stat.ticks)).collect()
}

/// What /proc/PID/stat says of a process.
struct Stat {
    parent: u32,
    is_kernels: bool,
    ticks: u64,
}

fn stat(text: &str) -> Option<Stat> {
    /// `PF_KTHREAD`
    const KERNEL_THREAD: u64 = 0x0020_0000;
    // The name may hold spaces and brackets.
    let (_, rest) = text.rsplit_once(") ")?;
    Some(Stat {
        parent: field(rest, 1) as u32,
        is_kernels: field(rest, 6) & KERNEL_THREAD != 0,
        ticks: field(rest, 11) + field(rest, 12),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let read = stat("77 (a) b (c)) S 5 77 77 0 -1 4194560 10 0 0 0 30 12 0 0 20 0 1 0 99").unwrap();
        assert_eq!((read.parent, read.is_kernels, read.ticks), (5, false, 42));
        assert!(stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20").unwrap().is_kernels);
        assert_eq!(stalled("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0 total=9\n"), 123);
        assert_eq!(field("cpu  1 2 3 4 5 6 7 8 9 10", 8), 8);
    }

    #[test]
    fn only_what_is_past_a_limit_is_a_remark() {
        let quiet = Disturbance { others: 0.04, stolen: 0.01, stalls: [0.9, 0.9, 0.01] };
        assert_eq!(quiet.remark(), None);
        assert!(quiet.text().contains("4.0 %") && quiet.text().contains("90.0 % for I/O"), "{}", quiet.text());
        let busy = Disturbance { others: 0.31, stolen: 0.5, ..quiet };
        let remark = busy.remark().unwrap();
        assert!(remark.starts_with(DISTURBED) && remark.contains("31.0 %") && remark.contains("limit 2 %"), "{remark}");
    }

    #[test]
    fn a_busy_neighbour_is_seen_and_an_own_child_is_not() {
        let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let before = Noise::now();
        // A child of a child that has ended belongs to nobody; this one stays ours.
        let mut own = std::process::Command::new("sh").args(["-c", busy]).spawn().unwrap();
        assert!(!others(std::process::id()).contains_key(&own.id()));
        assert!(others(1).len() <= others(std::process::id()).len() + 1 || !others(0).is_empty());
        own.wait().unwrap();
        let passed = before.since();
        assert!(passed.others >= 0.0 && passed.stolen >= 0.0 && passed.others.is_finite(), "{passed:?}");
    }
}
