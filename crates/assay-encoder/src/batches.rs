//! Work shared among threads: batches of about equal numbers of tokens, each computed by one.

use std::ops::Range;

use rayon::prelude::*;

use crate::packed::{Packed, Sequence};

/// Tokens of a batch: enough that reading the weights is a small part, few enough that the data
/// between two products stays in a cache of 2 MB. 256 were some 5 % faster than 512 (the example
/// `embed`, on one processor).
const TOKENS: usize = 256;

/// Applies `work` to batches of all sequences, and returns its results in their order, or its first
/// error. `progress` gets how many sequences each batch had.
pub(crate) fn run<T: Send, E: Send>(
    sequences: &[Sequence],
    progress: &(dyn Fn(usize) + Sync),
    work: impl Fn(usize, &Packed) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<T>, E> {
    let done: Vec<Vec<T>> = spans(sequences, rayon::current_num_threads())
        .into_par_iter()
        .with_max_len(1)
        .map(|span| {
            let done = work(span.start, &Packed::new(&sequences[span.clone()]))?;
            progress(span.len());
            Ok(done)
        })
        .collect::<Result<_, E>>()?;
    Ok(done.into_iter().flatten().collect())
}

fn spans(sequences: &[Sequence], threads: usize) -> Vec<Range<usize>> {
    let total: usize = sequences.iter().map(|sequence| sequence.ids.len()).sum();
    let most = TOKENS.min(total.div_ceil(threads));
    let (mut spans, mut first, mut held) = (Vec::new(), 0, 0);
    for (n, sequence) in sequences.iter().enumerate() {
        let length = sequence.ids.len();
        if n > first && held + length > most {
            spans.push(first..n);
            (first, held) = (n, 0);
        }
        held += length;
    }
    if first < sequences.len() {
        spans.push(first..sequences.len());
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_contain_each_sequence_once() {
        let check = |lengths: &[usize], threads, expected: &[Range<usize>]| {
            let sequences: Vec<_> =
                lengths.iter().map(|&length| Sequence { ids: vec![0; length], second: length }).collect();
            assert_eq!(spans(&sequences, threads), expected, "{lengths:?} on {threads}");
        };
        check(&[], 2, &[]);
        check(&[0, 0, 9], 2, &[0..2, 2..3]);
        check(&[5000, 1, 5000], 2, &[0..1, 1..2, 2..3]);
        check(&[100, 100, 100, 100], 2, &[0..2, 2..4]);
        check(&[150, 100, 50, 250], 1, &[0..2, 2..3, 3..4]);
    }
}
