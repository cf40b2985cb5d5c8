use super::*;

#[test]
fn quiet_is_waited_for_but_not_for_ever() {
    let start = Instant::now();
    let seconds = |s| start + Duration::from_secs(s);
    let mut due = PendingGraph::new(Weak::new(), start);
    assert_eq!(due.at(None), seconds(2));
    due.last = seconds(10);
    assert_eq!((due.at(None), due.at(Some(&seconds(30)))), (seconds(12), seconds(30)));
    due.last = seconds(100);
    assert_eq!(due.at(Some(&seconds(30))), seconds(60));
    due.waiting.push(mpsc::channel().0);
    assert_eq!(due.at(Some(&seconds(90))), start, "a caller does not wait");
}
