use super::*;
use jiff::civil::date;
use proptest::prelude::*;

/// A Friday.
const TODAY: Date = date(2026, 11, 20);

/// What a question asks about, as `words: first..last`, `words: first..` or `words: newest`.
fn read(question: &str) -> Option<String> {
    let Asked { when, words } = asked(question, TODAY)?;
    Some(match when {
        When::Newest => format!("{words}: newest"),
        When::Days(start, None) => format!("{words}: {start}.."),
        When::Days(start, Some(end)) if start.year() == 1 => format!("{words}: ..{}", end.yesterday().unwrap()),
        When::Days(start, Some(end)) => format!("{words}: {start}..{}", end.yesterday().unwrap()),
    })
}

#[test]
fn times_in_fourteen_languages() {
    let mut wrong = Vec::new();
    for (question, expected) in [
        // English
        ("what did we decide in March", "in March: 2026-03-01..2026-03-31"),
        ("calls last tuesday", "last tuesday: 2026-11-17..2026-11-17"),
        ("what I wrote yesterday", "yesterday: 2026-11-19..2026-11-19"),
        (
            "the day before yesterday's walk and the day before yesterday",
            "the day before yesterday: 2026-11-18..2026-11-18",
        ),
        ("notes from three weeks ago", "three weeks ago: 2026-10-26..2026-11-01"),
        ("meetings of the last 10 days", "the last 10 days: 2026-11-10.."),
        ("between March and May", "between March and May: 2026-03-01..2026-05-31"),
        ("between November and February", "between November and February: 2025-11-01..2026-02-28"),
        ("from 2023 to 2025", "from 2023 to 2025: 2023-01-01..2025-12-31"),
        ("since last week, since October", "since last week: 2026-11-09.."),
        ("what changed since yesterday", "since yesterday: 2026-11-19.."),
        ("before last week", "before last week: ..2026-11-08"),
        ("until last month", "until last month: ..2026-10-31"),
        ("what was said until yesterday", "until yesterday: ..2026-11-19"),
        ("until yesterday, not before yesterday", "until yesterday: ..2026-11-19"),
        ("before yesterday", "before yesterday: ..2026-11-18"),
        ("since the beginning of March", "since the beginning of March: 2026-03-01.."),
        ("since the end of March", "since the end of March: 2026-03-31.."),
        ("until the end of last week", "until the end of last week: ..2026-11-15"),
        (
            "between the start of March and the end of May",
            "between the start of March and the end of May: 2026-03-01..2026-05-31",
        ),
        ("after the March 3 meeting", "after the March 3: 2026-03-04.."),
        ("after last week", "after last week: 2026-11-16.."),
        ("from yesterday until today", "from yesterday until today: 2026-11-19.."),
        ("between last week and today", "between last week and today: 2026-11-09.."),
        ("since two weeks ago", "since two weeks ago: 2026-11-02.."),
        ("since a week ago", "since a week ago: 2026-11-09.."),
        ("a month ago", "a month ago: 2026-10-01..2026-10-31"),
        ("the last week before the 3rd of May", "the last week: 2026-11-09..2026-11-15"),
        ("last November", "last November: 2025-11-01..2025-11-30"),
        ("between 10 and 12 March", "between 10 and 12 March: 2026-03-10..2026-03-12"),
        ("from the 10th to the 12th of March", "from the 10th to the 12th of March: 2026-03-10..2026-03-12"),
        ("Q2 of 2025", "Q2 of 2025: 2025-04-01..2025-06-30"),
        ("2nd quarter of 2025", "2nd quarter of 2025: 2025-04-01..2025-06-30"),
        ("expenses since October", "since October: 2026-10-01.."),
        ("everything before 2024", "before 2024: ..2023-12-31"),
        ("after June 2026", "after June 2026: 2026-07-01.."),
        ("goals for Q3", "for Q3: 2026-07-01..2026-09-30"),
        ("goals Q4", "Q4: 2026-10-01.."),
        ("Q1 2025 review", "Q1 2025: 2025-01-01..2025-03-31"),
        ("2025-Q2", "2025-Q2: 2025-04-01..2025-06-30"),
        ("roadmap 2025", "2025: 2025-01-01..2025-12-31"),
        ("October 23rd, 2025", "October 23rd, 2025: 2025-10-23..2025-10-23"),
        ("the 3rd of May", "3rd of May: 2026-05-03..2026-05-03"),
        ("log 2026-10-23", "2026-10-23: 2026-10-23..2026-10-23"),
        ("this month", "this month: 2026-11-01.."),
        // There is no such day, so the month is meant.
        ("the 31 February 2025", "February 2025: 2025-02-01..2025-02-28"),
        ("in may", "in may: 2026-05-01..2026-05-31"),
        ("who came on Friday?", "on Friday: 2026-11-20.."),
        // German
        ("Was haben wir gestern besprochen?", "gestern: 2026-11-19..2026-11-19"),
        ("vor drei Wochen", "vor drei Wochen: 2026-10-26..2026-11-01"),
        ("letzten Dienstag", "letzten Dienstag: 2026-11-17..2026-11-17"),
        ("im März", "im März: 2026-03-01..2026-03-31"),
        ("zwischen März und Mai", "zwischen März und Mai: 2026-03-01..2026-05-31"),
        ("seit Oktober", "seit Oktober: 2026-10-01.."),
        ("am 23. Oktober 2025", "am 23. Oktober 2025: 2025-10-23..2025-10-23"),
        ("Protokoll 23.10.2025", "23.10.2025: 2025-10-23..2025-10-23"),
        ("am 3.8.2026", "am 3.8.2026: 2026-08-03..2026-08-03"),
        ("seit 3.8.2026", "seit 3.8.2026: 2026-08-03.."),
        ("zwischen 3.8.2026 und 17.8.2026", "zwischen 3.8.2026 und 17.8.2026: 2026-08-03..2026-08-17"),
        ("die letzten 3 Monate", "letzten 3 Monate: 2026-08-20.."),
        ("seit letzter Woche", "seit letzter Woche: 2026-11-09.."),
        ("seit der letzten Woche", "seit der letzten Woche: 2026-11-09.."),
        ("bis gestern", "bis gestern: ..2026-11-19"),
        ("vor gestern", "vor gestern: ..2026-11-18"),
        ("bis zum 3. Mai", "bis zum 3. Mai: ..2026-05-03"),
        ("seit Anfang März", "seit Anfang März: 2026-03-01.."),
        ("bis Ende letzter Woche", "bis Ende letzter Woche: ..2026-11-15"),
        ("vor einer Woche", "vor einer Woche: 2026-11-09..2026-11-15"),
        ("im 2. Quartal 2025", "im 2. Quartal 2025: 2025-04-01..2025-06-30"),
        // French
        ("la réunion d'hier", "hier: 2026-11-19..2026-11-19"),
        ("décisions en décembre", "en décembre: 2025-12-01..2025-12-31"),
        ("la semaine dernière", "semaine dernière: 2026-11-09..2026-11-15"),
        ("mardi dernier", "mardi dernier: 2026-11-17..2026-11-17"),
        ("il y a 3 jours", "il y a 3 jours: 2026-11-17..2026-11-17"),
        ("les 3 derniers mois", "3 derniers mois: 2026-08-20.."),
        ("entre mars et mai", "entre mars et mai: 2026-03-01..2026-05-31"),
        ("début d'octobre 2025", "d'octobre 2025: 2025-10-01..2025-10-31"),
        ("depuis la semaine dernière", "depuis la semaine dernière: 2026-11-09.."),
        ("depuis hier", "depuis hier: 2026-11-19.."),
        ("jusqu'à hier", "jusqu'à hier: ..2026-11-19"),
        ("jusqu'au 3 mai", "jusqu'au 3 mai: ..2026-05-03"),
        ("depuis le début de mars", "depuis le début de mars: 2026-03-01.."),
        ("avant le 3 mai", "avant le 3 mai: ..2026-05-02"),
        ("il y a une semaine", "il y a une semaine: 2026-11-09..2026-11-15"),
        ("entre le 10 et le 12 mars", "entre le 10 et le 12 mars: 2026-03-10..2026-03-12"),
        // Spanish
        ("notas de ayer", "ayer: 2026-11-19..2026-11-19"),
        ("la semana pasada", "semana pasada: 2026-11-09..2026-11-15"),
        ("hace dos meses", "hace dos meses: 2026-09-01..2026-09-30"),
        ("el martes pasado", "el martes pasado: 2026-11-17..2026-11-17"),
        ("23 de octubre de 2025", "23 de octubre de 2025: 2025-10-23..2025-10-23"),
        ("entre marzo y mayo", "entre marzo y mayo: 2026-03-01..2026-05-31"),
        ("hasta ayer", "hasta ayer: ..2026-11-19"),
        ("desde principios de marzo", "desde principios de marzo: 2026-03-01.."),
        ("desde la semana pasada", "desde la semana pasada: 2026-11-09.."),
        ("hace una semana", "hace una semana: 2026-11-09..2026-11-15"),
        ("después del 3 de mayo", "después del 3 de mayo: 2026-05-04.."),
        // Italian
        ("il mese scorso", "mese scorso: 2026-10-01..2026-10-31"),
        ("tre giorni fa", "tre giorni fa: 2026-11-17..2026-11-17"),
        ("dall'ottobre", "dall'ottobre: 2026-10-01.."),
        ("nell'agosto", "nell'agosto: 2026-08-01..2026-08-31"),
        ("tra marzo e maggio", "tra marzo e maggio: 2026-03-01..2026-05-31"),
        ("dalla settimana scorsa", "dalla settimana scorsa: 2026-11-09.."),
        ("una settimana fa", "una settimana fa: 2026-11-09..2026-11-15"),
        // Portuguese
        ("o que fiz ontem", "ontem: 2026-11-19..2026-11-19"),
        ("semana passada", "semana passada: 2026-11-09..2026-11-15"),
        ("na terça-feira", "na terça-feira: 2026-11-17..2026-11-17"),
        ("há dois meses", "há dois meses: 2026-09-01..2026-09-30"),
        ("em março", "em março: 2026-03-01..2026-03-31"),
        ("antes da semana passada", "antes da semana passada: ..2026-11-08"),
        ("há uma semana", "há uma semana: 2026-11-09..2026-11-15"),
        ("há duas semanas", "há duas semanas: 2026-11-02..2026-11-08"),
        ("na semana passada", "semana passada: 2026-11-09..2026-11-15"),
        // Dutch
        ("vorige week", "vorige week: 2026-11-09..2026-11-15"),
        ("drie dagen geleden", "drie dagen geleden: 2026-11-17..2026-11-17"),
        ("tussen maart en mei", "tussen maart en mei: 2026-03-01..2026-05-31"),
        ("in mei", "in mei: 2026-05-01..2026-05-31"),
        ("sinds gisteren", "sinds gisteren: 2026-11-19.."),
        // Russian
        ("что решили вчера", "вчера: 2026-11-19..2026-11-19"),
        ("на прошлой неделе", "прошлой неделе: 2026-11-09..2026-11-15"),
        ("в марте", "в марте: 2026-03-01..2026-03-31"),
        ("в прошлую среду", "прошлую среду: 2026-11-18..2026-11-18"),
        ("между мартом и октябрем", "между мартом и октябрем: 2026-03-01..2026-10-31"),
        ("3 дня назад", "3 дня назад: 2026-11-17..2026-11-17"),
        ("с прошлой недели", "с прошлой недели: 2026-11-09.."),
        ("неделю назад", "неделю назад: 2026-11-09..2026-11-15"),
        ("две недели назад", "две недели назад: 2026-11-02..2026-11-08"),
        // Swedish, Norwegian, Danish
        ("vad sa vi igår", "igår: 2026-11-19..2026-11-19"),
        ("förra veckan", "förra veckan: 2026-11-09..2026-11-15"),
        ("för tre dagar sedan", "tre dagar sedan: 2026-11-17..2026-11-17"),
        ("i mars", "i mars: 2026-03-01..2026-03-31"),
        ("i år", "i år: 2026-01-01.."),
        ("forrige uke", "forrige uke: 2026-11-09..2026-11-15"),
        ("sidste uge", "sidste uge: 2026-11-09..2026-11-15"),
        ("mellem marts og maj", "mellem marts og maj: 2026-03-01..2026-05-31"),
        ("sedan igår", "sedan igår: 2026-11-19.."),
        ("för ett år sedan", "ett år sedan: 2025-01-01..2025-12-31"),
        ("for et år siden", "et år siden: 2025-01-01..2025-12-31"),
        ("før oktober", "før oktober: ..2026-09-30"),
        // Finnish
        ("mitä tein eilen", "eilen: 2026-11-19..2026-11-19"),
        ("viime viikolla", "viime viikolla: 2026-11-09..2026-11-15"),
        ("viime tiistaina", "viime tiistaina: 2026-11-17..2026-11-17"),
        ("kolme päivää sitten", "kolme päivää sitten: 2026-11-17..2026-11-17"),
        ("viikko sitten", "viikko sitten: 2026-11-09..2026-11-15"),
        // Chinese, Japanese
        ("昨天的会议", "昨天: 2026-11-19..2026-11-19"),
        ("上周讨论了什么", "上周: 2026-11-09..2026-11-15"),
        ("3天前", "3天前: 2026-11-17..2026-11-17"),
        ("上上个月的预算", "上上个月: 2026-09-01..2026-09-30"),
        ("一昨年の予算", "一昨年: 2024-01-01..2024-12-31"),
        ("我在3月份的笔记", "3月: 2026-03-01..2026-03-31"),
        ("2025年10月23日の日記", "2025年10月23日: 2025-10-23..2025-10-23"),
        ("先月の予算", "先月: 2026-10-01..2026-10-31"),
        ("2週間前", "2週間前: 2026-11-02..2026-11-08"),
        ("2025年の目標", "2025年: 2025-01-01..2025-12-31"),
    ] {
        let read = read(question);
        if read.as_deref() != Some(expected) {
            wrong.push(format!("{question}: {read:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_stands_around_a_time_counts() {
    let mut wrong = Vec::new();
    for (question, expected) in [
        ("trip to the lake in March last year", "in March last year: 2025-03-01..2025-03-31"),
        ("in March of last year", "in March of last year: 2025-03-01..2025-03-31"),
        ("10 March last year", "10 March last year: 2025-03-10..2025-03-10"),
        ("im März letzten Jahres", "im März letzten Jahres: 2025-03-01..2025-03-31"),
        ("en marzo del año pasado", "en marzo del año pasado: 2025-03-01..2025-03-31"),
        ("in May two years ago", "in May two years ago: 2024-05-01..2024-05-31"),
        ("last week of October", "of October: 2026-10-01..2026-10-31"),
        ("the last week of may", "of may: 2026-05-01..2026-05-31"),
        ("last monday in june", "in june: 2026-06-01..2026-06-30"),
        ("last day of april", "of april: 2026-04-01..2026-04-30"),
        ("the last friday of may", "of may: 2026-05-01..2026-05-31"),
        ("last week of last year", "last year: 2025-01-01..2025-12-31"),
        ("last month of 2025", "of 2025: 2025-01-01..2025-12-31"),
        ("last week on friday", "last week: 2026-11-09..2026-11-15"),
        ("dinner not last week but yesterday", "yesterday: 2026-11-19..2026-11-19"),
        ("10 to 14 march", "10 to 14 march: 2026-03-10..2026-03-14"),
        ("10th - 14th march", "10th - 14th march: 2026-03-10..2026-03-14"),
        ("10-14 March 2025", "10-14 March 2025: 2025-03-10..2025-03-14"),
        ("March 10 to 14", "March 10 to 14: 2026-03-10..2026-03-14"),
        ("10. bis 14. März", "10. bis 14. März: 2026-03-10..2026-03-14"),
        ("del 3 al 17 de agosto", "del 3 al 17 de agosto: 2026-08-03..2026-08-17"),
        ("du 3 au 17 août", "du 3 au 17 août: 2026-08-03..2026-08-17"),
        ("2024 to 2025", "2024 to 2025: 2024-01-01..2025-12-31"),
        ("2024-2025", "2024-2025: 2024-01-01..2025-12-31"),
        ("in 2024 or 2025", "in 2024 or 2025: 2024-01-01..2025-12-31"),
        ("roadmap 2025 and 2026", "2025 and 2026: 2025-01-01.."),
        ("March '26", "March '26: 2026-03-01..2026-03-31"),
        ("6 months ago", "6 months ago: 2026-05-01..2026-05-31"),
    ] {
        let read = read(question);
        if read.as_deref() != Some(expected) {
            wrong.push(format!("{question}: {read:?}, not {expected}"));
        }
    }
    for none in [
        "dentist half a year ago",
        "a quarter of a year ago",
        "not last week dinner",
        "not in march",
        "except in may",
        "except for last week",
        "nicht im März",
        "hace un año y medio",
        "2020 or 2025",
        "2025 to 2020 steps",
    ] {
        if let Some(read) = read(none) {
            wrong.push(format!("{none}: {read}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_newest_is_asked_for() {
    for (question, words) in [
        ("What's the status of Lr Agent?", "status"),
        ("latest news on the move", "latest"),
        ("where are we with the budget", "where are we"),
        ("Stand bei der Küche", "Stand"),
        ("aktueller Plan", "aktueller"),
        ("où en est le projet", "où en est"),
        ("cuál es el plan más reciente", "más reciente"),
        ("最新の計画", "最新"),
        ("какой статус проекта", "какой статус"),
    ] {
        assert_eq!(read(question), Some(format!("{words}: newest")), "{question}");
    }
    // A time that is named says more.
    assert_eq!(read("status of the move in March").unwrap(), "in March: 2026-03-01..2026-03-31");
}

#[test]
fn what_is_no_time() {
    for none in [
        "march of progress",
        "after the march",
        "the slogans since a march",
        "until today",
        "may I",
        "I may go",
        "sun on the water",
        "nivel de mar",
        "hier steht es",
        "last but not least",
        "friday meeting",
        "in 2027-01-01",
        "december 2026",
        "RFC 2025",
        "HTTP status 404",
        "git status",
        "the state of the art",
        "set 5 values",
        "T3 instances",
        "na segunda parte",
        "a second opinion",
        "IPv4 to IPv6",
        "1234 notes",
        "in",
        "last",
        "",
        "das ist gar nicht so",
        "after this week",
        "after November 2026",
        "since next week",
        "between last week and next week",
        "second quarter of 2025",
        "years ago",
        "много лет назад",
        "以前年度",
        "上上上个月",
        "2027年",
        "13月",
    ] {
        assert_eq!(read(none), None, "{none}");
    }
}

#[test]
fn a_flood_of_words_is_bounded() {
    assert_eq!(asked(&format!("{} yesterday", "word ".repeat(100_000)), TODAY), None);
}

proptest! {
    #[test]
    fn any_question_names_a_time_or_none(question in any::<String>()) {
        asked(&question, TODAY);
    }

    #[test]
    fn words_of_times_in_any_order(words in prop::collection::vec(prop::sample::select(vec![
        "last", "3", "March", "2025", "between", "and", "since", "week", "vor", "drei", "Wochen", "31", "February", "9999",
        "Q3", "3月", "999年", "fa", "d'octobre", "2025-13", "назад", "0",
    ]), 0..8)) {
        let question = words.join(" ");
        if let Some(Asked { when: When::Days(start, Some(end)), words }) = asked(&question, TODAY) {
            prop_assert!(start < end && end <= TODAY, "{} {}", start, end);
            prop_assert!(question.contains(&words));
        }
    }
}
