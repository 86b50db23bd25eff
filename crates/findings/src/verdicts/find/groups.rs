//! Builds groups from pairs.

use mountmark_model::Better;

use crate::figures::find::series::Series;
use crate::options::Options;
use crate::verdicts::find::judged::Judged;

/// Who is shown to be better than whom.
pub(crate) struct Superiority {
    count: usize,
    better: Vec<bool>,
    /// Whether a difference is shown that is too small to matter.
    pub has_small: bool,
}

impl Superiority {
    pub fn new(series: &Series, judged: &Judged, options: &Options) -> Superiority {
        let count = series.blocks.len();
        let mut relation = Superiority { count, better: vec![false; count * count], has_small: false };
        for pair in &judged.pairs {
            let is_shown = pair.tested.adjusted <= options.error() && pair.mean * pair.median > 0.0;
            let matters = pair.median.abs() >= options.ln_matters();
            relation.has_small |= is_shown && !matters;
            if is_shown && matters {
                let left_is_less = pair.mean < 0.0;
                let left_is_better = left_is_less == (series.metric.better == Better::Lower);
                let (better, worse) = if left_is_better { (pair.left, pair.right) } else { (pair.right, pair.left) };
                relation.better[better * count + worse] = true;
            }
        }
        relation.close();
        relation
    }

    /// Whether `one` is shown to be better than `other`.
    pub fn is_better(&self, one: usize, other: usize) -> bool {
        self.better[one * self.count + other]
    }

    /// Transitive closure (Warshall): if a is better than b and b than c, a is better than c.
    fn close(&mut self) {
        for through in 0..self.count {
            for from in 0..self.count {
                if self.is_better(from, through) {
                    for to in 0..self.count {
                        if to != from && self.is_better(through, to) {
                            self.better[from * self.count + to] = true;
                        }
                    }
                }
            }
        }
    }

    /// Those to which none is shown to be superior, in the order of `order`.
    pub fn leaders(&self, order: &[usize]) -> Vec<usize> {
        order.iter().copied().filter(|one| !order.iter().any(|other| self.is_better(*other, *one))).collect()
    }

    /// The longest stretches of `order` without a shown difference, best first: Piepho, "An algorithm for a
    /// letter-based representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 13
    /// (2004), for ordered configurations.
    pub fn groups(&self, order: &[usize]) -> Vec<Vec<usize>> {
        let apart = |a: usize, b: usize| self.is_better(a, b) || self.is_better(b, a);
        let mut out: Vec<Vec<usize>> = Vec::new();
        let mut end = 0;
        for start in 0..order.len() {
            let mut stop = start + 1;
            while stop < order.len() && order[start..stop].iter().all(|one| !apart(*one, order[stop])) {
                stop += 1;
            }
            // Skip a stretch inside the last one.
            if stop > end {
                out.push(order[start..stop].to_vec());
                end = stop;
            }
        }
        out
    }
}
