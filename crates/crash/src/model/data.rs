//! Contents of a file as runs of one source each.

use crate::tree::{Run, Source};

/// What a file holds, from its start to its size, without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    length: u64,
    from: From,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Zero,
    /// Written by `op`, and since then moved by this many bytes.
    Op {
        op: u16,
        moved: i64,
    },
}

impl Piece {
    fn source(self) -> Source {
        match self.from {
            From::Zero => Source::Zero,
            From::Op { op, moved: 0 } => Source::Op(op),
            From::Op { op, .. } => Source::Moved(op),
        }
    }

    fn shifted(mut self, by: i64) -> Piece {
        if let From::Op { moved, .. } = &mut self.from {
            *moved += by;
        }
        self
    }
}

impl Data {
    /// In bytes.
    pub fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// Neighbours differ.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for piece in &self.pieces {
            match runs.last_mut() {
                Some(last) if last.source == piece.source() => last.length += piece.length,
                _ => runs.push(Run { length: piece.length, source: piece.source() }),
            }
        }
        runs
    }

    /// The source of the byte at `offset`; `None` beyond the end.
    pub fn at(&self, offset: u64) -> Option<Source> {
        let mut end = 0;
        self.pieces.iter().find_map(|piece| {
            end += piece.length;
            (offset < end).then(|| piece.source())
        })
    }

    pub(super) fn write(&mut self, op: u16, offset: u64, length: u64) {
        self.extend(offset);
        self.replace(offset, length, From::Op { op, moved: 0 });
    }

    /// Cuts the file, or extends it with zeros.
    pub(super) fn resize(&mut self, size: u64) {
        self.extend(size);
        let kept = self.cut(size);
        self.pieces.truncate(kept);
        self.join();
    }

    /// Extends with zeros; a file that is larger stays as it is.
    pub(super) fn extend(&mut self, size: u64) {
        let old = self.size();
        if size > old {
            self.pieces.push(Piece { length: size - old, from: From::Zero });
            self.join();
        }
    }

    /// Zeros in a range, as far as the file reaches.
    pub(super) fn zero(&mut self, offset: u64, length: u64) {
        let end = (offset + length).min(self.size());
        if offset < end {
            self.replace(offset, end - offset, From::Zero);
        }
    }

    /// Takes a range out, and moves up what follows.
    pub(super) fn collapse(&mut self, offset: u64, length: u64) {
        let (first, last) = (self.cut(offset), self.cut(offset + length));
        let tail: Vec<Piece> = self.pieces.drain(last..).map(|piece| piece.shifted(-(length as i64))).collect();
        self.pieces.truncate(first);
        self.pieces.extend(tail);
        self.join();
    }

    /// Puts zeros in between, and moves down what follows.
    pub(super) fn insert(&mut self, offset: u64, length: u64) {
        let first = self.cut(offset);
        let tail: Vec<Piece> = self.pieces.drain(first..).map(|piece| piece.shifted(length as i64)).collect();
        self.pieces.push(Piece { length, from: From::Zero });
        self.pieces.extend(tail);
        self.join();
    }

    /// Takes over all of `from`, at the same places; what is beyond stays.
    pub(super) fn share(&mut self, from: &Data) {
        let kept = self.cut(from.size());
        let tail: Vec<Piece> = self.pieces.drain(kept.min(self.pieces.len())..).collect();
        self.pieces.clone_from(&from.pieces);
        self.pieces.extend(tail);
        self.join();
    }

    fn replace(&mut self, offset: u64, length: u64, from: From) {
        let (first, last) = (self.cut(offset), self.cut(offset + length));
        self.pieces.splice(first..last, (length > 0).then_some(Piece { length, from }));
        self.join();
    }

    /// Makes a border at `offset` and returns the index of the piece behind it.
    fn cut(&mut self, offset: u64) -> usize {
        let mut start = 0;
        for index in 0..self.pieces.len() {
            let piece = self.pieces[index];
            if start >= offset {
                return index;
            }
            if offset < start + piece.length {
                self.pieces[index].length = offset - start;
                self.pieces.insert(index + 1, Piece { length: start + piece.length - offset, ..piece });
                return index + 1;
            }
            start += piece.length;
        }
        self.pieces.len()
    }

    fn join(&mut self) {
        self.pieces.retain(|piece| piece.length > 0);
        self.pieces.dedup_by(|later, earlier| {
            let same = later.from == earlier.from;
            if same {
                earlier.length += later.length;
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(data: &Data) -> String {
        let one = |run: &Run| match run.source {
            Source::Op(op) => format!("{op}x{}", run.length),
            Source::Moved(op) => format!("m{op}x{}", run.length),
            _ => format!("zx{}", run.length),
        };
        data.runs().iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_change_has_its_effect() {
        let mut data = Data::default();
        data.write(1, 16, 16);
        assert_eq!(shown(&data), "zx16 1x16");
        data.write(2, 24, 16);
        assert_eq!(shown(&data), "zx16 1x8 2x16");
        data.zero(32, 100);
        assert_eq!(shown(&data), "zx16 1x8 2x8 zx8");
        data.collapse(0, 16);
        assert_eq!(shown(&data), "m1x8 m2x8 zx8");
        data.insert(0, 16);
        assert_eq!(shown(&data), "zx16 1x8 2x8 zx8", "moved back, words are where they were written");
        data.insert(24, 8);
        assert_eq!(shown(&data), "zx16 1x8 zx8 m2x8 zx8");
        data.resize(24);
        data.resize(40);
        assert_eq!(shown(&data), "zx16 1x8 zx16");
        let mut other = Data::default();
        other.write(5, 0, 64);
        other.share(&data);
        assert_eq!(shown(&other), "zx16 1x8 zx16 5x24");
        assert_eq!((other.at(23), other.at(40), other.at(64)), (Some(Source::Op(1)), Some(Source::Op(5)), None));
    }

    proptest! {
        /// The same changes on plain words.
        #[test]
        fn runs_are_what_words_are(changes in prop::collection::vec((0u8..7, 0u64..20, 1u64..9), 0..20)) {
            let (mut data, mut words) = (Data::default(), Vec::<(Option<u16>, usize)>::new());
            for (op, (kind, offset, length)) in changes.into_iter().enumerate() {
                let (at, end) = (offset as usize, (offset + length) as usize);
                let (offset, length) = (offset * 8, length * 8);
                let size = words.len();
                let grow = |words: &mut Vec<_>, size: usize| if words.len() < size { words.resize(size, (None, 0)) };
                match kind {
                    0 | 1 => {
                        data.write(op as u16, offset, length);
                        grow(&mut words, end);
                        (at..end).for_each(|place| words[place] = (Some(op as u16), place));
                    }
                    2 => { data.resize(offset); words.resize(at, (None, 0)); }
                    3 => { data.extend(offset); grow(&mut words, at); }
                    4 => {
                        data.zero(offset, length);
                        (at..end.min(size)).for_each(|place| words[place] = (None, 0));
                    }
                    5 if end < size => { data.collapse(offset, length); words.drain(at..end); }
                    6 if at < size => {
                        data.insert(offset, length);
                        words.splice(at..at, std::iter::repeat_n((None, 0), end - at));
                    }
                    _ => {}
                }
                prop_assert_eq!(data.size(), 8 * words.len() as u64);
                for (place, (op, was)) in words.iter().enumerate() {
                    let source = match op {
                        None => Source::Zero,
                        Some(op) if *was == place => Source::Op(*op),
                        Some(op) => Source::Moved(*op),
                    };
                    prop_assert_eq!(data.at(8 * place as u64), Some(source));
                }
            }
        }
    }
}
