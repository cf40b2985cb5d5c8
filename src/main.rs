//! Arguments → library → exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    situated::cli::main()
}
