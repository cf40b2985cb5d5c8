use super::*;

fn place() -> Place {
    Place::of(Path::new("/home/u/My Notes"), "Projects/Plan ü.md", 12).unwrap()
}

fn given(editor: &str) -> String {
    let arguments: Vec<String> =
        at_line(editor, &place()).into_iter().map(|word| word.into_string().unwrap()).collect();
    arguments.join(" | ").replace("/home/u/My Notes/Projects/Plan ü.md", "FILE")
}

#[test]
fn editors_are_given_the_line_in_their_way() {
    for (editor, expected) in [
        ("vim", "+12 | FILE"),
        ("/usr/bin/nvim -p", "+12 | FILE"),
        ("emacsclient -nw -a ''", "+12 | FILE"),
        ("nano", "+12 | FILE"),
        ("kak", "+12 | FILE"),
        ("hx", "FILE:12"),
        ("helix", "FILE:12"),
        ("code --wait", "--goto | FILE:12"),
        ("'/opt/Visual Studio/code' -w", "--goto | FILE:12"),
        ("subl -w", "FILE:12"),
        ("zed --wait", "FILE:12"),
        ("less", "+12g | FILE"),
        ("kate", "-l | 12 | FILE"),
        ("my-own-editor", "FILE"),
        ("", "FILE"),
    ] {
        assert_eq!(given(editor), expected, "{editor}");
    }
}

#[test]
fn commands_of_ones_own() {
    let words = filled("'my editor' --at={path}:{line} x", &place());
    assert_eq!(words, ["my editor", "--at=/home/u/My Notes/Projects/Plan ü.md:12", "x"]);
    assert_eq!(super::words(" a  'b c'd \"\" "), ["a", "b cd", ""]);
}

#[test]
fn addresses() {
    assert_eq!(obsidian_uri(&place()), "obsidian://open?vault=My%20Notes&file=Projects%2FPlan%20%C3%BC.md");
    let url = file_url(&place().file, "host");
    assert_eq!(url, "file://host/home/u/My%20Notes/Projects/Plan%20%C3%BC.md");
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("Brain");
    std::fs::create_dir_all(vault.join(".obsidian")).unwrap();
    let place = Place::of(&vault.join("Work"), "a.md", 1).unwrap();
    assert_eq!(obsidian_uri(&place), "obsidian://open?vault=Brain&file=Work%2Fa.md");
    assert_eq!(Place::of(&vault, "../etc/passwd", 1), None);
}

#[test]
fn nothing_in_a_path_ends_a_link() {
    let place = Place::of(Path::new("/n"), "a\u{1b}]8;;\u{7}\u{9c}b.md", 1).unwrap();
    let url = file_url(&place.file, "h\u{1b}");
    assert!(url.is_ascii() && !url.contains(|c: char| c.is_control() || c == ';'), "{url}");
}
