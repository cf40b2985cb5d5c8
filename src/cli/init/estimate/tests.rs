use super::*;
use context::settings::Provider;

#[test]
fn a_vault_is_reckoned_without_a_daemon_and_without_a_call() {
    let dir = tempfile::tempdir().unwrap();
    let section = |n: usize| format!("## Part {n}\n\n{}\n\n", "The orchard was surveyed again in spring. ".repeat(30));
    std::fs::write(dir.path().join("long.md"), (0..6).map(section).collect::<String>()).unwrap();
    std::fs::write(dir.path().join("short.md"), "One line.\n").unwrap();
    let vaults = [VaultConfig::new("notes", dir.path())];
    let config = |provider| ContextConfig { provider, ..ContextConfig::default() };
    let paid = of_vaults(&vaults, &config(Provider::Anthropic)).unwrap();
    assert_eq!(paid.notes, 1, "a note of one chunk gets the free context");
    assert!(paid.chunks >= 2 && paid.micro_dollars > Some(0) && paid.price_as_of.is_some(), "{paid:?}");
    let free = of_vaults(&vaults, &config(Provider::Ollama)).unwrap();
    assert_eq!((free.chunks, free.micro_dollars), (paid.chunks, Some(0)));
}

#[test]
fn what_was_not_read_is_taken_to_be_like_what_was() {
    let sum = Estimate { notes: 10, chunks: 40, calls: 10, micro_dollars: Some(1000), ..Estimate::default() };
    let all = with_rest(sum.clone(), 100, 300);
    assert_eq!((all.notes, all.chunks, all.micro_dollars), (40, 160, Some(4000)));
    assert_eq!(with_rest(sum.clone(), 100, 0), sum);
}
