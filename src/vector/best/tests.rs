use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_likeliest_slots_are_kept(
        estimates in proptest::collection::vec(prop_oneof![(-2000i16..2000).prop_map(|n| f32::from(n) / 1000.0), Just(0.0), Just(-0.5), Just(0.5)], 0..600),
        most in 0usize..40,
        at in 0usize..600,
    ) {
        let mut expected: Vec<(u32, f32)> = (0..).zip(estimates.iter().copied()).collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        expected.truncate(most);
        let mut expected: Vec<u32> = expected.into_iter().map(|(slot, _)| slot).collect();
        expected.sort_unstable();
        let mut parts = [Likely::new(most), Likely::new(most)];
        for (slot, estimate) in (0..).zip(estimates) {
            let part = &mut parts[usize::from(slot as usize >= at)];
            if estimate >= part.threshold {
                part.push(slot, estimate);
            }
        }
        let [one, other] = parts;
        prop_assert_eq!(one.join(other).finish(), expected);
    }

    #[test]
    fn numbers_are_in_the_order_of_what_they_stand_for(a in any::<f32>(), b in any::<f32>()) {
        prop_assert_eq!(ordered(a).cmp(&ordered(b)), a.total_cmp(&b));
        prop_assert_eq!(unordered(ordered(a)).to_bits(), a.to_bits());
    }
}
