use super::*;

#[test]
fn programs_say_how_they_ended() {
    let ran = run(Command::new("sh").args(["-c", "echo out; echo 'no bus' >&2; exit 3"])).unwrap();
    assert_eq!((ran.code, ran.out.as_str(), ran.complaint().as_str()), (Some(3), "out\n", "no bus"));
    assert_eq!(run(Command::new("sh").args(["-c", "exit 4"])).unwrap().complaint(), "exit code 4");
    let slow = run_within(Command::new("sleep").arg("60"), Duration::from_millis(50)).unwrap_err();
    assert_eq!(slow.kind(), io::ErrorKind::TimedOut);
    assert!(run(&mut Command::new("/nonexistent/program")).is_err());
}
