//! Stands in for teams in a build without them: a request for a team gets an error that says so. Such a build refuses a
//! configuration that has teams.

use std::sync::Arc;

use crate::Shared;
use crate::context_job::TeamContext;
use crate::handle::{CallError, Cancel};
use crate::settings::Settings;
use index::embed::Vector;
use index::search::{FoundOutside, Options, Parsed};
use note::fingerprint::ContextKey;
use protocol::note::{GetRequest, NoteText};
use protocol::team::{TeamDifferences, TeamList};

/// No collections.
#[derive(Default)]
pub(super) struct NoTeams;

/// The same name as in a build with teams.
pub(super) type Teams = NoTeams;

fn none<T>() -> Result<T, CallError> {
    Err(CallError::NotConfigured("this program was built without teams (feature `team`)".to_owned()))
}

/// A search that asks no team.
pub(super) struct NoQuestion;

impl NoQuestion {
    #[expect(clippy::unused_self, reason = "as where there are teams")]
    pub(super) fn wait(self, _cancel: &Cancel) -> Result<(FoundOutside, Vec<String>), CallError> {
        Ok((FoundOutside::default(), Vec::new()))
    }
}

#[expect(clippy::unused_self, reason = "as where there are teams")]
impl NoTeams {
    pub(super) fn ask(&self, _query: &Parsed, _options: &Options, _vector: Option<(String, Vector)>) -> NoQuestion {
        NoQuestion
    }

    #[expect(clippy::unused_async, reason = "as where there are teams")]
    pub(super) async fn offered(&self, _keys: &[ContextKey]) -> Vec<TeamContext> {
        Vec::new()
    }

    pub(super) fn note(&self, _request: &GetRequest) -> Result<Option<NoteText>, CallError> {
        Ok(None)
    }

    pub(super) fn leave(&self) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn has_vault(&self, _name: &str) -> bool {
        false
    }

    pub(super) fn note_named<'a>(&self, _typed: &'a str) -> Option<(&'a str, &'a str)> {
        None
    }

    pub(super) fn names(&self) -> Vec<String> {
        Vec::new()
    }

    pub(super) fn configure(&self, _shared: &Arc<Shared>, _settings: &Settings) {}

    pub(super) fn status(&self, _name: Option<&str>) -> Result<TeamList, CallError> {
        none()
    }

    pub(super) fn init(&self, _name: &str, _bits: bool) -> Result<TeamList, CallError> {
        none()
    }

    pub(super) fn publish(&self, _name: Option<&str>, _take_over: bool) -> Result<TeamList, CallError> {
        none()
    }

    pub(super) fn verify(&self, _name: Option<&str>) -> Result<TeamDifferences, CallError> {
        none()
    }

    pub(super) fn take_away(&self, _name: &str) -> Result<(), CallError> {
        none()
    }
}
