use proptest::prelude::*;

use super::super::models::Model;
use super::super::settings::Provider;
use super::*;

fn rates(input: u64, output: u64) -> Rates {
    Rates {
        as_of: "2026-11-12".to_owned(),
        input,
        output,
        cache_write: input,
        cache_read: input,
        batch_percent: 50,
        above: None,
    }
}

#[test]
fn tokens_are_counted_upwards_in_any_script() {
    for (text, factor, tokens) in [
        ("", 1.0, 0),
        ("a", 1.0, 1),
        ("abcdefghijklmnopqr", 1.0, 5),
        ("abcdefghijklmnopqrs", 1.0, 6),
        ("abcdefghijklmnopqr", 1.3, 7),
        ("阿特拉斯项目", 1.0, 6),
        ("ภาษาไทย", 1.0, 7),
        ("Привет", 1.0, 4),
        ("🙂", 1.0, 2),
        ("abcdefghijklmnopqr", f32::NAN, 5),
        ("abcdefghijklmnopqr", -1.0, 5),
        ("abcdefghijklmnopqr", 0.0, 5),
        ("abcdefghijklmnopqr", 1e38, u32::MAX),
    ] {
        assert_eq!(estimate_tokens(text, factor), tokens, "{text} × {factor}");
    }
}

#[test]
fn a_call_costs_what_its_parts_cost_rounded_up_once() {
    let haiku = Model::find(Provider::Anthropic, "claude-haiku-5-5", false, &[]).unwrap().price;
    let usage =
        |input, cache_write, cache_read, output| Usage { input, output, cache_read, cache_write, estimated: false };
    for (used, batch, micro) in [
        (usage(0, 0, 0, 0), false, 0),
        // Any use costs something: a tenth of a micro-dollar is one.
        (usage(1, 0, 0, 0), false, 1),
        (usage(10, 0, 0, 0), false, 1),
        (usage(1_000, 0, 0, 100), false, 150),
        (usage(1_000, 0, 0, 100), true, 75),
        (usage(200, 4_000, 0, 70), false, 20 + 500 + 35),
        (usage(200, 0, 4_000, 70), false, 20 + 40 + 35),
        // The tier is decided by the whole prompt, and holds for all of it.
        (usage(100_000, 0, 0, 1_000), false, 10_000 + 500),
        (usage(100_001, 0, 0, 1_000), false, 50_001 + 2_500),
        (usage(1, 0, 100_000, 0), false, 5_001),
        (usage(1, 100_000, 0, 0), true, 31_251),
    ] {
        assert_eq!(cost(&haiku, &used, batch), Some(micro), "{used:?} {batch}");
    }
    assert_eq!(cost(&Price::Unknown, &usage(1, 1, 1, 1), false), None);
    assert_eq!(cost(&Price::Free, &usage(u64::MAX, 1, 1, 1), true), Some(0));
}

#[test]
fn no_sum_overflows() {
    let most =
        Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX, estimated: false };
    let mut dear = rates(u64::MAX, u64::MAX);
    dear.batch_percent = u64::MAX;
    dear.above = Some((u32::MAX, Box::new(dear.clone())));
    assert_eq!(cost(&Price::Tokens(dear), &most, true), Some(u64::MAX));
}

#[test]
fn sums_are_written_as_a_person_reads_them() {
    for (micro, text) in [
        (0, "$0.00"),
        (1, "$0.000001"),
        (40, "$0.00004"),
        (99, "$0.000099"),
        (100, "$0.0001"),
        (4_200, "$0.0042"),
        (4_249, "$0.0042"),
        (4_250, "$0.0043"),
        (10_000, "$0.01"),
        (500_000, "$0.50"),
        (999_949, "$0.9999"),
        (999_950, "$1.00"),
        (1_000_000, "$1.00"),
        (1_200_000, "$1.20"),
        (1_204_999, "$1.20"),
        (1_205_000, "$1.21"),
        (1_234_567_890, "$1234.57"),
        (u64::MAX, "$18446744073709.55"),
    ] {
        assert_eq!(dollars(micro), text, "{micro}");
    }
}

proptest! {
    #[test]
    fn more_never_costs_less(input in 0_u64..1 << 40, output in 0_u64..1 << 40, rate in 0_u64..1 << 30) {
        let price = Price::Tokens(rates(rate, rate));
        let of = |input, output, batch| {
            cost(&price, &Usage { input, output, ..Usage::default() }, batch).unwrap()
        };
        let whole = of(input, output, false);
        prop_assert!(of(input + 1, output, false) >= whole);
        prop_assert!(of(input, output, true) <= whole);
        // Rounding up costs a micro-dollar at most.
        prop_assert!(of(input, 0, false) + of(0, output, false) <= whole + 1);
    }

    #[test]
    fn tokens_never_get_fewer(text in ".{0,80}", more in ".{0,20}") {
        let longer = format!("{text}{more}");
        prop_assert!(estimate_tokens(&longer, 1.0) >= estimate_tokens(&text, 1.0));
        prop_assert!(u64::from(estimate_tokens(&text, 1.0)) * PER_TOKEN >= text.len() as u64 * 5);
    }
}
