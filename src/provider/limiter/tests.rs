use proptest::prelude::*;

use super::*;

/// Whether somebody would get a place right now.
fn free(pace: &AdaptiveLimiter) -> usize {
    pace.places.available_permits()
}

async fn answer(pace: &AdaptiveLimiter, times: u32) {
    for _ in 0..times {
        let mut place = pace.place().await;
        place.begin();
        place.answered();
    }
}

#[tokio::test]
async fn starts_low_and_grows_with_every_answer_until_the_first_refusal() {
    let pace = AdaptiveLimiter::new(6);
    assert_eq!((pace.limit(), free(&pace)), (4, 4));
    answer(&pace, 1).await;
    assert_eq!((pace.limit(), free(&pace)), (5, 5));
    answer(&pace, 20).await;
    assert_eq!((pace.limit(), free(&pace)), (6, 6));
}

#[tokio::test]
async fn fewer_places_than_the_first_ones_may_be_configured() {
    assert_eq!(AdaptiveLimiter::new(2).limit(), 2);
    assert_eq!(AdaptiveLimiter::new(0).limit(), 1);
    assert_eq!(AdaptiveLimiter::new(usize::MAX).limit(), 4);
}

#[tokio::test]
async fn calls_refused_together_halve_once() {
    let pace = AdaptiveLimiter::new(4);
    let mut places = Vec::new();
    for _ in 0..4 {
        let mut place = pace.place().await;
        place.begin();
        places.push(place);
    }
    places.iter().for_each(Place::refused);
    assert_eq!((pace.limit(), free(&pace)), (2, 0));
    // Two of the four that come back are not given out again.
    places.truncate(2);
    assert_eq!(free(&pace), 0);
    places.clear();
    assert_eq!(free(&pace), 2);
    // The next attempt is news again, and the last place is never taken.
    for expected in [1, 1] {
        let mut place = pace.place().await;
        place.begin();
        place.refused();
        assert_eq!(pace.limit(), expected);
    }
    assert_eq!(free(&pace), 1);
}

#[tokio::test]
async fn a_refusal_begins_the_count_of_answers_anew() {
    let pace = AdaptiveLimiter::new(8);
    answer(&pace, 19).await;
    let mut place = pace.place().await;
    place.begin();
    place.refused();
    drop(place);
    answer(&pace, 19).await;
    assert_eq!(pace.limit(), 4);
    answer(&pace, 1).await;
    assert_eq!(pace.limit(), 5);
}

#[tokio::test]
async fn places_are_given_in_the_order_of_asking() {
    let pace = Arc::new(AdaptiveLimiter::new(1));
    let first = pace.place().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for n in 0..5 {
        let (pace, order) = (pace.clone(), order.clone());
        waiting.push(tokio::spawn(async move {
            let _place = pace.place().await;
            order.lock().push(n);
        }));
        tokio::task::yield_now().await;
    }
    // One that gives up waiting does not hold up those behind it.
    waiting.remove(2).abort();
    drop(first);
    for task in waiting {
        task.await.unwrap();
    }
    assert_eq!(*order.lock(), [0, 1, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn the_longest_quiet_that_was_asked_for_holds() {
    let pace = AdaptiveLimiter::new(4);
    assert_eq!(pace.quiet(), None);
    pace.be_quiet(Duration::from_secs(20));
    pace.be_quiet(Duration::from_secs(5));
    assert_eq!(pace.quiet(), Some(Duration::from_secs(20)));
    tokio::time::advance(Duration::from_secs(21)).await;
    assert_eq!(pace.quiet(), None);
}

proptest! {
    /// Whatever happens in whatever order, no place is lost or doubled.
    #[test]
    fn places_add_up(most in 1..20_usize, acts in prop::collection::vec(0..4_u8, 0..300)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pace = AdaptiveLimiter::new(most);
            let mut places: Vec<Place<'_>> = Vec::new();
            for act in acts {
                match act {
                    0 if free(&pace) > 0 => {
                        let mut place = pace.place().await;
                        place.begin();
                        places.push(place);
                    }
                    1 => if let Some(place) = places.first() { (0..20).for_each(|_| place.answered()) },
                    2 => if let Some(place) = places.last_mut() { place.refused(); place.begin() },
                    _ => if !places.is_empty() { places.remove(0); },
                }
                assert!((1..=most).contains(&pace.limit()));
                let owed = pace.with(|state| state.owed);
                assert_eq!(free(&pace) + places.len(), pace.limit() + owed);
            }
            places.clear();
            assert_eq!(free(&pace), pace.limit());
        });
    }
}
