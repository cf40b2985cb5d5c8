use super::*;

#[test]
fn the_last_queries_are_remembered() {
    let queries = Queries::default();
    let mut known = queries.0.lock();
    let key = |n: usize| ("e".to_owned(), n.to_string());
    let vector = |n: usize| Vector { values: vec![n as i8].into(), scale: 1.0 };
    for n in 0..REMEMBERED.get() {
        known.put(key(n), vector(n % 100));
    }
    assert_eq!(known.get(&key(0)), Some(&vector(0)));
    known.put(key(REMEMBERED.get()), vector(7));
    assert_eq!((known.get(&key(0)).cloned(), known.get(&key(1))), (Some(vector(0)), None));
    assert_eq!(known.get(&("another".to_owned(), "0".to_owned())), None);
}
