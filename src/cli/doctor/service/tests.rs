use super::super::Level;
use super::super::Level::{Fail, Note, Ok, Warn};
use super::*;

fn healthy() -> Inspection {
    Inspection {
        keeper: "systemd",
        reachable: true,
        unit: Some("/u/situated.service".into()),
        ours: true,
        enabled: true,
        running: true,
        program: Some("/p/situated".into()),
        program_exists: true,
        program_is_this: true,
        strict: true,
        ..Inspection::default()
    }
}

#[test]
fn a_unit_without_the_network_that_a_provider_needs_is_told() {
    let providers = ["[context] openai".to_owned()];
    let told = |inspection: &Inspection| checks(inspection, &providers).pop().unwrap();
    let found = told(&healthy());
    assert_eq!((found.level, found.remedy.as_deref()), (Warn, Some(INSTALL)));
    assert!(found.finding.contains("may not use the network, which [context] openai needs"), "{found:?}");
    assert_eq!(told(&Inspection { network: true, ..healthy() }).level, Ok);
}

#[test]
fn each_fault_has_its_remedy() {
    assert_eq!(checks(&healthy(), &[]), [Check::new(ID, Ok, "systemd keeps it, in the strict sandbox")]);
    type Fault = fn(&mut Inspection);
    let faults: [(Fault, Level, &str, &str); 9] = [
        (|i| i.keeper = "none", Note, "situated run --quiet", ""),
        (|i| i.unit = None, Note, "not installed", INSTALL),
        (|i| i.masked = true, Warn, "masked", "systemctl --user unmask situated"),
        (|i| i.failed = Some("exit code 78".into()), Fail, "has failed", "situated service logs"),
        (|i| i.running = false, Warn, "does not run", "situated service start"),
        (|i| i.program_exists = false, Fail, "is gone", INSTALL),
        (|i| i.program_is_this = false, Warn, "another program", INSTALL),
        (|i| i.older = true, Warn, "was written by", INSTALL),
        (|i| i.enabled = false, Warn, "does not start at login", INSTALL),
    ];
    for (fault, level, finding, remedy) in faults {
        let mut inspection = healthy();
        fault(&mut inspection);
        let found = checks(&inspection, &[]);
        let worst = found.iter().max_by_key(|check| check.level).unwrap();
        assert_eq!(worst.level, level, "{found:?}");
        assert!(worst.finding.contains(finding) && worst.remedy.as_deref().unwrap_or("") == remedy, "{worst:?}");
    }
}
