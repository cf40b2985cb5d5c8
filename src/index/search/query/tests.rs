use super::*;
use jiff::civil::date;
use proptest::prelude::*;

use super::super::filter::Key;
use super::super::limits::{MAX_PATTERNS, MAX_PHRASE_WORDS, MAX_TERMS, MAX_VALUE_BYTES};

const TODAY: Date = date(2026, 11, 20);

/// A query within the limits.
fn parse(query: &str, today: Date) -> Parsed {
    super::parse(query, today).unwrap()
}

fn filter(with: &[(Key, &str)], without: &[(Key, &str)]) -> Filter {
    let mut filter = Filter::default();
    with.iter().for_each(|(key, value)| filter.add(*key, value, TODAY).unwrap());
    without.iter().for_each(|(key, value)| filter.add_not(*key, value).unwrap());
    filter
}

#[test]
fn words_phrases_and_exclusions() {
    let cases: [(&str, &str, &[&str], &[&str]); 29] = [
        ("", "", &[], &[]),
        ("  two   words ", "two words", &[], &[]),
        ("\"a phrase\"", "", &["a phrase"], &[]),
        ("\" a \n  phrase \"x", "x", &["a phrase"], &[]),
        ("“a phrase” „noch eine“", "", &["a phrase", "noch eine"], &[]),
        ("-gone stays", "stays", &[], &["gone"]),
        ("-\"not this\" but this", "but this", &[], &["not this"]),
        ("--no-verify", "--no-verify", &[], &[]),
        ("+Word here", "here", &["Word"], &[]),
        ("+\"two words\" +", "", &["two words"], &[]),
        ("a+b -+c", "a+b", &[], &["+c"]),
        ("+404 +3D +.NET +#tag", "", &["404", "3D", ".NET", "#tag"], &[]),
        ("+46 70 555 01 23", "+46 70 555 01 23", &[], &[]),
        ("+1 (555) 123-4567", "+1 (555) 123-4567", &[], &[]),
        ("- a - b -", "a - b", &[], &[]),
        ("- a - \"p\" -", "a", &["p"], &[]),
        ("e-mail", "e-mail", &[], &[]),
        ("\"\" -\"\" ... ?!", "", &[], &[]),
        ("foo:bar https://x.org/y", "foo:bar https://x.org/y", &[], &[]),
        ("-foo:bar", "", &[], &["foo:bar"]),
        ("foo:\"bar baz\"", "foo:\"bar baz\"", &[], &[]),
        ("6\" nails", "6\" nails", &[], &[]),
        ("日本語 -中文", "日本語", &[], &["中文"]),
        ("🎉", "", &[], &[]),
        ("party 🎉", "party 🎉", &[], &[]),
        ("a\u{3000}b", "a b", &[], &[]),
        (":x x:", ":x x:", &[], &[]),
        ("12:30 C:\\x", "12:30 C:\\x", &[], &[]),
        ("\"one\"\"two\"-three", "", &["one", "two"], &["three"]),
    ];
    for (query, words, phrases, without) in cases {
        let parsed = parse(query, TODAY);
        let got = (parsed.words.as_str(), parsed.phrases.as_slice(), parsed.without.as_slice());
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert_eq!(got, (words, owned(phrases).as_slice(), owned(without).as_slice()), "{query}");
        assert_eq!((parsed.warnings.len(), parsed.filter.is_empty()), (0, true), "{query}");
    }
}

#[test]
fn what_a_pasted_text_has_is_words_where_that_is_known() {
    let as_words = AsWords { brackets: vec!["ERROR".to_owned()], exclusions: true };
    // (query, words, what must not occur, what is required)
    for (query, words, without, required) in [
        ("[ERROR] refused", "[ERROR] refused", 0, ""),
        ("rsync -avz --rm -\"not this\" -tag:a", "rsync avz --rm", 1, ""),
        ("x IS NOT NULL", "x IS NOT NULL", 0, ""),
        ("NOT NULL", "NOT NULL", 0, ""),
        ("a1 NOT tag:b", "a1", 0, "NOT tag:b"),
        ("git commit -m", "git commit m", 0, ""),
        ("x NOT NULL AND y OR NOT (a = b)", "x NOT NULL AND y OR NOT (a b)", 0, ""),
        ("y = -(a + b);", "y (a b);", 0, ""),
        ("a1 NOT \"b c\"", "a1", 0, "NOT \"b c\""),
    ] {
        let parsed = parse_as(query, TODAY, &as_words).unwrap();
        let asked = parsed.required.as_ref().map(Required::typed).unwrap_or_default();
        let got = (parsed.words.as_str(), parsed.without.len(), asked.as_str());
        assert_eq!(got, (words, without, required), "{query}");
    }
    let doubtful = parse("[ERROR] -[gone] x NOT NULL AND -a1 (-b1) OR [due: 5] NOT tag:c -\"d\"", TODAY).doubtful;
    let names: Vec<&str> = doubtful.brackets.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        (names, doubtful.exclusions),
        // What operators join is no text.
        (vec!["ERROR", "due"], Vec::new())
    );
    for (query, exclusions) in [
        ("x NOT NULL -a1 -b NOT \"c\" -\"d\"", &["NOT NULL", "-a1"][..]),
        // Words alone may be joined in a text.
        ("x IS NOT NULL AND y >= 18", &["NOT NULL"]),
        ("x > NOW() AND y NOT IN (SELECT z FROM t);", &["NOT IN"]),
        ("x AND NOT (y OR z) w = -(a + (b))", &["NOT (y OR z)", "-(a + (b))"]),
        ("x -() y", &[]),
        ("x AND NOT (y OR tag:z)", &[]),
        ("x NOT (\"y\" OR z)", &[]),
        ("x AND NOT y \"z\"", &[]),
        ("x AND y -z tag:a", &[]),
    ] {
        assert_eq!(parse(query, TODAY).doubtful.exclusions, exclusions, "{query}");
    }
}

#[test]
fn conditions() {
    use Key::{After, Before, Link, Modified, Path, Tag, Type};
    let cases: [(&str, &[(Key, &str)], &[(Key, &str)]); 13] = [
        ("tag:work", &[(Tag, "work")], &[]),
        ("TAG:work/x", &[(Tag, "work/x")], &[]),
        ("tag:\"two words\"", &[(Tag, "two words")], &[]),
        ("tag:“two words”", &[(Tag, "two words")], &[]),
        ("-tag:done -path:\"Old stuff\"", &[], &[(Tag, "done"), (Path, "Old stuff")]),
        ("path:**/a/*.md", &[(Path, "**/a/*.md")], &[]),
        ("type:daily after:2026-11", &[(Type, "daily"), (After, "2026-11")], &[]),
        ("link:[[Note]] before:7d", &[(Link, "Note"), (Before, "7d")], &[]),
        ("link:\"A note: about it\"", &[(Link, "A note: about it")], &[]),
        ("in:march 2025", &[(Key::On, "march 2025")], &[]),
        ("after:März  2025 before:\"june 2025\"", &[(After, "märz 2025"), (Before, "june 2025")], &[]),
        ("modified:>=march 2025", &[(Modified, ">=march 2025")], &[]),
        ("modified:>2026-01 modified:<today", &[(Modified, ">2026-01"), (Modified, "<today")], &[]),
    ];
    for (query, with, without) in cases {
        let parsed = parse(query, TODAY);
        assert_eq!(parsed.filter, filter(with, without), "{query}");
        assert!(!parsed.has_text() && parsed.warnings.is_empty(), "{query}: {parsed:?}");
    }
    let properties = [
        ("prop.status:done", ("status", "done", true)),
        ("-PROP.Due:>2026-12", ("Due", ">2026-12", false)),
        ("prop.status:\"in progress\"", ("status", "in progress", true)),
        ("[status]", ("status", "*", true)),
        ("-[status:done OR open]", ("status", "done OR open", false)),
        ("[\"due date\" : \"a ] b\"]", ("due date", "a ] b", true)),
    ];
    for (query, (name, value, holds)) in properties {
        let parsed = parse(query, TODAY);
        let mut expected = Filter::default();
        expected.add_property(query.trim_start_matches('-'), (name, value), holds, TODAY).unwrap();
        assert_eq!((parsed.filter, parsed.warnings.len(), parsed.words.as_str()), (expected, 0, ""), "{query}");
    }
    for words in [
        "[x] task",
        "[[Link]]",
        "[text](url)",
        "[",
        "[]",
        "a[0]",
        "[ ]",
        "[open",
        "prop.x",
        "[-Id] [--status]",
        "type:: project tag:: work",
        "std::path::PathBuf path::Path",
    ] {
        let parsed = parse(words, TODAY);
        assert!(parsed.filter.is_empty() && parsed.warnings.is_empty(), "{words}: {parsed:?}");
    }
    // A number that is no year stays a word, and so does a year behind what is no month.
    for (query, words) in
        [("in:march 20", "20"), ("in:march 20255", "20255"), ("in:2025 2024", "2024"), ("in:may lunch", "lunch")]
    {
        assert_eq!(parse(query, TODAY).words, words, "{query}");
    }
    for query in ["(in:march 2025 OR in:may 2024) AND lunch", "in:(march 2025 OR may 2024) AND lunch"] {
        let joined = parse(query, TODAY).required.map(|required| required.typed());
        assert_eq!(joined.as_deref(), Some("(in:march 2025 OR in:may 2024) AND lunch"), "{query}");
    }
    // Days as questions name them.
    for (typed, plain) in [
        ("last:7d", "on:7d"),
        ("in:Q3", "after:2026-07 before:2026-10"),
        ("in:2025-Q3 in:\"q3 2025\"", "after:2025-07 before:2025-10"),
        ("on:\"March 3, 2025\" on:3-march-2025", "on:2025-03-03"),
        ("on:\"3 days ago\"", "on:2026-11-17"),
        ("in:2025-03..2025-05", "after:2025-03 before:2025-06"),
    ] {
        let (typed, plain) = (parse(typed, TODAY), parse(plain, TODAY));
        assert_eq!((typed.filter, typed.warnings), (plain.filter, plain.warnings));
    }
    let mixed = parse("plan tag:\"a b\"next \"x y\" type:daily", TODAY);
    assert_eq!((mixed.words.as_str(), mixed.text().as_str()), ("plan next", "plan next x y"));
    assert_eq!(mixed.filter, filter(&[(Tag, "a b"), (Type, "daily")], &[]));
}

#[test]
fn regular_expressions_stand_between_slashes() {
    // (query, words, regular expressions with whether they are to match)
    let cases: [(&str, &str, &[(bool, &str)]); 13] = [
        ("/a.b/", "", &[(true, "/a.b/")]),
        ("plan /two words/ -/b+/", "plan", &[(true, "/two words/"), (false, "/b+/")]),
        (r"/a\/b\\/ x", "x", &[(true, r"/a\/b\\/")]),
        ("/etc/hosts", "/etc/hosts", &[]),
        ("/usr/local/", "/usr/local/", &[]),
        ("and/or", "and/or", &[]),
        ("/ x /", "x", &[]),
        ("a / b / c", "a b c", &[]),
        ("// comment", "comment", &[]),
        ("/open", "/open", &[]),
        ("\"/a/\"", "", &[]),
        ("/tag:x \"y/ z", "z", &[(true, "/tag:x \"y/")]),
        ("--/a/", "--/a/", &[]),
    ];
    for (query, words, patterns) in cases {
        let parsed = parse(query, TODAY);
        let got: Vec<_> = parsed.patterns.iter().map(|(holds, pattern)| (*holds, pattern.typed())).collect();
        let expected: Vec<_> = patterns.iter().map(|(holds, typed)| (*holds, (*typed).to_owned())).collect();
        assert_eq!((parsed.words.as_str(), got, parsed.warnings.len()), (words, expected, 0), "{query}");
    }
    assert_eq!(parse("(/a (b|c) d/ OR x)", TODAY).required.unwrap().typed(), "/a (b|c) d/ OR x");
    let slash = parse(r"/a\/b/", TODAY);
    assert_eq!(slash.patterns[0].1.pattern().ranges("xx a/b", 9).first(), Some(&(3..6)));
}

#[test]
fn what_is_malformed_becomes_words_and_a_warning() {
    let cases = [
        ("\"open end", "open end"),
        ("tag: x", "tag: x"),
        ("tag:\"\"", "tag:\"\""),
        ("after:tomorow", "after:tomorow"),
        ("modified:>", "modified:>"),
        ("-before:2026", "before:2026"),
        ("prop.:x", "prop.:x"),
        ("prop.due:>soon", "prop.due:>soon"),
        ("[due:]", "[due:]"),
        ("/a(b/", "a(b"),
        ("-/[z/ x", "[z x"),
    ];
    for (query, words) in cases {
        let parsed = parse(query, TODAY);
        assert_eq!((parsed.words.as_str(), parsed.warnings.len()), (words, 1), "{query}: {:?}", parsed.warnings);
        assert!(parsed.filter.is_empty(), "{query}");
    }
    let open = parse("tag:\"open end", TODAY);
    assert_eq!((open.words.as_str(), open.warnings.len()), ("end", 1));
    assert_eq!(open.filter, filter(&[(Key::Tag, "open")], &[]));
}

#[test]
fn a_flood_is_refused() {
    for operator in ["-xy ", "tag:y ", "\"z\" ", "-\"z\" ", "after:never ", "prop.a:1 ", "[a:1] ", "-[a:1] ", "link:x "]
    {
        let within = parse(&operator.repeat(MAX_TERMS), TODAY);
        assert!(within.warnings.len() <= MAX_WARNINGS, "{operator}");
        let over = super::parse(&operator.repeat(MAX_TERMS + 1), TODAY);
        assert_eq!(over, Err(TooMuch::Terms { given: MAX_TERMS + 1 }), "{operator}");
    }
    let values = format!("prop.a:\"x{}\"", " OR x".repeat(MAX_TERMS));
    assert_eq!(super::parse(&values, TODAY), Err(TooMuch::Terms { given: MAX_TERMS + 1 }));
    let words = "word ".repeat(MAX_PHRASE_WORDS);
    for text in [format!("\"{words}more\""), format!("-\"{words}more\""), format!("\"{words}\" \"more\"")] {
        assert_eq!(super::parse(&text, TODAY), Err(TooMuch::PhraseWords { given: MAX_PHRASE_WORDS + 1 }));
    }
    assert_eq!(parse(&format!("\"{words}\""), TODAY).phrases.len(), 1);
    let patterns = super::parse(&"/x/ ".repeat(MAX_PATTERNS + 1), TODAY);
    assert_eq!(patterns, Err(TooMuch::Patterns { given: MAX_PATTERNS + 1 }));
    let value = "y".repeat(MAX_VALUE_BYTES + 1);
    for field in ["tag", "path", "link", "prop.a", "modified"] {
        let given = MAX_VALUE_BYTES + 1;
        assert_eq!(super::parse(&format!("{field}:{value}"), TODAY), Err(TooMuch::ValueBytes { given }));
    }
    assert_eq!(super::parse(&"x".repeat(MAX_BYTES + 1), TODAY), Err(TooMuch::Bytes { given: MAX_BYTES + 1 }));
}

#[test]
fn a_flood_of_openings_is_linear() {
    let quotes = parse(&"„x ".repeat(13_000), TODAY);
    assert_eq!((quotes.words.len(), quotes.warnings.len()), (25_999, 1));
    assert!(parse(&"[x ".repeat(20_000), TODAY).filter.is_empty());
    // Ten times the length would take a hundred times as long if each word were compared with all that follow.
    let took = |words: usize| {
        let query = "ab:„ ".repeat(words);
        let runs = (0..5).map(|_| {
            let began = std::time::Instant::now();
            parse(&query, TODAY);
            began.elapsed()
        });
        runs.min().unwrap()
    };
    let (short, long) = (took(900), took(9_000));
    assert!(long < 40 * short, "{short:?} for 900 words, {long:?} for 9,000");
}

proptest! {
    #[test]
    fn any_string_parses(query in any::<String>()) {
        parse(&query, TODAY);
    }

    #[test]
    fn any_mix_of_the_languages_parts_parses(parts in proptest::collection::vec(
        prop_oneof![Just("\""), Just("-"), Just(":"), Just(" "), Just("tag:"), Just("after:"), Just("modified:>"),
            Just("path:"), Just("*"), Just("“"), Just("”"), Just("é"), Just("7d"), Just("2026-11"), Just("x"), Just("["), Just("]"), Just("prop.a:")], 0..24)) {
        let query = parts.concat();
        let parsed = parse(&query, TODAY);
        prop_assert!(parsed.phrases.iter().chain(&parsed.without).all(|text| !is_noise(text)));
        prop_assert_eq!(parsed.has_text(), !parsed.text().is_empty());
    }

    #[test]
    fn plain_words_stay_as_typed(words in proptest::collection::vec("[a-zäß日0-9]{1,8}", 0..6)) {
        let parsed = parse(&words.join("  "), TODAY);
        prop_assert_eq!(parsed.words, words.join(" "));
        prop_assert!(parsed.warnings.is_empty());
    }
}

#[test]
fn a_condition_that_is_none_is_quoted_as_it_was_typed() {
    for query in ["-on:today", "-tag:", "after:xx", "-[due:>]"] {
        let warning = &parse(query, TODAY).warnings[0];
        assert!(warning.starts_with(&format!("`{query}` is searched for as words: ")), "{warning}");
    }
}

#[test]
fn a_field_may_be_asked_for_as_a_note_writes_it() {
    let asked = |query: &str| parse(query, TODAY).filter;
    let properties = |query: &str| asked(query).parts().len();
    for query in ["[rating:: 8]", "prop.rating::8", "[rating::8]"] {
        let parsed = parse(query, TODAY);
        assert_eq!((parsed.words.as_str(), properties(query), parsed.warnings.len()), ("", 1, 0), "{query}");
    }
}

#[test]
fn a_dash_between_times_is_read_with_them() {
    for query in ["2025-03-01 - 2025-03-10", "March - May 2025", "3 - 10 March 2025 plans", "1 March - 15 April 2025"] {
        let asked = |query: &str| crate::search::asked(&parse(query, TODAY).words, TODAY).unwrap();
        assert_eq!(asked(query).when, asked(&query.replace(" - ", " – ")).when, "{query}");
        assert!(asked(query).words.contains(" - "), "{query}");
    }
}

#[test]
fn signs_alone_must_occur_as_they_are() {
    for query in ["📅", "€", "→ €", "tag:x 📅"] {
        let parsed = parse(query, TODAY);
        assert_eq!(
            (parsed.words.as_str(), parsed.patterns.len()),
            ("", query.matches(['📅', '€', '→']).count()),
            "{query}"
        );
    }
    assert_eq!(parse("5 €", TODAY).words, "5 €");
    assert_eq!(
        ["->", "+->", "\"=>\"", "(((", "*"].map(|query| parse(query, TODAY).signs),
        [true, true, true, false, false]
    );
}

#[test]
fn a_day_that_is_missing_is_said_unless_prose_follows() {
    for (query, said) in [
        ("budget on:", true),
        ("after: 2026-03 Anna", true),
        ("created: today", true),
        ("last:", true),
        ("we should focus on: the budget", false),
        ("Created: October 1, 2026", false),
    ] {
        let warnings = parse(query, TODAY).warnings;
        assert_eq!(
            warnings.iter().any(|warning| warning.ends_with("a value is missing")),
            said,
            "{query}: {warnings:?}"
        );
        assert_eq!(warnings.len(), usize::from(said), "{query}: {warnings:?}");
    }
}
