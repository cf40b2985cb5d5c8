use super::*;

fn utf16_bytes(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes_of).collect()
}

#[test]
fn utf8_is_taken_as_it_is() {
    let plain = decode("a\0ü\r\n".as_bytes());
    assert_eq!((plain.text.as_str(), plain.start), ("a\0ü\r\n", 0));
    let marked = decode("\u{FEFF}ü".as_bytes());
    assert_eq!((marked.text.as_str(), marked.start), ("\u{FEFF}ü", 3));
    assert_eq!(decode(b"").text, "");
}

#[test]
fn utf16_is_told_by_its_mark() {
    for bytes_of in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let decoded = decode(&utf16_bytes("Grüße 𝄞\n", bytes_of));
        assert_eq!(decoded.text, "Grüße 𝄞\n");
        assert_eq!(decoded.warning, None);
    }
}

#[test]
fn utf16_without_a_mark_is_told_by_its_nulls_and_other_nulls_are_odd() {
    for bytes_of in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let decoded = decode(&utf16_bytes("Grüße – 𝄞\n", bytes_of)[2..]);
        assert_eq!(decoded.text, "Grüße – 𝄞\n");
        assert_eq!(decoded.warning, None);
    }
    let utf32: Vec<u8> = "a\nword".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for bytes in [&utf32, &[&[0xFF, 0xFE, 0, 0], utf32.as_slice()].concat()] {
        assert!(decode(bytes).warning.is_some_and(|warning| warning.message.contains("UTF-32")));
    }
}

#[test]
fn carriage_returns_alone_end_lines() {
    assert_eq!(decode(b"a\rb\r\nc\r\rd\n\r").text, "a\nb\r\nc\n\nd\n\n");
}

#[test]
fn broken_utf16_keeps_the_rest() {
    let mut bytes = utf16_bytes("a\nb", u16::to_le_bytes);
    bytes.push(7);
    let decoded = decode(&bytes);
    assert_eq!((decoded.text.as_str(), decoded.warning.map(|w| w.line)), ("a\nb\u{FFFD}", Some(2)));
    let lone = decode(&[0xFF, 0xFE, 0x00, 0xD8, b'x', 0]);
    assert_eq!((lone.text.as_str(), lone.warning.map(|w| w.line)), ("\u{FFFD}x", Some(1)));
}

#[test]
fn other_bytes_are_replaced_and_the_line_is_named() {
    let decoded = decode(b"a\nb\n\xE4rger");
    assert_eq!(decoded.text, "a\nb\n\u{FFFD}rger");
    assert_eq!(decoded.warning.map(|w| w.line), Some(3));
    assert_eq!(decode(b"\xEF\xBB\xBFa\xFF").start, 3, "a mark before broken text still counts");
}
