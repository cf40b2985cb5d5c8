//! A team's server with many notes, and a cluster of which a node dies or hangs: real servers on the loopback, filled by
//! the real keeper and asked by the real reader. `src/team/SCALE.md` has what came of it.
//!
//! ```text
//! cargo bench -p team --bench scale -- load --qdrant EXE [--notes 10000] [--queries 200] [--minutes 50] [--bits] [--dir DIR]
//!     [--links 16] [--construct 100] [--graph-from-kb 10000]
//! cargo bench -p team --bench scale -- ask --url URL [--notes 10000] [--queries 200]
//! cargo bench -p team --bench scale -- cluster --qdrant EXE [--notes 2000] [--deadline-ms 1000] [--hang] [--dir DIR]
//! cargo bench -p team --bench scale -- plan [--notes 200000]
//! ```
//!
//! Notes are those of the repository's generator, with the built-in model's vectors and the template's contexts. A table
//! goes to the standard output, progress to the standard error. Needs `/proc` for memory and processor times.

#[path = "../common/mod.rs"]
mod common;

mod cluster;
mod load;
mod node;
mod plan;
mod source;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use common::option;
use tempfile::TempDir;

/// What is to be done, and with what.
struct Arguments {
    all: Vec<String>,
}

impl Arguments {
    fn number(&self, name: &str, default: usize) -> Result<usize> {
        option(&self.all, name)
            .map_or(Ok(default), |n| n.parse().with_context(|| format!("{name} takes a number, not `{n}`")))
    }

    fn has(&self, name: &str) -> bool {
        self.all.iter().any(|argument| argument == name)
    }

    fn program(&self) -> Result<PathBuf> {
        let program = option(&self.all, "--qdrant").or_else(|| std::env::var("SITUATED_QDRANT").ok());
        program.map(PathBuf::from).context("--qdrant names the program of Qdrant")
    }

    /// Where servers keep their files; they are removed at the end.
    fn folder(&self) -> Result<TempDir> {
        let made = option(&self.all, "--dir").map_or_else(TempDir::new, TempDir::new_in);
        made.context("no folder for the servers' files")
    }
}

fn main() -> Result<()> {
    let arguments = Arguments { all: std::env::args().skip(1).collect() };
    let runtime = tokio::runtime::Runtime::new()?;
    match arguments.all.first().map(String::as_str) {
        Some("load") => runtime.block_on(load::run(&arguments)),
        Some("ask") => {
            let url = option(&arguments.all, "--url").context("--url names a server that `load` filled")?;
            runtime.block_on(load::ask(&arguments, &url))
        }
        Some("cluster") => runtime.block_on(cluster::run(&arguments)),
        Some("plan") => plan::run(&arguments),
        // As `cargo bench` and `cargo test` start every bench: there is no server.
        None | Some("--bench" | "--test") => Ok(()),
        Some(other) => bail!("`{other}`? There are load, ask, cluster and plan"),
    }
}
