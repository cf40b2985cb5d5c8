//! AND, OR, NOT and parentheses of a query: which notes may answer it at all.
//!
//! Operators are written in capitals. OR joins two neighbours, AND binds closer, and words that no operator touches stay
//! free words: `big apple OR pear` asks for `apple` or `pear`, and `big` ranks. Within parentheses words side by side are
//! all asked for. Parentheses without an operator are punctuation, also around a condition, and a query all in capitals
//! has operators only if they stand between all of its words: `DO NOT ENTER` is a text, `API OR SDK` is not.

use std::borrow::Cow;

use super::field::{BRACKETED, Field, bracketed, condition, dated, dated_end};
use super::slashed::slashed;
use super::{AsWords, CLOSING, OPENING, Parsed, Parser, TooMuch, starts_blank, strip_quote, word_end};

/// Parentheses within each other; what is deeper is punctuation.
const MAX_DEPTH: u8 = 16;

/// Conditions joined by operators.
#[derive(Clone, Debug, PartialEq)]
pub enum Required {
    /// One word, phrase or condition.
    One {
        /// As typed.
        typed: String,
        /// The same as a separate query, in which a word is a phrase.
        query: Box<Parsed>,
    },
    /// What must not be met.
    Not(Box<Required>),
    /// All of these: words and phrases anywhere in the note.
    All(Vec<Required>),
    /// One of these or more.
    Any(Vec<Required>),
}

impl Required {
    /// The opposite: a `Not` of this, or what this `Not` holds.
    fn negated(self) -> Required {
        match self {
            Required::Not(part) => *part,
            part => Required::Not(Box::new(part)),
        }
    }

    /// The parts of an `All`; anything else is the only part.
    pub(in crate::search) fn parts(&self) -> &[Required] {
        match self {
            Required::All(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    /// Its words, phrases and conditions as separate queries, each with whether it stands under a NOT.
    pub(super) fn ones(&self) -> Vec<(bool, &Parsed)> {
        match self {
            Required::One { query, .. } => vec![(false, query)],
            Required::Not(part) => part.ones().into_iter().map(|(not, one)| (!not, one)).collect(),
            Required::All(parts) | Required::Any(parts) => parts.iter().flat_map(Required::ones).collect(),
        }
    }

    /// As it could be typed.
    pub(in crate::search) fn typed(&self) -> String {
        let joined = |parts: &[Required], by: &str| {
            let inner = |part: &Required| match part {
                Required::All(_) | Required::Any(_) => format!("({})", part.typed()),
                _ => part.typed(),
            };
            parts.iter().map(inner).collect::<Vec<_>>().join(by)
        };
        match self {
            Required::One { typed, .. } => typed.clone(),
            Required::Not(part) => format!("NOT {}", joined(std::slice::from_ref(&**part), "")),
            Required::All(parts) => joined(parts, " AND "),
            Required::Any(parts) => joined(parts, " OR "),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    And,
    Or,
    Not,
    Open,
    Close,
    /// With the field, `tag:`, of the parentheses that it is in, or nothing.
    Piece(&'a str, &'a str),
}

/// A piece between blanks, or the chains in a pair of parentheses.
enum Item<'a> {
    Piece(Cow<'a, str>),
    Group(Vec<Chain<'a>>),
}

/// Operands joined by OR; each of them joined by AND. `true` stands for NOT.
type Chain<'a> = Vec<Vec<(bool, Item<'a>)>>;

/// Whether the query has operators, or a condition in parentheses: then [`read`] understands it.
pub(super) fn has_operators(query: &str, as_words: &AsWords) -> bool {
    let operator = |word: &str| matches!(word.trim_matches(['(', ')']), "AND" | "OR" | "NOT") || word.starts_with("-(");
    if query.split_whitespace().any(opens_condition) {
        return true;
    }
    if !query.split_whitespace().any(operator) {
        return false;
    }
    let (tokens, _) = tokens(query, as_words);
    let is_capital = |token: &Token<'_>| match token {
        Token::Piece(_, piece) => piece.starts_with(OPENING) || !piece.chars().any(char::is_lowercase),
        _ => true,
    };
    let side_by_side = |pair: &[Token<'_>]| matches!(pair, [Token::Piece(..), Token::Piece(..) | Token::Not]);
    tokens.iter().any(|token| matches!(token, Token::And | Token::Or | Token::Not))
        && !(tokens.iter().all(is_capital) && tokens.windows(2).any(side_by_side))
}

/// Whether a word is a parenthesis before a condition, a phrase or what must not occur, or behind a field.
fn opens_condition(word: &str) -> bool {
    if opening(word).is_some_and(|(_, field, _)| !field.is_empty()) {
        return true;
    }
    let Some(inner) = word.strip_prefix('(').map(|inner| inner.trim_start_matches('(')) else { return false };
    let body =
        inner.strip_prefix('-').filter(|body| body.starts_with(char::is_alphabetic) || strip_quote(body).is_some());
    body.is_some() || condition(inner).is_some() || strip_quote(inner).is_some()
}

/// Understands a query with operators.
pub(super) fn read(parser: &mut Parser<'_>, query: &str) -> Result<(), TooMuch> {
    let (tokens, starts) = tokens(query, parser.as_words);
    parser.parsed.doubtful.exclusions.extend(exclusions(query, &tokens, &starts));
    let mut reader = Reader { tokens: &tokens, at: 0, dangling: false };
    let chains = reader.chains();
    if reader.dangling {
        parser
            .warn("AND, OR and NOT stand before or between words or conditions; one that does not is left out".into());
    }
    let mut required = Vec::new();
    for chain in chains {
        match free(chain) {
            Ok(pieces) => pieces.iter().try_for_each(|piece| parser.tokens(piece))?,
            Err(chain) => required.extend(parser.chain(chain, false)?),
        }
    }
    parser.parsed.required = all(required);
    // What operators join is no text that was pasted, unless they join nothing but words: `a IS NOT NULL AND b > 1`.
    let is_condition = |(not, one): (bool, &Parsed)| !one.filter.asks_nothing() || !not && !tokens.iter().all(is_text);
    if parser.parsed.ones().skip(1).any(is_condition) {
        parser.parsed.doubtful.exclusions.clear();
    }
    Ok(())
}

/// Words and groups of words that must not occur, each as typed.
fn exclusions(query: &str, tokens: &[Token<'_>], starts: &[usize]) -> Vec<String> {
    let operand = |at: usize| match tokens.get(at + 1)? {
        Token::Piece("", word) => begins_word(word).then_some(starts[at + 1] + word.len()),
        Token::Open => {
            let mut depth = 0_u32;
            let closes = |token: &Token<'_>| {
                depth += u32::from(*token == Token::Open);
                depth -= u32::from(*token == Token::Close);
                depth == 0
            };
            let close = at + 1 + tokens[at + 1..].iter().position(closes)?;
            // Nothing in parentheses leaves nothing out.
            (close > at + 2 && tokens[at + 1..close].iter().all(is_text)).then_some(starts[close] + 1)
        }
        _ => None,
    };
    let not = (0..tokens.len()).filter(|at| tokens[*at] == Token::Not);
    not.filter_map(|at| Some(query[starts[at]..operand(at)?].to_owned())).collect()
}

/// The pieces of a chain that has no operator, which are free words; else the chain.
fn free(mut chain: Chain<'_>) -> Result<Vec<Cow<'_, str>>, Chain<'_>> {
    let alone = matches!(&chain[..], [all] if matches!(&all[..], [(false, _)]));
    let item = if alone { chain.pop().and_then(|mut all| all.pop()) } else { None };
    match item {
        None => Err(chain),
        Some((_, Item::Piece(piece))) => Ok(vec![piece]),
        Some((not, Item::Group(chains))) => {
            let bare = chains.iter().all(|chain| matches!(&chain[..], [all] if matches!(&all[..], [(false, _)])));
            if !bare {
                return Err(vec![vec![(not, Item::Group(chains))]]);
            }
            let pieces: Result<Vec<_>, _> = chains.into_iter().map(free).collect();
            pieces.map(|pieces| pieces.concat())
        }
    }
}

fn all(mut parts: Vec<Required>) -> Option<Required> {
    if parts.len() > 1 { Some(Required::All(parts)) } else { parts.pop() }
}

impl Parser<'_> {
    /// What a chain asks for; its words, unless `negated`, also count as free ones. `None` if it asks for nothing.
    fn chain(&mut self, chain: Chain<'_>, negated: bool) -> Result<Option<Required>, TooMuch> {
        let mut any = Vec::new();
        for operands in chain {
            let mut together = Vec::new();
            for (not, item) in operands {
                let part = match item {
                    Item::Piece(piece) => self.one(&piece, negated ^ not)?,
                    Item::Group(chains) => {
                        let parts = chains.into_iter().map(|chain| self.chain(chain, negated ^ not));
                        all(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
                    }
                };
                together.extend(part.map(|part| if not { part.negated() } else { part }));
            }
            any.extend(all(together));
        }
        Ok(if any.len() > 1 { Some(Required::Any(any)) } else { any.pop() })
    }

    fn one(&mut self, piece: &str, negated: bool) -> Result<Option<Required>, TooMuch> {
        let counted = std::mem::take(&mut self.parsed.counted);
        let doubtful = std::mem::take(&mut self.parsed.doubtful);
        let parsed = Parsed { doubtful, counted, ..Parsed::default() };
        let mut inner = Parser { parsed, unclosed: self.unclosed, as_words: self.as_words, today: self.today };
        let outcome = inner.tokens(piece);
        for word in std::mem::take(&mut inner.parsed.words).split_whitespace() {
            inner.phrase(false, word)?;
        }
        let Parser { mut parsed, unclosed, .. } = inner;
        self.unclosed = unclosed;
        self.parsed.counted = std::mem::take(&mut parsed.counted);
        self.parsed.doubtful = std::mem::take(&mut parsed.doubtful);
        outcome?;
        std::mem::take(&mut parsed.warnings).into_iter().for_each(|warning| self.warn(warning));
        if !negated {
            parsed.phrases.iter().for_each(|words| self.push_words(words));
        }
        let texts = parsed.phrases.is_empty() && parsed.without.is_empty() && parsed.patterns.is_empty();
        let asks = !(texts && parsed.filter.is_empty());
        Ok(asks.then(|| Required::One { typed: piece.to_owned(), query: Box::new(parsed) }))
    }
}

struct Reader<'a, 't> {
    tokens: &'t [Token<'a>],
    at: usize,
    /// Whether an operator was left out.
    dangling: bool,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn takes(&mut self, token: Token<'_>) -> bool {
        let is_next = self.peek() == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads up to the closing parenthesis, or the end.
    fn chains(&mut self) -> Vec<Chain<'a>> {
        let mut chains = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                Token::Close => break,
                Token::And | Token::Or => {
                    self.dangling = true;
                    self.at += 1;
                }
                _ => chains.extend(self.chain()),
            }
        }
        chains
    }

    fn chain(&mut self) -> Option<Chain<'a>> {
        let mut chain: Chain<'a> = vec![vec![self.operand()?]];
        loop {
            let (is_and, is_or) = (self.takes(Token::And), self.takes(Token::Or));
            if !is_and && !is_or {
                return Some(chain);
            }
            match self.operand() {
                None => self.dangling = true,
                Some(operand) if is_or => chain.push(vec![operand]),
                Some(operand) => chain.last_mut()?.push(operand),
            }
        }
    }

    fn operand(&mut self) -> Option<(bool, Item<'a>)> {
        let mut not = false;
        while self.takes(Token::Not) {
            not = !not;
            self.dangling |= !matches!(self.peek(), Some(Token::Not | Token::Piece(..) | Token::Open));
        }
        match self.peek()? {
            Token::Piece(field, piece) => {
                self.at += 1;
                let negated = piece.strip_prefix('-').filter(|_| !field.is_empty());
                let piece = match negated {
                    Some(piece) => Cow::Owned(format!("-{field}{piece}")),
                    None if field.is_empty() => Cow::Borrowed(piece),
                    None => Cow::Owned(format!("{field}{piece}")),
                };
                Some((not, Item::Piece(piece)))
            }
            Token::Open => {
                self.at += 1;
                let chains = self.chains();
                self.takes(Token::Close);
                Some((not, Item::Group(chains)))
            }
            _ => None,
        }
    }
}

/// Whether a text begins with a word, and not with a condition or a phrase.
fn begins_word(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric) && condition(text).is_none()
}

/// Whether a token is no condition, phrase or regular expression.
fn is_text(token: &Token<'_>) -> bool {
    let Token::Piece(field, piece) = token else { return true };
    let body = piece.trim_start_matches(['-', '+']);
    let asks = strip_quote(body).is_some() || slashed(body).is_some() || bracketed(body, starts_blank).is_some();
    field.is_empty() && !asks && condition(body).is_none()
}

/// The parenthesis that a text begins with: whether it is negated, the field before it (`tag:`), and what follows.
fn opening(text: &str) -> Option<(bool, &str, &str)> {
    let body = text.strip_prefix('-').unwrap_or(text);
    let not = body.len() < text.len();
    if let Some(after) = body.strip_prefix('(') {
        return Some((not, "", after));
    }
    // It is repeated before each piece, so it must not be long.
    let (name, after) = body.split_at(body.bytes().take(BRACKETED).position(|b| b == b':')?);
    let is_field = !name.contains(char::is_whitespace) && Field::named(name).is_some();
    let after = after.strip_prefix(":(").filter(|_| is_field)?;
    Some((not, &body[..=name.len()], after))
}

/// Cuts a query at blanks and parentheses outside of quotes and brackets; also says at which byte each token begins.
fn tokens<'a>(query: &'a str, as_words: &AsWords) -> (Vec<Token<'a>>, Vec<usize>) {
    let (mut tokens, mut starts) = (Vec::new(), Vec::new());
    let (mut depth, mut unclosed, mut fields) = (0, false, vec![""]);
    let mut rest = query.trim_start();
    let is_text = as_words.exclusions;
    while !rest.is_empty() {
        let of_group = fields.last().copied().unwrap_or_default();
        let start = query.len() - rest.len();
        if let Some((not, field, after)) = opening(rest) {
            if depth < MAX_DEPTH {
                let not = not && !(is_text && field.is_empty());
                tokens.extend(not.then_some(Token::Not));
                tokens.push(Token::Open);
                starts.resize(tokens.len(), start);
                fields.push(if field.is_empty() { of_group } else { field });
            }
            depth = depth.saturating_add(1);
            rest = after.trim_start();
            continue;
        }
        if let Some(after) = rest.strip_prefix(')') {
            if (1..=MAX_DEPTH).contains(&depth) {
                tokens.push(Token::Close);
                starts.push(start);
                fields.pop();
            }
            depth = depth.saturating_sub(1);
            rest = after.trim_start();
            continue;
        }
        let (piece, after) = rest.split_at(piece_end(rest, of_group, depth > 0, &mut unclosed));
        rest = after.trim_start();
        starts.push(start);
        tokens.push(match piece {
            "AND" if !is_text => Token::And,
            "OR" if !is_text => Token::Or,
            "NOT" if !(is_text && (begins_word(rest) || rest.starts_with('('))) => Token::Not,
            _ => Token::Piece(of_group, piece),
        });
    }
    (tokens, starts)
}

/// Bytes of the piece that `text` begins with, at least one: up to a blank, or a parenthesis that closes one before it;
/// `field` is that of the group, or nothing.
fn piece_end(text: &str, field: &str, in_group: bool, unclosed: &mut bool) -> usize {
    let body = text.strip_prefix('-').unwrap_or(text);
    if let Some((_, after)) = slashed(body) {
        return text.len() - after.len();
    }
    let ends = |after: &str| starts_blank(after) || in_group && after.starts_with(')');
    if let Some((.., after)) = bracketed(body, ends) {
        return text.len() - after.len();
    }
    if let Some(end) = dated_end(body).or_else(|| dated(Field::named(field.strip_suffix(':')?)?, body)) {
        return text.len() - body.len() + end;
    }
    let (mut at, mut opened) = (0, 0u32);
    while let Some(c) = text[at..].chars().next() {
        let begins = at == 0 || text[..at].ends_with([':', '-', '+']);
        if begins && OPENING.contains(&c) && !*unclosed {
            let inner = at + c.len_utf8();
            match text[inner..].find(CLOSING) {
                Some(len) => {
                    let close = inner + len;
                    return close + text[close..].chars().next().map_or(0, char::len_utf8);
                }
                None => *unclosed = true,
            }
        }
        match c {
            '(' => opened += 1,
            ')' if opened > 0 => opened -= 1,
            ')' if in_group => return at.max(1),
            _ if c.is_whitespace() => return at,
            _ => {}
        }
        at += c.len_utf8();
    }
    word_end(text).max(at)
}

#[cfg(test)]
mod tests;
