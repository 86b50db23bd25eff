//! The time of one task in one configuration.

use std::collections::BTreeMap;
use std::iter::Sum;

use mountmark_model::device::DeviceOperation;
use mountmark_model::profile::{Awaited, PathTime, Profile, program};

/// What a part of the time was for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// Instructions of a program outside the kernel.
    Program(String),
    /// Instructions of a function of the kernel itself, without those that it calls.
    Function(String),
    /// Instructions of the processes that stand for the disks, in the kernel too.
    DiskServer,
    /// The processor was idle, and this request was the next that the disk would answer; `None`: the disk had nothing to do.
    Waiting(Option<DeviceOperation>),
    /// What the profiler could not attribute, and what the guest's clock gains or loses by rounding.
    Unattributed,
}

/// Nanoseconds of the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Until the command had returned.
    pub returned: i64,
    /// Until its data were durable.
    pub durable: i64,
}

impl Time {
    fn add(&mut self, nanoseconds: i64, is_returned: bool) {
        self.durable += nanoseconds;
        self.returned += if is_returned { nanoseconds } else { 0 };
    }
}

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Until the command had returned.
    pub returned: u64,
    /// Until its data were durable.
    pub durable: u64,
}

impl<'a> Sum<&'a Time> for Time {
    fn sum<I: Iterator<Item = &'a Time>>(times: I) -> Time {
        times.fold(Time::default(), |sum, time| Time {
            returned: sum.returned + time.returned,
            durable: sum.durable + time.durable,
        })
    }
}

/// Where the time of one task went, in one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    pub configuration: String,
    /// The task's figures, to which the accounts add up.
    pub total: Time,
    pub accounts: BTreeMap<Account, Time>,
    /// What of the accounts was waiting for a request, by what it touched.
    pub requests: BTreeMap<Awaited, Time>,
    /// What of the accounts was a program's own instructions, by program and its code as paths name it; `None` where no
    /// file is known.
    pub programs: BTreeMap<(String, Option<String>), Time>,
    /// What programs were in system calls, with all that these ran and waited for, by the program and the call.
    pub calls: BTreeMap<(String, String), Time>,
    /// How often these were made; empty where nobody counted them.
    pub counts: BTreeMap<(String, String), Count>,
    /// Until durable, by path.
    pub paths: BTreeMap<Vec<String>, PathTime>,
}

impl Ledger {
    /// Of the time until the command returned alone, as what is durable then. What calls what is not told.
    pub fn until_returned(&self) -> Ledger {
        fn cut<K: Ord + Clone>(times: &BTreeMap<K, Time>) -> BTreeMap<K, Time> {
            let cut = |time: &Time| Time { returned: time.returned, durable: time.returned };
            times.iter().map(|(key, time)| (key.clone(), cut(time))).collect()
        }
        Ledger {
            configuration: self.configuration.clone(),
            total: Time { returned: self.total.returned, durable: self.total.returned },
            accounts: cut(&self.accounts),
            requests: cut(&self.requests),
            programs: cut(&self.programs),
            calls: cut(&self.calls),
            counts: (self.counts.iter())
                .map(|(call, count)| (call.clone(), Count { returned: count.returned, durable: count.returned }))
                .collect(),
            paths: BTreeMap::new(),
        }
    }

    /// Time of an account until durable.
    pub fn durable(&self, account: &Account) -> i64 {
        self.accounts.get(account).map_or(0, |time| time.durable)
    }
}

/// The ledger of a task that took `elapsed` and then `sync` nanoseconds, from the profiles of both parts.
pub fn ledger(configuration: &str, elapsed: u64, sync: u64, profiles: [&Profile; 2]) -> Ledger {
    let mut accounts: BTreeMap<Account, Time> = BTreeMap::new();
    let mut requests: BTreeMap<Awaited, Time> = BTreeMap::new();
    let mut programs: BTreeMap<(String, Option<String>), Time> = BTreeMap::new();
    let mut calls: BTreeMap<(String, String), Time> = BTreeMap::new();
    let mut counts: BTreeMap<(String, String), Count> = BTreeMap::new();
    let mut paths: BTreeMap<Vec<String>, PathTime> = BTreeMap::new();
    for (profile, figure, is_returned) in [(profiles[0], elapsed, true), (profiles[1], sync, false)] {
        let mut add = |account: Account, nanoseconds: i64| {
            accounts.entry(account).or_default().add(nanoseconds, is_returned);
        };
        for (path, entries) in &profile.entries {
            if let Some((program, call)) = system_call(path) {
                let count = counts.entry((program.to_owned(), call.to_owned())).or_default();
                count.durable += entries;
                count.returned += if is_returned { *entries } else { 0 };
            }
        }
        let mut rest = figure as i64;
        for (path, time) in &profile.paths {
            let all = time.running as i64 + time.waiting.values().sum::<u64>() as i64;
            rest -= all;
            if let Some((program, call)) = system_call(path) {
                calls.entry((program.to_owned(), call.to_owned())).or_default().add(all, is_returned);
            }
            if time.running > 0 {
                let account = account(path);
                if let Account::Program(program) = &account {
                    let of_program = programs.entry((program.clone(), path.get(1).cloned())).or_default();
                    of_program.add(time.running as i64, is_returned);
                }
                add(account, time.running as i64);
            }
            let both = paths.entry(path.clone()).or_default();
            both.running += time.running;
            for (awaited, waited) in &time.waiting {
                add(Account::Waiting(awaited.map(|awaited| awaited.operation)), *waited as i64);
                *both.waiting.entry(*awaited).or_default() += waited;
                if let Some(awaited) = awaited {
                    requests.entry(*awaited).or_default().add(*waited as i64, is_returned);
                }
            }
        }
        add(Account::Unattributed, rest);
    }
    let total = Time { returned: elapsed as i64, durable: (elapsed + sync) as i64 };
    Ledger { configuration: configuration.to_owned(), total, accounts, requests, programs, calls, counts, paths }
}

/// What calls the kernel's functions for system calls, on x86-64.
const SYSCALL: &str = "do_syscall_64";
/// What stands before a system call's name there: the first of the kernel's functions that is not compiled into another.
const BEGINNINGS: [&str; 5] = ["__x64_sys_", "__do_sys_", "__se_sys_", "ksys_", "do_"];

/// The program and the system call that a path is in.
fn system_call(path: &[String]) -> Option<(&str, &str)> {
    let at = path.iter().position(|name| name == SYSCALL).filter(|_| path[0] != program::DISK_SERVER)?;
    let function = path.get(at + 1)?.as_str();
    if function.ends_with("mmap_pgoff") {
        return Some((&path[0], "mmap"));
    }
    let name = BEGINNINGS.iter().find_map(|begin| function.strip_prefix(begin))?;
    Some((&path[0], name))
}

/// The account of the instructions at the end of a path.
fn account(path: &[String]) -> Account {
    match path {
        [] => Account::Unattributed,
        [first, ..] if first == program::DISK_SERVER => Account::DiskServer,
        [program] => Account::Program(program.clone()),
        [program, code] if program::code(code).is_some() => Account::Program(program.clone()),
        [.., function] => Account::Function(function.clone()),
    }
}

/// Instructions of each function with all that it calls, and how deep it lies: nanoseconds, and the sum of depths
/// weighted with them.
pub(crate) type Sums<'a> = BTreeMap<&'a str, (i64, i64)>;

/// Paths and times of all but the disk's server.
pub(crate) fn work(ledger: &Ledger) -> impl Iterator<Item = (&Vec<String>, &PathTime)> {
    ledger.paths.iter().filter(|(path, _)| path.first().is_some_and(|first| first != program::DISK_SERVER))
}
