use super::*;
use crate::testing::file_system;

/// Long: the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_disk_that_hangs_is_waited_for_once() {
    let access = DiskAccess::new(file_system());
    assert_eq!(access.ask(PATIENCE, |_| 7), Ok(7));
    let (lift, hangs) = mpsc::channel::<()>();
    let short = Duration::from_millis(20);
    assert_eq!(access.ask(short, move |_| hangs.recv().is_ok()), Err(Hangs));
    // The thread is still at it, so nobody else waits for as long: not even a short while for each.
    let began = Instant::now();
    for _ in 0..1000 {
        assert_eq!(access.ask(short, |_| ()), Err(Hangs));
    }
    assert!(began.elapsed() < PATIENCE, "1000 waits of 20 ms each were not waited for");
    lift.send(()).unwrap();
    assert_eq!(access.ask(PATIENCE, |_| 8), Ok(8), "it answers again");
}

#[test]
fn what_makes_its_thread_panic_takes_nobody_along() {
    let access = DiskAccess::new(file_system());
    assert_eq!(access.ask(PATIENCE, |_| panic!("a test wants to see what happens")), Err::<(), _>(Hangs));
    // However long ago that was, the thread does not count as busy with it.
    let until = Instant::now() + PATIENCE;
    while access.busy_for().is_some() {
        assert!(Instant::now() < until, "it is done with it");
    }
    while access.ask(PATIENCE, |_| ()).is_err() {
        assert!(Instant::now() < until, "it answers again");
    }
}

#[test]
fn no_more_wait_than_there_is_room_for() {
    let access = DiskAccess::new(file_system());
    let (lift, hangs) = mpsc::channel::<()>();
    let none = Duration::ZERO;
    assert_eq!(access.ask(none, move |_| hangs.recv().is_ok()), Err(Hangs));
    // The thread may not have begun yet; whatever it holds, requests are refused rather than kept.
    for _ in 0..3 * MOST_WAITING {
        assert_eq!(access.ask(none, |_| ()), Err(Hangs));
    }
    lift.send(()).unwrap();
    let until = Instant::now() + PATIENCE;
    while access.ask(PATIENCE, |_| ()).is_err() {
        assert!(Instant::now() < until, "it answers again");
    }
}
