//! Holm's step-down correction of many comparisons: Holm, "A simple sequentially rejective multiple test procedure",
//! Scandinavian Journal of Statistics 6 (1979).
//!
//! The probability of any false rejection in the family is at most `level`, whatever the dependence of the tests.

/// Adjusted p-values, in the order of `p`: a test is rejected at any level not below its value.
///
/// NaN counts as 1.
pub fn adjust(p: &[f64]) -> Vec<f64> {
    let sane = |value: f64| if value.is_nan() { 1.0 } else { value.clamp(0.0, 1.0) };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| sane(p[*a]).total_cmp(&sane(p[*b])));
    let mut out = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (step, index) in order.into_iter().enumerate() {
        largest = largest.max((sane(p[index]) * (p.len() - step) as f64).min(1.0));
        out[index] = largest;
    }
    out
}

/// The level that the first test not rejected would have had to reach; a further one must reach it too.
pub fn next_level(adjusted: &[f64], level: f64) -> f64 {
    let open = adjusted.iter().filter(|p| **p > level).count();
    level / open.max(1) as f64
}
