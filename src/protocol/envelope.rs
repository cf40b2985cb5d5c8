//! The envelope of the protocol: JSON-RPC 2.0 requests, replies, notifications and errors. Pure.
//!
//! `PROTOCOL.md` is the specification. What a method takes and gives stands in the [table](crate::table).

use std::fmt;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};
use strum::VariantArray as _;

use crate::frame::{self, EncodeError, MAX_REPLY, MAX_REQUEST};

/// The protocol's version. Additions do not change it.
pub const PROTOCOL: u32 = 1;

/// Every version that this daemon speaks.
pub const PROTOCOLS: &[u32] = &[PROTOCOL];

/// Ids beyond this (2⁵³ − 1) do not survive readers that keep numbers as doubles, so they are refused at once.
const MAX_ID: i64 = (1 << 53) - 1;

/// What a request is called by: echoed in its reply. Also the token of progress notifications and watches: a string, or
/// an integer within ±(2^53 - 1).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Token")]
#[serde(untagged)]
pub enum Id {
    /// An integer, |n| < 2⁵³.
    Number(i64),
    /// Any string.
    Text(String),
}

impl Id {
    /// The id that `value` is; `None` if it is neither a string nor such an integer.
    pub fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::String(text) => Some(Id::Text(text.clone())),
            Value::Number(number) => number.as_i64().filter(|n| (-MAX_ID..=MAX_ID).contains(n)).map(Id::Number),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Id::from_value(&value)
            .ok_or_else(|| D::Error::custom("an id or token is a string, or an integer within ±(2^53 - 1)"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(number) => number.fmt(f),
            Id::Text(text) => text.fmt(f),
        }
    }
}

/// Object of parameters.
pub type Params = Map<String, Value>;

/// A request or notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Absent for a notification, which is never answered.
    pub id: Option<Id>,
    /// What is asked; unknown methods are found when it is routed.
    pub method: String,
    /// Its parameters.
    pub params: Params,
}

/// Names and numbers of errors. Clients match `data.kind`; the numbers are beside it for generic JSON-RPC tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    /// The line is not JSON.
    #[strum(to_string = "parse_error")]
    Parse = -32700,
    /// It is JSON, but no request.
    InvalidRequest = -32600,
    /// There is no such method.
    UnknownMethod = -32601,
    /// The parameters are wrong.
    InvalidParams = -32602,
    /// The daemon has a fault.
    Internal = -32603,
    /// Starting or stopping.
    NotReady = 1001,
    /// Too many connections, or too many requests of one kind.
    Busy = 1002,
    /// The request was cancelled.
    Cancelled = 1003,
    /// Over its deadline.
    Timeout = 1004,
    /// A vault, note, chunk or job is not known.
    NotFound = 1005,
    /// No protocol version in common.
    UnsupportedProtocol = 1006,
    /// A request or reply is over its cap.
    TooLarge = 1007,
    /// A remote provider failed.
    Provider = 1008,
    /// Not allowed.
    Forbidden = 1009,
    /// The store or the index failed.
    Storage = 1010,
    /// A job that excludes this one runs.
    Conflict = 1011,
    /// The user has paused work, so a job does not come to its end.
    Paused = 1012,
    /// It needs a model, and none is configured.
    NotConfigured = 1013,
}

impl ErrorKind {
    /// Every kind, by number.
    pub const ALL: &[ErrorKind] = Self::VARIANTS;

    /// `code` on the wire. Own codes keep out of the range that JSON-RPC and MCP reserve.
    pub fn code(self) -> i64 {
        self as i64
    }

    /// `data.kind` on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An error reply.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// Number and name.
    pub kind: ErrorKind,
    /// One sentence for a person.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// When trying again makes sense, milliseconds from now.
    pub retry_after_ms: Option<u64>,
    /// Further members of `data`.
    pub data: Params,
}

impl RpcError {
    /// An error with a message only.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        RpcError { kind, message: message.into(), hint: None, retry_after_ms: None, data: Map::new() }
    }

    /// With what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With when to try again.
    #[must_use]
    pub fn retry_after_ms(mut self, ms: u64) -> Self {
        self.retry_after_ms = Some(ms);
        self
    }

    /// With a further member of `data`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// With the known name that was most likely meant, if any is near.
    #[must_use]
    pub(crate) fn nearest(mut self, meant: Option<&str>) -> Self {
        let Some(meant) = meant else { return self };
        self.message += &format!("; did you mean `{meant}`?");
        self.with("nearest", meant)
    }

    /// The daemon has a fault; `what` says where, without any note text.
    pub fn internal(what: &str) -> Self {
        RpcError::new(ErrorKind::Internal, what).hint("this is a fault of situated; its log has more")
    }

    /// As it stands in an error reply.
    pub fn to_value(&self) -> Value {
        let mut data = self.data.clone();
        data.insert("kind".into(), self.kind.name().into());
        if let Some(hint) = &self.hint {
            data.insert("hint".into(), hint.as_str().into());
        }
        if let Some(ms) = self.retry_after_ms {
            data.insert("retry_after_ms".into(), ms.into());
        }
        json!({ "code": self.kind.code(), "message": self.message, "data": data })
    }
}

/// Why a line is no request, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// It is answered, under the id if one could be read.
    Answer(Option<Id>, RpcError),
    /// It is a notification with wrong parameters: nothing is done, and notifications are never answered.
    Silent,
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Result<Request, Refused> {
    let refuse = |id: Option<Id>, why: &str| Refused::Answer(id, RpcError::new(ErrorKind::InvalidRequest, why));
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let why = format!("the line is not JSON: {error}");
        Refused::Answer(None, RpcError::new(ErrorKind::Parse, why).hint("send one JSON object per line"))
    })?;
    let mut object = match value {
        Value::Object(object) => object,
        Value::Array(_) => {
            return Err(refuse(None, "batches are not spoken; send one request per line"));
        }
        _ => return Err(refuse(None, "a request is a JSON object")),
    };
    let id = match object.get("id") {
        None => None,
        Some(value) => match Id::from_value(value) {
            Some(id) => Some(id),
            None => {
                return Err(refuse(None, "`id` is a string, or an integer within ±(2^53 - 1)"));
            }
        },
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refuse(id, "`jsonrpc` must be \"2.0\""));
    }
    let Some(Value::String(method)) = object.remove("method") else {
        return Err(refuse(id, "`method` must be a string"));
    };
    match object.remove("params") {
        None | Some(Value::Null) => Ok(Request { id, method, params: Map::new() }),
        Some(Value::Object(params)) => Ok(Request { id, method, params }),
        Some(_) if id.is_none() => Err(Refused::Silent),
        Some(_) => Err(Refused::Answer(id, RpcError::new(ErrorKind::InvalidParams, "`params` is an object"))),
    }
}

/// The error for a request line over its cap.
pub fn request_too_long() -> RpcError {
    RpcError::new(ErrorKind::TooLarge, format!("a request is at most {MAX_REQUEST} bytes long"))
        .with("request_bytes", MAX_REQUEST)
}

/// `value` as the body of a result, or why it cannot be one.
pub fn body(value: &impl Serialize) -> Result<Vec<u8>, RpcError> {
    frame::encode(value, MAX_REPLY).map_err(|error| match error {
        EncodeError::TooLarge(cap) => reply_too_long(cap),
        EncodeError::Unencodable(_) => RpcError::internal("an answer has no JSON form"),
    })
}

/// The line, its end included, that answers `id` with a result that is JSON already.
pub fn result_line(id: &Id, body: &[u8]) -> Vec<u8> {
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", json!(id));
    if head.len() + body.len() + 1 > MAX_REPLY {
        return error_line(Some(id), &reply_too_long(MAX_REPLY));
    }
    let mut line = Vec::with_capacity(head.len() + body.len() + 2);
    line.extend_from_slice(head.as_bytes());
    line.extend_from_slice(body);
    line.extend_from_slice(b"}\n");
    line
}

/// The line, its end included, that answers `id` with an error.
pub fn error_line(id: Option<&Id>, error: &RpcError) -> Vec<u8> {
    finish(&json!({ "jsonrpc": "2.0", "id": id, "error": error.to_value() }))
}

/// The line, its end included, of a notification.
pub fn notification_line(method: &str, params: &impl Serialize) -> Vec<u8> {
    finish(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

fn reply_too_long(cap: usize) -> RpcError {
    RpcError::new(ErrorKind::TooLarge, format!("the answer is over {cap} bytes"))
        .hint("ask for less: a smaller `limit`, `window_chars` or `lines`")
}

fn finish(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Value, i64) {
        match parse(line.as_bytes()) {
            Err(Refused::Answer(id, error)) => (json!(id), error.kind.code()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests() {
        let request = parse(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
        assert_eq!(request, Request { id: Some(Id::Number(1)), method: "ping".into(), params: Map::new() });
        let request = parse(br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1},"more":2}"#).unwrap();
        assert_eq!(request.id, Some(Id::Text("a".into())));
        assert_eq!(request.params["x"], 1);
        assert_eq!(parse(br#"{"jsonrpc":"2.0","method":"m"}"#).unwrap().id, None);
        assert_eq!(parse(br#"{"jsonrpc":"2.0","method":"m","params":[1]}"#), Err(Refused::Silent));
        assert!(parse(br#"{"jsonrpc":"2.0","id":2,"method":"m","params":null}"#).unwrap().params.is_empty());
    }

    #[test]
    fn ids() {
        let with = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        for id in ["0", "-1", "9007199254740991", "-9007199254740991", "\"\"", "\"9007199254740993\""] {
            let request = parse(with(id).as_bytes()).unwrap();
            assert_eq!(json!(request.id).to_string(), id);
        }
        for id in ["9007199254740992", "-9007199254740992", "1.5", "1.0", "1e3", "null", "true", "[]", "{}"] {
            assert_eq!(refused(&with(id)), (Value::Null, -32600), "{id}");
        }
    }

    #[test]
    fn refusals() {
        let table = [
            ("", Value::Null, -32700),
            ("garbage", Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, Value::Null, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, Value::Null, -32700),
            ("[]", Value::Null, -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
            ("1", Value::Null, -32600),
            ("\"ping\"", Value::Null, -32600),
            ("null", Value::Null, -32600),
            ("{}", Value::Null, -32600),
            (r#"{"id":1,"method":"ping"}"#, json!(1), -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600),
            (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, json!(1), -32600),
            (r#"{"jsonrpc":"2.0","id":"a"}"#, json!("a"), -32600),
            (r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, json!(3), -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":7}"#, json!(3), -32600),
            (r#"{"jsonrpc":"2.0","method":7}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":3,"method":"m","params":[]}"#, json!(3), -32602),
            (r#"{"jsonrpc":"2.0","id":3,"method":"m","params":"x"}"#, json!(3), -32602),
        ];
        for (line, id, code) in table {
            assert_eq!(refused(line), (id, code), "{line}");
        }
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}1{}}}"#, "[".repeat(500), "]".repeat(500));
        assert_eq!(refused(&deep), (Value::Null, -32700));
        for bytes in [b"{\"a\":\"\xff\"}".as_slice(), b"\0\0\0", b"\xef\xbb\xbf{}"] {
            assert!(
                matches!(parse(bytes), Err(Refused::Answer(None, error)) if error.kind == ErrorKind::Parse),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn kinds_are_distinct() {
        let mut codes: Vec<i64> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        assert!(codes.iter().all(|&code| code > 1000 || (-32700..=-32600).contains(&code)));
    }

    #[test]
    fn lines_out() {
        assert_eq!(
            result_line(&Id::Text("a\n".into()), b"{\"x\":1}"),
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\",\"result\":{\"x\":1}}\n"
        );
        let error = RpcError::new(ErrorKind::Conflict, "no").hint("wait").retry_after_ms(5).with("job", 7);
        let value: Value = serde_json::from_slice(&error_line(None, &error)).unwrap();
        let data = json!({"kind": "conflict", "hint": "wait", "retry_after_ms": 5, "job": 7});
        assert_eq!(
            value,
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1011, "message": "no", "data": data}})
        );
        let huge = vec![b' '; MAX_REPLY];
        let value: Value = serde_json::from_slice(&result_line(&Id::Number(1), &huge)).unwrap();
        assert_eq!((&value["id"], &value["error"]["code"]), (&json!(1), &json!(1007)));
        assert_eq!(body(&"x".repeat(MAX_REPLY)).unwrap_err().kind, ErrorKind::TooLarge);
    }
}
