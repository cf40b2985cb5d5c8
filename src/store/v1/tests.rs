use super::*;

#[test]
fn numbers_of_enums_round_trip() {
    let reasons: Vec<_> = (0..=u8::MAX).map_while(|n| reason(n).ok()).collect();
    assert_eq!(reasons.len(), 16);
    for (n, r) in reasons.into_iter().enumerate() {
        assert_eq!(usize::from(reason_number(r)), n);
    }
    let actions: Vec<_> = (0..=u8::MAX).map_while(|n| action(n).ok()).collect();
    assert_eq!(actions.len(), 4);
    for (n, a) in actions.into_iter().enumerate() {
        assert_eq!(usize::from(action_number(a)), n);
    }
}
