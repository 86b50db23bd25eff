//! What was counted, as text.

use mountmark_cells::Plan;

use super::judge::{Coverage, False, GROUPS, Share, Slowdowns, Worst};

/// The largest part of families that may have a false verdict.
const FALSE_FAMILIES: f64 = 0.05;
/// The least part of slowdowns that groups of ten must find.
const FOUND: f64 = 90.0;
/// Number of figures whose intervals held least often.
const WORST: usize = 5;

pub struct Result<'a> {
    pub plan: &'a Plan,
    /// By variant, then by size of the groups.
    pub equals: Vec<(&'static str, [False; GROUPS.len()])>,
    pub coverage: [Coverage; GROUPS.len()],
    pub slowdowns: [Slowdowns; GROUPS.len()],
}

impl Result<'_> {
    /// Whether the promises are kept, as far as so many families can tell.
    pub fn is_good(&self) -> bool {
        let families: usize = self.equals.iter().flat_map(|(_, sizes)| sizes).map(|found| found.families).sum();
        let wrong: usize = self.equals.iter().flat_map(|(_, sizes)| sizes).map(|found| found.wrong).sum();
        wrong <= allowed(families) && self.slowdowns[GROUPS.len() - 1].found.percent() >= FOUND
    }

    pub fn text(&self) -> String {
        let plan = self.plan;
        let mut out = format!(
            "Verdicts: {}, {} repeats under {} conditions, disk {}, machine {}, kernel {}\n\n",
            plan.configurations.join(", "),
            plan.repeats,
            plan.conditions().name(),
            plan.cells.first().map_or("", |cell| &cell.disk.name),
            plan.machine.name,
            plan.kernel
        );
        out += &format!(
            "{:<40} {:>7} {:>8} {:>12} {:>11} {:>16}\n",
            "plans that differ in nothing that matters",
            "repeats",
            "families",
            "with verdict",
            "regression",
            "figures shown"
        );
        for (at, size) in GROUPS.iter().enumerate() {
            let mut total = False::default();
            for (name, sizes) in &self.equals {
                out += &line(name, *size, &sizes[at]);
                total.add(&sizes[at]);
            }
            out += &line("all", *size, &total);
        }
        out += "\nIntervals at 95 % that contain what all repeats show\n";
        for (size, found) in GROUPS.iter().zip(&self.coverage) {
            out += &format!(
                "  of {size:>2} repeats: medians {:.1} % of {}, ratios {:.1} % of {}; {}\n",
                found.medians.percent(),
                found.medians.of,
                found.ratios.percent(),
                found.ratios.of,
                dependent(found.dependent)
            );
            out += &least(&found.worst);
        }
        out += "\nTasks slowed down by 3 % that are found\n";
        for (size, Slowdowns { found, dependent, worst }) in GROUPS.iter().zip(&self.slowdowns) {
            out += &format!(
                "  with {size:>2} repeats: {:.1} % of {}; {}\n",
                found.percent(),
                found.of,
                self::dependent(*dependent)
            );
            out += &least(worst);
        }
        out
    }
}

/// Those that are counted apart.
fn dependent(share: Share) -> String {
    format!("{:.1} % of {} that are marked as depending on conditions", share.percent(), share.of)
}

/// Figures of which something held least often.
fn least(worst: &[Worst]) -> String {
    let line = |(name, task, share): &Worst| format!("      {name} {task}: {:.0} % of {}\n", share.percent(), share.of);
    worst.iter().take(WORST).map(line).collect()
}

impl False {
    fn add(&mut self, other: &False) {
        self.families += other.families;
        self.wrong += other.wrong;
        self.regressions += other.regressions;
        self.figures += other.figures;
        self.shown += other.shown;
    }
}

fn line(name: &str, size: u32, found: &False) -> String {
    format!(
        "{name:<41} {size:>7} {:>8} {:>12} {:>11} {:>16}\n",
        found.families,
        found.wrong,
        found.regressions,
        format!("{} of {}", found.shown, found.figures)
    )
}

/// The largest number of wrong families among `families` that chance exceeds in fewer than 1 of 100 checks, if each is
/// wrong with the probability that is allowed: few families cannot tell more.
fn allowed(families: usize) -> usize {
    let (p, n) = (FALSE_FAMILIES, families as i32);
    let mut term = (1.0 - p).powi(n);
    let mut sum = term;
    let mut k = 0;
    while sum < 0.99 && k < n {
        k += 1;
        term *= f64::from(n - k + 1) / f64::from(k) * p / (1.0 - p);
        sum += term;
    }
    k as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_families_may_be_wrong_by_chance() {
        // The least k whose binomial probabilities up to k sum to 99 %, by exact sums in Python.
        assert_eq!([0, 1, 10, 40, 150].map(allowed), [0, 1, 3, 6, 14]);
    }
}
