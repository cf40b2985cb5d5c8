use proptest::prelude::*;

use super::*;
use crate::tests::{free, note, paid, section};
use context::Making;
use context::plan::PendingContext;
use context::prompt::Form;
use context::quality::Scores;
use note::fingerprint::{ContextKey, InputHash, chunk_id, text_hash};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        use std::fmt::Write;
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
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
        ("note", encode_note(&record).unwrap(), NOTE_2),
        ("contexts", encode_contexts_of(&record.chunks, &contexts).unwrap(), CONTEXTS_2),
        ("archived contexts", encode_contexts(&contexts).unwrap(), CONTEXTS),
        ("counters", encode_counters(Counters { seq: 70_000, next_no: 9 }).unwrap(), COUNTERS),
        ("value", seal(&"{\"at\":7}").unwrap(), VALUE),
        ("entry", encode_entry(&v1::Entry::Context { keys: vec![key], record: vec![1, 2] }).unwrap(), ENTRY),
        ("alias", encode_entry(&v1::Entry::Alias { key, of: [6; 16] }).unwrap(), ALIAS),
    ];
    for (what, bytes, golden) in &cases {
        assert_eq!(hex(bytes), *golden, "the stored shape of {what} changed");
    }
    assert_eq!(decode_note(b"a.md", &cases[0].1).as_ref(), Ok(&record));
    assert_eq!(decode_note(b"a.md", &unhex(NOTE)).as_ref(), Ok(&record), "as version 1 wrote it");
    for stored in [&cases[1].1, &unhex(CONTEXTS)] {
        assert_eq!(decode_contexts_of(&record.chunks, stored).as_ref(), Ok(&contexts));
        assert_eq!(decode_paid(2, stored), Ok(vec![(1, contexts[1].clone())]));
        assert!(decode_contexts_of(&record.chunks[..1], stored).is_err() && decode_paid(3, stored).is_err());
    }
    assert_eq!(decode_contexts(&cases[2].1), Ok(contexts.clone()));
    assert_eq!(decode_context(&one).as_ref(), Ok(&contexts[1]));
    assert_eq!(decode_counters(&cases[3].1), Ok(Counters { seq: 70_000, next_no: 9 }));
    assert_eq!(read_first::<String>(&cases[4].1).as_deref(), Ok("{\"at\":7}"));
    assert!(record.chunks[1].due.is_some() && contexts[1].making.is_some(), "the goldens hold every field");
    assert!(decode_context(&cases[2].1).is_err(), "two are not one");
}

const NOTE_2: &str = "02471e33ee2ffaf19c07fb2c010c090e090b00000000000000000000000000000000000000000000000000000000000\
    000000000000d5469746c65206f6620612e6d640002037461670a6e65737465642f74616701056461696c7900127b227479\
    7065223a226d656574696e67227d00000103036f646400fc007762d50002010000000000000000000000000000000040e4a\
    76db28481f4e26d6f9adf9a565679f30b0bdaa62ac58bdf39db43d14574a000000000000000000000000000000000000000\
    000000000000000000000000000100005a0009000204506c616e06506172742030000104010c00010101010101010101010\
    1010101010101403d1333f7859cb79657e3b6c54b1f2ca5f30b0bdaa62ac58bdf39db43d14574a001010101010101010101\
    0101010101010101010101010101010101010101010101000a5afcf8ffffff09010106506172742031010104000100fc007\
    762d501";
const CONTEXTS_2: &str = "0211793e8b1345702c010a74656d706c6174652f31fc007762d502010001086c6c6d2f7465737401010011636f6e746\
    57874206f6620612e6d64203101010101010101010101010101010101013d1333f7859cb79657e3b6c54b1f2ca50006fc3c\
    3c3034fccc577842fc4520955ffccc5ca75ffcf0947e87fc597231df0000403ffc007762d5fb840350fbbc0201fbd204010\
    1010002fb84030000803f000000000000003f0000000000000000000000000000000000000000";

const NOTE: &str = "01df0d24d59044fbf507fb2c010c090e090b000000000000000000000000000000000000000000000000000000000000000\
    00000000d5469746c65206f6620612e6d640002037461670a6e65737465642f74616701056461696c7900127b2274797065\
    223a226d656574696e67227d00000103036f646400fc007762d502000000000000000000000000000000000100000000000\
    00000000000000000000000005a00090204506c616e06506172742030e4a76db28481f4e26d6f9adf9a565679f30b0bdaa6\
    2ac58bdf39db43d14574a00001000000000000000000000000000000000104010c000101010101010101010101010101010\
    101010101010101010101010101010101010064be010a0204506c616e065061727420313d1333f7859cb79657e3b6c54b1f\
    2ca5f30b0bdaa62ac58bdf39db43d14574a00101010101010101010101010101010101010104000100fc007762d501";
const CONTEXTS: &str = "017f7330ca87eaa769020a74656d706c6174652f31086c6c6d2f74657374020000000100000000000000000000000000000\
    000e4a76db28481f4e26d6f9adf9a56567900000000803ffc007762d50000000000010111636f6e74657874206f6620612e\
    6d64203101010101010101010101010101010101013d1333f7859cb79657e3b6c54b1f2ca50006fc3c3c3034fccc577842f\
    c4520955ffccc5ca75ffcf0947e87fc597231df0000403ffc007762d5fb840350fbbc0201fbd2040101010002fb84030000\
    803f000000000000003f0000000000000000000000000000000000000000";
const COUNTERS: &str = "01da07dc7d63806fcafc7011010009";
const VALUE: &str = "01e04db1e81da9daa0087b226174223a377d";
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
    fn any_bytes_decode_without_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
                                        sealed in proptest::option::of(1..=NOTES)) {
        if let Some(version) = sealed.filter(|_| bytes.len() >= HEAD) {
            // Past the checksum, so that the payload's reader sees the bytes.
            bytes[0] = version;
            let sum = checksum(&[&[version], &bytes[HEAD..]]);
            bytes[1..HEAD].copy_from_slice(&sum);
        }
        let _ = decode_contexts_of(&note("a.md", 3, 0).0.chunks, &bytes);
        let _ = decode_paid(3, &bytes);
        let _ = decode_note(b"a.md", &bytes);
        let _ = decode_contexts(&bytes);
        let _ = decode_context(&bytes);
        let _ = decode_counters(&bytes);
        let _ = decode_entry(&bytes);
        let _ = read_first::<String>(&bytes);
    }

    #[test]
    fn records_round_trip(title in ".*", tags in proptest::collection::vec(".*", 0..4), no: u32, seq: u64,
                          at: i64, kind in proptest::option::of(".*"), text in ".+", quality in 0f32..=1.0,
                          due in proptest::option::of((0..16u8, any::<i64>(), any::<u8>())),
                          making in proptest::option::of((0..3u8, any::<[bool; 2]>(), any::<u8>(), any::<u32>(),
                                                          proptest::array::uniform8(0f32..=1.0)))) {
        let (mut record, mut contexts) = note("a.md", 3, 0);
        record.title = title;
        record.tags = tags;
        (record.no, record.seq, record.kind, record.decided.1) = (no, seq, kind, at);
        contexts[1].text = text;
        record.chunks[2].due = due.map(|(reason, since, tries)| PendingContext { reason: v1::reason(reason).unwrap(), since, tries });
        contexts[1].making = making.map(|(form, [cut, weak], tries, took_ms, s)| Making {
            form: [Form::Note, Form::Chunk, Form::Simple][usize::from(form)],
            cut,
            weak,
            tries,
            took_ms,
            scores: Scores {
                length: s[0],
                grounding: s[1],
                novelty: s[2],
                specificity: s[3],
                opening: s[4],
                numbers: s[5],
                originality: s[6],
                coherence: s[7],
            },
        });
        (contexts[1].quality, contexts[1].written_at, contexts[1].spent.micro_dollars) = (quality, at, None);
        let bytes = encode_contexts_of(&record.chunks, &contexts).unwrap();
        let decoded = decode_contexts_of(&record.chunks, &bytes);
        prop_assert_eq!(decoded.as_ref(), Ok(&contexts));
        prop_assert_eq!(decode_note(b"a.md", &encode_note(&record).unwrap()), Ok(record));
        prop_assert_eq!(decode_contexts(&encode_contexts(&contexts).unwrap()), Ok(contexts));
    }

    #[test]
    fn places_of_chunks_round_trip(places in proptest::collection::vec(
        (any::<[u32; 2]>(), any::<[u32; 2]>(), 0u32..3, 0u8..4, "[ab]{0,2}", any::<bool>(), 0usize..3), 1..6)) {
        let (mut record, _) = note("a.md", 1, 0);
        let chunk = record.chunks.remove(0);
        let mut contexts = Vec::new();
        for (span, lines, ordinal, sections, heading, derived, inputs) in places {
            let keys: Vec<_> = (0..sections).map(section).collect();
            let id = keys.first().filter(|_| derived).map(|key| chunk_id("a.md", *key, ordinal));
            let of_note = ContextRecord { sections: keys.clone(), written_for: chunk.hash, ..free(&[], chunk.hash) };
            contexts.push(ContextRecord { written_at: i64::from(ordinal), ..of_note });
            record.chunks.push(ChunkRecord {
                id: id.unwrap_or(chunk.id),
                keys,
                ordinal,
                span: span.into(),
                lines: lines.into(),
                heading_path: heading.chars().map(String::from).collect(),
                inputs: vec![InputHash([7; 16]); inputs],
                ..chunk.clone()
            });
        }
        let bytes = encode_contexts_of(&record.chunks, &contexts).unwrap();
        prop_assert_eq!(decode_paid(record.chunks.len(), &bytes), Ok(vec![]));
        let decoded = decode_contexts_of(&record.chunks, &bytes);
        prop_assert_eq!(decoded.as_ref(), Ok(&contexts));
        prop_assert_eq!(decode_note(b"a.md", &encode_note(&record).unwrap()), Ok(record));
    }
}
