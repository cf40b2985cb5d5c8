use super::*;

#[test]
fn a_name_makes_the_processor_pass_for_a_lesser_one() {
    let all = Width::all();
    let at_most = |name: &str| Width::at_most(Some(OsStr::new(name)));
    assert_eq!(at_most("portable"), Width(Level::Portable));
    assert_eq!(at_most("avx2"), all[all.len().min(2) - 1]);
    assert_eq!((at_most("all"), Width::at_most(None)), (all[all.len() - 1], all[all.len() - 1]));
    assert!(all.contains(&Width::chosen()));
}
