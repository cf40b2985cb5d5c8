use super::*;
use proptest::prelude::*;

#[test]
fn table() {
    let cases = [
        ("Projects", "projects/plan.md", true),
        ("projects/", "Projects/Sub/Plan.md", true),
        ("/projects", "Projects/Plan.md", true),
        ("proj", "Projects/Plan.md", false),
        ("projects/plan", "Projects/Plan.md", true),
        ("projects/plan.md", "Projects/Plan.md", true),
        ("projects/plan", "Projects/Planet.md", false),
        ("*.md", "a/b/c.md", true),
        ("*.md", "a/b/c.txt", false),
        ("/*.md", "a/b.md", false),
        ("/*.md", "b.md", true),
        ("proj*", "Projects/Plan.md", true),
        ("projects/*.md", "projects/a.md", true),
        ("projects/*.md", "projects/sub/a.md", false),
        ("projects/**", "projects/sub/a.md", true),
        ("projects/**/a.md", "projects/a.md", true),
        ("projects/**/a.md", "projects/x/y/a.md", true),
        ("projects/**/a.md", "projects/ba.md", false),
        ("**/archive/*", "x/archive/a.md", true),
        ("2026-??", "Daily/2026-11/x.md", true),
        ("2026-??-??.md", "Daily/2026-11-20.md", true),
        ("?ber.md", "über.md", true),
        ("Über*", "u\u{308}ber uns.md", true),
        ("a[1].md", "a[1].md", true),
        ("a[1]*", "a1.md", false),
        ("*", "x.md", true),
        ("a*b*c", "axbxbxc", true),
        ("a*b/c", "axb/xb/c", false),
    ];
    for (pattern, path, want) in cases {
        let compiled = PathPattern::new(pattern).unwrap();
        assert_eq!(compiled.matches(path), want, "{pattern} on {path}: {compiled:?}");
    }
    assert_eq!(PathPattern::new("///"), None);
    assert_eq!(PathPattern::new(""), None);
}

/// The definition, without any cleverness.
fn naive(tokens: &[Token], text: &[char]) -> bool {
    let Some((token, rest)) = tokens.split_first() else {
        return text.is_empty() || text[0] == '/';
    };
    match token {
        Token::Char(c) => text.first() == Some(c) && naive(rest, &text[1..]),
        Token::One => text.first().is_some_and(|c| *c != '/') && naive(rest, &text[1..]),
        Token::Star => (0..=text.len()).take_while(|n| !text[..*n].contains(&'/')).any(|n| naive(rest, &text[n..])),
        Token::Any => (0..=text.len()).any(|n| naive(rest, &text[n..])),
        Token::Folders => (0..=text.len()).any(|n| (n == 0 || text[n - 1] == '/') && naive(rest, &text[n..])),
    }
}

proptest! {
    #[test]
    fn agrees_with_the_definition(pattern in "[ab/*?]{1,9}", path in "[ab/]{0,10}") {
        if let Some(PathPattern::Glob(tokens)) = PathPattern::new(&pattern) {
            let chars: Vec<char> = path.chars().collect();
            prop_assert_eq!(glob(&tokens, &path), naive(&tokens, &chars), "{:?}", tokens);
        }
    }

    #[test]
    fn any_pattern_on_any_path(pattern in "\\PC{0,20}", path in "\\PC{0,20}") {
        if let Some(compiled) = PathPattern::new(&pattern) {
            compiled.matches(&path);
        }
    }
}
