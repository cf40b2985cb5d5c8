//! What tests of several parts need.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

/// Makes a named pipe, by a program that every Unix has.
pub(crate) fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
