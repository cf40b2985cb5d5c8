//! Tells a person how the words for a time in a query were read.

use index::search::{Asked, When};
use jiff::civil::Date;
use protocol::search::TimeAsked;

/// The first year there is, for times without a beginning.
const NO_BEGINNING: i16 = 1;

/// What the answer says of the time that a query asks about.
pub(super) fn time_asked(asked: &Asked) -> TimeAsked {
    let words = asked.words.clone();
    let When::Days(start, end) = asked.when else {
        return TimeAsked { words, newest: true, read_as: "the newest".to_owned(), ..TimeAsked::default() };
    };
    let last = end.and_then(|end| end.yesterday().ok());
    TimeAsked {
        words,
        from: (start.year() > NO_BEGINNING).then(|| start.to_string()),
        to: last.map(|last| last.to_string()),
        newest: false,
        read_as: in_words(start, last),
    }
}

/// `2025`, `Q3 2026`, `October 2026`, `2026-11-17`, `2026-11-09 to 2026-11-15`, `since 2026-11-16`, `until 2026-03-01`.
fn in_words(start: Date, last: Option<Date>) -> String {
    let Some(last) = last else { return format!("since {start}") };
    if start.year() <= NO_BEGINNING {
        return format!("until {last}");
    }
    let whole = start.day() == 1 && last == last.last_of_month();
    let months = (last.year() - start.year()) * 12 + i16::from(last.month() - start.month()) + 1;
    match months {
        12 if whole && start.month() == 1 => start.year().to_string(),
        3 if whole && start.month() % 3 == 1 => format!("Q{} {}", start.month() / 3 + 1, start.year()),
        1 if whole => start.strftime("%B %Y").to_string(),
        _ if start == last => start.to_string(),
        _ => format!("{start} to {last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn times_are_told_as_people_say_them() {
        for (start, last, told) in [
            (date(2025, 1, 1), Some(date(2025, 12, 31)), "2025"),
            (date(2026, 7, 1), Some(date(2026, 9, 30)), "Q3 2026"),
            (date(2026, 2, 1), Some(date(2026, 2, 28)), "February 2026"),
            (date(2026, 2, 1), Some(date(2026, 4, 30)), "2026-02-01 to 2026-04-30"),
            (date(2026, 11, 17), Some(date(2026, 11, 17)), "2026-11-17"),
            (date(2026, 11, 9), Some(date(2026, 11, 15)), "2026-11-09 to 2026-11-15"),
            (date(2026, 11, 16), None, "since 2026-11-16"),
            (date(1, 1, 1), Some(date(2026, 2, 28)), "until 2026-02-28"),
        ] {
            assert_eq!(in_words(start, last), told);
        }
    }
}
