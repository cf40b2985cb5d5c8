use super::*;
use context::quality::Flaw;

#[test]
fn an_unknown_price_is_never_a_sum() {
    let known = Sums { calls: 2, micro_dollars: 4200, ..Sums::default() };
    let unknown = Sums { calls: 1, unpriced_calls: 1, unpriced_tokens: 12_345, ..Sums::default() };
    assert_eq!(spent(&Sums::default()), "nothing");
    assert_eq!(spent(&known), "$0.0042");
    assert_eq!(spent(&unknown), "price unknown, 12,345 tokens");
    let both = Sums { micro_dollars: 4200, ..unknown };
    assert_eq!(spent(&both), "$0.0042, and 12,345 tokens of unknown price");
    assert_eq!((price(None, 1), price(Some(0), 1)), ("price unknown, 1 token".to_owned(), "free".to_owned()));
}

#[test]
fn estimates_carry_the_date_of_their_price() {
    let estimate = |micro_dollars, date: Option<&str>| Estimate {
        micro_dollars,
        price_as_of: date.map(str::to_owned),
        tokens_in: 1000,
        tokens_out: 200,
        ..Estimate::default()
    };
    for (micro, date, said) in [
        (Some(420_000), Some("2026-11-12"), "about $0.42 (prices of 2026-11-12)"),
        (Some(420_000), Some("configured"), "about $0.42 (prices of your configuration)"),
        (None, None, "price unknown: 1,200 tokens"),
        (Some(0), None, "free"),
    ] {
        assert_eq!(estimated(&estimate(micro, date)), said);
    }
}

#[test]
fn every_flaw_has_its_words() {
    for known in [
        Flaw::Empty,
        Flaw::Refusal,
        Flaw::Garbled,
        Flaw::Leak,
        Flaw::Language,
        Flaw::Length,
        Flaw::Truncated,
        Flaw::Ungrounded,
        Flaw::Numbers,
        Flaw::Weak,
        Flaw::Missing,
    ] {
        let name = serde_json::to_value(known).unwrap().as_str().unwrap().to_owned();
        let words = flaw(&name);
        assert!(words == "empty" || words != name, "{name}");
        assert_eq!(outcome(&format!("rejected_{name}")), format!("rejected: {words}"));
    }
    assert_eq!((flaw("some_new\u{1b}"), outcome("a_newer_one")), ("some new".to_owned(), "a newer one".to_owned()));
}

#[test]
fn lengths_of_time() {
    for (m, said) in [
        (0.2, "under a minute"),
        (f64::NAN, "under a minute"),
        (12.4, "about 12 min"),
        (180.0, "about 3 h"),
        (5000.0, "about 3 days"),
    ] {
        assert_eq!(minutes(m), said);
    }
}
