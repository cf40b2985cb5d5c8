//! The agent of launchd as text: the one in `launchd/` is the template. Nothing here was run on a Mac.

use std::path::{Path, PathBuf};

/// Its name in launchd, and of its file.
pub const LABEL: &str = "dev.situated.daemon";

/// Homebrew's own agent for the same program.
pub const HOMEBREW: &str = "homebrew.mxcl.situated";

/// The example that the repository holds.
pub const TEMPLATE: &str = include_str!("../../launchd/dev.situated.daemon.plist");

const PROGRAM: &str = "\t\t<string>/opt/homebrew/bin/situated</string>";
const LAST_ARGUMENT: &str = "\t\t<string>--quiet</string>";
const LOG: &str = "\t<string>/Users/me/Library/Logs/situated/stderr.log</string>";
const VERSION: &str = "<!-- situated ";

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

/// The version that wrote an agent.
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
mod tests {
    use super::*;

    fn example() -> Launch {
        Launch { program: "/opt/homebrew/bin/situated".into(), options: Vec::new() }
    }

    #[test]
    fn what_is_installed_is_what_is_shipped() {
        let log = Path::new("/Users/me/Library/Logs/situated/stderr.log");
        assert_eq!(agent(&example(), log, env!("CARGO_PKG_VERSION")), TEMPLATE);
    }

    #[test]
    fn paths_are_escaped_and_come_back() {
        let launch = Launch { program: "/A & <B>/situated".into(), options: vec![("--config", "/c & d.toml".into())] };
        let text = agent(&launch, Path::new("/Users/ö & co/stderr.log"), "9.9.9");
        assert!(text.contains("<string>/A &amp; &lt;B&gt;/situated</string>"), "{text}");
        assert!(text.contains("<string>--config</string>\n\t\t<string>/c &amp; d.toml</string>\n\t</array>"), "{text}");
        assert!(text.contains("<string>/Users/ö &amp; co/stderr.log</string>"), "{text}");
        assert_eq!((program(&text), version(&text).as_deref()), (Some(launch.program), Some("9.9.9")));
    }

    /// What launchd knows, of what we say; a key that it does not know it passes over without a word.
    #[test]
    fn every_key_is_one_that_launchd_knows() {
        let known = [
            "Label",
            "ProgramArguments",
            "RunAtLoad",
            "KeepAlive",
            "SuccessfulExit",
            "ThrottleInterval",
            "ExitTimeOut",
            "ProcessType",
            "LowPriorityBackgroundIO",
            "Umask",
            "SoftResourceLimits",
            "NumberOfFiles",
            "WorkingDirectory",
            "StandardOutPath",
            "StandardErrorPath",
            "EnvironmentVariables",
            "SITUATED_SUPERVISOR",
        ];
        let keys: Vec<&str> =
            TEMPLATE.split("<key>").skip(1).filter_map(|rest| Some(rest.split_once("</key>")?.0)).collect();
        assert_eq!(keys, known);
        for key in ["WorkingDirectory", "StandardOutPath", "StandardErrorPath"] {
            let (_, rest) = TEMPLATE.split_once(&format!("<key>{key}</key>")).unwrap();
            assert!(rest.trim_start().starts_with("<string>/"), "{key} is not absolute");
        }
    }
}
