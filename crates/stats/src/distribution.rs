//! Distribution functions, their tails and quantiles.

use std::f64::consts::{LN_2, SQRT_2};

/// Logarithm of the probability that `k` of `n` fair coins show heads.
pub fn ln_binomial_half(n: usize, k: usize) -> f64 {
    let factorial = |x: usize| libm::lgamma(x as f64 + 1.0);
    factorial(n) - factorial(k) - factorial(n - k) - n as f64 * LN_2
}

/// Probability below `z` of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// The inverse of [`normal_cdf`] for 0 < `p` < 1, otherwise infinite. Accurate to about 1 part in 10^16.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let mountmark_random::Quantile { factor, over, under } = mountmark_random::normal_quantile(p, libm::log);
    factor * over / under
}

/// Probability that the absolute value of Student's t with `df` degrees of freedom (infinite: the normal distribution)
/// is at least that of `t`.
pub fn t_tails(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    let t = t.abs();
    if t.is_infinite() {
        return 0.0;
    }
    // The tails of the two differ by t^4 / (4 df) here: a hundred-thousandth at six standard deviations.
    if df > 1e8 {
        return libm::erfc(t / SQRT_2);
    }
    beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The `t` for which [`t_tails`] is `tails`, by bisection; infinite for `tails` of 0.
pub fn t_quantile(tails: f64, df: f64) -> f64 {
    if !(tails > 0.0 && df > 0.0) {
        return f64::INFINITY;
    }
    if tails >= 1.0 {
        return 0.0;
    }
    let mut high = 1.0;
    while t_tails(high, df) > tails && high < 1e300 {
        high *= 2.0;
    }
    let mut low = if high > 1.0 { high / 2.0 } else { 0.0 };
    while high - low > high * 1e-14 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if t_tails(middle, df) > tails { low = middle } else { high = middle }
    }
    high
}

/// Probability that F with `above` and `below` degrees of freedom (`below` may be infinite) is at least `f`.
pub fn f_tail(f: f64, above: f64, below: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    // A large number is close enough to infinity, and keeps the continued fraction short.
    let below = below.min(1e4);
    beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The `f` for which [`f_tail`] is `tail`, by bisection; infinite for a tail of 0.
pub fn f_quantile(tail: f64, above: f64, below: f64) -> f64 {
    if !(tail > 0.0 && above > 0.0 && below > 0.0) {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while f_tail(high, above, below) > tail && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    while high - low > high * 1e-12 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if f_tail(middle, above, below) > tail { low = middle } else { high = middle }
    }
    high
}

/// Regularised incomplete beta function by its continued fraction: Press et al., "Numerical Recipes", 3rd edition,
/// section 6.4, with Lentz's method.
pub fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() || !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x);
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        libm::exp(front) * beta_fraction(a, b, x) / a
    } else {
        1.0 - libm::exp(front) * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    // The number of steps grows with the square root of the larger parameter, which callers keep below 10^8.
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// Digamma for `x` > 0: recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18).
pub fn digamma(mut x: f64) -> f64 {
    let mut out = 0.0;
    while x < 10.0 {
        out -= 1.0 / x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse * (1.0 / 252.0 - inverse / 240.0)));
    out + libm::log(x) - 0.5 / x - series
}

/// Trigamma for `x` > 0: recurrence up to 10, then the asymptotic series (Abramowitz and Stegun 6.4.6, 6.4.12).
pub fn trigamma(mut x: f64) -> f64 {
    let mut out = 0.0;
    while x < 10.0 {
        out += 1.0 / (x * x);
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = 1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse * (1.0 / 42.0 - inverse / 30.0));
    out + 1.0 / x + 0.5 * inverse + inverse / x * series
}

/// The `x` > 0 for which [`trigamma`] is `y`, by bisection of a falling function; infinite for `y` of 0 and below.
pub fn trigamma_inverse(y: f64) -> f64 {
    if y.is_nan() || y <= 0.0 {
        return f64::INFINITY;
    }
    // trigamma(x) is between 1/x and 1/x + 1/x^2.
    let (mut low, mut high) = (1.0 / y, 1.0 / y + 1.0 / libm::sqrt(y));
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if trigamma(middle) > y { low = middle } else { high = middle }
    }
    high
}

/// Findings of stored runs depend on these bits.
#[test]
fn quantiles_are_pinned() {
    let bits = [1e-300, 0.001, 0.3, 0.6, 0.975].map(|p| normal_quantile(p).to_bits());
    assert_eq!(
        bits,
        [
            13_853_782_769_448_305_262,
            13_837_513_040_186_066_032,
            13_826_270_636_307_301_882,
            4_598_235_515_595_017_050,
            4_611_505_712_243_081_090
        ]
    );
}
