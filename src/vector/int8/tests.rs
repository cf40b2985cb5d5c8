use super::*;

#[test]
fn vectors_of_any_length_are_normalised() {
    let vector = Vector::normalised(&[3.0, -4.0]).unwrap();
    let length: f32 = vector.values.iter().map(|v| (f32::from(*v) * vector.scale).powi(2)).sum();
    assert!((length - 1.0).abs() < 0.01 && vector.values[1] == -127, "{vector:?}");
    assert_eq!(Vector::normalised(&[f32::MAX, 0.0]).unwrap().values[0], 127);
    assert!(Vector::normalised(&[0.0; 3]).unwrap().scale.abs() < f32::EPSILON);
    assert!(Vector::normalised(&[1.0, f32::NAN]).is_none() && Vector::normalised(&[f32::INFINITY]).is_none());
}
