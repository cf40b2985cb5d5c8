use super::*;

#[test]
fn keys() {
    let key = |code, modifiers| action(KeyEvent::new(code, modifiers), false);
    assert_eq!(key(KeyCode::Char('r'), KeyModifiers::CONTROL), Some(Action::Related));
    assert_eq!(key(KeyCode::Char('R'), KeyModifiers::SHIFT), Some(Action::Type('R')));
    // `@` on a German keyboard.
    assert_eq!(key(KeyCode::Char('@'), KeyModifiers::CONTROL | KeyModifiers::ALT), Some(Action::Type('@')));
    assert_eq!(key(KeyCode::Char('?'), KeyModifiers::NONE), Some(Action::Type('?')));
    assert_eq!(action(KeyEvent::from(KeyCode::Char('?')), true), Some(Action::Help));
    let released = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
    assert_eq!(action(released, true), None);
}
