//! Few subsets of many requests, such that for each pair of requests all four cases occur.

use super::bits::Bits;

/// The fewest rows for so many columns, by Kleitman and Spencer ("Families of k-independent sets", 1973): the first row
/// is empty, and in the others each column is another subset of one size that is at least half of them.
pub struct Covering {
    columns: usize,
    /// Without the empty one.
    rows: u32,
}

impl Covering {
    pub fn new(columns: usize) -> Covering {
        let mut rows = 1;
        while choose(rows, size(rows)) < columns as u64 {
            rows += 1;
        }
        Covering { columns, rows }
    }

    pub fn rows(&self) -> usize {
        self.rows as usize + 1
    }

    /// The columns in a row.
    pub fn row(&self, row: usize) -> Bits {
        let mut bits = Bits::default();
        let Some(row) = row.checked_sub(1) else { return bits };
        let mut column: u64 = (1 << size(self.rows)) - 1;
        for index in 0..self.columns {
            if column >> row & 1 == 1 {
                bits.flip(index);
            }
            column = next(column);
        }
        bits
    }
}

/// Two subsets of this size have a common member, and neither contains the other.
fn size(rows: u32) -> u32 {
    rows / 2 + 1
}

fn choose(from: u32, count: u32) -> u64 {
    (0..u64::from(count)).fold(1u64, |product, taken| product.saturating_mul(u64::from(from) - taken) / (taken + 1))
}

/// The next larger number with as many bits (Gosper).
fn next(number: u64) -> u64 {
    let lowest = number & number.wrapping_neg();
    let carried = number + lowest;
    carried | ((number ^ carried) / lowest) >> 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cases_of_each_pair_occur_in_few_rows() {
        for (columns, most) in [(1, 4), (2, 4), (3, 4), (4, 5), (5, 6), (10, 6), (11, 7), (60, 10), (300, 12)] {
            let covering = Covering::new(columns);
            assert!(covering.rows() <= most, "{columns} columns have {} rows", covering.rows());
            let rows: Vec<Bits> = (0..covering.rows()).map(|row| covering.row(row)).collect();
            assert!(rows.iter().all(|row| row.end() <= columns));
            for (a, b) in (0..columns).flat_map(|a| (0..a).map(move |b| (a, b))) {
                for case in [(false, false), (false, true), (true, false), (true, true)] {
                    assert!(rows.iter().any(|row| (row.has(a), row.has(b)) == case), "{columns}: {a} {b} {case:?}");
                }
            }
        }
        assert_eq!(Covering::new(1000).rows(), 14);
    }
}
