use super::*;

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

async fn drain(outbox: &Outbox) -> Vec<String> {
    outbox.finish();
    let mut lines = Vec::new();
    while let Some(line) = outbox.next().await {
        lines.push(String::from_utf8(line).unwrap().trim_end().to_owned());
    }
    lines
}

#[tokio::test]
async fn a_slow_reader_is_told_what_it_missed() {
    let outbox = Outbox::default();
    for n in 0..QUEUE_LINES + 5 {
        outbox.notify(line(&n.to_string()));
    }
    assert_eq!(outbox.next().await.unwrap(), line("0"));
    outbox.notify(line("one place is not enough"));
    assert_eq!(outbox.next().await.unwrap(), line("1"));
    outbox.notify(line("after"));
    let lines = drain(&outbox).await;
    assert_eq!(lines.len(), QUEUE_LINES);
    assert_eq!(lines[QUEUE_LINES - 3], (QUEUE_LINES - 1).to_string());
    assert!(lines[QUEUE_LINES - 2].contains(r#""kind":"lagged","missed":6"#), "{lines:?}");
    assert_eq!(lines[QUEUE_LINES - 1], "after");
}

#[tokio::test]
async fn a_lag_is_told_even_if_nothing_comes_after_it() {
    let outbox = Outbox::default();
    outbox.missed(3);
    assert!(drain(&outbox).await[0].contains(r#""missed":3"#));
}

#[tokio::test]
async fn replies_wait_and_none_is_lost() {
    let outbox = std::sync::Arc::new(Outbox::default());
    let sender = tokio::spawn({
        let outbox = outbox.clone();
        async move {
            for n in 0..1000 {
                outbox.reply(line(&n.to_string())).await;
            }
            outbox.finish();
        }
    });
    let mut lines = Vec::new();
    while let Some(line) = outbox.next().await {
        assert!(outbox.with(|queue| queue.lines.len()) <= QUEUE_LINES);
        lines.push(String::from_utf8(line).unwrap().trim_end().parse::<u32>().unwrap());
    }
    sender.await.unwrap();
    assert_eq!(lines, (0..1000).collect::<Vec<_>>());
}

#[tokio::test]
async fn large_replies_wait_for_each_other() {
    let outbox = Outbox::default();
    let large = vec![b' '; QUEUE_BYTES / 2 + 1];
    outbox.reply(large.clone()).await;
    let second = tokio::time::timeout(Duration::from_millis(20), outbox.reply(large.clone())).await;
    assert!(second.is_err());
    outbox.next().await.unwrap();
    outbox.reply(large).await;
}

#[tokio::test]
async fn a_reader_that_is_gone_ends_the_waiting() {
    let outbox = std::sync::Arc::new(Outbox::default());
    for _ in 0..QUEUE_LINES {
        outbox.reply(line("x")).await;
    }
    let waiting = tokio::spawn({
        let outbox = outbox.clone();
        async move { outbox.reply(line("late")).await }
    });
    tokio::task::yield_now().await;
    outbox.break_off();
    waiting.await.unwrap();
    assert!(drain(&outbox).await.is_empty());
}
