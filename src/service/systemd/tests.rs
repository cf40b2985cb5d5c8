use super::*;

fn state(said: &str) -> UnitState {
    UnitState::of(said)
}

#[test]
fn states_are_read() {
    let up = state(
        "LoadState=loaded\nActiveState=active\nMainPID=12\nNRestarts=1\nActiveEnterTimestamp=@1700000000\nUnitFileState=enabled\nStatusText=idle; a=b\n",
    );
    assert!(up.is_up() && !up.has_failed() && up.enabled);
    assert_eq!((up.pid, up.restarts, up.since), (Some(12), 1, Some(1_700_000_000)));
    let down = state("ActiveState=inactive\nMainPID=0\nActiveEnterTimestamp=\nUnitFileState=\n");
    assert_eq!((down.pid, down.since, down.is_up(), down.enabled), (None, None, false, false));
    assert!(!UnitState::default().is_up() && !UnitState::default().has_failed());
}

#[test]
fn ends_are_told_in_words() {
    for (said, why) in [
        ("Result=exit-code\nExecMainStatus=78", "config check"),
        ("Result=exit-code\nExecMainStatus=75", "another daemon"),
        ("Result=exit-code\nExecMainStatus=203", "203/EXEC"),
        ("Result=exit-code\nExecMainStatus=226", "226"),
        ("Result=exit-code\nExecMainStatus=70", "exit code 70"),
        ("Result=start-limit-hit\nExecMainStatus=70", "too often"),
        ("Result=watchdog\nExecMainStatus=6", "watchdog"),
        ("Result=success\nExecMainStatus=0", "stopped"),
    ] {
        assert!(state(said).why().contains(why), "{said}: {}", state(said).why());
    }
}
