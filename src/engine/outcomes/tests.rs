use super::*;

fn answers(outcomes: &Outcomes, n: u32, form: Form, useful: bool) {
    (0..n).for_each(|_| outcomes.answered(form, useful));
}

#[test]
fn a_model_is_useless_after_a_few_answers_without_one_that_can_be_used() {
    let outcomes = Outcomes::default();
    answers(&outcomes, MOST_USELESS - 1, Form::Chunk, false);
    assert!(!outcomes.is_useless());
    answers(&outcomes, 1, Form::Chunk, true);
    answers(&outcomes, MOST_USELESS - 1, Form::Simple, false);
    assert!(!outcomes.is_useless(), "one in between that could be used");
    answers(&outcomes, 1, Form::Simple, false);
    assert!(outcomes.is_useless());
}

#[test]
fn a_model_that_fails_at_whole_notes_is_tried_with_passages() {
    let outcomes = Outcomes::default();
    answers(&outcomes, 10 * MOST_USELESS, Form::Note, false);
    answers(&outcomes, LEAST_OF_PASSAGES - 1, Form::Chunk, false);
    assert!(!outcomes.is_useless());
    answers(&outcomes, 1, Form::Chunk, false);
    assert!(outcomes.is_useless());
}

#[test]
fn a_useless_model_is_tried_again_ever_more_seldom_and_trusted_once_it_is_of_use() {
    let outcomes = Outcomes::default();
    outcomes.try_again();
    assert!(!outcomes.is_on_trial(), "nothing was held against it");
    answers(&outcomes, MOST_USELESS, Form::Chunk, false);
    for minutes in [5, 10, 20, 40, 60, 60] {
        assert!(outcomes.is_useless());
        assert_eq!(outcomes.pause(), Duration::from_mins(minutes));
        outcomes.try_again();
        assert!(outcomes.is_on_trial());
        answers(&outcomes, USELESS_AGAIN - 1, Form::Chunk, false);
        assert!(!outcomes.is_useless());
        answers(&outcomes, 1, Form::Chunk, false);
    }
    outcomes.resume();
    assert!(outcomes.is_on_trial() && !outcomes.is_useless());
    assert_eq!(outcomes.pause(), Duration::from_mins(10), "the user's word begins the pauses anew");
    answers(&outcomes, 1, Form::Note, true);
    assert!(!outcomes.is_on_trial());
    assert_eq!(outcomes.pause(), Duration::from_mins(5));
}

#[test]
fn contexts_of_another_length_are_counted() {
    let outcomes = Outcomes::default();
    outcomes.other_length();
    outcomes.other_length();
    assert_eq!(outcomes.all().get("other_length"), Some(&2));
}

#[test]
fn a_provider_that_refuses_every_question_is_left_alone_with_what_it_said() {
    let outcomes = Outcomes::default();
    for n in 0..MOST_USELESS {
        assert!(outcomes.useless().is_none());
        outcomes.refused(Form::Chunk, format!("refused for the {n}th time"));
    }
    let told = outcomes.useless().unwrap().to_string();
    assert!(told.contains("the provider refused") && told.contains("for the 11th time"), "{told}");
    answers(&outcomes, 1, Form::Chunk, false);
    assert!(outcomes.useless().unwrap().to_string().contains("could be used"), "its last answer was one");
}
