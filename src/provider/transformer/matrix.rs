//! Matrices and norms of networks, on plain slices of `f32`, row after row.
//!
//! The crate `matrixmultiply` computes the products, one thread each, except those of [`rounded`] numbers. Callers have
//! several products under way.

mod rounded;

use std::borrow::Cow;

use rounded::Rounded;

/// A stretch of rows within a slice: `count` of `width` values, each beginning `stride` after the one before.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    values: &'a [f32],
    count: usize,
    width: usize,
    stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows that follow each other without a gap.
    pub(super) fn dense(values: &'a [f32], width: usize) -> Self {
        Rows { values, count: values.len() / width, width, stride: width }
    }

    /// `count` rows of `width` values, of which the first begins at `start`.
    pub(super) fn within(values: &'a [f32], start: usize, count: usize, width: usize, stride: usize) -> Self {
        let needed = if count == 0 { 0 } else { (count - 1) * stride + width };
        Rows { values: &values[start..start + needed], count, width, stride }
    }
}

/// `out` (`a.count` × `b.count`, rows of `stride` values) becomes `scale · a · bᵀ`.
pub(super) fn product_transposed(a: Rows<'_>, b: Rows<'_>, scale: f32, out: &mut [f32], stride: usize) {
    assert_eq!(a.width, b.width, "rows of one length");
    product(a, (b.values, b.count, 1, b.stride), scale, out, stride);
}

/// `out` (`a.count` × `b.width`, rows of `stride` values) becomes `a · b`.
pub(super) fn product_of(a: Rows<'_>, b: Rows<'_>, out: &mut [f32], stride: usize) {
    assert_eq!(a.width, b.count, "as many rows as values in a row");
    product(a, (b.values, b.width, b.stride, 1), 1.0, out, stride);
}

/// `b` is `a.width` × columns: its values, columns, and the strides to the next row and to the next column.
fn product(a: Rows<'_>, b: (&[f32], usize, usize, usize), scale: f32, out: &mut [f32], stride: usize) {
    let (values, columns, down, right) = b;
    if a.count == 0 || columns == 0 {
        return;
    }
    let last = |rows: usize, down: usize, columns: usize, right: usize| (rows - 1) * down + (columns - 1) * right;
    assert!(a.width > 0 && stride >= columns, "rows that do not overlap");
    assert!(last(a.count, a.stride, a.width, 1) < a.values.len(), "all of the left side");
    assert!(last(a.width, down, columns, right) < values.len(), "all of the right side");
    assert!(last(a.count, stride, columns, 1) < out.len(), "room for the product");
    // SAFETY: the asserts ensure that the first and the last value of each of the three lie within its slice, and so
    // does all between them; `out` is borrowed exclusively, and its rows do not overlap.
    unsafe {
        matrixmultiply::sgemm(
            a.count,
            a.width,
            columns,
            scale,
            a.values.as_ptr(),
            a.stride as isize,
            1,
            values.as_ptr(),
            down as isize,
            right as isize,
            0.0,
            out.as_mut_ptr(),
            stride as isize,
            1,
        );
    }
}

/// The numbers of a matrix, as wide as its file has them: 16-bit numbers are widened in use.
pub(super) enum Numbers {
    Single(Box<[f32]>),
    /// The upper half of each `f32` (bfloat16).
    Upper(Box<[u16]>),
    /// As whole numbers; no file has these.
    Rounded(Rounded),
}

/// Rows of a matrix that are widened together, few enough to stay in the L2 cache.
const PANEL: usize = 64;

/// Weights: `outputs` rows of `inputs` values.
pub(super) struct Matrix {
    numbers: Numbers,
    inputs: usize,
    outputs: usize,
}

impl Matrix {
    /// `numbers` row after row.
    pub(super) fn new(numbers: Numbers, outputs: usize, inputs: usize) -> Self {
        Matrix { numbers, inputs, outputs }
    }

    /// The same with whole numbers, which is less exact and faster; unchanged if this processor is not faster with
    /// them.
    pub(super) fn rounded(self) -> Self {
        if !rounded::is_quicker() {
            return self;
        }
        let rows: Vec<_> = (0..self.outputs).map(|row| self.row(row)).collect();
        Matrix { numbers: Numbers::Rounded(Rounded::of(rows.iter().map(|row| &**row), self.inputs)), ..self }
    }

    /// Values of a row.
    pub(super) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Rows.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// One row.
    pub(super) fn row(&self, row: usize) -> Cow<'_, [f32]> {
        let range = row * self.inputs..(row + 1) * self.inputs;
        match &self.numbers {
            Numbers::Single(numbers) => Cow::Borrowed(&numbers[range]),
            Numbers::Upper(numbers) => Cow::Owned(numbers[range].iter().map(|half| widened(*half)).collect()),
            Numbers::Rounded(numbers) => Cow::Owned(numbers.row(row)),
        }
    }

    /// `x · weightsᵀ`: for each row of `inputs` values one of `outputs`.
    pub(super) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let rows = Rows::dense(x, self.inputs);
        let mut out = vec![0.0; rows.count * self.outputs];
        match &self.numbers {
            Numbers::Single(numbers) => {
                product_transposed(rows, Rows::dense(numbers, self.inputs), 1.0, &mut out, self.outputs);
            }
            Numbers::Upper(numbers) => {
                let mut panel = Vec::with_capacity(PANEL * self.inputs);
                for (i, halves) in numbers.chunks(PANEL * self.inputs).enumerate() {
                    panel.clear();
                    panel.extend(halves.iter().map(|half| widened(*half)));
                    if let Some(out) = out.get_mut(i * PANEL..) {
                        product_transposed(rows, Rows::dense(&panel, self.inputs), 1.0, out, self.outputs);
                    }
                }
            }
            Numbers::Rounded(numbers) => numbers.product(x, &mut out),
        }
        out
    }

    /// The rows of all of these, one matrix after the other. All have the same number of inputs; if the files have
    /// numbers of several widths, the widest is taken.
    pub(super) fn stacked(parts: Vec<Matrix>) -> Self {
        let (inputs, outputs) = (parts.first().map_or(0, Matrix::inputs), parts.iter().map(Matrix::outputs).sum());
        let uppers = parts.iter().map(|part| match &part.numbers {
            Numbers::Upper(numbers) => Some(&**numbers),
            Numbers::Single(_) | Numbers::Rounded(_) => None,
        });
        let rounded = parts.iter().map(|part| match &part.numbers {
            Numbers::Rounded(numbers) => Some(numbers),
            Numbers::Single(_) | Numbers::Upper(_) => None,
        });
        let numbers = if let Some(uppers) = uppers.collect::<Option<Vec<_>>>() {
            Numbers::Upper(uppers.concat().into())
        } else if let Some(rounded) = rounded.collect::<Option<Vec<_>>>() {
            Numbers::Rounded(Rounded::stacked(&rounded))
        } else {
            let rows = parts.iter().flat_map(|part| (0..part.outputs).map(|row| part.row(row)));
            Numbers::Single(rows.flat_map(Cow::into_owned).collect())
        };
        Matrix { numbers, inputs, outputs }
    }
}

fn widened(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// `x · weightsᵀ + bias`.
pub(super) struct Linear {
    pub(super) weights: Matrix,
    pub(super) bias: Option<Box<[f32]>>,
}

impl Linear {
    /// For each row of inputs one of outputs.
    pub(super) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let mut out = self.weights.apply(x);
        if let Some(bias) = &self.bias {
            for row in out.chunks_exact_mut(bias.len()) {
                add(row, bias);
            }
        }
        out
    }

    /// A map whose output is that of all `parts` side by side. If one part has a bias, parts without one get zeros.
    pub(super) fn beside(parts: Vec<Linear>) -> Self {
        let biased = parts.iter().any(|part| part.bias.is_some());
        let (mut weights, mut all) = (Vec::with_capacity(parts.len()), Vec::new());
        for Linear { weights: part, bias } in parts {
            all.extend(bias.unwrap_or_else(|| vec![0.0; part.outputs()].into()));
            weights.push(part);
        }
        Linear { weights: Matrix::stacked(weights), bias: biased.then(|| all.into()) }
    }
}

/// How the values of each token are brought to one scale.
pub(super) enum Norm {
    /// To mean 0 and variance 1, then scaled and shifted (Ba et al., "Layer Normalization", 2016).
    Layer { scale: Box<[f32]>, shift: Option<Box<[f32]>>, epsilon: f32 },
    /// To a mean square of 1, then scaled (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).
    MeanSquare { scale: Box<[f32]>, epsilon: f32 },
}

impl Norm {
    /// Normalises each row, which has as many values as there are scales.
    pub(super) fn apply(&self, x: &mut [f32]) {
        match self {
            Norm::Layer { scale, shift, epsilon } => {
                let width = scale.len() as f32;
                for row in x.chunks_exact_mut(scale.len()) {
                    let mean = sum(row.iter().copied()) / width;
                    let variance = sum(row.iter().map(|x| (x - mean) * (x - mean))) / width;
                    let factor = 1.0 / (variance + epsilon).sqrt();
                    for (x, scale) in row.iter_mut().zip(scale) {
                        *x = (*x - mean) * factor * scale;
                    }
                    if let Some(shift) = shift {
                        add(row, shift);
                    }
                }
            }
            Norm::MeanSquare { scale, epsilon } => {
                for row in x.chunks_exact_mut(scale.len()) {
                    let square = sum(row.iter().map(|x| x * x)) / scale.len() as f32;
                    let factor = 1.0 / (square + epsilon).sqrt();
                    for (x, scale) in row.iter_mut().zip(scale) {
                        *x *= factor * scale;
                    }
                }
            }
        }
    }
}

/// Sums in f64, because a row has hundreds of values.
fn sum(values: impl Iterator<Item = f32>) -> f32 {
    values.map(f64::from).sum::<f64>() as f32
}

/// Adds `other` to `x`, value by value.
pub(super) fn add(x: &mut [f32], other: &[f32]) {
    for (x, other) in x.iter_mut().zip(other) {
        *x += other;
    }
}

#[cfg(test)]
mod tests;
