use super::*;

#[test]
fn every_command_has_a_page() {
    let mut pages = Vec::new();
    collect(&command(), &mut pages);
    let names: Vec<String> = pages.iter().map(|page| Man::new(page.clone()).get_filename()).collect();
    for name in ["situated.1", "situated-search.1", "situated-config-show.1"] {
        assert!(names.iter().any(|other| other == name), "{name} is not in {names:?}");
    }
    for (i, page) in pages.iter().enumerate() {
        let mut text = Vec::new();
        render(page, i == 0, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{text}");
        for section in ["EXIT STATUS", "FILES", "ENVIRONMENT"] {
            assert_eq!(text.contains(section), i == 0, "{section} in {}", page.get_name());
        }
    }
}
