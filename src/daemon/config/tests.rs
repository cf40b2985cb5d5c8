use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::layers::{Environment, load, whereabouts};
use super::*;
use ::context::settings::Provider;
use vault::settings::WatchConfig;

mod chunk;
mod context;
mod embed;
mod rerank;

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("Notes")).unwrap();
        Bench { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn overrides(&self, text: &str) -> Overrides {
        let file = self.path("config.toml");
        let text =
            text.replace("NOTES", self.path("Notes").to_str().unwrap()).replace("DIR", self.path("").to_str().unwrap());
        std::fs::write(&file, text).unwrap();
        Overrides { config: Some(file), ..Overrides::default() }
    }

    fn load(&self, text: &str, env: &[(&str, &str)]) -> Result<Loaded, ConfigErrors> {
        load(&self.overrides(text), &environment(env))
    }

    /// `line:column key message` of every problem.
    fn problems(&self, text: &str, env: &[(&str, &str)]) -> Vec<String> {
        let errors = self.load(text, env).expect_err("there must be problems");
        let place = |n: Option<u32>| n.map_or("-".to_owned(), |n| n.to_string());
        errors
            .problems
            .iter()
            .map(|p| {
                format!("{}:{} {} {}", place(p.line), place(p.column), p.key.as_deref().unwrap_or_default(), p.message)
            })
            .collect()
    }
}

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Whatever key it was typed at.
#[test]
fn no_problem_repeats_the_password_of_an_address() {
    let bench = Bench::new();
    for section in ["context", "embed", "rerank"] {
        for key in ["base_url", "provider", "settle", "concurrency", "base-url", "key_file"] {
            for address in ["https://u:hunter2@host.example/v1", "ftp://u:hunter2@host.example", "http://hunter2@x y"] {
                let text = format!("[[vault]]\nname = \"n\"\npath = \"NOTES\"\n[{section}]\n{key} = \"{address}\"\n");
                let problems = bench.problems(&text, &[]).concat();
                assert!(!problems.is_empty() && !problems.contains("hunter2"), "{section}.{key}: {problems}");
                let name = format!("SITUATED_{}_{}", section.to_uppercase(), key.to_uppercase());
                let from_environment = bench.load("[[vault]]\nname = \"n\"\npath = \"NOTES\"\n", &[(&name, address)]);
                let told = from_environment.err().map(|errors| errors.to_string()).unwrap_or_default();
                assert!(!told.contains("hunter2"), "{name}: {told}");
            }
        }
    }
}

/// Nor in the name of a key, a vault or a kind of notes, which relations between values repeat.
#[test]
fn no_problem_repeats_a_password_or_a_key_that_became_a_name() {
    let bench = Bench::new();
    for secret in ["https://u:hunter2@host.example", "sk-ant-api03-hunter2-0123456789"] {
        for text in [
            "[[vault]]\nname = \"SECRET\"\npath = \"NOTES\"\n[[vault]]\nname = \"SECRET\"\npath = \"NOTES\"\n",
            "[[vault]]\npath = \"NOTES\"\npublish = \"SECRET\"\n",
            "data_dir = \"NOTES/SECRET\"\n[[vault]]\npath = \"NOTES\"\n",
            "[context]\n\"SECRET\" = 1\n",
            "[\"SECRET\"]\n",
            "[team.\"SECRET\"]\nurl = 1\n",
            "[chunk.types.\"SECRET\"]\nmax = 20\n",
            "[context]\nprovider = \"SECRET\"\n",
            "[embed]\ndimensions = \"SECRET\"\n",
            "[context]\nexpansion = \"questions\"\n[[context.prompt]]\nkind = \"SECRET\"\npreset = \"situate\"\n",
        ] {
            let problems = bench.problems(&text.replace("SECRET", secret), &[]).concat();
            assert!(!problems.is_empty() && !problems.contains("hunter2"), "{text}: {problems}");
        }
    }
    // A name is no key because it begins like one.
    let problems = bench.problems("[[vault]]\nname = \"/sk-notes\"\npath = \"NOTES\"\npublish = \"sk-team\"\n", &[]);
    assert!(problems.concat().contains("sk-notes") && problems.concat().contains("sk-team"), "{problems:?}");
}

#[test]
fn every_value_of_the_file_arrives() {
    let bench = Bench::new();
    let text = r#"
data_dir = "DIR/data"
[[vault]]
name = "work"
path = "NOTES"
exclude = ["Templates/", "*.draft.md"]
max_note_bytes = "2 MiB"
poll = true
kinds = { "Zettel/" = "zettel", "Daily/" = "daily" }
[watch]
quiet = "20ms"
burst = "0.2s"
walk_interval = "1h"
[chunk]
strategy = "markdown"
target = 300
min = 50
max = 600
overlap = "10 %"
[context]
provider = "template"
llm_min_chunks = 3
[embed]
provider = "builtin"
[search]
limit = 5
dense_weight = 1
[serve]
socket = "DIR/s"
query_timeout = "3s"
"#;
    let loaded = bench.load(text, &[]).unwrap();
    let config = &loaded.config;
    let vault = &config.engine.vaults[0];
    assert_eq!((vault.name.as_str(), &vault.path), ("work", &bench.path("Notes")));
    assert_eq!(vault.exclude, ["Templates/", "*.draft.md"]);
    assert_eq!((vault.max_note_bytes, vault.poll), (2 << 20, Some(true)));
    let kinds: Vec<(&str, &str)> = vault.rules.folders.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(kinds, [("Zettel/", "zettel"), ("Daily/", "daily")], "the file's order, not the alphabet's");
    assert_eq!(
        (config.engine.watch.lone, config.engine.watch.burst),
        (Duration::from_millis(20), Duration::from_millis(200))
    );
    assert_eq!(config.engine.watch.walk_interval, Duration::from_hours(1));
    assert_eq!(config.engine.watch.storm, WatchConfig::default().storm);
    assert_eq!(
        (
            config.engine.chunk.plain.target,
            config.engine.chunk.plain.overlap_percent,
            config.engine.context.llm_min_chunks
        ),
        (300, 10, 3)
    );
    assert_eq!((config.engine.search.limit, config.engine.search.dense_weight), (5, 1.0));
    assert_eq!(config.serve.socket, Some(bench.path("s")));
    assert_eq!(config.engine.data_dir, bench.path("data"));
    assert_eq!(loaded.origin("search.limit"), &ValueOrigin::File(bench.path("config.toml"), 26));
    assert_eq!(loaded.origin("vault.work.poll"), &ValueOrigin::File(bench.path("config.toml"), 8));
    assert_eq!(loaded.origin("search.per_note"), &ValueOrigin::Default);
}

#[test]
fn flags_beat_the_environment_which_beats_the_file() {
    let bench = Bench::new();
    let file = "data_dir = \"DIR/file\"\n[search]\nlimit = 5\n[serve]\nsocket = \"DIR/file\"\n";
    let env = environment(&[
        ("SITUATED_DATA_DIR", bench.path("env").to_str().unwrap()),
        ("SITUATED_SOCKET", bench.path("env").to_str().unwrap()),
        ("SITUATED_SERVE_SOCKET", "/long/name/loses"),
        ("SITUATED_SEARCH_LIMIT", "7"),
        ("SITUATED_SEARCH_DENSE_WEIGHT", "0.25"),
        ("SITUATED_SEARCH_TYPE_WEIGHTS", "Daily=0.5, meeting = 0.25"),
        ("SITUATED_WATCH_QUIET", "30ms"),
        ("SITUATED_SUPERVISOR", "launchd"),
    ]);
    let mut overrides = bench.overrides(file);
    overrides.socket = Some(bench.path("flag"));
    let loaded = load(&overrides, &env).unwrap();
    assert_eq!(loaded.config.engine.data_dir, bench.path("env"));
    assert_eq!(loaded.config.serve.socket, Some(bench.path("flag")));
    assert_eq!((loaded.config.engine.search.limit, loaded.config.engine.search.dense_weight), (7, 0.25));
    let weights = [("daily", 0.5), ("meeting", 0.25)].map(|(kind, weight)| (kind.to_owned(), weight));
    assert_eq!(loaded.config.engine.search.type_weights, weights.into());
    assert_eq!(loaded.config.engine.watch.lone, Duration::from_millis(30));
    assert_eq!(loaded.origin("serve.socket"), &ValueOrigin::Flag("--socket"));
    assert_eq!(loaded.origin("data_dir"), &ValueOrigin::Env("SITUATED_DATA_DIR".into()));
    overrides.socket = None;
    let loaded = load(&overrides, &env).unwrap();
    assert_eq!(loaded.origin("serve.socket"), &ValueOrigin::Env("SITUATED_SOCKET".into()));
}

#[test]
fn a_vault_on_the_command_line_needs_no_file_and_keeps_its_settings_if_the_file_has_it() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("Other")).unwrap();
    let mut overrides = bench
        .overrides("[[vault]]\nname = \"n\"\npath = \"NOTES\"\nexclude = [\"x\"]\n[[vault]]\npath = \"DIR/Other\"");
    overrides.vaults = vec![bench.path("Notes/../Notes")];
    let loaded = load(&overrides, &Environment::new()).unwrap();
    assert_eq!(loaded.config.engine.vaults.len(), 1);
    assert_eq!((loaded.config.engine.vaults[0].name.as_str(), loaded.config.engine.vaults[0].exclude.len()), ("n", 1));

    std::fs::write(bench.path("config.toml"), "").unwrap();
    let loaded = load(&overrides, &Environment::new()).unwrap();
    assert_eq!(loaded.config.engine.vaults, [VaultConfig::new("Notes", bench.path("Notes"))]);
    assert_eq!(loaded.origin("vault.Notes.path"), &ValueOrigin::Flag("VAULT"));
}

#[test]
fn a_folder_of_the_command_line_loses_nothing_that_the_file_says_of_it() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("Other/Inner")).unwrap();
    let mut overrides = bench.overrides("[[vault]]\npath = \"DIR/Other\"\nprivate = [\"Inner/\"]");
    for (folder, is_read) in [("Notes", true), ("Other", true), ("Other/Inner", false), ("", false)] {
        overrides.vaults = vec![bench.path(folder)];
        let told = load(&overrides, &Environment::new()).map_err(|errors| errors.to_string());
        assert_eq!(told.is_ok(), is_read, "{folder}: {told:?}");
        assert!(is_read || told.unwrap_err().contains("overlaps the vault `Other`"));
    }
    // Named before, and no more.
    overrides.vaults = vec![bench.path("Notes"), bench.path("Other")];
    overrides.named = vec![bench.path("Notes")];
    let loaded = load(&overrides, &Environment::new()).unwrap();
    assert_eq!(loaded.config.engine.vaults.len(), 1);
    assert_eq!(loaded.config.engine.vaults[0].private, ["Inner/"]);
}

#[test]
fn several_vaults_on_the_command_line_have_a_name_each_and_none_is_there_twice() {
    let bench = Bench::new();
    for folder in ["Other", "Old/Notes", "Old/notes"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    let mut overrides = bench
        .overrides("[[vault]]\npath = \"NOTES\"\nexclude = [\"x\"]\n[[vault]]\nname = \"o\"\npath = \"DIR/Other\"");
    let mut served = |folders: &[&str]| {
        overrides.vaults = folders.iter().map(|folder| bench.path(folder)).collect();
        let loaded = load(&overrides, &Environment::new()).unwrap();
        let vaults: Vec<(String, PathBuf)> =
            loaded.config.engine.vaults.iter().map(|vault| (vault.name.clone(), vault.path.clone())).collect();
        (vaults, loaded)
    };
    // Another folder of the same name gets a number, even where the vault of the file that has the name is left out.
    let named = |name: &str, folder: &str| (name.to_owned(), bench.path(folder));
    let (vaults, loaded) = served(&["Old/Notes", "Notes", "Old/../Notes"]);
    assert_eq!(vaults, [named("Notes 2", "Old/Notes"), named("Notes", "Notes")]);
    assert_eq!(loaded.config.engine.vaults[1].exclude.len(), 1);
    assert!(matches!(loaded.origin("vault.Notes.path"), ValueOrigin::File(..)));
    assert_eq!(loaded.origin("vault.Notes 2.path"), &ValueOrigin::Flag("VAULT"));
    assert_eq!(loaded.origin("vault.o.path"), &ValueOrigin::Default);
    let (vaults, _) = served(&["Old/notes", "Other", "Old/Notes"]);
    assert_eq!(vaults, [named("notes 2", "Old/notes"), named("o", "Other"), named("Notes 3", "Old/Notes")]);
}

#[test]
fn typos_and_wrong_values_name_their_place_and_what_would_be_right() {
    let bench = Bench::new();
    for (text, expected) in [
        ("[search]\nlimt = 3", "2:1 search.limt there is no such key; did you mean `limit`?"),
        (
            "[[vault]]\npath = \"NOTES\"\n  exlude = []",
            "3:3 vault.exlude there is no such key; did you mean `exclude`?",
        ),
        ("[serach]\nlimit = 3", "1:2 serach there is no such section; did you mean `[search]`?"),
        ("[[vaults]]\npath = \"NOTES\"", "1:3 vaults there is no such section; did you mean `[[vault]]`?"),
        ("limit = 3", "1:1 limit there is no such key; `limit` belongs in `[search]`"),
        ("[watch]\nexclude = []", "2:1 watch.exclude there is no such key; `exclude` belongs in `[[vault]]`"),
        ("[money]\nper_day = 3", "1:2 money there is no such section; there is `watch`"),
        ("[budget]\nper_day = 3", "2:1 budget.per_day there is no such key; there is `day`, `rebuild`"),
        ("[vault]\npath = \"NOTES\"", "1:2 vault write `[[vault]]`, with two brackets"),
        ("[search]\nlimit = 0", "2:9 search.limit `0` is out of range; write a whole number from 1 to 200"),
        ("[search]\nlimit = \"5\"", "2:9 search.limit `5` is not a whole number"),
        ("[search]\ndense_weight = 1.5", "2:16 search.dense_weight `1.5` is not a share"),
        ("[search]\ntype_weights = 1", "2:16 search.type_weights `1` will not do; write a table"),
        ("[search]\ntype_weights = { \"a b\" = 2 }", "2:16 search.type_weights `a b`: `2` is not a share"),
        ("[search]\ngraph_weight = -1", "2:16 search.graph_weight `-1` is not a share"),
        ("[watch]\nquiet = 300", "2:9 watch.quiet `300` is not a duration; write a duration with its unit"),
        ("[watch]\nquiet = \"300\"", "2:9 watch.quiet `300` has no unit"),
        ("[watch]\nquiet = \"3 fortnights\"", "2:9 watch.quiet `fortnights` is not a unit of time"),
        ("[watch]\nquiet = \"9d\"", "2:9 watch.quiet `9d` is out of range: 1ms to 1m"),
        ("[chunk]\nstrategy = \"obsidan\"", "2:12 chunk.strategy `obsidan` is not known; did you mean `obsidian`?"),
        ("[context]\nprovider = \"openia\"", "2:12 context.provider `openia` is not known; did you mean `openai`?"),
        ("[[vault]]\nname = \"x\"", "1:1 vault this vault has no `path`"),
        ("[[vault]]\npath = \"Notes\"", "2:8 vault.path `Notes` is relative"),
        ("[[vault]]\npath = \"~bob/Notes\"", "2:8 vault.path `~bob/Notes` names another user's home"),
        ("[[vault]]\npath = \"NOTES\"\nmax_note_bytes = \"8 MB!\"", "3:18 vault.max_note_bytes `8 MB!` is not a size"),
        ("[[vault]]\npath = \"NOTES\"\nexclude = \"x\"", "3:11 vault.exclude write a list"),
        (
            "[[vault]]\npath = \"NOTES\"\nexclude = [\"ok\", 3]",
            "3:18 vault.exclude expected a string in quotes, found an integer",
        ),
        ("[[vault]]\npath = \"NOTES\"\nexclude = [\"ok\", \"a{b\"]", "3:18 vault.exclude not a pattern"),
        ("[[vault]]\npath = \"NOTES\"\nexclude = [3, \"a{b\"]", "3:15 vault.exclude not a pattern"),
        ("[[vault]]\npath = \"NOTES\"\nexclude = [\"[a\"]", "3:12 vault.exclude not a pattern"),
        ("[[vault]]\npath = \"NOTES\"\nkinds = []", "3:9 vault.kinds write a table"),
        ("search = 3", "1:1 search `search` is a section"),
        ("# ümläut\n\"ä\" = 1 # x\n[search]\nx = = 3", "4:5  this is not TOML"),
        (
            "[context]\nmax_chars = 3\n\n[context]\n",
            "4:2  this is not TOML: duplicate key `context`: it stands further up",
        ),
        ("[search]\nlimit = 3\nlimit = 4", "3:1  this is not TOML: duplicate key `limit`: it stands further up"),
    ] {
        let problems = bench.problems(text, &[]);
        assert!(
            problems.iter().any(|p| p.starts_with(expected)),
            "{text}\nexpected {expected}\nfound    {problems:#?}"
        );
    }
}

#[test]
fn all_problems_are_told_at_once_in_order() {
    let bench = Bench::new();
    let problems = bench.problems(
        "[search]\nlimt = 3\nper_note = 0\n[wach]\nx = 1\n[chunk]\ntarget = \"many\"\n",
        &[("SITUATED_SEARCH_LIMTI", "3")],
    );
    let places: Vec<&str> = problems.iter().filter_map(|p| p.split(' ').next()).collect();
    assert_eq!(places, ["2:1", "3:12", "4:2", "7:10", "-:-"], "{problems:#?}");
    assert!(problems[4].contains("SITUATED_SEARCH_LIMTI"), "{problems:#?}");
}

#[cfg(unix)]
#[test]
fn relations_are_checked() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("Notes/inner")).unwrap();
    std::fs::create_dir_all(bench.path("Other")).unwrap();
    std::fs::write(bench.path("file.md"), "x").unwrap();
    std::os::unix::fs::symlink(bench.path("Notes"), bench.path("link")).unwrap();
    for (text, expected) in [
        ("[chunk]\nmax = 300", "2:1 chunk.max chunk.target 500 is above chunk.max 300"),
        ("[chunk]\nmin = 600", "2:1 chunk.min chunk.min 600 is above chunk.target 500"),
        ("[watch]\nquiet = \"5s\"", "2:1 watch.quiet watch.quiet 5s is longer than watch.burst 300ms"),
        ("[[vault]]\npath = \"DIR/nowhere\"", "2:1 vault.nowhere.path there is no folder"),
        ("[[vault]]\npath = \"DIR/file.md\"", "2:1 vault.file.md.path"),
        (
            "[[vault]]\npath = \"NOTES\"\n[[vault]]\npath = \"DIR/Other\"\nname = \"notes\"",
            "5:1 vault.notes.name two vaults are called `notes`",
        ),
        (
            "[[vault]]\npath = \"NOTES\"\n[[vault]]\npath = \"NOTES/inner\"",
            "4:1 vault.inner.path the vault `inner` lies inside the vault `Notes`",
        ),
        (
            "[[vault]]\npath = \"NOTES\"\n[[vault]]\npath = \"DIR/link\"",
            "4:1 vault.link.path this is the same folder as that of the vault `Notes`",
        ),
        ("[[vault]]\npath = \"NOTES\"\nname = \"../x\"", "3:1 vault.../x.name"),
        (
            "[[vault]]\npath = \"NOTES\"\nexclude = [\"~/Notes/Old/\"]",
            "3:1 vault.Notes.exclude `~/Notes/Old/` matches nothing: patterns are relative",
        ),
        ("[[vault]]\npath = \"NOTES\"\nprivate = [\"a/../b\"]", "3:1 vault.Notes.private `a/../b` matches nothing"),
        ("[[vault]]\npath = \"NOTES\"\nprivate = [\" \"]", "3:1 vault.Notes.private `` matches nothing: an empty"),
        ("[[vault]]\npath = \"NOTES\"\nprivate = [\"#private\"]", "3:1 vault.Notes.private `#private` matches nothing"),
        ("data_dir = \"NOTES/.situated\"\n[[vault]]\npath = \"NOTES\"", "1:1 data_dir"),
        (
            "data_dir = \"DIR\"\n[[vault]]\npath = \"NOTES\"",
            "3:1 vault.Notes.path the vault lies inside the data folder",
        ),
        (&format!("[serve]\nsocket = \"/{}\"", "x".repeat(110)), "2:1 serve.socket the path has 111 bytes"),
        ("[[vault]]\npath = \"NOTES\"\n[serve]\nsocket = \"DIR/link/inner/s\"", "4:1 serve.socket "),
        (
            "[context.models.\"m\"]\ninptu = 1\noutput = 2",
            "1:1 context.models.m inptu: no such key; there are provider, id, price",
        ),
        (
            "[context]\nprovider = \"openai\"\nmodel = \"m\"\n[context.models.m]\ninput = 1",
            "3:1 context.model models \"m\": output: missing",
        ),
        (
            "[context.models.m]\ninput = 1\n[generation.other]\nprovider = \"openai\"\nmodel = \"m\"",
            "5:1 generation.other.model models \"m\": output: missing",
        ),
        ("[generation.default]\nmodel = \"m\"", "1:13 generation.default `default` is the one"),
        (
            "[[generation.b.prompt]]\nkind = \"*\"\ninstructions = \"x\"",
            "1:16 generation.b.prompt `context.prompt` holds for all generations",
        ),
    ] {
        let problems = bench.problems(text, &[]);
        assert!(
            problems.iter().any(|p| p.starts_with(expected)),
            "{text}\nexpected {expected}\nfound    {problems:#?}"
        );
    }
    std::fs::create_dir_all(bench.path("Notes/My Vault")).unwrap();
    let within = bench.problems("[[vault]]\npath = \"NOTES\"\n[[vault]]\npath = \"NOTES/My Vault\"", &[]);
    assert!(within.iter().any(|p| p.ends_with("narrowed with `path:\"My Vault/\"`")), "{within:#?}");
    let whole = "[[vault]]\npath = \"NOTES\"\nprivate = [\"Own/\", \"NOTES/Journal/\"]";
    let problems = bench.problems(whole, &[]);
    assert!(problems.iter().any(|p| p.ends_with("relative to the vault's folder, as `/Journal`")), "{problems:#?}");
}

#[test]
fn a_folder_that_cannot_be_read_now_is_no_problem_if_it_was_indexed() {
    let bench = Bench::new();
    let data = bench.path("data");
    // A link that leads to itself is there and cannot be read, whoever asks.
    std::os::unix::fs::symlink(bench.path("loop"), bench.path("loop")).unwrap();
    for (name, why) in [("gone", "is it spelt right, and mounted?"), ("loop", "cannot be read: ")] {
        let folder = bench.path(name);
        let text = format!("data_dir = {data:?}\n[[vault]]\npath = {folder:?}\n");
        assert!(bench.problems(&text, &[])[0].contains(why));
        std::fs::create_dir_all(engine::vault_dir(&data, &folder)).unwrap();
        assert_eq!(bench.load(&text, &[]).unwrap().config.engine.vaults.len(), 1);
    }
}

#[test]
fn files_that_are_no_configuration() {
    let bench = Bench::new();
    let missing = Overrides { config: Some(bench.path("none.toml")), ..Overrides::default() };
    let error = load(&missing, &Environment::new()).unwrap_err().to_string();
    assert!(error.contains("none.toml") && error.contains("situated init") && error.contains("--config"), "{error}");
    let folder = Overrides { config: Some(bench.path("Notes")), ..Overrides::default() };
    assert!(load(&folder, &Environment::new()).unwrap_err().to_string().contains("not a file"));
    std::fs::write(bench.path("config.toml"), b"\xff\xfe").unwrap();
    let binary = Overrides { config: Some(bench.path("config.toml")), ..Overrides::default() };
    assert!(load(&binary, &Environment::new()).unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn a_client_finds_its_daemon_although_the_file_is_being_edited() {
    let bench = Bench::new();
    let overrides = bench.overrides("data_dir = \"DIR/data\"\n[search]\nlimt = 3\n");
    let found = whereabouts(&overrides, &environment(&[("SITUATED_SOCKET", "/run/s")]));
    assert_eq!((found.data_dir, found.socket), (bench.path("data"), Some(PathBuf::from("/run/s"))));
    assert_eq!(found.problems.len(), 1);
}

#[test]
fn what_is_shown_gives_the_same_configuration_again() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("No \"tes\"\n%d")).unwrap();
    let text = "[[vault]]\npath = \"DIR/No \\\"tes\\\"\\n%d\"\nname = \"ü\"\nexclude = [\"a b\", \"c\\\\#\"]\nkinds = {\"b/\"=\"x\", \"a/\"=\"y\"}\npoll = false\nmax_note_bytes = 12345\n[search]\ndense_weight = 0.3\ntype_weights = {\"a b\" = 0.5, daily = 0}\n[watch]\nquiet = \"70ms\"";
    let first = bench.load(text, &[]).unwrap();
    for origin in [false, true] {
        let shown = first.show(origin);
        let again = bench.load(&shown, &[]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again.config, first.config, "{shown}");
    }
    let shown = first.show(true);
    assert!(shown.lines().any(|l| l.starts_with("quiet = \"70ms\"") && l.contains("config.toml:12")), "{shown}");
    assert!(shown.lines().any(|l| l.starts_with("limit = 20") && l.ends_with("# default")), "{shown}");
}

/// What is shown has whole ones.
#[test]
fn a_part_of_a_millisecond_does_not_count() {
    let bench = Bench::new();
    let first = bench.load("[watch]\nquiet = \"1.5ms\"\nburst = \"0.0155s\"", &[]).unwrap();
    assert_eq!(bench.load(&first.show(false), &[]).unwrap().config, first.config);
    assert_eq!(first.config.engine.watch.burst, Duration::from_millis(15));
}

#[test]
fn the_sample_file_means_the_defaults_and_so_does_each_of_its_comments() {
    let bench = Bench::new();
    let vault = VaultConfig::new("Notes", bench.path("Notes"));
    let sample = sample_file_of(std::slice::from_ref(&vault), Provider::Template);
    let loaded = bench.load(&sample, &[]).unwrap();
    assert_eq!(loaded.config, Config::new(default_data_dir(), vec![vault.clone()]));
    // With every commented key uncommented it is still a valid file.
    let uncommented: String = sample
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest
                    .split_once(" = ")
                    // Two keys of which a configuration has one.
                    .is_some_and(|(key, _)| {
                        key != "key_command" && key.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                    }) =>
            {
                rest
            }
            _ => line,
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let loaded = bench.load(&uncommented, &[]).unwrap_or_else(|e| panic!("{e}\n{uncommented}"));
    assert_eq!(loaded.config.engine.watch, WatchConfig::default());
    assert_eq!(loaded.config.engine.vaults[0].rules.folders.len(), 2);
}

#[test]
fn names_of_folders() {
    for (path, name) in
        [("/a/Notes", "Notes"), ("/", "vault"), ("/a/.notes", "notes"), ("/a/x\ny", "x_y"), ("/a/...", "vault")]
    {
        assert_eq!(name_of_folder(std::path::Path::new(path)), name);
    }
}

proptest! {
    #[test]
    fn any_text_gives_a_configuration_or_problems(text in "(\\PC|\n|\\[|\\]|=|\"|search|vault|limit){0,60}") {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        std::fs::write(&file, &text).unwrap();
        let overrides = Overrides { config: Some(file), ..Overrides::default() };
        if let Err(errors) = load(&overrides, &Environment::new()) {
            prop_assert!(!errors.problems.is_empty());
        }
    }

    #[test]
    fn durations_and_sizes_round_trip(ms in 1u64..10_000_000, size in 1u64..1 << 40) {
        use super::units::{Value, bytes, duration, show_bytes, show_duration};
        let length = Duration::from_millis(ms);
        prop_assert_eq!(duration(&Value::Text(show_duration(length)), Duration::ZERO..=length).unwrap(), length);
        prop_assert_eq!(bytes(&Value::Text(show_bytes(size)), 0..=u64::MAX).unwrap(), size);
    }
}
