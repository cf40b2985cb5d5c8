use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_slip_changes_two_letters_at_most(a in "[a-eé日]{1,6}", b in "[a-eé日]{1,6}") {
        let differing = (letters(&a) ^ letters(&b)).count_ones() as usize;
        prop_assert!(differing <= 2 * strsim::osa_distance(&a, &b));
    }
}
