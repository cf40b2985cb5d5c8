use super::*;
use crate::testing::{Bench, key_of, path, report};

#[test]
fn a_context_waits_for_its_note_alone_wherever_that_is_now() {
    let bench = Bench::new(|_| {});
    let record = bench.save("a.md", &report(2));
    let (chunk, other) = (key_of(&record.chunks[0]), key_of(&record.chunks[1]));
    let context = bench.context_for(&record, &record.chunks[0]);
    let (vault, by) = (Path::new("v"), context.generation.as_str());
    for public in [true, false] {
        let unkept = Unkept::default();
        let put = || unkept.put(vault, &path("a.md"), chunk, context.clone(), public);
        put();
        let take = |name: &str, key, gone: bool| unkept.take(vault, &path(name), (key, by), |_| gone).is_some();
        assert!(!take("a.md", other, true) && !take("b.md", chunk, false), "a copy of the note gets its own");
        assert_eq!(take("b.md", chunk, true), public, "where it was before is gone");
        put();
        assert!(take("a.md", chunk, false) && !take("a.md", chunk, false), "and once");
    }
}
