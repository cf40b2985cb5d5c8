use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn products_are_those_of_a_plain_count(
        words in 1usize..8,
        planes in proptest::collection::vec(any::<[u64; 4]>(), 8),
        bits in proptest::collection::vec(any::<u64>(), 8),
    ) {
        let columns: Vec<Column> =
            bits[..words].iter().map(|bits| std::array::from_fn(|slot| bits.rotate_left(slot as u32) ^ slot as u64)).collect();
        let value = |word: usize, bit: usize| {
            let four = planes[word].map(|plane| (plane >> bit & 1) as i32);
            four[0] + 2 * four[1] + 4 * four[2] - 8 * four[3]
        };
        let expected: [i32; BLOCK] = std::array::from_fn(|slot| {
            let set = (0..words * 64).filter(|at| columns[at / 64][slot] >> (at % 64) & 1 == 1);
            set.map(|at| value(at / 64, at % 64)).sum()
        });
        for width in Width::all() {
            let asked = Asked { planes: planes[..words].to_vec(), sum: 3, unit: 0.5, width };
            let (mut estimates, factors) = ([7.0; BLOCK], [0.25; BLOCK]);
            let expected = expected.map(|product| (2 * product - 3) as f32 / 8.0);
            let codes = Codes { columns: &columns, factors: &factors };
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
            let signs = (0..rotated.len()).map(|at| code.words[at / 64] >> (at % 64) & 1 == 1);
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
        let columns: Vec<Column> = code.words.iter().map(|word| [*word; BLOCK]).collect();
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
    let (columns, mut estimates) = ([[code.words[0]; BLOCK]], [7.0; BLOCK]);
    let asked = Asked::new(&zero, &rotation, Width::chosen());
    let mut factors = [1.0; BLOCK];
    (factors[0], factors[1]) = (code.factor, f32::NAN);
    let codes = Codes { columns: &columns, factors: &factors };
    asked.estimates(codes, codes, &mut estimates);
    assert!(estimates[0] == 0.0 && estimates[1].is_nan() && estimates[2] == 0.0);
}
