//! Vaults that a query names: `vault:Work`, `-vault:Archive`.

use std::path::Path;
use std::sync::Arc;

use super::{Handle, VaultShared};
use index::search::Parsed;
use index::search::filter::is_vault;

/// The vaults whose notes may answer, so that the words of others correct nothing; and the others. All of them may answer
/// if none is admitted: then the conditions exclude their notes, and the answer says so.
pub(super) fn admitted(
    parsed: &Parsed,
    vaults: Vec<Arc<VaultShared>>,
) -> (Vec<Arc<VaultShared>>, Vec<Arc<VaultShared>>) {
    let admits = |vault: &Arc<VaultShared>| parsed.filter.admits_vault(&vault.name);
    let (admitted, excluded) = vaults.into_iter().partition(admits);
    if Vec::is_empty(&admitted) { (excluded, admitted) } else { (admitted, excluded) }
}

/// The teams that are searched and that the query's conditions admit.
pub(super) fn admitted_teams(engine: &Handle, parsed: &Parsed) -> Vec<String> {
    engine.0.teams.names().into_iter().filter(|team| parsed.filter.admits_team(team)).collect()
}

/// The names of all vaults, each with its folder as users write it.
pub(in crate::handle) fn folders(engine: &Handle) -> Arc<[(String, String)]> {
    let home = protocol::folders::home();
    let vaults = engine.0.vaults.load();
    let written = vaults.iter().flat_map(|vault| {
        let in_home = home.as_ref().and_then(|home| vault.path.strip_prefix(home).ok());
        let folders = in_home.map(|below| Path::new("~").join(below)).into_iter().chain([vault.path.clone()]);
        folders.map(|folder| (vault.name.clone(), folder.to_string_lossy().into_owned()))
    });
    written.collect()
}

/// What to say of the names among these that no vault and no team has.
pub(in crate::handle) fn unknown(engine: &Handle, named: Vec<&str>) -> Option<String> {
    if named.is_empty() {
        return None;
    }
    let vaults = engine.0.vaults.load();
    let teams = engine.0.teams.names();
    let is_known = |name: &str| {
        vaults.iter().any(|vault| is_vault(name, &vault.name)) || teams.iter().any(|team| is_vault(team, name))
    };
    let unknown: Vec<_> = named.into_iter().filter(|name| !is_known(name)).map(|name| format!("`{name}`")).collect();
    let names = vaults.iter().map(|vault| vault.name.clone()).chain(teams.iter().cloned());
    (!unknown.is_empty()).then(|| {
        let (named, there) = (unknown.join(", "), names.collect::<Vec<_>>().join(", "));
        format!("no vault is called {named}; there are: {there}")
    })
}
