//! The nodes that a collection can be asked of: one after the other, until one of them answers.
//!
//! Every node of a cluster answers for all of it, so it does not matter which one is asked, but that it lives. The one
//! that answered last is asked first. Everything that is written has an id of its own or a filter, so that a request which
//! two nodes carry out changes nothing the second time.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use provider::rest::{RestError, RestServer, Verb};
use tokio::time::{Instant, timeout};

use crate::failure::Failure;

/// How long a node may be silent at most before the next is asked beside it: more than a write of 256 points takes on a
/// busy server.
const SILENCE: Duration = Duration::from_secs(5);

/// The nodes of one server or cluster, at least one.
#[derive(Debug)]
pub(crate) struct Nodes {
    servers: Vec<RestServer>,
    /// Which one answered last.
    answers: AtomicUsize,
}

impl Nodes {
    pub(crate) fn new(first: RestServer, others: Vec<RestServer>) -> Self {
        Nodes { servers: [vec![first], others].concat(), answers: AtomicUsize::new(0) }
    }

    /// The node that answered last.
    pub(crate) fn current(&self) -> &RestServer {
        &self.servers[self.answers.load(Ordering::Relaxed)]
    }

    /// Hosts that requests may go to; none for addresses of this machine.
    pub(crate) fn leave_to(&self) -> Vec<String> {
        self.servers.iter().filter_map(RestServer::leaves_to).collect()
    }

    /// Asks about the collection `name`, with an end after `within`, whichever node it is that answers.
    ///
    /// # Errors
    /// What the node said that was asked first, or one that knows better.
    pub(crate) async fn ask(
        &self,
        (verb, path): (Verb, &str),
        body: Vec<u8>,
        within: Duration,
        name: &str,
    ) -> Result<Vec<u8>, Failure> {
        let (first, count) = (self.answers.load(Ordering::Relaxed), self.servers.len());
        let order: Vec<usize> = (0..count).map(|after| (first + after) % count).collect();
        let ask = |at: usize, within| self.servers[at].ask(verb, path, body.clone(), within);
        let (at, answer) = first_answer(&order, within, ask).await;
        let passed = answer.as_ref().is_err_and(is_the_nodes_own);
        if !passed {
            self.answers.store(at, Ordering::Relaxed);
        }
        answer.map_err(|error| {
            let mut failure = Failure::of(error, self.servers[at].host(), name);
            if passed && count > 1 {
                let others = self.servers.iter().enumerate().filter(|(other, _)| *other != at);
                let others: Vec<&str> = others.map(|(_, server)| server.host()).collect();
                failure.message.push_str(&format!("; no answer from {} either", others.join(", ")));
            }
            failure
        })
    }
}

/// Whether this is wrong with the node that was asked, so that another may answer: it is gone, or it is late. Qdrant says 408
/// where it waited for another node in vain, 500 where an update reached none of the active replicas or was broken off, and
/// 503 where it knows of no active replica of a shard; a gateway before it says 502 to 504. A disk that is full is no such
/// case: what one node has no room for the others have to keep, too.
fn is_the_nodes_own(error: &RestError) -> bool {
    match error {
        RestError::Broken(_) | RestError::Late(_) => true,
        RestError::Refused(status, body) => matches!(status, 408 | 500 | 502..=504) && !Failure::is_full(*status, body),
        RestError::Key(_) => false,
    }
}

/// The first answer of these nodes, and who gave it. The next one is asked as soon as one has failed by its own fault, and
/// beside it when it has been silent for its share of the time: one that hangs leaves time for the others, and one that is
/// only slow may still be the first. If all fail it is the first one's failure.
async fn first_answer<F>(
    order: &[usize],
    within: Duration,
    ask: impl Fn(usize, Duration) -> F,
) -> (usize, Result<Vec<u8>, RestError>)
where
    F: Future<Output = Result<Vec<u8>, RestError>>,
{
    let until = Instant::now() + within;
    let left = || until.saturating_duration_since(Instant::now());
    let mut waiting = order.iter().copied();
    let mut under_way = Vec::new();
    let mut failed = None;
    loop {
        if let Some(at) = waiting.next() {
            under_way.push((at, Box::pin(ask(at, left()))));
        }
        let answered = if waiting.len() == 0 {
            Some(any(&mut under_way).await)
        } else {
            let silence = (left() / (waiting.len() + 1) as u32).min(SILENCE);
            timeout(silence, any(&mut under_way)).await.ok()
        };
        match answered {
            Some((at, Err(error))) if is_the_nodes_own(&error) => {
                let (first, failure) = failed.take().unwrap_or((at, error));
                if under_way.is_empty() && waiting.len() == 0 {
                    return (first, Err(failure));
                }
                failed = Some((first, failure));
            }
            Some((at, answer)) => return (at, answer),
            None => {}
        }
    }
}

/// Waits for one of these, of which there is at least one, and takes it out.
async fn any<F: Future>(under_way: &mut Vec<(usize, Pin<Box<F>>)>) -> (usize, F::Output) {
    std::future::poll_fn(|context| {
        for index in 0..under_way.len() {
            let (at, future) = &mut under_way[index];
            if let std::task::Poll::Ready(answer) = future.as_mut().poll(context) {
                let at = *at;
                drop(under_way.remove(index));
                return std::task::Poll::Ready((at, answer));
            }
        }
        std::task::Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests;
