//! Walks from one subset of the pending requests to another; the image's hash follows at the cost of what differs.

use super::bits::Bits;
use super::pending::Pending;

pub struct Cursor<'p, 's> {
    pending: &'p Pending<'s>,
    bits: Bits,
    /// For each cell, which candidate is on the medium.
    pub winners: Vec<u32>,
    pub hash: u128,
}

impl<'p, 's> Cursor<'p, 's> {
    pub fn new(pending: &'p Pending<'s>) -> Cursor<'p, 's> {
        let bits = Bits::default();
        let winners = pending.winners(&bits);
        Cursor { pending, bits, hash: pending.hash(&winners), winners }
    }

    pub fn flip(&mut self, bit: usize) {
        self.bits.flip(bit);
        for &index in &self.pending.touches[bit] {
            let (cell, winner) = (&self.pending.cells[index as usize], &mut self.winners[index as usize]);
            let old = cell.candidates[*winner as usize].key;
            *winner = cell.winner(self.pending.history, &self.bits);
            self.hash ^= old ^ cell.candidates[*winner as usize].key;
        }
    }

    pub fn go(&mut self, bits: &Bits) {
        let differing: Vec<usize> = self.bits.differing(bits).collect();
        differing.into_iter().for_each(|bit| self.flip(bit));
    }
}
