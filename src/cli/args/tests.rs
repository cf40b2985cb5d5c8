use clap::CommandFactory as _;

use super::*;

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_parses() {
    for line in [
        "init",
        "init /tmp",
        "init --yes",
        "run",
        "run Notes",
        "try",
        "search a b -c",
        "live",
        "s x",
        "search -- -x",
        "related a.md",
        "graph",
        "graph work --by betweenness -n 5",
        "graph --orphans --json",
        "graph --unresolved",
        "graph --dot -n 500",
        "get a.md -l 3 -n 2",
        "status",
        "status work",
        "service install --dry-run --linger",
        "service uninstall --purge --yes",
        "service logs -f -n 5",
        "config reload",
        "sync --wait",
        "sync notes --accept-deletes",
        "sync --since 24h",
        "sync notes --since all --wait",
        "rebuild Notes/Projects --yes",
        "rebuild --batch --dry-run",
        "jobs",
        "jobs --cancel 3",
        "plan a.md --stdin",
        "explain a.md",
        "cost",
        "stats",
        "stats work",
        "contexts review",
        "contexts start",
        "contexts start --replace --vault n --yes",
        "contexts stop --vault n",
        "contexts review --sample 5 --vault n --jsonl",
        "generate --document a.md --chunk -",
        "generate --document a.md --chunk b.md --title T --max-words 20",
        "doctor",
        "doctor --full --json",
        "doctor --provider",
        "contexts export",
        "contexts import x.jsonl --vault n",
        "compact",
        "config show --origin",
        "config check",
        "config path",
        "call ping",
        "call search {}",
        "call get -",
        "stop",
        "schema",
        "socket",
        "pause",
        "pause 60",
        "resume",
        "tail",
        "tail -f --vault work --jsonl",
        "completions bash",
        "completions",
        "man --out d",
        "--json --data-dir d status",
        "status --json --socket s -vv",
        "team status",
        "team status handbook --json",
        "team init handbook --bits",
        "team publish --take-over",
        "team verify handbook",
        "team drop handbook --yes",
        "generations",
        "generations build haiku --yes",
        "generations build haiku --dry-run --vault n",
        "generations use default",
        "generations drop haiku",
        "search x --generation haiku",
        "search x --mode dense --no-context --fresh --format {path}:{line} --limit 5 --vault n",
        "search --jsonl x",
        "search --open x",
        "search x --open=3 --open-in obsidian",
        "related a.md --open --hyperlinks always",
        "search x --explain --expect a.md",
        "eval",
        "eval Notes --limit 50 --seed 7 --html report.html",
        "eval --set d --json",
        "eval notes --a a.toml --b b.toml",
    ] {
        let words = std::iter::once("situated").chain(line.split(' '));
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{line}: {error}");
        }
    }
}

#[test]
fn options_after_the_words_are_options() {
    let cli = Cli::try_parse_from(["situated", "search", "a", "b", "--limit", "3", "--json"]).unwrap();
    let Command::Search(search) = cli.command else { panic!("not a search") };
    assert_eq!((search.query.join(" ").as_str(), search.show.limit, cli.globals.json), ("a b", Some(3), true));
}

#[test]
fn times_have_the_units_of_the_configuration() {
    for (text, seconds) in [("24h", 86_400), ("90s", 90), ("7d", 604_800), ("1.5m", 90), ("all", 0), ("1s", 1)] {
        assert_eq!(since(text), Ok(seconds), "{text}");
    }
    for text in ["", "0s", "-1h", "soon", "24", "999999999d"] {
        assert!(since(text).is_err(), "{text}");
    }
}

#[test]
fn a_pause_takes_seconds_or_a_time_with_a_unit() {
    for (text, read) in [("60", 60), ("0", 0), ("30m", 1800), ("2h", 7200), ("1.5m", 90)] {
        assert_eq!(seconds(text), Ok(read), "{text}");
    }
    for text in ["", "-5", "soon", "0s", "1.5"] {
        assert!(seconds(text).is_err(), "{text}");
    }
}

#[test]
fn contradictions_are_usage_errors() {
    for line in [
        "search",
        "search x --format a --jsonl",
        "search x --json --jsonl",
        "search x --json --open",
        "search x --open=0",
        "search x --expect a.md --jsonl",
        "eval notes --set d",
        "eval --a a.toml",
        "eval --limit 0",
        "search x -m both",
        "search x -n 0",
        "frobnicate",
        "rebuild --yes --dry-run",
        "sync --since yesterday",
        "get a.md --line 0",
        "sync --since 24",
        "graph --by fame",
        "graph --orphans --unresolved",
        "graph --dot --json",
        "graph -n 0",
        "contexts review --sample 0",
        "contexts review --json --jsonl",
        "generate --chunk -",
    ] {
        let words = std::iter::once("situated").chain(line.split(' '));
        let error = Cli::try_parse_from(words).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn a_query_that_begins_with_a_hyphen_is_shown_its_place() {
    let said = |arguments: &[&str]| {
        let arguments: Vec<OsString> = ["situated"].iter().chain(arguments).map(OsString::from).collect();
        let error = command().try_get_matches_from(&arguments).expect_err("it parses");
        with_dashes(error, &arguments).to_string()
    };
    for command in ["search", "grep", "ask", "related"] {
        for query in ["-path:x foo", "-path:x"] {
            assert!(said(&[command, query]).contains(&format!("behind `--`: -- '{query}'")), "{command} {query}");
        }
    }
    assert!(said(&["search", "-notes of May"]).contains("behind `--`: -- '-notes of May'"));
    // Words of which all or the first letters are options.
    for word in ["-cherry", "-home", "-mother", "-nothing", "-venv", "-event", "-nfew", "-old", "-ärger", "-2147024809"]
    {
        let said = said(&["search", "-n5", "apple", word, "-chapter", "--json"]);
        assert!(said.starts_with("error: ") && said.contains(&format!("behind `--`: -- '{word}'")), "{said}");
    }
    assert!(said(&["grep", "apple", "-cherry"]).contains("behind `--`: -- '-cherry'"));
    for arguments in [
        &["search", "x", "--limt", "3"][..],
        &["search", "x", "-n500"],
        &["search", "x", "--json", "--jsonl", "-ce"],
        &["search", "x", "-h", "-ce"],
        &["search", "x", "-m", "both"],
        &["get", "a.md", "-lx"],
        &["related", "-t", "-x y", "--no"],
    ] {
        assert!(!said(arguments).contains("behind `--`"), "{arguments:?}");
    }
}

#[test]
fn the_name_alone_starts_a_live_search_and_a_group_alone_says_what_is_in_it() {
    let parsed = |words: &[&str]| {
        let arguments: Vec<OsString> = ["situated"].iter().chain(words).map(OsString::from).collect();
        super::super::parse_or_live(&arguments, true)
    };
    assert!(matches!(parsed(&[]).unwrap().command, Command::Live));
    assert!(matches!(parsed(&["--color", "never"]).unwrap().command, Command::Live));
    let root = command();
    let groups: Vec<_> = root.get_subcommands().filter(|group| group.is_subcommand_required_set()).collect();
    assert!(groups.len() > 3);
    for group in groups {
        let error = parsed(&[group.get_name()]).expect_err("a group alone does nothing");
        assert!(!error.to_string().contains("`live`") && !error.to_string().contains("'live'"), "{error}");
    }
}

#[test]
fn a_name_with_blanks_is_shown_its_quotes() {
    let said = |line: &str| {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = command().try_get_matches_from(&arguments).expect_err("it parses");
        in_quotes(error, &arguments).to_string()
    };
    for line in [
        "situated get Garden family 518",
        "situated vault add ~/My Vault",
        "situated vault remove My Vault --yes",
        "situated vault rename My Vault Notes",
        "situated --json rebuild My Vault",
        "situated status My Vault",
    ] {
        assert!(said(line).contains("stands in quotes"), "{line}: {}", said(line));
    }
    for line in ["situated stop now", "situated config check it", "situated search x --limt 3"] {
        assert!(!said(line).contains("stands in quotes"), "{line}");
    }
}

#[test]
fn options_of_grep_are_taken_as_grep_takes_them() {
    let parsed = |line: &str| {
        let cli = Cli::try_parse_from(["situated", "grep"].into_iter().chain(line.split(' ')));
        let Command::Grep(grep) = cli.unwrap_or_else(|error| panic!("{line}: {error}")).command else {
            panic!("{line}")
        };
        (grep.regexp, grep.pattern, grep.within)
    };
    for line in ["-n TODO tag:work", "-rnHE TODO tag:work", "TODO -in tag:work", "--line-number TODO tag:work"] {
        assert_eq!(parsed(line), (None, Some("TODO".to_owned()), vec!["tag:work".to_owned()]), "{line}");
    }
    for line in ["-e -x tag:work", "tag:work -ne -x"] {
        assert_eq!(parsed(line), (Some("-x".to_owned()), Some("tag:work".to_owned()), Vec::new()), "{line}");
    }
    assert!(Cli::try_parse_from(["situated", "grep", "-n"]).is_err());
}

#[test]
fn notes_under_the_help_fit_a_narrow_terminal() {
    let mut waiting = vec![command()];
    while let Some(command) = waiting.pop() {
        let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in notes.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
        waiting.extend(command.get_subcommands().cloned());
    }
}

#[test]
fn a_vault_is_named_in_its_place_or_as_elsewhere() {
    for (line, vault) in [("stats", None), ("stats work", Some("work")), ("stats --vault work", Some("work"))] {
        let cli = Cli::try_parse_from(std::iter::once("situated").chain(line.split(' '))).unwrap();
        let Command::Stats(only) = cli.command else { panic!("{line}") };
        assert_eq!(only.name().as_deref(), vault, "{line}");
    }
    for command in ["status", "stats", "graph", "compact"] {
        Cli::try_parse_from(["situated", command, "--vault", "work"]).unwrap();
        assert!(Cli::try_parse_from(["situated", command, "home", "--vault", "work"]).is_err(), "{command}");
    }
}

#[test]
fn a_score_is_a_number() {
    let with = |score: &str| Cli::try_parse_from(["situated", "search", "a", "--min-score", score]).is_ok();
    assert_eq!(["0.5", "1", "NaN", "inf", "much"].map(with), [true, true, false, false, false]);
}

#[test]
fn colours_are_known_before_the_arguments_are_right() {
    for (line, expected) in [
        ("situated --color never --help", Styling::Never),
        ("situated search --color=always --wrong", Styling::Always),
        ("situated search -- --color never", Styling::Auto),
        ("situated search --color", Styling::Auto),
        ("situated search --color sometimes", Styling::Auto),
        ("situated --help", Styling::Auto),
    ] {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert_eq!(color(&words), expected, "{line}");
    }
}
