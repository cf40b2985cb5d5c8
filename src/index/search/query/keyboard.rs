//! Signs as keyboards for Chinese and Japanese write them.

use std::borrow::Cow;

use super::Field;

/// The signs that are looked for.
const WIDE: [char; 6] = ['（', '）', '：', '＂', '「', '」'];

/// The query with the language's own signs, where these begin or end a word, a condition or a group: `tag：work`,
/// `（a OR b）`, `「a phrase」`. Within words they stay: a title may have them.
pub(super) fn plain(query: &str) -> Cow<'_, str> {
    if !query.contains(WIDE) {
        return Cow::Borrowed(query);
    }
    let mut plain = String::with_capacity(query.len());
    let (mut word, mut groups, mut closing) = (0, 0_usize, None);
    for c in query.chars() {
        if plain.ends_with(|before: char| before.is_whitespace() || before == '(') {
            word = plain.len();
        }
        let begins = plain.len() == word || plain.ends_with(['-', '+', ':']);
        plain.push(match c {
            _ if closing == Some(c) => {
                closing = None;
                '"'
            }
            _ if closing.is_some() => c,
            '"' | '＂' | '「' if begins => {
                closing = Some(if c == '「' { '」' } else { c });
                '"'
            }
            '（' if begins => {
                groups += 1;
                '('
            }
            '）' if groups > 0 => {
                groups -= 1;
                ')'
            }
            '：' if Field::named(plain[word..].strip_prefix('-').unwrap_or(&plain[word..])).is_some() => ':',
            _ => c,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_outside_of_words_are_those_of_the_language() {
        for (typed, plain_form) in [
            ("（apple OR fig） AND cherry", "(apple OR fig) AND cherry"),
            ("tag：work -linked-from：「会议 纪要」", "tag:work -linked-from:\"会议 纪要\""),
            ("tag：（work OR 会议）", "tag:(work OR 会议)"),
            ("＂是的：我（不）」＂ +「x」", "\"是的：我（不）」\" +\"x\""),
            ("\"a （b）\" （c）", "\"a （b）\" (c)"),
            ("会议（2025） 注意：a 彼は「はい」と", "会议（2025） 注意：a 彼は「はい」と"),
            ("）：」", "）：」"),
        ] {
            assert_eq!(plain(typed), plain_form, "{typed}");
        }
    }
}
