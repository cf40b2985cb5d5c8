use std::collections::HashSet;

use proptest::prelude::*;

use super::super::{each_word, each_word_of};
use super::*;

fn found(text: &str, language: Option<Language>, forms: &HashSet<String>, all: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut take = |token: &tantivy::tokenizer::Token| {
        if forms.contains(&token.text) {
            found.push((token.offset_from, token.text.clone()));
        }
    };
    if all {
        each_word(text, language, |token, _| take(token));
    } else {
        let initials = Initials::of(forms.iter().map(String::as_str));
        each_word_of(text, language, Some(initials), |token, _| take(token));
    }
    found
}

proptest! {
    #[test]
    fn no_word_is_missed(
        text in "([A-Za-z]{1,9}(ing|ies|ed|ly|'s|é|ß)?[ -_.,/+#]{0,2}|[a-zA-Z0-9ÀéİſK東京Ωи]{1,4} ?){0,30}",
        asked in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        language in prop::sample::select(vec![None, Some(Language::English), Some(Language::Dutch), Some(Language::German)]),
    ) {
        let mut words = Vec::new();
        each_word(&text, language, |token, _| words.push(token.text.clone()));
        let forms = asked.iter().filter(|_| !words.is_empty()).map(|at| at.get(&words).clone()).collect();
        prop_assert_eq!(found(&text, language, &forms, false), found(&text, language, &forms, true));
    }
}

#[test]
fn dutch_words_may_lose_their_beginning() {
    let initials = Initials::of(["werk", "2"]);
    assert!(initials.may_begin("Werken") && initials.may_begin("2nd") && initials.may_begin("éwerk"));
    assert!(!initials.may_begin("gewerkt") && !initials.may_begin("3"));
    assert!(Initials::tell(Some(Language::English)) && !Initials::tell(Some(Language::Dutch)));
}
