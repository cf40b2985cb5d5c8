//! The phrases that testers found read by half.

use super::*;

#[test]
fn a_weekday_belongs_to_the_date_beside_it() {
    are_read(&[
        ("on Tuesday, 3 March 2026", "on Tuesday, 3 March 2026: 2026-03-03..2026-03-03"),
        ("on Monday, March 3, 2025", "on Monday, March 3, 2025: 2025-03-03..2025-03-03"),
        ("Tuesday 3 March", "Tuesday 3 March: 2026-03-03..2026-03-03"),
        ("am Dienstag, den 3. März 2026", "am Dienstag, den 3. März 2026: 2026-03-03..2026-03-03"),
        (
            "was haben wir am Dienstag, den 3. März 2026 entschieden",
            "am Dienstag, den 3. März 2026: 2026-03-03..2026-03-03",
        ),
        ("am Mittwoch 05.03.2025", "am Mittwoch 05.03.2025: 2025-03-05..2025-03-05"),
        ("le mardi 3 mars 2026", "le mardi 3 mars 2026: 2026-03-03..2026-03-03"),
        ("el martes 3 de marzo", "el martes 3 de marzo: 2026-03-03..2026-03-03"),
        ("il lunedì 3 marzo", "il lunedì 3 marzo: 2025-03-03..2025-03-03"),
        ("na sexta-feira, 13 de novembro", "na sexta-feira, 13 de novembro: 2026-11-13..2026-11-13"),
        ("op maandag 3 maart 2025", "op maandag 3 maart 2025: 2025-03-03..2025-03-03"),
        ("в среду 4 марта", "в среду 4 марта: 2026-03-04..2026-03-04"),
        ("på måndag 3 mars 2025", "på måndag 3 mars 2025: 2025-03-03..2025-03-03"),
        ("på mandag den 3. marts", "på mandag den 3. marts: 2025-03-03..2025-03-03"),
        ("maanantaina 3. maaliskuuta", "maanantaina 3. maaliskuuta: 2025-03-03..2025-03-03"),
        ("since Monday 3 March", "since Monday 3 March: 2025-03-03.."),
        ("before Friday, 7 March 2025", "before Friday, 7 March 2025: ..2025-03-06"),
        ("after Friday, 7 March 2025", "after Friday, 7 March 2025: 2025-03-08.."),
        ("until Friday, 7 March 2025", "until Friday, 7 March 2025: ..2025-03-07"),
        ("last Friday, 14 November", "last Friday, 14 November: 2025-11-14..2025-11-14"),
        ("after last Friday, 14 November", "after last Friday, 14 November: 2025-11-15.."),
        ("on Friday the 13th of November", "on Friday the 13th of November: 2026-11-13..2026-11-13"),
        ("2025-03-03 - Monday", "2025-03-03 - Monday: 2025-03-03..2025-03-03"),
        ("Monday, 2025-03-03 standup", "Monday, 2025-03-03: 2025-03-03..2025-03-03"),
        (
            "from Monday 3 March to Friday 7 March 2025",
            "from Monday 3 March to Friday 7 March 2025: 2025-03-03..2025-03-07",
        ),
        ("Tuesday 3 March - Friday 6 March 2026", "Tuesday 3 March - Friday 6 March 2026: 2026-03-03..2026-03-06"),
        ("du lundi 3 au vendredi 7 mars 2025", "du lundi 3 au vendredi 7 mars 2025: 2025-03-03..2025-03-07"),
        ("on Monday last week", "on Monday last week: 2026-11-09..2026-11-09"),
        ("am Montag letzter Woche", "am Montag letzter Woche: 2026-11-09..2026-11-09"),
        ("el lunes de la semana pasada", "el lunes de la semana pasada: 2026-11-09..2026-11-09"),
        ("lundi de la semaine dernière", "lundi de la semaine dernière: 2026-11-09..2026-11-09"),
        ("på mandag i forrige uke", "på mandag i forrige uke: 2026-11-09..2026-11-09"),
    ]);
    none_is_read(&["Montag bis Freitag", "on Mondays", "meetings on Mondays", "op maandagen", "montags"]);
}

#[test]
fn a_time_that_lies_ahead_is_not_read_for_a_part_of_it() {
    are_read(&[("next steps in March", "in March: 2026-03-01..2026-03-31")]);
    none_is_read(&[
        "on Monday next week",
        "am Montag nächster Woche",
        "nächste Woche am Montag",
        "in March next year",
        "next year in March",
        "en mars prochain",
        "l'année prochaine en mars",
        "le lundi prochain",
        "lundi de la semaine prochaine",
        "el lunes que viene",
        "marzo del próximo año",
        "lunedì prossimo",
        "na segunda-feira que vem",
        "volgende week op maandag",
        "в марте следующего года",
        "på måndag nästa vecka",
        "ensi viikolla maanantaina",
        "明年3月的计划",
        "来年の三月",
    ]);
}

#[test]
fn units_that_are_named_or_several() {
    are_read(&[
        ("i vecka 47", "i vecka 47: 2026-11-16.."),
        ("i uge 47", "i uge 47: 2026-11-16.."),
        ("i uke 47", "i uke 47: 2026-11-16.."),
        ("i vecka 10 2025", "i vecka 10 2025: 2025-03-03..2025-03-09"),
        ("i kvartal 3 2025", "i kvartal 3 2025: 2025-07-01..2025-09-30"),
        ("i året 2025", "2025: 2025-01-01..2025-12-31"),
        ("i år", "i år: 2026-01-01.."),
        ("in KW 46", "in KW 46: 2026-11-09..2026-11-15"),
        ("Quartal 3 2025", "Quartal 3 2025: 2025-07-01..2025-09-30"),
        ("quarter 3 of 2025", "quarter 3 of 2025: 2025-07-01..2025-09-30"),
        ("notes from the last days", "the last days: 2026-11-14.."),
        ("in den letzten Tagen", "letzten Tagen: 2026-11-14.."),
        ("ces derniers jours", "derniers jours: 2026-11-14.."),
        ("últimos días", "últimos días: 2026-11-14.."),
        ("días pasados", "días pasados: 2026-11-14.."),
        ("ultimi giorni", "ultimi giorni: 2026-11-14.."),
        ("laatste dagen", "laatste dagen: 2026-11-14.."),
        ("последние дни", "последние дни: 2026-11-14.."),
        ("de senaste dagarna", "senaste dagarna: 2026-11-14.."),
        ("last weeks", "last weeks: 2026-10-09.."),
        ("letzten Wochen", "letzten Wochen: 2026-10-09.."),
        ("ultime settimane", "ultime settimane: 2026-10-09.."),
        ("les derniers mois", "derniers mois: 2026-05-20.."),
        ("últimos años", "últimos años: 2020-11-20.."),
        ("in den letzten Jahren", "letzten Jahren: 2020-11-20.."),
        ("im letzten Jahr", "letzten Jahr: 2025-01-01..2025-12-31"),
        ("the last two weeks of meetings", "the last two weeks: 2026-11-06.."),
    ]);
    none_is_read(&[
        "i månaden mars",
        "i veckan",
        "estos días",
        "last day of the course",
        "letzte Woche des Semesters",
        "le dernier jour du stage",
        "last Friday of the month",
        "the last 3 days of the course",
        "les 3 derniers jours du stage",
        "последняя неделя октября",
        "last quarter 2025",
        "letztes Quartal 2025",
        "dernier trimestre 2025",
    ]);
}

#[test]
fn both_times_of_two_are_read_or_none() {
    are_read(&[
        ("2025-03-01 - 2025-03-10", "2025-03-01 - 2025-03-10: 2025-03-01..2025-03-10"),
        ("01.03.2025 - 10.03.2025", "01.03.2025 - 10.03.2025: 2025-03-01..2025-03-10"),
        ("from 2025-03-01 - 2025-03-10", "from 2025-03-01 - 2025-03-10: 2025-03-01..2025-03-10"),
        ("March - May 2025", "March - May 2025: 2025-03-01..2025-05-31"),
        ("3 - 10 March 2025", "3 - 10 March 2025: 2025-03-03..2025-03-10"),
        ("3.-10. März 2025", "3.-10. März 2025: 2025-03-03..2025-03-10"),
        ("2024 - 2025", "2024 - 2025: 2024-01-01..2025-12-31"),
        ("Q2 2025 - Q3 2025", "Q2 2025 - Q3 2025: 2025-04-01..2025-09-30"),
        ("März - Mai 2025", "März - Mai 2025: 2025-03-01..2025-05-31"),
        ("mars - mai 2025", "mars - mai 2025: 2025-03-01..2025-05-31"),
        ("март - май 2025", "март - май 2025: 2025-03-01..2025-05-31"),
        ("KW 10 bis KW 12 2025", "KW 10 bis KW 12 2025: 2025-03-03..2025-03-23"),
        ("Q1 and Q2 2025", "Q1 and Q2 2025: 2025-01-01..2025-06-30"),
        ("Q3 und Q4 2025", "Q3 und Q4 2025: 2025-07-01..2025-12-31"),
        ("Q1 to Q2 2025", "Q1 to Q2 2025: 2025-01-01..2025-06-30"),
        ("von Montag bis Freitag", "von Montag bis Freitag: 2026-11-16.."),
        ("Anfang Oktober bis Ende November", "Anfang Oktober bis Ende November: 2026-10-01.."),
        ("von Anfang März bis Mitte April", "von Anfang März bis Mitte April: 2026-03-01..2026-04-30"),
        ("from early March to late May", "from early March to late May: 2026-03-01..2026-05-31"),
        ("bis Mitte März", "bis Mitte März: ..2026-03-31"),
        ("until mid March", "until mid March: ..2026-03-31"),
        ("up to March 2025", "up to March 2025: ..2025-03-31"),
        ("à partir de mars 2025", "à partir de mars 2025: 2025-03-01.."),
        ("à partir d'octobre", "à partir d'octobre: 2026-10-01.."),
        ("a partir de marzo de 2025", "a partir de marzo de 2025: 2025-03-01.."),
        ("a partir de março de 2025", "a partir de março de 2025: 2025-03-01.."),
        ("maart t/m mei 2025", "maart t/m mei 2025: 2025-03-01..2025-05-31"),
        ("from March 2025 to May", "from March 2025 to May: 2025-03-01..2025-05-31"),
        ("from jan to mar", "from jan to mar: 2026-01-01..2026-03-31"),
        ("yesterday and today", "yesterday and today: 2026-11-19.."),
        ("today and yesterday", "today and yesterday: 2026-11-19.."),
        ("last week and this week", "last week and this week: 2026-11-09.."),
        ("on Monday and Tuesday", "on Monday and Tuesday: 2026-11-16..2026-11-17"),
        ("on 10 and 11 March", "on 10 and 11 March: 2026-03-10..2026-03-11"),
        ("3 to 4 weeks ago", "3 to 4 weeks ago: 2026-10-19..2026-11-01"),
        ("two or three weeks ago", "two or three weeks ago: 2026-10-26..2026-11-08"),
        ("vor 3 bis 4 Wochen", "vor 3 bis 4 Wochen: 2026-10-19..2026-11-01"),
        ("last 2 or 3 days", "last 2 or 3 days: 2026-11-17.."),
        ("between 10 and 12 March", "between 10 and 12 March: 2026-03-10..2026-03-12"),
        ("December 2025 and January 2026", "December 2025 and January 2026: 2025-12-01..2026-01-31"),
        ("issue 3 - 2025-03-10", "2025-03-10: 2025-03-10..2025-03-10"),
        ("Project - March 2025 - Berlin", "March 2025: 2025-03-01..2025-03-31"),
    ]);
    none_is_read(&[
        "March 2025 and June 2025",
        "in March 2024 and March 2025",
        "in March 2024 and in March 2025",
        "on Monday and Friday",
        "on 10 and 12 March",
        "between 1975 and 1996",
        "between 1500 and 2000 words",
        "April and June",
        "in January, February and March 2025",
        "on Monday, Tuesday and Friday",
        "step 3 - 10 items",
        "room 3 - March",
    ]);
}

#[test]
fn years_of_two_figures_and_in_words() {
    are_read(&[
        ("meeting 3 March 25", "3 March 25: 2025-03-03..2025-03-03"),
        ("3. März 25", "3. März 25: 2025-03-03..2025-03-03"),
        ("3 mars 25", "3 mars 25: 2025-03-03..2025-03-03"),
        ("3 марта 25", "3 марта 25: 2025-03-03..2025-03-03"),
        ("10 to 12 March 25", "10 to 12 March 25: 2025-03-10..2025-03-12"),
        ("3 March 25 km", "3 March: 2026-03-03..2026-03-03"),
        ("3 March 10 am", "3 March: 2026-03-03..2026-03-03"),
        ("March 3, 10, 17", "March 3: 2026-03-03..2026-03-03"),
        ("二零二五年三月", "二零二五年三月: 2025-03-01..2025-03-31"),
        ("一九九八年三月", "一九九八年三月: 1998-03-01..1998-03-31"),
        ("二〇二五年十二月三十一日", "二〇二五年十二月三十一日: 2025-12-31..2025-12-31"),
    ]);
    none_is_read(&["3 March 30"]);
}
