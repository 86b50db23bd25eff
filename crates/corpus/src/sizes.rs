//! File sizes: drawn from a distribution, then fitted to a total.

use mountmark_model::Distribution;

use mountmark_random::{Stream, exp, ln};

/// Draws before a value outside the bounds is moved to the nearest of them. A distribution that misses its bounds this
/// often has the wrong bounds; its author sees the realised sizes.
const TRIES: u32 = 1000;

/// One size in bytes, not yet rounded, at least 1.
///
/// A lognormal value outside its bounds is drawn again: moving it to the bound would make one size far too common.
pub(crate) fn draw(sizes: &Distribution, stream: &mut Stream) -> f64 {
    match sizes {
        Distribution::Lognormal { mu, sigma, min, max } => {
            lognormal_within(*mu, *sigma, min.0 as f64, max.0 as f64, stream)
        }
        Distribution::LogUniform { min, max } => {
            let (low, high) = (ln(min.0 as f64), ln(max.0 as f64));
            exp(low + stream.unit() * (high - low))
        }
    }
}

pub(crate) fn lognormal_within(mu: f64, sigma: f64, min: f64, max: f64, stream: &mut Stream) -> f64 {
    let mut value = stream.lognormal(mu, sigma);
    for _ in 0..TRIES {
        if (min..=max).contains(&value) {
            break;
        }
        value = stream.lognormal(mu, sigma);
    }
    value.clamp(min, max).max(1.0)
}

/// The smallest and largest size that `sizes` allows, in bytes.
pub(crate) fn bounds(sizes: &Distribution) -> (u64, u64) {
    match sizes {
        Distribution::Lognormal { min, max, .. } | Distribution::LogUniform { min, max } => (min.0, max.0),
    }
}

/// Whole sizes within `min..=max` with the exact sum `total`, each as close as possible to one factor times the drawn
/// size: that keeps the shape of the distribution. The caller has checked that the bounds allow the total.
pub(crate) fn fit(drawn: &[f64], total: u64, min: u64, max: u64) -> Vec<u64> {
    let at = |size: f64, factor: f64| ((size * factor).round() as u64).clamp(min, max);
    let sum = |factor: f64| drawn.iter().map(|size| u128::from(at(*size, factor))).sum::<u128>();
    let total = u128::from(total);
    // The sum grows with the factor; find the largest factor that does not exceed the total, by doubling and halving.
    let (mut low, mut high) = (1.0, 1.0);
    while sum(low) > total && low > f64::MIN_POSITIVE * 4.0 {
        low /= 2.0;
    }
    while sum(high) < total && high < 1e19 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if sum(middle) <= total {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut sizes: Vec<u64> = drawn.iter().map(|size| at(*size, low)).collect();
    // Rounding leaves a few bytes, at most about one per file: add one each to the files with room, in order.
    let mut missing = total as i128 - sizes.iter().map(|size| i128::from(*size)).sum::<i128>();
    while missing != 0 {
        let before = missing;
        for size in &mut sizes {
            if missing > 0 && *size < max {
                *size += 1;
                missing -= 1;
            } else if missing < 0 && *size > min {
                *size -= 1;
                missing += 1;
            }
        }
        if missing == before {
            break;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use mountmark_model::Bytes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn totals_are_exact_and_bounds_hold(
            count in 1usize..300, seed: u64, min in 0u64..5000, span in 0u64..1_000_000, share in 0.0f64..=1.0,
        ) {
            let max = min + span;
            let (least, most) = (min * count as u64, max * count as u64);
            let total = least + ((most - least) as f64 * share) as u64;
            let distribution = Distribution::Lognormal { mu: 8.0, sigma: 1.5, min: Bytes(min), max: Bytes(max) };
            let mut stream = Stream::new(seed, "sizes");
            let drawn: Vec<f64> = (0..count).map(|_| draw(&distribution, &mut stream)).collect();
            let sizes = fit(&drawn, total, min, max);
            prop_assert_eq!(sizes.iter().sum::<u64>(), total);
            prop_assert!(sizes.iter().all(|size| (min..=max).contains(size)));
        }
    }

    #[test]
    fn large_samples_have_the_asked_for_percentiles() {
        let mut stream = Stream::new(11, "sample");
        let wide = Distribution::Lognormal { mu: 9.48, sigma: 2.45663283, min: Bytes(0), max: Bytes(1 << 50) };
        let mut sample: Vec<f64> = (0..200_000).map(|_| draw(&wide, &mut stream)).collect();
        sample.sort_by(f64::total_cmp);
        // Expected from mu and sigma: 562 B, 2.5 kB, 13.1 kB, 68.7 kB, 305 kB, 3.97 MB.
        for (share, bytes) in
            [(0.1, 562.0), (0.25, 2499.0), (0.5, 13_095.0), (0.75, 68_700.0), (0.9, 305e3), (0.99, 3.97e6)]
        {
            let found = sample[(share * sample.len() as f64) as usize];
            assert!((found / bytes - 1.0).abs() < 0.04, "{share}: {found} against {bytes}");
        }
        let even = Distribution::LogUniform { min: Bytes(10_000), max: Bytes(1_000_000) };
        let mut sample: Vec<f64> = (0..100_000).map(|_| draw(&even, &mut stream)).collect();
        sample.sort_by(f64::total_cmp);
        assert!((sample[50_000] / 100_000.0 - 1.0).abs() < 0.03);
        assert!(sample[0] >= 9_999.9 && sample[99_999] <= 1_000_000.1);
        let mut tail: Vec<f64> = (0..100_000).map(|_| stream.pareto(0.91, 512.0, 1e12)).collect();
        tail.sort_by(f64::total_cmp);
        // Median of a Pareto distribution: minimum * 2^(1/shape).
        assert!((tail[50_000] / (512.0 * 2f64.powf(1.0 / 0.91)) - 1.0).abs() < 0.03);
        assert!(tail[0] >= 512.0 && tail[99_999] <= 1e12);
    }
}
