use proptest::prelude::*;

use super::*;
use crate::lookup::{LEAST, STRIP};

proptest! {
    #[test]
    fn estimates_are_the_same_with_every_width(
        values in proptest::collection::vec(LEAST..=GREATEST, 1..10),
        bytes in proptest::collection::vec(any::<u8>(), 64),
        unit in (-32_000i16..32_000).prop_map(|n| f32::from(n) / 32_000.0),
    ) {
        let values: Vec<i8> = values.iter().cycle().take(64).copied().collect();
        let column = |at: usize| -> Column { std::array::from_fn(|slot| bytes[at % 64] ^ bytes[slot]) };
        let columns: Vec<Column> = (0..BLOCK / STRIP * 8).map(column).collect();
        let factors: [f32; BLOCK] = std::array::from_fn(|slot| slot as f32 / 7.0);
        let expected: [f32; BLOCK] = std::array::from_fn(|slot| {
            let sign = |at: usize| if columns[slot / STRIP * 8 + at / 8][slot % STRIP] >> (at % 8) & 1 == 1 { 1 } else { -1 };
            let product: i32 = values.iter().enumerate().map(|(at, value)| sign(at) * i32::from(*value)).sum();
            product as f32 * unit * factors[slot]
        });
        let codes = Codes { columns: &columns, factors: &factors };
        for width in Width::all() {
            let asked = Asked::of(&values, unit, width);
            let mut estimates = [7.0; BLOCK];
            for next in [codes, Codes { columns: &[], factors: &[f32::NAN; BLOCK] }] {
                asked.estimates(codes, next, &mut estimates);
                prop_assert!(estimates.iter().zip(&expected).all(|(one, other)| one.to_bits() == other.to_bits()));
            }
        }
    }

    #[test]
    fn every_width_gives_the_same_code(values in proptest::collection::vec(any::<i8>(), 1..400)) {
        let (rotation, vector) = (Rotation::new(values.len()), Vector { values: values.into(), scale: 0.01 });
        let mut rotated = Vec::new();
        rotation.rotate(Width::all()[0], &vector.values, &mut rotated);
        for width in Width::all() {
            let code = Code::of(&vector, &rotation, width);
            let signs = (0..rotated.len()).map(|at| code.signs[at / 8] >> (at % 8) & 1 == 1);
            prop_assert!(signs.eq(rotated.iter().map(|value| *value > 0.0)));
            prop_assert_eq!(code.factor.to_bits(), Code::of(&vector, &rotation, Width::all()[0]).factor.to_bits());
        }
    }

    #[test]
    fn an_estimate_is_near_the_cosine(
        one in proptest::collection::vec(-100i8..=100, 1..600),
        seed in any::<u64>(),
    ) {
        let scaled = |values: &[i8]| Vector::normalised(&values.iter().map(|v| f32::from(*v)).collect::<Vec<_>>());
        let mut seed = seed | 1;
        let other: Vec<i8> = one.iter().map(|value| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (value / 2).wrapping_add((seed >> 58) as i8)
        }).collect();
        let [one, other] = [&one, &other].map(|values| scaled(values).expect("numbers"));
        let rotation = Rotation::new(one.values.len());
        let code = Code::of(&one, &rotation, Width::chosen());
        let columns = code.signs.iter().map(|signs| [*signs; STRIP]).collect::<Vec<Column>>().repeat(BLOCK / STRIP);
        let mut estimates = [0.0; BLOCK];
        let asked = Asked::new(&other, &rotation, Width::chosen());
        let codes = Codes { columns: &columns, factors: &[code.factor; BLOCK] };
        asked.estimates(codes, codes, &mut estimates);
        let product: i32 = one.values.iter().zip(&other.values).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        let cosine = product as f32 * one.scale * other.scale;
        // Six times the deviation that the paper's bound leaves, at 64 values or more.
        let most = 6.0 / (rotation.length() as f32).sqrt();
        prop_assert!((estimates[0] - cosine).abs() < most, "{} against {cosine}", estimates[0]);
    }
}

#[test]
fn a_vector_without_values_is_estimated_at_nothing() {
    let (rotation, zero) = (Rotation::new(3), Vector { values: [0, 0, 0].into(), scale: 1.0 });
    let code = Code::of(&zero, &rotation, Width::chosen());
    let (columns, mut estimates) = ([[code.signs[0]; STRIP]; BLOCK / STRIP * 8], [7.0; BLOCK]);
    let asked = Asked::new(&zero, &rotation, Width::chosen());
    let mut factors = [1.0; BLOCK];
    (factors[0], factors[1]) = (code.factor, f32::NAN);
    let codes = Codes { columns: &columns, factors: &factors };
    asked.estimates(codes, codes, &mut estimates);
    assert!(estimates[0] == 0.0 && estimates[1].is_nan() && estimates[2] == 0.0);
}
