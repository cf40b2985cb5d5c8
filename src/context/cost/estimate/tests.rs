use super::super::super::settings::Provider;
use super::*;

fn model(id: &str) -> Model {
    let provider = if id.starts_with("claude") { Provider::Anthropic } else { Provider::OpenAi };
    Model::find(provider, id, false, &[]).unwrap()
}

/// A note of so many tokens in chunks of so many.
fn note(tokens: u64, chunk: u64) -> NoteSize {
    let bytes = |tokens: u64| tokens * 18 / 5;
    let chunks = (tokens as f64 / chunk as f64).round() as usize;
    NoteSize { bytes: bytes(tokens), chunks_in_note: chunks as u32, wanted: vec![bytes(chunk); chunks] }
}

fn estimated(notes: impl IntoIterator<Item = NoteSize>, model: &Model, form: FormChoice, batch: bool) -> Estimate {
    let config = ContextConfig { form, ..ContextConfig::default() };
    estimate(notes, &Asking { model, config: &config, tokens_per_byte: LATIN, batch })
}

/// Dollars per million tokens of notes, as the cost model that the defaults were chosen by gives them: for
/// calls per passage, and for calls per note.
#[test]
fn estimates_agree_with_the_cost_model() {
    let cases = [
        ("claude-haiku-4-5", false, [(3.837, 1.722), (10.667, 2.281), (5.000, 3.227)]),
        ("claude-haiku-4-5", true, [(1.919, 0.861), (5.333, 1.141), (2.500, 1.613)]),
        ("claude-haiku-5-5", false, [(0.499, 0.221), (0.600, 0.291), (0.566, 0.413)]),
        ("claude-haiku-5-5", true, [(0.249, 0.111), (0.300, 0.146), (0.283, 0.206)]),
        ("gpt-6-luna", false, [(0.384, 0.172), (0.462, 0.228), (0.500, 0.323)]),
        ("gpt-5.4-nano", false, [(0.749, 0.380), (0.920, 0.511), (1.058, 0.714)]),
    ];
    for (id, batch, rows) in cases {
        for ((tokens, chunk), (per_chunk, per_note)) in [(8000, 800), (3000, 400), (600, 300)].into_iter().zip(rows) {
            for (form, dollars) in [(FormChoice::Chunk, per_chunk), (FormChoice::Note, per_note)] {
                let notes = std::iter::repeat_n(note(tokens, chunk), 100);
                let sum = estimated(notes, &model(id), form, batch);
                let found = sum.micro_dollars.unwrap() as f64 / (100 * tokens) as f64;
                let off = found / dollars - 1.0;
                assert!(off.abs() < 0.2, "{id} {batch} {tokens} {form:?}: {found:.3} for {dollars}, {off:+.2}");
            }
        }
    }
}

#[test]
fn long_notes_are_shown_whole_in_few_calls() {
    let haiku = model("claude-haiku-5-5");
    let of = |note: NoteSize| estimated([note], &haiku, FormChoice::Auto, false);
    let short = of(note(3000, 400));
    assert_eq!((short.notes, short.chunks, short.calls, short.tokens_cached), (1, 8, 1, 0));
    // Ten passages of a long one: two calls, the second of which reads the note from the cache.
    let long = of(note(8000, 800));
    assert_eq!((long.chunks, long.calls), (10, 2));
    assert!((10_000..11_000).contains(&long.tokens_cached), "{long:?}");
    // Many small passages take several calls.
    let many = of(note(4000, 80));
    assert_eq!((many.chunks, many.calls), (50, 3));
    // Beyond the usual price of the model it sees a part of the note in each call.
    let huge = of(note(100_000, 800));
    assert_eq!((huge.calls, huge.tokens_cached), (6, 0));
    assert!((130_000..170_000).contains(&huge.tokens_in), "{huge:?}");
}

#[test]
fn other_scripts_have_more_tokens_in_a_byte() {
    let haiku = model("claude-haiku-5-5");
    let config = ContextConfig::default();
    let of = |tokens_per_byte| {
        estimate([note(3000, 400)], &Asking { model: &haiku, config: &config, tokens_per_byte, batch: false }).tokens_in
    };
    let (latin, chinese) = (of(LATIN), of(1.0 / 3.0));
    assert!(chinese > latin * 11 / 10 && chinese < latin * 13 / 10, "{latin} {chinese}");
}

#[test]
fn questions_and_terms_make_answers_longer_and_calls_smaller() {
    let haiku = model("claude-haiku-5-5");
    let of = |note: &NoteSize, form, expansion| {
        let config = ContextConfig { form, expansion, ..ContextConfig::default() };
        estimate([note.clone()], &Asking { model: &haiku, config: &config, tokens_per_byte: LATIN, batch: false })
    };
    for form in [FormChoice::Note, FormChoice::Chunk] {
        let few = note(3000, 400);
        let (off, on) = (of(&few, form, ExpansionChoice::Off), of(&few, form, ExpansionChoice::Questions));
        assert_eq!((off.calls, off.chunks), (on.calls, on.chunks));
        let more = (on.tokens_out - off.tokens_out) as f64 / on.chunks as f64;
        assert!((100.0..200.0).contains(&more), "{form:?}: {more}");
        assert!(on.tokens_in > off.tokens_in && on.micro_dollars > off.micro_dollars && on.minutes > off.minutes);
    }
    let many = note(4000, 80);
    let calls =
        [ExpansionChoice::Off, ExpansionChoice::Questions].map(|choice| of(&many, FormChoice::Note, choice).calls);
    assert_eq!(calls, [3, 5]);
}

#[test]
fn only_what_is_wanted_is_counted() {
    let haiku = model("claude-haiku-5-5");
    let nothing = NoteSize { wanted: Vec::new(), ..note(3000, 400) };
    let one = NoteSize { wanted: vec![1440], ..note(8000, 800) };
    let sum = estimated([nothing.clone(), one, nothing.clone()], &haiku, FormChoice::Chunk, false);
    assert_eq!((sum.notes, sum.chunks, sum.calls, sum.tokens_cached), (1, 1, 1, 0));
    let none = estimated([nothing], &haiku, FormChoice::Auto, true);
    assert_eq!((none.calls, none.micro_dollars, none.minutes), (0, Some(0), 0.0));
}

#[test]
fn money_is_unknown_where_the_price_is_and_nothing_at_home() {
    let notes = || std::iter::repeat_n(note(3000, 400), 3);
    let unknown = estimated(notes(), &model("nobody-knows"), FormChoice::Auto, false);
    assert_eq!((unknown.micro_dollars, unknown.price_as_of, unknown.calls), (None, None, 3));
    let none = estimated([], &model("nobody-knows"), FormChoice::Auto, false);
    assert_eq!(none.micro_dollars, None);
    let home = Model::find(Provider::Ollama, "llama3.2", true, &[]).unwrap();
    let free = estimated(notes(), &home, FormChoice::Auto, false);
    assert_eq!((free.micro_dollars, free.price_as_of), (Some(0), None));
    let haiku = estimated(notes(), &model("claude-haiku-5-5"), FormChoice::Auto, false);
    assert_eq!(haiku.price_as_of.as_deref(), Some("2026-11-12"));
}

#[test]
fn time_is_shared_among_calls_at_once_and_batches_take_an_hour() {
    let haiku = model("claude-haiku-5-5");
    let of = |notes, concurrency, batch| {
        let config = ContextConfig { form: FormChoice::Chunk, concurrency, ..ContextConfig::default() };
        let asking = Asking { model: &haiku, config: &config, tokens_per_byte: LATIN, batch };
        estimate(std::iter::repeat_n(note(600, 300), notes), &asking).minutes
    };
    let minutes = of(1000, 10, false);
    assert!((9.0..=14.0).contains(&minutes), "2000 calls of about three seconds, ten at once: {minutes}");
    assert!((of(1000, 1, false) / minutes - 10.0).abs() < 0.01);
    assert!((of(1, 100, false) - of(1, 2, false)).abs() < 1e-9, "two calls are never a hundred at once");
    assert!((of(1000, 10, true) - 60.0).abs() < 1e-9);
    assert!(of(1, 0, false).is_finite());
}

#[test]
fn no_size_overflows() {
    let haiku = model("claude-haiku-5-5");
    let monster = NoteSize { bytes: u64::MAX, chunks_in_note: u32::MAX, wanted: vec![u64::MAX; 3] };
    for form in [FormChoice::Auto, FormChoice::Note, FormChoice::Chunk] {
        let config = ContextConfig { form, max_words: u32::MAX, concurrency: usize::MAX, ..ContextConfig::default() };
        let asking = Asking { model: &haiku, config: &config, tokens_per_byte: LATIN, batch: false };
        let sum = estimate([monster.clone()], &asking);
        assert!(sum.micro_dollars.is_some() && sum.minutes.is_finite());
    }
}

/// What is reckoned from sizes is near what the prompts of real notes hold.
#[test]
fn estimates_agree_with_the_prompts() {
    use super::super::super::document::Document;
    use super::super::super::prompt::Prompter;
    use note::chunk::{ChunkConfig, Strategy, Tools, chunk};

    let cutting = ChunkConfig { strategy: Strategy::Obsidian, target: 120, min: 60, max: 180, overlap_percent: 0 };
    let cases = [(3, None), (12, None), (60, None), (200, None), (200, Some(12_000))];
    let expansions = [ExpansionChoice::Off, ExpansionChoice::Questions];
    for ((sections, most), expansion) in cases.into_iter().flat_map(|case| expansions.map(|e| (case, e))) {
        let words = "the orchard was surveyed in spring by Mira and her team ".repeat(10);
        let text: String = (0..sections).map(|n| format!("## Section {n}\n\n{words}\n\n")).collect();
        let path = note::VaultPath::parse("Orchard.md").unwrap();
        let note = note::parse(&path, text.as_bytes(), &note::NoteRules::default());
        let starts: Vec<u32> = note.text.match_indices(' ').map(|(at, _)| at as u32 + 1).collect();
        let chunks = chunk(&note, &cutting, &Tools { token_starts: &starts, embed: &|_| Vec::new() });
        let document = Document::new(&note, &chunks);
        let size = NoteSize {
            bytes: text.len() as u64,
            chunks_in_note: chunks.len() as u32,
            wanted: chunks.iter().map(|chunk| chunk.span.len() as u64).collect(),
        };
        let haiku = model("claude-haiku-5-5");
        let config = ContextConfig {
            provider: Provider::Anthropic,
            max_document_tokens: most,
            expansion,
            ..ContextConfig::default()
        };
        let wanted: Vec<u32> = document.passages.iter().map(|passage| passage.n).collect();
        let prompts = Prompter::new(&config, &haiku).ask(&document, &wanted);
        let read: u64 = prompts.iter().map(|prompt| u64::from(prompt.tokens)).sum();
        let sum = estimate([size], &Asking { model: &haiku, config: &config, tokens_per_byte: LATIN, batch: false });
        let off = sum.tokens_in as f64 / read as f64 - 1.0;
        assert_eq!(sum.calls, prompts.len() as u64, "{sections} {most:?}");
        // Each call of a part is reckoned a little high, and with questions there are more of them.
        let most = if expansion == ExpansionChoice::Off { 0.25 } else { 0.35 };
        assert!((-0.05..most).contains(&off), "{sections} {expansion:?}: {} for {read}, {off:+.2}", sum.tokens_in);
    }
}
