//! The clock in a guest's saved state, when the guest goes on with instructions that take another time.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::hardware::Clock;

/// What stands before the two numbers in the state that QEMU saves (`timer/icount` in its `system/cpu-timers.c`): the mark of a
/// subsection, the length of its name, its name and its version.
const BEFORE: &[u8] = b"\x05\x0ctimer/icount\0\0\0\x01";

/// Makes a state that was saved with one clock go on with another at the same moment. QEMU's time is a bias and the count of
/// instructions times what one takes: the bias takes up the difference, and no timer sees one.
pub(super) fn go_on(state: &Path, from: Clock, to: Clock) -> Result<()> {
    let (Clock::Instructions { shift: from }, Clock::Instructions { shift: to }) = (from, to) else { return Ok(()) };
    if from == to {
        return Ok(());
    }
    let mut bytes = fs::read(state)?;
    change(&mut bytes, from, to).context("this QEMU saves the state of its clock in a way that is not known")?;
    Ok(fs::write(state, bytes)?)
}

fn change(bytes: &mut [u8], from: u8, to: u8) -> Option<()> {
    let mut found = bytes.windows(BEFORE.len()).enumerate().filter(|(_, part)| *part == BEFORE).map(|(at, _)| at);
    let at = found.next()? + BEFORE.len();
    if found.next().is_some() {
        return None;
    }
    let number = |at: usize| Some(i64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let (bias, count) = (number(at)?, number(at + 8)?);
    let difference = count.checked_mul(1 << from)?.checked_sub(count.checked_mul(1 << to)?)?;
    bytes[at..at + 8].copy_from_slice(&bias.checked_add(difference)?.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(bias: i64, count: i64) -> Vec<u8> {
        [b"head", BEFORE, &bias.to_be_bytes(), &count.to_be_bytes(), b"tail"].concat()
    }

    #[test]
    fn the_time_stays_when_instructions_take_another() {
        let mut bytes = state(7_000, 3_000);
        change(&mut bytes, 3, 0).unwrap();
        // 7000 + 3000 x 8 = 28,000 + 3000 x 1
        assert_eq!(bytes, state(28_000, 3_000));
        change(&mut bytes, 0, 3).unwrap();
        assert_eq!(bytes, state(7_000, 3_000));
    }

    #[test]
    fn a_state_of_another_form_is_not_touched() {
        let twice = [state(1, 2), state(3, 4)].concat();
        for bytes in
            [b"nothing of it".to_vec(), twice, state(1, 2)[..4 + BEFORE.len() + 10].to_vec(), state(1, i64::MAX)]
        {
            let mut changed = bytes.clone();
            assert_eq!(change(&mut changed, 3, 0), None);
            assert_eq!(changed, bytes);
        }
    }
}
