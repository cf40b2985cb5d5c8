use super::*;
use engine::settings::TeamConfig;
use index::search::rerank::RerankProvider;
use vault::settings::VaultConfig;

fn places() -> Places {
    Places {
        home: "/home/me".into(),
        config: "/home/me/.config".into(),
        runtime: Some("/run/user/7".into()),
        search: "".into(),
        uid: 7,
    }
}

fn loaded() -> Loaded {
    Loaded {
        config: Config::new("/home/me/.local/share/situated", vec![VaultConfig::new("n", "/home/me/N")]),
        origins: [].into(),
        file: Some("/home/me/.config/situated/config.toml".into()),
        beside_file: Vec::new(),
        left_out: Vec::new(),
    }
}

#[test]
fn the_usual_places_need_nothing() {
    let wanted = Wanted::of(&loaded(), &places());
    assert!(wanted.options.is_empty() && wanted.writable.is_empty() && wanted.network.is_empty(), "{wanted:?}");
    assert!(!wanted.shared_tmp && wanted.unseen.is_empty() && !wanted.key_in_shell, "{wanted:?}");
}

#[test]
fn what_is_elsewhere_is_named_and_opened() {
    let mut loaded = loaded();
    loaded.file = Some("/home/me/c/x.toml".into());
    loaded.config.engine.data_dir = "/mnt/in dex".into();
    loaded.config.serve.socket = Some("/home/me/sock/s".into());
    loaded.origins.insert("serve.socket".into(), ValueOrigin::Env("SITUATED_SOCKET".into()));
    loaded.origins.insert("search.limit".into(), ValueOrigin::Env("SITUATED_SEARCH_LIMIT".into()));
    let wanted = Wanted::of(&loaded, &places());
    let options: Vec<String> = wanted.options.iter().map(|(o, p)| format!("{o} {}", p.display())).collect();
    assert_eq!(options, ["--config /home/me/c/x.toml", "--data-dir /mnt/in dex", "--socket /home/me/sock/s"]);
    assert_eq!(wanted.writable, [PathBuf::from("/mnt/in dex"), "/home/me/sock".into()]);
    assert_eq!(wanted.unseen, ["SITUATED_SEARCH_LIMIT"]);
    // What the file says the daemon reads there.
    loaded.origins.insert("data_dir".into(), ValueOrigin::File("/home/me/c/x.toml".into(), 3));
    loaded.origins.insert("serve.socket".into(), ValueOrigin::File("/home/me/c/x.toml".into(), 4));
    let wanted = Wanted::of(&loaded, &places());
    assert_eq!((wanted.options.len(), wanted.writable.len()), (1, 2));
    loaded.config.serve.socket = Some("/run/user/7/situated/other".into());
    loaded.config.engine.vaults[0].path = "/tmp/notes".into();
    let wanted = Wanted::of(&loaded, &places());
    assert!(wanted.writable.len() == 1 && wanted.shared_tmp);
}

#[test]
fn providers_need_the_network() {
    let mut loaded = loaded();
    loaded.config.engine.context.provider = Provider::Anthropic;
    loaded.config.engine.embed.provider = EmbedProvider::Ollama;
    loaded.config.engine.rerank.provider = RerankProvider::Cohere;
    let wanted = Wanted::of(&loaded, &places());
    assert_eq!(wanted.network, ["[context] anthropic", "[embed] ollama", "[rerank] cohere"]);
    assert!(wanted.key_in_shell);
    assert!(!wanted.key_command);
    loaded.config.engine.context.key.command = Some("pass show x".into());
    let wanted = Wanted::of(&loaded, &places());
    assert!(!wanted.key_in_shell && wanted.key_command);
    loaded.config.engine.embed.provider = EmbedProvider::Transformer;
    loaded.config.engine.embed.model = Some("/models/mini".into());
    assert_eq!(network(&loaded.config), ["[context] anthropic", "[rerank] cohere"]);
}

#[test]
fn a_team_needs_the_network() {
    let mut loaded = loaded();
    loaded.config.engine.teams.insert("harbour".into(), TeamConfig::new("https://a.example", "notes"));
    assert_eq!(Wanted::of(&loaded, &places()).network, ["[team.harbour]"]);
}
