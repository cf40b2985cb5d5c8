use proptest::prelude::*;

use super::*;

fn product(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

proptest! {
    #[test]
    fn products_stay_and_every_width_gives_the_same(
        values in proptest::collection::vec((any::<i8>(), any::<i8>()), 1..400),
    ) {
        let (one, other): (Vec<i8>, Vec<i8>) = values.into_iter().unzip();
        let rotation = Rotation::new(one.len());
        let [mut a, mut b] = [vec![5.0], Vec::new()];
        rotation.rotate(Width::all()[0], &one, &mut a);
        rotation.rotate(Width::all()[0], &other, &mut b);
        prop_assert_eq!((a.len(), a.len() % 64), (rotation.length(), 0));
        let growth = f64::from(1u32 << (rotation.steps as usize * ROUNDS));
        let before: i64 = one.iter().zip(&other).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
        let size = (product(&a, &a) * product(&b, &b)).sqrt().max(1.0);
        prop_assert!((product(&a, &b) - before as f64 * growth).abs() <= size * 1e-5);
        for width in Width::all() {
            rotation.rotate(width, &one, &mut b);
            prop_assert_eq!(&a, &b);
        }
    }
}

#[test]
fn a_single_value_is_spread_over_all() {
    for dimensions in [1, 3, 64, 65, 256, 300, 384, 768, 1000, 1024, 1536, 3072] {
        let rotation = Rotation::new(dimensions);
        for at in [0, dimensions / 2, dimensions - 1] {
            let mut values = vec![0; dimensions];
            values[at] = 100;
            let mut rotated = Vec::new();
            rotation.rotate(Width::chosen(), &values, &mut rotated);
            let greatest = rotated.iter().fold(0f64, |greatest, value| greatest.max(f64::from(value.abs())));
            let mean = (product(&rotated, &rotated) / rotated.len() as f64).sqrt();
            assert!(greatest < 6.0 * mean, "{dimensions} at {at}: {greatest} against {mean}");
        }
    }
}

#[test]
fn it_is_the_same_for_ever() {
    let mut rotated = Vec::new();
    Rotation::new(3).rotate(Width::chosen(), &[1, 2, -3], &mut rotated);
    assert_eq!(
        rotated.iter().map(|value| *value as i32).take(8).collect::<Vec<_>>(),
        [-4, -44, 20, 28, 20, -20, -4, 4]
    );
}
