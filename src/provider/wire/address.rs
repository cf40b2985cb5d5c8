//! Where requests go: a provider's own address, or one that the user gives.

use std::net::IpAddr;

use reqwest::Url;

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `scheme://host[:port]`, the port only if it is not the scheme's own.
    origin: String,
    /// The path before those of the interface: empty, or `/…` without a slash at its end.
    prefix: String,
    host: String,
    /// Host as the `Host` header says it.
    authority: String,
}

impl Address {
    /// Reads an address. `suffixes` (such as `/v1`) are cut off its end: users write them although the interface's
    /// paths have them already.
    ///
    /// # Errors
    /// What is wrong with it; never the address itself, which may hold a password.
    pub(crate) fn parse(text: &str, suffixes: &[&str]) -> Result<Self, String> {
        const EXPECTED: &str = "write an address such as https://host:port";
        let url = Url::parse(text.trim()).map_err(|e| format!("the address of the provider: {e}; {EXPECTED}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the address of the provider is neither http nor https; {EXPECTED}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address of the provider holds a user or a password; \
                        keys belong into `context.key_file` or `context.key_command`"
                .to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("the address of the provider has a `?` or `#` part; {EXPECTED}"));
        }
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(|| {
            format!("the address of the provider names no host; {EXPECTED}") //
        })?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut prefix = url.path().trim_end_matches('/');
        for suffix in suffixes {
            prefix = prefix.strip_suffix(suffix).unwrap_or(prefix).trim_end_matches('/');
        }
        Ok(Address {
            origin: format!("{}://{authority}", url.scheme()),
            prefix: prefix.to_owned(),
            host: host.to_owned(),
            authority,
        })
    }

    /// The address of a path (`/…`) of the interface.
    pub(crate) fn join(&self, path: &str) -> String {
        format!("{}{}{path}", self.origin, self.prefix)
    }

    /// `scheme://host[:port]`.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Whether what is sent there is not encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.origin.starts_with("http:")
    }

    /// The host alone.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Host, with the port if it is not the scheme's own: what a client sends as `Host`.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Whether it is an address of this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        if self.host == "localhost" || self.host.ends_with(".localhost") {
            return true;
        }
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
    }
}

#[cfg(test)]
mod tests;
