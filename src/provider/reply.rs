//! What comes of a request over HTTP: an answer, or a connection that broke.

use reqwest::header::HeaderMap;

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// At most as many bytes as the transport takes.
    pub(super) body: Vec<u8>,
    /// Whether there was more.
    pub(super) cut: bool,
}

/// Nothing came back, or not all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Why, in the words of the system; they hold nothing of the request.
    pub(super) message: String,
    /// Whether the request, or a part of it, may have arrived.
    pub(super) sent: bool,
    /// The status, if it had come with the headers and was a success.
    pub(super) status: Option<u16>,
}
