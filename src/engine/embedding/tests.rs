use super::*;
use provider::ledger::{BudgetLimits, Ledger};
use provider::{ProviderRuntime, Spender};

fn spender(dir: &Path) -> Arc<Spender> {
    Spender::new(Ledger::open(dir).unwrap(), BudgetLimits::default())
}

#[test]
fn who_serves_is_remembered_without_a_key() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Serving::read(dir.path()), None);
    let config = EmbedConfig {
        provider: EmbedProvider::OpenAi,
        model: Some("m".to_owned()),
        base_url: Some("http://127.0.0.1:1".to_owned()),
        key: KeyConfig { command: Some("echo sk-secret".to_owned()), ..KeyConfig::default() },
        ..EmbedConfig::default()
    };
    let (runtime, spender) = (ProviderRuntime::new(|| {}), spender(dir.path()));
    let embedder = Embedder::open(&config, Some(7), &Shelf::of(Path::new("")), &runtime, &spender).unwrap();
    let serving = Serving::of(&config, &embedder);
    serving.write(dir.path()).unwrap();
    assert_eq!(Serving::read(dir.path()), Some(serving.clone()));
    assert!(!std::fs::read_to_string(dir.path().join(SERVING)).unwrap().contains("secret"));
    assert!(serving.is_asked_for(&config));
    assert!(!serving.is_asked_for(&EmbedConfig { dimensions: Some(8), ..config.clone() }));
    assert!(!serving.is_asked_for(&EmbedConfig::default()));
    // Only the provider knows how many there are if none are asked for.
    let with_dimensions = EmbedConfig { dimensions: Some(7), ..config.clone() };
    assert!(serving.is_asked_for(&with_dimensions) && !Serving::of(&with_dimensions, &embedder).is_asked_for(&config));
    let embedder = Embedder::open(&with_dimensions, Some(8), &Shelf::of(Path::new("")), &runtime, &spender).unwrap();
    assert_eq!(embedder.dimensions(), 7, "what is configured counts");
    let again = serving.config(&EmbedConfig::default());
    assert_eq!((again.identity(7), again.key.command), (serving.identity, None));
    std::fs::write(dir.path().join(SERVING), "nonsense").unwrap();
    assert_eq!(Serving::read(dir.path()), None);
}
