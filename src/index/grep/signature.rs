//! What trigrams a text may hold: a Bloom filter (Bloom, "Space/time trade-offs in hash coding with allowable errors",
//! CACM 1970) with one hash, of its bytes in threes, capitals of ASCII as small letters.

/// Bits for each byte of a text. A text has about half as many different trigrams as bytes, so two bits in five are
/// set. A pattern of six letters needs four trigrams, so it lets through one in forty of the texts that do not hold it.
const BITS_PER_BYTE: usize = 1;

/// Bits at most: prose has some ten thousand different trigrams, however long it is.
const MOST_BITS: usize = 1 << 17;

/// Three bytes as a number, in order.
pub(super) type Trigram = u32;

/// What trigrams a text may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(Box<[u64]>);

impl Signature {
    /// The signature of a text.
    pub fn of(text: &str) -> Self {
        let bits = (text.len() * BITS_PER_BYTE).min(MOST_BITS);
        let mut signature = Signature(vec![0; bits.div_ceil(64).max(1)].into());
        for trigram in trigrams(text.as_bytes()) {
            let (word, bit) = signature.place(trigram);
            signature.0[word] |= bit;
        }
        signature
    }

    /// Whether the text may hold the trigram; `false` is certain.
    pub(super) fn may_hold(&self, trigram: Trigram) -> bool {
        let (word, bit) = self.place(trigram);
        self.0[word] & bit != 0
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.0.len() * size_of::<u64>()
    }

    /// The word of a trigram, and its bit there. The multiplier is Knuth's (2^32 / φ), of which the upper bits are
    /// mixed best.
    fn place(&self, trigram: Trigram) -> (usize, u64) {
        let bits = self.0.len() as u64 * 64;
        let hash = u64::from(trigram.wrapping_mul(0x9E37_79B1));
        let at = (hash * bits) >> 32;
        ((at / 64) as usize, 1 << (at % 64))
    }
}

/// The trigrams of a text, capitals of ASCII as small letters.
pub(super) fn trigrams(bytes: &[u8]) -> impl Iterator<Item = Trigram> {
    let mut last = 0;
    let folded = bytes.iter().map(move |byte| {
        last = (last << 8 | Trigram::from(byte.to_ascii_lowercase())) & 0xFF_FFFF;
        last
    });
    folded.skip(2)
}
