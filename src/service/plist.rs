//! The agent of launchd as text: the one in `launchd/` is the template. Nothing here was run on a Mac.

use std::path::{Path, PathBuf};

/// The agent's name in launchd, and the name of its file.
pub const LABEL: &str = "dev.situated.daemon";

/// Homebrew's own agent for the same program.
pub const HOMEBREW: &str = "homebrew.mxcl.situated";

/// The example that the repository holds.
pub const TEMPLATE: &str = include_str!("../../launchd/dev.situated.daemon.plist");

const PROGRAM: &str = "\t\t<string>/opt/homebrew/bin/situated</string>";
const LAST_ARGUMENT: &str = "\t\t<string>--quiet</string>";
const LOG: &str = "\t<string>/Users/me/Library/Logs/situated/stderr.log</string>";
/// What stands before the version in agents and tasks.
pub(super) const VERSION: &str = "<!-- situated ";

use super::unit::Launch;

/// The agent for this program, whose last words go to `log`.
pub fn agent(launch: &Launch, log: &Path, version: &str) -> String {
    let lines = TEMPLATE.lines().map(|line| match line {
        PROGRAM => format!("\t\t<string>{}</string>", escaped(&launch.program)),
        LAST_ARGUMENT => {
            let mut lines = LAST_ARGUMENT.to_owned();
            for (option, path) in &launch.options {
                lines.push_str(&format!("\n\t\t<string>{option}</string>\n\t\t<string>{}</string>", escaped(path)));
            }
            lines
        }
        LOG => format!("\t<string>{}</string>", escaped(log)),
        line if line.starts_with(VERSION) => format!("{VERSION}{version} -->"),
        line => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The version that wrote an agent or a task.
pub fn version(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(VERSION))?;
    Some(line.trim_end_matches("-->").trim().to_owned())
}

/// The program that an agent runs.
pub fn program(text: &str) -> Option<PathBuf> {
    let (_, rest) = text.split_once("<key>ProgramArguments</key>")?;
    let (program, _) = rest.split_once("<string>")?.1.split_once("</string>")?;
    Some(program.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").into())
}

#[cfg(test)]
mod tests;
