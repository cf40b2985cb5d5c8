use jiff::civil::date;

use super::*;

#[test]
fn months_are_known_in_every_language() {
    for (month_no, names) in [
        (1, "January Jan januar Jänner janvier janv enero gennaio gen janeiro januari января янв tammikuu"),
        (2, "Feb Februar Feber février févr febrero febbraio fevereiro februari февраля helmikuu"),
        (3, "March mar März MÄRZ Maerz mars marzo março maart марта marts maaliskuu"),
        (4, "april avril avr abril aprile апреля huhtikuuta"),
        (5, "May Mai mayo maggio maio mei мая май maj toukokuu"),
        (6, "June Juni juin junio giugno junho июня kesäkuuta"),
        (7, "July Juli juillet juil julio luglio julho июля heinäkuu"),
        (8, "Aug août aout agosto ago augustus августа augusti elokuu"),
        (9, "Sept. september septembre setiembre settembre set setembro сентября syyskuu"),
        (10, "Oct Oktober octobre octubre ottobre outubro октября oktober lokakuu"),
        (11, "Nov novembre noviembre novembro ноября november marraskuuta"),
        (12, "Dec Dezember décembre diciembre dicembre dezembro декабря desember joulukuu"),
    ] {
        for name in names.split_whitespace() {
            assert_eq!(month(fold(name).trim_end_matches('.')), Some(month_no), "{name}");
        }
    }
    for other in ["ma", "jui", "monday", "marchand", "", "plan", "mardi"] {
        assert_eq!(month(other), None, "{other}");
    }
}

#[test]
fn weekdays_are_known_in_every_language() {
    for (day, names) in
        [(1, "Mon montag Lundi пн maanantai segunda"), (4, "thu Donnerstag jeudi torsdag"), (6, "lørdag")]
    {
        for name in names.split_whitespace() {
            assert_eq!(weekday(&fold(name)), Some(day), "{name}");
        }
    }
    assert_eq!((weekday("t"), weekday("plan")), (None, None));
}

#[test]
fn whole_names_and_their_languages() {
    let languages =
        |name| months().filter(|(_, known, _)| *known == name).map(|(of, ..)| of).collect::<Vec<_>>().join(" ");
    assert_eq!([languages("mars"), languages("marts"), languages("marc")], ["fr sv nb da", "nb da", ""]);
    assert!(months().chain(weekdays()).all(|(_, name, _)| fold(name) == name));
    assert!(months().all(|(_, name, number)| month(name) == Some(number)));
    assert!(weekdays().all(|(_, name, number)| weekday(name) == Some(number)));
    assert_eq!((weekday("среду"), weekdays().filter(|(_, name, _)| *name == "среде").count()), (Some(3), 0));
}

#[test]
fn dates() {
    let day = date(2025, 10, 3);
    for text in [
        "October 3, 2025",
        "Oct 3rd 2025",
        "Friday, October 3, 2025",
        "3. Oktober 2025",
        "vendredi 3 octobre 2025",
        "3 de octubre de 2025",
        "3 ottobre 2025",
        "sexta-feira, 3 de outubro de 2025",
        "vrijdag 3 oktober 2025",
        "3 октября 2025 г.",
        "3. lokakuuta 2025",
        "2025 October 3",
        "fredag 3. oktober 2025",
    ] {
        let found = super::date(&fold(text));
        assert_eq!(found.map(|found| (found.date, found.together, found.alone)), Some((day, true, true)), "{text}");
    }
    for (text, together) in [
        ("Meeting October 3, 2025 with A", true),
        ("10:15, 3 Oct 2025", true),
        ("Fri Oct 3 10:15:00 2025", false),
        ("Top 3 of October, 2025", true),
    ] {
        let found = super::date(&fold(text));
        assert_eq!(
            found.map(|found| (found.date, found.together, found.alone)),
            Some((day, together, false)),
            "{text}"
        );
    }
    for text in ["October 2025", "October 3", "3 2025", "October 32, 2025", "", "2025"] {
        assert!(super::date(&fold(text)).is_none(), "{text}");
    }
}
