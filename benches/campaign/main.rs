//! What breaks a daemon: its files damaged, itself killed, more asked than it can do. Each campaign is a program that
//! prints one table; what was found by them stands in `tests/CAMPAIGNS.md`.
//!
//! ```text
//! cargo bench --bench campaign -- damage [--seed 1] [--from 0] [--only journal]
//! cargo bench --bench campaign -- kills  [--seed 1] [--runs 100]
//! cargo bench --bench campaign -- load   [--seed 1] [--notes 2000] [--seconds 10]
//! ```
//!
//! The same seed gives the same damage and the same edits. Damage and kills are as true of a build for tests, which is
//! there sooner: `cargo bench --profile dev --bench campaign -- damage`.

#[path = "../common/mod.rs"]
mod common;
mod damage;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/http.rs"]
mod http;
mod kills;
mod lab;
mod load;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/model.rs"]
mod model;

use anyhow::{Context, Result, bail};
use common::option;

/// What is asked of a campaign.
struct Asked {
    args: Vec<String>,
    seed: u64,
}

impl Asked {
    /// A number that was given, or another.
    fn number(&self, name: &str, default: u64) -> Result<u64> {
        option(&self.args, name).map_or(Ok(default), |n| n.parse().with_context(|| format!("{name} takes a number")))
    }
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // As the daemon's own files, which it would have to close otherwise.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let mut asked = Asked { args, seed: 0 };
    asked.seed = asked.number("--seed", 1)?;
    // Each takes minutes, so a bare `cargo bench`, which runs every bench, runs none.
    match asked.args.iter().find(|arg| !arg.starts_with("--")).map(String::as_str) {
        Some("damage") => match lab::as_nobody()? {
            Some(code) => std::process::exit(code),
            None => damage::run(&asked),
        },
        Some("kills") => kills::run(&asked),
        Some("load") => load::run(&asked),
        Some(other) if other.parse::<u64>().is_err() => bail!("there is no campaign `{other}`"),
        _ => {
            println!("campaign: say which: damage, kills, load");
            Ok(())
        }
    }
}
