use super::super::vaults::VaultFacts;
use super::*;

#[test]
fn names_go_and_the_rest_stays() {
    let facts = Facts {
        home: Some("/home/ada".into()),
        user: Some("ada".into()),
        hostname: Some("engine".into()),
        vaults: vec![VaultFacts {
            name: "Divorce".into(),
            path: "/home/ada/Notes/Divorce".into(),
            index: "/home/ada/.local/share/situated/vaults/Divorce-1234abcd".into(),
            ..VaultFacts::default()
        }],
        ..Facts::default()
    };
    let redactor = Redactor::of(&facts);
    for (text, expected) in [
        ("chmod 600 /home/ada/.keys/a", "chmod 600 ~/.keys/a"),
        ("the vault /home/ada/Notes/Divorce is gone", "the vault <vault 1> is gone"),
        ("vault `Divorce` cannot be read", "vault <vault 1> cannot be read"),
        ("/home/ada/Notes/DivorceAgain is gone", "~/Notes/DivorceAgain is gone"),
        ("/home/ada/.local/share/situated/vaults/Divorce-1234abcd/sled", "<index 1>/sled"),
        ("ada's engine, Canada, /srv/ada/x", "<user>'s <host>, Canada, /srv/<user>/x"),
        ("Letters/To/lawyer.md, and b.txt: too large", "<note> and <note> too large"),
        (
            "`My Divorce/letter to the lawyer.md` keeps its free contexts: `budget.day`",
            "<note> keeps its free contexts: `budget.day`",
        ),
        ("`situated sync` and `a", "`situated sync` and `a"),
    ] {
        assert_eq!(redactor.redact(text), expected);
    }
    assert_eq!(Redactor::default().redact("/home/ada/a.md"), "/home/ada/a.md");
}

#[test]
fn a_problem_of_the_configuration_shows_neither_value_nor_name() {
    for (key, shown) in [
        (
            Some("vault.Divorce. No.private"),
            "c.toml:4:1: vault.….private: what is wrong is left out here, for it may name notes",
        ),
        (
            Some("chunk.types.letters to ada.min"),
            "c.toml:4:1: chunk.types.…: what is wrong is left out here, for it may name notes",
        ),
        (
            Some("context.models.gpt"),
            "c.toml:4:1: context.models.…: what is wrong is left out here, for it may name notes",
        ),
        (Some("search.limit"), "c.toml:4:1: search.limit: what is wrong is left out here, for it may name notes"),
        (None, "c.toml:4:1: what is wrong is left out here, for it may name notes"),
    ] {
        let told = Problem {
            file: Some("c.toml".into()),
            line: Some(4),
            column: Some(1),
            key: key.map(str::to_owned),
            message: "`~/Divorce from Alice/` matches nothing".to_owned(),
        };
        assert_eq!(problem(&told), shown);
    }
}

#[test]
fn a_command_is_redacted_as_it_is_typed() {
    let data = Path::new("/Users/ada b/Library/Application Support/situated/data");
    let index = data.join("vaults/Divorce-1234abcd");
    let facts = Facts {
        home: Some("/Users/ada b".into()),
        vaults: vec![VaultFacts { index: index.clone(), ..VaultFacts::default() }],
        ..Facts::default()
    };
    let redactor = Redactor::of(&facts);
    let command = format!("chmod 700 {}", typed(data));
    assert_eq!(command, "chmod 700 /Users/ada\\ b/Library/Application\\ Support/situated/data");
    assert_eq!(redactor.redact(&command), "chmod 700 ~/Library/Application\\ Support/situated/data");
    assert_eq!(redactor.redact(&format!("rm -r {}/sled", typed(&index))), "rm -r <index 1>/sled");
    assert_eq!(redactor.redact(&format!("{} is open", index.display())), "<index 1> is open");
}
