use std::collections::HashMap;

use super::*;
use crate::testing::{chunk, note};

fn weighed(text: &str, context: &str) -> HashMap<u32, f32> {
    let counted = Counted::of(&note(1, 1, "n.md"), &chunk(1, 0, text, context), 0, Language::English);
    let (terms, weights) = counted.weighed(MeanLengths([4.0, 4.0, 0.0]));
    terms.into_iter().zip(weights).collect()
}

fn score(query: &str, text: &str, context: &str) -> f32 {
    let weights = weighed(text, context);
    let asked = asked_for(query, &[Language::English], true, 0.5);
    asked.iter().map(|term| term.weight * weights.get(&term.number).copied().unwrap_or(0.0)).sum()
}

#[test]
fn a_query_meets_the_stems_of_a_chunk() {
    assert!(score("running", "He runs", "") > 0.0);
    assert!(score("zebra", "He runs", "") == 0.0);
    assert!(score("the", "the", "") > 0.0, "a query of stop words alone asks for them");
    assert!(score("the zebra", "the", "") == 0.0);
}

#[test]
fn more_of_a_word_counts_less_and_less_and_a_context_counts_half() {
    let [one, two, four] =
        ["zebra a b c", "zebra zebra a b", "zebra zebra zebra zebra"].map(|text| score("zebra", text, ""));
    assert!(one < two && two < four && two - one > (four - two) / 2.0, "{one} {two} {four}");
    let in_context = score("zebra", "a b c d", "zebra a b c");
    assert!(in_context > 0.0 && in_context < one, "{in_context} {one}");
}

#[test]
fn terms_are_in_order_and_each_is_there_once() {
    let counted = Counted::of(&note(1, 1, "n.md"), &chunk(1, 0, "b a b a", "a"), 0, Language::English);
    let (terms, _) = counted.weighed(MeanLengths::default());
    assert!(terms.is_sorted_by(|a, b| a < b));
    // The words of the text, of the heading and of the title; and `a` of the context, which is another.
    assert_eq!(terms.len(), 5);
    assert_eq!(counted.lengths()[1], 1);
}

#[test]
fn a_phrase_is_held_where_its_words_stand_in_a_row() {
    let holds = |text: &str, phrase: &str| holds(text, phrase, Language::English);
    assert!(holds("The grey herons stand.", "grey heron") && !holds("The heron is grey.", "grey heron"));
    assert!(holds("A system-level call", "system level") && !holds("A system of that level", "system level"));
    assert!(holds("anything", "--") && !holds("", "grey"));
    assert!(holds("我用Python写代码", "用Python写") && !holds("我用Python写代码", "用Python代"));
}
