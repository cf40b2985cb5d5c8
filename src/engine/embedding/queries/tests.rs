use super::*;

#[test]
fn the_last_queries_are_remembered() {
    let queries = Queries::default();
    let key = |n: usize| ("e".to_owned(), n.to_string());
    let vector = |n: usize| Vector { values: vec![n as i8].into(), scale: 1.0 };
    for n in 0..REMEMBERED.get() {
        queries.put(key(n), vector(n % 100));
    }
    assert_eq!(queries.get(&key(0)), Some(vector(0)));
    queries.put(key(REMEMBERED.get()), vector(7));
    assert_eq!((queries.get(&key(0)), queries.get(&key(1))), (Some(vector(0)), None));
    assert_eq!(queries.get(&("another".to_owned(), "0".to_owned())), None);
}
