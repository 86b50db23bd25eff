//! Logarithm and exponential with the same results on every machine.

/// Natural logarithm of a positive, normal, finite number, within about 2 units in the last place.
pub fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0, "ln({x})");
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m-1)/(m+1)); |s| <= 0.172, so 12 terms leave less than 2^-60.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in (0..12).rev() {
        sum = sum * square + 1.0 / f64::from(2 * odd + 1);
    }
    2.0 * s * sum + exponent as f64 * std::f64::consts::LN_2
}

/// e to the power of `x`, for |x| < 700, within a few units in the last place.
pub fn exp(x: f64) -> f64 {
    debug_assert!(x.abs() < 700.0, "exp({x})");
    // fdlibm's split of ln 2: the product of its high part with a small integer is exact.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let power = (x / std::f64::consts::LN_2).round();
    let rest = (x - power * LN2_HIGH) - power * LN2_LOW;
    // |rest| <= 0.347: 16 terms of the series leave less than 2^-60.
    let mut sum = 1.0;
    for term in (1..16).rev() {
        sum = 1.0 + rest / f64::from(term) * sum;
    }
    sum * f64::from_bits(((power as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    #[test]
    fn logarithm_and_power_agree_with_the_library() {
        let mut stream = Stream::new(4, "functions");
        for _ in 0..20_000 {
            let x = (stream.unit() - 0.5) * 1000.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-14, "exp {x}");
            let y = exp(x);
            assert!((ln(y) - y.ln()).abs() <= 1e-15 * (1.0 + y.ln().abs()), "ln {y}");
        }
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    }
}
