//! A simulated provider: its answers are scripted, and no byte leaves the process.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::reply::{Broken, Reply};

/// Decides what is answered.
pub trait Script {
    /// A request has been sent.
    fn ask(&self, url: &str, body: &[u8]) -> PlayedAnswer;

    /// The answer to a request has come, and whoever asked still waits for it.
    fn delivered(&self, request: u64);

    /// Whoever asked waits no longer.
    fn given_up(&self, request: u64);

    /// Most requests of a batch, if fewer than usual.
    fn most_requests(&self) -> Option<usize> {
        None
    }
}

/// An answer, or that there is none.
#[derive(Clone, Debug)]
pub struct PlayedAnswer {
    /// The number of the request.
    pub request: u64,
    /// How long it takes.
    pub after: Duration,
    /// What comes then.
    pub what: What,
}

/// What comes of a request.
#[derive(Clone, Debug)]
pub enum What {
    /// A status, headers and a body.
    Reply(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// The connection breaks before anything of the answer has come; whether the request has arrived nobody knows.
    Reset,
    /// The connection breaks in the middle of an answer that began well.
    Cut,
    /// No connection can be made.
    Unreachable,
    /// Nothing ever comes.
    Nothing,
}

thread_local! {
    static SCRIPT: RefCell<Option<Rc<dyn Script>>> = const { RefCell::new(None) };
}

/// Simulates the provider on this thread; with `None` no longer.
pub fn play(script: Option<Rc<dyn Script>>) {
    SCRIPT.with(|place| *place.borrow_mut() = script);
}

fn script() -> Option<Rc<dyn Script>> {
    // While the thread ends nobody asks any more.
    SCRIPT.try_with(|place| place.borrow().clone()).ok().flatten()
}

/// The scripted answer to a request; `None` if no provider is simulated.
pub(super) fn ask(url: &str, body: &[u8]) -> Option<PlayedAnswer> {
    script().map(|script| script.ask(url, body))
}

pub(super) fn most_requests() -> Option<usize> {
    script().and_then(|script| script.most_requests())
}

/// A request that is under way. Dropped before its answer has come, it is given up.
struct UnderWay(Option<u64>);

impl UnderWay {
    fn delivered(mut self) {
        if let (Some(request), Some(script)) = (self.0.take(), script()) {
            script.delivered(request);
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let (Some(request), Some(script)) = (self.0.take(), script()) {
            script.given_up(request);
        }
    }
}

impl PlayedAnswer {
    /// Waits for it.
    pub(super) async fn arrive(self) -> Result<Reply, Broken> {
        let under_way = UnderWay(Some(self.request));
        tokio::time::sleep(self.after).await;
        let broken = |sent, status| Broken { message: "the connection broke".to_owned(), sent, status };
        let came = match self.what {
            What::Reply(status, named, body) => {
                let mut headers = HeaderMap::new();
                for (name, value) in named {
                    if let Ok(value) = HeaderValue::from_str(&value) {
                        headers.insert(HeaderName::from_static(name), value);
                    }
                }
                Ok(Reply { status, headers, body, cut: false })
            }
            What::Reset => Err(broken(true, None)),
            What::Cut => Err(broken(true, Some(200))),
            What::Unreachable => Err(broken(false, None)),
            What::Nothing => std::future::pending().await,
        };
        under_way.delivered();
        came
    }
}
