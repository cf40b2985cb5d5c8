//! How much of a query is looked up. Each condition, phrase and exclusion costs a pass over the notes or the word
//! index, and each word of a phrase a list of positions: nobody types as many as these limits, and a program that sends
//! more gets an error instead of keeping everybody else waiting.

/// Bytes of a query: some ten thousand words.
pub const MAX_BYTES: usize = 64 << 10;

/// Phrases, exclusions and conditions of a query together; of a property, each value counts.
pub const MAX_TERMS: usize = 64;

/// Words of all phrases and exclusions of a query together.
pub const MAX_PHRASE_WORDS: usize = 256;

/// Regular expressions of a query: for each, the text of all notes that meet the other conditions is read.
pub const MAX_PATTERNS: usize = 8;

/// Bytes of a condition's value: the longest path that a file can have.
pub const MAX_VALUE_BYTES: usize = 4096;

/// A query is over a limit. `given` is how much was counted before counting ended: there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// Over [`MAX_BYTES`].
    #[error("the query is {given} bytes long; at most {MAX_BYTES} are looked up")]
    Bytes {
        /// Its bytes.
        given: usize,
    },
    /// Over [`MAX_TERMS`].
    #[error(
        "the query has {given} or more phrases, exclusions and conditions; at most {MAX_TERMS} are looked up, \
         and each value of a property counts"
    )]
    Terms {
        /// Those counted.
        given: usize,
    },
    /// Over [`MAX_PHRASE_WORDS`].
    #[error("phrases and exclusions of the query have {given} or more words; at most {MAX_PHRASE_WORDS} are looked up")]
    PhraseWords {
        /// Those counted.
        given: usize,
    },
    /// Over [`MAX_PATTERNS`].
    #[error("the query has {given} or more regular expressions; at most {MAX_PATTERNS} are looked for")]
    Patterns {
        /// Those counted.
        given: usize,
    },
    /// Over [`MAX_VALUE_BYTES`].
    #[error("a value of a condition is {given} bytes long; at most {MAX_VALUE_BYTES} are compared")]
    ValueBytes {
        /// Its bytes.
        given: usize,
    },
}

impl TooMuch {
    /// What there is too much of, how much was counted, and the limit.
    pub fn parts(self) -> (&'static str, usize, usize) {
        match self {
            TooMuch::Bytes { given } => ("bytes", given, MAX_BYTES),
            TooMuch::Terms { given } => ("terms", given, MAX_TERMS),
            TooMuch::PhraseWords { given } => ("phrase_words", given, MAX_PHRASE_WORDS),
            TooMuch::Patterns { given } => ("patterns", given, MAX_PATTERNS),
            TooMuch::ValueBytes { given } => ("value_bytes", given, MAX_VALUE_BYTES),
        }
    }
}

/// What of a query has been counted against the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    terms: usize,
    phrase_words: usize,
    patterns: usize,
}

impl Counted {
    /// Counts a condition.
    ///
    /// # Errors
    /// There are too many, or its value is too long.
    pub fn condition(&mut self, value: &str) -> Result<(), TooMuch> {
        self.terms(1)?;
        if value.len() > MAX_VALUE_BYTES { Err(TooMuch::ValueBytes { given: value.len() }) } else { Ok(()) }
    }

    /// Counts a condition on a property: each of its values, which ` OR ` separates.
    ///
    /// # Errors
    /// There are too many, or one is too long.
    pub fn property(&mut self, values: &str) -> Result<(), TooMuch> {
        values.split(" OR ").try_for_each(|value| self.condition(value))
    }

    /// Counts a phrase or an exclusion.
    pub(super) fn phrase(&mut self, text: &str) -> Result<(), TooMuch> {
        self.terms(1)?;
        self.phrase_words += crate::word_count(text);
        if self.phrase_words > MAX_PHRASE_WORDS {
            return Err(TooMuch::PhraseWords { given: self.phrase_words });
        }
        Ok(())
    }

    /// Counts a regular expression.
    ///
    /// # Errors
    /// There are too many, or it is too long.
    pub(super) fn pattern(&mut self, pattern: &str) -> Result<(), TooMuch> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(TooMuch::Patterns { given: self.patterns });
        }
        self.condition(pattern)
    }

    fn terms(&mut self, more: usize) -> Result<(), TooMuch> {
        self.terms = self.terms.saturating_add(more);
        if self.terms > MAX_TERMS { Err(TooMuch::Terms { given: self.terms }) } else { Ok(()) }
    }
}
