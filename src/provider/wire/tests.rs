//! Bodies against what the vendors' own clients send, and answers as servers really gave them.
//!
//! `testdata/` was recorded on 2026-11-20: `sdk_wire.json` from anthropic 2.11.0, boto3 1.44.5, openai 3.52.0 and
//! ollama 0.6.3 (all for Python); `answers.json` from aimock 1.43, LiteLLM 1.106.2, llama.cpp, transformers 5.23 and
//! the examples in OpenAI's and Ollama's own descriptions.

use std::time::Duration;

pub(super) use super::made::{model, prompt};
use super::*;
use context::models::Thinking;
use context::prompt;
use context::settings::Dialect;

pub(super) fn config(provider: Provider) -> ContextConfig {
    ContextConfig { provider, ..ContextConfig::default() }
}

fn wire(config: &ContextConfig, model: &Model) -> Wire {
    Wire::new(config, model).unwrap()
}

fn key() -> Key {
    Key::Bearer("sk-test".into())
}

/// The body, parsed, and the headers.
fn sent(wire: &Wire, prompt: &Prompt, without: &[Field]) -> (Request, Value) {
    let request = wire.request(prompt, Some(&key()), without, SystemTime::UNIX_EPOCH).unwrap();
    let body = serde_json::from_slice(&request.body).unwrap();
    (request, body)
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.expose_secret())
}

pub(super) fn recorded(case: &str) -> Value {
    let all: Vec<Value> = serde_json::from_str(include_str!("testdata/sdk_wire.json")).unwrap();
    all.into_iter().find(|one| one["case"] == case).unwrap()
}

fn answers() -> impl Iterator<Item = (String, String)> {
    let all: Vec<Value> = serde_json::from_str(include_str!("testdata/answers.json")).unwrap();
    all.into_iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["body"].as_str().unwrap().to_owned()))
}

fn answer_of(wire: &Wire, name: &str, prompt: &Prompt) -> Result<Answer, String> {
    let (_, body) = answers().find(|(n, _)| n == name).unwrap();
    wire.read(body.as_bytes(), prompt)
}

#[test]
fn anthropic_is_asked_as_its_own_client_asks() {
    let theirs = recorded("anthropic.messages");
    let config = ContextConfig { api_version: "2026-10-21".to_owned(), ..config(Provider::Anthropic) };
    // With a model that takes sampling parameters: the version of the interface forbids them all the same.
    let model = Model { min_cache_tokens: Some(1), sampling: true, ..model(Provider::Anthropic, "claude-haiku-5-5") };
    let wire = wire(&config, &model);
    let prompt = Prompt { cache: true, ..prompt("S", "<document>D</document>", "<chunk>C</chunk>", 120) };
    let (request, body) = sent(&wire, &prompt, &[]);
    assert_eq!(body, theirs["body"]);
    assert_eq!(request.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(theirs["path"], "/v1/messages");
    for name in ["anthropic-version", "content-type"] {
        assert_eq!(header(&request, name), theirs["headers"][name].as_str(), "{name}");
    }
    // The client sends its key as a bearer; the interface's own header is older, and known to all that imitate it.
    assert_eq!((header(&request, "x-api-key"), header(&request, "authorization")), (Some("sk-test"), None));
}

#[test]
fn bedrock_is_asked_as_its_own_clients_ask() {
    for (case, id) in [
        ("boto3.invoke.sigv4", "us.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("anthropic.bedrock.bearer", "anthropic.claude-haiku-4-5-20251001-v1:0"),
    ] {
        let theirs = recorded(case);
        let version = if case == "anthropic.bedrock.bearer" { "2026-10-21" } else { "2023-06-01" };
        let config = ContextConfig { api_version: version.to_owned(), ..config(Provider::Bedrock) };
        let wire = wire(&config, &model(Provider::Bedrock, id));
        let (request, mut body) = sent(&wire, &prompt("", "", "x", 10), &[]);
        // They were given one text, which is short for one block.
        let content = body.pointer_mut("/messages/0/content").unwrap();
        *content = content.pointer("/0/text").unwrap().clone();
        assert_eq!(body, theirs["body"], "{case}");
        // Anthropic's client leaves the colon as it is; AWS's own encodes it, as the interface is described.
        let path = theirs["path"].as_str().unwrap().replace(':', "%3A");
        assert_eq!(request.url, format!("https://bedrock-runtime.us-east-1.amazonaws.com{path}"));
        assert_eq!(header(&request, "authorization"), Some("Bearer sk-test"));
        // What is signed is what is sent: nothing on the way may write the address in another manner.
        assert_eq!(reqwest::Url::parse(&request.url).unwrap().as_str(), request.url);
    }
}

#[test]
fn openai_is_asked_as_its_own_client_asks() {
    let theirs = recorded("openai.chat");
    let model = Model { thinking: Thinking::Effort("none"), ..model(Provider::OpenAi, "gpt-6-luna") };
    let wire = wire(&config(Provider::OpenAi), &model);
    let (request, body) = sent(&wire, &prompt("S", "", "x", 200), &[]);
    assert_eq!(body, theirs["body"]);
    assert_eq!(request.url, format!("https://api.openai.com{}", theirs["path"].as_str().unwrap()));
    assert_eq!(header(&request, "authorization"), Some("Bearer sk-test"));
    assert_eq!(header(&request, "content-type"), Some("application/json"));
}

#[test]
fn ollama_is_asked_as_its_own_client_asks() {
    let theirs = recorded("ollama.chat");
    let config = ContextConfig { temperature: 0.0, ..config(Provider::Ollama) };
    let wire = wire(&config, &Model { sampling: true, ..model(Provider::Ollama, "llama3.2") });
    let prompt = Prompt { tokens: 5000, ..prompt("", "", "x", 160) };
    let (request, mut body) = sent(&wire, &prompt, &[]);
    let mut expected = theirs["body"].clone();
    // It was asked without a seed and the wish not to be cut; and it sends a list of no tools.
    expected.as_object_mut().unwrap().remove("tools");
    expected["options"]["temperature"] = json!(0.0);
    assert_eq!(body["options"].as_object_mut().unwrap().remove("seed"), Some(json!(1)));
    for field in ["truncate", "shift"] {
        assert_eq!(body.as_object_mut().unwrap().remove(field), Some(json!(false)));
    }
    assert_eq!(body, expected);
    assert_eq!(request.url, "http://127.0.0.1:11434/api/chat");
}

#[test]
fn a_document_is_marked_for_the_cache_only_where_that_pays() {
    let long = "word ".repeat(1000);
    let model = Model { min_cache_tokens: Some(512), ..model(Provider::Anthropic, "m") };
    for (cache, document, least, without, marked) in [
        (true, long.as_str(), Some(512), &[][..], true),
        (false, long.as_str(), Some(512), &[], false),
        (true, "short", Some(512), &[], false),
        (true, long.as_str(), None, &[], false),
        (true, long.as_str(), Some(512), &[Field::CacheControl], false),
        (true, "", Some(0), &[], false),
    ] {
        let wire = wire(&config(Provider::Anthropic), &Model { min_cache_tokens: least, ..model.clone() });
        let (_, body) = sent(&wire, &Prompt { cache, ..prompt("S", document, "T", 10) }, without);
        assert_eq!(body.to_string().contains("cache_control"), marked, "{cache} {} {least:?}", document.len());
        // Never an empty block, which is refused, and never the question.
        let blocks = body["messages"][0]["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 2 - usize::from(document.is_empty()));
        assert!(blocks.last().unwrap().get("cache_control").is_none());
    }
}

#[test]
fn what_a_model_takes_is_sent_and_what_was_refused_is_left_out() {
    let full = |provider| Model {
        sampling: true,
        json_schema: true,
        thinking: if provider == Provider::OpenAi { Thinking::Effort("low") } else { Thinking::Disable },
        ..model(provider, "m")
    };
    let prompt = Prompt { json: true, ..prompt("S", "D", "T", 10) };
    let schema = prompt::schema(false);
    let json_schema = json!({"type": "json_schema", "schema": schema});
    let response_format =
        json!({"type": "json_schema", "json_schema": {"name": "captions", "strict": true, "schema": schema}});
    for (provider, field, path, value) in [
        (Provider::Anthropic, Field::Temperature, "/temperature", json!(0.3)),
        (Provider::Anthropic, Field::Thinking, "/thinking", json!({"type": "disabled"})),
        (Provider::Anthropic, Field::Effort, "/output_config/effort", json!("low")),
        (Provider::Anthropic, Field::Schema, "/output_config/format", json_schema.clone()),
        (Provider::Anthropic, Field::OutputConfig, "/output_config", json!({"effort": "low", "format": json_schema})),
        (Provider::Bedrock, Field::Temperature, "/temperature", json!(0.3)),
        (Provider::OpenAi, Field::Temperature, "/temperature", json!(0.3)),
        (Provider::OpenAi, Field::Effort, "/reasoning_effort", json!("low")),
        (Provider::OpenAi, Field::Schema, "/response_format", response_format),
        (Provider::OpenAi, Field::OutputCap, "/max_completion_tokens", json!(10)),
        (Provider::Ollama, Field::Temperature, "/options/temperature", json!(0.3)),
        (Provider::Ollama, Field::Seed, "/options/seed", json!(1)),
        (Provider::Ollama, Field::Think, "/think", json!(false)),
        (Provider::Ollama, Field::KeepAlive, "/keep_alive", json!("10m")),
        (Provider::Ollama, Field::Truncate, "/truncate", json!(false)),
        (Provider::Ollama, Field::Schema, "/format", schema.clone()),
    ] {
        let wire = wire(&config(provider), &full(provider));
        assert_eq!(sent(&wire, &prompt, &[]).1.pointer(path), Some(&value), "{path}");
        let (_, body) = sent(&wire, &prompt, &[field]);
        assert_eq!(body.pointer(path), None, "{path}");
        if field == Field::OutputCap {
            assert_eq!(body["max_tokens"], 10, "an answer always has a cap");
        }
        // Prompts that want plain text send no schema.
        if field == Field::Schema {
            let plain = Prompt { json: false, ..prompt.clone() };
            assert_eq!(sent(&wire, &plain, &[]).1.pointer(path), None, "{path}");
            let expanded = sent(&wire, &Prompt { expansion: true, ..prompt.clone() }, &[]).1;
            assert!(expanded.pointer(path).is_some_and(|sent| sent.to_string().contains("questions")), "{path}");
        }
    }
}

#[test]
fn dialects_go_by_the_address_unless_configured() {
    for (base, dialect, cap, role) in [
        (None, None, "max_completion_tokens", "developer"),
        (Some("https://api.openai.com/v1"), None, "max_completion_tokens", "developer"),
        (Some("http://127.0.0.1:8080/v1"), None, "max_tokens", "system"),
        (Some("http://127.0.0.1:8080"), Some(Dialect::OpenAi), "max_completion_tokens", "developer"),
        (None, Some(Dialect::Compat), "max_tokens", "system"),
    ] {
        let config = ContextConfig { base_url: base.map(str::to_owned), dialect, ..config(Provider::OpenAi) };
        let (request, body) = sent(&wire(&config, &model(Provider::OpenAi, "m")), &prompt("S", "D", "T", 7), &[]);
        assert_eq!((&body[cap], &body["messages"][0]["role"]), (&json!(7), &json!(role)), "{base:?} {dialect:?}");
        assert_eq!(body["messages"][1]["content"], "D\n\nT");
        assert!(request.url.ends_with("/v1/chat/completions"), "{}", request.url);
    }
    let named = Model { output_cap: Some("max_tokens".to_owned()), ..model(Provider::OpenAi, "m") };
    let wire = wire(&config(Provider::OpenAi), &named);
    assert_eq!(sent(&wire, &prompt("S", "", "T", 7), &[]).1["max_tokens"], 7);
    assert_eq!(sent(&wire, &prompt("S", "", "T", 7), &[Field::OutputCap]).1["max_completion_tokens"], 7);
}

#[test]
fn ollama_loads_a_context_that_fits_and_never_a_smaller_one_again() {
    let model = Model { context_size: 8192, ..model(Provider::Ollama, "m") };
    let one = wire(&config(Provider::Ollama), &model);
    for (tokens, context) in
        [(100, 4096), (3996, 4096), (3997, 8192), (20_000, 32_768), (100, 32_768), (32_668, 32_768)]
    {
        let (_, body) = sent(&one, &Prompt { tokens, ..prompt("S", "D", "T", 100) }, &[]);
        assert_eq!(body["options"]["num_ctx"], context, "{tokens}");
    }
    let long = Prompt { tokens: 40_000, ..prompt("S", "D", "T", 100) };
    let failure = one.request(&long, None, &[], SystemTime::UNIX_EPOCH).unwrap_err();
    assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::TooLong, false));
    let large = wire(&config(Provider::Ollama), &Model { context_size: 131_072, ..model });
    assert_eq!(sent(&large, &long, &[]).1["options"]["num_ctx"], 65_536);
}

#[test]
fn keys_are_wanted_only_elsewhere_than_on_this_machine() {
    let aws = || Key::Aws { access: "AK".into(), secret: "SK".into(), session: None };
    for (provider, base, key, allowed) in [
        (Provider::Anthropic, None, None, false),
        (Provider::OpenAi, None, None, false),
        (Provider::Bedrock, None, None, false),
        (Provider::Ollama, None, None, true),
        (Provider::Anthropic, Some("http://127.0.0.1:1"), None, true),
        (Provider::OpenAi, Some("http://localhost:1"), None, true),
        (Provider::Bedrock, Some("http://[::1]:1"), None, true),
        (Provider::Bedrock, None, Some(aws()), true),
        (Provider::OpenAi, None, Some(aws()), false),
    ] {
        let config = ContextConfig { base_url: base.map(str::to_owned), ..config(provider) };
        let wire = wire(&config, &model(provider, "m"));
        let request = wire.request(&prompt("S", "D", "T", 9), key.as_ref(), &[], SystemTime::UNIX_EPOCH);
        assert_eq!(request.is_ok(), allowed, "{provider:?} {base:?}");
        if let Err(failure) = request {
            assert_eq!(failure.kind, FailureKind::Unauthorized);
            assert!(failure.message.contains("context.key_file"), "{failure}");
        }
    }
    // AWS's gateway for Messages knows keys only as bearers.
    let gateway = "https://bedrock-mantle.us-east-1.api.aws/anthropic".to_owned();
    let config = ContextConfig { base_url: Some(gateway), ..config(Provider::Anthropic) };
    let (request, _) = sent(&wire(&config, &model(Provider::Anthropic, "m")), &prompt("S", "D", "T", 9), &[]);
    assert_eq!(header(&request, "authorization"), Some("Bearer sk-test"));
    assert_eq!(request.url, "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages");
}

#[test]
fn wrong_settings_are_refused_before_anything_is_sent() {
    let model = model(Provider::Bedrock, "m");
    for config in [
        config(Provider::Template),
        ContextConfig { base_url: Some("nonsense".to_owned()), ..config(Provider::OpenAi) },
        ContextConfig { region: "us-east-1.evil.example/".to_owned(), ..config(Provider::Bedrock) },
        ContextConfig { region: String::new(), ..config(Provider::Bedrock) },
        ContextConfig { api_version: "a\nb: c".to_owned(), ..config(Provider::Anthropic) },
    ] {
        assert!(Wire::new(&config, &model).is_err(), "{config:?}");
    }
}

#[test]
fn nothing_secret_is_printed() {
    let config = config(Provider::Bedrock);
    let wire = wire(&config, &model(Provider::Bedrock, "m"));
    let keys = [
        Key::Bearer("hunter2".into()),
        Key::Aws { access: "hunter2".into(), secret: "hunter2".into(), session: Some("hunter2".into()) },
    ];
    for key in keys {
        let prompt = prompt("S", "a private note", "T", 9);
        let request = wire.request(&prompt, Some(&key), &[], SystemTime::UNIX_EPOCH).unwrap();
        let printed = format!("{key:?} {request:#?}");
        assert!(printed.contains("authorization") && printed.contains("REDACTED"), "{printed}");
        assert!(!printed.contains("hunter2") && !printed.contains("private"), "{printed}");
    }
}

#[test]
fn answers_of_real_servers_are_read() {
    // As long as what they counted, but for Ollama, which would have cut it.
    let ask = |provider| {
        let document = "D".repeat(if provider == Provider::Ollama { 1 } else { 2000 });
        Prompt { tokens: 50, ..prompt("S", &document, "T", 1000) }
    };
    let usage = |input, output, cache_read, estimated| Usage { input, output, cache_read, cache_write: 0, estimated };
    for (provider, name, finish, used) in [
        (Provider::Anthropic, "aimock_messages", Finish::Stop, usage(1234, 31, 0, false)),
        (Provider::Anthropic, "litellm_messages", Finish::Stop, usage(2095, 503, 0, false)),
        (Provider::Anthropic, "chain_messages2", Finish::Stop, usage(14, 24, 1658, false)),
        (Provider::Anthropic, "llama_messages1", Finish::Length, usage(1675, 24, 0, false)),
        (Provider::Anthropic, "llama_messages2_cached", Finish::Length, usage(14, 24, 1658, false)),
        (Provider::Bedrock, "aimock_bedrock_invoke", Finish::Stop, usage(1234, 31, 0, false)),
        (Provider::OpenAi, "aimock_openai_chat", Finish::Stop, usage(1234, 31, 0, false)),
        (Provider::OpenAi, "litellm_chat", Finish::Stop, usage(10, 20, 0, false)),
        (Provider::OpenAi, "llama_chat", Finish::Length, usage(12, 8, 2, false)),
        (Provider::OpenAi, "llama_chat_schema", Finish::Length, usage(7, 60, 2, false)),
        (Provider::OpenAi, "tf_chat", Finish::Length, usage(22, 24, 0, false)),
        // Counts of 0 are counts of somebody who did not count.
        (Provider::OpenAi, "prism_openai_chat", Finish::Stop, usage(50, 2, 0, true)),
        (Provider::Ollama, "aimock_ollama_chat", Finish::Stop, usage(50, 36, 0, true)),
        (Provider::Ollama, "prism_ollama_chat", Finish::Stop, usage(11, 18, 0, false)),
    ] {
        let answer = answer_of(&wire(&config(provider), &model(provider, "m")), name, &ask(provider)).expect(name);
        assert_eq!((answer.finish, answer.usage), (finish, used), "{name}");
        assert!(!answer.text.is_empty(), "{name}");
    }
    // A proxy said that this one ended by itself; it used all that it was given.
    let wire = wire(&config(Provider::Anthropic), &model(Provider::Anthropic, "m"));
    let capped = Prompt { max_tokens: 24, ..ask(Provider::Anthropic) };
    assert_eq!(answer_of(&wire, "chain_messages2", &capped).unwrap().finish, Finish::Length);
}

#[test]
fn answers_are_read_by_what_they_are_and_not_by_where_it_stands() {
    let cases = [
        // Thinking is no text, unknown blocks are skipped, and the cache counts apart.
        (
            Provider::Anthropic,
            json!({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "new", "text": "no"},
                {"type": "text", "text": "A "}, {"type": "text", "text": "b."}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 5,
                "output_tokens": 6}}),
            ("A b.", Finish::Stop),
            (3, 5, 4, 6),
        ),
        (
            Provider::Anthropic,
            json!({"content": [], "stop_reason": "refusal", "usage": {"input_tokens": 3, "output_tokens": 0}}),
            ("", Finish::Refusal),
            (3, 0, 0, 0),
        ),
        (
            Provider::OpenAi,
            json!({"choices": [{"message": {"content": null, "refusal": "I cannot"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}}),
            ("", Finish::Refusal),
            (10, 60, 30, 4),
        ),
        (
            Provider::OpenAi,
            json!({"choices": [{"message": {"content": null}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 400}}),
            ("", Finish::Length),
            (9, 0, 0, 400),
        ),
        (
            Provider::OpenAi,
            json!({"error": null, "choices": [{"message": {"content": [{"type": "text", "text": "Hi."}],
                "reasoning_content": "hm"}, "finish_reason": "content_filter"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            ("Hi.", Finish::Refusal),
            (9, 0, 0, 4),
        ),
        (
            Provider::Ollama,
            json!({"message": {"content": "<think>\nhm\n</think>\n\nHi.", "thinking": "hm"}, "done": true,
                "done_reason": "stop", "prompt_eval_count": 40, "eval_count": 4}),
            ("Hi.", Finish::Stop),
            (40, 0, 0, 4),
        ),
    ];
    for (provider, body, (text, finish), (input, cache_read, cache_write, output)) in cases {
        let wire = wire(&config(provider), &model(provider, "m"));
        let answer = wire.read(body.to_string().as_bytes(), &prompt("S", "D", "T", 1000)).unwrap();
        let usage = Usage { input, output, cache_read, cache_write, estimated: false };
        assert_eq!(answer, Answer { text: text.to_owned(), finish, usage }, "{body}");
    }
}

#[test]
fn what_is_no_answer_is_none_and_is_not_repeated() {
    let (_, malformed) = answers().find(|(name, _)| name == "aimock_chaosmalformed").unwrap();
    let bodies: [&[u8]; 11] = [
        b"",
        b" \n",
        malformed.as_bytes(),
        b"<html>secret</html>",
        b"{\"id\":\"msg_1\",\"content\":[{\"type\":\"text\",\"text\":\"secret",
        b"{\"content\":[{\"type\":\"text\",\"text\":\"secret \xff\"}]}",
        b"{\"error\":{\"message\":\"secret\"}}",
        b"{}",
        b"[]",
        b"null",
        b"{\"choices\":[],\"content\":\"secret\",\"message\":\"secret\"}",
    ];
    for provider in [Provider::Anthropic, Provider::Bedrock, Provider::OpenAi, Provider::Ollama] {
        let wire = wire(&config(provider), &model(provider, "m"));
        for body in bodies {
            let error = wire.read(body, &prompt("S", "D", "T", 10)).unwrap_err();
            assert!(!error.contains("secret") && error.contains("answer"), "{error}");
        }
    }
}

#[test]
fn a_prompt_that_ollama_cut_is_noticed_in_every_script() {
    let wire = wire(&config(Provider::Ollama), &model(Provider::Ollama, "m"));
    let read = |document: &str, tokens: u32, count: u64| {
        let body = json!({"message": {"content": "Hi."}, "done": true, "done_reason": "stop",
            "prompt_eval_count": count, "eval_count": 2});
        wire.read(body.to_string().as_bytes(), &Prompt { tokens, ..prompt("", document, "", 100) })
    };
    let latin = "x".repeat(36_000);
    assert!(read(&latin, 10_000, 2050).is_err());
    assert!(read(&latin, 10_000, 5_999).is_err());
    assert!(read(&latin, 10_000, 6_000).is_ok());
    // 0 is the count of a server that did not count.
    assert!(read(&latin, 10_000, 0).unwrap().usage.estimated);
    // Two bytes per letter: the estimate says 20,000, and a good tokenizer needs 11,000.
    assert!(read(&"я".repeat(36_000), 20_000, 11_000).is_ok());
    assert!(read(&"я".repeat(36_000), 20_000, 2050).is_err());
}

proptest::proptest! {
    /// Whatever comes over the wire, nothing panics, and no refusal waits for longer than it may.
    #[test]
    fn anything_can_be_read(body in ".{0,200}", bytes: Vec<u8>, status in 100_u16..600, retry in "[0-9.eE-]{0,8}") {
        for provider in [Provider::Anthropic, Provider::Bedrock, Provider::OpenAi, Provider::Ollama] {
            let wire = wire(&config(provider), &model(provider, "m"));
            let ask = prompt("S", "D", "T", 10);
            let _ = wire.read(&bytes, &ask);
            let _ = wire.read(body.as_bytes(), &ask);
            let envelope = json!({"error": {"message": body, "type": body}}).to_string();
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", retry.parse().unwrap());
            for body in [&bytes, body.as_bytes(), envelope.as_bytes()] {
                let refusal = wire.refusal(status, &headers, body, SystemTime::UNIX_EPOCH);
                proptest::prop_assert!(refusal.retry_after.is_none_or(|wait| wait <= Duration::from_hours(1)));
                proptest::prop_assert!(refusal.message.chars().count() < 400);
                proptest::prop_assert_eq!(refusal.field.is_some(), refusal.kind == RefusalKind::UnsupportedField);
            }
        }
    }
}

#[test]
fn counts_are_taken_as_they_are_said_as_far_as_they_are_possible() {
    let most = json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX, "cache_read_input_tokens": 1});
    let body = json!({"content": [{"type": "text", "text": "x"}], "usage": most}).to_string();
    let wire = wire(&config(Provider::Anthropic), &model(Provider::Anthropic, "m"));
    let ask = Prompt { tokens: 50, ..prompt("", &"D".repeat(199), "x", 10) };
    let usage = wire.read(body.as_bytes(), &ask).unwrap().usage;
    // A token for each byte, an answer up to its cap, and what a provider may add.
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.estimated), (200 + ADDED, 10 + ADDED, 0, false));
    let told = json!({"input_tokens": 30, "output_tokens": 12, "cache_read_input_tokens": 170});
    let body = json!({"content": [{"type": "text", "text": "x"}], "usage": told}).to_string();
    let usage = wire.read(body.as_bytes(), &ask).unwrap().usage;
    assert_eq!((usage.input, usage.output, usage.cache_read), (30, 12, 170));
}
