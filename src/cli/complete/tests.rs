use super::*;

#[test]
fn every_shell_has_a_script_that_asks_this_program() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
        let script = registration(shell).unwrap();
        assert!(script.contains(VARIABLE) && script.contains("situated"), "{shell}: {script}");
        assert_eq!(script.contains("COMP_LINE"), shell == Shell::Bash, "{shell}");
    }
}

/// What is completed hangs on the names of arguments: none of them may change unseen.
#[test]
fn arguments_that_name_something_are_completed() {
    fn collect(command: &Command, found: &mut Vec<(String, Names)>) {
        for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            found.extend(Names::of(arg).map(|names| (command.get_name().to_owned(), names)));
        }
        command.get_subcommands().for_each(|below| collect(below, found));
    }
    let mut found = Vec::new();
    collect(&args::command(), &mut found);
    for (command, names) in [
        ("search", Names::Query),
        ("search", Names::Vaults),
        ("search", Names::Notes),
        ("grep", Names::Query),
        ("get", Names::Notes),
        ("related", Names::Notes),
        ("explain", Names::Notes),
        ("plan", Names::Notes),
        ("status", Names::Vaults),
        ("remove", Names::Vaults),
        ("rename", Names::Vaults),
    ] {
        assert!(found.contains(&(command.to_owned(), names)), "{command}: {names:?}");
    }
    let asker = Arc::new(Asker::new(&[], typed::unquoted));
    completing(args::command(), &asker).debug_assert();
}

#[test]
fn a_value_that_needs_quotes_is_offered_for_its_first_letters() {
    for typed in ["link:", "link:bud", "link:\"Bud", "link:\"Budget 2"] {
        assert!(begins("link:\"Budget 2026\"", typed), "{typed}");
    }
    assert!(!begins("link:\"Budget 2026\"", "link:2026"));
}

#[test]
fn options_before_say_where_the_daemon_is() {
    let words = ["situated", "--socket", "/s", "search", "--vault", "notes", "x"].map(OsString::from);
    assert_eq!(places(&words).socket, Some("/s".into()));
    let asker = Asker::new(&words, typed::unquoted);
    assert_eq!(asker.vault().as_deref(), Some("notes"));
}

#[test]
fn options_with_an_equals_sign_say_so_too() {
    let words = ["situated", "--socket=/s", "search", "--vault=notes", "x"].map(OsString::from);
    assert_eq!(places(&words).socket, Some("/s".into()));
    assert_eq!(Asker::new(&words, typed::unquoted).vault().as_deref(), Some("notes"));
}

#[test]
fn folders_are_offered_where_a_vault_is_one() {
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir(here.path().join("Notizen")).unwrap();
    std::fs::write(here.path().join("Notiz.md"), "").unwrap();
    let typed = here.path().join("No");
    let nowhere = here.path().join("nowhere").into_os_string();
    let offered = |before: &[&str]| {
        let mut words: Vec<OsString> = vec!["situated".into(), "--socket".into(), nowhere.clone()];
        words.extend(before.iter().map(OsString::from));
        words.push(typed.clone().into_os_string());
        let asker = Arc::new(Asker::new(&words, str::to_owned));
        let last = words.len() - 1;
        let offered = clap_complete::engine::complete(&mut completing(args::command(), &asker), words, last, None);
        let values = offered.unwrap().into_iter().map(|offered| offered.get_value().to_string_lossy().into_owned());
        values.collect::<Vec<_>>()
    };
    for before in [&["init"][..], &["eval"], &["editor", "install", "obsidian", "--vault"]] {
        let folder = format!("{}{}", here.path().join("Notizen").display(), std::path::MAIN_SEPARATOR);
        assert_eq!(offered(before), [folder], "{before:?}");
    }
    assert_eq!(offered(&["related"]).len(), 2, "a note may be any file");
}

#[test]
fn assistants_are_offered() {
    let asker = Arc::new(Asker::new(&[], str::to_owned));
    let words = ["situated", "mcp", "install", "claude-"].map(OsString::from).to_vec();
    let offered = clap_complete::engine::complete(&mut completing(args::command(), &asker), words, 3, None).unwrap();
    assert_eq!(offered.iter().map(|offered| offered.get_value()).collect::<Vec<_>>(), ["claude-desktop"]);
}

#[test]
fn capitals_do_not_count() {
    assert!(begins("Äpfel", "äp") && begins("plan", "") && !begins("x", "y") && !begins("a", "ab"));
}
