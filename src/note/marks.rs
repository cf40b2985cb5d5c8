//! Marks around words in Org mode and reStructuredText.

/// Marks further apart than this many bytes are no pair, so that hostile text takes linear time.
const FURTHEST: usize = 500;

/// The text without those of the `marks`, of ASCII, that stand in pairs around words, as in `*this*` or `**this**`. A pair
/// has white space or punctuation on its outer sides, and none on its inner sides.
pub(super) fn unmarked(text: &str, marks: &[char]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(marks) {
        let (before, marked) = rest.split_at(at);
        out.push_str(before);
        let width = 1 + usize::from(marked[1..].starts_with(&marked[..1]));
        let (mark, after) = marked.split_at(width);
        let inner = pair(&out, mark, after);
        out.push_str(inner.map_or(mark, |inner| without_inner(inner, marks)));
        rest = inner.map_or(after, |inner| &after[inner.len() + width..]);
    }
    out.push_str(rest);
    out
}

/// Without a second mark, as in `*/this/*`.
fn without_inner<'t>(text: &'t str, marks: &[char]) -> &'t str {
    let is_pair = text.len() > 2 && text.as_bytes().first() == text.as_bytes().last();
    let inner = text.strip_prefix(marks).and_then(|inner| inner.strip_suffix(marks));
    inner.filter(|_| is_pair).unwrap_or(text)
}

/// What stands between a mark and its partner in `after`.
fn pair<'t>(before: &str, mark: &str, after: &'t str) -> Option<&'t str> {
    let outer = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '\\');
    if !outer(before.chars().next_back()) || after.starts_with(char::is_whitespace) {
        return None;
    }
    let near = after.floor_char_boundary(FURTHEST);
    let ends = |at: &usize| {
        let (within, behind) = (&after[..*at], &after[at + mark.len()..]);
        *at > 0 && !within.ends_with(char::is_whitespace) && outer(behind.chars().next())
    };
    after[..near].match_indices(mark).map(|(at, _)| at).find(ends).map(|at| &after[..at])
}
