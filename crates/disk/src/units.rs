//! Converts bytes and rates to nanoseconds.

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Bytes of an addressable sector: read-ahead stops, and tracks end, at whole sectors.
pub(crate) const SECTOR: u64 = 512;

/// The time in ns of `bytes` at `rate` bytes a second, rounded down.
pub(crate) fn duration(bytes: u64, rate: u64) -> u64 {
    match bytes.checked_mul(SECOND) {
        Some(product) => product / rate,
        None => u64::try_from(u128::from(bytes) * u128::from(SECOND) / u128::from(rate)).unwrap_or(u64::MAX),
    }
}

#[test]
fn a_second_of_bytes_takes_a_second() {
    assert_eq!(duration(65_000_000, 65_000_000), SECOND);
    assert_eq!(duration(1 << 45, 1 << 20), (1 << 25) * SECOND);
    assert_eq!(duration(0, 1), 0);
}
