use super::super::tests::tables;
use super::*;

use tables::{Form, Kind, StaticTable, Tensor, WIDTH};

const SUBJECTS: &[&[&str]] = &[&["bread", "flour"], &["sea", "tide"]];

fn written(kind: Kind) -> StaticTable {
    StaticTable::of(SUBJECTS, Form::WordPiece, kind)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn every_type_of_numbers_gives_the_same_directions() {
    let exact = Table::read(&written(Kind::F32).file()).expect("a table");
    assert_eq!((exact.tokens(), exact.dimensions()), (5, WIDTH));
    let [bread, flour, sea] = [[1], [2], [3]].map(|token| exact.mean(&token));
    assert!(dot(&bread, &flour) > 0.9 && dot(&bread, &sea) < 0.1);
    // Half of a row's direction is its first number, for it is one and the other a quarter.
    assert!((bread[0] - 1.0 / 1.0625_f32.sqrt()).abs() < 0.01 && (dot(&bread, &bread) - 1.0).abs() < 1e-5);
    for kind in [Kind::F16, Kind::Bf16, Kind::I8] {
        let table = Table::read(&written(kind).file()).expect("a table");
        for tokens in [&[1][..], &[1, 2], &[1, 3, 4, 4]] {
            assert!(dot(&table.mean(tokens), &exact.mean(tokens)) > 0.9999, "{kind:?} {tokens:?}");
        }
    }
}

#[test]
fn a_mean_counts_every_token_and_leaves_out_what_has_no_vector() {
    let table = Table::read(&written(Kind::F32).file()).expect("a table");
    assert_eq!(table.mean(&[1, 3]), table.mean(&[3, 1, 3, 1]));
    assert!(dot(&table.mean(&[1, 1, 3]), &table.mean(&[1])) > dot(&table.mean(&[1, 3]), &table.mean(&[1])));
    assert_eq!(table.mean(&[1, 5, u32::MAX]), table.mean(&[1]));
    assert_eq!(table.mean(&[]), vec![0.0; WIDTH]);
}

#[test]
fn tokens_may_share_rows_and_have_weights() {
    let mut table = written(Kind::F16);
    // Tokens 0 to 4 share two of its rows.
    table.tensors.push(Tensor::mapping(&[0, 1, 1, 3, 3]));
    table.tensors.push(Tensor::weights(&[1.0, 1.0, 3.0, 1.0, 0.0]));
    let table = Table::read(&table.file()).expect("a table");
    assert!(dot(&table.mean(&[1]), &table.mean(&[2])) > 0.9999, "a weight says nothing of a token alone");
    let bread = table.mean(&[1]);
    assert!(dot(&table.mean(&[2, 3]), &bread) > dot(&table.mean(&[1, 3]), &bread) + 0.1);
    assert_eq!(table.mean(&[4]), vec![0.0; WIDTH], "a weight of zero leaves nothing");
}

#[test]
fn half_precision_is_read_to_the_bit() {
    let cases = [
        (0x0000_u16, 0.0_f32),
        (0x8000, -0.0),
        (0x0001, 5.960_464_5e-8),
        (0x03ff, 6.097_555e-5),
        (0x0400, 6.103_515_6e-5),
        (0x3555, 0.333_251_95),
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x7bff, 65504.0),
        (0x7c00, f32::INFINITY),
        (0xfc00, f32::NEG_INFINITY),
    ];
    let one = |bits: u16| Number::F16.read(&bits.to_le_bytes())[0];
    for (bits, expected) in cases {
        assert_eq!(one(bits).to_bits(), expected.to_bits(), "{bits:04x}");
    }
    assert!(one(0x7e00).is_nan());
    for bits in (0..0x7c00).step_by(7) {
        assert_eq!(tables::half(one(bits)), bits, "written as it is read");
    }
}

#[test]
fn what_is_no_table_is_refused_in_words() {
    let row = |width: usize| vec![vec![0.5; width]; 5];
    let with = |change: &dyn Fn(&mut StaticTable)| {
        let mut table = written(Kind::F32);
        change(&mut table);
        Table::read(&table.file()).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let cases: [(&str, &dyn Fn(&mut StaticTable), &str); 14] = [
        ("no rows", &|t| t.tensors.clear(), "tensor `embeddings`: is not there"),
        (
            "no numbers",
            &|t| t.tensors[0].dtype = "BOOL",
            "`embeddings`: is BOOL, and F32, F16, BF16 and I8 can be read",
        ),
        ("cut", &|t| t.tensors[0].bytes.truncate(1279), "`embeddings`: 1279 bytes for the shape [5, 64]"),
        ("one axis", &|t| t.tensors[0].shape = vec![320], "has the shape [320], and a table has rows"),
        (
            "narrow",
            &|t| t.tensors[0] = Tensor::rows(&row(63), Kind::I8),
            "rows of 63 numbers, and 64 to 1024 can be used",
        ),
        ("wide", &|t| t.tensors[0] = Tensor::rows(&row(1025), Kind::F16), "rows of 1025 numbers"),
        (
            "empty",
            &|t| t.tensors[0] = Tensor { shape: vec![0, 64], bytes: vec![], ..t.tensors[0].clone() },
            "nothing but zeros",
        ),
        ("zeros", &|t| t.tensors[0].bytes.fill(0), "nothing but zeros"),
        ("NaN", &|t| t.tensors[0].bytes[4 * 64 * 3 + 8..][..4].fill(0xff), "row 3 of 5 holds what is not a number"),
        (
            "weights",
            &|t| t.tensors.push(Tensor::weights(&[1.0; 4])),
            "`weights`: has the shape [4], and there are 5 tokens",
        ),
        (
            "NaN weight",
            &|t| t.tensors.push(Tensor::weights(&[1.0, f32::NAN, 1.0, 1.0, 1.0])),
            "that of token 1 is not a number",
        ),
        (
            "row beyond",
            &|t| t.tensors.push(Tensor::mapping(&[0, 1, 5])),
            "token 2 has a row that is not there: there are 5",
        ),
        ("row below", &|t| t.tensors.push(Tensor::mapping(&[-1])), "token 0 has a row that is not there"),
        (
            "a mapping of numbers",
            &|t| t.tensors.push(Tensor { name: "mapping", ..Tensor::weights(&[1.0]) }),
            "`mapping`: is F32, and I64, I32, U64 and U32 can be read",
        ),
    ];
    for (name, change, expected) in cases {
        let error = with(change);
        assert!(error.contains(expected), "{name}: {error:?}");
    }
    assert!(matches!(Table::read(b"<html>not found</html>"), Err(ModelError::Format(_))));
}

#[test]
fn numbers_beyond_all_numbers_say_nothing() {
    let mut table = written(Kind::F32);
    table.tensors.push(Tensor::weights(&[f32::MAX; 5]));
    let table = Table::read(&table.file()).expect("a table");
    assert_eq!(table.mean(&[1; 9]), vec![0.0; WIDTH]);
}
