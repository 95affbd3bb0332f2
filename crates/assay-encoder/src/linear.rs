//! A linear map with a constant matrix, arranged once for the vector instructions of this
//! processor.
//!
//! The outputs are cut into panels of three vectors' width. A kernel keeps some rows of the result
//! in registers (as in Goto, van de Geijn 2008), reads each panel in order, and each input as a
//! number that is multiplied into all lanes: nothing is copied for a product, which for batches of
//! a few hundred tokens saves a tenth of the time and more.
#![expect(clippy::inline_always, reason = "only inlined functions are compiled for each kind of processor")]

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use pulp::{Arch, Simd, WithSimd};

/// Vectors beside each other in a panel.
const VECTORS: usize = 3;

/// The widest panel: vectors of 512 bits.
const WIDEST: usize = VECTORS * 16;

pub(crate) struct Linear {
    /// By panel, by input: the weights of the panel's outputs, 0 beyond the last output.
    panels: Vec<f32>,
    /// Where they begin, so that vectors are aligned to cache lines.
    start: usize,
    inputs: usize,
    outputs: usize,
    width: usize,
}

struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

impl Linear {
    /// From a matrix stored by outputs, as in files.
    pub(crate) fn new(matrix: &ArrayView2<f32>) -> Self {
        let (outputs, inputs) = matrix.dim();
        let width = VECTORS * Arch::new().dispatch(Lanes);
        let mut panels = vec![0.0; outputs.div_ceil(width) * width * inputs + WIDEST];
        let start = panels.as_ptr().align_offset(64).min(WIDEST);
        for (panel, rows) in
            panels[start..].chunks_exact_mut(width * inputs).zip(matrix.axis_chunks_iter(Axis(0), width))
        {
            for (n, row) in rows.rows().into_iter().enumerate() {
                for (weights, weight) in panel.chunks_exact_mut(width).zip(row) {
                    weights[n] = *weight;
                }
            }
        }
        Self { panels, start, inputs, outputs, width }
    }

    pub(crate) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Writes the map of each row of `x` into the rows of `out`.
    pub(crate) fn apply(&self, x: &ArrayView2<f32>, out: &mut ArrayViewMut2<f32>) {
        assert_eq!(
            (x.ncols(), out.dim()),
            (self.inputs, (x.nrows(), self.outputs)),
            "shapes of a linear map"
        );
        Arch::new().dispatch(Apply { map: self, x, out });
    }
}

/// One map of the outputs of several matrices, one after another.
pub(crate) fn stacked(matrices: &[Array2<f32>]) -> Linear {
    let views: Vec<_> = matrices.iter().map(|matrix| matrix.view()).collect();
    Linear::new(&ndarray::concatenate(Axis(0), &views).expect("all have the same inputs").view())
}

struct Apply<'a, 'b, 'c> {
    map: &'a Linear,
    x: &'a ArrayView2<'b, f32>,
    out: &'a mut ArrayViewMut2<'c, f32>,
}

impl WithSimd for Apply<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { map, x, out } = self;
        let panels = map.panels[map.start..].chunks_exact(map.width * map.inputs);
        for (n, panel) in panels.take(map.outputs.div_ceil(map.width)).enumerate() {
            let (panel, _) = S::as_simd_f32s(panel);
            let (panel, _) = panel.as_chunks::<VECTORS>();
            let (mut row, columns) = (0, n * map.width..map.outputs.min((n + 1) * map.width));
            // Of 32 registers 24 contain sums, of 16 twelve.
            while S::REGISTER_COUNT >= 32 && row + 8 <= x.nrows() {
                block::<S, 8>(simd, panel, x, out, row, &columns);
                row += 8;
            }
            while row + 4 <= x.nrows() {
                block::<S, 4>(simd, panel, x, out, row, &columns);
                row += 4;
            }
            while row < x.nrows() {
                block::<S, 1>(simd, panel, x, out, row, &columns);
                row += 1;
            }
        }
    }
}

/// Some rows of the result in one panel's columns.
#[inline(always)]
fn block<S: Simd, const ROWS: usize>(
    simd: S,
    panel: &[[S::f32s; VECTORS]],
    x: &ArrayView2<f32>,
    out: &mut ArrayViewMut2<f32>,
    first: usize,
    columns: &std::ops::Range<usize>,
) {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|n| {
        let row = x.row(first + n).to_slice().expect("numbers of a row are contiguous");
        &row[..panel.len()]
    });
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    for (n, weights) in panel.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let x = simd.splat_f32s(row[n]);
            for (sum, &weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(x, weight, *sum);
            }
        }
    }
    for (n, sums) in sums.into_iter().enumerate() {
        let mut row = out.row_mut(first + n);
        let row = row.as_slice_mut().expect("numbers of a row are contiguous");
        let row = &mut row[columns.clone()];
        let mut whole = [0.0; WIDEST];
        let whole = &mut whole[..VECTORS * S::F32_LANES];
        let full = row.len() == whole.len();
        let target = if full { &mut *row } else { &mut *whole };
        for (target, sum) in S::as_mut_simd_f32s(target).0.iter_mut().zip(sums) {
            *target = sum;
        }
        if !full {
            row.copy_from_slice(&whole[..row.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_match_ndarray() {
        let check = |rows: usize, inputs: usize, outputs: usize| {
            let x = Array2::from_shape_fn((rows, inputs), |(r, c)| ((r * 7 + c * 3) % 11) as f32 - 5.0);
            let w = Array2::from_shape_fn((outputs, inputs), |(r, c)| ((r * 5 + c * 13) % 17) as f32 - 8.0);
            let mut wide = Array2::from_elem((rows, outputs + 3), 77.0);
            let mut out = crate::math::part(wide.view_mut(), 0..rows, 0..outputs);
            Linear::new(&w.view()).apply(&x.view(), &mut out);
            // Whole numbers this small are exact in any order.
            assert_eq!(out, x.dot(&w.t()), "{rows} × {inputs} × {outputs}");
            assert!(
                wide.columns()
                    .into_iter()
                    .skip(outputs)
                    .all(|column| column.iter().all(|x| x.to_bits() == 77f32.to_bits()))
            );
        };
        for rows in [0, 1, 3, 4, 8, 13, 40] {
            for (inputs, outputs) in [(1, 1), (5, 47), (24, 48), (33, 49), (64, 200)] {
                check(rows, inputs, outputs);
            }
        }
    }
}
