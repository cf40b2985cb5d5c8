//! The word before the cursor as a shell passes it: with quotes and backslashes, and, in bash, split at more than
//! blanks.

use crate::cli::print::escaped;

/// Characters besides blanks and quotes at which bash begins a new word, unless its `COMP_WORDBREAKS` was changed.
const BREAKS: &[char] = &['@', '>', '<', '=', ';', '|', '&', '(', ':'];

/// The word that is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// The word as the program would receive it.
    pub(super) text: String,
    /// The quote that is open.
    quote: Option<char>,
    /// Bytes of `text` that bash counts as earlier words.
    before: usize,
    /// Whether it begins with a `~` that the shell replaces by a home folder.
    home: bool,
}

impl Typed {
    /// The complete words of a line, and the last one, which is being typed.
    pub(super) fn words(line: &str) -> (Vec<String>, Self) {
        let mut words = Vec::new();
        let last = Typed::read(line, Some(&mut words));
        (words, last)
    }

    /// Without `words`, a blank is part of the word.
    fn read(raw: &str, mut words: Option<&mut Vec<String>>) -> Self {
        let mut typed = Typed::default();
        let mut begun = false;
        let mut escaped = false;
        for c in raw.chars() {
            if let (None, false, Some(words)) = (typed.quote, escaped, words.as_mut())
                && c.is_whitespace()
            {
                let word = std::mem::take(&mut typed);
                words.extend(std::mem::take(&mut begun).then_some(word.text));
                continue;
            }
            begun = true;
            match (typed.quote, c) {
                _ if std::mem::take(&mut escaped) => typed.text.push(c),
                (None | Some('"'), '\\') => escaped = true,
                (None, '"' | '\'') => {
                    typed.quote = Some(c);
                    typed.before = typed.text.len();
                }
                (Some(open), c) if open == c => typed.quote = None,
                (quote, c) => {
                    typed.home |= quote.is_none() && c == '~' && typed.text.is_empty();
                    typed.text.push(c);
                    if quote.is_none() && BREAKS.contains(&c) {
                        typed.before = typed.text.len();
                    }
                }
            }
        }
        typed
    }

    /// What bash inserts for the word: without the part that it counts as earlier words, and quoted, which other shells
    /// do themselves. The shell reads back the name and runs nothing of it; a line feed, which a word that is typed
    /// cannot have, makes it `None`.
    pub(super) fn insert(&self, name: &str) -> Option<String> {
        // In a name that differs in case, this offset may be inside a character.
        let rest = name.get(self.before..).filter(|rest| !rest.contains('\n'))?;
        let plain = |c: char| match self.quote {
            Some('\'') => true,
            Some(_) => !"$`\"\\".contains(c),
            None => c.is_alphanumeric() || "_-./:,+%#=@".contains(c) || !c.is_ascii(),
        };
        // A `~` that is quoted means no home any more.
        let (home, rest) = rest.split_at(usize::from(self.home && self.before == 0 && rest.starts_with('~')));
        let quoted = escaped(rest, plain);
        Some(if self.quote == Some('\'') { quoted.replace('\'', r"'\''") } else { format!("{home}{quoted}") })
    }
}

/// A word without the quotes and backslashes that a shell has in it.
pub(super) fn unquoted(raw: &str) -> String {
    Typed::read(raw, None).text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_line_is_what_is_typed() {
        // (line, text, what bash takes for words before, what is inserted for a name)
        let cases: [(&str, &str, &str, &str, &str); 13] = [
            ("situated run ~/My", "~/My", "", "~/My Notes/", r"~/My\ Notes/"),
            (r"situated run \~My", "~My", "", "~My Notes", r"\~My\ Notes"),
            ("situated get Pl", "Pl", "", "Plan B", r"Plan\ B"),
            (r"situated get My\ No", "My No", "", "My Notes", r"My\ Notes"),
            ("situated get \"My No", "My No", "", "My Notes", "My Notes"),
            ("situated search tag:wo", "tag:wo", "tag:", "tag:work/late", "work/late"),
            ("situated search tag:", "tag:", "tag:", "tag:work", "work"),
            (r#"situated search link:\"A"#, "link:\"A", "link:", "link:\"A b\"", r#"\"A\ b\""#),
            ("situated search 'link:\"A", "link:\"A", "", "link:\"A b\"", "link:\"A b\""),
            ("situated get ", "", "", "$(rm)", r"\$\(rm\)"),
            ("situated get Note#Th", "Note#Th", "", "Note#The end", r"Note#The\ end"),
            ("situated get \"e", "e", "", "e$(rm)`ls`\"\\ it's", r#"e\$(rm)\`ls\`\"\\ it's"#),
            ("situated get 'e", "e", "", "e$(rm) it's", r"e$(rm) it'\''s"),
        ];
        for (line, text, before, name, inserted) in cases {
            let (words, typed) = Typed::words(line);
            assert_eq!((words.len(), typed.text.as_str(), typed.before), (2, text, before.len()), "{line}");
            assert_eq!(typed.insert(name).as_deref(), Some(inserted), "{line}");
        }
        assert_eq!(Typed::default().insert("two\nlines"), None);
        assert_eq!(Typed::words(r#"a "" 'b c'd \  e"#).0, ["a", "", "b cd", " "]);
        assert_eq!(unquoted(r"tag:two\ w"), "tag:two w");
    }
}
