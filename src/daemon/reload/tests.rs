use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

#[test]
fn readings_that_hang_keep_one_thread_and_no_caller() {
    let (let_go, held) = mpsc::channel::<()>();
    let (held, begun) = (Mutex::new(held), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&begun);
    let reload = in_time(
        move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = held.lock().recv();
            Err(NotTaken::NeedsRestart)
        },
        Duration::from_millis(100),
    );
    let late = |outcome: Result<Settings, NotTaken>| matches!(outcome, Err(NotTaken::Wrong(why)) if why[0].message.contains("does not answer"));
    let callers = || thread::scope(|scope| [scope.spawn(&reload), scope.spawn(&reload)].map(|it| it.join().unwrap()));
    let began = Instant::now();
    assert!(late(reload()) && callers().into_iter().all(late));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(begun.load(Ordering::SeqCst), 1, "the others wait for the first");
    drop(let_go);
    // The next is a reading of its own.
    let again = loop {
        let outcome = reload();
        if begun.load(Ordering::SeqCst) > 1 && !late(outcome.clone()) {
            break outcome;
        }
    };
    assert_eq!(again, Err(NotTaken::NeedsRestart));
}
