use jiff::civil::date;

use super::*;
use crate::NoteRules;

fn day(kind: &'static str, folder: &str, format: &str, path: &str) -> Option<Date> {
    Periodic::new(kind, folder, format).unwrap().day(&VaultPath::parse(path).unwrap())
}

#[test]
fn names_as_they_are_formed() {
    let day_of = Some(date(2025, 10, 3));
    for (folder, format, path) in [
        ("", "YYYY-MM-DD", "2025-10-03.md"),
        ("", "YYYY-MM-DD", "Somewhere/2025-10-03.md"),
        ("Daily", "DD-MM-YYYY", "Daily/03-10-2025.md"),
        ("/Daily/", "MM-DD-YYYY", "Daily/10-03-2025.md"),
        ("Daily", "YYYY/MM/YYYY-MM-DD", "Daily/2025/10/2025-10-03.md"),
        ("", "YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2025/10-October/2025-10-03-Friday.md"),
        ("", "MMMM D, YYYY", "October 3, 2025.md"),
        ("", "MMMM Do, YYYY", "October 3rd, 2025.md"),
        ("", "dddd, D. MMMM YYYY", "Freitag, 3. Oktober 2025.md"),
        ("", "ddd D MMM YYYY", "ven. 3 oct. 2025.md"),
        ("", "YYMMDD", "251003.md"),
        ("", "YYYYMMDD", "20251003.md"),
        ("Journal", "[Day] YYYY.M.D", "Journal/Day 2025.10.3.md"),
        ("", "YYYY-MM-DD [W]WW", "2025-10-03 W40.md"),
        ("", "YYYY-MM-DD.md", "2025-10-03.md"),
    ] {
        assert_eq!(day("daily", folder, format, path), day_of, "{format} {path}");
    }
    for (folder, format, path) in [
        ("Daily", "YYYY-MM-DD", "2025-10-03.md"),
        ("Daily", "YYYY-MM-DD", "Daily2/2025-10-03.md"),
        ("Daily", "YYYY-MM-DD", "Daily/2025-10-03 Standup.md"),
        ("", "YYYY/MM/YYYY-MM-DD", "2025/11/2025-10-03.md"),
        ("", "MM-DD-YYYY", "13-10-2025.md"),
        ("", "YYYY-MM-DD", "2025-02-30.md"),
        ("", "MMMM D, YYYY", "Octopus 3, 2025.md"),
        ("", "YYYY-MM-DD", "٢٠٢٥-١٠-٠٣.md"),
    ] {
        assert_eq!(day("daily", folder, format, path), None, "{format} {path}");
    }
}

#[test]
fn weeks_months_quarters_and_years() {
    for (kind, format, path, first) in [
        ("weekly", "gggg-[W]ww", "2026-W47.md", date(2026, 11, 16)),
        ("weekly", "[Week] w, YYYY", "Week 1, 2026.md", date(2025, 12, 29)),
        ("monthly", "MMMM YYYY", "November 2026.md", date(2026, 11, 1)),
        ("quarterly", "YYYY-[Q]Q", "2026-Q4.md", date(2026, 10, 1)),
        ("yearly", "YYYY", "2026.md", date(2026, 1, 1)),
    ] {
        assert_eq!(day(kind, "", format, path), Some(first), "{format} {path}");
    }
}

#[test]
fn settings_as_obsidian_writes_them() {
    let one = |kind, folder, format| Periodic::new(kind, folder, format).unwrap();
    let daily = one("daily", "Daily", "DD.MM.YYYY");
    assert_eq!(read(Some(r#"{"format":"DD.MM.YYYY","folder":"Daily"}"#), None), (vec![daily.clone()], vec![]));
    assert_eq!(read(Some("{}"), None), (vec![one("daily", "", "YYYY-MM-DD")], vec![]));
    assert_eq!(read(Some(r#"{"format":"","template":"x"}"#), None).0, vec![one("daily", "", "YYYY-MM-DD")]);
    let plugin = r#"{"showGettingStartedBanner":false,"daily":{"format":"YYYY-MM-DD","enabled":false},
        "weekly":{"format":"","folder":"Weeks","enabled":true},"monthly":{"enabled":true,"format":"[nothing]"}}"#;
    let (found, problems) = read(None, Some(plugin));
    assert_eq!(found, vec![one("weekly", "Weeks", "gggg-[W]ww")]);
    assert_eq!(problems, [format!("{}: the format of monthly notes names no day", SETTINGS[1])]);
    assert_eq!(read(None, None), (vec![], vec![]));
}

#[test]
fn settings_that_are_none() {
    for text in ["", "[]", "{", "{\"format\": 5}", "\u{0}", "null"] {
        let (found, problems) = read(Some(text), Some(text));
        assert!(found.is_empty() && !problems.is_empty(), "{text:?}: {found:?}");
    }
    for format in ["", "dddd", "YYYY", "MM-DD", "[YYYY-MM-DD]", "nonsense"] {
        assert_eq!(Periodic::new("daily", "", format), None, "{format:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_format_and_name(format in "[YMDdWwQo\\[\\] ./a-zü-]{0,20}", name in "[0-9A-Za-zü ./-]{1,20}") {
        if let (Some(periodic), Some(path)) = (Periodic::new("daily", "", &format), VaultPath::parse(&name)) {
            periodic.day(&path);
        }
    }

    /// What a format makes of a day is read as that day.
    #[test]
    fn names_are_read_as_they_were_formed(days in 0i32..30_000, form in 0usize..4) {
        let day = date(1970, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
        let (format, strftime) = [
            ("YYYY-MM-DD", "%Y-%m-%d"),
            ("dddd, MMMM D, YYYY", "%A, %B %-d, %Y"),
            ("DD-MM-YYYY", "%d-%m-%Y"),
            ("YYYY/MM/[day] DD", "%Y/%m/day %d"),
        ][form];
        let path = VaultPath::parse(&format!("{}.md", day.strftime(strftime))).unwrap();
        proptest::prop_assert_eq!(Periodic::new("daily", "", format).unwrap().day(&path), Some(day));
    }
}

#[test]
fn pages_of_days_are_called_as_logseq_is_set() {
    let titled = |path: &str, format: &str| {
        let settings =
            format!("{{;; :journal/page-title-format \"no\"\n :journal/page-title-format \"{format}\" ; x\n}}");
        let rules = NoteRules { journals: journals(&settings), ..NoteRules::default() };
        crate::parse(&VaultPath::parse(path).unwrap(), b"- x\n", &rules).title
    };
    for (format, title) in [
        ("dd-MM-yyyy", "05-03-2026"),
        ("MM/dd/yyyy", "03/05/2026"),
        ("EEEE, yyyy/MM/dd", "Thursday, 2026/03/05"),
        ("E, dd.MM.yyyy", "Thu, 05.03.2026"),
        ("do MMMM yyyy", "5th March 2026"),
        ("yyyy年MM月dd日", "2026年03月05日"),
        ("MMM do, yyyy", "2026_03_05"),
    ] {
        assert_eq!(titled("g/journals/2026_03_05.md", format), title);
    }
    assert_eq!(titled("pages/2026_03_05.md", "dd-MM-yyyy"), "2026_03_05");
    assert_eq!(journals("{:preferred-format \"Markdown\"}"), None);
}
