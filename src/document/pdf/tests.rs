use note::Format;
use pdf_extract::{Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream, dictionary};

use super::line;
use crate::Unreadable;
use crate::tests::{read, text};

const WIN: &str = "WinAnsiEncoding";

fn helvetica(encoding: impl Into<Object>) -> Dictionary {
    dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => encoding }
}

/// A document of pages that these programs draw in this font.
fn drawn(programs: &[String], font: Dictionary) -> Document {
    let mut pdf = Document::with_version("1.5");
    let parent = pdf.new_object_id();
    let font = pdf.add_object(font);
    let resources = pdf.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let mut kids = Vec::new();
    for program in programs {
        let content = pdf.add_object(Stream::new(dictionary! {}, program.clone().into_bytes()));
        kids.push(Object::from(pdf.add_object(dictionary! {
            "Type" => "Page", "Parent" => parent, "Contents" => content, "Resources" => resources,
            "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
        })));
    }
    let count = kids.len() as i64;
    pdf.objects.insert(parent, Object::Dictionary(dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count }));
    let catalog = pdf.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    pdf.trailer.set("Root", catalog);
    pdf.trailer.set("ID", vec![Object::string_literal("one"), Object::string_literal("two")]);
    pdf
}

/// A document of pages with these lines.
fn pdf(pages: &[&str]) -> Document {
    let lines = |page: &&str| page.lines().map(|line| format!("({line}) Tj T*\n")).collect::<String>();
    let program = |page| format!("BT /F1 12 Tf 14 TL 50 700 Td {}ET", lines(page));
    drawn(&pages.iter().map(program).collect::<Vec<_>>(), helvetica(WIN))
}

fn saved(mut pdf: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    pdf.save_to(&mut bytes).unwrap();
    bytes
}

/// What is read of a page that a program draws.
fn page(program: &str) -> String {
    text(Format::Pdf, &saved(drawn(&[program.to_owned()], helvetica(WIN)))).trim_end().to_owned()
}

#[test]
fn every_operator_that_writes_is_read() {
    let cases = [
        ("BT /F1 12 Tf 14 TL 72 700 Td (one) Tj (two) ' 0 0 (three) \" ET", "one two three"),
        ("BT /F1 12 Tf 72 700 Td [(o\\)n) 20 <65>] TJ % (no) Tj\n ET", "o)ne"),
        // What draws is passed over, whatever it is and whatever it lacks.
        ("m /X cs q 1 0 0 1 cm /P <</A [1 (x)]>> BDC BT /F1 12 Tf 7 (one) Tj ET EMC w l v Q", "one"),
        ("BI /W 4 /H 1 /CS /G ID (\\( EI\u{1} EI BT /F1 12 Tf (one) Tj ET", "one"),
        ("Q q BT /F1 12 Tf (one) Tj ET q 9 w Q Q", "one"),
    ];
    for (program, expected) in cases {
        assert_eq!(page(program), expected, "{program}");
    }
    // A drawing leaves nothing.
    let drawing = "q 1 0 0 1 5 5 cm 0 0 m 1 0 2 1 2 2 c f Q\n".repeat(100);
    assert_eq!(super::content::writing(drawing.as_bytes()), b"");
}

#[test]
fn words_are_told_apart_whichever_way_they_run() {
    let at = |matrix: &str, words: &str| format!("{matrix} Tm ({words}) Tj ");
    let cases = [
        // A table and lines that stand on their side, and an order that lies on its head.
        (
            at("0 1 -1 0 200 72", "one two") + &at("0 1 -1 0 200 172", "three") + &at("0 1 -1 0 214 72", "four"),
            "one two three four",
        ),
        (at("-1 0 0 -1 500 72", "one") + &at("-1 0 0 -1 470 72", "two"), "one two"),
        (at("1 0 0 -1 72 72", "one") + &at("1 0 0 -1 100 72", "two"), "one two"),
        // Back on a line, and to where a word stands already.
        (
            at("1 0 0 1 400 700", "12.50") + &at("1 0 0 1 72 700", "Total") + &at("1 0 0 1 72 700", "Freight"),
            "12.50 Total Freight",
        ),
        // Kerning, raised signs and a word in pieces are no spaces.
        ("1 0 0 1 72 700 Tm [(W) 80 (A) 120 (VE) -90 (ry)] TJ 4 Ts (2) Tj 0 Ts (x) Tj".to_owned(), "WAVEry2x"),
        ("2 Tc 1 0 0 1 72 700 Tm (spa) Tj (ced) Tj".to_owned(), "spaced"),
        (at("1 0 0 1 72 700", "harbour-") + &at("1 0 0 1 72 680", "master"), "harbourmaster"),
    ];
    for (program, expected) in cases {
        assert_eq!(page(&format!("BT /F1 12 Tf {program} ET")), expected, "{program}");
    }
}

/// What is read of letters that stand at these places of a line, each ten wide.
fn of_line(signs: &[(f64, &str)]) -> String {
    let mut page = super::Page::default();
    for (at, sign) in signs {
        let at = pdf_extract::Transform::row_major(1.0, 0.0, 0.0, 1.0, *at, 0.0);
        pdf_extract::OutputDev::begin_word(&mut page).unwrap();
        pdf_extract::OutputDev::output_character(&mut page, &at, 1.0, 0.0, 10.0, sign).unwrap();
    }
    line(&page.text())
}

#[test]
fn what_is_read_from_right_to_left_is_put_in_order() {
    let seen = |line: &str| {
        let signs = line.chars().enumerate().filter(|(_, c)| *c != ' ');
        signs.map(|(n, c)| (n as f64 * 10.0, c.to_string())).collect::<Vec<_>>()
    };
    for (drawn, expected) in [
        ("םולש", "שלום"),
        ("abc םולש de", "abc שלום de"),
        (".רובע 12.50 ab cd םולש", "שלום ab cd 12.50 עבור."),
        ("5 םולש", "שלום 5"),
        ("abc 12", "abc 12"),
    ] {
        let signs = seen(drawn);
        let mut signs: Vec<(f64, &str)> = signs.iter().map(|(at, sign)| (*at, sign.as_str())).collect();
        assert_eq!(of_line(&signs), expected);
        // In whichever order it is drawn.
        if drawn != "abc 12" {
            signs.reverse();
            assert_eq!(of_line(&signs), expected);
        }
    }
}

#[test]
fn a_document_whose_table_is_wrong_is_read() {
    let bytes = saved(pdf(&["Page one.", "Page two."]));
    let at = bytes.windows(9).rposition(|part| part == b"startxref").unwrap();
    let table = bytes.windows(4).position(|part| part == b"xref").unwrap();
    let shifted = [b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.5\n".as_slice(), &bytes[9..]].concat();
    let damaged = [shifted, [&bytes[..at], b"startxref\n7\n%%EOF"].concat(), bytes[..table].to_vec()];
    for (n, bytes) in damaged.iter().enumerate() {
        assert_eq!(text(Format::Pdf, bytes), "Page one.\nPage two.\n", "{n}");
    }
}

#[test]
fn fonts_of_any_encoding_are_read() {
    let base = |name: &str| dictionary! { "BaseEncoding" => name, "Differences" => vec![97.into(), "b".into()] };
    let cases: [(Object, &str); 4] = [
        ("StandardEncoding".into(), "fi a"),
        ("Unheard".into(), "fi a"),
        (base("StandardEncoding").into(), "fi b"),
        (base(WIN).into(), "® b"),
    ];
    for (encoding, expected) in cases {
        let bytes = saved(drawn(&["BT /F1 12 Tf (\\256 a) Tj ET".to_owned()], helvetica(encoding.clone())));
        assert_eq!(read(Format::Pdf, &bytes).unwrap(), (format!("{expected}\n"), None), "{encoding:?}");
    }
}

#[test]
fn widths_that_hold_for_several_letters_are_read() {
    let letters = "begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0041> <005a> <0041> \
                   endbfrange endcmap";
    let inner =
        dictionary! { "Type" => "Font", "Subtype" => "CIDFontType2", "W" => vec![65.into(), 90.into(), 500.into()] };
    let font = dictionary! {
        "Type" => "Font", "Subtype" => "Type0", "BaseFont" => "F", "Encoding" => "Identity-H",
        "ToUnicode" => 99_u32, "DescendantFonts" => vec![inner.into()],
    };
    let program = "BT /F1 12 Tf 72 700 Td <004100420043> Tj 18 0 Td <0044> Tj 12 0 Td <0045> Tj ET".to_owned();
    let mut pdf = drawn(&[program], font);
    let letters = pdf.add_object(Stream::new(dictionary! {}, letters.as_bytes().to_vec()));
    for object in pdf.objects.values_mut().filter_map(|object| object.as_dict_mut().ok()) {
        if object.has(b"ToUnicode") {
            object.set("ToUnicode", letters);
        }
    }
    assert_eq!(read(Format::Pdf, &saved(pdf)).unwrap(), ("ABCD E\n".to_owned(), None));
}

#[test]
fn pages_that_cannot_be_read_are_not_said_to_be_scanned() {
    let programs = ["BT /F1 12 Tf (one) Tj ET", "BT (no font) Tj ET"].map(str::to_owned);
    for (programs, expected) in [(&programs[..], "1 of its 2"), (&programs[1..], "1 of its 1")] {
        let remark = read(Format::Pdf, &saved(drawn(programs, helvetica(WIN)))).unwrap().1;
        assert_eq!(remark, Some(format!("{expected} pages cannot be read in full")));
    }
}

#[test]
fn each_page_of_a_pdf_is_a_line() {
    let bytes = saved(pdf(&["The lantern on the\npier burns whale oil, which is expen-\nsive.", "", "Page three."]));
    let (text, remark) = read(Format::Pdf, &bytes).unwrap();
    assert_eq!(text, "The lantern on the pier burns whale oil, which is expensive.\n\nPage three.\n");
    assert_eq!(remark, None);
}

#[test]
fn a_pdf_without_text_says_so() {
    let (text, remark) = read(Format::Pdf, &saved(pdf(&["", ""]))).unwrap();
    assert_eq!((text.as_str(), remark.is_some_and(|remark| remark.contains("scanned"))), ("\n\n", true));
}

#[test]
fn a_pdf_with_a_password_is_encrypted_and_one_that_only_must_not_be_printed_is_read() {
    let encrypted = |password: &str, is_own_object: bool| {
        let mut pdf = pdf(&["secret words"]);
        let version = EncryptionVersion::V2 {
            document: &pdf,
            owner_password: "owner",
            user_password: password,
            key_length: 128,
            permissions: Permissions::empty(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        pdf.encrypt(&state).unwrap();
        if !is_own_object {
            let id = pdf.trailer.get(b"Encrypt").and_then(Object::as_reference).unwrap();
            let own = pdf.objects.remove(&id).unwrap();
            pdf.trailer.set("Encrypt", own);
        }
        pdf
    };
    assert_eq!(read(Format::Pdf, &saved(encrypted("no guess", true))), Err(Unreadable::Encrypted));
    assert_eq!(text(Format::Pdf, &saved(encrypted("", true))), "secret words\n");
    assert_eq!(read(Format::Pdf, &saved(encrypted("", false))), Err(Unreadable::Encrypted));
}

#[test]
fn what_follows_the_end_of_a_pdf_is_passed_over() {
    for tail in [100, 600, 5_000] {
        let bytes = [saved(pdf(&["Page one."])), vec![0; tail]].concat();
        assert_eq!(text(Format::Pdf, &bytes), "Page one.\n", "{tail}");
    }
}

proptest::proptest! {
    #[test]
    fn no_program_makes_the_rest_unreadable(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let once = super::content::writing(&bytes);
        proptest::prop_assert_eq!(super::content::writing(&once), once);
    }

    #[test]
    fn any_page_becomes_one_line(page in "(?s).{0,200}") {
        let line = line(&page);
        assert!(!line.contains(['\n', '\r']) && !line.contains("  "));
    }
}
