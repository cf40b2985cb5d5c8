use super::*;

fn failed() -> Shown {
    Shown::Failed(Some(503), "it is down".to_owned())
}

fn stopped(kind: FailureKind) -> Shown {
    Shown::Stopped(Some(401), Failure { kind, message: format!("{kind:?}"), maybe_billed: true })
}

fn circuit() -> CircuitBreaker {
    CircuitBreaker::new("anthropic", "example.org".to_owned())
}

fn call(circuit: &CircuitBreaker, shown: Shown) {
    circuit.pass().unwrap().settle(shown);
}

fn opened() -> CircuitBreaker {
    let circuit = circuit();
    (0..PATIENCE).for_each(|_| call(&circuit, failed()));
    circuit
}

async fn after(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_open_it() {
    let circuit = circuit();
    for _ in 0..3 {
        (0..PATIENCE - 1).for_each(|_| call(&circuit, failed()));
        assert_eq!(circuit.health(), Health::Good);
        call(&circuit, Shown::Reached);
    }
    (0..PATIENCE - 1).for_each(|_| call(&circuit, failed()));
    call(&circuit, Shown::Nothing);
    assert_eq!(circuit.health(), Health::Good);
    call(&circuit, failed());
    assert_eq!(circuit.health(), Health::Open(Duration::from_secs(60), "it is down".to_owned()));
    let failure = circuit.pass().unwrap_err();
    assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::Unavailable, false));
    assert_eq!(failure.message, "it is down; it is left alone and asked again in 60 s");
}

#[tokio::test(start_paused = true)]
async fn one_probe_closes_it() {
    let circuit = opened();
    after(59).await;
    assert!(circuit.look().is_err());
    after(1).await;
    assert!(circuit.look().is_ok());
    let probe = circuit.pass().unwrap();
    assert!(probe.is_probe());
    assert!(circuit.pass().is_err(), "a second call passed beside the probe");
    probe.settle(Shown::Reached);
    assert_eq!(circuit.health(), Health::Good);
    assert!(!circuit.pass().unwrap().is_probe());
}

#[tokio::test(start_paused = true)]
async fn the_pause_doubles_up_to_five_minutes() {
    let circuit = opened();
    for minutes in [1, 2, 4, 5, 5] {
        assert!(matches!(circuit.health(), Health::Open(left, _) if left == Duration::from_mins(minutes)));
        after(minutes * 60).await;
        call(&circuit, failed());
    }
    after(300).await;
    call(&circuit, Shown::Reached);
    (0..PATIENCE).for_each(|_| call(&circuit, failed()));
    assert!(matches!(circuit.health(), Health::Open(left, _) if left == Duration::from_mins(1)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_makes_room_for_the_next() {
    let circuit = opened();
    after(60).await;
    drop(circuit.pass().unwrap());
    assert!(circuit.pass().unwrap().is_probe());
}

#[tokio::test(start_paused = true)]
async fn late_failures_of_others_do_not_prolong_it() {
    let circuit = circuit();
    let late: Vec<_> = (0..8).map(|_| circuit.pass().unwrap()).collect();
    (0..PATIENCE).for_each(|_| call(&circuit, failed()));
    after(30).await;
    late.into_iter().for_each(|pass| pass.settle(failed()));
    assert!(matches!(circuit.health(), Health::Open(left, _) if left == Duration::from_secs(30)));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_stops_it_until_told() {
    for kind in [FailureKind::Unauthorized, FailureKind::UnknownModel] {
        let circuit = circuit();
        let late = circuit.pass().unwrap();
        call(&circuit, stopped(kind));
        late.settle(Shown::Reached);
        after(100_000).await;
        let failure = circuit.pass().unwrap_err();
        assert_eq!((failure.kind, failure.maybe_billed), (kind, false));
        assert_eq!(circuit.health(), Health::Stopped(format!("{kind:?}")));
        circuit.resume();
        assert_eq!(circuit.health(), Health::Good);
        assert!(circuit.pass().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_spend_limit_is_tried_again_after_an_hour() {
    let circuit = circuit();
    call(&circuit, stopped(FailureKind::SpendLimit));
    for _ in 0..3 {
        after(3599).await;
        assert_eq!(circuit.pass().unwrap_err().kind, FailureKind::SpendLimit);
        assert!(matches!(circuit.health(), Health::Stopped(_)));
        after(1).await;
        assert_eq!(circuit.health(), Health::Good, "nobody asks whom this calls stopped");
        let probe = circuit.pass().unwrap();
        assert!(probe.is_probe() && circuit.pass().is_err());
        assert!(matches!(circuit.health(), Health::Stopped(_)));
        probe.settle(stopped(FailureKind::SpendLimit));
    }
    after(3600).await;
    call(&circuit, Shown::Reached);
    assert_eq!(circuit.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn a_stop_outweighs_a_pause() {
    let circuit = opened();
    after(60).await;
    call(&circuit, stopped(FailureKind::Unauthorized));
    assert!(matches!(circuit.health(), Health::Stopped(_)));
}
