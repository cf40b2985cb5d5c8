//! Replaces signatures in a program that was built without them.

use std::time::SystemTime;

use secrecy::SecretString;

use super::{Place, Signer};
use crate::wire::Request;
use crate::{Failure, FailureKind};
use context::settings::NO_BEDROCK;

pub(super) fn signature(
    _request: &Request,
    place: Place<'_>,
    signer: Signer<'_>,
    _now: SystemTime,
) -> Result<Vec<(&'static str, SecretString)>, Failure> {
    // Only a signature uses these.
    let _ = (place.host, place.region, signer.access, signer.secret, signer.session);
    Err(Failure::new(FailureKind::Rejected, NO_BEDROCK))
}
