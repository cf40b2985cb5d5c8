use proptest::prelude::*;

use super::*;
use crate::fingerprint::{ContextKey, text_hash};
use crate::store::tests::{note, paid, section};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        use std::fmt::Write;
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The bytes of every record type. If one of them has to change, that is a new version with shapes of its
/// own, and these bytes must go on being read.
#[test]
fn golden_bytes() {
    let (mut record, contexts) = note("a.md", 2, 0);
    (record.no, record.seq) = (7, 300);
    record.kind = Some("daily".into());
    let key = ContextKey([5; 16]);
    let one = encode_contexts([&contexts[1]]).unwrap();
    let cases = [
        ("note", encode_note(&record).unwrap(), NOTE),
        ("contexts", encode_contexts(&contexts).unwrap(), CONTEXTS),
        ("counters", encode_counters(Counters { seq: 70_000, next_no: 9 }).unwrap(), COUNTERS),
        ("entry", encode_entry(&v1::Entry::Context { keys: vec![key], record: vec![1, 2] }).unwrap(), ENTRY),
        ("alias", encode_entry(&v1::Entry::Alias { key, of: [6; 16] }).unwrap(), ALIAS),
    ];
    for (what, bytes, golden) in &cases {
        assert_eq!(hex(bytes), *golden, "the stored shape of {what} changed");
    }
    assert_eq!(decode_note(b"a.md", &cases[0].1), Ok(record));
    assert_eq!(decode_contexts(&cases[1].1), Ok(contexts.clone()));
    assert_eq!(decode_context(&one).as_ref(), Ok(&contexts[1]));
    assert_eq!(decode_counters(&cases[2].1), Ok(Counters { seq: 70_000, next_no: 9 }));
    assert!(decode_context(&cases[1].1).is_err(), "two are not one");
}

const NOTE: &str = "0181eed87330ed4f0f07fb2c010c090e090b0000000000000000000000000000000000000000000000000000000000000000\
    0000000d5469746c65206f6620612e6d640002037461670a6e65737465642f74616701056461696c7900127b227479706522\
    3a226d656574696e67227d00000103036f646400fc007762d502000000000000000000000000000000000100000000000000\
    00000000000000000000005a00090204506c616e06506172742030e4a76db28481f4e26d6f9adf9a565679f30b0bdaa62ac5\
    8bdf39db43d14574a00001000000000000000000000000000000000104010c01010101010101010101010101010101010101\
    01010101010101010101010101010064be010a0204506c616e065061727420313d1333f7859cb79657e3b6c54b1f2ca5f30b\
    0bdaa62ac58bdf39db43d14574a0010101010101010101010101010101010101010400";
const CONTEXTS: &str = "01e1d18c28a574139a020a74656d706c6174652f31086c6c6d2f746573740200000001000000000000000000\
    00000000000000e4a76db28481f4e26d6f9adf9a56567900000000803ffc007762d500000000010111636f6e\
    74657874206f6620612e6d64203101010101010101010101010101010101013d1333f7859cb79657e3b6c54b\
    1f2ca50006fc3c3c3034fccc577842fc4520955ffccc5ca75ffcf0947e87fc597231df0000403ffc007762d5\
    fb840350fbbc0201fbd204";
const COUNTERS: &str = "01da07dc7d63806fcafc7011010009";
const ENTRY: &str = "01bd1df50138440e08000105050505050505050505050505050505020102";
const ALIAS: &str = "01fb65b433dc0e54c2010505050505050505050505050505050506060606060606060606060606060606";

#[test]
fn every_flipped_bit_is_noticed() {
    let good = encode_contexts([&paid(&[section(1)], text_hash(b"x"), "words")]).unwrap();
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode_contexts(&bad), Err(Damage::Checksum), "bit {bit}");
    }
    for length in 0..good.len() {
        assert!(decode_contexts(&good[..length]).is_err());
    }
}

#[test]
fn an_unknown_version_is_told_from_damage() {
    let mut bytes = encode_counters(Counters::default()).unwrap();
    bytes[0] = 9;
    let sum = checksum(&[&[9], &bytes[HEAD..]]);
    bytes[1..HEAD].copy_from_slice(&sum);
    assert_eq!(decode_counters(&bytes), Err(Damage::Version(9)));
    assert!(is_sealed(&bytes));
}

#[test]
fn what_is_read_as_another_type_is_an_error() {
    let (record, contexts) = note("a.md", 2, 0);
    let (note, contexts) = (encode_note(&record).unwrap(), encode_contexts(&contexts).unwrap());
    assert!(decode_contexts(&note).is_err() && decode_counters(&note).is_err());
    assert!(decode_note(b"a.md", &contexts).is_err() && decode_entry(&contexts).is_err());
    assert!(decode_note(b"../a.md", &note).is_err() && decode_note(b"\xFF", &note).is_err());
}

proptest! {
    #[test]
    fn any_bytes_decode_without_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), sealed: bool) {
        if sealed && bytes.len() >= HEAD {
            // Past the checksum, so that the payload's reader sees the bytes.
            bytes[0] = VERSION;
            let sum = checksum(&[&[VERSION], &bytes[HEAD..]]);
            bytes[1..HEAD].copy_from_slice(&sum);
        }
        let _ = decode_note(b"a.md", &bytes);
        let _ = decode_contexts(&bytes);
        let _ = decode_context(&bytes);
        let _ = decode_counters(&bytes);
        let _ = decode_entry(&bytes);
    }

    #[test]
    fn records_round_trip(title in ".*", tags in proptest::collection::vec(".*", 0..4), no: u32, seq: u64,
                          at: i64, kind in proptest::option::of(".*"), text in ".+", quality in 0f32..=1.0) {
        let (mut record, mut contexts) = note("a.md", 3, 0);
        record.title = title;
        record.tags = tags;
        (record.no, record.seq, record.kind, record.decided.1) = (no, seq, kind, at);
        contexts[1].text = text;
        (contexts[1].quality, contexts[1].written_at, contexts[1].spent.micro_dollars) = (quality, at, None);
        prop_assert_eq!(decode_note(b"a.md", &encode_note(&record).unwrap()), Ok(record));
        prop_assert_eq!(decode_contexts(&encode_contexts(&contexts).unwrap()), Ok(contexts));
    }
}
