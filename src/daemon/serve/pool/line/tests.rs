use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::*;

type Entering<'l> = Pin<Box<dyn Future<Output = Result<Place, Full>> + 'l>>;

const PATIENCE: Duration = Duration::from_millis(100);

/// A call that has joined the queue, unless it was refused at once.
fn ask(line: &Line, client: usize) -> Entering<'_> {
    let mut entering: Entering<'_> = Box::pin(line.enter(client));
    match look(&mut entering) {
        Poll::Ready(outcome) => Box::pin(std::future::ready(outcome)),
        Poll::Pending => entering,
    }
}

fn look(entering: &mut Entering<'_>) -> Poll<Result<Place, Full>> {
    entering.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn waits(entering: &mut Entering<'_>) -> bool {
    look(entering).is_pending()
}

fn is_refused(entering: &mut Entering<'_>) -> bool {
    matches!(look(entering), Poll::Ready(Err(_)))
}

/// Has a line with one place, which is taken, take what comes next for a flood.
async fn flood(line: &Line) {
    let _waiting: Vec<_> = (100..=100 + FEW).map(|client| ask(line, client)).collect();
    tokio::time::advance(PATIENCE * 2).await;
    assert!(waits(&mut ask(line, 99)), "the newest has not waited yet");
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_worked_off_and_a_flood_is_refused() {
    let line = Line::new(2, 20, Some(PATIENCE));
    let running = [line.enter(0).await.unwrap(), line.enter(1).await.unwrap()];
    let mut burst: Vec<_> = (0..20).map(|client| ask(&line, client)).collect();
    assert!(burst.iter_mut().all(waits), "there is room for all of a burst");
    assert!(is_refused(&mut ask(&line, 99)), "and for no more");
    tokio::time::advance(PATIENCE * 2).await;
    assert!(burst.iter_mut().all(waits), "nobody else comes, so all are answered, late as that is");
    let mut more = ask(&line, 99);
    let left: Vec<bool> = burst.iter_mut().map(waits).collect();
    assert!(waits(&mut more), "the newest has not waited yet");
    assert!(left[19] && left.iter().filter(|waits| **waits).count() == 1, "two run, so two wait: {left:?}");
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn in_a_flood_no_call_gives_way_to_a_client_that_has_more() {
    let line = Line::new(1, 10, Some(PATIENCE));
    let running = line.enter(1).await.unwrap();
    flood(&line).await;
    let mut modest = ask(&line, 2);
    assert!(is_refused(&mut ask(&line, 1)) && waits(&mut modest), "one of its calls runs");
    let mut another = ask(&line, 3);
    assert!(waits(&mut another) && is_refused(&mut modest), "it has none");
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_over_once_nobody_was_refused_for_a_while() {
    let line = Line::new(1, 10, Some(PATIENCE));
    let running = line.enter(0).await.unwrap();
    flood(&line).await;
    let mut first = ask(&line, 1);
    let mut second = ask(&line, 2);
    assert!(waits(&mut second) && is_refused(&mut first), "one runs, so one waits");
    drop(running);
    let Poll::Ready(Ok(place)) = look(&mut second) else { panic!("its turn has come") };
    let (mut third, mut fourth) = (ask(&line, 3), ask(&line, 4));
    assert!(waits(&mut fourth) && is_refused(&mut third), "the queue was empty for a moment only");
    drop(fourth);
    tokio::time::advance(PATIENCE * 2).await;
    let mut burst: Vec<_> = (10..20).map(|client| ask(&line, client)).collect();
    assert!(burst.iter_mut().all(waits), "there is room for a burst again");
    drop(place);
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_one_by_one_are_no_flood_however_long_they_do() {
    // Some whose turn is short, and fewer whose turn takes longer than the line's patience.
    for (clients, turn_takes) in [(15, PATIENCE / 10), (2 + 2 * FEW, PATIENCE * 2)] {
        let line = Line::new(2, 20, Some(PATIENCE));
        let mut running = vec![(0, line.enter(0).await.unwrap()), (1, line.enter(1).await.unwrap())];
        let mut waiting: Vec<_> = (2..clients).map(|client| (client, ask(&line, client))).collect();
        for _ in 0..100 {
            tokio::time::advance(turn_takes / 2).await;
            let (client, place) = running.remove(0);
            drop(place);
            let (next, mut turn) = waiting.remove(0);
            let Poll::Ready(Ok(place)) = look(&mut turn) else { panic!("its turn has come") };
            running.push((next, place));
            let mut again = ask(&line, client);
            assert!(waits(&mut again), "{clients} clients");
            waiting.push((client, again));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_itself_alone_is_no_flood() {
    let line = Line::new(2, 20, Some(PATIENCE));
    let running = [line.enter(1).await.unwrap(), line.enter(2).await.unwrap()];
    let mut calls: Vec<_> = [1, 2, 1].into_iter().map(|client| ask(&line, client)).collect();
    tokio::time::advance(PATIENCE * 2).await;
    calls.extend([ask(&line, 1), ask(&line, 2)]);
    assert!(calls.iter_mut().all(waits), "two clients, two places");
    drop(running);
}

#[tokio::test]
async fn the_last_of_many_gives_way_to_the_first_of_another_client() {
    let line = Line::new(1, 4, None);
    let running = line.enter(1).await.unwrap();
    let mut greedy: Vec<_> = (0..4).map(|_| ask(&line, 1)).collect();
    let mut modest = ask(&line, 2);
    assert!(waits(&mut modest) && is_refused(&mut greedy[3]));
    let mut another = ask(&line, 3);
    assert!(waits(&mut another) && is_refused(&mut greedy[2]));
    assert!(is_refused(&mut ask(&line, 2)), "it would have as many as the greedy one");
    drop(running);
}

#[tokio::test]
async fn the_client_with_the_fewest_places_is_next() {
    let line = Line::new(2, 9, None);
    let (one, two) = (line.enter(1).await.unwrap(), line.enter(1).await.unwrap());
    let (mut of_one, mut of_two) = (ask(&line, 1), ask(&line, 2));
    drop(one);
    assert!(waits(&mut of_one) && look(&mut of_two).is_ready());
    drop(two);
    assert!(look(&mut of_one).is_ready());
}

#[tokio::test]
async fn who_leaves_gives_its_place_back() {
    let line = Line::new(1, 4, None);
    let running = line.enter(1).await.unwrap();
    let (left, mut stays, called) = (ask(&line, 1), ask(&line, 2), ask(&line, 3));
    drop(left);
    drop(running);
    let Poll::Ready(Ok(place)) = look(&mut stays) else { panic!("the first has left") };
    drop(place);
    // It has the place, and leaves before it looks.
    assert_eq!(line.0.lock().running, [3]);
    drop(called);
    assert!(line.0.lock().running.is_empty());
}
