use super::*;

fn launch(program: &str, options: &[(&'static str, &str)]) -> Launch {
    let options = options.iter().map(|(option, path)| (*option, PathBuf::from(path))).collect();
    Launch { program: program.into(), options }
}

fn exec(launch: &Launch) -> String {
    let text = service(launch, "1").unwrap();
    text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap().to_owned()
}

#[test]
fn what_is_installed_is_what_is_shipped() {
    let rendered = service(&launch("/usr/bin/situated", &[]), env!("CARGO_PKG_VERSION")).unwrap();
    assert_eq!(rendered, TEMPLATE, "systemd/situated.service is of another version, or has other lines");
    assert_eq!(strict(false), STRICT);
}

#[test]
fn only_program_and_version_differ() {
    let text = service(&launch("/opt/s", &[("--config", "/c.toml")]), "9.9.9").unwrap();
    let differ: Vec<&str> = text.lines().filter(|line| !TEMPLATE.lines().any(|other| other == *line)).collect();
    assert_eq!(differ, ["X-SituatedVersion=9.9.9", "ExecStart=/opt/s run --quiet --config /c.toml"]);
    assert_eq!((version(&text).as_deref(), version("[Unit]\n")), (Some("9.9.9"), None));
}

#[test]
fn paths_are_one_word_each_and_come_back() {
    for (path, written) in [
        ("/usr/bin/situated", "/usr/bin/situated run"),
        ("/home/é/situated", "/home/é/situated run"),
        ("/a b/situated", "\"/a b/situated\" run"),
        ("/100%/%d/situated", "/100%%/%%d/situated run"),
        ("/a $x/situated", ":\"/a $x/situated\" run"),
        ("/q\"uo'te\\/situated", "\"/q\\\"uo'te\\\\/situated\" run"),
        ("/semi;/#/situated", "\"/semi;/#/situated\" run"),
    ] {
        let rendered = exec(&launch(path, &[]));
        assert!(rendered.starts_with(written), "{rendered}");
        let text = service(&launch(path, &[]), "1").unwrap();
        assert_eq!(program(&text, Path::new("/home/me")), Some(path.into()), "{rendered}");
    }
    assert_eq!(
        exec(&launch("/s", &[("--data-dir", "/No tes %d $x")])),
        ":/s run --quiet --data-dir \"/No tes %%d $x\""
    );
    assert!(service(&launch("/new\nline", &[]), "1").is_err());
    assert_eq!(
        program("ExecStart=-%h/.cargo/bin/situated run", Path::new("/h")),
        Some("/h/.cargo/bin/situated".into())
    );
    assert_eq!(program("[Service]\n", Path::new("/h")), None);
}

#[test]
fn drop_ins_are_known_again_and_hold_what_is_needed() {
    let with = network(&["[context] anthropic".to_owned()]);
    assert!(with.contains("RestrictAddressFamilies=AF_INET AF_INET6\n") && with.contains("[context] anthropic"));
    let elsewhere = paths(&["/mnt/in dex %".into()], true).unwrap().unwrap();
    assert!(elsewhere.ends_with("ReadWritePaths=\"-/mnt/in dex %%\"\nPrivateTmp=no\n"), "{elsewhere}");
    assert_eq!(paths(&[], false), Ok(None));
    let shown = keys();
    let hidden = shown.lines().next_back().unwrap();
    assert!(shown.contains("[Service]\nInaccessiblePaths=\nInaccessiblePaths=-%h/.ssh -%h/.aws "), "{shown}");
    assert!(hidden.ends_with(" -%h/.mozilla -%h/.config/google-chrome -%h/.config/chromium"), "{hidden}");
    for store in KEY_STORES {
        assert!(TEMPLATE.contains(&format!("-{store}")) && !hidden.contains(store), "{store}: {hidden}");
    }
    for text in [&with, &elsewhere, &shown, &strict(true), &strict(false)] {
        assert!(is_our_drop_in(text), "{text}");
    }
    assert!(!is_our_drop_in("[Service]\nNice=5\n"));
    assert!(strict(false).contains("PrivateNetwork=yes") && !strict(true).contains("PrivateNetwork"));
}

#[test]
fn the_folder_that_the_unit_opens_is_made_before() {
    let opened: Vec<&str> = TEMPLATE.lines().filter_map(|line| line.strip_prefix("ReadWritePaths=-")).collect();
    let made = format!("ExecStartPre=-+/bin/mkdir -p -m 0700 {}", opened.join(" "));
    assert!(!opened.is_empty() && TEMPLATE.lines().any(|line| line == made), "{made}");
}

#[test]
fn a_unit_has_threads_for_many_vaults() {
    let threads = TEMPLATE.lines().find_map(|line| line.strip_prefix("TasksMax=")?.parse::<usize>().ok());
    // Beyond the limit the daemon cannot start the thread of a vault, and ends.
    assert!(threads.is_some_and(|threads| threads >= 100 * 12), "{threads:?}");
}

#[test]
fn the_trial_has_the_lines_that_could_fail() {
    let trial = trial(false);
    for line in ["PrivateUsers=yes", "PrivateDevices=yes", "CapabilityBoundingSet=", "PrivateNetwork=yes"] {
        assert!(trial.iter().any(|property| property == line), "{trial:?}");
    }
    assert!(!trial.iter().any(|property| property.contains('%') || property.starts_with('#')), "{trial:?}");
}
