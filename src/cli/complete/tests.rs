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
fn options_before_say_where_the_daemon_is() {
    let words = ["situated", "--socket", "/s", "search", "--vault", "notes", "x"].map(OsString::from);
    assert_eq!(places(&words).socket, Some("/s".into()));
    let asker = Asker::new(&words, typed::unquoted);
    assert_eq!(asker.vault().as_deref(), Some("notes"));
}

#[test]
fn capitals_do_not_count() {
    assert!(begins("Äpfel", "äp") && begins("plan", "") && !begins("x", "y") && !begins("a", "ab"));
}
