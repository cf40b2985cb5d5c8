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
    for (name, day, whole) in [
        ("2026-11-20", true, true),
        ("2026_11_20", true, true),
        ("20261120", true, true),
        ("2026.11.20", true, true),
        ("daily.journal.2026.11.20", true, false),
        ("2026-11-20 Standup", true, false),
        ("Standup 2026-11-20", true, false),
        ("202611201230 Idea", true, false),
        ("202611201230", true, false),
        ("v2026-11-20a", true, false),
        ("2026-1-2", false, false),
        ("12026-11-20", false, false),
        ("2026-11-201", false, false),
        ("2026-13-20", false, false),
        ("12345678", false, false),
        ("", false, false),
        ("Plan", false, false),
    ] {
        assert_eq!(in_name(name), day.then(|| date(2026, 11, 20)), "{name}");
        assert_eq!(is_name(name), whole, "{name}");
    }
}
