//! Bits of a word.

/// The numbers of the bits that are set, the lowest first.
pub fn ones(word: u64) -> impl Iterator<Item = u32> {
    let rest = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
    rest.take_while(|rest| *rest != 0).map(u64::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_those_that_are_set() {
        for word in [0, 1, 0b1010_0110, 1 << 63, u64::MAX - 1, u64::MAX] {
            let set: Vec<u32> = (0..64).filter(|at| word >> at & 1 == 1).collect();
            assert_eq!(ones(word).collect::<Vec<_>>(), set, "{word:b}");
        }
    }
}
