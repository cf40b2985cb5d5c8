use super::*;

#[test]
fn forms_of_a_word_are_known_by_their_beginning() {
    for (word, other, same) in [
        ("verträge", "vertrag", true),
        ("vertrages", "vertrag", true),
        ("vertragsverzug", "vertrag", true),
        ("переговоры", "переговорах", true),
        ("риски", "риск", true),
        ("risk", "risks", true),
        ("international", "internal", true),
        ("international", "interest", false),
        ("plan", "planet", true),
        ("plan", "planetary", false),
        ("cat", "cats", false),
    ] {
        assert_eq!(Terms::vocabulary(other).has_word(word), same, "{word} {other}");
    }
}

#[test]
fn length_is_counted_in_words_of_any_script() {
    for (text, words) in [
        ("", 0),
        ("Mira's well-known plan, 40k.", 4),
        ("阿特拉斯项目延期", 4),
        ("GPT模型很慢", 3),
        ("ภาษาไทยง่าย", 2),
        ("…!", 0),
    ] {
        assert_eq!(length_in_words(text), words, "{text}");
    }
}

#[test]
fn stop_words_tell_the_language() {
    for (text, language) in [
        ("The launch of the pilot was late because of the vendor.", Some("en")),
        ("Der Start des Piloten war wegen des Lieferanten zu spät und teuer.", Some("de")),
        ("Le lancement du pilote est en retard pour cause de contrat avec le fournisseur.", Some("fr")),
        ("El lanzamiento del piloto se retrasó por el contrato con los proveedores.", Some("es")),
        ("Запуск пилота был отложен, потому что договор с поставщиком не был готов.", Some("ru")),
        ("Atlas Northwind Mira Chen Lisbon pilot budget", None),
        ("no", None),
    ] {
        assert_eq!(language_by_stop_words(text), language, "{text}");
    }
}
