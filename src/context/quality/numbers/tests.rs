use super::*;

#[test]
fn numbers_are_looked_up_in_all_their_forms() {
    let note = "We approved 40k (1 250 seats at 3.50, 12,5 %) on 2026-03-14 at 14:30, three people. v2.1, Q3, 07/05.";
    for (caption, wrong) in [
        ("40k, 40,000, 40.000, 40 000 or 40 thousand", false),
        ("1250 seats, 1,250, 1’250", false),
        ("3.5 or 3,50 or 12.5", false),
        ("14 March 2026, 14.03.2026, 3/14, 2026-03", false),
        ("on a Saturday at 2:30 pm", false),
        ("3 people, version 2.1, Q3, Q1", false),
        ("５", false),
        ("75k", true),
        ("41,000", true),
        ("3.14159", true),
        ("40,5", true),
        ("2027", true),
        ("15 March", true),
        ("in June", true),
        ("on a Friday", true),
        ("Q4", true),
        ("٤٢", true),
        ("three steps: 1) sign 2) pay 3) move 4) rest", false),
        ("75) people", true),
    ] {
        assert_eq!(invented(caption, note, None), wrong, "{caption}");
    }
}

#[test]
fn the_date_of_the_note_may_be_written_in_any_form() {
    let date = Some("2026-11-20".parse().unwrap());
    for (caption, plain, relative) in [
        ("On Friday, 20 November 2026", true, true),
        ("Am Freitag, dem 20.11.2026,", true, true),
        ("Vendredi 20 novembre", true, true),
        ("пятница, 20 ноября 2026 года", true, true),
        ("2026年11月20日", true, true),
        ("2026-11-20, week 47, Q4", true, true),
        ("On 19 November", false, true),
        ("Next Monday", false, true),
        ("in December 2026", false, true),
        ("in 2027", false, true),
        ("on 1 November", false, false),
        ("in January", false, false),
        ("in 2024", false, false),
    ] {
        assert_eq!(!invented(caption, "Met Mira.", date), plain, "{caption}");
        assert_eq!(!invented(caption, "Met Mira yesterday.", date), relative, "{caption}, relative");
        assert!(invented(caption, "Met Mira.", None), "{caption}, without a date");
    }
}

#[test]
fn months_that_are_verbs_are_no_dates() {
    for (caption, wrong) in [
        ("It may slip, and they march on", false),
        ("May it slip", false),
        ("It slipped to May", true),
        ("The plan for March", true),
        ("于三月", false),
        ("3月に", true),
    ] {
        assert_eq!(invented(caption, "No dates here.", None), wrong, "{caption}");
    }
    assert!(!invented("3月に延期", "三月に延期", None));
    assert!(!invented("In May", "im Mai", None));
}
