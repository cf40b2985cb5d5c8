use super::*;

fn path(n: usize) -> VaultPath {
    VaultPath::from_relative(std::path::Path::new(&format!("{n}.md"))).unwrap()
}

fn counts(wanted: u64, due: u64, failed: u64) -> Counts {
    Counts { wanted, due, failed, ..Counts::default() }
}

#[test]
fn a_note_is_told_once_and_not_all_of_them_are() {
    let mut failures = Failures::default();
    let told: Vec<Tell> = (0..40).map(|n| failures.failed(&path(n), Flaw::Refusal)).collect();
    assert_eq!(told.iter().filter(|tell| **tell == Tell::Note).count(), MOST_TOLD);
    assert_eq!(told.iter().filter(|tell| **tell == Tell::NoMore).count(), 1);
    assert_eq!(failures.failed(&path(0), Flaw::Empty), Tell::Nothing);
}

#[test]
fn a_share_of_failures_is_a_problem_that_names_flaw_and_notes() {
    let mut failures = Failures::default();
    for n in 0..5 {
        failures.failed(&path(n), if n == 0 { Flaw::Empty } else { Flaw::Refusal });
    }
    let said = failures.problem(counts(12, 2, 5)).unwrap();
    for part in ["nothing usable (refusal) for 5 of 10 chunks", "`0.md`, `1.md`, `2.md`, and 2 more"] {
        assert!(said.contains(part), "{said}");
    }
    for few in [counts(12, 2, 2), counts(100, 0, 5), counts(0, 0, 0)] {
        assert_eq!(failures.problem(few), None, "{few:?}");
    }
    // One whose context came, or that is gone, is not named any more.
    failures.remove(&path(0));
    assert!(failures.problem(counts(12, 2, 4)).unwrap().contains("`1.md`, `2.md`, `3.md`, and 1 more"));
}
