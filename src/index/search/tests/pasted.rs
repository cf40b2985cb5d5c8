//! Text that was pasted, with signs that are conditions in a query.

use super::*;
use crate::search::query::AsWords;
use note::Private;

fn vault() -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    for (no, path, text) in [
        (1, "Log.md", "Then it said: [ERROR] connection refused, worker [pid 77].\n"),
        (2, "Rsync.md", "Copy the photos with rsync -avz over the wire.\n"),
        (3, "Grep.md", "Find them all: grep -rn TODO in the folder.\n"),
        (4, "Todo.md", "The TODO list for grep.\n"),
        (5, "Sql.md", "It fails: NOT NULL constraint failed: users.email\n"),
        (6, "Code.md", "The error has the code -2147024809.\n"),
        (8, "Query.md", "SELECT * FROM u WHERE u.deleted_at IS NOT NULL AND u.age >= 18\n"),
        (9, "Delete.md", "DELETE FROM s WHERE expires_at < NOW() AND user_id NOT IN (SELECT id FROM users);\n"),
        (10, "Tree.md", "int f(void) {\n    return -(left.height - right.height);\n}\n"),
        (11, "Sync.md", "The sync of the phone fails in the train: it doesn't work there.\n"),
    ] {
        put(&mut index, no, path, &[], None, &[], &[text]);
    }
    let mut owned = crate::testing::note(7, 1, "Owned.md");
    owned.texts =
        Said::<&str> { title: "Owned", properties: r#"{"owner":"Anna","due date":null}"#, ..Said::default() }.pack();
    index.put(owned, vec![]).unwrap();
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

/// The query as the vault settles it, and what the answer says first.
fn settled_in(vault: &Vault, query: &str, hidden: Option<Arc<Private>>) -> Parsed {
    let parse = |as_words: &AsWords| Ok::<_, LexicalError>(parse_as(query, TODAY, as_words).unwrap());
    let shown = [("v", &*vault.snapshot, hidden)];
    settled(parse(&AsWords::default()).unwrap(), &parse, (&shown, &[]), &Options::default()).unwrap()
}

#[test]
fn what_the_notes_show_to_be_text_is_searched_for() {
    let vault = vault();
    const NONE: &str = "";
    // (query, the note that is found first, what is said)
    for (query, first, said) in [
        ("[ERROR] connection refused", "Log.md", NONE),
        ("started worker [pid 77]", "Log.md", NONE),
        ("[Function: worker] refused", "Log.md", "`[Function: worker]` is searched for as words: no note has such"),
        ("[pid 77]", "Log.md", "`[pid 77]` is searched for as words: no note has such a property"),
        ("rsync -avz", "Rsync.md", "`-avz` is searched for as words, because a note writes it so"),
        ("grep -rn TODO", "Grep.md", "`-rn` is searched for as words, because a note writes it so"),
        ("find -rn -f", "Grep.md", "`-f` is searched for as a word; `-\"f\"` leaves it out"),
        ("-2147024809", "Code.md", "`-2147024809` is searched for as words, because a note writes it so"),
        ("-heron", "Sync.md", "the query only leaves out `-heron`: of the other notes the newest are listed"),
        ("u.deleted_at IS NOT NULL AND u.age >= 18", "Query.md", "`NOT NULL` is searched for as words, because a note"),
        (
            "expires_at < NOW() AND user_id NOT IN (SELECT id FROM users);",
            "Delete.md",
            "`NOT IN` is searched for as words, because a note",
        ),
        (
            "return -(left.height - right.height);",
            "Tree.md",
            "`-(left.height - right.height)` is searched for as words, because a note",
        ),
        (
            "NOT NULL constraint failed: users.email",
            "Sql.md",
            "`NOT NULL` is searched for as words, because a note writes",
        ),
    ] {
        let parsed = settled_in(&vault, query, None);
        let answer = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
        let warning = answer.warnings.first().map_or(NONE, String::as_str);
        assert_eq!(paths(&answer).first(), Some(&first), "{query}: {:?}", answer.warnings);
        assert!(warning.starts_with(said) && warning.is_empty() == said.is_empty(), "{query}: {warning}");
        assert!(answer.warnings.len() <= query.matches(" -").count().max(1), "{query}: {:?}", answer.warnings);
    }
}

#[test]
fn what_a_team_may_have_is_not_denied() {
    let vault = vault();
    let query = "[pid 77]";
    let parse = |as_words: &AsWords| Ok::<_, LexicalError>(parse_as(query, TODAY, as_words).unwrap());
    let (shown, teams) = ([("v", &*vault.snapshot, None)], ["handbook".to_owned()]);
    let parsed = settled(parse(&AsWords::default()).unwrap(), &parse, (&shown, &teams), &Options::default()).unwrap();
    let said = "`[pid 77]` is searched for as words: no note here has such a property, and `handbook` is not told of \
                properties";
    assert_eq!(parsed.warnings, [said]);
}

#[test]
fn what_is_left_out_is_counted_however_it_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    let texts = ["Anna set the budget.\n", "Budget by Anna.\n", "Anna does not mind the budget.\n", "Anna sings.\n"];
    for (no, text) in (1..).zip(texts) {
        put(&mut index, no, &format!("{no}.md"), &["team"], None, &[], &[text]);
    }
    let vault = Vault { snapshot: index.publish(1).unwrap(), _dir: dir };
    for (query, said) in [
        ("what does Anna do about the -budget", "`-budget` leaves out 3 notes that have all other words"),
        ("Anna -(budget mind)", "`-(budget mind)` leaves out a note that has all other words"),
        ("Anna -budget", "`-budget` leaves out 3 notes that have all other words"),
        ("Anna NOT budget", "`NOT budget` leaves out 3 notes that have all other words"),
        ("tag:team Anna -budget", "`-budget` leaves out 3 notes that have all other words"),
    ] {
        let parsed = settled_in(&vault, query, None);
        assert_eq!((parsed.warnings, parsed.words.contains("budget")), (vec![said.to_owned()], false), "{query}");
    }
    // All notes have the name, some as the only word: it is left out all the same.
    for query in [
        "tag:team -Anna",
        "tag:team NOT Anna",
        "tag:team AND NOT Anna",
        "NOT tag:none NOT Anna",
        "\"Anna\" -Anna",
        "+Anna -Anna",
        "sings OR -budget",
    ] {
        let parsed = settled_in(&vault, query, None);
        let left = usize::from(query.contains("sings"));
        let answer = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
        assert_eq!(answer.hits.len(), left, "{query}: {:?}", paths(&answer));
        assert!(parsed.is_doubtful() || parsed.warnings.is_empty(), "{query}: {:?}", parsed.warnings);
    }
}

#[test]
fn what_may_be_a_condition_stays_one() {
    let vault = vault();
    for query in [
        "[owner] refused",
        "[\"due date\": 2026] refused",
        "-[ERROR] refused",
        "rsync -\"avz\"",
        "rsync -heron",
        "constraint NOT \"null\"",
    ] {
        let parsed = settled_in(&vault, query, None);
        assert_eq!(parsed, parse(query, TODAY).unwrap(), "{query}");
    }
    assert!(settled_in(&vault, "rsync AND NOT avz", None).warnings.is_empty(), "it was joined on purpose");
    let question = settled_in(&vault, "why does sync NOT work in the train", None);
    assert_eq!(question.warnings, ["`NOT work` leaves out a note that has all other words"]);
    let excluding = settled_in(&vault, "rsync NOT avz", None);
    assert_eq!(excluding.warnings, ["`NOT avz` leaves out a note that has all other words"]);
    assert_eq!(Parsed { warnings: Vec::new(), ..excluding }, parse("rsync NOT avz", TODAY).unwrap());
    // What is hidden from the asker shows nothing.
    let hidden = Arc::new(Private::new(&["Owned.md".to_owned(), "Rsync.md".to_owned()]));
    assert_eq!(settled_in(&vault, "[owner] refused", Some(hidden.clone())).words, "[owner] refused");
    assert_eq!(settled_in(&vault, "rsync -avz", Some(hidden)).without, ["avz"]);
}

#[test]
fn that_a_word_is_left_out_does_not_mean_that_no_note_has_it() {
    let vault = vault();
    let said = |query: &str| ask(&vault, query, &Options::default()).warnings;
    assert_eq!(
        said("rsync -\"photos\""),
        [
            "no note that meets the conditions has a word of this query; these are nearest in meaning, which may not be near"
        ]
    );
    let parsed = parse("quokkas", TODAY).unwrap();
    let nothing = search(&vault.snapshot, "v", &parsed, None, &Options::default()).unwrap();
    assert!(nothing.warnings.is_empty() || !nothing.warnings[0].contains("meets the conditions"), "{nothing:?}");
}
