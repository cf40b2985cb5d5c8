use super::*;

fn state(memory: Memory) -> State {
    let limits = MemoryLimits { small_steps: 100, bulk_waits: 150, opens: 180 };
    State { memory, limits, ..State::new(&HostConfig::default()) }
}

#[test]
fn what_memory_holds_back_goes_on_a_tenth_below_where_it_was_held() {
    for (before, taken, after) in [
        (Memory::Ample, 100, Memory::Ample),
        (Memory::Ample, 101, Memory::Tight),
        (Memory::Ample, 151, Memory::Short),
        (Memory::Tight, 91, Memory::Tight),
        (Memory::Tight, 90, Memory::Ample),
        (Memory::Tight, 150, Memory::Tight),
        (Memory::Short, 136, Memory::Short),
        (Memory::Short, 135, Memory::Tight),
        (Memory::Short, 90, Memory::Ample),
    ] {
        assert_eq!(state(before).memory_at(taken), after, "{before:?} at {taken}");
    }
}

#[test]
fn who_insists_on_battery_gets_no_more_memory() {
    let empty = Supply { on_battery: true, percent: Some(5) };
    let of = |memory| State { insisted: true, supply: empty, ..state(memory) };
    assert_eq!(State { insisted: false, ..of(Memory::Ample) }.level(), Brake::All);
    assert_eq!(of(Memory::Ample).level(), Brake::Off);
    assert_eq!(of(Memory::Tight).level(), Brake::Off);
    assert_eq!(of(Memory::Short).level(), Brake::All);
}

#[test]
fn who_insists_on_battery_goes_on_after_a_reload_too() {
    let dir = tempfile::tempdir().unwrap();
    let battery = dir.path().join("BAT0");
    std::fs::create_dir(&battery).unwrap();
    for (name, text) in [("type", "Battery"), ("status", "Discharging"), ("capacity", "10")] {
        std::fs::write(battery.join(name), text).unwrap();
    }
    let host = HostConfig { battery: Some(dir.path().to_owned()), ..HostConfig::default() };
    let throttle = Throttle::new(&host, dir.path());
    throttle.look(true);
    assert_eq!(throttle.level(), Brake::All);
    throttle.insist();
    throttle.configure(&host);
    throttle.look(true);
    assert_eq!(throttle.level(), Brake::Off);
    // Mains ends it, whatever was read meanwhile.
    std::fs::write(battery.join("status"), "Charging").unwrap();
    throttle.configure(&host);
    std::fs::write(battery.join("status"), "Discharging").unwrap();
    throttle.look(true);
    assert_eq!(throttle.level(), Brake::All);
}

#[test]
fn memory_that_was_short_when_the_last_work_ended_is_measured_again() {
    let limits = MemoryLimits { small_steps: u64::MAX, bulk_waits: u64::MAX, opens: u64::MAX };
    let state = Mutex::new(State { memory: Memory::Short, limits, ..State::new(&HostConfig::default()) });
    let throttle = Throttle { state, pause_file: PathBuf::new() };
    assert!(throttle.all_waits() && throttle.is_relieved());
    assert!(!throttle.all_waits() && !throttle.is_relieved());
}
