use super::*;

#[test]
fn the_cache_forgets_what_was_used_longest_ago() {
    let mut cache = Cache::new(REMEMBERED);
    let key = |n: usize| [(n % 256) as u8, (n / 256) as u8].repeat(8).try_into().unwrap();
    for n in 0..REMEMBERED.get() {
        cache.put(key(n), Scores::from([Some(n as f32)]));
    }
    assert_eq!(cache.get(&key(0)).map(|scores| &**scores), Some(&[Some(0.0)][..]));
    cache.put(key(REMEMBERED.get()), Scores::from([None]));
    assert_eq!(
        (cache.len(), cache.get(&key(1)).is_none(), cache.get(&key(0)).is_some()),
        (REMEMBERED.get(), true, true)
    );
}
