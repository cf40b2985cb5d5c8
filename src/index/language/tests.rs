use super::*;

#[test]
fn codes() {
    for &language in Language::ALL {
        assert_eq!(Language::of_code(language.code()), Some(language));
    }
    assert_eq!(Language::of_code("DE-at"), Some(Language::German));
    assert_eq!(Language::of_code("pt_BR"), Some(Language::Portuguese));
    assert_eq!(Language::of_code("nb"), Some(Language::Norwegian));
    assert_eq!((Language::of_code("tlh"), Language::of_code("")), (None, None));
}

#[test]
fn languages_of_texts() {
    let texts = [
        (
            "The committee met on Tuesday to talk about the plans for the new library, which the council had asked \
                 for in spring. Nobody thought that the money would be enough.",
            Some(Language::English),
        ),
        (
            "Die Sitzung am Dienstag drehte sich um die Pläne für die neue Bücherei, um die der Rat im Frühjahr \
                 gebeten hatte. Niemand glaubte, dass das Geld dafür reichen würde.",
            Some(Language::German),
        ),
        (
            "Комитет собрался во вторник, чтобы обсудить планы новой библиотеки, о которых совет просил весной. \
                 Никто не думал, что денег хватит.",
            Some(Language::Russian),
        ),
        (
            "委員会は火曜日に新しい図書館の計画について話し合うために集まりました。そして次の会議の日程を決めました。",
            None,
        ),
        ("Short.", None),
    ];
    for (text, language) in texts {
        assert_eq!(Language::of_text(text), language, "{text}");
    }
}

#[test]
fn stems() {
    let table = [
        (Language::English, "running", Some("run")),
        (Language::English, "résumés", None),
        (Language::English, "x86", None),
        (Language::German, "Häuser", Some("haus")),
        (Language::German, "x86", None),
        (Language::Russian, "библиотеками", Some("библиотек")),
        (Language::Russian, "caching", Some("cach")),
        (Language::French, "continuellement", Some("continuel")),
        (Language::French, "москва", None),
        (Language::Finnish, "", None),
    ];
    for (language, word, stem) in table {
        let got = language.stem(word).or_else(|| language.stem_folded(word));
        // The umlauts are folded afterwards.
        let got = got.map(|s| s.replace('ä', "a"));
        assert_eq!(got.as_deref(), stem, "{word}");
    }
}
