//! Lines of the socket.

use protocol::envelope::{self, Id, Refused, RpcError};
use protocol::frame::{Line, LineDecoder, MAX_REQUEST};
use protocol::table::{AnyCall, Method};
use serde_json::{Value, json};

/// A line: read as a request and as the parameters of every method. What is understood says the same when it is written
/// again; what is refused is refused with one line of JSON under the id that it had.
pub(crate) fn line(bytes: &[u8]) {
    let request = match envelope::parse(bytes) {
        Ok(request) => request,
        Err(Refused::Silent) => {
            let value: Value = serde_json::from_slice(bytes).expect("a notification is JSON");
            assert!(value.get("id").is_none(), "who has an id is answered");
            return;
        }
        Err(Refused::Answer(id, error)) => return answered(id.as_ref(), &error),
    };
    let mut written = json!({"jsonrpc": "2.0", "method": request.method, "params": request.params});
    if let Some(id) = &request.id {
        written["id"] = json!(id);
    }
    // A fraction, or what is too great for an integer, may change in its last place when it is written and read.
    if request.params.values().all(is_exact) {
        assert_eq!(envelope::parse(written.to_string().as_bytes()).as_ref(), Ok(&request));
    }
    let named = Method::from_name(&request.method);
    assert!(named.is_none_or(|method| method.name() == request.method));
    for &method in Method::ALL {
        match AnyCall::read(method, request.params.clone()) {
            Ok(call) => assert_eq!(call.method(), method),
            Err(error) => answered(request.id.as_ref(), &error),
        }
    }
}

/// Whether there is no number in a value but integers.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(object) => object.values().all(is_exact),
        _ => true,
    }
}

/// An error is one line that names the request, and nothing else.
fn answered(id: Option<&Id>, error: &RpcError) {
    let line = envelope::error_line(id, error);
    assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line");
    let value: Value = serde_json::from_slice(&line).expect("an answer is JSON");
    assert_eq!((&value["id"], &value["error"]["code"]), (&json!(id), &json!(error.kind.code())));
}

/// A stream: however it is cut, the same lines come out, and no more is held than a request may be long.
pub(crate) fn stream(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let lines = |piece: usize| {
        let (mut decoder, mut lines) = (LineDecoder::requests(), Vec::new());
        for mut piece in bytes.chunks(piece) {
            while let Some(line) = decoder.next_line(&mut piece) {
                lines.push(line);
            }
            assert!(piece.is_empty() && decoder.held() <= MAX_REQUEST + 1);
        }
        lines.extend(decoder.finish());
        lines
    };
    let whole = lines(bytes.len().max(1));
    assert_eq!(lines(usize::from(*cut) + 1), whole);
    for line in &whole {
        if let Line::Text(text) = line {
            assert!(!text.contains(&b'\n') && !text.trim_ascii().is_empty());
        }
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn lines() {
        kept::run("line", 1_000, super::line);
    }

    #[test]
    fn streams() {
        kept::run("stream", 3_000, super::stream);
    }
}
