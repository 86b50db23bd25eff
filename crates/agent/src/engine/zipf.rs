//! Zipf's law by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", ACM TOMACS 6, 1996): no table, about one try per number, for any theta above 0.

use mountmark_random::{Stream, exp, ln};

/// Numbers 1 to `count`, k in proportion to k^-theta.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    theta: f64,
    count: f64,
    /// The integral of the hat at both ends.
    first: f64,
    last: f64,
    /// Below this distance a number is accepted without computing the hat.
    sure: f64,
}

impl Zipf {
    /// `count` at least 1, `theta` above 0.
    pub(super) fn new(count: u64, theta: f64) -> Zipf {
        let count = count as f64;
        Zipf {
            theta,
            count,
            first: integral(1.5, theta) - 1.0,
            last: integral(count + 0.5, theta),
            sure: 2.0 - integral_inverse(integral(2.5, theta) - hat(2.0, theta), theta),
        }
    }

    /// The next number, 1 to `count`.
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let u = self.last + stream.unit() * (self.first - self.last);
            let x = integral_inverse(u, self.theta);
            let k = (x + 0.5).floor().clamp(1.0, self.count);
            if k - x <= self.sure || u >= integral(k + 0.5, self.theta) - hat(k, self.theta) {
                return k as u64;
            }
        }
    }
}

/// x^-theta.
fn hat(x: f64, theta: f64) -> f64 {
    exp(-theta * ln(x))
}

/// The integral of the hat: (x^(1-theta) - 1) / (1-theta), and ln x at theta 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = ln(x);
    exp_minus_one_over((1.0 - theta) * log) * log
}

fn integral_inverse(x: f64, theta: f64) -> f64 {
    // It is below -1 only by rounding.
    let t = (x * (1.0 - theta)).max(-1.0 + 1e-15);
    exp(log_one_plus_over(t) * x)
}

/// (e^x - 1) / x, 1 at 0.
fn exp_minus_one_over(x: f64) -> f64 {
    if x.abs() > 1e-3 { (exp(x) - 1.0) / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)) }
}

/// ln(1 + x) / x, 1 at 0.
fn log_one_plus_over(x: f64) -> f64 {
    if x.abs() > 1e-3 { ln(1.0 + x) / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x / 5.0))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        const DRAWS: u64 = 200_000;
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let count = 50u64;
            let zipf = Zipf::new(count, theta);
            let mut stream = Stream::new(1, "zipf");
            let mut seen = vec![0u64; count as usize + 1];
            (0..DRAWS).for_each(|_| seen[zipf.draw(&mut stream) as usize] += 1);
            let total: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
            // Chi-squared with 49 degrees of freedom: 1 in 10^6 exceeds 118.
            let distance: f64 = (1..=count)
                .map(|k| {
                    let expected = DRAWS as f64 * (k as f64).powf(-theta) / total;
                    (seen[k as usize] as f64 - expected).powi(2) / expected.max(1.0)
                })
                .sum();
            assert_eq!(seen[0], 0);
            assert!(distance < 118.0, "theta {theta}: {distance}");
        }
    }

    #[test]
    fn the_ends_are_reached_and_never_passed() {
        let mut stream = Stream::new(2, "zipf");
        for count in [1, 2, 3, u64::from(u32::MAX)] {
            let zipf = Zipf::new(count, 1.1);
            assert!((0..5_000).all(|_| (1..=count).contains(&zipf.draw(&mut stream))), "{count}");
        }
    }
}
