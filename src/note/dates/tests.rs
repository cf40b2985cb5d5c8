use super::*;
use jiff::civil::date;
use serde_json::json;

#[test]
fn many_forms_name_the_same_day() {
    let forms = [
        "2026-11-20",
        "2026/11/20",
        "2026.11.20",
        "2026_11_20",
        "20261120",
        "2026-11-20T23:59:00-11:00",
        "2026-11-20 09:15",
        "2026-11-20T09:15:00Z",
        "[[2026-11-20]]",
        " 2026-11-20 ",
        "20.11.2026",
        "20/11/2026",
        "11/20/2026",
        "20 November 2026",
        "Nov 20, 2026",
        "November 20th, 2026",
        "Fri, 20 Nov 2026 10:00:00 +0000",
        "2026年11月20日",
        "202611201230",
        "20261120123059",
        "1795132800",
        "1795132800000",
        "Friday, 20 nov 2026",
    ];
    for form in forms {
        assert_eq!(from_text(form), Some(date(2026, 11, 20)), "{form}");
        assert_eq!(from_text(&format!("[{form}]")), Some(date(2026, 11, 20)), "{form}");
    }
}

#[test]
fn what_is_no_day_is_none() {
    let long = "2026-11-20 ".repeat(20);
    for form in [
        "",
        "tomorrow",
        "2026",
        "2026-11",
        "2026-13-01",
        "2026-02-30",
        "{{date}}",
        "05/06/2026",
        "-1",
        "99999999",
        "12345",
        &long,
    ] {
        assert_eq!(from_text(form), None, "{form}");
    }
}

#[test]
fn a_link_names_the_day_of_its_note() {
    for link in [
        "[[2026-11-20]]",
        "[[2026-11-20|20 March]]",
        "[[Journal/2024/2026-11-20|24 December]]",
        "[[Daily Notes/2026-11-20]]",
        "[[2024/03-March/2026-11-20-Friday|2024-03-14]]",
        "[[Meetings/2026-11-20 with Tom#2024-03-14|14 March]]",
        "[[Journal/2024/Friday|20 November 2026]]",
        "[2024-03-14](Journal/2024/20261120.md)",
        "[20.11.2026](Journal/today.md)",
        "[[file:daily/2026-11-20.org][14 March 2024]]",
        "[[[2026-11-20]]]",
    ] {
        assert_eq!(from_text(link), Some(date(2026, 11, 20)), "{link}");
    }
    assert_eq!(from_text("[[Journal/2024/Christmas|24 December]]"), None, "no day is made of parts of a path");
    let long = format!("[[{}/2026-11-20]]", "a folder/".repeat(20));
    assert_eq!(from_text(&long), Some(date(2026, 11, 20)));
}

#[test]
fn a_text_is_a_day_in_figures() {
    for text in [
        "2026年11月20日",
        "2026/11/20",
        "Friday, 2026/11/20",
        "Fri, 11/20/2026",
        "Freitag, 20-11-2026",
        "vendredi 20.11.2026",
        "11_20_2026",
    ] {
        assert_eq!(in_figures(text), Some(date(2026, 11, 20)), "{text}");
    }
    for text in [
        "Friday",
        "Friday, 2026-11-20 at noon",
        "boats, 2026-11-20",
        ", 2026-11-20",
        "2026-11-20日",
        "05/06/2026",
        "05_06_2026",
    ] {
        assert_eq!(in_figures(text), None, "{text}");
    }
}

#[test]
fn numbers_are_read_by_their_digits() {
    for (value, day) in [
        (json!(1_795_132_800_000_i64), Some(date(2026, 11, 20))),
        (json!(1_795_132_800_i64), Some(date(2026, 11, 20))),
        (json!(20_261_120), Some(date(2026, 11, 20))),
        (json!(1_795_132_800_000.0), Some(date(2026, 11, 20))),
        (json!(["2026-11-20"]), Some(date(2026, 11, 20))),
        (json!(-5), None),
        (json!(true), None),
        (json!(null), None),
        (json!({"a": 1}), None),
        (json!([[[]]]), None),
    ] {
        assert_eq!(from_value(&value), day, "{value}");
    }
}

#[test]
fn file_names() {
    let daily = Some("daily");
    for (name, day, kind) in [
        ("2026-11-20", true, daily),
        ("2026_11_20", true, daily),
        ("20261120", true, daily),
        ("2026.11.20", true, daily),
        ("20.11.2026", true, daily),
        ("20-11-2026", true, daily),
        ("2026-11-20 Friday", true, daily),
        ("Fri 2026-11-20", true, daily),
        ("November 20, 2026", true, daily),
        ("Nov 20th, 2026", true, daily),
        ("Freitag, 20. November 2026", true, daily),
        ("2026 November 20", true, daily),
        ("20 ноября 2026", true, daily),
        ("2026年11月20日", true, daily),
        ("2026年11月20日 会議", true, None),
        ("11_20_2026", true, daily),
        ("daily.journal.2026.11.20", true, None),
        ("2026-11-20 Standup", true, None),
        ("Standup 2026-11-20", true, None),
        ("Standup 20.11.2026", true, None),
        ("Standup November 20, 2026", true, None),
        ("202611201230 Idea", true, None),
        ("202611201230", true, None),
        ("v2026-11-20a", true, None),
        ("v20.11.2026", false, None),
        ("11-12-2026", false, None),
        ("2026-1-2", false, None),
        ("12026-11-20", false, None),
        ("2026-11-201", false, None),
        ("2026-13-20", false, None),
        ("12345678", false, None),
        ("20 of them, november, in 2026", false, None),
        ("", false, None),
        ("Plan", false, None),
    ] {
        let named = in_name(name);
        assert_eq!(named.map(|named| named.date), day.then(|| date(2026, 11, 20)), "{name}");
        assert_eq!(named.and_then(|named| named.kind), kind, "{name}");
    }
}

#[test]
fn names_of_weeks_months_and_quarters() {
    for (name, day, kind) in [
        ("2026-W47", date(2026, 11, 16), "weekly"),
        ("2026W47", date(2026, 11, 16), "weekly"),
        ("2026-w01", date(2025, 12, 29), "weekly"),
        ("2026-11", date(2026, 11, 1), "monthly"),
        ("2026_11", date(2026, 11, 1), "monthly"),
        ("2026-Q4", date(2026, 10, 1), "quarterly"),
    ] {
        assert_eq!(in_name(name), Some(Named { date: day, kind: Some(kind) }), "{name}");
    }
    for name in ["2026", "2026-W54", "2026-Q5", "2026-13", "202611", "2026-W47 plan", "2026-11 plan", "2026-1"] {
        assert_eq!(in_name(name), None, "{name}");
    }
}
