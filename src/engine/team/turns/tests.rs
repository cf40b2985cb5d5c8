use std::time::Duration;

use super::*;
use crate::settings::TeamConfig;
use crate::team::word::word;
use crate::testing::Bench;

async fn waits<T>(turn: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_secs(1), turn).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_turn_begins_when_those_of_all_configurations_before_have_ended() {
    let first = Arc::new(Turns::default());
    let (one, other) = (first.begin().await.unwrap(), first.begin().await.unwrap());
    let second = first.next();
    assert!(waits(second.begin()).await);
    let third = second.next();
    drop(one);
    assert!(waits(third.begin()).await && waits(second.begin()).await);
    drop(other);
    let _turn = third.begin().await.unwrap();
    assert!(first.begin().await.is_err() && second.begin().await.is_err());
}

#[test]
fn a_vault_is_withdrawn_when_what_still_publishes_it_has_ended() {
    let mut bench = Bench::new(|settings| {
        settings.teams.insert("handbook".to_owned(), TeamConfig::new("http://team.invalid", "handbook"));
        settings.vaults[0].publish = Some("handbook".to_owned());
    });
    word(&bench.settings.data_dir).unwrap();
    bench.shared.teams.configure(&bench.shared, &bench.settings);
    bench.drive(Duration::from_secs(1));
    let turns = bench.shared.teams.turns.lock().clone();
    let turn = turns.under_way.try_read().unwrap();
    bench.settings.vaults[0].publish = None;
    bench.shared.teams.configure(&bench.shared, &bench.settings);
    let before = bench.model.team_asked().len();
    bench.drive(Duration::from_secs(400));
    assert_eq!(bench.model.team_asked().len(), before, "the server was asked meanwhile");
    drop(turn);
    bench.drive(Duration::from_secs(400));
    assert!(bench.model.team_asked().len() > before);
}
