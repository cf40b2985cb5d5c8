//! What a caption must not say, how it must not begin, and where it must end.

use super::words::{is_unspaced, length_in_words};

/// The fewest words that a caption may have, also after something was cut off.
pub(super) const FEWEST_WORDS: usize = 5;

/// A model that declines says so first.
const REFUSALS: &str = "i'm sorry|i am sorry|sorry, |i can't|i cannot|i can not|i won't|i'm unable|i am unable|i'm not able|\
    i don't have|i do not have|i need more|as an ai|unfortunately, i|please provide|it seems you|it looks like you|\
    es tut mir leid|ich kann nicht|ich kann dies|ich kann das|ich bin nicht in der lage|als ki|leider kann ich|\
    je suis désolé|désolé|je ne peux pas|je ne suis pas en mesure|en tant qu'ia|\
    lo siento|no puedo|como ia|como modelo de lenguaje|mi dispiace|non posso|desculpe|não posso|het spijt me|\
    извините|я не могу|к сожалению, я|как языковая модель|抱歉|很抱歉|对不起|我无法|我不能|作为一个人工智能|作为ai|\
    申し訳|すみません|ごめんなさい|죄송|저는 할 수 없";

/// Phrases of a refusal that count anywhere in the text.
const REFUSALS_ANYWHERE: &str = "as an ai language model|as an ai assistant|help with that|assist with that|unable to comply|\
    unable to provide|unable to help|unable to assist|cannot provide|can't provide|cannot assist|cannot help|\
    no document was provided|no chunk was provided|no context was provided|no passage was provided|no note was provided|\
    no text was provided|no document provided|no chunk provided|no context provided|no passage provided|\
    wasn't provided|please provide the";

/// Parts of prompts and markup that leak into answers. What stands in the note itself is no leak.
const LEAKS: &str = "```|⟦|⟧|</|<note|<document|<chunk|<context|<passage|<outline|<links_out|<caption|<think|[inst]|\
    [/inst]|<s>|\"captions\"|\"caption\"|\"text\":|\"n\":|{\"|system prompt|previous instructions|\
    the instructions above|my instructions|these instructions|as instructed|following the instructions|assistant:|\
    human:|http://|https://|www.|](|[[|]]";

/// Words by which a model greets the question.
const GREETINGS: &str = "sure|okay|ok|certainly|of course|absolutely|natürlich|gerne|bien sûr";

/// Beginnings that introduce the caption, up to a colon.
const ANNOUNCEMENTS: &str = "here is|here's|here are|below is|the caption is|hier ist|voici|aquí está|вот";

/// Labels before a caption.
const LABELS: &str = "caption|context|summary|answer|output|kontext|zusammenfassung|bildunterschrift|résumé|\
    contexte|contexto|контекст|описание|上下文|摘要|说明|文脈|要約";

/// Subjects that say nothing, by language, and what may follow them. The caption begins after both.
struct Opener {
    /// Forms of "this".
    this: &'static str,
    /// Forms of "passage".
    passage: &'static str,
    /// Verbs and the like; longer ones first where one begins another.
    links: &'static str,
}

const OPENERS: [Opener; 7] = [
    Opener {
        this: "this|the|the following|the provided|the given|the above",
        passage: "chunk|section|text|passage|excerpt|part|snippet|note|document|entry|caption|fragment|paragraph|\
            content|documentation|summary",
        links: "is about|is taken from|is from|is part of|is a part of|comes from|appears in|belongs to|deals with|\
            talks about|focuses on|refers to|consists of|describes|discusses|provides|contains|covers|explains|\
            outlines|details|lists|summarizes|summarises|presents|introduces|shows|highlights|states|mentions|\
            records|captures|documents|addresses|gives|notes|of|from|in|is",
    },
    Opener {
        this: "dieser|diese|dieses|der|die|das",
        passage: "abschnitt|passage|text|auszug|ausschnitt|textabschnitt|notiz|teil|stelle",
        links: "handelt von|beschäftigt sich mit|befasst sich mit|beschreibt|behandelt|enthält|erklärt|erläutert|\
            listet|zeigt|dokumentiert|nennt|schildert|diskutiert|stammt aus",
    },
    Opener {
        this: "ce|cet|cette|le|la|l'",
        passage: "passage|section|extrait|texte|partie|note|document",
        links: "traite de|parle de|porte sur|décrit|présente|explique|contient|détaille|aborde|résume|énumère",
    },
    Opener {
        this: "este|esta|el|la",
        passage: "fragmento|sección|pasaje|texto|extracto|parte|nota|documento",
        links: "trata de|trata sobre|habla de|describe|explica|contiene|presenta|detalla|resume",
    },
    Opener {
        this: "этот|эта|это|данный|данная",
        passage: "раздел|отрывок|фрагмент|текст|заметка|часть|абзац",
        links: "рассказывает о|посвящён|посвящена|описывает|содержит|объясняет|перечисляет",
    },
    Opener {
        this: "这|这个|这一|本|该|此",
        passage: "段文字|段内容|段|节|部分|段落|片段|文档|笔记",
        links: "是关于|主要介绍|介绍了|介绍|描述了|描述|讨论了|讨论|说明了|说明|讲述了|讲述",
    },
    Opener {
        this: "この|本",
        passage: "セクションは|セクションでは|文章は|文章では|節では|節は|部分は|チャンクは|メモは",
        links: "、|",
    },
];

/// Adverbs that may stand before a verb of an opener.
const ADVERBS: &str = "briefly|also|primarily|mainly|specifically|mostly";

/// Beginnings that say nothing and cannot be cut off, for the sentence is built on them.
const FLAT: &str = "in this|in diesem abschnitt|in dieser|dans ce passage|dans cette|en este|en esta|в этом|在这";

/// Words that end in a point without ending a sentence.
const ABBREVIATIONS: &str = "dr mr mrs ms st vs etc prof inc ltd co no nr nos vol pp approx ca bzw usw evtl ggf vgl bspw e.g i.e z.b d.h \
    u.a o.ä jr sr fig al mme mlle sra dra т.е т.д т.п др г гг стр ул им";

/// Whether a model declined. A phrase of [`REFUSALS_ANYWHERE`] does not count if the note contains it.
pub(super) fn is_refusal(text: &str, note: &str) -> bool {
    let (text, note) = (plain(text), plain(note));
    REFUSALS.split('|').any(|phrase| text.starts_with(phrase))
        || REFUSALS_ANYWHERE.split('|').any(|phrase| text.contains(phrase) && !note.contains(phrase))
}

/// Whether markup, JSON or parts of a prompt leaked.
pub(super) fn is_leak(text: &str, note: &str) -> bool {
    let (text, note) = (plain(text), plain(note));
    let leaks = |phrase: &str| text.contains(phrase) && !note.contains(phrase);
    text.starts_with(['{', '[']) || leaks("<|") || LEAKS.split('|').any(leaks)
}

/// Lower case, with straight apostrophes.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Whether there are characters that no caption has: replacement, control and private-use characters, and those that
/// change the direction of writing.
pub(super) fn is_garbled(text: &str) -> bool {
    text.chars().any(|c| {
        let control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        control || matches!(u32::from(c), 0xfffd | 0x202a..=0x202e | 0x2066..=0x2069 | 0xe000..=0xf8ff | 0xfff0..=0xfffb | 0xe0000..)
    })
}

/// A caption without preamble and generic opener, and how well it opened: 1 if nothing had to be cut off, less if
/// something was, least if a generic opener remains.
pub(super) fn open(text: &str) -> (String, f32) {
    let mut rest = text.trim_start();
    let mut opening = 1.0;
    // Greeting, announcement, label and subject may follow each other.
    for _ in 0..5 {
        let Some(next) = without_preamble(rest).or_else(|| without_subject(rest)) else { break };
        if length_in_words(next) < FEWEST_WORDS {
            break;
        }
        rest = next;
        opening = 0.8;
    }
    if is_flat(rest) {
        opening = 0.4;
    }
    (capitalised(rest), opening)
}

fn is_flat(text: &str) -> bool {
    FLAT.split('|').any(|start| after(text, start).is_some()) || without_subject(text).is_some()
}

fn without_preamble(text: &str) -> Option<&str> {
    let greeting = |word: &str| after(text, word).and_then(|rest| rest.strip_prefix(['!', ',', '.', ':']));
    if let Some(rest) = GREETINGS.split('|').find_map(greeting) {
        return Some(rest.trim_start());
    }
    let label = |word: &str| after(text, word).and_then(|rest| rest.trim_start().strip_prefix([':', '：']));
    if let Some(rest) = LABELS.split('|').find_map(label) {
        return Some(rest.trim_start());
    }
    ANNOUNCEMENTS.split('|').find_map(|word| after(text, word))?;
    let (announcement, rest) = text.split_once(':')?;
    (announcement.chars().count() < 100).then(|| rest.trim_start())
}

fn without_subject(text: &str) -> Option<&str> {
    OPENERS.iter().find_map(|opener| {
        let these = opener.this.split('|').filter_map(|this| after(text, this));
        let mut passages = these.flat_map(|rest| {
            let rest = rest.trim_start();
            opener.passage.split('|').filter_map(move |passage| after(rest, passage)).map(str::trim_start)
        });
        passages.find_map(|rest| {
            let adverb = ADVERBS.split('|').find_map(|adverb| after(rest, adverb)).map(str::trim_start);
            let rest = adverb.unwrap_or(rest);
            let rest = opener.links.split('|').find_map(|link| after(rest, link))?;
            let rest = rest.trim_start_matches(|c: char| {
                c.is_whitespace() || matches!(c, ',' | ':' | '：' | '，' | '、' | '-' | '–' | '—')
            });
            (!rest.is_empty()).then_some(rest)
        })
    })
}

/// What follows `start` (given in lower case) in the text, if the text begins with it and a word ends there.
fn after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    for wanted in start.chars() {
        let found = rest.next()?;
        let same =
            found == wanted || found.to_lowercase().eq(std::iter::once(wanted)) || (found == '’' && wanted == '\'');
        if !same {
            return None;
        }
    }
    let rest = rest.as_str();
    let open_end = start.chars().next_back().is_none_or(|c| is_unspaced(c) || !c.is_alphanumeric());
    (open_end || !rest.starts_with(char::is_alphanumeric)).then_some(rest)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A caption up to the end of its last whole sentence; `None` if it has none worth keeping. `cut` says that the answer
/// ended at the token limit: then a point behind a number may be a decimal point.
pub(super) fn whole_sentences(text: &str, cut: bool) -> Option<&str> {
    let text = text.trim_end();
    let ends = sentence_ends(text, cut);
    let last = ends.last().copied().unwrap_or(0);
    let closed = text.ends_with([')', ']', '"', '”', '»', '」', '』', '）']);
    if last == text.len() || (!cut && (closed || has_no_points(text))) {
        return Some(text);
    }
    let whole = text.get(..last)?.trim_end();
    (length_in_words(whole) >= FEWEST_WORDS).then_some(whole)
}

/// Thai and its neighbours end sentences with a space.
fn has_no_points(text: &str) -> bool {
    text.chars().next_back().is_some_and(|c| matches!(u32::from(c), 0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff))
}

/// How many sentences there are, a half one at the end included.
pub(super) fn sentences(text: &str) -> usize {
    let text = text.trim_end();
    let ends = sentence_ends(text, false);
    ends.len() + usize::from(ends.last() != Some(&text.len()) && !text.is_empty())
}

/// Byte positions after each sentence, closing quotes and brackets included.
fn sentence_ends(text: &str, cut: bool) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let wide = matches!(c, '。' | '！' | '？' | '．' | '｡');
        let narrow = matches!(c, '.' | '!' | '?' | '…' | '।' | '؟' | '۔' | '։' | '።' | '။' | '។' | '།');
        if !wide && !narrow {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((next, closing)) = chars.peek().copied()
            && matches!(closing, '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '」' | '』' | '）' | '.' | '!' | '?')
        {
            end = next + closing.len_utf8();
            chars.next();
        }
        let rest = text.get(end..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        if wide || (is_apart(rest) && !(c == '.' && goes_on(before, rest, cut))) {
            ends.push(end);
        }
    }
    ends
}

/// Whether nothing, or white space, follows.
fn is_apart(rest: &str) -> bool {
    rest.chars().next().is_none_or(char::is_whitespace)
}

/// Whether a point does not end its sentence: after an abbreviation, an initial, a short number, or before a
/// small letter.
fn goes_on(before: &str, rest: &str, cut: bool) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_lowercase();
    let digits = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
    if rest.is_empty() {
        return cut && digits;
    }
    let initial = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let small = rest.trim_start().starts_with(char::is_lowercase);
    initial || small || (digits && word.len() < 3) || ABBREVIATIONS.split_whitespace().any(|short| short == word)
}
