use super::*;

fn file(header: &str, body: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(body);
    file
}

const HEADER: &str = r#"{"__metadata__":{"a":"b"},"x":{"dtype":"I8","shape":[2,2],"data_offsets":[1,5]}}"#;

#[test]
fn gives_the_bytes_of_a_tensor() {
    let file = file(HEADER, &[9, 1, 2, 3, 4]);
    let tensors = Tensors::read(&file).expect("a good file");
    assert_eq!(tensors.tensor("x", "I8", 1), Ok((&[1, 2, 3, 4][..], &[2, 2][..])));
}

#[test]
fn refuses_what_does_not_fit() {
    let good = file(HEADER, &[9, 1, 2, 3, 4]);
    let tensors = Tensors::read(&good).expect("a good file");
    assert!(tensors.tensor("y", "I8", 1).is_err(), "no such tensor");
    assert!(tensors.tensor("x", "F32", 4).is_err(), "another type");
    assert!(tensors.tensor("x", "I8", 2).is_err(), "another size");
    let cut = &good[..good.len() - 1];
    assert!(Tensors::read(cut).expect("the header is whole").tensor("x", "I8", 1).is_err());
    for bad in [&b""[..], b"1234567", &[255; 8], &[255; 40], &file("[]", b""), &file("{", b"")] {
        assert!(Tensors::read(bad).is_err(), "{bad:?}");
    }
    let huge = r#"{"x":{"dtype":"I8","shape":[18446744073709551615,2],"data_offsets":[5,1]}}"#;
    let huge = file(huge, b"");
    assert!(Tensors::read(&huge).expect("the header is JSON").tensor("x", "I8", 1).is_err());
}

#[test]
fn a_header_alone_says_where_a_tensor_is() {
    let whole = file(HEADER, &[0, 1, 2, 3, 4]);
    let start = &whole[..8 + HEADER.len()];
    let header = Header::read(start, whole.len() as u64).expect("a header");
    assert_eq!((header.has("x"), header.has("y"), header.shape("x")), (true, false, Some(&[2, 2][..])));
    let (number, place) = header.place("x").expect("a place");
    assert_eq!((number, &whole[place.start as usize..place.end as usize]), (Number::I8, &[1, 2, 3, 4][..]));
    let problem = |header: &str, length: usize| {
        let whole = file(header, &[]);
        Header::read(&whole, (whole.len() + length) as u64)
            .and_then(|header| header.place("x").map(drop))
            .unwrap_err()
            .to_string()
    };
    assert!(problem(HEADER, 4).contains("shorter than its tensors"));
    assert!(problem(&HEADER.replace("\"x\"", "\"y\""), 5).contains("not there"));
    assert!(problem(&HEADER.replace("[1,5]", "[1,4]"), 5).contains("3 bytes for the shape [2, 2]"));
    for backwards in ["[5,1]", "[18446744073709551615,1]"] {
        assert!(problem(&HEADER.replace("[1,5]", backwards), 5).contains("ends before it begins"));
    }
    assert!(problem(&HEADER.replace("I8", "I5"), 5).contains("I5"));
    assert!(Header::read(&start[..start.len() - 1], 100).is_err());
}
