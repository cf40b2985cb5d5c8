//! Who writes contexts, where the key is, and what may be spent.

use super::*;
use ::context::cost::decimal_dollars;
use ::context::settings::{
    Consent, ContextConfig, Dialect, ExpansionChoice, FormChoice, KeyConfig, KindPrompt, Length, Levels, ModelOverride,
    Provider,
};
use engine::settings::SyncConfig;
use provider::settings::BudgetConfig;

const ALL: &str = r#"
[context]
provider = "openai"
model = "some/model:7b"
base_url = "http://[::1]:8080/v1"
passes_on = true
api_version = "2026-10-21"
dialect = "openai"
region = "eu-central-1"
key_file = "DIR/key"
key_credential = "my-key"
consent = "given"
automatic = false
renew = true
settle = "0ms"
llm_min_chunks = 3
form = "chunk"
min_words = 50
max_words = 80
length = "dynamic"
levels = "section+chunk"
expansion = "questions"
concurrency = 4
timeout = "20s"
deadline = "2m"
temperature = 0
max_document_tokens = 8000
keep_alive = "-1"
[[context.prompt]]
kind = "meeting"
instructions = """Name "who"
took part \\ why."""
version = 3
[[context.prompt]]
kind = "*"
instructions = "Be brief."
[context.models."some/model:7b"]
input = 0.1
output = 0.5
[context.models."some/model:7b".above]
tokens = 8192
input = 0.2
[context.models.other]
price = "free"
[sync]
background = false
interval = "12h"
[budget]
day = 1
rebuild = "$2.50"
day_tokens = 5
rebuild_tokens = 6
"#;

#[test]
fn every_value_arrives_and_is_shown_so_that_it_arrives_again() {
    let bench = Bench::new();
    let loaded = bench.load(ALL, &[]).unwrap_or_else(|e| panic!("{e}"));
    let config = &loaded.config;
    let context = ContextConfig {
        provider: Provider::OpenAi,
        model: Some("some/model:7b".into()),
        base_url: Some("http://[::1]:8080/v1".into()),
        passes_on: true,
        api_version: "2026-10-21".into(),
        dialect: Some(Dialect::OpenAi),
        region: "eu-central-1".into(),
        key: KeyConfig { file: Some(bench.path("key")), command: None, credential: Some("my-key".into()) },
        consent: Consent::Given,
        automatic: false,
        renew: true,
        settle: Duration::ZERO,
        llm_min_chunks: 3,
        form: FormChoice::Chunk,
        min_words: Some(50),
        length: Length::Dynamic,
        levels: Levels::SectionChunk,
        expansion: ExpansionChoice::Questions,
        max_words: 80,
        concurrency: 4,
        timeout: Duration::from_secs(20),
        deadline: Duration::from_mins(2),
        temperature: 0.0,
        max_document_tokens: Some(8000),
        keep_alive: "-1".into(),
        prompts: vec![
            KindPrompt {
                kind: "meeting".into(),
                instructions: "Name \"who\"\ntook part \\ why.".into(),
                own: None,
                version: 3,
            },
            KindPrompt { kind: "*".into(), instructions: "Be brief.".into(), own: None, version: 1 },
        ],
        models: config.engine.context.models.clone(),
    };
    assert_eq!(config.engine.context, context);
    let models: Vec<_> =
        config.engine.context.models.iter().map(|m| (m.model.as_str(), m.table.parse().unwrap())).collect();
    let table = |text: &str| text.parse::<toml::Table>().unwrap();
    let known = "input = 0.1\noutput = 0.5\nabove = { tokens = 8192, input = 0.2 }";
    assert_eq!(models, [("some/model:7b", table(known)), ("other", table("price = \"free\""))]);
    assert_eq!(
        config.engine.budget,
        BudgetConfig { day: 1_000_000, rebuild: 2_500_000, day_tokens: 5, rebuild_tokens: 6 }
    );
    assert_eq!(config.engine.sync, SyncConfig { background: false, interval: Duration::from_hours(12) });
    let file = bench.path("config.toml");
    assert_eq!(loaded.origin("context.prompt.*"), &ValueOrigin::File(file.clone(), 34));
    assert_eq!(loaded.origin("context.models.other"), &ValueOrigin::File(file, 43));

    for origin in [false, true] {
        let shown = loaded.show(origin);
        let again = bench.load(&shown, &[]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again.config, *config, "{shown}");
    }
    let shown = loaded.show(true);
    for (line, origin) in [("version = 3", ":29"), ("[context.models.other]", ":43"), ("day = 1.00", ":49")] {
        assert!(shown.lines().any(|l| l.starts_with(line) && l.ends_with(origin)), "{line}\n{shown}");
    }
    let values = loaded.values();
    let value = |key: &str| values.iter().find(|v| v.key == key).map(|v| v.value.as_str());
    assert_eq!(value("context.prompt.*.version"), Some("1"));
    assert_eq!(value("context.models.other"), Some("price = \"free\"\n"));
    assert_eq!(value("budget.rebuild"), Some("2.50"));
}

#[test]
fn the_environment_says_the_same() {
    let bench = Bench::new();
    let env = [
        ("SITUATED_CONTEXT_PROVIDER", "bedrock"),
        ("SITUATED_CONTEXT_TEMPERATURE", "0.7"),
        ("SITUATED_CONTEXT_AUTOMATIC", "false"),
        ("SITUATED_CONTEXT_CONCURRENCY", "2"),
        ("SITUATED_CONTEXT_BASE_URL", "https://proxy.example/anthropic"),
        ("SITUATED_BUDGET_DAY", "0.05"),
        ("SITUATED_BUDGET_DAY_TOKENS", "1000"),
        ("SITUATED_SYNC_INTERVAL", "1h"),
    ];
    let loaded = bench.load("[context]\nprovider = \"ollama\"", &env).unwrap();
    let config = &loaded.config;
    assert_eq!((config.engine.context.provider, config.engine.context.temperature), (Provider::Bedrock, 0.7));
    assert_eq!((config.engine.context.automatic, config.engine.context.concurrency), (false, 2));
    assert_eq!(config.engine.context.base_url.as_deref(), Some("https://proxy.example/anthropic"));
    assert_eq!((config.engine.budget.day, config.engine.budget.day_tokens), (50_000, 1000));
    assert_eq!(config.engine.sync.interval, Duration::from_hours(1));
    assert_eq!(loaded.origin("budget.day"), &ValueOrigin::Env("SITUATED_BUDGET_DAY".into()));
    for provider in ["template", "anthropic", "bedrock", "openai", "ollama"] {
        let loaded = bench.load("", &[("SITUATED_CONTEXT_PROVIDER", provider)]).unwrap();
        assert_eq!(loaded.config.engine.context.provider.name(), provider);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let bench = Bench::new();
    for (text, expected) in [
        ("[context]\nmodel = \"\"", "2:9 context.model write the model's id"),
        ("[context]\nmodel = \"a b\"", "2:9 context.model write the model's id"),
        (
            "[context]\nbase_url = \"localhost:1234\"",
            "2:12 context.base_url an address begins with https:// or http://",
        ),
        ("[context]\nbase_url = \"example.com\"", "2:12 context.base_url this is not an address"),
        ("[context]\nbase_url = \"ftp://example.com\"", "2:12 context.base_url an address begins with"),
        ("[context]\nbase_url = \"https://\"", "2:12 context.base_url this is not an address"),
        ("[context]\nbase_url = \"https://example.com?a=b\"", "2:12 context.base_url an address ends with its path"),
        ("[context]\nbase_url = \"http://10.0.0.2:11434\"", "2:12 context.base_url http:// to `10.0.0.2` would send"),
        ("[context]\nregion = \"eu.evil.example/\"", "2:10 context.region write a region"),
        ("[context]\napi_version = \"a\\nb\"", "2:15 context.api_version write a version"),
        ("[context]\nkey_file = \"key\"", "2:12 context.key_file write the path of the file"),
        ("[context]\nkey_command = \"\"", "2:15 context.key_command it is empty"),
        ("[context]\nkey_credential = \"../key\"", "2:18 context.key_credential write the name that the unit's"),
        ("[context]\nkey_credential = \"..\"", "2:18 context.key_credential a credential's name begins"),
        ("[context]\nconsent = true", "2:11 context.consent"),
        ("[context]\nform = \"whole\"", "2:8 context.form `whole` is not known (there is `auto`, `note`, `chunk`)"),
        ("[context]\ntemperature = 3", "2:15 context.temperature `3` will not do; write a number from 0.0 to 2.0"),
        ("[context]\ntemperature = nan", "2:15 context.temperature"),
        ("[context]\nconcurrency = 0", "2:15 context.concurrency `0` is out of range"),
        (
            "[context]\ndeadline = \"30s\"",
            "2:1 context.deadline context.timeout 1m is longer than context.deadline 30s",
        ),
        ("[context]\ntimeout = \"10m\"", "2:1 context.timeout context.timeout 10m is longer"),
        (
            "[context]\nkey_file = \"/k\"\nkey_command = \"x\"",
            "3:1 context.key_command context.key_file and context.key_command are both set",
        ),
        ("[context]\nmodel = \"x\"\nprovidr = 1", "3:1 context.providr there is no such key; did you mean `provider`?"),
        ("[context.prompt]\nkind = \"x\"", "1:1 context.prompt write `[[context.prompt]]`, with two brackets"),
        ("[context]\nprompt = [1]", "2:10 context.prompt write `[[context.prompt]]`"),
        ("[[context.prompts]]\nkind = \"x\"", "1:11 context.prompts there is no such key; did you mean `prompt`?"),
        ("[[context.prompt]]\nkind = \"x\"", "1:1 context.prompt a prompt has one of `instructions`"),
        (
            "[[context.prompt]]\nkind = \"x\"\ninstructions = \"a\"\npreset = \"situate\"",
            "1:1 context.prompt a prompt has one of `instructions`",
        ),
        (
            "[[context.prompt]]\nkind = \"x\"\ntemplate = \"Say what {document} is.\"",
            "3:12 context.prompt.template it has no {chunk}",
        ),
        (
            "[[context.prompt]]\nkind = \"x\"\ntemplate = \"{document} {chnk}\"",
            "3:12 context.prompt.template there is no {chnk}; did you mean {chunk}?",
        ),
        (
            "[[context.prompt]]\nkind = \"x\"\npreset = \"S0\"",
            "3:10 context.prompt.preset there is no preset of that name; there is `situate`, `prefix`",
        ),
        (
            "[context]\nmin_words = 150",
            "2:1 context.min_words context.min_words 150 is more than context.max_words 100",
        ),
        (
            "[context]\nexpansion = \"terms\"",
            "2:13 context.expansion `terms` is not known (there is `off`, `questions`)",
        ),
        (
            "[context]\nexpansion = \"questions\"\n[[context.prompt]]\nkind = \"x\"\npreset = \"situate\"",
            "2:1 context.expansion context.expansion asks for questions beside contexts, and notes of the kind `x`",
        ),
        ("[search]\nexpansion_weight = 2", "2:20 search.expansion_weight `2` is not a share"),
        ("[context]\nmin_words = 2", "2:13 context.min_words `2` is out of range"),
        ("[[context.prompt]]\ninstructions = \"x\"", "1:1 context.prompt this prompt has no `kind`"),
        (
            "[[context.prompt]]\nkind = \"x\"\ninstructions = \"x\"\nversion = -1",
            "4:11 context.prompt.version `-1` is out of range",
        ),
        (
            "[[context.prompt]]\nkind = \"x\"\ninstructions = \"x\"\nprovider = 1",
            "4:1 context.prompt.provider there is no such key; `provider` belongs in `[context]`",
        ),
        (
            "[[context.prompt]]\nkind = \"x\"\ninstructions = \"a\"\n[[context.prompt]]\nkind = \"x\"\ninstructions = \"b\"",
            "4:1 context.prompt there are two prompts for notes of the kind `x`",
        ),
        (
            &format!("[[context.prompt]]\nkind = \"x\"\ninstructions = \"{}\"", "x".repeat(4001)),
            "3:16 context.prompt.instructions 4001 characters",
        ),
        (
            "[context.model.\"x\"]\nprice = 1",
            "1:10 context.model what is known about models stands in `[context.models",
        ),
        ("[context]\nmodels = 3", "2:10 context.models write `[context.models.\"ID\"]`"),
        ("[context.models]\nx = 3", "2:5 context.models write `[context.models.\"ID\"]`"),
        ("[budget]\nday = -1", "2:7 budget.day `-1` is not an amount in dollars"),
        ("[budget]\nday = \"half\"", "2:7 budget.day `half` is not an amount in dollars"),
        ("[budget]\nrebuild = inf", "2:11 budget.rebuild `inf` is not an amount"),
        ("[sync]\ninterval = \"100ms\"", "2:12 sync.interval `100ms` is out of range: 1s to 365d"),
        ("[sync]\nbackground = \"yes\"", "2:14 sync.background `yes` is neither true nor false"),
    ] {
        let problems = bench.problems(text, &[]);
        assert!(
            problems.iter().any(|p| p.starts_with(expected)),
            "{text}\nexpected {expected}\nfound    {problems:#?}"
        );
    }
}

#[test]
fn only_this_machine_is_spoken_to_in_the_clear() {
    let bench = Bench::new();
    let load = |url: &str| bench.load(&format!("[context]\nbase_url = \"{url}\""), &[]);
    for here in [
        "http://localhost:11434",
        "http://LOCALHOST/v1",
        "http://api.localhost",
        "http://127.0.0.1:1",
        "http://127.9.9.9",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/",
        "https://example.com/v1",
        "https://10.0.0.2",
    ] {
        assert!(load(here).is_ok(), "{here}");
    }
    for elsewhere in [
        "http://example.com",
        "http://localhost.example.com",
        "http://notlocalhost",
        "http://0.0.0.0:11434",
        "http://10.0.0.2",
        "http://[::2]",
        "http://example.com\\\\@127.0.0.1/",
    ] {
        let error = load(elsewhere).unwrap_err().to_string();
        assert!(error.contains("in the clear"), "{elsewhere}: {error}");
    }
}

#[test]
fn no_key_is_taken_from_the_configuration_or_repeated() {
    let bench = Bench::new();
    let secret = "sk-ant-very-secret-0123456789";
    for text in [
        "[context]\nkey = \"SECRET\"",
        "[context]\napi_key = \"SECRET\"",
        "[context]\nAPI-Key = \"SECRET\"",
        "[context]\ntoken = \"SECRET\"",
        "[context]\nanthropic_api_key = \"SECRET\"",
        "api_key = \"SECRET\"",
        "[context]\nkey_file = \"SECRET\"",
        "[context]\nkey_credential = \"SECRET\"",
        "[context]\nbase_url = \"https://user:SECRET@example.com\"",
        "[context]\nbase_url = \"https://SECRET@example.com\"",
    ] {
        let text = text.replace("SECRET", secret);
        let problems = bench.problems(&text, &[]);
        let said = problems.join("\n");
        assert!(said.contains("context.key_file") && said.contains("context.key_command"), "{text}\n{said}");
        assert!(!said.contains("secret"), "{said}");
    }
    // Not where keys go, and therefore not called one; repeated neither.
    for text in ["[context]\nbase_url = \"https://example.com?key=SECRET\"", "[context]\nkey_file = \"secret 1\""] {
        let said = bench.problems(&text.replace("SECRET", secret), &[]).join("\n");
        assert!(!said.contains("secret"), "{said}");
    }
    let said = bench.problems("", &[("SITUATED_CONTEXT_PROMPT", "x")]).join("\n");
    assert!(said.contains("SITUATED_CONTEXT_PROMPT means no key; `context.prompt` stands in the file"), "{said}");
    for name in ["SITUATED_CONTEXT_KEY", "SITUATED_CONTEXT_API_KEY", "SITUATED_CONTEXT_KEY_FILE"] {
        let said = bench.problems("", &[(name, secret)]).join("\n");
        assert!(said.contains("context.key_command") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_command_for_the_key_is_not_shown() {
    let bench = Bench::new();
    let loaded = bench.load("[context]\nkey_command = \"echo very-secret\"", &[]).unwrap();
    assert_eq!(loaded.config.engine.context.key.command.as_deref(), Some("echo very-secret"));
    let shown = loaded.show(true);
    assert!(shown.lines().any(|l| l.starts_with("# key_command = (set)") && l.ends_with("config.toml:2")), "{shown}");
    let json = serde_json::to_string(&loaded.values()).unwrap();
    assert!(json.contains("(set)"), "{json}");
    assert!(!shown.contains("very-secret") && !json.contains("very-secret"));
    assert!(bench.load(&shown, &[]).is_ok(), "what is shown is a file still");
}

#[test]
fn generations_are_shown_by_what_differs_from_the_plain_one() {
    let bench = Bench::new();
    let file = "[context]\nmax_words = 60\n[generation.short]\nmax_words = 30\nmodel = \"m\"\n\
                key_command = \"echo very-secret\"\n[generation.same]\nmax_words = 60\n";
    let first = bench.load(file, &[]).unwrap();
    let shown = first.show(true);
    assert!(shown.lines().any(|l| l.starts_with("max_words = 30") && l.ends_with("config.toml:4")), "{shown}");
    assert!(shown.contains("\n[generation.same]\n") && !shown.contains("very-secret"), "{shown}");
    let values = first.values();
    let value = |key: &str| values.iter().find(|value| value.key == key).map(|value| value.value.as_str());
    assert_eq!(value("generation.short.model"), Some("\"m\""));
    assert_eq!(value("generation.short.key_command"), Some("(set)"));
    assert_eq!(value("generation.same.max_words"), None);
    let mut again = bench.load(&shown, &[]).unwrap().config.engine.generations;
    again.get_mut("short").unwrap().key.command = Some("echo very-secret".to_owned());
    assert_eq!(again, first.config.engine.generations);
}

#[test]
fn a_generation_that_asks_elsewhere_takes_neither_key_nor_consent() {
    let bench = Bench::new();
    let plain = "[context]\nprovider = \"anthropic\"\nbase_url = \"https://a.example\"\nkey_command = \"echo k\"\n\
                 consent = \"given\"\nmax_words = 60\n[generation.g]\n";
    for (own, trusted, base_url) in [
        ("model = \"m\"", true, Some("https://a.example")),
        ("provider = \"anthropic\"\nbase_url = \"https://a.example\"", true, Some("https://a.example")),
        ("base_url = \"https://b.example\"", false, Some("https://b.example")),
        ("model = \"m\"\nprovider = \"openai\"", false, None),
        ("base_url = \"https://a.example\"\nprovider = \"openai\"", false, Some("https://a.example")),
    ] {
        let loaded = bench.load(&format!("{plain}{own}"), &[]).unwrap();
        let of = |loaded: &Loaded| loaded.config.engine.generations["g"].clone();
        let found = of(&loaded);
        assert_eq!((found.key.command.is_some(), found.consent == Consent::Given), (trusted, trusted), "{own}");
        assert_eq!((found.base_url.as_deref(), found.max_words), (base_url, 60), "{own}");
        let again = of(&bench.load(&loaded.show(false), &[]).unwrap());
        assert_eq!(ContextConfig { key: found.key.clone(), ..again }, found, "{own}");
    }
    // Its own are taken.
    let own = "provider = \"openai\"\nconsent = \"given\"\nkey_file = \"/k\"";
    let found = bench.load(&format!("{plain}{own}"), &[]).unwrap().config.engine.generations["g"].clone();
    assert_eq!((found.consent, found.key.file, found.key.command), (Consent::Given, Some("/k".into()), None));
}

#[test]
fn what_is_kept_of_a_model_does_not_depend_on_how_it_is_written() {
    let bench = Bench::new();
    let models = |text: &str| bench.load(text, &[]).unwrap().config.engine.context.models;
    let expected =
        [ModelOverride { model: "a.b".into(), table: "context_size = 8192\noutput_cap = \"x # y\"\n".into() }];
    assert_eq!(models("[context.models.\"a.b\"]\noutput_cap = 'x # y'\ncontext_size = 8192 # small"), expected);
    assert_eq!(models("[context]\nmodels = { \"a.b\" = { context_size = 8192, output_cap = \"x # y\" } }"), expected);
    assert_eq!(
        models("context.models.'a.b'.context_size = 8192\ncontext.models.'a.b'.output_cap = \"x # y\""),
        expected
    );
}

proptest! {
    #[test]
    fn any_instructions_and_tables_are_shown_and_read_again(kind in "\\PC{1,10}", text in "(\\PC|\n|\t|\"|\\\\|'|#){1,60}") {
        prop_assume!(!kind.trim().is_empty() && !text.trim().is_empty());
        let bench = Bench::new();
        let mut loaded = bench.load("", &[]).unwrap();
        let prompt = KindPrompt { kind: kind.trim().into(), instructions: text.trim().into(), own: None, version: 2 };
        let table = toml::Table::from_iter([("output_cap".to_owned(), toml::Value::String(text.clone()))]);
        let model = ModelOverride { model: kind.clone(), table: toml::to_string(&table).unwrap() };
        loaded.config.engine.context.prompts.push(prompt);
        loaded.config.engine.context.models.push(model);
        for origin in [false, true] {
            let shown = loaded.show(origin);
            let again = bench.load(&shown, &[]);
            prop_assert!(again.is_ok(), "{shown}");
            prop_assert_eq!(&again.unwrap().config.engine.context, &loaded.config.engine.context);
        }
    }

    #[test]
    fn money_round_trips(micro in 0u64..1_000_000_000_000) {
        use super::super::units::{Value, dollars};
        let shown = decimal_dollars(micro);
        prop_assert_eq!(dollars(&Value::Text(shown.clone())), Ok(micro));
        prop_assert_eq!(dollars(&Value::Float(shown.parse().unwrap())), Ok(micro));
    }
}

#[test]
fn money_is_shown_as_people_write_it() {
    for (micro, text) in [
        (0, "0.00"),
        (500_000, "0.50"),
        (1, "0.000001"),
        (12_345_600, "12.3456"),
        (3_000_000, "3.00"),
        (120, "0.00012"),
    ] {
        assert_eq!(decimal_dollars(micro), text);
    }
}
