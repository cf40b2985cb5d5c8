//! What the login service says of itself. Pure.

use super::super::print::counted;
use super::super::service::lacks_network;
use super::Check;
use crate::service::Inspection;

const ID: &str = "service";

/// Rewrites the unit, whatever is wrong with it.
const INSTALL: &str = "situated service install";

/// Judges the service: whether there can be one, whether it is installed and runs, and whether it can ask `providers`.
pub(super) fn checks(found: &Inspection, providers: &[String]) -> Vec<Check> {
    if found.keeper == "none" {
        let what = "nothing here keeps services at login; whatever starts your programs can run `situated run --quiet`";
        return vec![Check::note(ID, what)];
    }
    let Some(unit) = &found.unit else {
        return vec![Check::note(ID, "it is not installed: the daemon does not start at login").remedy(INSTALL)];
    };
    if found.masked {
        return vec![Check::warn(ID, "it is masked and cannot start").remedy("systemctl --user unmask situated")];
    }
    let mut checks = vec![state(found)];
    if let Some(program) = &found.program {
        let program = program.display();
        if !found.program_exists {
            checks.push(
                Check::fail(ID, "the program that it runs is gone")
                    .because(format!("{} names {program}", unit.display()))
                    .remedy(INSTALL),
            );
        } else if !found.program_is_this {
            checks.push(
                Check::warn(ID, "it runs another program than this one")
                    .because(format!("it runs {program}"))
                    .remedy(INSTALL),
            );
        }
    }
    if found.older {
        let version = found.version.as_deref().unwrap_or("before 0.1");
        checks.push(Check::warn(ID, format!("its unit was written by situated {version}")).remedy(INSTALL));
    }
    checks.extend(lacks_network(found, providers).map(|why| Check::warn(ID, why).remedy(INSTALL)));
    if let Some(hidden) = &found.hidden {
        checks.push(
            Check::note(ID, "a unit of your own hides the packaged one")
                .because(hidden.display().to_string())
                .remedy("situated service uninstall"),
        );
    }
    if !found.enabled {
        checks.push(Check::warn(ID, "it does not start at login").remedy(INSTALL));
    } else if found.linger == Some(false) {
        checks.push(
            Check::note(ID, "it ends with your last session; on a machine without a screen let it linger")
                .remedy("situated service install --linger"),
        );
    }
    checks
}

/// Whether it runs.
fn state(found: &Inspection) -> Check {
    let keeper = found.keeper;
    if !found.reachable {
        return Check::note(ID, format!("{keeper} does not answer, so how it stands is not known"))
            .because(found.keeper_says.clone());
    }
    match (&found.failed, found.running) {
        (Some(why), _) => Check::fail(ID, "it has failed").because(why.clone()).remedy("situated service logs"),
        (None, false) => Check::warn(ID, "it does not run").remedy("situated service start"),
        (None, true) if found.restarts > 0 => {
            let times = counted(found.restarts.into(), "time");
            Check::warn(ID, format!("it runs, and had to be started again {times}")).remedy("situated service logs")
        }
        (None, true) => {
            let sandbox = if found.strict { ", in the strict sandbox" } else { "" };
            Check::ok(ID, format!("{keeper} keeps it{sandbox}"))
        }
    }
}

#[cfg(test)]
mod tests;
