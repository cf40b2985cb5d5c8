use super::*;

fn launch(program: &str, options: &[(&'static str, &str)]) -> Launch {
    Launch {
        program: program.into(),
        options: options.iter().map(|(option, path)| (*option, PathBuf::from(path))).collect(),
    }
}

#[test]
fn program_options_user_and_version_take_their_places() {
    let launch =
        launch(r"C:\Users\Jürgen & Söhne\situated.exe", &[("--config", r"D:\my notes\c.toml"), ("--data-dir", r"D:\")]);
    let text = task(&launch, "S-1-5-21-7-8-9-1001", "9.8.7");
    assert_eq!(version(&text).as_deref(), Some("9.8.7"));
    assert_eq!(program(&text), Some(launch.program));
    assert!(text.is_ascii());
    assert!(
        text.contains(r#"<Arguments>run --quiet --config "D:\my notes\c.toml" --data-dir "D:\\"</Arguments>"#),
        "{text}"
    );
    assert_eq!(text.matches("<UserId>S-1-5-21-7-8-9-1001</UserId>").count(), 2);
    // Nothing but what was to be replaced is another.
    let same = TEMPLATE.lines().zip(text.lines()).filter(|(template, line)| template == line).count();
    assert_eq!((TEMPLATE.lines().count() - same, TEMPLATE.lines().count()), (5, text.lines().count()));
    roxmltree::Document::parse(&text).unwrap();
}

#[test]
fn what_is_no_task_of_ours_has_no_version() {
    assert_eq!((version("<Task/>"), program("<Task/>")), (None, None));
    assert_eq!(unescaped("a &amp; b &#228;&#x; c & d"), "a & b ä c & d");
}
