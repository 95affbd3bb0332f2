//! Operations on rows of numbers between the matrix products. Loops run over lanes, so that the
//! compiler vectorizes them for this processor: the most expensive ones are compiled for several
//! kinds (`dispatch`).
#![expect(clippy::inline_always, reason = "only inlined functions are compiled for each kind of processor")]

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayBase, ArrayView2, ArrayViewMut2, Axis, Ix2, RawData};
use pulp::{Arch, Simd, WithSimd};

use crate::linear::Linear;

const LANES: usize = 16;

/// A part of a matrix. (The macro of `ndarray` for this contains unsafe code.)
pub(crate) fn part<S: RawData>(
    mut of: ArrayBase<S, Ix2>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayBase<S, Ix2> {
    of.slice_axis_inplace(Axis(0), rows.into());
    of.slice_axis_inplace(Axis(1), columns.into());
    of
}

/// `out = x · w`.
pub(crate) fn product(x: &ArrayView2<f32>, w: &ArrayView2<f32>, out: &mut ArrayViewMut2<f32>) {
    general_mat_mul(1.0, x, w, 0.0, out);
}

/// A linear map of the rows of `x`, in the first columns of a buffer.
pub(crate) fn map_into<'a>(
    x: &ArrayView2<f32>,
    map: &Linear,
    out: &'a mut Array2<f32>,
) -> ArrayViewMut2<'a, f32> {
    let rows = x.nrows();
    let mut out = part(out.view_mut(), 0..rows, 0..map.outputs());
    map.apply(x, &mut out);
    out
}

/// e^x in single precision: Cephes' `expf` (Moshier 1989), relative error below 2e-7; arguments
/// beyond ±87 count as ±87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // 1.5 · 2^23: adding it leaves the nearest integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first exact in few bits.
    let r = x - n * (355.0 / 512.0) + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    (p * r * r + r + 1.0) * power
}

/// erf(x) in single precision: the rational function of Eigen 3.3 (`generic_fast_erf_float`),
/// absolute error below 5e-7.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let s = x * x;
    let p = -2.726_142_3e-10;
    let p = p * s + 2.770_681_4e-8;
    let p = p * s - 2.101_024e-6;
    let p = p * s - 5.692_506_5e-5;
    let p = p * s - 7.349_906e-4;
    let p = p * s - 2.954_6e-3;
    let p = p * s - 1.609_603_3e-2;
    let q = -1.456_607_2e-5;
    let q = q * s - 2.133_740_6e-4;
    let q = q * s - 1.682_827e-3;
    let q = q * s - 7.373_329e-3;
    let q = q * s - 1.426_473_9e-2;
    x * p / q
}

/// The activation of BERT, x Φ(x), of `row + bias`.
pub(crate) fn gelu(row: &mut [f32], bias: &[f32]) {
    Arch::new().dispatch(|| {
        for (x, b) in row.iter_mut().zip(bias) {
            let v = *x + b;
            *x = 0.5 * v * (1.0 + erf(v * std::f32::consts::FRAC_1_SQRT_2));
        }
    });
}

/// The gated activation of Qwen3: `gate · σ(gate) · up`, into the gate.
pub(crate) fn silu_gate(gate: &mut [f32], up: &[f32]) {
    Arch::new().dispatch(|| {
        for (g, u) in gate.iter_mut().zip(up) {
            *g = *g / (1.0 + exp(-*g)) * u;
        }
    });
}

pub(crate) fn add(row: &mut [f32], other: &[f32]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x += y;
    }
}

/// The sum of `f` over a row.
#[inline(always)]
fn sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().map(|&x| f(x)).sum();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = if x > *lane { x } else { *lane };
        }
    }
    lanes.iter().copied().fold(rest, f32::max)
}

/// Makes a row e^(x − max) and returns the inverse of its sum, by which it has yet to be
/// multiplied.
pub(crate) fn softmax_unscaled(row: &mut [f32]) -> f32 {
    Arch::new().dispatch(Softmax(row))
}

/// A closure of this size is not inlined.
struct Softmax<'a>(&'a mut [f32]);

impl WithSimd for Softmax<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        let most = largest(self.0);
        for x in &mut *self.0 {
            *x = exp(*x - most);
        }
        1.0 / sum(self.0, |x| x)
    }
}

/// Layer normalisation (Ba, Kiros, Hinton 2016) of `row + other + bias`.
pub(crate) fn add_and_normalize(row: &mut [f32], other: &[f32], bias: &[f32], norm: &LayerNorm) {
    for ((x, y), b) in row.iter_mut().zip(other).zip(bias) {
        *x += y + b;
    }
    norm.apply(row);
}

/// The parameters of a layer normalisation.
pub(crate) struct LayerNorm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl LayerNorm {
    pub(crate) fn apply(&self, row: &mut [f32]) {
        let count = row.len() as f32;
        let mean = sum(row, |x| x) / count;
        let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
        let inverse = 1.0 / (variance + self.epsilon).sqrt();
        for ((x, s), b) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
            *x = (*x - mean) * inverse * s + b;
        }
    }
}

/// Root mean square normalisation (Zhang, Sennrich 2019).
pub(crate) fn rms_norm(row: &mut [f32], scale: &[f32], epsilon: f32) {
    let inverse = 1.0 / (sum(row, |x| x * x) / row.len() as f32 + epsilon).sqrt();
    for (x, s) in row.iter_mut().zip(scale) {
        *x *= inverse * s;
    }
}

/// Scales a vector to length 1; the zero vector stays unchanged.
pub(crate) fn to_unit(row: &mut [f32]) {
    let length = sum(row, |x| x * x).sqrt();
    if length > 0.0 {
        for x in row {
            *x /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its Maclaurin series in double precision; good to 1e-11 for |x| ≤ 4.
    fn erf_series(x: f64) -> f64 {
        let (mut term, mut total) = (x, x);
        for n in 1..200 {
            let n = f64::from(n);
            term *= -x * x / n;
            total += term / (2.0 * n + 1.0);
        }
        total * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn activations_are_exact_to_a_millionth() {
        for step in -5600..=5600 {
            let x = step as f32 / 1000.0;
            let mut row = [x - 0.25];
            gelu(&mut row, &[0.25]);
            let (v, found) = (f64::from(x), f64::from(row[0]));
            let exact = 0.5 * v * (1.0 + erf_series(v * std::f64::consts::FRAC_1_SQRT_2));
            assert!((found - exact).abs() < 1e-6 * v.abs().max(1.0), "gelu({x}) = {found}, and not {exact}");
            let (found, exact) = (f64::from(exp(x * 15.0)), f64::from(x * 15.0).exp());
            assert!((found / exact - 1.0).abs() < 1e-6, "exp({}) = {found}, and not {exact}", x * 15.0);
        }
        assert!(exp(f32::NAN).is_nan() && exp(-1e9) > 0.0 && exp(1e9).is_finite());
        let mut row = [0.0, 1.0];
        silu_gate(&mut row, &[3.0, 2.0]);
        assert!(row[0] == 0.0 && (row[1] - 2.0 * 0.731_058_6).abs() < 1e-6, "{row:?}");
    }

    #[test]
    fn rows_are_normalized() {
        // Longer than the lanes, and no multiple of them.
        let row: Vec<f32> = (0..37).map(|n| ((n * 7) % 11) as f32 - 3.0).collect();
        let mut soft = row.clone();
        let scale = softmax_unscaled(&mut soft);
        let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        for (x, y) in row.iter().zip(&soft) {
            assert!((f64::from(y * scale) - f64::from(*x).exp() / total).abs() < 1e-6);
        }
        let norm = LayerNorm { scale: vec![2.0; 37], shift: vec![1.0; 37], epsilon: 0.0 };
        let mut found = row.clone();
        add_and_normalize(&mut found, &[0.0; 37], &[5.0; 37], &norm);
        let mean = found.iter().sum::<f32>() / 37.0;
        let variance = found.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 37.0;
        assert!((mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4, "{mean} {variance}");
        let mut found = row.clone();
        rms_norm(&mut found, &[1.0; 37], 0.0);
        assert!((found.iter().map(|x| x * x).sum::<f32>() / 37.0 - 1.0).abs() < 1e-5);
        let mut found = row;
        to_unit(&mut found);
        assert!((found.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
        let mut zero = [0.0; 5];
        to_unit(&mut zero);
        assert!(zero.iter().all(|&x| x == 0.0));
    }
}
