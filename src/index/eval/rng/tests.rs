use super::*;

#[test]
fn a_seed_decides_everything() {
    let shuffled = |seed| {
        let mut list: Vec<u32> = (0..50).collect();
        Rng::new(seed).shuffle(&mut list);
        list
    };
    assert_eq!(shuffled(7), shuffled(7));
    assert_ne!(shuffled(7), shuffled(8));
    let mut sorted = shuffled(7);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    let mut rng = Rng::new(1);
    assert!((0..1000).all(|_| rng.below(3) < 3) && rng.below(0) == 0);
}
