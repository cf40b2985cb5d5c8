use super::*;

fn path(name: &str) -> VaultPath {
    VaultPath::parse(name).unwrap()
}

fn timing() -> Timing {
    Timing {
        lone: Duration::from_millis(50),
        saved: Duration::from_millis(5),
        burst: Duration::from_millis(300),
        storm: Duration::from_secs(2),
        burst_longest: Duration::from_secs(2),
        storm_longest: Duration::from_secs(30),
        storm_paths: 500,
    }
}

#[test]
fn a_walk_that_is_asked_for_during_another_follows_it_with_all_who_asked() {
    let now = Instant::now();
    let mut freshness = Freshness::new(timing(), now);
    assert_eq!(
        freshness.request(RescanReason::Start, vec![1]),
        Some(Walk { reason: RescanReason::Start, jobs: vec![1] })
    );
    assert_eq!(freshness.request(RescanReason::Asked, vec![2]), None);
    assert_eq!(freshness.request(RescanReason::Asked, vec![3]), None);
    assert_eq!(freshness.following(), None, "the first one is still under way");
    freshness.ended();
    assert_eq!(freshness.following(), Some(Walk { reason: RescanReason::Asked, jobs: vec![2, 3] }));
    assert!(freshness.is_walking() && freshness.has_looked());
    freshness.ended();
    assert_eq!(freshness.following(), None);
}

#[test]
fn a_part_that_is_asked_for_during_a_walk_becomes_a_walk() {
    let mut freshness = Freshness::new(timing(), Instant::now());
    assert!(freshness.request(RescanReason::Asked, vec![]).is_some());
    assert!(freshness.request(RescanReason::Asked, vec![]).is_none(), "one look at a time");
    freshness.ended();
    assert_eq!(freshness.following(), Some(Walk { reason: RescanReason::Asked, jobs: vec![] }));
}

#[test]
fn a_note_that_cannot_be_read_is_read_again_ever_more_seldom_until_it_can() {
    let start = Instant::now();
    let mut freshness = Freshness::new(timing(), start);
    freshness.walked(start, Duration::from_secs(3600));
    let (mut now, mut pauses) = (start, Vec::new());
    for _ in 0..8 {
        freshness.unread(now, path("a.md"));
        let at = freshness.next_wake(false).unwrap();
        pauses.push((at - now).as_secs());
        assert_eq!(freshness.due(at.checked_sub(Duration::from_millis(1)).unwrap(), false).again, []);
        assert_eq!(freshness.due(at, false).again, [(path("a.md"), false)]);
        now = at;
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
    freshness.read(&path("a.md"));
    assert_eq!(freshness.next_wake(false), Some(start + Duration::from_secs(3600)));
}

#[test]
fn an_emptied_note_is_believed_after_two_seconds_however_often_it_is_found_so_and_asked_about_once() {
    let now = Instant::now();
    let mut freshness = Freshness::new(timing(), now);
    freshness.walked(now, Duration::from_secs(3600));
    freshness.emptied(now, path("a.md"));
    assert_eq!(freshness.due(now + Duration::from_secs(1), false).again, []);
    freshness.emptied(now + Duration::from_secs(1), path("a.md"));
    assert_eq!(freshness.due(now + EMPTY_FOR, false).again, [(path("a.md"), true)]);
    assert_eq!(freshness.due(now + EMPTY_FOR * 60, false).again, []);
}

#[test]
fn the_regular_walk_waits_for_its_time_and_for_one_that_is_under_way() {
    let now = Instant::now();
    let mut freshness = Freshness::new(timing(), now);
    assert!(freshness.due(now, false).walk);
    assert!(freshness.request(RescanReason::Interval, vec![]).is_some());
    assert!(!freshness.due(now, false).walk);
    freshness.ended();
    freshness.walked(now, Duration::from_secs(60));
    assert!(!freshness.due(now + Duration::from_secs(59), false).walk);
    assert!(freshness.due(now + Duration::from_secs(60), false).walk);
}
