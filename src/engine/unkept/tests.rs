use super::*;
use crate::testing::{Bench, key_of, path, report};

#[test]
fn a_context_waits_for_its_note_alone_wherever_that_is_now() {
    let bench = Bench::new(|_| {});
    let record = bench.save("a.md", &report(2));
    let (chunk, other) = (key_of(&record.chunks[0]), key_of(&record.chunks[1]));
    let context = bench.context_for(&record, &record.chunks[0]);
    let vault = Path::new("v");
    for public in [true, false] {
        let unkept = Unkept::default();
        let put = || unkept.put(vault, &path("a.md"), chunk, context.clone(), public);
        put();
        let take = |name: &str, key, gone: bool| unkept.take(vault, &path(name), key, |_| gone).is_some();
        assert!(!take("a.md", other, true) && !take("b.md", chunk, false), "a copy of the note gets its own");
        assert_eq!(take("b.md", chunk, true), public, "where it was before is gone");
        put();
        assert!(take("a.md", chunk, false) && !take("a.md", chunk, false), "and once");
    }
}

#[test]
fn a_context_that_nobody_asks_for_any_more_is_kept_when_it_can_be() {
    let mut bench = Bench::new(|_| {});
    let record = bench.save("a.md", &report(2));
    let (key, context) = (key_of(&record.chunks[0]), bench.context_for(&record, &record.chunks[0]));
    let unkept = bench.shared.runtime("").writer.as_ref().unwrap().author.unkept.clone();
    unkept.put(&bench.pipeline().root, &path("a.md"), key, context.clone(), true);
    bench.indexer.go_on();
    assert_eq!(bench.pipeline().store.archived(key).unwrap(), None, "the writer keeps it before it asks");
    bench.save("a.md", &report(2).replace("rollout", "launch"));
    bench.indexer.go_on();
    assert_eq!(bench.pipeline().store.archived(key).unwrap(), Some(context));
    assert_eq!(unkept.take_unwanted(&bench.pipeline().root, |_, _| false).len(), 0);
}
