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
    failures.failed(&path(0), Flaw::Refusal);
    failures.failed(&path(0), Flaw::Empty);
    assert_eq!(failures.told.len(), 1);
    (0..40).for_each(|n| failures.failed(&path(n), Flaw::Refusal));
    assert_eq!(failures.told.len(), MOST_TOLD);
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
