//! Whether the questions that `situated eval` makes of a vault order the ways of searching as judged questions do.
//!
//! Each set with a vault is measured twice by the release binary: `eval --set DIR`, and `eval DIR/vault`, over the same
//! arms. Two orders agree by Kendall's tau-b, reckoned in two ways: of the pairs of arms that the paired interval of the
//! difference in nDCG@10 parts, all others being ties; and of the plain means. Few judged questions part few pairs, and then the
//! first is low whatever the other order is: the counts beside it tell.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use index::eval::report::{Pair, Report};
use index::eval::stats::tau_b;

use crate::EXE;

/// What is to be reached.
const GOAL: f64 = 0.7;

/// Prints a line for each set.
pub(crate) fn run(dirs: &[PathBuf]) -> Result<()> {
    println!(
        "| set | judged questions | made of the vault | tau-b, ties within the interval | tau-b of the means | surely ordered: \
         judged | made | both alike | both contrary |\n|---|---|---|---|---|---|---|---|---|"
    );
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let judged = report(&["--set".as_ref(), dir.as_os_str()])?;
        let made = report(&[dir.join("vault").as_os_str()])?;
        println!("| {name} | {} | {} |", judged.queries, compared(&judged, &made)?);
    }
    Ok(())
}

/// What `situated eval` says, as another user without a configuration would have it.
fn report(arguments: &[&std::ffi::OsStr]) -> Result<Report> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let mut command = Command::new(EXE);
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
        command.env(variable, home.path());
    }
    let output = command.args(["--json", "eval"]).args(arguments).output()?;
    // 1 says that there is nothing to measure, in a report like the others.
    let talk = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1)), "{}: {talk}", Path::new(EXE).display());
    serde_json::from_slice(&output.stdout).with_context(|| talk.into_owned())
}

/// The cells from what was made on.
fn compared(judged: &Report, made: &Report) -> Result<String> {
    let drawn = made.kinds.iter().filter(|(_, (_, drawn))| *drawn > 0);
    let kinds: Vec<String> = drawn.map(|(kind, (_, drawn))| format!("{kind} {drawn}")).collect();
    let asked =
        format!("{} ({}){}", made.queries, kinds.join(", "), if made.too_few() { ": too few to tell" } else { "" });
    if made.systems.is_empty() {
        return Ok(format!("{asked} | | | | | |"));
    }
    let names = |report: &Report| report.systems.iter().map(index::eval::System::name).collect::<Vec<_>>();
    ensure!(names(judged) == names(made), "other arms: {:?}, {:?}", names(judged), names(made));
    let sure = |pair: &Pair| pair.order().unwrap_or(Ordering::Equal);
    let plain = |pair: &Pair| pair.paired.difference.mean.total_cmp(&0.0);
    let orders = |order: &dyn Fn(&Pair) -> Ordering| -> Vec<(Ordering, Ordering)> {
        judged.pairs.iter().zip(&made.pairs).map(|(a, b)| (order(a), order(b))).collect()
    };
    let tau = |order: &dyn Fn(&Pair) -> Ordering| match tau_b(orders(order).into_iter()) {
        Some(tau) if tau >= GOAL => format!("{tau:.2}"),
        Some(tau) => format!("{tau:.2} (below {GOAL})"),
        None => "nothing parted".to_owned(),
    };
    let sure_pairs = orders(&sure);
    let count = |test: &dyn Fn(Ordering, Ordering) -> bool| sure_pairs.iter().filter(|(a, b)| test(*a, *b)).count();
    let of_judged = count(&|a, _| a.is_ne());
    let of_made = count(&|_, b| b.is_ne());
    let alike = count(&|a, b| a.is_ne() && a == b);
    let contrary = count(&|a, b| a.is_ne() && a == b.reverse());
    let all = sure_pairs.len();
    Ok(format!("{asked} | {} | {} | {of_judged} of {all} | {of_made} | {alike} | {contrary}", tau(&sure), tau(&plain)))
}
