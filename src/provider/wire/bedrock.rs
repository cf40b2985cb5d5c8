//! Anthropic's models on AWS Bedrock: the Messages body, the model in the path, a bearer key or a signature.

#[cfg(feature = "bedrock")]
mod sign;
#[cfg(not(feature = "bedrock"))]
#[path = "bedrock/unsigned.rs"]
mod sign;

use std::time::SystemTime;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde_json::json;

use super::super::Failure;
use super::address::Address;
use super::anthropic::{Asking, Keep};
use super::{Field, Request};
use crate::key::Key;
use context::models::Model;
use context::prompt::Prompt;
use context::settings::{ContextConfig, NO_BEDROCK};

/// Version of the body that every model there takes.
const BODY_VERSION: &str = "bedrock-2023-05-31";

/// From this version on, Bedrock has the same version dates as Anthropic; it is sent only if configured.
const SAME_VERSIONS: &str = "2026-10-21";

/// What is encoded in a segment of a path: ids hold `:`, and ARNs hold `/`. The signature is over the path encoded once
/// more.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A model on Bedrock.
#[derive(Clone, Debug)]
pub(crate) struct Bedrock {
    pub(super) address: Address,
    region: String,
    body_version: String,
    pub(super) asking: Asking,
}

/// Where a signed request goes.
#[derive(Clone, Copy)]
struct Place<'a> {
    host: &'a str,
    region: &'a str,
}

/// Who signs it.
#[derive(Clone, Copy)]
struct Signer<'a> {
    access: &'a SecretString,
    secret: &'a SecretString,
    session: Option<&'a SecretString>,
}

impl Bedrock {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Self, String> {
        if cfg!(not(feature = "bedrock")) {
            return Err(NO_BEDROCK.to_owned());
        }
        let region = config.region.trim();
        if region.is_empty() || !region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return Err("the region of Bedrock is a name such as us-east-1".to_owned());
        }
        let vendor = format!("https://bedrock-runtime.{region}.amazonaws.com");
        let newer = config.api_version.as_str() >= SAME_VERSIONS;
        Ok(Bedrock {
            address: Address::parse(config.base_url.as_deref().unwrap_or(&vendor), &[])?,
            region: region.to_owned(),
            body_version: if newer { config.api_version.clone() } else { BODY_VERSION.to_owned() },
            asking: Asking::new(config, model),
        })
    }

    pub(super) fn request(
        &self,
        prompt: &Prompt,
        key: Option<&Key>,
        without: &[Field],
        now: SystemTime,
    ) -> Result<Request, Failure> {
        let mut body = self.asking.body(prompt, without, Keep::Short);
        body["anthropic_version"] = json!(self.body_version);
        let url = self.address.join(&format!("/model/{}/invoke", utf8_percent_encode(&self.asking.model.id, RESERVED)));
        let mut request = Request { url, headers: vec![super::plain(super::JSON)], body: super::bytes(&body) };
        match key {
            Some(Key::Bearer(key)) => request.headers.push(super::bearer(key)),
            Some(Key::Aws { access, secret, session }) => {
                let place = Place { host: self.address.authority(), region: &self.region };
                let signer = Signer { access, secret, session: session.as_ref() };
                let signed = sign::signature(&request, place, signer, now)?;
                request.headers.extend(signed);
            }
            None if self.address.is_loopback() => {}
            None => return Err(super::no_key(&self.address, "context", "no key is found")),
        }
        // Not signed, as in the vendor's own client: a proxy in between may change it.
        request.headers.push(super::plain(("accept", "application/json")));
        Ok(request)
    }
}

#[cfg(test)]
mod tests;
