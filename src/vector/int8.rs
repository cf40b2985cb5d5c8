//! A vector as it is kept and compared: whole numbers of eight bits and one factor.

/// A normalised vector, quantised to int8: component `i` is `scale * values[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// One value per dimension, -127..=127.
    pub values: Box<[i8]>,
    /// Factor of every component; 0 for the zero vector.
    pub scale: f32,
}

impl Vector {
    /// To int8 with one factor: the largest component becomes ±127. The zero vector stays one.
    pub fn quantized(x: &[f32]) -> Vector {
        let largest = x.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        if largest == 0.0 {
            return Vector { values: vec![0; x.len()].into(), scale: 0.0 };
        }
        let scale = largest / 127.0;
        // Adding a half and cutting off rounds without a call into the C library on old processors.
        let values = x.iter().map(|x| (x / scale + 0.5_f32.copysign(*x)) as i8).collect();
        Vector { values, scale }
    }

    /// As [`Vector::quantized`], of a vector of any length; `None` if a component is not a number. A vector
    /// without length becomes the zero vector.
    pub fn normalised(x: &[f32]) -> Option<Vector> {
        // In 64 bits no sum of squares of 32 bits overflows.
        let norm = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return None;
        }
        let unit: Vec<f32> = x.iter().map(|x| if norm > 0.0 { (f64::from(*x) / norm) as f32 } else { 0.0 }).collect();
        Some(Vector::quantized(&unit))
    }
}

#[cfg(test)]
mod tests;
