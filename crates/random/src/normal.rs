//! Inverse of the standard normal distribution: algorithm AS 241, PPND16 (Wichura, Applied Statistics 37, 1988), about
//! 16 digits.

/// An undivided quantile: `factor * over / under`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// 1, -1, or the distance of the probability from a half.
    pub factor: f64,
    pub over: f64,
    pub under: f64,
}

impl Quantile {
    /// The quantile, divided before it is multiplied: pinned figures depend on that order.
    pub fn value(self) -> f64 {
        self.factor * (self.over / self.under)
    }
}

/// The quantile of `p`, 0 < p < 1, with the caller's natural logarithm.
pub fn normal_quantile(p: f64, ln: impl Fn(f64) -> f64) -> Quantile {
    let of = |factor: f64, r: f64, over: &[f64; 8], under: &[f64; 8]| {
        let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * r + c);
        Quantile { factor, over: horner(over), under: horner(under) }
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return of(q, 0.180625 - q * q, &CENTRE_OVER, &CENTRE_UNDER);
    }
    let r = (-ln(p.min(1.0 - p))).sqrt();
    let side = if q < 0.0 { -1.0 } else { 1.0 };
    match r <= 5.0 {
        true => of(side, r - 1.6, &MIDDLE_OVER, &MIDDLE_UNDER),
        false => of(side, r - 5.0, &FAR_OVER, &FAR_UNDER),
    }
}

// The coefficients as Wichura prints them; digits past the 17th have no effect, but ease comparison.
#[allow(clippy::excessive_precision)]
const CENTRE_OVER: [f64; 8] = [
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
];
#[allow(clippy::excessive_precision)]
const CENTRE_UNDER: [f64; 8] = [
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
    3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
];
#[allow(clippy::excessive_precision)]
const MIDDLE_OVER: [f64; 8] = [
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
];
#[allow(clippy::excessive_precision)]
const MIDDLE_UNDER: [f64; 8] = [
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
];
#[allow(clippy::excessive_precision)]
const FAR_OVER: [f64; 8] = [
    6.65790464350110377720e0,
    5.46378491116411436990e0,
    1.78482653991729133580e0,
    2.96560571828504891230e-1,
    2.65321895265761230930e-2,
    1.24266094738807843860e-3,
    2.71155556874348757815e-5,
    2.01033439929228813265e-7,
];
#[allow(clippy::excessive_precision)]
const FAR_UNDER: [f64; 8] = [
    1.0,
    5.99832206555887937690e-1,
    1.36929880922735805310e-1,
    1.48753612908506148525e-2,
    7.86869131145613259100e-4,
    1.84631831751005468180e-5,
    1.42151175831644588870e-7,
    2.04426310338993978564e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_an_independent_implementation() {
        // Python 3.11, statistics.NormalDist().inv_cdf.
        for (p, expected) in [
            (1e-300, -37.0470962993612),
            (1e-12, -7.034483825301132),
            (0.001, -3.090232306167813),
            (0.05, -1.6448536269514726),
            (0.3, -0.5244005127080407),
            (0.5, 0.0),
            (0.6, 0.2533471031357998),
            (0.975, 1.9599639845400536),
            (0.999999, 4.753424308817089),
        ] {
            assert!((normal_quantile(p, crate::ln).value() - expected).abs() < 1e-13 * (1.0 + expected.abs()), "{p}");
        }
    }
}
