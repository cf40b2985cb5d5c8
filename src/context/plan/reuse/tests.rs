use super::*;

const THERE: Source = Source { here: false, removed: false, gone: false, private: false };

#[test]
fn a_context_stays_with_its_note_and_follows_what_became_of_it() {
    let here = Source { here: true, ..THERE };
    let gone = Source { gone: true, ..THERE };
    let hidden = |source: Source| Source { private: true, ..source };
    let removed = |source: Source| Source { removed: true, ..source };
    for (source, to_public, to_private) in [
        (THERE, false, false),
        (here, true, true),
        (hidden(here), true, true),
        (removed(here), true, true),
        (removed(hidden(here)), false, true),
        (gone, true, true),
        (removed(gone), true, true),
        (hidden(gone), false, true),
        (removed(hidden(gone)), false, true),
        // A note that was removed and is back: its file is there.
        (removed(THERE), false, false),
    ] {
        let may = |private| may_reuse(&[source], private);
        assert_eq!((may(false), may(true)), (to_public, to_private), "{source:?}");
    }
    assert!(may_reuse(&[hidden(gone), here], false), "one of several is enough");
    assert!(!may_reuse(&[], false) && !may_reuse(&[], true));
}

#[test]
fn a_context_without_a_note_is_adopted_where_nobody_else_can_be_meant() {
    let nothing = Unknown { elsewhere: false, shown: false, was_there: false, given: false };
    for (context, to_public, to_private) in [
        (nothing, false, true),
        (Unknown { shown: true, ..nothing }, true, true),
        (Unknown { was_there: true, ..nothing }, true, true),
        (Unknown { given: true, ..nothing }, true, true),
        (Unknown { elsewhere: true, shown: true, was_there: true, given: true }, false, false),
    ] {
        assert_eq!((may_adopt(context, false), may_adopt(context, true)), (to_public, to_private), "{context:?}");
    }
}
