//! Stand-in until the real module is merged.

use serde_json::{Value, json};

use super::{
    Answer, Anthropic, BatchState, Failure, Field, Finish, Key, Prompt, SecretString, SubmittedBatch, Usage, bearer,
};
use crate::llm::FailureKind;

/// Of the batches, or of what is below them: `""`, `"/ID"`, `"/ID/results"`, `"/ID/cancel"`, `"?limit=100"`.
pub(in crate::llm) fn url(wire: &Anthropic, below: &str) -> String {
    format!("{}/v1/messages/batches{below}", wire.base)
}
pub(in crate::llm) fn headers(_wire: &Anthropic, key: Option<&Key>) -> Vec<(&'static str, SecretString)> {
    bearer(key)
}
pub(in crate::llm) fn submit_body(_wire: &Anthropic, asked: &[(String, Prompt)], _without: &[Field]) -> Vec<u8> {
    let one = |(id, prompt): &(String, Prompt)| json!({ "custom_id": id, "params": { "system": prompt.system } });
    json!({ "requests": asked.iter().map(one).collect::<Vec<_>>() }).to_string().into_bytes()
}
fn parse(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|_| "the answer is no JSON".to_owned())
}
pub(in crate::llm) fn read_submitted(body: &[u8]) -> Result<String, String> {
    parse(body)?["id"].as_str().map(str::to_owned).ok_or_else(|| "the answer has no id".to_owned())
}
pub(in crate::llm) fn read_state(body: &[u8]) -> Result<BatchState, String> {
    match parse(body)?["processing_status"].as_str() {
        Some("ended") => Ok(BatchState::Ended),
        Some(_) => Ok(BatchState::InProgress),
        None => Err("the answer has no state".to_owned()),
    }
}
pub(in crate::llm) fn read_result_line(line: &[u8]) -> Result<(String, Result<Answer, Failure>), String> {
    let line = parse(line)?;
    let id = line["custom_id"].as_str().ok_or("a result has no id")?.to_owned();
    let message = &line["result"]["message"];
    let outcome = match message["content"][0]["text"].as_str() {
        Some(text) => Ok(Answer { text: text.to_owned(), finish: Finish::Stop, usage: Usage::default() }),
        None => Err(Failure {
            kind: FailureKind::Unavailable,
            message: line["result"]["type"].as_str().unwrap_or_default().to_owned(),
            maybe_billed: false,
        }),
    };
    Ok((id, outcome))
}
/// A page of batches, newest first, and the id after which the next page begins.
pub(in crate::llm) fn read_list(body: &[u8]) -> Result<(Vec<SubmittedBatch>, Option<String>), String> {
    let body = parse(body)?;
    let mut batches = Vec::new();
    for batch in body["data"].as_array().ok_or("the answer is no list")? {
        let id = batch["id"].as_str().ok_or("a batch has no id")?.to_owned();
        let created_at = batch["created_at"].as_str().and_then(|at| at.parse().ok()).map(jiff::Timestamp::as_second);
        let count = batch["request_counts"].as_object().map_or(0, |c| c.values().filter_map(Value::as_u64).sum());
        batches.push(SubmittedBatch { id, count, created_at: created_at.ok_or("a batch has no date")? });
    }
    let more = body["has_more"].as_bool().unwrap_or_default();
    let next = body["last_id"].as_str().map(str::to_owned).filter(|_| more);
    Ok((batches, next))
}
