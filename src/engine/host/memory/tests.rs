use super::*;
use platform::process::{resident_bytes, unbacked_bytes};

#[test]
fn the_lowest_limit_above_counts() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("user.slice/situated.service");
    std::fs::create_dir_all(&inner).unwrap();
    let own = "1:cpu:/other\n0::/user.slice/situated.service\n";
    assert_eq!(of_group(root.path(), own), None, "nobody set one");
    std::fs::write(inner.join("memory.high"), "max\n").unwrap();
    assert_eq!(of_group(root.path(), own), None);
    std::fs::write(inner.join("memory.high"), "2000\n").unwrap();
    std::fs::write(root.path().join("user.slice/memory.high"), "1000\n").unwrap();
    assert_eq!(of_group(root.path(), own), Some(1000));
    std::fs::write(inner.join("memory.max"), "500\n").unwrap();
    assert_eq!(of_group(root.path(), own), Some(500), "the kernel kills above it");
    assert_eq!(of_group(root.path(), "1:memory:/x\n"), None, "version 1 has no such thing");
}

#[test]
fn this_process_has_memory_and_a_limit() {
    assert!(!cfg!(target_os = "linux") || (resident_bytes() > 1 << 20 && unbacked_bytes() > 0));
    assert!(memory_limit(1 << 30) <= 1 << 30);
}
