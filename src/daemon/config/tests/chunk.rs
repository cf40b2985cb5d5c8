//! `[chunk]`: the sizes that each strategy brings, and tables for kinds of notes.

use super::super::{Config, ValueOrigin};
use super::Bench;
use note::chunk::{ChunkConfig, ChunkRules, Strategy};

#[test]
fn sizes_that_nobody_gave_are_those_of_the_strategy() {
    let bench = Bench::new();
    for &strategy in Strategy::ALL {
        let text = format!("[chunk]\nstrategy = \"{}\"\n", strategy.name());
        let loaded = bench.load(&text, &[]).unwrap();
        assert_eq!(loaded.config.engine.chunk, ChunkRules::from(ChunkConfig::of(strategy)), "{text}");
    }
    for (name, strategy) in
        [("obsidian_aware", Strategy::Obsidian), ("markdown_semantic", Strategy::Semantic), ("simple", Strategy::Fixed)]
    {
        let loaded = bench.load(&format!("[chunk]\nstrategy = \"{name}\"\n"), &[]).unwrap();
        assert_eq!(loaded.config.engine.chunk, ChunkRules::from(ChunkConfig::of(strategy)), "{name}");
    }
    let env = [("SITUATED_CHUNK_STRATEGY", "semantic"), ("SITUATED_CHUNK_MAX", "700")];
    let loaded = bench.load("[chunk]\nstrategy = \"fixed\"\ntarget = 300\n", &env).unwrap();
    let expected = ChunkConfig { target: 300, max: 700, ..ChunkConfig::of(Strategy::Semantic) };
    assert_eq!(loaded.config.engine.chunk.plain, expected);
    assert_eq!(loaded.origin("chunk.min"), &ValueOrigin::Default);
    let defaults = Config::new("/d", Vec::new()).engine.chunk;
    assert_eq!(defaults.identity(), "obsidian/2 500 100 800 15", "or every vault would be embedded anew");
}

#[test]
fn kinds_of_notes_have_tables_of_their_own() {
    let bench = Bench::new();
    let text = "[chunk.types.daily]\nmax = 1200\n[chunk]\ntarget = 400\n\
                [chunk.types.\"meeting \\\"notes\\\"\"]\nmin = 20\nstrategy = \"sentence\"\noverlap = \"5 %\"\n";
    let loaded = bench.load(text, &[("SITUATED_CHUNK_MIN", "90")]).unwrap();
    let rules = &loaded.config.engine.chunk;
    let plain = ChunkConfig { target: 400, min: 90, ..ChunkConfig::default() };
    assert_eq!(rules.plain, plain);
    assert_eq!(rules.of(Some("Daily")), &ChunkConfig { max: 1200, ..plain });
    let own = ChunkConfig { min: 20, overlap_percent: 5, ..ChunkConfig::of(Strategy::Sentence) };
    assert_eq!(rules.of(Some("meeting \"notes\"")), &own);
    assert_eq!(loaded.origin("chunk.types.daily.max"), &ValueOrigin::File(bench.path("config.toml"), 2));

    for origin in [false, true] {
        let shown = loaded.show(origin);
        let again = bench.load(&shown, &[]).unwrap_or_else(|e| panic!("{e}\n{shown}"));
        assert_eq!(again.config.engine.chunk, *rules, "{shown}");
    }
    let values = loaded.values();
    let value = |key: &str| values.iter().find(|v| v.key == key).map(|v| (v.value.as_str(), v.origin.as_str()));
    assert_eq!(value("chunk.types.daily.target"), Some(("400", "default")));
    assert!(value("chunk.types.daily.max").is_some_and(|(v, from)| v == "1200" && from.ends_with("config.toml:2")));
}

#[test]
fn what_is_wrong_in_a_table_is_told_with_its_place() {
    let bench = Bench::new();
    for (text, expected) in [
        (
            "[chunk.types.daily]\nstratgy = \"fixed\"",
            "2:1 chunk.types.daily.stratgy there is no such key; did you mean `strategy`?",
        ),
        (
            "[chunk.types.daily]\nlimit = 3",
            "2:1 chunk.types.daily.limit there is no such key; `limit` belongs in `[search]`",
        ),
        ("[chunk.types.daily]\ntarget = 3", "2:10 chunk.types.daily.target `3` is out of range"),
        (
            "[chunk.types.daily]\n strategy = \"sentense\"",
            "2:13 chunk.types.daily.strategy `sentense` is not known; did you mean `sentence`?",
        ),
        (
            "[chunk.types.daily]\nmax = 300",
            "2:1 chunk.types.daily.max chunk.types.daily.target 500 is above chunk.types.daily.max 300; set both",
        ),
        ("[chunk.types.daily]\nmin = 600", "2:1 chunk.types.daily.min chunk.types.daily.min 600 is above"),
        ("[chunk.types]\ndaily = 3", "2:1 chunk.types write `[chunk.types.NAME]` and keys of `[chunk]` below"),
        ("[chunk]\ntypes = 3", "2:1 chunk.types write `[chunk.types.NAME]`"),
        ("[chunk]\ntyps = 3", "2:1 chunk.typs there is no such key; did you mean `types`?"),
        ("[chunk.types.\"*\"]\nmax = 900", "1:14 chunk.types.* what holds for all other notes stands in `[chunk]`"),
        ("[chunk.types.\" \"]\nmax = 900", "1:14 chunk.types.  this is no kind of note"),
        (
            "[chunk.types.Daily]\nmax = 900\n[chunk.types.daily]\nmax = 900",
            "3:14 chunk.types.daily there are two tables for notes of the kind `daily`",
        ),
    ] {
        let problems = bench.problems(text, &[]);
        assert!(
            problems.iter().any(|p| p.starts_with(expected)),
            "{text}\nexpected {expected}\nfound    {problems:#?}"
        );
    }
    let problems = bench.problems("", &[("SITUATED_CHUNK_TYPES", "x")]);
    assert!(problems[0].contains("`chunk.types` stands in the file, for it is a table"), "{problems:?}");
}
