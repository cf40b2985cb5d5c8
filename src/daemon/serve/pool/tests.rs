use serde_json::{Value, json};

use super::*;

fn pool(method: Method, params: Value, outside: Outside) -> Pool {
    of(&AnyCall::read(method, params.as_object().cloned().unwrap()).unwrap(), outside)
}

#[test]
fn each_kind_of_wait_has_a_pool_of_its_own() {
    let (alone, expands, reranks) = (
        Outside::default(),
        Outside { expands: true, ..Outside::default() },
        Outside { reranks: true, ..Outside::default() },
    );
    let search = |params, outside| pool(Method::Search, params, outside);
    assert_eq!(search(json!({ "query": "x" }), alone), Pool::Query);
    assert_eq!(search(json!({ "query": "x", "fresh": true }), alone), Pool::Fresh);
    assert_eq!(search(json!({ "query": "x", "fresh": true }), reranks), Pool::Fresh);
    assert_eq!(search(json!({ "query": "x", "expand": "hyde" }), alone), Pool::Assisted);
    assert_eq!(search(json!({ "query": "x" }), expands), Pool::Assisted);
    assert_eq!(search(json!({ "query": "x", "expand": "off" }), expands), Pool::Query);
    assert_eq!(search(json!({ "query": "x" }), reranks), Pool::Assisted);
    assert_eq!(search(json!({ "query": "x", "rerank": false }), reranks), Pool::Query);
    for (query, waits) in
        [("/fo+/", Pool::Scan), ("a NOT /b/", Pool::Scan), ("→", Pool::Scan), ("path:a/b c", Pool::Query)]
    {
        assert_eq!(search(json!({ "query": query }), alone), waits, "{query}");
    }
    assert_eq!(pool(Method::Grep, json!({ "pattern": "x" }), alone), Pool::Scan);
    assert_eq!(pool(Method::Ask, json!({ "question": "x" }), alone), Pool::Model);
    assert_eq!(pool(Method::GenerateContext, json!({ "chunk": "x", "document": "x" }), alone), Pool::Model);
    assert_eq!(pool(Method::Graph, json!({}), alone), Pool::Graph);
    assert_eq!(pool(Method::Cancel, json!({ "job": 1 }), expands), Pool::Engine);
    // They wait for the first index.
    assert_eq!(pool(Method::ContextsStart, json!({}), alone), Pool::Fresh);
    assert_eq!(pool(Method::Rebuild, json!({}), alone), Pool::Fresh);
}

#[test]
fn the_pools_are_in_order_and_their_threads_are_there() {
    assert!(Pool::ALL.iter().enumerate().all(|(at, pool)| *pool as usize == at));
    let others: usize = Pool::ALL.iter().filter(|pool| **pool != Pool::Query).map(|pool| size(*pool).running).sum();
    assert_eq!(others + MOST_CORES, MOST_THREADS);
    assert!(cores() <= MOST_CORES);
}

#[tokio::test]
async fn a_full_pool_says_so_at_once_and_no_other_is_full() {
    let pools = Pools::new();
    let Size { running, waiting, .. } = size(Pool::Model);
    let mut places = Vec::new();
    for _ in 0..running {
        places.push(pools.enter(Pool::Model, 1).await.unwrap());
    }
    let mut queue: Vec<_> = (0..waiting).map(|_| Box::pin(pools.enter(Pool::Model, 1))).collect();
    for waits in &mut queue {
        assert!(futures_pending(waits).await, "there is room to wait");
    }
    let refused = pools.enter(Pool::Model, 1).await.err().unwrap();
    assert_eq!((refused.kind, refused.retry_after_ms), (ErrorKind::Busy, Some(5_000)));
    for pool in Pool::ALL.iter().copied().filter(|pool| *pool != Pool::Model) {
        assert!(pools.enter(pool, 1).await.is_ok(), "{pool:?}");
    }
    // Who no longer waits leaves its place to the next; who has ended, to the first that waits.
    drop(queue.pop());
    let mut last = Box::pin(pools.enter(Pool::Model, 1));
    assert!(futures_pending(&mut last).await);
    drop(places.pop());
    assert!(queue.remove(0).await.is_ok());
}

/// Whether a future is still pending once it was polled.
async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(context).is_pending()))
        .await
}
