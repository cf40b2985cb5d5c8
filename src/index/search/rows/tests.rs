use super::*;

#[test]
fn row_sets() {
    let mut set = RowSet::of(130, [0, 63, 64, 129, 1000]);
    let members = |set: &RowSet| (0..200).filter(|row| set.contains(*row)).collect::<Vec<Row>>();
    assert_eq!(members(&set), [0, 63, 64, 129]);
    [0, 64, 65, 1000].into_iter().for_each(|row| set.remove(row));
    assert_eq!(members(&set), [63, 129]);
    assert!((0..130).all(|row| RowSet::full(130).contains(row)));
    assert!(!set.is_empty() && RowSet::new(0).is_empty());
}

#[test]
fn few_rows_are_listed() {
    let set = RowSet::of(200, [0, 63, 64, 129, 199]);
    assert_eq!(set.few(5), Some(vec![0, 63, 64, 129, 199]));
    assert_eq!((set.few(4), RowSet::new(9).few(0)), (None, Some(vec![])));
}

#[test]
fn sets_are_joined_and_cut() {
    let (left, right) = (RowSet::of(130, [0, 70, 129]), RowSet::of(130, [1, 70]));
    let after = |change: fn(&mut RowSet, &RowSet)| {
        let mut set = left.clone();
        change(&mut set, &right);
        (0..130).filter(|row| set.contains(*row)).collect::<Vec<Row>>()
    };
    assert_eq!(after(RowSet::add), [0, 1, 70, 129]);
    assert_eq!(after(RowSet::keep), [70]);
    assert_eq!(after(RowSet::drop_all), [0, 129]);
}
