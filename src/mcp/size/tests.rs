use super::*;

#[test]
fn limits() {
    for (asked, given) in [(None, 20_000), (Some(2_000), 2_000), (Some(5_000), 5_000), (Some(200_000), 200_000)] {
        assert_eq!(limit(asked).unwrap(), given);
    }
    for wrong in [0, 1_999, 200_001, 1 << 40] {
        assert!(limit(Some(wrong)).unwrap_err().message.contains("2000 to 200000"), "{wrong}");
    }
    assert_eq!((of("", &"a\n\"é"), of("ääääääääääää", &"a")), (8, 12));
}

#[test]
fn the_longest_that_fits() {
    assert_eq!(longest(5_000, &|_| true), Some(5_000));
    assert_eq!(longest(5_000, &|_| false), None);
    let found = longest(5_000, &|chars| chars * 10 <= 12_345).unwrap();
    assert!((1_215..=1_234).contains(&found), "{found}");
    assert_eq!(longest(100, &|chars| chars <= 100), Some(100));
}

#[test]
fn cuts() {
    assert_eq!(cut("short", 10), "short");
    assert_eq!(cut("Grüße aus Köln", 5), "Grüße…");
    assert_eq!(cut("0123456789\n01", 12), "0123456789…");
    let cost = |line: &str| line.chars().count();
    assert_eq!(lines("a\nbb\nccc\n", 5, &cost), ("a\nbb\n".to_owned(), 2));
    assert_eq!(lines("a\nbb", 9, &cost), ("a\nbb".to_owned(), 2));
    assert_eq!(lines("", 9, &cost), (String::new(), 0));
    assert_eq!(lines(&"x".repeat(90), 30, &cost), (format!("{}…", "x".repeat(30)), 1));
}
