use super::*;

fn path(name: &str) -> VaultPath {
    VaultPath::parse(name).unwrap()
}

fn save(name: &str) -> Task {
    Task { again: false, ..Task::again(path(name)) }
}

fn done(queue: &mut WorkQueue) -> Vec<Vec<u64>> {
    queue.take_finished().into_iter().map(|progress| progress.jobs).collect()
}

#[test]
fn a_look_that_is_overtaken_by_a_worker_is_not_done_until_the_newer_one_is() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], vec![save("a.md")], 0, false);
    let (first, _) = queue.next(Brake::Off).unwrap();
    queue.enqueue_for(vec![2], vec![save("a.md")], 0, false);
    let (second, _) = queue.next(Brake::Off).unwrap();
    assert!(queue.landed(&path("a.md"), first).is_none(), "what was read before the second save does not count");
    assert_eq!(done(&mut queue), Vec::<Vec<u64>>::new());
    let (_, waiting) = queue.landed(&path("a.md"), second).unwrap();
    queue.settle(&waiting, Settled::Changed);
    assert_eq!(done(&mut queue), [vec![1], vec![2]]);
}

#[test]
fn a_save_that_is_decided_here_settles_who_waited_for_the_worker() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], vec![Task::rebuild(path("a.md"), 7)], 0, false);
    let (ticket, _) = queue.next(Brake::Off).unwrap();
    let mut here = save("a.md");
    let waiting = queue.overtake(&mut here);
    assert_eq!((here.trigger, here.since, here.again), (Trigger::Rebuild, Some(7), true), "the rebuild is not lost");
    assert_eq!(done(&mut queue), Vec::<Vec<u64>>::new());
    queue.settle(&waiting, Settled::Changed);
    assert!(queue.landed(&path("a.md"), ticket).is_none());
    assert_eq!(done(&mut queue), [vec![1]]);
}

#[test]
fn what_changed_while_it_was_read_is_waited_for() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], vec![save("a.md"), save("b.md")], 0, false);
    for name in ["a.md", "b.md"] {
        let (ticket, _) = queue.next(Brake::Off).unwrap();
        let (task, waiting) = queue.landed(&path(name), ticket).unwrap();
        queue.put_off(task, waiting);
    }
    assert_eq!((queue.under_way(), done(&mut queue).len()), (0, 0));
    let mut again = save("a.md");
    let waiting = queue.overtake(&mut again);
    queue.settle(&waiting, Settled::Changed);
    assert_eq!(done(&mut queue).len(), 0);
    queue.settle_put_off(|looked_at| *looked_at == path("b.md"));
    assert_eq!(done(&mut queue), [vec![1]]);
}

#[test]
fn who_waits_for_a_note_that_moves_waits_for_it_under_its_new_name() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], vec![save("a.md")], 0, false);
    let (ticket, _) = queue.next(Brake::Off).unwrap();
    queue.moved(&path("a.md"), &path("b.md"));
    assert!(queue.landed(&path("a.md"), ticket).is_none());
    assert_eq!(done(&mut queue).len(), 0);
    let mut moved = Task { moved_from: Some(path("a.md")), ..save("b.md") };
    let waiting = queue.overtake(&mut moved);
    queue.settle(&waiting, Settled::Changed);
    assert_eq!((done(&mut queue), moved.moved_from), (vec![vec![1]], Some(path("a.md"))));
}

#[test]
fn another_note_that_was_taken_for_one_that_moved_is_one_of_its_own() {
    let mut queue = WorkQueue::default();
    let from = |name: &str| Task { moved_from: Some(path("a.md")), ..save(name) };
    queue.enqueue_for(vec![1], vec![from("b.md"), from("c.md")], 0, false);
    let (ticket, _) = queue.next(Brake::Off).unwrap();
    assert_eq!(queue.moved(&path("a.md"), &path("d.md")), [path("b.md")]);
    assert!(queue.landed(&path("b.md"), ticket).is_none(), "it was read as the one that moved");
    let mut again = save("b.md");
    let waiting = queue.overtake(&mut again);
    queue.settle(&waiting, Settled::Changed);
    let (_, queued) = queue.next(Brake::Off).unwrap();
    assert_eq!((again, queued), (save("b.md"), save("c.md")));
}

#[test]
fn a_note_that_goes_is_settled_and_a_cancelled_batch_is_forgotten() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], vec![save("a.md")], 0, false);
    queue.enqueue_for(vec![2], (0..20).map(|n| save(&format!("{n}.md"))).collect(), 0, true);
    let (ticket, task) = queue.next(Brake::Off).unwrap();
    assert_eq!(task.path, path("a.md"), "a few go before work in bulk");
    let waiting = queue.forget(&path("a.md"));
    queue.settle(&waiting, Settled::Changed);
    assert!(queue.landed(&path("a.md"), ticket).is_none());
    assert_eq!(queue.take_finished(), [Progress { jobs: vec![1], done: 1, changed: 1 }]);
    queue.next(Brake::Off).unwrap();
    assert_eq!(queue.take_over(|job| job == 2), [Progress { jobs: vec![2], done: 0, changed: 0 }]);
    assert_eq!((queue.queued(), queue.has_no_batch(), queue.is_idle()), (0, true, false));
}

#[test]
fn on_battery_what_is_made_anew_waits_and_a_save_does_not() {
    let mut queue = WorkQueue::default();
    queue.enqueue_for(vec![1], (0..20).map(|n| Task::rebuild(path(&format!("{n}.md")), 0)).collect(), 0, true);
    assert!(queue.next(Brake::Bulk).is_none() && queue.is_kept(Brake::Bulk));
    queue.enqueue_for(vec![], vec![save("a.md")], 0, false);
    assert_eq!(queue.next(Brake::All).unwrap().1.path, path("a.md"));
    queue.enqueue_for(vec![], (0..20).map(|n| save(&format!("new{n}.md"))).collect(), 0, true);
    assert_eq!(queue.next(Brake::Bulk).unwrap().1.path, path("new0.md"));
    assert!(queue.next(Brake::All).is_none());
}

#[test]
fn it_is_known_whether_new_notes_are_read() {
    let mut queue = WorkQueue::default();
    queue.enqueue(vec![Task::again(path("a.md")), Task::rebuild(path("b.md"), 7)], true);
    assert!(!queue.has_saves());
    queue.enqueue(vec![save("c.md")], false);
    let (ticket, _) = queue.next(Brake::Off).unwrap();
    assert!(queue.has_saves(), "until it is settled");
    let (_, waiting) = queue.landed(&path("c.md"), ticket).unwrap();
    queue.settle(&waiting, Settled::Changed);
    queue.take_finished();
    assert!(!queue.has_saves());
}
