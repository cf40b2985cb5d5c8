use super::*;

#[test]
fn a_model_is_useless_after_many_answers_without_one_that_can_be_used() {
    let outcomes = Outcomes::default();
    let answers = |n: u32, useful| (0..n).for_each(|_| outcomes.answered(useful));
    answers(MOST_USELESS - 1, false);
    assert!(!outcomes.is_useless());
    answers(1, true);
    answers(MOST_USELESS - 1, false);
    assert!(!outcomes.is_useless(), "one in between that could be used");
    answers(1, false);
    assert!(outcomes.is_useless());
    outcomes.try_again();
    answers(USELESS_AGAIN - 1, false);
    assert!(!outcomes.is_useless());
    answers(1, false);
    assert!(outcomes.is_useless());
}

#[test]
fn contexts_of_another_length_are_counted() {
    let outcomes = Outcomes::default();
    outcomes.other_length();
    outcomes.other_length();
    assert_eq!(outcomes.all().get("other_length"), Some(&2));
}
