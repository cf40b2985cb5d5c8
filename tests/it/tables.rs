//! Static tables in the form of model2vec, as tests write them: words of one subject lie near each other.

use std::path::Path;

use serde_json::{Value, json};

/// Numbers of a row.
pub(crate) const WIDTH: usize = 64;

/// The form of a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// BERT's.
    WordPiece,
    /// SentencePiece's.
    Unigram,
}

/// The type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    F32,
    F16,
    Bf16,
    I8,
}

/// A tensor, as it lies in the file.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: &'static str,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// A table and its tokenizer.
#[derive(Clone, Debug)]
pub(crate) struct StaticTable {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) tokenizer: Value,
}

impl StaticTable {
    /// A token for each word, and one for what is unknown; words of one subject have nearly one direction.
    pub(crate) fn of(subjects: &[&[&str]], form: Form, kind: Kind) -> Self {
        let mut rows = vec![vec![0.01; WIDTH]];
        for (i, (subject, _)) in words(subjects).enumerate() {
            let mut row = vec![0.0; WIDTH];
            row[subject] = 1.0;
            row[WIDTH / 2 + i % (WIDTH / 2)] = -0.25;
            rows.push(row);
        }
        let words: Vec<&str> = words(subjects).map(|(_, word)| word).collect();
        let tokenizer = match form {
            Form::WordPiece => word_piece(&[&["[UNK]"], &words[..]].concat()),
            Form::Unigram => unigram(&words),
        };
        StaticTable { tensors: vec![Tensor::rows(&rows, kind)], tokenizer }
    }

    /// The file of vectors.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        let mut body = Vec::new();
        for tensor in &self.tensors {
            let start = body.len();
            body.extend_from_slice(&tensor.bytes);
            let entry = json!({ "dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, body.len()] });
            header.insert(tensor.name.to_owned(), entry);
        }
        let header = Value::from(header).to_string();
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &body].concat()
    }

    /// Writes both files into a folder, which is made.
    pub(crate) fn write(&self, folder: &Path) {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join("model.safetensors"), self.file()).expect("a file");
        std::fs::write(folder.join("tokenizer.json"), self.tokenizer.to_string()).expect("a file");
        std::fs::write(folder.join("config.json"), "{\"normalize\": true}").expect("a file");
    }
}

fn words<'a>(subjects: &'a [&'a [&'a str]]) -> impl Iterator<Item = (usize, &'a str)> {
    subjects.iter().enumerate().flat_map(|(subject, words)| words.iter().map(move |word| (subject, *word)))
}

impl Tensor {
    /// The rows of a table.
    pub(crate) fn rows(rows: &[Vec<f32>], kind: Kind) -> Self {
        let shape = vec![rows.len(), rows.first().map_or(0, Vec::len)];
        let (dtype, size): (_, fn(f32) -> Vec<u8>) = match kind {
            Kind::F32 => ("F32", |x| x.to_le_bytes().to_vec()),
            Kind::F16 => ("F16", |x| half(x).to_le_bytes().to_vec()),
            Kind::Bf16 => ("BF16", |x| x.to_bits().to_le_bytes()[2..].to_vec()),
            Kind::I8 => ("I8", |x| vec![(x * 100.0).round() as i8 as u8]),
        };
        let bytes = rows.iter().flatten().flat_map(|x| size(*x)).collect();
        Tensor { name: "embeddings", dtype, shape, bytes }
    }

    /// A number for each token.
    pub(crate) fn weights(weights: &[f32]) -> Self {
        let bytes = weights.iter().flat_map(|x| x.to_le_bytes()).collect();
        Tensor { name: "weights", dtype: "F32", shape: vec![weights.len()], bytes }
    }

    /// The row of each token.
    pub(crate) fn mapping(rows: &[i64]) -> Self {
        let bytes = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        Tensor { name: "mapping", dtype: "I64", shape: vec![rows.len()], bytes }
    }
}

/// BERT's tokenizer for a vocabulary, whose first token is that of what is unknown.
pub(crate) fn word_piece(vocabulary: &[&str]) -> Value {
    let vocab: serde_json::Map<String, Value> =
        vocabulary.iter().enumerate().map(|(id, token)| ((*token).to_owned(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" }, "post_processor": null, "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": vocabulary[0], "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab
        }
    })
}

/// SentencePiece's tokenizer for whole words, after a token for what is unknown.
fn unigram(words: &[&str]) -> Value {
    let vocab: Vec<Value> = std::iter::once(json!(["<unk>", 0.0]))
        .chain(words.iter().map(|word| json!([format!("\u{2581}{word}"), -8.0])))
        .collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": { "type": "Sequence", "normalizers": [{ "type": "NFKC" }, { "type": "Lowercase" }] },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                { "type": "Punctuation", "behavior": "Isolated" },
                { "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true }
            ]
        },
        "post_processor": null, "decoder": null,
        "model": { "type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false }
    })
}

/// The nearest number of half precision.
pub(crate) fn half(x: f32) -> u16 {
    let bits = x.to_bits();
    let (sign, exponent) = ((bits >> 16) as u16 & 0x8000, (bits >> 23 & 0xff) as i32 - 112);
    match exponent {
        ..=0 => sign | (x.abs() * 16_777_216.0).round() as u16,
        31.. => sign | 0x7c00,
        // A fraction that is rounded up carries into the exponent.
        _ => sign | (((exponent as u32) << 10) + (((bits & 0x7f_ffff) + 0x1000) >> 13)) as u16,
    }
}

/// SentencePiece's table of characters, which puts one text in the place of another, as a tokenizer names it.
pub(crate) fn characters(places: &[(&str, &str)]) -> String {
    // A node's children lie in 256 places of their own, so that none is ever taken.
    let (mut units, mut texts) = (vec![0_u32; 256], String::new());
    units[0] = 0;
    let mut bases = std::collections::BTreeMap::from([(Vec::new(), 0_u32)]);
    for (from, to) in places {
        let (bytes, mut base) = (from.as_bytes(), 0);
        for (i, byte) in bytes.iter().enumerate() {
            let (place, free) = (base + u32::from(*byte), units.len() as u32);
            base = *bases.entry(bytes[..=i].to_vec()).or_insert(free);
            units.resize(units.len().max(base as usize + 256), 0);
            units[place as usize] |= (place ^ base) << 10 | u32::from(*byte);
            if i + 1 == bytes.len() {
                units[place as usize] |= 1 << 8;
                units[base as usize] = 1 << 31 | texts.len() as u32;
            }
        }
        texts.push_str(to);
        texts.push('\0');
    }
    let units: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    base64(&[&(units.len() as u32).to_le_bytes()[..], &units, texts.as_bytes()].concat())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let held = three.iter().fold(0_u32, |held, byte| held << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let number = held >> (18 - 6 * digit) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[number as usize]) } else { '=' });
        }
    }
    text
}
