use super::*;
use platform::process::{resident_bytes, unbacked_bytes};

#[test]
fn the_lowest_limit_above_counts() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("user.slice/situated.service");
    std::fs::create_dir_all(&inner).unwrap();
    let own = "1:cpu:/other\n0::/user.slice/situated.service\n";
    assert_eq!(of_group(root.path(), own), GroupLimits::default(), "nobody set one");
    std::fs::write(inner.join("memory.high"), "max\n").unwrap();
    assert_eq!(of_group(root.path(), own), GroupLimits::default());
    std::fs::write(inner.join("memory.high"), "2000\n").unwrap();
    std::fs::write(root.path().join("user.slice/memory.high"), "1000\n").unwrap();
    assert_eq!(of_group(root.path(), own), GroupLimits { high: Some(1000), max: None });
    std::fs::write(inner.join("memory.max"), "500\n").unwrap();
    assert_eq!(of_group(root.path(), own), GroupLimits { high: Some(1000), max: Some(500) });
    assert_eq!(of_group(root.path(), "1:memory:/x\n"), GroupLimits::default(), "version 1 has no such thing");
}

#[test]
fn this_process_has_memory_and_a_limit() {
    assert!(!cfg!(target_os = "linux") || (resident_bytes() > 1 << 20 && unbacked_bytes() > 0));
    assert!(MemoryLimits::of(&HostConfig::default()).small_steps <= HostConfig::default().memory);
}

#[test]
fn what_waits_begins_below_what_kills() {
    const MIB: u64 = 1 << 20;
    let within = |memory: u64, memory_max: Option<u64>, high: Option<u64>, max: Option<u64>| {
        let host =
            HostConfig { memory: memory * MIB, memory_max: memory_max.map(|max| max * MIB), ..HostConfig::default() };
        let group = GroupLimits { high: high.map(|high| high * MIB), max: max.map(|max| max * MIB) };
        let MemoryLimits { small_steps, bulk_waits, opens } = MemoryLimits::within(&host, group);
        [small_steps, bulk_waits, opens].map(|limit| if limit == u64::MAX { limit } else { limit.div_ceil(MIB) })
    };
    assert_eq!(within(900, None, None, None), [900, u64::MAX, u64::MAX], "nothing kills");
    assert_eq!(within(900, None, Some(500), None), [450, u64::MAX, u64::MAX]);
    assert_eq!(within(900, None, None, Some(200)), [100, 150, 180]);
    assert_eq!(within(60, None, Some(1000), Some(2000)), [60, 1500, 1800]);
    assert_eq!(within(900, Some(100), None, Some(200)), [50, 75, 90], "the lower one counts");
    assert_eq!(within(900, Some(400), None, Some(200)), [100, 150, 180]);
}
