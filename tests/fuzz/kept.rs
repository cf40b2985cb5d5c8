//! Runs a body over the kept corpus of its target, and over mutations of it: seeded, so that every run is the same. What
//! libFuzzer does better where there is a nightly toolchain, in a second or two of each `cargo test`. With
//! `SITUATED_TEST_MUTATIONS=100` a hundred times as many.

use std::fs;
use std::path::{Path, PathBuf};

/// How often the usual number of mutations is tried.
const VARIABLE: &str = "SITUATED_TEST_MUTATIONS";

/// What formats are made of, put in where a mutation inserts.
const PIECES: [&[u8]; 24] = [
    b"\0",
    b"\xFF\xFF\xFF\xFF",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"---\n",
    b": ",
    b"# ",
    b"[[",
    b"]]",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"(",
    b")",
    b"AND ",
    b"-1",
    b"18446744073709551615",
    b"1e309",
    "\u{301}".as_bytes(),
    "\u{202E}".as_bytes(),
    "🙂".as_bytes(),
    b"\xEF\xBB\xBF",
];

/// Bytes that fail are printed, as a test of its own can take them.
struct Failing<'a>(&'a Path, &'a [u8]);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("fails, from {}: b\"{}\"", self.0.display(), self.1.escape_ascii());
        }
    }
}

/// The folder of a target's corpus, wherever the crate lies that asks.
fn folder(target: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.ancestors().map(|dir| dir.join("tests/fuzz/corpus")).find(|dir| dir.is_dir());
    corpus.expect("the repository has a corpus").join(target)
}

/// Runs `body` over each file of a target's corpus as it is, and over about as many mutations of all of them.
pub(crate) fn run(target: &str, mutations: usize, body: impl Fn(&[u8])) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let kept: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!kept.is_empty(), "{target} has no corpus");
    let times = std::env::var(VARIABLE).ok().map_or(1, |times| times.parse().expect("a number of times"));
    let of_one = mutations * times / kept.len() + 1;
    let mut chance = Chance(target.bytes().fold(0, |seed, byte| seed * 31 + u64::from(byte)));
    for (path, bytes) in paths.iter().zip(&kept) {
        once(path, bytes, &body);
        for _ in 0..of_one {
            let mut mutated = bytes.clone();
            for _ in 0..=chance.below(4) {
                chance.mutate(&mut mutated, &kept);
            }
            once(path, &mutated, &body);
        }
    }
}

fn once(path: &Path, bytes: &[u8], body: impl Fn(&[u8])) {
    let failing = Failing(path, bytes);
    body(failing.1);
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is 0 as well where there is none.
    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Some bytes of a text, mostly few.
    fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = if self.below(4) == 0 { length - start } else { (length - start).min(16) };
        start..start + self.below(most + 1)
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, kept: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(self.stretch(bytes.len()))),
            3 => {
                let twice = bytes[self.stretch(bytes.len())].to_vec();
                bytes.splice(at..at, twice);
            }
            4 => {
                let other = self.one(kept);
                let part = other[self.stretch(other.len())].to_vec();
                bytes.splice(at..at, part);
            }
            5 => bytes.truncate(at),
            _ => {
                let piece = *self.one(&PIECES);
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
}
