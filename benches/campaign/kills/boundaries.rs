//! Deaths at a boundary: `strace` kills the daemon as one of its threads enters its n-th call that changes a file, so that
//! what is before it is done and what is behind it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::common::rng::Rng;

/// The calls that change files. `write` also is what wakes other threads and answers clients, which does no harm.
pub(super) const CALLS: [&str; 8] =
    ["write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "openat", "ftruncate"];

/// How far into its calls a thread may be: the threads of a daemon that starts and takes some saves make about as many of
/// each of [`CALLS`].
const DEEP: [usize; 8] = [60, 60, 12, 12, 8, 8, 120, 6];

/// One boundary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boundary {
    /// Which of [`CALLS`].
    pub(super) call: usize,
    /// Which one of a thread's; from 1.
    pub(super) nth: usize,
}

impl Boundary {
    pub(super) fn any(rng: &mut Rng) -> Boundary {
        let call = rng.below(CALLS.len());
        Boundary { call, nth: rng.between(1, DEEP[call]) }
    }
}

/// Whether the system lets processes be traced by an `strace` that is installed.
pub(super) fn can_be_had() -> Result<()> {
    let tried = Command::new("strace").args(["-f", "-D", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    match tried {
        Ok(status) if status.success() => Ok(()),
        _ => bail!("kills at boundaries need `strace`, and leave to trace"),
    }
}

/// A program that starts `program` so that it dies at the boundary.
pub(super) fn program(dir: &Path, program: &str, boundary: Boundary) -> Result<PathBuf> {
    let (call, nth) = (CALLS[boundary.call], boundary.nth);
    let script = dir.join("dies-at-a-boundary");
    // `-D`: the daemon is the child that is waited for, and `strace` its grandchild.
    let text = format!(
        "#!/bin/sh\nexec strace -f -D -qq -o /dev/null -e trace={call} \
         -e inject={call}:signal=KILL:when={nth} '{program}' \"$@\"\n"
    );
    fs::write(&script, text).context("writing the program that dies")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
    Ok(script)
}
