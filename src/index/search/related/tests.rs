use super::*;
use proptest::prelude::*;

fn unit(values: &[i8]) -> Vector {
    let length = values.iter().map(|v| f32::from(*v).powi(2)).sum::<f32>().sqrt();
    Vector { values: values.into(), scale: if length > 0.0 { 1.0 / length } else { 0.0 } }
}

#[test]
fn the_mean_lies_between() {
    let middle = mean(&[unit(&[127, 0]), unit(&[0, 127])]).unwrap();
    assert_eq!(&*middle.values, [127, 127]);
    assert!((middle.scale * 127.0 - 0.5f32.sqrt()).abs() < 1e-3);
    assert_eq!(mean(&[]), None);
    assert_eq!(mean(&[unit(&[0, 0])]), None);
    assert_eq!(mean(&[unit(&[127, 0]), unit(&[-127, 0])]), None);
}

proptest! {
    #[test]
    fn the_mean_has_length_one(vectors in proptest::collection::vec(proptest::collection::vec(-127i8..=127, 16), 1..6)) {
        let vectors: Vec<Vector> = vectors.iter().map(|v| unit(v)).collect();
        if let Some(mean) = mean(&vectors) {
            let length: f32 = mean.values.iter().map(|v| (mean.scale * f32::from(*v)).powi(2)).sum();
            prop_assert!((length - 1.0).abs() < 0.05, "{}", length);
        }
    }

    #[test]
    fn the_mean_of_one_is_that_one(values in proptest::collection::vec(-127i8..=127, 15)) {
        let values = [&[127], &values[..]].concat();
        prop_assert_eq!(&*mean(&[unit(&values)]).unwrap().values, &*values);
    }
}
