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
