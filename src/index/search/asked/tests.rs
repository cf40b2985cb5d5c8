mod phrases;

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

fn are_read(times: &[(&str, &str)]) {
    let wrong = times.iter().filter_map(|(question, expected)| {
        let read = read(question);
        (read.as_deref() != Some(*expected)).then(|| format!("{question}: {read:?}, not {expected}"))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn none_is_read(questions: &[&str]) {
    let read = questions.iter().filter_map(|question| Some(format!("{question}: {}", read(question)?)));
    let read: Vec<_> = read.collect();
    assert!(read.is_empty(), "{}", read.join("\n"));
}

#[test]
fn times_in_fourteen_languages() {
    are_read(&[
        // English
        ("what did we decide in March", "in March: 2026-03-01..2026-03-31"),
        ("calls last tuesday", "last tuesday: 2026-11-17..2026-11-17"),
        ("what I wrote yesterday", "yesterday: 2026-11-19..2026-11-19"),
        ("the day before yesterday's walk", "the day before yesterday's: 2026-11-18..2026-11-18"),
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
        ("between last week and next week", "between last week and next week: 2026-11-09.."),
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
    ]);
}

#[test]
fn what_stands_around_a_time_counts() {
    are_read(&[
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
    ]);
    none_is_read(&[
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
    ]);
}

#[test]
fn names_of_months_belong_to_the_language_of_the_words_before_them() {
    are_read(&[
        ("в мае", "в мае: 2026-05-01..2026-05-31"),
        ("планы на июнь", "на июнь: 2026-06-01..2026-06-30"),
        ("с мая", "с мая: 2026-05-01.."),
        ("до июля", "до июля: ..2026-06-30"),
        ("между маем и июлем", "между маем и июлем: 2026-05-01..2026-07-31"),
        ("в пятницу", "в пятницу: 2026-11-20.."),
        ("со среды", "со среды: 2026-11-18.."),
        ("maaliskuussa", "maaliskuussa: 2026-03-01..2026-03-31"),
        ("mitä teimme tiistaina", "tiistaina: 2026-11-17..2026-11-17"),
        ("toukokuussa 2024", "toukokuussa 2024: 2024-05-01..2024-05-31"),
        ("viime lokakuun", "viime lokakuun: 2026-10-01..2026-10-31"),
        ("på tisdagen", "på tisdagen: 2026-11-17..2026-11-17"),
        ("mødet i marts", "i marts: 2026-03-01..2026-03-31"),
        ("møtet i mai", "i mai: 2026-05-01..2026-05-31"),
        ("5 sept 2024", "5 sept 2024: 2024-09-05..2024-09-05"),
        ("Mitte November", "Mitte November: 2026-11-01.."),
        ("Ende Mai", "Ende Mai: 2026-05-01..2026-05-31"),
        ("début mars", "début mars: 2026-03-01..2026-03-31"),
        ("half mei", "half mei: 2026-05-01..2026-05-31"),
        ("в середине октября", "середине октября: 2026-10-01..2026-10-31"),
        ("early march", "early march: 2026-03-01..2026-03-31"),
        ("i slutet av augusti", "av augusti: 2026-08-01..2026-08-31"),
    ]);
    none_is_read(&[
        "notes on Mars",
        "notes for mayo",
        "from Marc",
        "mail from Ren in Lund",
        "vor dem Helm",
        "10 Helme",
        "en sept jours",
        "в среде разработки",
        "im Mais",
        "end may",
        "start march",
        "this may take long",
        "maaliskuu",
    ]);
}

#[test]
fn years_of_dates_go_back_further_than_years_alone() {
    are_read(&[
        ("in October 1954", "in October 1954: 1954-10-01..1954-10-31"),
        ("on 24 December 1914", "on 24 December 1914: 1914-12-24..1914-12-24"),
        ("17 April 1961", "17 April 1961: 1961-04-17..1961-04-17"),
        ("since June 1944", "since June 1944: 1944-06-01.."),
        ("en octobre 1954", "en octobre 1954: 1954-10-01..1954-10-31"),
        ("в октябре 1954 года", "в октябре 1954: 1954-10-01..1954-10-31"),
        ("Q3 1969", "Q3 1969: 1969-07-01..1969-09-30"),
        ("July 14 1789", "July 14 1789: 1789-07-14..1789-07-14"),
    ]);
    none_is_read(&[
        "1954",
        "1800 words",
        "vitamin d 2000 iu",
        "satin no 2004",
        "2021 euros",
        "error 2013",
        "0000 2020 51",
        "5 May 2150",
        "Fehler 2002",
    ]);
}

#[test]
fn two_times_that_are_one() {
    are_read(&[
        ("dal 3 al 5 maggio 2025", "dal 3 al 5 maggio 2025: 2025-05-03..2025-05-05"),
        ("с 3 по 5 мая 2025", "с 3 по 5 мая 2025: 2025-05-03..2025-05-05"),
        ("desde el 3 al 5 de mayo", "desde el 3 al 5 de mayo: 2026-05-03..2026-05-05"),
        ("desde 3 a 5 de maio", "desde 3 a 5 de maio: 2026-05-03..2026-05-05"),
        ("dal 3 maggio al 5 giugno", "dal 3 maggio al 5 giugno: 2026-05-03..2026-06-05"),
        ("between 2024 and 2025", "between 2024 and 2025: 2024-01-01..2025-12-31"),
        ("entre 2022 et 2025", "entre 2022 et 2025: 2022-01-01..2025-12-31"),
        ("между 2024 и 2025", "между 2024 и 2025: 2024-01-01..2025-12-31"),
        ("since June 2024 to August 2024", "since June 2024 to August 2024: 2024-06-01..2024-08-31"),
        ("in 2024 - 2025", "in 2024 - 2025: 2024-01-01..2025-12-31"),
        ("с марта по май 2025", "с марта по май 2025: 2025-03-01..2025-05-31"),
        ("from March to May 2020", "from March to May 2020: 2020-03-01..2020-05-31"),
        ("from monday to wednesday", "from monday to wednesday: 2026-11-16..2026-11-18"),
        ("März bis Mai 2025", "März bis Mai 2025: 2025-03-01..2025-05-31"),
        ("November to February 2025", "November to February 2025: 2024-11-01..2025-02-28"),
        ("01.03. bis 15.04.2025", "01.03. bis 15.04.2025: 2025-03-01..2025-04-15"),
        ("mars till maj 2025", "mars till maj 2025: 2025-03-01..2025-05-31"),
        ("maart tot mei 2025", "maart tot mei 2025: 2025-03-01..2025-05-31"),
        ("marzo hasta mayo de 2025", "marzo hasta mayo de 2025: 2025-03-01..2025-05-31"),
        ("março até maio de 2025", "março até maio de 2025: 2025-03-01..2025-05-31"),
        ("marzo fino a maggio 2025", "marzo fino a maggio 2025: 2025-03-01..2025-05-31"),
        ("budget June to August 2025", "June to August 2025: 2025-06-01..2025-08-31"),
        ("2025-03-01 to 2025-04-15", "2025-03-01 to 2025-04-15: 2025-03-01..2025-04-15"),
        ("1 March - 15 April 2025", "1 March - 15 April 2025: 2025-03-01..2025-04-15"),
        ("mar - apr 2025", "mar - apr 2025: 2025-03-01..2025-04-30"),
        ("in March or April", "in March or April: 2026-03-01..2026-04-30"),
        ("im Juni und Juli", "im Juni und Juli: 2026-06-01..2026-07-31"),
        ("en juin et juillet 2024", "en juin et juillet 2024: 2024-06-01..2024-07-31"),
        ("в марте и апреле", "в марте и апреле: 2026-03-01..2026-04-30"),
        ("in December and January", "in December and January: 2025-12-01..2026-01-31"),
        ("March and April 2025", "March and April 2025: 2025-03-01..2025-04-30"),
        ("5月3日到5日", "5月3日到5日: 2026-05-03..2026-05-05"),
        ("从3月到5月", "3月到5月: 2026-03-01..2026-05-31"),
        ("3月から5月まで", "3月から5月まで: 2026-03-01..2026-05-31"),
        ("2025年3月至5月", "2025年3月至5月: 2025-03-01..2025-05-31"),
        ("2024年至2025年", "2024年至2025年: 2024-01-01..2025-12-31"),
        ("Paris to March 2025", "March 2025: 2025-03-01..2025-03-31"),
    ]);
    none_is_read(&[
        "June to August 2027",
        "from March to May 2027",
        "in March or June",
        "March or June 2025",
        "August 2025 to June 2025",
        "1 March - 15 April 2027",
        "3.5 to 4.2",
    ]);
}

#[test]
fn parts_of_days_weeks_and_years() {
    are_read(&[
        ("last week's meeting", "last week's: 2026-11-09..2026-11-15"),
        ("yesterday’s notes", "yesterday’s: 2026-11-19..2026-11-19"),
        ("this year's goals", "this year's: 2026-01-01.."),
        ("last monday's meeting", "last monday's: 2026-11-16..2026-11-16"),
        ("last night", "last night: 2026-11-19..2026-11-19"),
        ("this morning", "this morning: 2026-11-20.."),
        ("anoche", "anoche: 2026-11-19..2026-11-19"),
        ("i morse", "i morse: 2026-11-20.."),
        ("stamattina", "stamattina: 2026-11-20.."),
        ("gisteravond", "gisteravond: 2026-11-19..2026-11-19"),
        ("昨晚", "昨晚: 2026-11-19..2026-11-19"),
        ("a few days ago", "a few days ago: 2026-11-14..2026-11-18"),
        ("the last few weeks", "the last few weeks: 2026-10-09.."),
        ("a couple of months ago", "a couple of months ago: 2026-05-01..2026-09-30"),
        ("vor ein paar Tagen", "vor ein paar Tagen: 2026-11-14..2026-11-18"),
        ("die letzten paar Wochen", "letzten paar Wochen: 2026-10-09.."),
        ("il y a quelques jours", "il y a quelques jours: 2026-11-14..2026-11-18"),
        ("hace unas semanas", "hace unas semanas: 2026-10-05..2026-11-08"),
        ("qualche giorno fa", "qualche giorno fa: 2026-11-14..2026-11-18"),
        ("alguns dias atrás", "alguns dias atrás: 2026-11-14..2026-11-18"),
        ("een paar dagen geleden", "een paar dagen geleden: 2026-11-14..2026-11-18"),
        ("несколько дней назад", "несколько дней назад: 2026-11-14..2026-11-18"),
        ("för några dagar sedan", "några dagar sedan: 2026-11-14..2026-11-18"),
        ("for et par dage siden", "et par dage siden: 2026-11-14..2026-11-18"),
        ("muutama päivä sitten", "muutama päivä sitten: 2026-11-14..2026-11-18"),
        ("几天前", "几天前: 2026-11-14..2026-11-18"),
        ("数週間前", "数週間前: 2026-10-05..2026-11-08"),
        ("last weekend", "last weekend: 2026-11-14..2026-11-15"),
        ("two weekends ago", "two weekends ago: 2026-11-07..2026-11-08"),
        ("letztes Wochenende", "letztes Wochenende: 2026-11-14..2026-11-15"),
        ("el fin de semana pasado", "fin de semana pasado: 2026-11-14..2026-11-15"),
        ("на прошлых выходных", "прошлых выходных: 2026-11-14..2026-11-15"),
        ("viime viikonloppuna", "viime viikonloppuna: 2026-11-14..2026-11-15"),
        ("上周末", "上周末: 2026-11-14..2026-11-15"),
        ("KW 46", "KW 46: 2026-11-09..2026-11-15"),
        ("KW 50", "KW 50: 2025-12-08..2025-12-14"),
        ("vecka 46 2025", "vecka 46 2025: 2025-11-10..2025-11-16"),
        ("week 46 of 2025", "week 46 of 2025: 2025-11-10..2025-11-16"),
        ("2026-W46", "2026-W46: 2026-11-09..2026-11-15"),
        ("week of March 3", "week of March 3: 2026-03-02..2026-03-08"),
        ("Woche vom 3. März 2025", "Woche vom 3. März 2025: 2025-03-03..2025-03-09"),
        ("la semaine du 3 mars", "semaine du 3 mars: 2026-03-02..2026-03-08"),
        ("March last year", "March last year: 2025-03-01..2025-03-31"),
        ("März letzten Jahres", "März letzten Jahres: 2025-03-01..2025-03-31"),
        ("en mars il y a deux ans", "en mars il y a deux ans: 2024-03-01..2024-03-31"),
        ("mars de l’année dernière", "mars de l’année dernière: 2025-03-01..2025-03-31"),
        ("marzo dell'anno scorso", "marzo dell'anno scorso: 2025-03-01..2025-03-31"),
        ("Q3 last year", "Q3 last year: 2025-07-01..2025-09-30"),
        ("in Q3 of last year", "in Q3 of last year: 2025-07-01..2025-09-30"),
        ("third quarter of 2025", "third quarter of 2025: 2025-07-01..2025-09-30"),
        ("drittes Quartal 2025", "drittes Quartal 2025: 2025-07-01..2025-09-30"),
        ("derde kwartaal van 2025", "derde kwartaal van 2025: 2025-07-01..2025-09-30"),
        ("третий квартал 2025", "третий квартал 2025: 2025-07-01..2025-09-30"),
        ("da agosto", "da agosto: 2026-08-01.."),
        ("dall'agosto all'ottobre 2025", "dall'agosto all'ottobre 2025: 2025-08-01..2025-10-31"),
        ("三月", "三月: 2026-03-01..2026-03-31"),
        ("2025年十二月三十一日", "2025年十二月三十一日: 2025-12-31..2025-12-31"),
        ("三周前", "三周前: 2026-10-26..2026-11-01"),
        ("两个月前", "两个月前: 2026-09-01..2026-09-30"),
        ("十年前", "十年前: 2016-01-01..2016-12-31"),
        ("5月以前", "5月以前: ..2026-04-30"),
        ("5月まで", "5月まで: ..2026-05-31"),
        ("3月份以后", "3月份以后: 2026-03-01.."),
        ("3月以降", "3月以降: 2026-03-01.."),
        ("去年3月", "去年3月: 2025-03-01..2025-03-31"),
        ("昨年の三月", "昨年の三月: 2025-03-01..2025-03-31"),
        ("上月3号", "上月3号: 2026-10-03..2026-10-03"),
        ("上周一", "上周一: 2026-11-09..2026-11-09"),
        ("先週の金曜日", "先週の金曜日: 2026-11-13..2026-11-13"),
        ("上周一直在忙", "上周: 2026-11-09..2026-11-15"),
    ]);
    none_is_read(&[
        "a few days",
        "few people",
        "week 3 exercises",
        "week of work",
        "what new drugs",
        "third quarter",
        "second 2025-13",
        "weekend",
        "3月以外的",
        "几十年前",
        "第三月",
        "第十年前",
    ]);
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
    none_is_read(&[
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
        "years ago",
        "много лет назад",
        "以前年度",
        "上上上个月",
        "2027年",
        "13月",
    ]);
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
        "Q3", "3月", "999年", "fa", "d'octobre", "2025-13", "назад", "0", "-", "next", "Monday", "to", "from", "of", "the", "25",
        "mandag", "i", "år", "and", "weeks", "derniers", "early", "〇", "九",
    ]), 0..10)) {
        let question = words.join(" ");
        if let Some(Asked { when: When::Days(start, Some(end)), words }) = asked(&question, TODAY) {
            prop_assert!(start < end && end <= TODAY, "{} {}", start, end);
            prop_assert!(question.contains(&words));
        }
    }
}
