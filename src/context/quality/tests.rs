//! Captions judged by hand, in several languages, and what holds for any text.

use proptest::prelude::*;

use super::*;
use note::fingerprint::{context_key, section_key, text_hash};

/// A note of which one passage gets a caption.
struct Sample {
    title: &'static str,
    path: &'static str,
    date: Option<&'static str>,
    headings: &'static [&'static str],
    /// The passages; that with `>` before it is the one.
    passages: &'static [&'static str],
}

impl Sample {
    fn judge(&self, text: &str, ending: Ending) -> Verdict {
        let (document, n) = self.document();
        judge(text, ending, &document, &document.passages[n])
    }

    fn document(&self) -> (Document, usize) {
        let mut text = String::new();
        let mut passages = Vec::new();
        let mut wanted = 0;
        for (n, passage) in self.passages.iter().enumerate() {
            let words = passage.strip_prefix('>').unwrap_or(passage);
            if words.len() < passage.len() {
                wanted = n;
            }
            let start = text.len();
            text.push_str(words);
            let key = section_key(self.headings.iter().map(|h| (1, *h)), n as u32);
            passages.push(Passage {
                n: n as u32 + 1,
                key: context_key(&[key], text_hash(words.as_bytes())),
                sections: vec![key],
                hash: text_hash(words.as_bytes()),
                span: start..text.len(),
                heading_path: self.headings.iter().map(|&h| h.to_owned()).collect(),
            });
            text.push_str("\n\n");
        }
        let document = Document {
            path: self.path.to_owned(),
            title: self.title.to_owned(),
            aliases: Vec::new(),
            tags: Vec::new(),
            kind: None,
            date: self.date.map(str::to_owned),
            properties: Vec::new(),
            outline: self.headings.iter().map(|&h| (2, h.to_owned())).collect(),
            links: Vec::new(),
            text,
            passages,
        };
        (document, wanted)
    }
}

/// The note of the gate's first hand cases.
const ATLAS: Sample = Sample {
    title: "Atlas rollout",
    path: "Projects/Atlas rollout.md",
    date: None,
    headings: &["Atlas rollout", "Risks"],
    passages: &[
        "# Atlas rollout\nOwner: Mira Chen. Vendor: Northwind.",
        ">## Risks\nIt slipped from March to May because the vendor contract was late. She will renegotiate in April.",
        "## Budget\nWe approved 40k for the pilot in Lisbon.",
    ],
};

const DAILY: Sample = Sample {
    title: "2026-11-20",
    path: "Daily/2026-11-20.md",
    date: Some("2026-11-20 Friday"),
    headings: &["2026-11-20", "Kitchen"],
    passages: &[
        "# 2026-11-20\nCalled Tomasz from Brennan Carpentry about the renovation of our kitchen in Porto.",
        ">## Kitchen\nHe says the oak worktops come tomorrow at 14:30, and that the tiles we chose are sold out.\n- sink: 60 cm\n- ask for another quote",
    ],
};

const GERMAN: Sample = Sample {
    title: "Umzug nach Leipzig",
    path: "Privat/Umzug nach Leipzig.md",
    date: Some("2026-03-14 Saturday"),
    headings: &["Umzug nach Leipzig", "Vertrag"],
    passages: &[
        "# Umzug nach Leipzig\nWir ziehen im Mai um. Die Spedition Krüger hat ein Angebot über 1.850 Euro geschickt, Hannah kümmert sich um die Kisten.",
        ">## Vertrag\nDer Vermieter will ihn erst unterschreiben, wenn die Kaution überwiesen ist. Das dauert bei unserer Bank drei Tage. Danach schickt er uns die Schlüssel.",
    ],
};

const RUSSIAN: Sample = Sample {
    title: "Запуск Атласа",
    path: "Проекты/Запуск Атласа.md",
    date: Some("2026-03-14 Saturday"),
    headings: &["Запуск Атласа", "Риски"],
    passages: &[
        "# Запуск Атласа\nОтветственная: Мария Чернова. Поставщик оборудования: компания Северный ветер.",
        ">## Риски\nОн перенесён с марта на май, потому что договор задержался. Она проведёт переговоры в апреле.",
    ],
};

const CHINESE: Sample = Sample {
    title: "阿特拉斯项目上线计划",
    path: "项目/阿特拉斯.md",
    date: Some("2026-03-14 Saturday"),
    headings: &["阿特拉斯项目上线计划", "风险"],
    passages: &[
        "# 阿特拉斯项目上线计划\n负责人：陈米拉。供应商：北风公司。试点城市是里斯本，预算四十万。",
        ">## 风险\n由于供应商的合同迟迟没有签署，上线时间从三月推迟到五月。她将在四月重新谈判。",
    ],
};

const JAPANESE: Sample = Sample {
    title: "アトラス導入計画",
    path: "プロジェクト/アトラス.md",
    date: None,
    headings: &["アトラス導入計画", "リスク"],
    passages: &[
        "# アトラス導入計画\n担当者は田中美咲。ベンダーは北風システム株式会社。試験導入はリスボン支社で行う。",
        ">## リスク\n契約が遅れたため、リリースは三月から五月に延期された。彼女は四月に再交渉する予定である。",
    ],
};

const FRENCH: Sample = Sample {
    title: "Jardin de Camille",
    path: "Jardin.md",
    date: None,
    headings: &["Jardin de Camille", "Arrosage"],
    passages: &[
        "# Jardin de Camille\nPotager derrière la maison de Camille à Arles, avec des tomates, des courges et un figuier.",
        ">## Arrosage\nElle arrose le soir pendant vingt minutes. La pompe est tombée en panne deux fois cet été, il faut la remplacer.",
    ],
};

const SPANISH: Sample = Sample {
    title: "Viaje a Oaxaca",
    path: "Viajes/Oaxaca.md",
    date: None,
    headings: &["Viaje a Oaxaca", "Comida"],
    passages: &[
        "# Viaje a Oaxaca\nViaje con Lucía en noviembre. Nos quedamos cinco noches en la posada de doña Elvira, cerca del mercado.",
        ">## Comida\nElla recomendó el mole negro del puesto del fondo. También probamos tlayudas y chapulines; volvemos el jueves.",
    ],
};

const KOREAN: Sample = Sample {
    title: "아틀라스 출시 계획",
    path: "프로젝트/아틀라스.md",
    date: None,
    headings: &["아틀라스 출시 계획", "위험"],
    passages: &[
        "# 아틀라스 출시 계획\n담당자는 김미라. 공급업체는 북풍전자. 시범 사업은 리스본 지사에서 진행한다.",
        ">## 위험\n계약이 늦어져 출시가 3월에서 5월로 연기되었다. 그녀가 4월에 다시 협상한다.",
    ],
};

const CODE: Sample = Sample {
    title: "sled notes",
    path: "Dev/sled notes.md",
    date: None,
    headings: &["sled notes", "Flushing"],
    passages: &[
        "# sled notes\nEmbedded key-value store used by the indexer, version 0.34.7. Opens with `Config::new().path(dir)`.",
        ">## Flushing\n```rust\nlet db = config.open()?;\ndb.flush()?;\n```\nIt blocks for 500 ms by default; call it on a thread of its own.",
    ],
};

/// What is expected of a caption.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Good,
    Taken,
    Not(Flaw),
    /// Not taken as it is.
    NotGood,
}
use Want::{Good, Not, NotGood};

fn check(sample: &Sample, want: Want, text: &str) {
    let verdict = sample.judge(text, Ending::Whole);
    let right = match (&verdict, want) {
        (Verdict::Taken { weak, .. }, Good) => !weak,
        (Verdict::Taken { .. }, Want::Taken) => true,
        (Verdict::Taken { weak, .. }, NotGood) => *weak,
        (Verdict::Rejected { flaw, .. }, Not(wanted)) => *flaw == wanted,
        (Verdict::Rejected { .. }, NotGood) => true,
        _ => false,
    };
    assert!(right, "{want:?} wanted of {text:?}: {verdict:#?}");
}

#[test]
fn the_first_hand_cases_are_decided_as_they_were() {
    for (want, text) in [
        (
            Good,
            "Risks section of the Atlas rollout note: explains that the Atlas launch slipped because Northwind's contract was late, and that owner Mira Chen renegotiates it.",
        ),
        (
            Good,
            "This chunk discusses the risks section of the Atlas rollout note, owned by Mira Chen, and the late Northwind vendor contract.",
        ),
        (Not(Flaw::Refusal), "I'm sorry, but I can't help with that."),
        (Not(Flaw::Empty), ""),
        (Not(Flaw::Truncated), "Part of the Atlas rollout note that lists"),
        (
            Not(Flaw::Language),
            "Dieser Abschnitt der Notiz beschreibt die Risiken und erklärt, dass der Start sich verschoben hat und die Verträge nicht fertig sind.",
        ),
        (
            NotGood,
            "From the Q3 2023 earnings report of ACME Corporation, describing shareholder dividends and quarterly revenue growth of 314 million dollars.",
        ),
        (NotGood, "It slipped from March to May because the vendor contract was late. She will renegotiate in April."),
        (Not(Flaw::Leak), "<context>Atlas rollout risks</context>"),
        (Not(Flaw::Leak), "{\"context\": \"Atlas\"}"),
        (
            Not(Flaw::Numbers),
            "Risks section of the Atlas rollout note owned by Mira Chen: the Northwind contract delay costs 75k in the Lisbon pilot budget.",
        ),
    ] {
        check(&ATLAS, want, text);
    }
}

#[test]
fn good_captions_pass_in_their_languages() {
    for (sample, text) in [
        (
            &ATLAS,
            "Risks of the Atlas rollout: the launch moved from March to May since vendor Northwind was late with its contract, which Mira Chen renegotiates in April.",
        ),
        (
            &DAILY,
            "Kitchen renovation in Porto, daily note of Friday, 20 November 2026: Tomasz of Brennan Carpentry delivers the oak worktops on Saturday 21 November at 2:30 pm, and the chosen tiles are sold out.",
        ),
        (
            &GERMAN,
            "Umzug nach Leipzig, Mietvertrag: Der Vermieter unterschreibt erst nach Überweisung der Kaution, was bei der Bank 3 Tage dauert; der Umzug mit der Spedition Krüger ist im Mai 2026.",
        ),
        (
            &RUSSIAN,
            "Риски запуска Атласа: запуск перенесён на май из-за задержки договора с поставщиком, компанией Северный ветер; Мария Чернова ведёт переговоры в апреле 2026 года.",
        ),
        (
            &CHINESE,
            "阿特拉斯项目上线计划的风险：北风公司的合同没有按时签署，上线从3月推迟到5月，负责人陈米拉将在四月重新谈判。",
        ),
        (
            &JAPANESE,
            "アトラス導入計画のリスク：ベンダーの北風システム株式会社との契約が遅れ、リリースが5月に延期された。担当者の田中美咲が4月に再交渉する。",
        ),
        (
            &FRENCH,
            "Arrosage du potager de Camille à Arles : elle arrose les tomates et les courges le soir, et la pompe, tombée en panne 2 fois cet été, doit être remplacée.",
        ),
        (
            &SPANISH,
            "Comida del viaje a Oaxaca con Lucía en noviembre: el mole negro que recomendó doña Elvira, tlayudas y chapulines en el mercado, y volver el jueves.",
        ),
        (
            &KOREAN,
            "아틀라스 출시 계획의 위험: 공급업체 북풍전자와의 계약이 늦어져 출시가 5월로 연기되었고 담당자 김미라가 4월에 다시 협상한다.",
        ),
        (
            &CODE,
            "Flushing in the sled notes: `db.flush()` of the embedded key-value store blocks for 500 ms by default, so the indexer should call it on its own thread.",
        ),
    ] {
        check(sample, Good, text);
    }
}

#[test]
fn bad_captions_are_rejected_for_what_is_wrong_with_them() {
    for (sample, flaw, text) in [
        (&ATLAS, Flaw::Empty, " \n\t "),
        (&ATLAS, Flaw::Refusal, "Unfortunately, I cannot see the passage that you mean in this note about Atlas."),
        (
            &GERMAN,
            Flaw::Refusal,
            "Es tut mir leid, aber ich kann diese Anfrage zum Umzug nach Leipzig nicht bearbeiten.",
        ),
        (&CHINESE, Flaw::Refusal, "抱歉，我无法根据提供的内容为阿特拉斯项目生成说明。"),
        (&ATLAS, Flaw::Garbled, "Risks of the Atlas rollout note\u{fffd}\u{fffd} owned by Mira Chen."),
        (&ATLAS, Flaw::Garbled, "Risks of the Atlas rollout \u{202e}note owned by Mira Chen."),
        (&ATLAS, Flaw::Leak, "Risks of the Atlas rollout, owned by Mira Chen.\n\nHuman: What is the budget?"),
        (&ATLAS, Flaw::Leak, "Risks of the Atlas rollout ⟦2⟧, owned by Mira Chen."),
        (&ATLAS, Flaw::Leak, "Risks of the Atlas rollout: see https://example.com/atlas for what Mira Chen knows."),
        (&ATLAS, Flaw::Leak, "I was told to ignore previous instructions about the Atlas rollout of Mira Chen."),
        (&ATLAS, Flaw::Language, "阿特拉斯项目上线计划的风险：北风公司的合同没有按时签署，上线推迟。"),
        (
            &CHINESE,
            Flaw::Language,
            "Risks of the Atlas rollout: the launch moved since the vendor was late with its contract.",
        ),
        (
            &JAPANESE,
            Flaw::Language,
            "阿特拉斯导入计划的风险：由于供应商北风系统公司的合同迟迟没有签署，上线时间推迟，负责人将重新谈判。",
        ),
        (
            &GERMAN,
            Flaw::Language,
            "Moving to Leipzig: the landlord signs the contract only when the deposit has been paid, and then he sends the keys to us.",
        ),
        (
            &RUSSIAN,
            Flaw::Language,
            "Risks of the Atlas launch: it was moved to May because the contract with the vendor was late.",
        ),
        (&ATLAS, Flaw::Length, "Atlas rollout risks."),
        (&ATLAS, Flaw::Truncated, "Risks of the Atlas rollout that Mira Chen and Northwind"),
        (
            &ATLAS,
            Flaw::Ungrounded,
            "A recipe for sourdough bread with olives, rosemary and sea salt from the bakery around the corner.",
        ),
        (&ATLAS, Flaw::Ungrounded, "This section explains the details of the topic that the document describes."),
        (&CHINESE, Flaw::Ungrounded, "这里记录如何烘焙酸面包，需要橄榄、迷迭香和海盐，烤箱温度要很高。"),
        (
            &DAILY,
            Flaw::Numbers,
            "Kitchen renovation in Porto: Tomasz of Brennan Carpentry says that the oak worktops come on 3 December.",
        ),
        (
            &DAILY,
            Flaw::Numbers,
            "Kitchen renovation in Porto of 2024: Tomasz of Brennan Carpentry brings the oak worktops.",
        ),
        (
            &GERMAN,
            Flaw::Numbers,
            "Umzug nach Leipzig: Der Vermieter unterschreibt den Vertrag, wenn die Kaution von 2.400 Euro überwiesen ist.",
        ),
        (
            &ATLAS,
            Flaw::Weak,
            "The Atlas rollout slipped, the Atlas rollout slipped, the Atlas rollout slipped, the Atlas rollout slipped, the Atlas rollout slipped, the Atlas rollout slipped.",
        ),
        (
            &GERMAN,
            Flaw::Weak,
            "Der Vermieter will ihn erst unterschreiben, wenn die Kaution überwiesen ist. Das dauert bei unserer Bank drei Tage.",
        ),
        (&CHINESE, Flaw::Weak, "由于供应商的合同迟迟没有签署，上线时间从三月推迟到五月。她将在四月重新谈判。"),
    ] {
        check(sample, Not(flaw), text);
    }
    let declined = ATLAS.judge("Risks of the Atlas rollout note owned by Mira Chen.", Ending::Refused);
    assert_eq!(declined, Verdict::Rejected { flaw: Flaw::Refusal, score: 0.0 });
}

#[test]
fn a_caption_without_anything_new_is_weak_at_best() {
    check(
        &ATLAS,
        NotGood,
        "The contract was late because of the vendor, so it slipped until May and will be renegotiated.",
    );
    check(&ATLAS, NotGood, "Contract, vendor, April, May, March, renegotiate.");
    check(
        &GERMAN,
        NotGood,
        "Ihn will der Vermieter unterschreiben, sobald die Bank nach Tagen die Kaution überwiesen hat.",
    );
}

#[test]
fn a_note_of_one_passage_asks_for_nothing_new() {
    let one = Sample {
        passages: &[">Mira wants the vendor contract signed before the Lisbon pilot starts in May."],
        ..ATLAS
    };
    check(
        &one,
        Good,
        "Atlas rollout risks: Mira asks that the contract with the vendor is signed before the pilot in Lisbon.",
    );
}

fn taken(sample: &Sample, text: &str, ending: Ending) -> String {
    match sample.judge(text, ending) {
        Verdict::Taken { text, .. } => text,
        rejected @ Verdict::Rejected { .. } => panic!("{text:?}: {rejected:?}"),
    }
}

#[test]
fn what_stands_before_the_matter_is_cut_off() {
    let rest = "risks of the Atlas rollout by Mira Chen, where Northwind's contract was late.";
    for start in [
        "This chunk discusses the ",
        "This section of the note describes the ",
        "The passage briefly explains the ",
        "Sure! Here is the caption: The ",
        "Caption: The ",
        "Here’s a short context for the passage: the ",
        "Okay, this passage is about the ",
        "The following text outlines: the ",
        "  This excerpt covers the ",
    ] {
        let text = taken(&ATLAS, &format!("{start}{rest}"), Ending::Whole);
        let wanted = text == format!("The {rest}") || text == format!("The note describes the {rest}");
        assert!(wanted, "{start:?}: {text}");
    }
    for (sample, text, start) in [
        (
            &GERMAN,
            "Dieser Abschnitt beschreibt den Vertrag für den Umzug nach Leipzig: Vermieter, Kaution und Schlüssel.",
            "Den Vertrag",
        ),
        (
            &FRENCH,
            "Ce passage décrit l’arrosage du potager de Camille à Arles, et la pompe qui est tombée en panne.",
            "L’arrosage",
        ),
        (
            &SPANISH,
            "Este fragmento trata de la comida del viaje a Oaxaca con Lucía: mole negro, tlayudas y chapulines.",
            "La comida",
        ),
        (
            &RUSSIAN,
            "Этот раздел описывает риски запуска Атласа: договор с поставщиком задержался, Мария ведёт переговоры.",
            "Риски",
        ),
        (&CHINESE, "本节介绍了阿特拉斯项目上线计划的风险：北风公司的合同推迟，陈米拉将重新谈判。", "阿特拉斯"),
    ] {
        let text = taken(sample, text, Ending::Whole);
        assert!(text.starts_with(start), "{text}");
    }
    // A note called "The Passage" keeps its name.
    let text = taken(
        &ATLAS,
        "The Atlas rollout slipped since the contract of Northwind was late, says Mira Chen.",
        Ending::Whole,
    );
    assert!(text.starts_with("The Atlas"));
}

#[test]
fn half_sentences_are_cut_off() {
    let whole = "Risks of the Atlas rollout: the contract of Northwind was late, so Mira Chen (owner) renegotiates it.";
    for tail in ["", " The pilot in Lisbon", " It has a budget of 40", " The vendor, e.g. Northwind,"] {
        for ending in [Ending::Whole, Ending::Cut] {
            assert_eq!(taken(&ATLAS, &format!("{whole}{tail}"), ending), whole, "{tail}");
        }
    }
    let text = "Risks of the Atlas rollout, which Dr. Mira Chen of e.g. Northwind renegotiates on 3. May because it";
    assert_eq!(ATLAS.judge(text, Ending::Cut), Verdict::Rejected { flaw: Flaw::Truncated, score: 0.0 });
    let chinese = "阿特拉斯项目上线计划的风险：北风公司的合同没有按时签署，负责人陈米拉将重新谈判。";
    assert_eq!(taken(&CHINESE, &format!("{chinese}试点城市是里"), Ending::Cut), chinese);
    assert_eq!(taken(&ATLAS, &whole.replace(' ', "\n "), Ending::Whole), whole, "in one line");
}

#[test]
fn words_of_the_note_itself_are_no_leaks_and_no_refusals() {
    let note = Sample {
        passages: &[
            "# Atlas rollout\nThe system prompt says: see https://example.com/atlas, `[[Mira Chen]]`.",
            ">## Risks\nThe bot answers that it is unable to help when the contract is late.",
        ],
        ..ATLAS
    };
    check(
        &note,
        Want::Taken,
        "Risks of the Atlas rollout: the bot with the system prompt of https://example.com/atlas is unable to help when the contract is late.",
    );
}

#[test]
fn scores_are_parts_of_one() {
    let all = Scores {
        length: 1.0,
        grounding: 1.0,
        novelty: 1.0,
        specificity: 1.0,
        opening: 1.0,
        numbers: 1.0,
        originality: 1.0,
        coherence: 1.0,
    };
    assert!((weighted(&all) - 1.0).abs() < 1e-6);
    assert!(weighted(&Scores::default()).abs() < 1e-6);
}

#[test]
fn a_huge_note_is_judged_by_its_start_and_the_surroundings() {
    let (mut document, n) = ATLAS.document();
    let filler = "Völlig andere Wörter. ".repeat(40_000);
    document.text.push_str(&filler);
    let start = document.text.len();
    document.text.push_str("The ferry to Lisbon leaves at noon.");
    let mut passage = document.passages[n].clone();
    passage.span = start..document.text.len();
    document.text.push_str(&filler);
    let text = "Risks of the Atlas rollout by Mira Chen: the ferry to Lisbon leaves at noon.";
    assert!(matches!(judge(text, Ending::Whole, &document, &passage), Verdict::Taken { .. }));
}

fn score(verdict: &Verdict) -> f32 {
    match verdict {
        Verdict::Taken { score, .. } | Verdict::Rejected { score, .. } => *score,
    }
}

fn samples() -> [&'static Sample; 10] {
    [&ATLAS, &DAILY, &GERMAN, &RUSSIAN, &CHINESE, &JAPANESE, &FRENCH, &SPANISH, &KOREAN, &CODE]
}

proptest! {
    #[test]
    fn any_text_is_judged(text in any::<String>(), n in 0..10_usize, ending in 0..3) {
        let ending = [Ending::Whole, Ending::Cut, Ending::Refused][ending as usize];
        let score = score(&samples()[n].judge(&text, ending));
        prop_assert!((0.0..=1.0).contains(&score));
    }

    #[test]
    fn any_note_can_be_compared_with(note in any::<String>(), title in any::<String>(), from in 0..99_usize, to in 0..99_usize) {
        let (mut document, n) = ATLAS.document();
        document.text = note;
        document.date = Some(title.clone());
        document.title = title;
        let mut passage = document.passages[n].clone();
        passage.span = from..to;
        let text = "Risks of the Atlas rollout: the contract was late, so Mira Chen renegotiates it on 3. May.";
        let score = score(&judge(text, Ending::Whole, &document, &passage));
        prop_assert!((0.0..=1.0).contains(&score));
    }

    #[test]
    fn mangled_captions_are_judged(cut in 0..200_usize, noise in "\\PC{0,6}", n in 0..10_usize) {
        let text = "Risks of the Atlas rollout: 1.5 times 14:30, 2026-11-20… “the contract”, Dr. (Chen). 3月に。それは」";
        let at = text.floor_char_boundary(cut);
        let text = format!("{}{noise}{}", &text[..at], &text[at..]);
        let score = score(&samples()[n].judge(&text, Ending::Cut));
        prop_assert!((0.0..=1.0).contains(&score));
    }

    /// Words that are in no note, with the small words of a real sentence between them.
    #[test]
    fn soup_from_outside_the_note_is_never_taken(
        words in proptest::collection::vec("[bdfghjkpqvwxyz]{3,9}|the|of|and|with|der|und|der Abschnitt|на", 5..60),
        n in 0..10_usize,
    ) {
        let text = format!("{}.", words.join(" "));
        let verdict = samples()[n].judge(&text, Ending::Whole);
        prop_assert!(matches!(verdict, Verdict::Rejected { .. }), "{text:?}: {verdict:?}");
    }

    #[test]
    fn soup_of_characters_from_outside_is_never_taken(text in "[\u{5b00}-\u{5bff}]{12,80}") {
        let text = format!("{text}。");
        let verdict = CHINESE.judge(&text, Ending::Whole);
        prop_assert!(matches!(verdict, Verdict::Rejected { .. }), "{text:?}: {verdict:?}");
    }
}
