use super::super::search::tests::hit;
use super::*;

fn ranked(words: Option<u32>, meaning: Option<u32>) -> Hit {
    let lane = |rank: Option<u32>| rank.map(|rank| LaneScore { rank, score: 0.5 });
    Hit { lanes: Some(Lanes { lexical: lane(words), dense: lane(meaning), ..Lanes::default() }), ..hit() }
}

#[test]
fn in_a_few_words() {
    for (words, meaning, expected) in [
        (Some(1), Some(1), "words + meaning"),
        (Some(1), Some(200), "words"),
        (None, Some(40), "meaning"),
        (Some(150), Some(3), "meaning"),
        (Some(40), Some(30), "words + meaning"),
        (None, None, ""),
    ] {
        assert_eq!(why(&ranked(words, meaning), "budget -draft tag:plan"), expected);
    }
    assert_eq!(why(&ranked(Some(1), None), "plan"), "title + words");
    let by_title = Hit { highlights: Vec::new(), ..ranked(Some(1), None) };
    assert_eq!(why(&by_title, "the risk plan"), "title");
    assert_eq!(why(&by_title, "lan"), "words", "not within a word");
    assert_eq!(why(&Hit { lanes: None, ..hit() }, "plan"), "");
    let mut linked = ranked(Some(1), None);
    linked.lanes.as_mut().unwrap().boosts.links = 0.02;
    assert_eq!(why(&linked, "budget"), "words + linked");
    // A word that stands in a model's questions alone is marked nowhere.
    let mut asked = Hit { highlights: Vec::new(), ..ranked(Some(1), None) };
    asked.lanes.as_mut().unwrap().in_questions = vec!["costs".into()];
    assert_eq!(why(&asked, "costs"), "words + questions");
    assert!(reasons(&asked, None).contains("in questions that a model wrote: costs"));
    assert!(!reasons(&ranked(Some(1), None), None).contains("questions"));
}

#[test]
fn places_are_those_in_a_vault_and_name_it_if_there_are_several() {
    let hit = ranked(Some(1), None);
    assert!(reasons(&hit, None).contains("words: no. 1 ("), "{}", reasons(&hit, None));
    assert!(reasons(&hit, Some("papers")).contains("words: no. 1 of papers ("), "{}", reasons(&hit, Some("papers")));
}
