//! Summary statistics of a sample.

use serde::Serialize;

/// Of the figures of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub n: usize,
    /// The statistic that the studies use.
    pub mean: f64,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// Sample standard deviation over mean; `None` below two figures or at mean 0.
    pub cv: Option<f64>,
}

/// `None` if empty. Finite for finite values, however large.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let plain = values.iter().sum::<f64>() / n;
    // The sum of large values may overflow even if their mean does not.
    Some(if plain.is_finite() { plain } else { values.iter().map(|value| value / n).sum() })
}

/// `None` if empty, or if a value is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    mean(&logarithms).map(libm::exp)
}

/// `None` if empty. The mean of the two middle values if their number is even.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    median_of(&mut sorted)
}

/// Like [`median`], but sorts in place.
pub fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    middle(values.len(), |at| values[at])
}

/// The median of values that are sorted, without the one at `left_out`.
pub fn median_without(sorted: &[f64], left_out: usize) -> Option<f64> {
    middle(sorted.len().saturating_sub(1), |at| sorted[at + usize::from(at >= left_out)])
}

/// The median of `n` values that are sorted.
fn middle(n: usize, value: impl Fn(usize) -> f64) -> Option<f64> {
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(value(n / 2)),
        _ => {
            let (low, high) = (value(n / 2 - 1), value(n / 2));
            Some(low + (high / 2.0 - low / 2.0))
        }
    }
}

/// Sample variance, over n - 1; `None` below two values. Values are centred first.
pub fn variance(values: &[f64]) -> Option<f64> {
    let center = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - center) * (value - center)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// Sample standard deviation over mean; `None` below two values, or if the mean is 0.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let center = mean(values).filter(|center| *center != 0.0)?;
    // Divide by the mean before squaring: squares of large values overflow, of small ones underflow.
    let relative: Vec<f64> = values.iter().map(|value| value / center).collect();
    Some(variance(&relative)?.sqrt()).filter(|cv| cv.is_finite())
}

/// `None` if empty.
pub fn summary(values: &[f64]) -> Option<Summary> {
    Some(Summary {
        n: values.len(),
        mean: mean(values)?,
        median: median(values)?,
        min: values.iter().copied().reduce(f64::min)?,
        max: values.iter().copied().reduce(f64::max)?,
        cv: coefficient_of_variation(values),
    })
}
