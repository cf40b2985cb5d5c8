//! `situated mcp --http`: MCP for assistants that cannot start a program, and the token that lets them in.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use platform::files::{Private as _, is_open_to_others};

use crate::cli::args::Mcp;
use crate::cli::exit;
use crate::cli::print::{dim, printable, shown, yellow};
use crate::cli::session::{CliFailure, Session};
use crate::mcp::http::{Door, PATH, serve as serve_clients};

/// Name of the token's file in the data folder.
pub(in crate::cli) const TOKEN_FILE: &str = "mcp-token";

/// Random bytes of a new token.
const TOKEN_BYTES: usize = 32;
/// Least characters of a token that the user chose.
const LEAST_TOKEN: usize = 16;

pub(super) fn serve(typed: &str, args: &Mcp, session: &Session) -> Result<u8, CliFailure> {
    let address = address(typed)?;
    let discovery = session.discovery();
    let (token, place) = token(args.token_file.as_deref(), &discovery.data_dir)?;
    let door = Door { address, token, names: args.host.clone() };
    let ready = |address: SocketAddr| {
        let (at, elsewhere) = match address.ip() {
            // No client can connect to "every address".
            IpAddr::V4(any) if any.is_unspecified() => {
                (SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()), true)
            }
            IpAddr::V6(any) if any.is_unspecified() => {
                (SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()), true)
            }
            _ => (address, false),
        };
        let elsewhere = if elsewhere { " and at every other address of this machine" } else { "" };
        session.say(format!("MCP over HTTP at http://{at}{PATH}{elsewhere}; Ctrl-C ends it."));
        session.say(format!("Clients send {}; the token is {place}.", dim("Authorization: Bearer TOKEN")));
        if !address.ip().is_loopback() {
            session.say(format!(
                "{} this is no address of this machine alone, and nothing is encrypted: who reads the token on the way can \
                 search your notes (but private ones).",
                yellow("warning:")
            ));
        }
    };
    serve_clients(discovery, door, ready)
        .map_err(|error| CliFailure::new(exit::IO, format!("{address} cannot be served: {error}")))?;
    Ok(exit::OK)
}

/// `127.0.0.1:7391`, `[::1]:7391`, or a port, which only this machine can reach.
fn address(typed: &str) -> Result<SocketAddr, CliFailure> {
    let port = typed.parse::<u16>().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    port.or_else(|_| typed.replace("localhost", "127.0.0.1").parse()).map_err(|_| {
        CliFailure::usage(format!("--http {}: give an address and a port, such as 127.0.0.1:7391", printable(typed)))
    })
}

/// The token, and where the user finds it: in the file that is named, or in one of the data folder, which is created.
fn token(file: Option<&Path>, data_dir: &Path) -> Result<(String, String), CliFailure> {
    let path = file.map_or_else(|| data_dir.join(TOKEN_FILE), PathBuf::from);
    let place = shown(&path);
    let failed = |error: io::Error| CliFailure::new(exit::IO, format!("the token in {place}: {error}"));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound && file.is_none() => make(&path).map_err(failed)?,
        Err(error) => return Err(failed(error)),
    };
    if is_open_to_others(&fs::metadata(&path).map_err(failed)?) {
        let why = format!("{place} can be read by others; `chmod 600` it, or delete it for a new token");
        return Err(CliFailure::new(exit::FORBIDDEN, why));
    }
    Ok((checked(&text, &place)?, format!("in {place}")))
}

fn checked(token: &str, place: &str) -> Result<String, CliFailure> {
    let token = token.trim();
    if token.len() < LEAST_TOKEN || token.contains(|c: char| !c.is_ascii_graphic()) {
        let why = format!("{place}: a token is {LEAST_TOKEN} or more printable ASCII characters without blanks");
        return Err(CliFailure::usage(why));
    }
    Ok(token.to_owned())
}

/// A new token, written to a file that nobody else can read.
fn make(path: &Path) -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).private().create(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).private().open(path)?;
    writeln!(file, "{token}")?;
    file.sync_all()?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (typed, address) in [
            ("7391", "127.0.0.1:7391"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("localhost:80", "127.0.0.1:80"),
            ("[::1]:7391", "[::1]:7391"),
            ("172.17.0.1:7391", "172.17.0.1:7391"),
        ] {
            assert_eq!(super::address(typed).unwrap().to_string(), address);
        }
        for typed in ["", "127.0.0.1", "70000", "example.com:80", "http://127.0.0.1:80"] {
            assert!(super::address(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn tokens_are_made_once_and_kept_from_others() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let (first, place) = token(None, &data).unwrap();
        assert_eq!((first.len(), place.ends_with("mcp-token")), (2 * TOKEN_BYTES, true));
        assert_eq!(token(None, &data).unwrap().0, first);
        let file = data.join(TOKEN_FILE);
        assert_eq!(platform::files::mode(&fs::metadata(&file).unwrap()), 0o600);
        platform::files::set_mode(&file, 0o644).unwrap();
        assert!(cfg!(windows) || token(None, &data).is_err(), "there are no modes on Windows");
        assert!(token(Some(&dir.path().join("nosuch")), &data).is_err(), "one that is named is not made");
        let short = dir.path().join("short");
        fs::write(&short, "abc\n").unwrap();
        platform::files::set_mode(&short, 0o600).unwrap();
        assert!(token(Some(&short), &data).is_err());
    }
}
