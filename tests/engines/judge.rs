//! Decides whether two rates of one phase agree, or differ for a known reason.

use mountmark_model::Metric;

use super::Figures;
use super::pairs::{OwnWork, Phase};

/// Rates within this relative difference agree.
pub const TOLERANCE: f64 = 0.10;

/// The verdict on one phase.
#[derive(Debug)]
pub struct Verdict {
    pub phase: String,
    /// What is the same on both sides.
    pub matched: String,
    /// Unit of the rates.
    pub unit: String,
    /// Rates of the engine and of the program, if both exist.
    pub rates: Option<(f64, f64)>,
    pub kind: Kind,
}

#[derive(Debug, PartialEq)]
pub enum Kind {
    /// Within the tolerance.
    Agrees,
    /// They differ for this reason.
    Explained(String),
    /// They differ by the program's own cost: its own work takes `more` nanoseconds per operation than the engine's,
    /// and `ratio` is the ratio without that.
    OwnWork {
        more: f64,
        ratio: f64,
    },
    /// They differ without a known reason.
    Differs,
    /// A side has no figure, for this reason.
    Unmeasured(String),
    Failed(String),
}

impl Verdict {
    /// Whether nothing needs correction.
    pub fn is_good(&self) -> bool {
        !matches!(self.kind, Kind::Differs | Kind::Failed(_))
    }

    /// Whether both sides have figures.
    pub fn is_measured(&self) -> bool {
        self.rates.is_some()
    }

    /// The engine's rate over the program's.
    pub fn ratio(&self) -> Option<f64> {
        self.rates.map(|(native, real)| native / real)
    }
}

/// Judges a phase by the figures of a cell. `by_time`: see [`super::pairs::Check::by_time`].
pub fn judge(phase: &Phase, figures: &Figures, filesystem: &str, disk: &str, by_time: bool) -> Verdict {
    let value = |task: &str, metric: Metric| figures.values.get(&(task.to_owned(), metric.id.to_owned())).copied();
    let rate = |task: &str| {
        let rate = value(task, Metric::RATE).filter(|rate| *rate > 0.0)?;
        if !by_time || task != phase.real {
            return Some(rate);
        }
        // The data moved by the engine, over the time that the program took for the same amount.
        let moved = value(&phase.native, Metric::RATE)? * value(&phase.native, Metric::MEASURED)?;
        Some(moved / value(task, Metric::MEASURED).filter(|time| *time > 0.0)?)
    };
    let mut verdict = Verdict {
        phase: phase.native.clone(),
        matched: phase.matched.clone(),
        unit: phase.unit.clone(),
        rates: None,
        kind: Kind::Agrees,
    };
    let (Some(native), Some(real)) = (rate(&phase.native), rate(&phase.real)) else {
        let missing = [&phase.real, &phase.native].into_iter().find_map(|task| figures.missing.get(task));
        verdict.kind = match missing {
            Some(missing) if missing.failed => Kind::Failed(missing.reason.clone()),
            Some(missing) => Kind::Unmeasured(missing.reason.clone()),
            None => Kind::Failed("there is neither a rate nor a reason for its absence".to_owned()),
        };
        return verdict;
    };
    verdict.rates = Some((native, real));
    if agrees(native / real) {
        return verdict;
    }
    let holds = |names: &[String], name: &str| names.is_empty() || names.iter().any(|known| known == name);
    let known = phase.differs.iter().find(|known| {
        let size = known.by.difference(native, real);
        (known.from..=known.to).contains(&size) && holds(&known.on, filesystem) && holds(&known.disks, disk)
    });
    let own = phase.own_work.as_ref().and_then(|own| own_work(phase, own, figures));
    verdict.kind = own.or(known.map(|known| Kind::Explained(known.reason.clone()))).unwrap_or(Kind::Differs);
    verdict
}

fn agrees(ratio: f64) -> bool {
    // The test is symmetric in the two sides.
    (1.0 - TOLERANCE..=1.0 / (1.0 - TOLERANCE)).contains(&ratio)
}

/// Whether the programs' own work explains the difference: without it, an operation takes the same time on both sides.
fn own_work(phase: &Phase, own: &OwnWork, figures: &Figures) -> Option<Kind> {
    let nanoseconds = |task: &str| {
        let rate = figures.values.get(&(task.to_owned(), Metric::OPERATION_RATE.id.to_owned())).copied()?;
        (rate > 0.0).then(|| 1e9 / rate)
    };
    let (native, real) = (nanoseconds(&phase.native)?, nanoseconds(&phase.real)?);
    let more = nanoseconds(&own.real)? - nanoseconds(&own.native)?;
    let ratio = (real - more) / native;
    agrees(ratio).then_some(Kind::OwnWork { more, ratio })
}

#[cfg(test)]
mod tests {
    use super::super::Missing;
    use super::super::pairs::{By, Difference};
    use super::*;

    fn phase() -> Phase {
        Phase {
            native: "a".into(),
            real: "b".into(),
            matched: "all".into(),
            unit: "KiB/s".into(),
            differs: vec![Difference {
                by: By::Ratio,
                from: 1.2,
                to: 1.5,
                reason: "a pipe".into(),
                on: vec!["ext4".into()],
                disks: Vec::new(),
            }],
            own_work: None,
        }
    }

    fn figures(values: &[(&str, &str, f64)]) -> Figures {
        let values = values.iter().map(|(task, metric, value)| (((*task).into(), (*metric).into()), *value));
        Figures { values: values.collect(), ..Figures::default() }
    }

    #[test]
    fn a_tenth_is_borne_and_more_needs_a_reason_that_fits() {
        let of = |native: f64, fs: &str| {
            judge(&phase(), &figures(&[("a", "rate", native), ("b", "rate", 100.0)]), fs, "ram", false).kind
        };
        assert_eq!(of(109.0, "ext4"), Kind::Agrees);
        assert_eq!(of(91.0, "ext4"), Kind::Agrees);
        assert_eq!(of(130.0, "ext4"), Kind::Explained("a pipe".into()));
        assert_eq!(of(130.0, "xfs"), Kind::Differs);
        assert_eq!(of(160.0, "ext4"), Kind::Differs);
        assert_eq!(of(80.0, "ext4"), Kind::Differs);
    }

    #[test]
    fn what_an_operation_costs_more_is_told_in_nanoseconds() {
        let mut phase = phase();
        let known = phase.differs.remove(0);
        phase.differs.push(Difference { by: By::Nanoseconds, from: 400.0, to: 600.0, ..known });
        // Per operation: nanoseconds of the engine and of the program.
        let of = |native: f64, real: f64| {
            judge(&phase, &figures(&[("a", "rate", 1e9 / native), ("b", "rate", 1e9 / real)]), "ext4", "ram", false)
                .kind
        };
        assert_eq!(of(500.0, 1000.0), Kind::Explained("a pipe".into()));
        assert_eq!(of(3000.0, 3500.0), Kind::Explained("a pipe".into()));
        assert_eq!(of(3000.0, 3700.0), Kind::Differs);
        assert_eq!(of(3500.0, 3000.0), Kind::Differs);
    }

    #[test]
    fn a_missing_side_says_why() {
        let mut seen = figures(&[("a", "rate", 1.0)]);
        seen.missing.insert("b".into(), Missing { failed: false, reason: "too fast.".into() });
        let verdict = judge(&phase(), &seen, "ext4", "ram", false);
        assert!(verdict.is_good() && !verdict.is_measured() && verdict.ratio().is_none());
        assert_eq!(verdict.kind, Kind::Unmeasured("too fast.".into()));
        seen.missing.insert("b".into(), Missing { failed: true, reason: "broke".into() });
        assert!(!judge(&phase(), &seen, "ext4", "ram", false).is_good());
    }

    #[test]
    fn own_work_explains_what_it_takes_and_no_more() {
        let own = OwnWork { native: "n".into(), real: "m".into() };
        let phase = Phase { own_work: Some(own), differs: Vec::new(), ..phase() };
        // 1,000 and 1,500 ns, of which the program's own work takes 520 and the engine's 20.
        let mut values = vec![("a", "rate", 3.0), ("b", "rate", 2.0), ("a", "operation_rate", 1e6)];
        values.extend([("b", "operation_rate", 1e9 / 1500.0), ("m", "operation_rate", 1e9 / 520.0)]);
        values.push(("n", "operation_rate", 1e9 / 20.0));
        let Kind::OwnWork { more, ratio } = judge(&phase, &figures(&values), "ext4", "ram", false).kind else {
            panic!()
        };
        assert!((more - 500.0).abs() < 1e-6 && (ratio - 1.0).abs() < 1e-9, "{more}, {ratio}");
        values.retain(|(task, _, _)| *task != "m");
        values.push(("m", "operation_rate", 1e9 / 120.0));
        assert_eq!(judge(&phase, &figures(&values), "ext4", "ram", false).kind, Kind::Differs);
    }

    #[test]
    fn the_same_work_is_compared_by_time() {
        let seen = [("a", "rate", 100.0), ("a", "measured", 2.0), ("b", "rate", 1.0), ("b", "measured", 2.5)];
        let verdict = judge(&phase(), &figures(&seen), "jfs", "ram", true);
        assert_eq!((verdict.rates, verdict.kind), (Some((100.0, 80.0)), Kind::Differs));
    }
}
