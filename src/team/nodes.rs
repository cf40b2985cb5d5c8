//! The nodes that can answer for a collection, asked one after the other until one of them does.
//!
//! Every node of a cluster answers for all of it, so any node that is alive will do. The one that answered last is
//! asked first. Every write has its own id or a filter, so that a request which two nodes carry out changes nothing the
//! second time.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use provider::rest::{Method, RestError, RestServer};
use tokio::time::{Instant, timeout};

use crate::failure::Failure;

/// How long a node may be silent before the next one is asked as well: longer than a write of 256 points takes on a
/// busy server.
const SILENCE: Duration = Duration::from_secs(5);

/// The nodes of one server or cluster, at least one.
#[derive(Debug)]
pub(crate) struct Nodes {
    servers: Vec<RestServer>,
    /// Index of the one that answered last.
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

    /// Sends a request about the collection `name`, to one node after the other until one answers, for at most
    /// `within`.
    ///
    /// # Errors
    /// That of the node that failed first, or the refusal of one that answered.
    pub(crate) async fn ask(
        &self,
        (method, path): (Method, &str),
        body: Vec<u8>,
        within: Duration,
        name: &str,
    ) -> Result<Vec<u8>, Failure> {
        let (first, count) = (self.answers.load(Ordering::Relaxed), self.servers.len());
        let order: Vec<usize> = (0..count).map(|after| (first + after) % count).collect();
        let ask = |at: usize, within| self.servers[at].ask(method.clone(), path, body.clone(), within);
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

/// Whether the error is the node's own, so that another may answer: the node is gone, or it is late. Qdrant answers 408
/// where it waited for another node in vain, 500 where an update reached none of the active replicas or was broken off,
/// and 503 where it knows of no active replica of a shard; a gateway before it answers 502 to 504. A full disk does not
/// count: the other nodes have to store the same data.
fn is_the_nodes_own(error: &RestError) -> bool {
    match error {
        RestError::Broken(_) | RestError::Late(_) => true,
        RestError::Refused(status, body) => matches!(status, 408 | 500 | 502..=504) && !Failure::is_full(*status, body),
        RestError::Key(_) => false,
    }
}

/// The first answer of these nodes, and which one gave it. The next node is asked as soon as one has failed by its own
/// fault, or in parallel when one has been silent for its share of the time: a node that hangs leaves time for the
/// others, and one that is only slow may still be the first. If all fail, the first failure is returned.
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

/// Waits until one of these futures, of which there is at least one, is ready, and removes it.
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
