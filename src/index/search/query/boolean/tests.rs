use jiff::civil::{Date, date};
use proptest::prelude::*;

use super::super::super::limits::MAX_TERMS;
use super::super::parse;
use super::*;

const TODAY: Date = date(2026, 11, 20);

/// The free words, what is required as it could be typed, and the warnings.
fn read(query: &str) -> (String, String, usize) {
    let parsed = parse(query, TODAY).unwrap();
    (parsed.words, parsed.required.map(|required| required.typed()).unwrap_or_default(), parsed.warnings.len())
}

#[test]
fn operators_bind_as_people_expect() {
    for (query, words, required) in [
        ("apples AND pears", "apples pears", "apples AND pears"),
        ("apples OR pears OR plums", "apples pears plums", "apples OR pears OR plums"),
        ("a1 AND b1 OR c1", "a1 b1 c1", "(a1 AND b1) OR c1"),
        ("a1 AND (b1 OR c1)", "a1 b1 c1", "a1 AND (b1 OR c1)"),
        ("big apple OR pear", "big apple pear", "apple OR pear"),
        ("(big apple) OR pear", "big apple pear", "(big AND apple) OR pear"),
        ("boats NOT sails", "boats", "NOT sails"),
        ("boats AND NOT sails", "boats", "boats AND NOT sails"),
        ("boats AND NOT (sails OR oars)", "boats", "boats AND NOT (sails OR oars)"),
        ("boats -(sails oars)", "boats", "NOT (sails AND oars)"),
        ("boats -(sails -(oars -(poles)))", "boats oars", "NOT (sails AND NOT (oars AND NOT poles))"),
        ("boats -(-(sails))", "boats sails", "sails"),
        ("NOT NOT boats OR x1", "boats x1", "boats OR x1"),
        ("\"dry dock\" OR harbour", "dry dock harbour", "\"dry dock\" OR harbour"),
        ("tag:work OR tag:\"at home\"", "", "tag:work OR tag:\"at home\""),
        ("plan tag:a OR [due:2026]", "plan", "tag:a OR [due:2026]"),
        ("(a1 OR b1) (c1 OR d1)", "a1 b1 c1 d1", "(a1 OR b1) AND (c1 OR d1)"),
        ("(a1 OR b1", "a1 b1", "a1 OR b1"),
        ("API OR SDK", "API SDK", "API OR SDK"),
        ("f(x) OR g(x)", "f(x) g(x)", "f(x) OR g(x)"),
        ("(f(x) OR g)", "f(x) g", "f(x) OR g"),
        ("a1 OR -b1", "a1", "a1 OR -b1"),
        ("(big apple) tag:a", "(big apple)", ""),
        ("tag:z OR ([status:\"in progress\"])", "", "tag:z OR [status:\"in progress\"]"),
        ("(tag:z OR [status:in progress])", "", "tag:z OR [status:in progress]"),
        ("boats AND 📅", "boats", "boats AND 📅"),
        ("tag:(a OR b) boats", "boats", "tag:a OR tag:b"),
        ("tag:(a OR (#b AND \"c d\")) AND e1", "e1", "(tag:a OR (tag:#b AND tag:\"c d\")) AND e1"),
        ("boats -path:(Old OR Work)", "boats", "NOT (path:Old OR path:Work)"),
        ("tag:(a NOT b) OR prop.due:(<2026 OR null)", "", "(tag:a AND NOT tag:b) OR (prop.due:<2026 OR prop.due:null)"),
        ("NOT on:(today)", "", "NOT on:today"),
    ] {
        assert_eq!(read(query), (words.to_owned(), required.to_owned(), 0), "{query}");
    }
}

#[test]
fn text_that_has_no_operators_is_text() {
    for query in [
        "salt and pepper",
        "Rust (programming language)",
        "DO NOT ENTER",
        "TO BE OR NOT TO BE",
        "ANDROID ORACLE NOTE",
        "say \"this OR that\"",
        "prop.status:\"done OR open\"",
        "a :-) b",
        "boats (see [Miller 2010])",
    ] {
        let (_, required, warnings) = read(query);
        assert_eq!((required.as_str(), warnings), ("", 0), "{query}");
    }
    assert_eq!(read("f(x) (a b) NOT c1").0, "f(x) a b");
}

#[test]
fn conditions_in_parentheses_are_conditions() {
    for (query, as_if) in [
        ("(tag:a) boats", "tag:a boats"),
        ("boats (path:Work tag:a)", "boats path:Work tag:a"),
        ("((-tag:a)) boats", "-tag:a boats"),
        ("boats (-sails)", "boats -sails"),
        ("boats (\"dry dock\")", "boats \"dry dock\""),
        ("boats (prop.status:done)", "boats prop.status:done"),
        ("tag:(a b) boats", "tag:a tag:b boats"),
        ("path:(Work) tag:(-a)", "path:Work -tag:a"),
    ] {
        assert_eq!(parse(query, TODAY), parse(as_if, TODAY), "{query}");
    }
    for text in ["boats (at sea) tag:a", "boats (-5 degrees)", "boats (note: wet)"] {
        assert_eq!(parse(text, TODAY).unwrap().required, None, "{text}");
        assert!(parse(text, TODAY).unwrap().words.contains('('), "{text}");
    }
}

#[test]
fn operators_without_operands_are_left_out_and_said() {
    for (query, required) in
        [("AND apples", ""), ("apples OR", ""), ("apples AND AND pears", "apples AND pears"), ("x1 NOT", "")]
    {
        let (words, got, warnings) = read(query);
        assert_eq!((got.as_str(), warnings), (required, 1), "{query}");
        assert!(!words.contains("AND") && !words.contains("OR") && !words.contains("NOT"), "{query}: {words}");
    }
}

#[test]
fn a_flood_is_refused_or_read() {
    let within = vec!["x"; MAX_TERMS].join(" OR ");
    assert!(parse(&within, TODAY).is_ok());
    assert_eq!(parse(&format!("{within} OR x"), TODAY), Err(TooMuch::Terms { given: MAX_TERMS + 1 }));
    let deep = format!("{}a1 OR b1{}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(read(&deep).1, "a1 OR b1");
    for flood in ["( OR ", "tag:(", "tag:( ", "NOT ", "-(", ") AND ", "(( x"] {
        assert!(parse(&flood.repeat(10_000), TODAY).is_ok(), "{flood}");
    }
}

proptest! {
    #[test]
    fn any_mix_of_operators_parses(parts in proptest::collection::vec(prop_oneof![
        Just("AND"), Just("OR"), Just("NOT"), Just("("), Just(")"), Just(" "), Just("-"), Just("\""), Just("x"),
        Just("tag:a"), Just("[b"), Just("]"), Just("日")], 0..24)) {
        let query = parts.join(" ");
        parse(&query, TODAY).unwrap();
        parse(&parts.concat(), TODAY).unwrap();
    }

    #[test]
    fn what_is_required_reads_the_same_again(words in proptest::collection::vec("[a-z]{1,6}", 2..6), ors in any::<u8>()) {
        let mut query = words[0].clone();
        for (at, word) in words[1..].iter().enumerate() {
            query.push_str(if ors >> at & 1 == 1 { " OR " } else { " AND " });
            query.push_str(word);
        }
        let (free, required, warnings) = read(&query);
        prop_assert_eq!(free, words.join(" "));
        prop_assert_eq!(warnings, 0);
        prop_assert_eq!(read(&required).1, required);
    }
}
