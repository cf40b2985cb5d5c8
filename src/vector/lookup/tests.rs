use proptest::prelude::*;

use super::*;

/// Slots' sums as they are defined.
fn plain(values: &[i8], columns: &[Column]) -> [i32; BLOCK] {
    std::array::from_fn(|slot| {
        let columns = &columns[slot / STRIP * values.len() / 8..];
        let is_set = |at: usize| columns[at / 8][slot % STRIP] >> (at % 8) & 1 == 1;
        values.iter().enumerate().filter(|(at, _)| is_set(*at)).map(|(_, value)| i32::from(*value)).sum()
    })
}

fn check(values: &[i8], columns: &[Column]) {
    for width in Width::all() {
        let lookup = Lookup::new(values, width);
        for next in [columns, &[]] {
            let mut products = [3; BLOCK];
            lookup.sum(columns, next, &mut products);
            assert_eq!(products, plain(values, columns), "{width:?}");
        }
    }
}

proptest! {
    #[test]
    fn sums_are_those_of_a_plain_loop(
        words in 1usize..8,
        values in proptest::collection::vec(LEAST..=GREATEST, 8 * 64),
        bits in proptest::collection::vec(any::<u64>(), 64),
    ) {
        let column = |at: usize| -> Column {
            std::array::from_fn(|slot| (bits[at % 64].rotate_left(slot as u32) >> (at / 64 * 8)) as u8 ^ slot as u8)
        };
        let columns: Vec<Column> = (0..BLOCK / STRIP * words * 8).map(column).collect();
        check(&values[..words * 64], &columns);
    }
}

/// The longest vectors, and the greatest sums that there are.
#[test]
fn no_sum_is_too_large() {
    for bytes in [2, LONGEST - 2, LONGEST, LONGEST + 2, 3 * LONGEST] {
        for value in [LEAST, GREATEST] {
            check(&vec![value; 8 * bytes], &vec![[u8::MAX; STRIP]; BLOCK / STRIP * bytes]);
            check(&vec![value; 8 * bytes], &vec![[0; STRIP]; BLOCK / STRIP * bytes]);
        }
    }
}
