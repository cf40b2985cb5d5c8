//! Attention against the definition, token by token.

use proptest::prelude::*;

use super::*;

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Of one text.
fn plain(
    parts: &[f32],
    heads: Heads,
    sees: impl Fn(usize, usize) -> bool,
    far: impl Fn(usize, usize, usize) -> f64,
) -> Vec<f64> {
    let (n, size) = (parts.len() / heads.width(), heads.size);
    let part =
        |token: usize, start: usize| parts[token * heads.width() + start..][..size].iter().map(|x| f64::from(*x));
    let mut out = vec![0.0; n * heads.asking()];
    for token in 0..n {
        for head in 0..heads.count {
            let shared = head * heads.asked / heads.count;
            let likeness = |other| {
                let dot: f64 =
                    part(token, head * size).zip(part(other, heads.asking() + shared * size)).map(|(a, b)| a * b).sum();
                (dot / (size as f64).sqrt() + far(head, token, other)).exp()
            };
            let seen: Vec<usize> = (0..n).filter(|other| sees(token, *other)).collect();
            let all: f64 = seen.iter().map(|other| likeness(*other)).sum();
            for other in seen {
                let weight = likeness(other) / all;
                let values = part(other, heads.asking() + (heads.asked + shared) * size);
                for (out, value) in out[token * heads.asking() + head * size..].iter_mut().zip(values) {
                    *out += weight * value;
                }
            }
        }
    }
    out
}

fn close(ours: &[f32], theirs: &[f64]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_token_takes_what_the_definition_says(
        lengths in prop::collection::vec(1..150_usize, 1..4),
        (asked, each) in (1..3_usize, 1..3_usize),
        size in 1..5_usize,
        near in 0..9_usize,
        seed: u64,
    ) {
        let heads = Heads { count: asked * each, asked, size: 2 * size };
        let parts = numbers(lengths.iter().sum::<usize>() * heads.width(), seed);
        let far = |head: usize, from: usize, to: usize| (head as f64 + 1.0) * (to as f64 - 2.0 * from as f64).sin();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        // What the product has only for distances: places relative to each other.
        let relative = |head: usize, from: usize, to: usize| far(head, from.saturating_sub(to), to.saturating_sub(from));
        let distances = Distances::new(heads.count, longest, |head, from, to| far(head, from, to) as f32);
        type Sees = fn(usize, usize, usize) -> bool;
        let sights: [(Sight, Sees); 3] = [
            (Sight::All, |_, _, _| true),
            (Sight::Near(near), |from, to, near| from.abs_diff(to) <= near),
            (Sight::Before, |from, to, _| to <= from),
        ];
        for (sight, sees) in sights {
            let (ours, with) = (
                attend(&parts, &lengths, heads, sight, Wanted::All, None),
                attend(&parts, &lengths, heads, sight, Wanted::All, Some(&distances)),
            );
            let firsts = attend(&parts, &lengths, heads, sight, Wanted::First, Some(&distances));
            let mut firsts = firsts.chunks_exact(heads.asking());
            let mut first = 0;
            for n in &lengths {
                let text = &parts[first * heads.width()..(first + n) * heads.width()];
                let stretch = first * heads.asking()..(first + n) * heads.asking();
                let theirs = plain(text, heads, |a, b| sees(a, b, near), |_, _, _| 0.0);
                prop_assert!(close(&ours[stretch.clone()], &theirs), "{sight:?}");
                let theirs = plain(text, heads, |a, b| sees(a, b, near), relative);
                prop_assert!(close(&with[stretch], &theirs), "{sight:?} by distance");
                let first_alone = firsts.next().is_some_and(|first| close(first, &theirs[..heads.asking()]));
                prop_assert!(first_alone, "{sight:?}: the first token");
                first += n;
            }
        }
    }

    #[test]
    fn turned_values_are_alike_by_distance_alone(place in 0..40_usize, other in 0..40_usize, more in 0..40_usize, seed: u64) {
        let heads = Heads { count: 1, asked: 1, size: 6 };
        let rotation = Rotation::new(100.0, 6, 80);
        let one = numbers(heads.width(), seed);
        let likeness = |a: usize, b: usize| {
            let mut parts = vec![0.0; 80 * heads.width()];
            parts[a * heads.width()..][..6].copy_from_slice(&one[..6]);
            parts[b * heads.width() + 6..][..6].copy_from_slice(&one[6..12]);
            rotation.turn(&mut parts, &[80], heads);
            let (query, key) = (&parts[a * heads.width()..][..6], &parts[b * heads.width() + 6..][..6]);
            query.iter().zip(key).map(|(a, b)| a * b).sum::<f32>()
        };
        prop_assert!((likeness(place, other) - likeness(place + more, other + more)).abs() < 1e-4);
    }
}
