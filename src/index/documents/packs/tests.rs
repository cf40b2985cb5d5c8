use proptest::prelude::*;

use super::*;
use crate::testing::chunk;

fn of(texts: &[(String, String)]) -> Vec<ChunkDoc> {
    (0u32..).zip(texts).map(|(at, (text, context))| chunk(1, at, text, context)).collect()
}

proptest! {
    #[test]
    fn what_is_unpacked_is_what_was_packed(texts in prop::collection::vec((".{0,300}", ".{0,40}"), 1..12)) {
        let chunks = of(&texts);
        let mut packer = Packer::default();
        for range in ranges(&chunks) {
            let unpacked = Unpacked::new(&packer.pack(&chunks[range.clone()]).unwrap()).unwrap();
            prop_assert_eq!(unpacked.count(), range.len());
            for (at, (text, context)) in texts[range].iter().enumerate() {
                prop_assert_eq!(unpacked.get(at), Some((text.as_str(), context.as_str())));
            }
            prop_assert_eq!(unpacked.get(unpacked.count()), None);
        }
    }

    #[test]
    fn bytes_that_are_no_pack_give_nothing_or_something_and_never_a_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        harmed in any::<prop::sample::Index>(),
    ) {
        let read = |bytes: &[u8]| Unpacked::new(bytes).map(|unpacked| unpacked.get(0).map(|(text, _)| text.len()));
        read(&bytes);
        bytes = Packer::default().pack(&of(&[("a text\n".repeat(90), String::new())])).unwrap();
        let at = harmed.index(bytes.len());
        bytes[at] ^= 0x41;
        read(&bytes);
        read(&bytes[..at]);
    }
}

#[test]
fn packs_are_full_or_the_last() {
    let chunks = of(&vec![("x".repeat(FULL / 4), String::new()); 10]);
    assert_eq!(ranges(&chunks), [0..4, 4..8, 8..10]);
    assert_eq!(ranges(&of(&[("x".repeat(3 * FULL), String::new()), (String::new(), String::new())])), [0..1, 1..2]);
    assert!(ranges(&[]).is_empty());
}

#[test]
fn what_cannot_be_made_smaller_is_packed_all_the_same() {
    // A generator of pseudo-random numbers by Marsaglia ("Xorshift RNGs", 2003) makes what has no pattern.
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from_u32(0x4E00 + (state % 20_000) as u32).unwrap()
    };
    let text: String = (0..40_000).map(|_| next()).collect();
    let unpacked = Unpacked::new(&Packer::default().pack(&of(&[(text.clone(), String::new())])).unwrap()).unwrap();
    assert_eq!(unpacked.get(0), Some((text.as_str(), "")));
}
