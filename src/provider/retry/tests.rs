use proptest::prelude::*;

use super::*;

const LONG: Duration = Duration::from_secs(300);

fn seconds(seconds: f64) -> Option<Duration> {
    Some(Duration::from_secs_f64(seconds))
}

#[test]
fn pauses_double_and_are_jittered_in_full() {
    let cases = [(1, 0.0, 0.0), (1, 0.5, 0.25), (2, 0.5, 0.5), (3, 0.5, 1.0), (3, 0.25, 0.5)];
    for (attempts, random, expected) in cases {
        assert_eq!(pause(attempts, None, random, LONG), seconds(expected), "after {attempts}");
    }
    assert_eq!(pause(MOST_ATTEMPTS, None, 0.0, LONG), None);
}

#[test]
fn a_time_that_the_provider_names_wins_if_it_is_there() {
    assert_eq!(pause(1, seconds(90.0), 0.5, LONG), seconds(90.0));
    assert_eq!(pause(1, seconds(90.0), 0.5, Duration::from_secs(90)), None);
    assert_eq!(pause(1, seconds(0.0), 0.5, LONG), seconds(0.0));
    assert_eq!(pause(MOST_ATTEMPTS, seconds(1.0), 0.5, LONG), None);
}

proptest! {
    #[test]
    fn a_pause_never_outlasts_the_time_left(attempts: u32, random: f64, after: Option<u32>, left: u32) {
        let after = after.map(|after| Duration::from_millis(after.into()));
        let left = Duration::from_millis(left.into());
        if let Some(pause) = pause(attempts, after, random, left) {
            prop_assert!(attempts < MOST_ATTEMPTS && pause < left);
            prop_assert!(pause == after.unwrap_or(pause) && (after.is_some() || pause <= LONGEST_PAUSE));
        }
    }
}

#[test]
fn random_numbers_differ_and_fill_the_range() {
    let numbers: Vec<f64> = (0..1000).map(|_| random()).collect();
    assert!(numbers.iter().all(|n| (0.0..1.0).contains(n)));
    let mean = numbers.iter().sum::<f64>() / 1000.0;
    assert!((0.4..0.6).contains(&mean), "{mean}");
}

#[test]
fn every_refusal_has_its_consequence() {
    let after = seconds(3.0);
    let never = |kind| Next::Never(kind);
    let cases = [
        (RefusalKind::Transient, None, Next::Again { after, busy: false }),
        (RefusalKind::Overloaded, None, Next::Again { after, busy: true }),
        (RefusalKind::Unauthorized, None, Next::AnotherKey),
        (RefusalKind::UnknownModel, None, never(FailureKind::UnknownModel)),
        (RefusalKind::SpendLimit, None, never(FailureKind::SpendLimit)),
        (RefusalKind::TooLong, None, never(FailureKind::TooLong)),
        (RefusalKind::Rejected, None, never(FailureKind::Rejected)),
        (RefusalKind::UnsupportedField, None, never(FailureKind::Rejected)),
        (RefusalKind::UnsupportedField, Some(Field::Temperature), Next::Without(Field::Temperature)),
    ];
    for (kind, field, expected) in cases {
        let refusal = Refusal { kind, retry_after: after, field, message: "no".to_owned() };
        assert_eq!(Fault::refused(500, refusal).next, expected);
    }
}

#[test]
fn what_may_have_been_counted() {
    let refused = |status| {
        let message = String::new();
        Fault::refused(status, Refusal { kind: RefusalKind::Transient, retry_after: None, field: None, message })
    };
    assert!(!refused(500).maybe_billed && !refused(429).maybe_billed && refused(504).maybe_billed);
    assert!(Fault::broken(200, String::new()).maybe_billed && !Fault::broken(302, String::new()).maybe_billed);
    assert!(Fault::late(LONG).maybe_billed);
}
