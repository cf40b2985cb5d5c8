//! Base64, in which some files and answers hold numbers. Pure.

/// The bytes of a text in the usual alphabet; `None` if it is not base64.
pub fn bytes_of(base64: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut held, mut bits) = (Vec::with_capacity(base64.len() / 4 * 3), 0_u32, 0);
    for byte in base64.trim_end_matches('=').bytes() {
        (held, bits) = (held << 6 | u32::from(digit(byte)?), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}
