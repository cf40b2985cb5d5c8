//! AWS Signature Version 4.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use secrecy::{ExposeSecret as _, SecretString};

use super::{Place, Signer};
use crate::wire::Request;
use crate::{Failure, FailureKind};

/// The headers of a signature over a request's headers, its host and its body.
pub(super) fn signature(
    request: &Request,
    place: Place<'_>,
    signer: Signer<'_>,
    now: SystemTime,
) -> Result<Vec<(&'static str, SecretString)>, Failure> {
    // The words of the library are left out, because they may quote what it was given.
    let failed = |what: &str| Failure::new(FailureKind::Rejected, format!("the request could not be signed: {what}"));
    let session = signer.session.map(|session| session.expose_secret().to_owned());
    let credentials =
        Credentials::new(signer.access.expose_secret(), signer.secret.expose_secret(), session, None, "situated");
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(place.region)
        .name("bedrock")
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| failed("its parameters are incomplete"))?
        .into();
    let headers = request.headers.iter().map(|(name, value)| (*name, value.expose_secret()));
    let headers = headers.chain([("host", place.host)]);
    let signable = SignableRequest::new("POST", &request.url, headers, SignableBody::Bytes(&request.body))
        .map_err(|_| failed("its address or headers cannot be read"))?;
    let (instructions, _) = sign(signable, &params).map_err(|_| failed("the key cannot be used"))?.into_parts();
    let (headers, _) = instructions.into_parts();
    Ok(headers.into_iter().map(|header| (header.name(), header.value().into())).collect())
}
