use std::fmt::Write;

use super::*;
use serde_json::json;

fn read_all(text: &str) -> (Cut, Vec<Warning>) {
    let mut warnings = Vec::new();
    (read(text, 0, &mut warnings), warnings)
}

fn front(yaml: &str) -> FrontMatter {
    read_all(&format!("---\n{yaml}\n---\nbody\n")).0.front
}

#[test]
fn fences_stand_at_the_start_only() {
    for (text, body) in [
        ("---\na: 1\n---\nx", Some("x")),
        ("---\na: 1\n...\nx", Some("x")),
        ("---  \r\na: 1\r\n---\r\nx", Some("x")),
        ("---\n---\nx", Some("x")),
        ("---\na: 1\n---", Some("")),
        ("---\n# only a comment\n---\nx", Some("x")),
        ("\n---\na: 1\n---\nx", None),
        ("---\na: 1\nx", None),
        ("----\na: 1\n---\nx", None),
        ("---", None),
        ("", None),
        ("---\nSome words between two rules.\n---\nx", None),
        ("---\n\nSome words\n- [ between: two\n\n---\nx", None),
    ] {
        assert_eq!(text.get(read_all(text).0.body..), body.or(Some(text)), "{text:?}");
    }
    let (cut, warnings) = read_all("---\na: 1\n---\nx\n---\ny");
    assert_eq!((cut.body, cut.yaml, warnings), (13, 4..9, vec![]));
}

#[test]
fn toml_and_json_are_front_matter_too() {
    for text in [
        "+++\ntitle = \"A plan\"\ndate = 2026-11-20T10:00:00+01:00\ntags = [\"work\", \"home plan\"]\n\n[[menu.main]]\nweight = 1.5\n+++\nx",
        "+++\r\ntitle = 'A plan'\r\ndate = 2026-11-20\r\n[taxonomies]\r\ntags = [\"work\", \"home plan\"]\r\n+++\r\nx",
        "{\n  \"title\": \"A plan\",\n  \"date\": \"2026-11-20\",\n  \"tags\": [\"work\", \"home plan\"]\n}\nx",
        "{\"title\": \"A plan\", \"date\": \"2026-11-20\", \"tags\": [\"work\", \"home plan\"]}\r\nx",
    ] {
        let (cut, warnings) = read_all(text);
        assert_eq!((&text[cut.body..], cut.reading, warnings), ("x", Reading::Foreign, vec![]), "{text}");
        assert_eq!(cut.front.title.as_deref(), Some("A plan"), "{text}");
        assert_eq!(cut.front.tags, ["work", "home plan"], "{text}");
        let day = own_days(None, &cut.front.properties).about;
        assert_eq!(day, Some(jiff::civil::date(2026, 11, 20)), "{text}");
    }
    let odd = read_all("+++\na = inf\nb = -0.5\nc = 07:32:00\nd = {e = [1, true]}\n+++\n").0.front.properties;
    assert_eq!(Value::Object(odd), json!({"a": "inf", "b": -0.5, "c": "07:32:00", "d": {"e": [1, true]}}));
}

#[test]
fn what_only_looks_like_toml_or_json_is_text() {
    let long = format!("+++\ntitle = 'x'\n{}+++\nx", "# words\n".repeat(9000));
    for text in [
        "+++\ntitle = x\n+++\nx",
        "+++\ntitle = 'x'\ntitle = 'y'\n+++\nx",
        "+++\ntitle = 'x'\nx",
        "++++\ntitle = 'x'\n++++\nx",
        "{\"title\": \"x\", \"title\": \"y\"}\nx",
        "{\"title\": \"x\"}",
        "{\"title\": \"x\"}\n\n",
        "{\"title\": \"x\"} is a piece of JSON.\nx",
        "{\"title\": \"x\"\nx",
        "{\"date\": \"2026-11-20\", \"level\": \"warn\"}\n{\"date\": \"2026-11-21\", \"level\": \"warn\"}\n",
        "{\"answer\": 42}\nx",
        "{}\nx",
        "[\"title\"]\nx",
        long.as_str(),
    ] {
        let (cut, _) = read_all(text);
        assert_eq!((cut.body, cut.front), (0, FrontMatter::default()), "{text:.80}");
    }
}

#[test]
fn too_long_front_matter_is_text() {
    let long = format!("---\ntitle: T\n{}---\nbody", "key: value\n".repeat(7000));
    let (cut, warnings) = read_all(&long);
    assert_eq!((cut.body, warnings.len()), (0, 1));
    let rules = format!("---\n{}---\nbody", "Some prose.\n".repeat(7000));
    assert_eq!(read_all(&rules).1, vec![], "two rules far apart are nothing odd");
}

#[test]
fn typed_fields() {
    let front = front(
        "title: \"A  title\"\naliases: [One, 'Two, too']\ntags:\n  - work/plan\n  - \"#Home\"\n  - [deep, er]\n  - home\n\
             pageType: Project\nsummary: >\n  Two\n  lines\ncreated: 2026-11-20T10:00:00+01:00\nupdated: 1795132800000\nrating: 4.5\n",
    );
    assert_eq!(front.title.as_deref(), Some("A title"));
    assert_eq!(front.aliases, ["One", "Two, too"]);
    assert_eq!(front.tags, ["work/plan", "Home", "deep", "er"]);
    assert_eq!(front.kind.as_deref(), Some("project"));
    assert_eq!(front.description.as_deref(), Some("Two lines"));
    let day = Some(jiff::civil::date(2026, 11, 20));
    assert_eq!(own_days(None, &front.properties), OwnDays { about: None, created: day, modified: day });
    assert_eq!(front.properties["rating"], json!(4.5));
    assert_eq!(front.property("Page-Type"), Some(&json!("Project")));
}

#[test]
fn names_of_properties_are_matched_loosely() {
    for yaml in [
        "Created: 2026-11-20",
        "created_at: 2026-11-20",
        "date created: 2026-11-20",
        "Date: 2026-11-20",
        "created:\ndate: 2026-11-20",
    ] {
        assert_eq!(own_days(None, &front(yaml).properties).day(), Some(jiff::civil::date(2026, 11, 20)), "{yaml}");
    }
    for name in ["Created time", "created_date", "pubDate", "pubDatetime", "publishDate", "ctime"] {
        let days = own_days(None, &front(&format!("{name}: 2026-11-20")).properties);
        assert_eq!(days.created, Some(jiff::civil::date(2026, 11, 20)), "{name}");
    }
    for name in ["Last edited time", "updatedDate", "mtime"] {
        let days = own_days(None, &front(&format!("{name}: 2026-11-20")).properties);
        assert_eq!(days.modified, Some(jiff::civil::date(2026, 11, 20)), "{name}");
    }
    let modified = own_days(None, &front("lastmod: 2026-11-20").properties).modified;
    assert_eq!(modified, Some(jiff::civil::date(2026, 11, 20)));
}

#[test]
fn the_day_a_note_is_about_is_not_that_on_which_it_was_made() {
    let days = |named: Option<i8>, yaml: &str| {
        let named = named.map(|day| Named { date: jiff::civil::date(2026, 11, day), kind: None });
        let OwnDays { about, created, modified } = own_days(named, &front(yaml).properties);
        [about, created, modified].map(|day| day.map(|day| day.day()))
    };
    let made = "created: 2026-11-20\nmodified: 2026-11-21";
    assert_eq!(days(None, made), [None, Some(20), Some(21)]);
    assert_eq!(days(Some(19), made), [Some(19), Some(20), Some(21)]);
    assert_eq!(days(Some(19), "date: 2026-11-18"), [Some(18), None, None]);
}

#[test]
fn tags_in_all_their_forms() {
    let ab: &[&str] = &["a", "b"];
    for (yaml, tags) in [
        ("tags: a, b", ab),
        ("tags: a b", ab),
        ("tags: '#a #b'", ab),
        ("tags: #a #b", ab),
        ("tags: [#a, #b]", ab),
        ("tags: [a, b, A]", ab),
        ("tags:\n- a\n- b", ab),
        ("tags:\n  - #a\n  - #b", ab),
        ("tags: a\ntag: b", ab),
        ("Tags: [a,b]", ab),
        ("tags:", &[]),
        ("tags: {a: b}", &[]),
        ("tags: [machine learning, 2026]", &["machine learning", "2026"]),
        ("tags: a/b/", &["a/b"]),
        ("tags: 007", &["007"]),
    ] {
        assert_eq!(front(yaml).tags, tags, "{yaml}");
    }
}

#[test]
fn what_is_no_yaml_is_read_line_by_line() {
    for (yaml, key, value) in [
        ("title: Foo: bar", "title", json!("Foo: bar")),
        ("title: {{title}}", "title", json!("{{title}}")),
        ("date: {{date:YYYY-MM-DD}}\nn: 5", "n", json!(5)),
        ("a: [x, 'y, z', [[L, M]]]\nb: c: d", "a", json!(["x", "y, z", "[[L, M]]"])),
        ("a:\n\t- x\n\t- y\nb: c: d", "a", json!(["x", "y"])),
        ("a: |\n  one\n  two\nb: c: d", "a", json!("one\ntwo")),
        ("a: one\n  two\nb: c: d", "a", json!("one two")),
        ("a: \"it's \\\"so\\\"\"\nb: c: d", "a", json!("it's \"so\"")),
        ("a: true # yes\nb: c: d", "a", json!(true)),
        ("a: 012\nb: c: d", "a", json!("012")),
        ("a: -1.5\nb: c: d", "a", json!(-1.5)),
        ("a:\nb: c: d", "a", json!(null)),
        ("a: @x", "a", json!("@x")),
        ("a: *none", "a", json!("*none")),
        ("a: [[A]], [[B]]", "a", json!("[[A]], [[B]]")),
        ("a: https://x.y/z\nb: c: d", "a", json!("https://x.y/z")),
        ("title: 'Don't'", "title", json!("Don't")),
    ] {
        let (cut, warnings) = read_all(&format!("---\n{yaml}\n---\n"));
        assert_eq!(cut.front.properties.get(key), Some(&value), "{yaml}");
        assert_eq!(warnings.len(), 1, "{yaml}");
    }
    for (text, line) in [
        ("---\na: 1\ntitle: Foo: bar\n---\n", 3),
        ("---\na: 1\r\ntitle: Foo: bar\r\n---\r\n", 3),
        // YAML counts more lines than the note has.
        ("---\na: ü\r\r\r\ntitle: Foo: bar\n---\n", 3),
        ("---\na: 1\r\r\r\rtitle: Foo: bar\n---\n", 2),
    ] {
        assert_eq!(read_all(text).1[0].line, line, "{text:?}");
    }
}

#[test]
fn liberties_of_the_strict_reader() {
    for (yaml, key, value) in [
        ("a: 1\na: 2", "a", json!(2)),
        ("up: [[Note]]", "up", json!("[[Note]]")),
        ("up:\n  - [[A]]\n  - [[B|b]]", "up", json!(["[[A]]", "[[B|b]]"])),
        ("id: 007", "id", json!("007")),
        ("aliases: [1.10, 007, x]", "aliases", json!(["1.10", "007", "x"])),
        ("aliases:\n- 0042\n- 1.20", "aliases", json!(["0042", "1.20"])),
        ("tags: [3.10]", "tags", json!(["3.10"])),
        ("title: 0x1F", "title", json!("0x1F")),
        ("title: +123", "title", json!("+123")),
        ("title: 1.10", "title", json!("1.10")),
        ("title: 1984", "title", json!(1984)),
        ("versions: [007]", "versions", json!(["007"])),
        ("price: 1.50", "price", json!(1.5)),
        ("a: yes", "a", json!("yes")),
        ("a: 2026-11-20", "a", json!("2026-11-20")),
        ("a: &x [1]\nb: *x", "b", json!([1])),
        ("a: .nan", "a", json!(".nan")),
        ("a: {b: {c: d}}", "a", json!({"b": {"c": "d"}})),
    ] {
        let (cut, warnings) = read_all(&format!("---\n{yaml}\n---\n"));
        assert_eq!(cut.front.properties.get(key), Some(&value), "{yaml}");
        assert_eq!(warnings, vec![], "{yaml}");
    }
}

#[test]
fn bombs_go_off_harmlessly() {
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for i in 1..30 {
        let refs = vec![format!("*a{}", i - 1); 9].join(", ");
        let _ = writeln!(bomb, "a{i}: &a{i} [{refs}]");
    }
    let (cut, warnings) = read_all(&format!("---\n{bomb}---\nbody"));
    assert_eq!((cut.front.properties.len(), warnings.len()), (30, 1), "read line by line");
    let deep = format!("---\na: {}\n---\n", "[".repeat(30_000));
    assert_eq!(read_all(&deep).1.len(), 1);
    let mut many = String::new();
    for i in 0..6000 {
        let _ = writeln!(many, "k{i}: 1");
    }
    assert_eq!(read_all(&format!("---\n{many}---\n")).0.front.properties.len(), 6000);
}
