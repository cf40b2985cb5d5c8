//! Where the vaults of an answer are on the disk, for what a person opens.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::open::{Place, file_url, host};
use super::session::CliFailure;
use super::target;
use protocol::client::Client;
use protocol::hit::Hit;

/// The folders of the vaults, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Roots {
    folders: BTreeMap<String, PathBuf>,
    /// The name of this machine.
    host: String,
}

impl Roots {
    /// Asks the daemon for the folders.
    pub(super) fn ask(client: &mut Client) -> Result<Self, CliFailure> {
        let folders = target::vaults(client)?.into_iter().map(|vault| (vault.name, vault.path)).collect();
        Ok(Roots { folders, host: host() })
    }

    /// Where a hit is on the disk.
    pub(super) fn place(&self, hit: &Hit) -> Option<Place> {
        self.place_of(&hit.vault, &hit.path, hit.best_line())
    }

    /// Where a line of a note is on the disk.
    pub(super) fn place_of(&self, vault: &str, path: &str, line: u32) -> Option<Place> {
        Place::of(self.folders.get(vault)?, path, line)
    }

    /// A hit's note on the disk; its path in the vault if that is all that is known.
    pub(super) fn file(&self, hit: &Hit) -> PathBuf {
        self.place(hit).map_or_else(|| PathBuf::from(&hit.path), |place| place.file)
    }

    /// A hit's note as an address that terminals open.
    pub(super) fn url(&self, hit: &Hit) -> Option<String> {
        self.place(hit).map(|place| self.url_of(&place))
    }

    /// A place as an address that terminals open.
    pub(super) fn url_of(&self, place: &Place) -> String {
        file_url(&place.file, &self.host)
    }
}
