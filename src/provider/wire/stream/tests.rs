use proptest::prelude::*;

use super::*;

const ANTHROPIC: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":40,",
    "\"cache_read_input_tokens\":3,\"output_tokens\":1}}}\n\n",
    ": a comment\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Zürich 東京 \"}}\r\n\r\n",
    "data: {\"type\":\"content_block_delta\",\r\ndata: \"delta\":{\"type\":\"text_delta\",\"text\":\"🙂 [1].\"}}\r\n\r\n",
    "data: {\"type\":\"something_newer\"}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const OPENAI: &str = concat!(
    "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"<thi\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"nk>hm</th\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ink>\\n\\nZürich \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"東京 🙂 [1].\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":43,\"completion_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":3}}}\n\n",
    "data: [DONE]\n\n",
);

const OLLAMA: &str = concat!(
    "{\"message\":{\"role\":\"assistant\",\"content\":\"Zürich \"},\"done\":false}\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"東京 🙂 [1].\"},\"done\":false}\r\n\n",
    "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":40,\"eval_count\":9}\n",
);

const SAID: &str = "Zürich 東京 🙂 [1].";

fn prompt() -> Prompt {
    Prompt { task: "x".to_owned(), max_tokens: 100, tokens: 50, ..Prompt::default() }
}

/// What comes of bytes that are cut at these places.
fn read(dialect: Dialect, bytes: &[u8], cuts: &[usize]) -> (String, Result<Answer, Interrupted>) {
    let mut reader = Reader::new(dialect);
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([0, bytes.len()]).collect();
    cuts.sort_unstable();
    let fed = cuts.windows(2).try_for_each(|pair| reader.feed(&bytes[pair[0]..pair[1]]));
    let outcome = fed.and_then(|()| reader.end());
    (reader.text().to_owned(), outcome.map(|()| reader.answer(&prompt(), 1.0, true)))
}

#[test]
fn what_is_no_end_of_an_answer_is_told_from_one() {
    for (reason, finish) in [
        ("model_length", Finish::Length),
        ("error", Finish::Broken),
        ("insufficient_system_resource", Finish::Broken),
        ("tool_calls", Finish::Broken),
        ("novel", Finish::Other),
    ] {
        let answer = read(Dialect::OpenAi, OPENAI.replace("stop", reason).as_bytes(), &[]).1.unwrap();
        assert_eq!(answer.finish, finish, "{reason}");
    }
    for (reason, finish) in [("pause_turn", Finish::Broken), ("tool_use", Finish::Broken), ("novel", Finish::Other)] {
        let answer = read(Dialect::Anthropic, ANTHROPIC.replace("end_turn", reason).as_bytes(), &[]).1.unwrap();
        assert_eq!(answer.finish, finish, "{reason}");
    }
}

#[test]
fn every_dialect_says_the_same() {
    for (dialect, stream, cached) in
        [(Dialect::Anthropic, ANTHROPIC, 3), (Dialect::OpenAi, OPENAI, 3), (Dialect::Ollama, OLLAMA, 0)]
    {
        let (shown, answer) = read(dialect, stream.as_bytes(), &[]);
        let answer = answer.unwrap();
        assert_eq!((shown.as_str(), answer.text.as_str()), (SAID, SAID), "{dialect:?}");
        assert_eq!(answer.finish, Finish::Stop, "{dialect:?}");
        let usage = answer.usage;
        assert_eq!((usage.input, usage.output, usage.cache_read), (40, 9, cached), "{dialect:?}");
        assert!(!usage.estimated);
    }
}

#[test]
fn what_breaks_off_is_said_and_what_came_is_kept() {
    let overloaded =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"secret\"}}\n\n";
    let begun = &ANTHROPIC[..ANTHROPIC.find("data: {\"type\":\"something").unwrap()];
    let cases = [
        (Dialect::Anthropic, format!("{begun}{overloaded}"), "overloaded_error", true),
        (Dialect::Anthropic, begun.to_owned(), "breaks off in the middle", false),
        (Dialect::Anthropic, format!("{begun}data: {{nonsense\n\n"), "not JSON", false),
        (Dialect::OpenAi, "data: {\"error\":{\"code\":500,\"message\":\"secret\"}}\n\n".to_owned(), "an error", false),
        (Dialect::Ollama, format!("{}\n{{\"error\":\"secret\"}}\n", OLLAMA.lines().next().unwrap()), "an error", false),
        (Dialect::Ollama, "<html>secret\n".to_owned(), "not JSON", false),
        (Dialect::OpenAi, String::new(), "breaks off", false),
    ];
    for (dialect, stream, said, busy) in cases {
        let (text, outcome) = read(dialect, stream.as_bytes(), &[]);
        let why = outcome.unwrap_err();
        assert!(why.message.contains(said) && why.busy == busy, "{dialect:?}: {why:?}");
        assert!(!why.message.contains("secret"), "{why:?}");
        assert!(!stream.starts_with("event: message_start") || text == SAID, "{text:?}");
    }
    let mut reader = Reader::new(Dialect::OpenAi);
    assert!(reader.feed(&vec![b'x'; MOST_LINE + 1]).unwrap_err().message.contains("too long"));
}

#[test]
fn an_answer_that_broke_off_is_estimated() {
    let mut reader = Reader::new(Dialect::Anthropic);
    let begun = &ANTHROPIC[..ANTHROPIC.find("data: {\"type\":\"something").unwrap()];
    reader.feed(begun.as_bytes()).unwrap();
    let answer = reader.answer(&prompt(), 1.0, false);
    assert!(answer.usage.estimated && answer.usage.output > 1 && answer.usage.input == 40, "{answer:?}");
}

#[test]
fn thinking_is_no_part_of_the_text() {
    let said = |pieces: &[&str]| {
        let (mut thinking, mut text) = (Thinking::Unsure(String::new()), String::new());
        pieces.iter().for_each(|piece| thinking.take(piece, &mut text));
        text
    };
    assert_eq!(said(&["  <think>a", "b<", "/think", ">  \n", " Yes"]), "Yes");
    assert_eq!(said(&["<", "b>bold</b>"]), "<b>bold</b>");
    assert_eq!(said(&["Yes <think>no</think>"]), "Yes <think>no</think>");
    assert_eq!(said(&["<think>東京…"]), "");
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut(cuts in proptest::collection::vec(any::<usize>(), 0..40), which in 0..3_usize) {
        let (dialect, stream) =
            [(Dialect::Anthropic, ANTHROPIC), (Dialect::OpenAi, OPENAI), (Dialect::Ollama, OLLAMA)][which];
        let whole = read(dialect, stream.as_bytes(), &[]);
        prop_assert_eq!(read(dialect, stream.as_bytes(), &cuts), whole);
    }

    #[test]
    fn no_bytes_upset_it(bytes in proptest::collection::vec(any::<u8>(), 0..300), cuts in proptest::collection::vec(any::<usize>(), 0..8), which in 0..3_usize) {
        let dialect = [Dialect::Anthropic, Dialect::OpenAi, Dialect::Ollama][which];
        prop_assert_eq!(read(dialect, &bytes, &cuts), read(dialect, &bytes, &[]));
    }

    #[test]
    fn a_prefix_gives_a_prefix(at in 0..ANTHROPIC.len(), which in 0..3_usize) {
        let (dialect, stream) =
            [(Dialect::Anthropic, ANTHROPIC), (Dialect::OpenAi, OPENAI), (Dialect::Ollama, OLLAMA)][which];
        let at = at % stream.len();
        let (text, outcome) = read(dialect, &stream.as_bytes()[..at], &[]);
        prop_assert!(SAID.starts_with(&text) || outcome.is_ok(), "{text:?}");
    }
}
