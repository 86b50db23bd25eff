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

/// The inverse of [`normal_cdf`] for 0 < `p` < 1; infinite at and beyond the ends. Wichura, "Algorithm AS 241",
/// Applied Statistics 37 (1988), PPND16: about 1 part in 10^16.
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 || p >= 1.0 {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTER, r) / polynomial(&CENTER_BELOW, r);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let value = if r <= 5.0 {
        polynomial(&MIDDLE, r - 1.6) / polynomial(&MIDDLE_BELOW, r - 1.6)
    } else {
        polynomial(&TAIL, r - 5.0) / polynomial(&TAIL_BELOW, r - 5.0)
    };
    if q < 0.0 { -value } else { value }
}

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

const CENTER: [f64; 8] = [
    3.387_132_872_796_366_5,
    1.331_416_678_917_843_8e2,
    1.971_590_950_306_551_3e3,
    1.373_169_376_550_946e4,
    4.592_195_393_154_987e4,
    6.726_577_092_700_87e4,
    3.343_057_558_358_813e4,
    2.509_080_928_730_122_7e3,
];
const CENTER_BELOW: [f64; 8] = [
    1.0,
    4.231_333_070_160_091e1,
    6.871_870_074_920_579e2,
    5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4,
    3.930_789_580_009_271e4,
    2.872_908_573_572_194_3e4,
    5.226_495_278_852_854e3,
];
const MIDDLE: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    2.417_807_251_774_506e-1,
    2.272_384_498_926_918_4e-2,
    7.745_450_142_783_414e-4,
];
const MIDDLE_BELOW: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1,
    1.519_866_656_361_645_7e-2,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const TAIL: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2,
    1.242_660_947_388_078_4e-3,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const TAIL_BELOW: [f64; 8] = [
    1.0,
    5.998_322_065_558_88e-1,
    1.369_298_809_227_358e-1,
    1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_7e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

/// Probability that Student's t with `df` degrees of freedom (infinite: the normal distribution) is at least as far
/// from 0 as `t`.
pub fn t_tails(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    let t = t.abs();
    if t.is_infinite() {
        return 0.0;
    }
    // Here the tails of the two differ by t^4 / (4 df): a hundred-thousandth at six standard deviations.
    if df > 1e8 {
        return libm::erfc(t / SQRT_2);
    }
    beta(df / 2.0, 0.5, df / (df + t * t))
}

/// The `t` with [`t_tails`] of `tails`, by bisection; infinite for `tails` of 0.
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
    // Many degrees below are as good as infinitely many, and keep the continued fraction short.
    let below = below.min(1e4);
    beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// The `f` with [`f_tail`] of `tail`, by bisection; infinite for a tail of 0.
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
    // Steps grow with the square root of the larger parameter, which callers keep below 10^8.
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

/// The `x` > 0 with [`trigamma`] of `y`, by bisection of a falling function; infinite for `y` of 0 and below.
pub fn trigamma_inverse(y: f64) -> f64 {
    if y.is_nan() || y <= 0.0 {
        return f64::INFINITY;
    }
    // trigamma(x) lies between 1/x and 1/x + 1/x^2.
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
