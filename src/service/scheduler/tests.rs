use super::*;

#[test]
fn what_the_scheduler_lists() {
    let line = |result: &str| {
        format!(
            "\r\n\"PC\",\"\\situated\",\"N/A\",\"Wird ausgeführt\",\"Nur interaktiv\",\"24.11.2026 07:00:00\",\"{result}\",\"PC\\me\"\r\n"
        )
    };
    let failed = |code| State { loaded: true, running: false, last_exit: Some(code) };
    for (result, state) in [
        ("267009", State { loaded: true, running: true, last_exit: None }),
        ("267011", State { loaded: true, running: false, last_exit: None }),
        ("0", failed(0)),
        ("78", failed(78)),
        ("-1073741510", failed(0xC000_013A)),
        ("none", State { loaded: true, ..State::default() }),
    ] {
        assert_eq!(listed(&line(result)), state, "{result}");
    }
    assert_eq!(failed(0).failure(), None);
    assert!(failed(78).failure().unwrap().contains("situated config check"));
    assert_eq!(failed(0xC000_013A).failure().unwrap(), "exit code 0xc000013a");
}
