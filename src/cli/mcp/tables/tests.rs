use serde_json::json;

use super::*;

fn ours() -> Value {
    json!({ "command": "/bin/situated", "args": ["--socket", "/run/s", "mcp"] })
}

fn set(text: &str) -> Result<Option<String>, Refusal> {
    with_entry(text, "mcp_servers", "situated", &ours())
}

fn out(text: &str) -> Result<Option<String>, Refusal> {
    without_entry(text, "mcp_servers", "situated")
}

fn entered(text: &str) -> Option<String> {
    super::entry(text, "mcp_servers", "situated")
}

const ENTRY: &str = "[mcp_servers.situated]\nargs = [\"--socket\", \"/run/s\", \"mcp\"]\ncommand = \"/bin/situated\"\n";

#[test]
fn what_stands_there_stays_and_what_was_entered_is_taken_out_again() {
    for text in [
        "",
        "# Mine\nmodel = \"m\"   # the best\n\n[mcp_servers.other]\ncommand = 'x'\nenv = { KEY = \"k\" }\n",
        "\u{FEFF}model = \"m\"\n",
        "[profiles.work]\nmodel = \"m\"\n\n[[things]]\na = 1\n",
    ] {
        let new = set(text).unwrap().unwrap();
        assert!(new.starts_with(text) && new.ends_with(ENTRY), "{new}");
        assert!(entered(&new).is_some() && entered(text).is_none());
        assert_eq!(set(&new), Ok(None), "once is enough");
        assert_eq!(out(&new).unwrap().unwrap().trim_end(), text.trim_end());
        assert_eq!(out(text), Ok(None), "it is not there");
    }
}

#[test]
fn an_entry_that_is_there_keeps_what_its_user_added() {
    let old = format!("{}startup_timeout_sec = 20 # slow\n", ENTRY.replace("/bin/situated", "/old/situated"));
    let new = set(&old).unwrap().unwrap();
    assert_eq!(new, old.replace("/old/situated", "/bin/situated"));
    assert_eq!(out(&new).unwrap().unwrap().trim(), "");
    // An entry that speaks HTTP is none that starts a program.
    let http = "[mcp_servers.situated]\nurl = \"http://127.0.0.1:7391/mcp\"\nbearer_token_env_var = \"T\"\nenv = { A = \"b\" }\n";
    let new: toml::Table = set(http).unwrap().unwrap().parse().unwrap();
    let keys: Vec<&String> = new["mcp_servers"]["situated"].as_table().unwrap().keys().collect();
    assert_eq!(keys, ["args", "command", "env"]);
    // However a table may be written.
    for text in [
        "mcp_servers = { other = { command = \"x\" } }\n",
        "mcp_servers.other.command = \"x\"\n",
        "[mcp_servers]\nother = { command = \"x\" }\n",
    ] {
        let new = set(text).unwrap().unwrap();
        let read: toml::Table = new.parse().unwrap_or_else(|error| panic!("{error}: {new}"));
        assert_eq!(read["mcp_servers"]["situated"]["command"].as_str(), Some("/bin/situated"), "{new}");
        assert_eq!(read["mcp_servers"]["other"]["command"].as_str(), Some("x"), "{new}");
        assert_eq!(set(&new), Ok(None));
        let back: toml::Table = out(&new).unwrap().unwrap().parse().unwrap();
        assert_eq!(back, text.parse::<toml::Table>().unwrap());
    }
}

#[test]
fn what_is_not_understood_is_left_alone() {
    for text in ["model = ", "[mcp_servers", "a = 1\na = 2\n", "{\"mcpServers\": {}}"] {
        assert!(matches!(set(text), Err(Refusal::NotToml(_))), "{text}");
        assert!(matches!(out(text), Err(Refusal::NotToml(_))), "{text}");
    }
    let Err(Refusal::NotToml(why)) = set("a = 1\nKEY = sk-secret\n") else { panic!("it was read") };
    assert!(why.starts_with("line 2 is wrong: ") && !why.contains("secret"), "{why}");
    for text in ["mcp_servers = 3", "[mcp_servers]\nsituated = 3", "[[mcp_servers]]\na = 1"] {
        assert!(matches!(set(text), Err(Refusal::Shape(_))), "{text}");
    }
}
