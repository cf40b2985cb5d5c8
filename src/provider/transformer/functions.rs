//! Functions of single values, and of a row, that networks apply between matrices.

/// Functions between linear maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    /// By tanh, which differs from the above in the fourth digit.
    GeluTanh,
    Relu,
    /// Also called swish.
    Silu,
    Tanh,
}

impl Activation {
    /// The function that model files call by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            "silu" | "swish" => Activation::Silu,
            "tanh" => Activation::Tanh,
            _ => return None,
        })
    }

    /// Applies the function to each value.
    pub(super) fn apply(self, x: &mut [f32]) {
        match self {
            Activation::Gelu => {
                x.iter_mut().for_each(|x| *x *= 0.5 * (1.0 + erf(*x * std::f32::consts::FRAC_1_SQRT_2)));
            }
            Activation::GeluTanh => x.iter_mut().for_each(|x| {
                // 1 + tanh(z) is 2 / (1 + e^-2z); Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).
                let z = (2.0 / std::f32::consts::PI).sqrt() * (*x + 0.044_715 * *x * *x * *x);
                *x /= 1.0 + exp(-2.0 * z);
            }),
            Activation::Relu => x.iter_mut().for_each(|x| *x = x.max(0.0)),
            Activation::Silu => x.iter_mut().for_each(|x| *x /= 1.0 + exp(-*x)),
            Activation::Tanh => x.iter_mut().for_each(|x| *x = x.tanh()),
        }
    }
}

/// 0 to 1.
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// Makes the values of a row positive, with a sum of 1.
pub(super) fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x = exp(*x - most));
    let factor = 1.0 / row.iter().sum::<f32>();
    row.iter_mut().for_each(|x| *x *= factor);
}

/// e to the power of `x`, within 2 units in the last place between -87 and 88; beyond these, that of the nearer one. It
/// has no branch, so that compilers can vectorise it, which they cannot do with the library's.
///
/// 2^n · e^r with |r| ≤ ½ ln 2, and of e^r the first terms of its series (the eighth is below 2^-27).
fn exp(x: f32) -> f32 {
    /// Adding it to a number below 2^22 rounds that to a whole one.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, so that little is lost when a multiple is subtracted.
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2.0) - n * LN_2.1;
    let series = r * (1.0 / 5040.0) + 1.0 / 720.0;
    let series = r * series + 1.0 / 120.0;
    let series = r * series + 1.0 / 24.0;
    let series = r * series + 1.0 / 6.0;
    let series = r * series + 0.5;
    let series = r * series + 1.0;
    let series = r * series + 1.0;
    // The low bits of `shifted` hold n.
    let power = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    series * power
}

/// The error function, within 5e-7 (Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, 7.1.26).
fn erf(x: f32) -> f32 {
    const A: [f32; 5] = [0.254_829_6, -0.284_496_72, 1.421_413_8, -1.453_152_1, 1.061_405_4];
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = A.iter().rev().fold(0.0, |sum, a| (sum + a) * t);
    (1.0 - series * exp(-x * x)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error function by its series, in doubles (7.1.5 of the same book).
    fn erf_by_series(x: f64) -> f64 {
        let mut term = x;
        let mut sum = x;
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn functions_are_those_of_the_books() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            let (ours, true_one) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / true_one - 1.0).abs() < 3e-7, "e^{x}: {ours:e}, not {true_one:e}");
        }
        assert!(exp(-1e9) < 2e-38 && exp(1e9).is_finite());
        for i in -400..=400 {
            let x = i as f32 / 100.0;
            assert!((f64::from(erf(x)) - erf_by_series(f64::from(x))).abs() < 5e-7, "erf({x}): {}", erf(x));
        }
        assert_eq!((erf(40.0), erf(-40.0)), (1.0, -1.0));
        let mut row = [1.0, 2.0, 3.0, -1e30];
        softmax(&mut row);
        let sum = 1.0 + (1.0_f32).exp() + (2.0_f32).exp();
        for (value, power) in row.iter().zip([0, 1, 2]) {
            assert!((value - (power as f32).exp() / sum).abs() < 1e-6, "{row:?}");
        }
        assert!(row[3] < 1e-30, "{row:?}");
    }
}
