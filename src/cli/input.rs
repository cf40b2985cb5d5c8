//! Texts from standard input or a file. Where there is a limit, more is refused, not cut.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::exit;
use super::session::CliFailure;

/// All of a file, or of standard input for `-`.
///
/// # Errors
/// It cannot be read, or has more than `most` bytes. The message calls it `what`.
pub(super) fn bytes(from: &Path, most: u64, what: &str) -> Result<Vec<u8>, CliFailure> {
    let failed = CliFailure::of_file(exit::IO, from);
    let input: Box<dyn Read> =
        if from == Path::new("-") { Box::new(std::io::stdin()) } else { Box::new(File::open(from).map_err(&failed)?) };
    let mut bytes = Vec::new();
    // One more than may be, so that too much is noticed.
    input.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(CliFailure::usage(format!("{what} is longer than {} KiB", most >> 10)));
    }
    Ok(bytes)
}

/// As [`bytes`], for texts of notes, which need not be UTF-8.
pub(super) fn text(from: &Path, most: u64, what: &str) -> Result<String, CliFailure> {
    Ok(String::from_utf8_lossy(&bytes(from, most, what)?).into_owned())
}

/// The text of a configuration; `None` if there is no such file.
pub(super) fn if_there(file: &Path) -> Result<Option<String>, CliFailure> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(CliFailure::of_file(exit::IO, file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_refused_not_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long.md");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 4, "the text").unwrap_err().code(), exit::USAGE);
        assert_eq!(text(&path, 5, "the text").unwrap(), "12345");
        assert_eq!(text(&dir.path().join("none.md"), 5, "the text").unwrap_err().code(), exit::IO);
        std::fs::write(&path, b"ok \xff").unwrap();
        assert_eq!(text(&path, 4, "the text").unwrap(), "ok \u{fffd}");
    }
}
