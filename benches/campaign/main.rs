//! What breaks a daemon: its files damaged, itself killed, the power lost, what it needs refused, more asked than it can do,
//! hours of use. Each campaign is a program that prints one table; what was found by them stands in `tests/CAMPAIGNS.md`.
//!
//! ```text
//! cargo bench --bench campaign -- damage [--seed 1] [--from 0] [--only journal]
//! cargo bench --bench campaign -- kills  [--seed 1] [--from 0] [--runs 100] [--at random|boundaries|both]
//! cargo bench --bench campaign -- power  [--seed 1] [--from 0] [--runs 100]
//! cargo bench --bench campaign -- disk   [--seed 1] [--only inodes]
//! cargo bench --bench campaign -- load   [--seed 1] [--notes 2000] [--seconds 10]
//! cargo bench --bench campaign -- soak   [--seed 1] [--minutes 120] [--warm-up 15] [--notes 400] [--new 25] [--samples FILE]
//! ```
//!
//! `power`, and kills at boundaries, need `strace`; `disk` needs root and `unshare`. `--program FILE` starts another daemon
//! than the one that was built. The same seed gives the same damage and the same edits, and each case has its number: one
//! that was stopped goes on with `--from`. Of a thousand edits of a soak `--new` are of a text that is new. Damage and kills
//! are as true of a build for tests, which is there sooner: `cargo bench --profile dev --bench campaign -- damage`.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod disk;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/http.rs"]
mod http;
mod kills;
mod lab;
mod load;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/model.rs"]
mod model;
mod power;
mod soak;

use anyhow::{Context, Result, bail};
use common::option;
use common::rng::Rng;

/// What is asked of a campaign.
struct Asked {
    args: Vec<String>,
    seed: u64,
}

impl Asked {
    /// The daemon: the one that was built, or another.
    fn program(&self) -> String {
        option(&self.args, "--program").unwrap_or_else(|| env!("CARGO_BIN_EXE_situated").to_owned())
    }

    /// A number that was given, or another.
    fn number(&self, name: &str, default: u64) -> Result<u64> {
        option(&self.args, name).map_or(Ok(default), |n| n.parse().with_context(|| format!("{name} takes a number")))
    }

    /// The number of the first case.
    fn first(&self) -> Result<usize> {
        Ok(self.number("--from", 0)? as usize)
    }

    /// What is drawn for a case, whatever was drawn for those before it.
    fn rng(&self, case: usize) -> Rng {
        Rng::new(self.seed.wrapping_mul(1_000_003).wrapping_add(case as u64))
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
        Some("disk") if !asked.args.iter().any(|arg| arg == "--apart") => std::process::exit(disk::apart()?),
        Some("disk") => disk::run(&asked),
        Some("kills") => kills::run(&asked),
        Some("power") => power::run(&asked),
        Some("load") => load::run(&asked),
        Some("soak") => soak::run(&asked),
        Some(other) if other.parse::<u64>().is_err() => bail!("there is no campaign `{other}`"),
        _ => {
            println!("campaign: say which: damage, disk, kills, load, power, soak");
            Ok(())
        }
    }
}
