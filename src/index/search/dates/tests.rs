use super::*;
use proptest::prelude::*;

const TODAY: Date = date(2026, 11, 20);
const TOMORROW: Date = date(2026, 11, 21);

#[test]
fn table() {
    let cases = [
        ("2025", date(2025, 1, 1), date(2026, 1, 1)),
        ("2025-02", date(2025, 2, 1), date(2025, 3, 1)),
        ("2025-2", date(2025, 2, 1), date(2025, 3, 1)),
        ("2024-02-29", date(2024, 2, 29), date(2024, 3, 1)),
        ("2026", date(2026, 1, 1), date(2027, 1, 1)),
        ("2026-11", date(2026, 11, 1), date(2026, 12, 1)),
        ("2026-11-19", date(2026, 11, 19), TODAY),
        ("2026-12-24", date(2026, 12, 24), date(2026, 12, 25)),
        ("3.8.2026", date(2026, 8, 3), date(2026, 8, 4)),
        ("03.08.2026", date(2026, 8, 3), date(2026, 8, 4)),
        ("2026/8/3", date(2026, 8, 3), date(2026, 8, 4)),
        ("2026_08_03", date(2026, 8, 3), date(2026, 8, 4)),
        ("24/12/2025", date(2025, 12, 24), date(2025, 12, 25)),
        ("today", TODAY, TOMORROW),
        ("Yesterday", date(2026, 11, 19), TODAY),
        ("7d", date(2026, 11, 13), TOMORROW),
        ("2W", date(2026, 11, 6), TOMORROW),
        ("3m", date(2026, 8, 20), TOMORROW),
        ("1y", date(2025, 11, 20), TOMORROW),
        ("9999", date(9999, 1, 1), date(9999, 12, 31)),
        ("march", date(2026, 3, 1), date(2026, 4, 1)),
        ("Dezember", date(2025, 12, 1), date(2026, 1, 1)),
        ("november", date(2026, 11, 1), date(2026, 12, 1)),
        ("last november", date(2025, 11, 1), date(2025, 12, 1)),
        ("mars-2024", date(2024, 3, 1), date(2024, 4, 1)),
        ("2024 march", date(2024, 3, 1), date(2024, 4, 1)),
        ("last-march", date(2026, 3, 1), date(2026, 4, 1)),
        ("friday", TODAY, TOMORROW),
        ("last friday", date(2026, 11, 13), date(2026, 11, 14)),
        ("Donnerstag", date(2026, 11, 19), TODAY),
        ("last-week", date(2026, 11, 9), date(2026, 11, 16)),
        ("this week", date(2026, 11, 16), date(2026, 11, 23)),
        ("last weekend", date(2026, 11, 14), date(2026, 11, 16)),
        ("2026-W47", date(2026, 11, 16), date(2026, 11, 23)),
        ("last month", date(2026, 10, 1), date(2026, 11, 1)),
        ("last-quarter", date(2026, 7, 1), date(2026, 10, 1)),
        ("last year", date(2025, 1, 1), date(2026, 1, 1)),
        ("last 7d", date(2026, 11, 13), TOMORROW),
        ("Q3", date(2026, 7, 1), date(2026, 10, 1)),
        ("2025-Q3", date(2025, 7, 1), date(2025, 10, 1)),
        ("q3 2025", date(2025, 7, 1), date(2025, 10, 1)),
        ("March 3, 2025", date(2025, 3, 3), date(2025, 3, 4)),
        ("3-march-2025", date(2025, 3, 3), date(2025, 3, 4)),
    ];
    for (text, start, end) in cases {
        assert_eq!(period(text, TODAY), Some((start, end)), "{text}");
        let is_counted = ["7d", "2W", "3m", "1y", "last 7d"].contains(&text);
        let days = if is_counted { (start, start.tomorrow().unwrap()) } else { (start, end) };
        assert_eq!(self::days(text, TODAY), Some(days), "{text}");
    }
}

#[test]
fn the_last_days_may_be_said_to_be_the_last() {
    for text in ["7d", "2w"] {
        assert_eq!(period(&format!("Last {text}"), TODAY), period(text, TODAY));
    }
}

#[test]
fn what_is_no_date() {
    let bad = [
        "",
        "d",
        "7",
        "7x",
        "tomorrow",
        "26",
        "2026-13",
        "2026-W54",
        "2026-W",
        "3/8/2026",
        "31.2.2026",
        "3.8.2026.1",
        "2025-02-29",
        "2026-11-20-1",
        "2026-",
        "-7d",
        "+7d",
        "99999999999999d",
        "99999y",
        "2026/11",
        "1.5w",
        "７d",
        "last",
        "last last week",
        "week",
        "fr",
        "progress",
        "march 26",
        "31-february-2025",
        "q5",
    ];
    for text in bad {
        assert_eq!(period(text, TODAY), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        period(&text, TODAY);
    }

    #[test]
    fn a_period_is_not_empty(text in "[0-9]{4}(-[0-9]{1,2}){0,2}|[0-9]{1,5}[dwmy]") {
        if let Some((start, end)) = period(&text, TODAY) {
            prop_assert!(start < end || start == Date::MAX);
        }
    }
}
