use super::*;

#[test]
fn somebody_can_read_it_afterwards() {
    let around = Around { daemon: true, named: false, terminal: false, journal: None, launchd: false };
    for (around, (journal, stderr, file)) in [
        (Around { daemon: false, ..around }, (false, true, false)),
        (Around { terminal: true, ..around }, (false, true, false)),
        (Around { terminal: true, named: true, ..around }, (false, true, true)),
        (around, (false, true, true)),
        (Around { launchd: true, ..around }, (false, false, true)),
        (Around { journal: Some(true), ..around }, (true, false, false)),
        (Around { journal: Some(false), ..around }, (true, false, true)),
        (Around { journal: Some(true), named: true, ..around }, (true, false, true)),
        (Around { daemon: false, journal: Some(true), ..around }, (false, true, false)),
    ] {
        assert_eq!(sinks(around), Sinks { journal, stderr, file }, "{around:?}");
    }
}
