//! Concatenated token sequences: matrix products run over all tokens of a batch, attention over
//! each sequence, and no time is spent on padding.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::math::{self, part};

/// The input of a network: ids and segments (BERT's token types) of one text, special tokens
/// included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sequence {
    pub(crate) ids: Vec<u32>,
    /// Where the second segment begins.
    pub(crate) second: usize,
}

/// Sequences of a batch.
pub(crate) struct Packed<'a> {
    pub(crate) sequences: &'a [Sequence],
    /// The start of each sequence, and finally the end of the last one.
    starts: Vec<usize>,
}

impl<'a> Packed<'a> {
    pub(crate) fn new(sequences: &'a [Sequence]) -> Self {
        let mut starts = vec![0];
        for sequence in sequences {
            starts.push(starts.last().copied().unwrap_or(0) + sequence.ids.len());
        }
        Self { sequences, starts }
    }

    pub(crate) fn tokens(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The places of each sequence's tokens.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|pair| pair[0]..pair[1])
    }

    pub(crate) fn longest(&self) -> usize {
        self.spans().map(|span| span.len()).max().unwrap_or(0)
    }
}

/// Queries that are scored at a time: memory grows with the length of a sequence, and not with its
/// square.
const BLOCK: usize = 128;

/// Scaled dot-product attention (Vaswani et al. 2017) of one head over one sequence at a time.
pub(crate) struct Attention {
    scores: Array2<f32>,
    scale: f32,
    causal: bool,
}

impl Attention {
    pub(crate) fn new(longest: usize, head: usize, causal: bool) -> Self {
        let scores = Array2::zeros((longest.min(BLOCK), longest));
        Self { scores, scale: 1.0 / (head as f32).sqrt(), causal }
    }

    pub(crate) fn head(
        &mut self,
        q: &ArrayView2<f32>,
        k: &ArrayView2<f32>,
        v: &ArrayView2<f32>,
        mut out: ArrayViewMut2<f32>,
    ) {
        let (length, head) = q.dim();
        for first in (0..length).step_by(BLOCK) {
            let end = length.min(first + BLOCK);
            let keys = if self.causal { end } else { length };
            let mut scores = part(self.scores.view_mut(), 0..end - first, 0..keys);
            let (q, k) = (part(*q, first..end, 0..head), part(*k, 0..keys, 0..head));
            general_mat_mul(self.scale, &q, &k.t(), 0.0, &mut scores);
            let mut out = part(out.view_mut(), first..end, 0..head);
            let mut inverse = [0.0; BLOCK];
            for (n, mut row) in scores.rows_mut().into_iter().enumerate() {
                let row = row.as_slice_mut().expect("numbers of a row are contiguous");
                let (seen, unseen) = row.split_at_mut(if self.causal { first + n + 1 } else { keys });
                inverse[n] = math::softmax_unscaled(seen);
                unseen.fill(0.0);
            }
            math::product(&scores.view(), &part(*v, 0..keys, 0..head), &mut out);
            for (mut row, inverse) in out.rows_mut().into_iter().zip(inverse) {
                row.map_inplace(|x| *x *= inverse);
            }
        }
    }
}
