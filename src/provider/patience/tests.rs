use tokio::sync::oneshot;
use tokio::time::advance;

use super::*;

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn what_came_while_the_process_stood_still_is_read() {
    let (sender, receiver) = oneshot::channel();
    let waiting = tokio::spawn(timeout(LIMIT, receiver));
    tokio::task::yield_now().await;
    advance(LIMIT * 4).await;
    // The waiting task hears of the time before the task that reads the socket has run.
    tokio::task::yield_now().await;
    sender.send("an answer").unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().unwrap(), "an answer");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_waited_for_as_long_as_agreed() {
    let began = Instant::now();
    let silent = std::future::pending::<()>();
    timeout(LIMIT, silent).await.unwrap_err();
    assert!(began.elapsed() < LIMIT + LATE);
}

#[tokio::test(start_paused = true)]
async fn after_standing_still_a_silent_server_has_no_other_limit() {
    let waiting = tokio::spawn(timeout(LIMIT, std::future::pending::<()>()));
    tokio::task::yield_now().await;
    advance(LIMIT * 4).await;
    let began = Instant::now();
    waiting.await.unwrap().unwrap_err();
    assert!(began.elapsed() <= READING + LATE);
}
