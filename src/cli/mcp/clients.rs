//! The assistants that are known: where each keeps its configuration, and what an entry looks like.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edit::Refusal;
use super::{NAME, edit, tables};

/// How an assistant's file is written: what reads and edits the entry of a name in a section of it.
#[derive(Clone, Copy, Debug)]
struct Format {
    with_entry: fn(&str, &str, &str, &Value) -> Result<Option<String>, Refusal>,
    without_entry: fn(&str, &str, &str) -> Result<Option<String>, Refusal>,
    entry: fn(&str, &str, &str) -> Option<String>,
}

const JSON: Format = Format { with_entry: edit::with_entry, without_entry: edit::without_entry, entry: edit::entry };
const TOML: Format =
    Format { with_entry: tables::with_entry, without_entry: tables::without_entry, entry: tables::entry };

/// An assistant's program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// As it is named on the command line.
    pub(super) name: &'static str,
    /// As its makers call it.
    pub(super) title: &'static str,
    /// The member of its file that holds servers.
    pub(super) section: &'static str,
    format: Format,
    /// Whether an entry says that it starts a program (`type`).
    typed: bool,
    /// Its file, relative to the home folder: on macOS, on Windows, and elsewhere, where `.config` may be another folder.
    files: [&'static str; 3],
    /// Whether its makers' documentation names that place.
    pub(super) documented: bool,
    /// What to do after the entry is written.
    pub(super) then: &'static str,
}

const RESTART: &str = "Restart it.";

/// All of them. The places are from documentation; none of these programs was run with them.
pub(super) const ALL: &[Client] = &[
    Client {
        name: "claude",
        title: "Claude Code",
        section: "mcpServers",
        format: JSON,
        typed: true,
        files: [".claude.json"; 3],
        documented: true,
        then: "Start a new session. (`claude mcp add --scope user` writes the same entry.)",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        section: "mcpServers",
        format: JSON,
        typed: false,
        files: [
            "Library/Application Support/Claude/claude_desktop_config.json",
            "AppData/Roaming/Claude/claude_desktop_config.json",
            ".config/Claude/claude_desktop_config.json",
        ],
        documented: cfg!(any(target_os = "macos", windows)),
        then: RESTART,
    },
    Client {
        name: "codex",
        title: "Codex",
        section: "mcp_servers",
        format: TOML,
        typed: false,
        files: [".codex/config.toml"; 3],
        documented: true,
        then: "Start a new session. (`codex mcp add` writes the same entry.)",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        section: "mcpServers",
        format: JSON,
        typed: false,
        files: [".cursor/mcp.json"; 3],
        documented: true,
        then: "Its settings list the server under MCP; switch it on there if it is not.",
    },
    Client {
        name: "vscode",
        title: "Visual Studio Code",
        section: "servers",
        format: JSON,
        typed: true,
        files: [
            "Library/Application Support/Code/User/mcp.json",
            "AppData/Roaming/Code/User/mcp.json",
            ".config/Code/User/mcp.json",
        ],
        documented: false,
        then: "`MCP: List Servers` in its command palette starts it.",
    },
    Client {
        name: "zed",
        title: "Zed",
        section: "context_servers",
        format: JSON,
        typed: false,
        files: [".config/zed/settings.json", "AppData/Roaming/Zed/settings.json", ".config/zed/settings.json"],
        documented: true,
        then: "It takes the change over by itself.",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        section: "mcpServers",
        format: JSON,
        typed: false,
        files: [".codeium/windsurf/mcp_config.json"; 3],
        documented: false,
        then: RESTART,
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        section: "mcpServers",
        format: JSON,
        typed: false,
        files: [".gemini/settings.json"; 3],
        documented: true,
        then: RESTART,
    },
];

impl Client {
    /// Its file below this home folder.
    pub(super) fn file(&self, home: &Path) -> PathBuf {
        let [mac, windows, elsewhere] = self.files;
        if cfg!(target_os = "macos") {
            return home.join(mac);
        } else if cfg!(windows) {
            return home.join(windows);
        }
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        match (elsewhere.strip_prefix(".config/"), config) {
            (Some(file), Some(config)) => config.join(file),
            _ => home.join(elsewhere),
        }
    }

    /// Whether the program seems to be installed: its file exists, or the folder of its file, if that is not the home
    /// folder.
    pub(super) fn is_found(&self, home: &Path) -> bool {
        let file = self.file(home);
        file.exists() || file.parent().is_some_and(|folder| folder != home && folder.is_dir())
    }

    /// The entry that starts this program with these arguments.
    pub(super) fn entry(&self, program: &Path, arguments: &[String]) -> Value {
        let mut entry = json!({ "command": program.to_string_lossy(), "args": arguments });
        if self.typed {
            entry["type"] = "stdio".into();
        }
        entry
    }

    /// Its file with the entry; `None` if it has it already.
    pub(super) fn with_entry(&self, text: &str, entry: &Value) -> Result<Option<String>, Refusal> {
        (self.format.with_entry)(text, self.section, NAME, entry)
    }

    /// Its file without the entry; `None` if there is none.
    pub(super) fn without_entry(&self, text: &str) -> Result<Option<String>, Refusal> {
        (self.format.without_entry)(text, self.section, NAME)
    }

    /// The entry that its file has.
    pub(super) fn entered(&self, text: &str) -> Option<String> {
        (self.format.entry)(text, self.section, NAME)
    }

    /// The text that a user pastes by hand.
    pub(super) fn snippet(&self, entry: &Value) -> String {
        self.with_entry("", entry).ok().flatten().unwrap_or_default().trim_end().to_owned()
    }
}

/// The assistant of this name.
pub(super) fn named(name: &str) -> Option<&'static Client> {
    let name = name.to_lowercase();
    let name = match name.as_str() {
        "claude-code" => "claude",
        "code" | "vs-code" => "vscode",
        "codex-cli" => "codex",
        "gemini-cli" => "gemini",
        other => other,
    };
    ALL.iter().find(|client| client.name == name)
}
