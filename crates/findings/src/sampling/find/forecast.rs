//! How many repeats a configuration is likely to need: its figures are continued by chance, many times.
//!
//! A configuration is measured until all of its figures are narrow at once, which takes longer than a figure of middling
//! luck needs. And five repeats tell a variance badly: so the variances of all figures of the run are taken together,
//! as far as they are alike (Smyth, as in `stats/variance.rs`).

use mountmark_stats::distribution::t_quantile;
use mountmark_stats::random::Random;
use mountmark_stats::summary::{median, variance};
use mountmark_stats::variance::{Prior, Variance, prior};

/// Confidence of the intervals that decide; those of a fixed number of repeats would be at 95 %.
pub const LEVEL: f64 = 0.98;

/// Continuations of each configuration; the median of their ends is the forecast.
const DRAWS: usize = 61;
const SEED: u64 = 1;

/// The logarithms of a figure's repeats, in short.
#[derive(Clone, Copy, Debug)]
pub struct Repeats {
    pub count: u32,
    /// Sum of squares of the distances from the mean of their own device: that one device is slower than another makes
    /// no figure less known.
    squares: f64,
    /// Number of devices.
    devices: u32,
}

impl Repeats {
    /// Of logarithms by device.
    pub fn new(devices: &[Vec<f64>]) -> Repeats {
        let used = || devices.iter().filter(|logs| !logs.is_empty());
        let squares = |logs: &Vec<f64>| variance(logs).map_or(0.0, |variance| variance * (logs.len() - 1) as f64);
        Repeats {
            count: used().map(|logs| logs.len() as u32).sum(),
            squares: used().map(squares).sum(),
            devices: used().count() as u32,
        }
    }

    /// Their variance on one device; `None` if no device has two.
    fn variance(&self) -> Option<Variance> {
        let df = f64::from(self.count.checked_sub(self.devices).filter(|df| *df > 0)?);
        Some(Variance { value: self.squares / df, df })
    }

    /// Half the width of the interval of their mean.
    pub fn reach(&self) -> f64 {
        match self.variance() {
            None => f64::INFINITY,
            Some(own) if own.value == 0.0 => 0.0,
            Some(own) => t_quantile(1.0 - LEVEL, own.df) * (own.value / f64::from(self.count)).sqrt(),
        }
    }
}

/// A figure, and the variance of its further repeats.
#[derive(Clone, Copy)]
struct Known {
    repeats: Repeats,
    further: f64,
}

/// By configuration, how many further repeats its figures are likely to need until the interval of each is within
/// `target`, as a difference of logarithms; 0 if all are. `figures`: configurations and repeats. Figures of one repeat,
/// and such as never vary, need none: nothing is known of them.
pub fn further(figures: &[(usize, Repeats)], count: usize, target: f64, most: u32) -> Vec<u32> {
    let strengths = prior(&figures.iter().filter_map(|(_, repeats)| repeats.variance()).collect::<Vec<_>>());
    let mut known: Vec<Vec<Known>> = vec![Vec::new(); count];
    for (configuration, repeats) in figures {
        let Some(own) = repeats.variance().filter(|own| own.value > 0.0) else { continue };
        known[*configuration].push(Known { repeats: *repeats, further: expected(own, strengths) });
    }
    let mut quantiles = Vec::new();
    let one = |known: Vec<Known>| {
        let mut random = Random::new(SEED);
        let mut draw = |_| f64::from(end(known.clone(), target, &mut quantiles, most, &mut random));
        median(&(0..DRAWS).map(&mut draw).collect::<Vec<_>>()).unwrap_or(0.0).round() as u32
    };
    known.into_iter().map(one).collect()
}

/// The best estimate of a variance, by its own repeats and what all others have in common.
pub fn expected(own: Variance, strengths: Option<Prior>) -> f64 {
    match strengths {
        None => own.value,
        Some(prior) if prior.df.is_infinite() => prior.value,
        Some(prior) => (own.value * own.df + prior.value * prior.df) / (own.df + prior.df),
    }
}

/// Repeats until all figures of a configuration are narrow at once, in one continuation. `quantiles`: of Student's t, by
/// degrees of freedom, as far as they were needed before.
fn end(mut figures: Vec<Known>, target: f64, quantiles: &mut Vec<f64>, most: u32, random: &mut Random) -> u32 {
    for further in 0.. {
        let mut is_wide = |known: &Known| {
            let (n, df) = (f64::from(known.repeats.count), known.repeats.count - known.repeats.devices);
            while quantiles.len() <= df as usize {
                quantiles.push(t_quantile(1.0 - LEVEL, (quantiles.len() as f64).max(1.0)));
            }
            known.repeats.squares > n * f64::from(df) * (target / quantiles[df as usize]).powi(2)
        };
        if !figures.iter().any(&mut is_wide) {
            return further;
        }
        // A figure that is wide wants another repeat, even where there may be none.
        if figures.iter().any(|known| known.repeats.count >= most) {
            return further.max(1);
        }
        for known in &mut figures {
            // What another value adds to a sum of squares (Helmert).
            known.repeats.squares += known.further * random.normal().powi(2);
            known.repeats.count += 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logarithms whose standard deviation is `size`.
    fn logs(repeats: u32, size: f64) -> Vec<f64> {
        let mut random = Random::new(7);
        (0..repeats).map(|_| size * random.normal()).collect()
    }

    fn figure(repeats: u32, size: f64) -> Repeats {
        Repeats::new(&[logs(repeats, size)])
    }

    #[test]
    fn what_is_wide_needs_more_and_what_is_narrow_or_known_by_nothing_needs_none() {
        let figures = [
            (0, figure(8, 0.001)),
            (1, figure(8, 0.05)),
            (2, figure(1, 0.5)),
            (3, figure(5, 0.0)),
            (4, figure(30, 0.5)),
        ];
        let found = further(&figures, 6, 0.02, 30);
        assert_eq!([found[0], found[2], found[3], found[5]], [0; 4], "{found:?}");
        assert!(found[1] > 5 && found[4] == 1, "{found:?}");
    }

    #[test]
    fn figures_that_vary_alike_are_forecast_alike() {
        // Five repeats that are alike by chance are not believed beside many others.
        let mut figures: Vec<(usize, Repeats)> = (0..12).map(|one| (one, figure(6, 0.04))).collect();
        figures.push((12, figure(6, 0.02)));
        let found = further(&figures, 13, 0.02, 100);
        assert!(found[12] * 2 > found[0] && found[0] > 10, "{found:?}");
    }

    #[test]
    fn a_slower_device_makes_no_figure_less_known() {
        let (one, other) = (logs(5, 0.01), logs(6, 0.01));
        let slower: Vec<f64> = other.iter().map(|log| log + 1.0).collect();
        let alike = Repeats::new(&[one.clone(), other]).reach();
        assert!((Repeats::new(&[one.clone(), slower]).reach() - alike).abs() < 1e-12);
        let of_one = Repeats::new(&[one, Vec::new()]);
        assert!((of_one.reach() - figure(5, 0.01).reach()).abs() < 1e-12 && alike < of_one.reach());
        assert_eq!(Repeats::new(&[vec![0.1], vec![0.2]]).reach(), f64::INFINITY);
    }
}
