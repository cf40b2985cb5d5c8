//! Envelopes of errors, as servers really sent them (`testdata/refusals.json`, see `tests.rs`) and as vendors
//! describe them.

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::json;

use super::super::tests::{config, model};
use super::super::{Protocol as _, Wire};
use super::RefusalKind::*;
use super::*;

fn wire(provider: Provider) -> Wire {
    Wire::new(&config(provider), &model(provider, "some-model")).unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())).collect()
}

fn refused(provider: Provider, status: u16, body: &str) -> Refusal {
    wire(provider).refusal(status, &HeaderMap::new(), body.as_bytes(), SystemTime::UNIX_EPOCH)
}

#[test]
fn every_recorded_refusal_is_understood() {
    let expected = [
        ("aimock_429_retry1", Overloaded),
        ("aimock_529", Overloaded),
        ("aimock_chaos429", Overloaded),
        ("aimock_chaosdrop", Transient),
        ("aimock_count_tokens", UnknownModel),
        ("chain_bedrock_pass", UnknownModel),
        ("chain_overflow", TooLong),
        ("litellm_400", Rejected),
        ("litellm_401", Unauthorized),
        ("litellm_404", UnknownModel),
        ("litellm_429", Overloaded),
        ("litellm_500", Transient),
        ("litellm_ctx", TooLong),
        // A missing field comes as a fault of the server; nothing tells it from a real one.
        ("llama_400", Transient),
        ("llama_401", Unauthorized),
        ("llama_ctx_overflow_ant", TooLong),
        ("llama_ctx_overflow_oai", TooLong),
        ("llama_embed_toolong", TooLong),
        ("inf_badmodel", UnknownModel),
        ("tei_413_batch", Rejected),
        ("tei_toolong", TooLong),
        ("tf_bad", Transient),
        ("prism_ollama_bad", Rejected),
    ];
    let recorded: Vec<Value> = serde_json::from_str(include_str!("../testdata/refusals.json")).unwrap();
    assert_eq!(recorded.len(), expected.len());
    for (one, (name, kind)) in recorded.iter().zip(expected) {
        assert_eq!(one["name"], name);
        let retry = one["headers"]["retry-after"].as_str();
        let headers = headers(&retry.map(|value| ("retry-after", value)).into_iter().collect::<Vec<_>>());
        let (status, body) = (one["status"].as_u64().unwrap() as u16, one["body"].as_str().unwrap());
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let refusal = wire(provider).refusal(status, &headers, body.as_bytes(), SystemTime::UNIX_EPOCH);
            assert_eq!(refusal.kind, kind, "{name}: {refusal:?}");
            assert_eq!(refusal.retry_after, retry.map(|s| Duration::from_secs(s.parse().unwrap())), "{name}");
            assert!(refusal.message.contains(&status.to_string()), "{}", refusal.message);
        }
    }
}

#[test]
fn envelopes_that_vendors_describe_are_understood() {
    let anthropic = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).to_string()
    };
    let spend = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m",
        "details": {"error_code": "enforced_spend_limit_reached"}}})
    .to_string();
    let openai = |code: &str, param: Option<&str>, message: &str| {
        let error = json!({"message": message, "type": "invalid_request_error", "param": param, "code": code});
        json!({ "error": error }).to_string()
    };
    for (provider, status, body, kind, field) in [
        (Provider::Anthropic, 401, anthropic("authentication_error", "invalid x-api-key"), Unauthorized, None),
        (Provider::Anthropic, 402, anthropic("billing_error", "pay"), SpendLimit, None),
        (Provider::Anthropic, 403, anthropic("permission_error", "no"), Unauthorized, None),
        (Provider::Anthropic, 404, anthropic("not_found_error", "model: x"), UnknownModel, None),
        (Provider::Anthropic, 409, anthropic("conflict_error", "again"), Transient, None),
        (Provider::Anthropic, 413, anthropic("request_too_large", "long"), TooLong, None),
        (Provider::Anthropic, 429, spend, SpendLimit, None),
        (Provider::Anthropic, 429, anthropic("rate_limit_error", "slow down"), Overloaded, None),
        (Provider::Anthropic, 500, anthropic("api_error", "oh"), Transient, None),
        (Provider::Anthropic, 504, anthropic("timeout_error", "oh"), Transient, None),
        (Provider::Anthropic, 529, anthropic("overloaded_error", "oh"), Overloaded, None),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "You have reached your specified API usage limits."),
            SpendLimit,
            None,
        ),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
            SpendLimit,
            None,
        ),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "prompt is too long: 212003 tokens > 200000 maximum"),
            TooLong,
            None,
        ),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "`temperature` is not supported with thinking"),
            UnsupportedField,
            Some(Field::Temperature),
        ),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "thinking: Extra inputs are not permitted"),
            UnsupportedField,
            Some(Field::Thinking),
        ),
        (
            Provider::Bedrock,
            400,
            json!({"message": "output_config.effort: Extra inputs are not permitted"}).to_string(),
            UnsupportedField,
            Some(Field::Effort),
        ),
        (
            Provider::Bedrock,
            400,
            json!({"message": "output_config: Extra inputs are not permitted"}).to_string(),
            UnsupportedField,
            Some(Field::OutputConfig),
        ),
        (
            Provider::Anthropic,
            400,
            anthropic("invalid_request_error", "messages.0.content.0.text.cache_control: not allowed here"),
            UnsupportedField,
            Some(Field::CacheControl),
        ),
        // A wrong value is no missing support, and other names are none of ours.
        (Provider::Anthropic, 400, anthropic("invalid_request_error", "temperature: range 0..1"), Rejected, None),
        (Provider::Anthropic, 400, anthropic("invalid_request_error", "nontemperature unsupported"), Rejected, None),
        (Provider::OpenAi, 429, openai("insufficient_quota", None, "m"), SpendLimit, None),
        (Provider::OpenAi, 429, openai("rate_limit_exceeded", None, "m"), Overloaded, None),
        (Provider::OpenAi, 503, openai("slow_down", None, "m"), Overloaded, None),
        (Provider::OpenAi, 401, openai("invalid_api_key", None, "m"), Unauthorized, None),
        (Provider::OpenAi, 403, openai("model_not_found", None, "m"), UnknownModel, None),
        (Provider::OpenAi, 400, openai("context_length_exceeded", Some("messages"), "m"), TooLong, None),
        (
            Provider::OpenAi,
            400,
            openai(
                "unsupported_parameter",
                Some("max_tokens"),
                "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
            UnsupportedField,
            Some(Field::OutputCap),
        ),
        (
            Provider::OpenAi,
            400,
            openai("unsupported_value", Some("temperature"), "Only the default (1) value is supported."),
            UnsupportedField,
            Some(Field::Temperature),
        ),
        (
            Provider::OpenAi,
            400,
            openai("unsupported_value", Some("messages[0].role"), "does not support 'developer' with this model"),
            UnsupportedField,
            Some(Field::Developer),
        ),
        (
            Provider::OpenAi,
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"],
                "msg": "Extra inputs are not permitted", "input": {"temperature": "private"}}]})
            .to_string(),
            UnsupportedField,
            Some(Field::Schema),
        ),
        (Provider::OpenAi, 402, String::new(), SpendLimit, None),
        (Provider::OpenAi, 502, "<html><h1>502 Bad Gateway</h1></html>".to_owned(), Transient, None),
        (Provider::OpenAi, 501, String::new(), Rejected, None),
        (Provider::OpenAi, 302, String::new(), Rejected, None),
        (Provider::Ollama, 404, json!({"error": "model 'x' not found"}).to_string(), UnknownModel, None),
        (
            Provider::Ollama,
            503,
            json!({"error": "server busy, please try again. maximum pending requests exceeded"}).to_string(),
            Overloaded,
            None,
        ),
        (
            Provider::Ollama,
            400,
            json!({"error": "\"m\" does not support thinking"}).to_string(),
            UnsupportedField,
            Some(Field::Think),
        ),
        (
            Provider::Ollama,
            400,
            json!({"error": "the input length exceeds the context length"}).to_string(),
            TooLong,
            None,
        ),
    ] {
        let refusal = refused(provider, status, &body);
        assert_eq!((refusal.kind, refusal.field), (kind, field), "{status} {body}: {refusal:?}");
    }
}

#[test]
fn amazon_names_its_errors_in_a_header() {
    for (status, code, message, kind) in [
        (429, "ThrottlingException:http://internal.amazon.com/", "Too many tokens, please wait", Overloaded),
        (429, "ModelNotReadyException", "m", Transient),
        (400, "ServiceQuotaExceededException", "m", SpendLimit),
        (403, "AccessDeniedException", "m", Unauthorized),
        (403, "InvalidSignatureException", "m", Unauthorized),
        (400, "ValidationException", "The provided model identifier is invalid.", UnknownModel),
        (400, "ValidationException", "Input is too long for requested model.", TooLong),
        (400, "ValidationException", "m", Rejected),
        (404, "ResourceNotFoundException", "m", UnknownModel),
        (408, "ModelTimeoutException", "m", Transient),
        (424, "ModelErrorException", "m", Transient),
        (503, "ServiceUnavailableException", "m", Transient),
    ] {
        let headers = headers(&[("x-amzn-errortype", code)]);
        let body = json!({ "message": message }).to_string();
        let refusal = wire(Provider::Bedrock).refusal(status, &headers, body.as_bytes(), SystemTime::UNIX_EPOCH);
        assert_eq!(refusal.kind, kind, "{code} {message}: {refusal:?}");
    }
}

#[test]
fn waits_are_read_in_all_their_notations() {
    let now = httpdate::parse_http_date("Fri, 20 Nov 2026 16:00:00 GMT").unwrap();
    for (pairs, wait) in [
        (&[("retry-after", "2")][..], Some(2000)),
        (&[("retry-after", "0.5")], Some(500)),
        (&[("retry-after", "2"), ("retry-after-ms", "250")], Some(250)),
        (&[("retry-after", "Fri, 20 Nov 2026 16:00:30 GMT")], Some(30_000)),
        (&[("retry-after", "Fri, 20 Nov 2026 15:00:00 GMT")], None),
        (&[("retry-after", "3599")], Some(3_599_000)),
        (&[("retry-after", "86400")], Some(3_600_000)),
        (&[("retry-after", "1000000000000")], Some(3_600_000)),
        (&[("retry-after", "1e300")], Some(3_600_000)),
        (&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")], Some(3_600_000)),
        (&[("retry-after-ms", "1e18")], Some(3_600_000)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "-1000000000000")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "0")], None),
        (&[("retry-after", "soon")], None),
        (&[], None),
    ] {
        let refusal = wire(Provider::OpenAi).refusal(429, &headers(pairs), b"", now);
        assert_eq!(refusal.retry_after, wait.map(Duration::from_millis), "{pairs:?}");
    }
}

#[test]
fn the_provider_may_say_whether_to_try_again() {
    for (status, said, kind) in [(400, "true", Transient), (500, "false", Rejected), (401, "true", Unauthorized)] {
        let headers = headers(&[("x-should-retry", said)]);
        assert_eq!(wire(Provider::Anthropic).refusal(status, &headers, b"", SystemTime::UNIX_EPOCH).kind, kind);
    }
}

#[test]
fn messages_quote_a_little_and_nothing_secret() {
    let body = |message: &str| json!({"error": {"type": "t", "message": message}}).to_string();
    let shown = |status, message: &str| refused(Provider::OpenAi, status, &body(message)).message;
    assert_eq!(
        shown(401, "Incorrect API key\nprovided: sk-proj-abcDEF123, or AKIAIOSFODNN7EXAMPLE."),
        "https://api.openai.com refuses the key, or has none from us (401 t: Incorrect API key provided: … or …)"
    );
    assert!(!shown(403, "key 0a1b2c3d4e5f60718293a4b5c6d7e8f9 is wrong").contains("0a1b"));
    assert!(shown(404, "model claude-haiku-4-5-20251001 is unknown").contains("claude-haiku-4-5-20251001"));
    assert!(shown(404, &"ж".repeat(1000)).chars().count() < 300);
    // What else is refused may be told in our own words.
    for status in [400, 413, 429, 500] {
        assert!(!shown(status, "you wrote: a private note").contains("private"), "{status}");
    }
    // Half an envelope is no sentence.
    assert!(!refused(Provider::OpenAi, 404, "{\"input\":\"a private no").message.contains("private"));
    let missing = refused(Provider::Ollama, 404, &json!({"error": "model 'x' not found"}).to_string());
    assert!(missing.message.contains("`ollama pull some-model`"), "{}", missing.message);
}

/// What calls itself a code may be any text, of a note too.
#[test]
fn a_code_that_is_none_is_not_repeated() {
    let body = json!({"error": {"details": {"error_code": "Kestrel nests\nwas here\u{1b}[31m"}, "message": "no"}});
    let refusal = refused(Provider::Anthropic, 404, &body.to_string());
    assert!(!refusal.message.contains("Kestrel") && !refusal.message.contains('\n'), "{}", refusal.message);
    let headers = headers(&[("x-amzn-errortype", "Kestrel nests here")]);
    let refusal = wire(Provider::Bedrock).refusal(400, &headers, b"", SystemTime::UNIX_EPOCH);
    assert!(!refusal.message.contains("Kestrel"), "{}", refusal.message);
}
