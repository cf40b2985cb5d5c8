//! Landlock: the kernel restricts the daemon to the files and connections that it needs, whatever a note, a link or a
//! bug of ours makes it try.
//!
//! The daemon restricts itself once, before its working threads start and before the first note is read. Every later
//! thread inherits the restriction, and nothing can widen it again. For a configuration that needs more, the process
//! restarts itself, by a thread that was started before and does nothing else ([`super::successor`]). Restricted
//! threads cannot read keys or start programs; another such thread reads key files and runs the commands that print keys
//! ([`provider::keep_key_reader`]).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::host::sandbox::remember;
use protocol::folders::{Folders, home};
use protocol::status::{Enforcement, Sandbox};

use crate::daemon::config::Config;
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;
use provider::hub::located;
use provider::models::Shelf;
use vault::root::look_at;

/// What every daemon reads of its system: libraries that resolving names loads, certificates, time zones, what the
/// allocator and the count of processors ask the kernel. Not `/run`, `/home`, `/root`, `/var`, `/tmp`.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/lib",
    "/lib64",
    "/etc",
    // Where some systems keep all of the above.
    "/nix/store",
    "/gnu/store",
    "/proc",
    "/sys",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
    "/dev/null",
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/var/lib/ca-certificates",
];

/// Variables that name more files of the system.
const NAMED: [&str; 4] = ["TZDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "CREDENTIALS_DIRECTORY"];

/// What the daemon may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Files, and folders with all below them, that are read.
    pub reads: BTreeSet<PathBuf>,
    /// Folders in which it may do anything, except with programs and devices.
    pub writes: BTreeSet<PathBuf>,
    /// Folders in which it may remove files: where its socket is.
    pub clears: BTreeSet<PathBuf>,
    /// Folders below which it may make folders and sockets, because others may remove its own.
    pub makes: BTreeSet<PathBuf>,
    /// Whether it may open TCP connections; it never accepts any.
    pub connects: bool,
    /// Whether commands print keys.
    pub commands: bool,
}

impl Rules {
    /// What a daemon needs: `file` is its configuration, `socket` is bound already.
    pub fn of(config: &Config, file: &Path, socket: &Path) -> Rules {
        let mut rules = Rules::default();
        rules.reads.extend(SYSTEM.iter().map(PathBuf::from));
        rules
            .reads
            .extend(NAMED.iter().filter_map(std::env::var_os).map(PathBuf::from).filter(|path| path.is_absolute()));
        for vault in &config.engine.vaults {
            rules.reads.insert(vault.path.clone());
            // In a worktree or a submodule `.git` is a file that says where git's lock would be.
            rules.reads.extend(vault.path.ancestors().map(|dir| dir.join(".git")).filter(|git| is_file(git)));
        }
        // The configuration's folder, because editors replace the file by a new one. And the folder of its target, if
        // it is a link.
        rules.reads.extend(
            [file.to_owned()].into_iter().chain(file.canonicalize()).filter_map(|file| Some(file.parent()?.to_owned())),
        );
        rules.reads.extend(config.engine.host.battery.clone());
        rules.providers(config);
        rules.writes.insert(config.engine.data_dir.clone());
        let Folders { state_dir, home, .. } = Folders::here();
        rules.writes.extend(state_dir);
        let apart = |dir: &&Path| {
            let above = |path: &Path| path.starts_with(dir);
            !config.engine.vaults.iter().any(|vault| above(&vault.path)) && !home.as_deref().is_some_and(above)
        };
        let private = |dir: &&Path| {
            let shared = std::fs::metadata(dir).is_ok_and(|meta| platform::files::mode(&meta) & 0o1022 != 0);
            !shared && apart(dir)
        };
        // The daemon may not remove anything from a folder that holds more than the socket: it leaves the socket there,
        // and the next daemon clears it away.
        rules.clears.extend(socket.parent().filter(private).map(Path::to_owned));
        // The daemon recreates a removed socket and its folder, but never makes anything where notes are.
        let folders = socket.ancestors().skip(1).take(2).filter(|dir| dir.parent().is_some());
        rules.makes.extend(folders.filter(apart).map(Path::to_owned));
        rules
    }

    /// The same without what is not there to be read, or does not answer. The kernel allows what there is, so what comes
    /// later needs a restart, though it was named before.
    #[must_use]
    pub fn granted(mut self) -> Rules {
        self.reads.retain(|path| look_at(path, Path::metadata).is_ok());
        self
    }

    /// What models need: commands, folders, connections.
    fn providers(&mut self, config: &Config) {
        self.commands = config.keys().any(|key| key.command.is_some());
        self.reads.extend(config.engine.teams.values().filter_map(|team| team.ca_file.clone()));
        let rerank = config.engine.rerank.provider;
        let (shelf, hub_cache) = (Shelf::of(&config.engine.data_dir), Folders::here().hub_cache);
        self.connects = !config.over_http().is_empty();
        if rerank == RerankProvider::Transformer {
            // A model that is added while the daemon runs is in its data folder, which it reads anyway.
            self.model(
                config.engine.rerank.model.as_deref().and_then(|model| located(model, shelf.folder(), &hub_cache)),
            );
        }
        if config.engine.embed.provider == EmbedProvider::Transformer {
            let model = config.engine.embed.model.as_deref();
            let found = model.and_then(|model| located(model, shelf.folder(), &hub_cache));
            let named = model.and_then(folder);
            // A model that is neither a folder nor here comes from a hub, or from where other programs will have put
            // it.
            self.connects |= named.is_none() && found.is_none();
            self.model(Some(named.or(found).unwrap_or(hub_cache)));
        }
        if config.engine.embed.provider == EmbedProvider::Static {
            self.model(config.engine.embed.path.clone());
        }
        self.served_tables(config);
    }

    /// The tables that serve until another embedder takes over. The daemon itself wrote down where they are, so it must
    /// not be able to give itself more rights in this way: only the two files, by their names, and no links.
    fn served_tables(&mut self, config: &Config) {
        let vaults = config.engine.vaults.iter();
        let folders = vaults.flat_map(|vault| engine::served_tables(&config.engine.data_dir, &vault.path));
        let files = folders.flat_map(|folder| provider::TABLE_FILES.map(|name| folder.join(name)));
        self.reads.extend(files.filter(|file| file.symlink_metadata().is_ok_and(|meta| meta.is_file())));
    }

    /// The folder of a model, and the targets of the links in it: in a hub's cache all files are elsewhere.
    fn model(&mut self, folder: Option<PathBuf>) {
        let Some(folder) = folder else { return };
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        self.reads.extend(links.filter_map(|link| link.path().canonicalize().ok()).filter(|file| file.is_file()));
        self.reads.insert(folder);
    }

    /// What `wanted` needs and these rules do not allow, in words; `None` if they allow all of it.
    pub fn lacks(&self, wanted: &Rules) -> Option<String> {
        let allowed = |path: &PathBuf, rules: &[&BTreeSet<PathBuf>]| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            rules
                .iter()
                .flat_map(|rules| rules.iter())
                .any(|rule| path.starts_with(rule) || rule.canonicalize().is_ok_and(|rule| real.starts_with(rule)))
        };
        let lacking = |path: &&PathBuf| !allowed(path, &[&self.reads, &self.writes]) && path.exists();
        if let Some(path) = wanted.reads.iter().find(lacking) {
            return Some(format!("read {}", path.display()));
        }
        if let Some(path) = wanted.writes.iter().find(|path| !allowed(path, &[&self.writes])) {
            return Some(format!("write to {}", path.display()));
        }
        match (wanted.connects && !self.connects, wanted.commands && !self.commands) {
            (true, _) => Some("open network connections".to_owned()),
            (_, true) => Some("run the command that prints the key".to_owned()),
            (false, false) => None,
        }
    }
}

/// Restricts the calling thread and all that it starts from now on. Never fails: the result says what could not be
/// restricted.
pub fn enter(config: &Config, rules: &Rules) -> &'static Sandbox {
    let unheld = |why: &str| Sandbox { network: true, why: Some(why.to_owned()), ..Sandbox::default() };
    let sandbox = if config.engine.host.sandbox {
        restrict(rules).unwrap_or_else(|why| unheld(&why))
    } else {
        unheld("it is switched off (`host.sandbox`)")
    };
    if sandbox.landlock != Enforcement::Full && config.engine.host.sandbox {
        let why = sandbox.why.as_deref().unwrap_or_default();
        tracing::info!("the kernel does not hold this process to its files as it should: {why}");
    }
    remember(sandbox)
}

/// The kernel's version of Landlock; `None` if it has none, or it is switched off.
#[cfg(target_os = "linux")]
pub fn kernel_abi() -> Option<u32> {
    /// `LANDLOCK_CREATE_RULESET_VERSION`.
    const VERSION: libc::c_uint = 1;
    // SAFETY: asks for a number and passes no memory.
    #[allow(unsafe_code)]
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(abi).ok().filter(|abi| *abi > 0)
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub fn kernel_abi() -> Option<u32> {
    None
}

/// Restricts the calling thread.
#[cfg(target_os = "linux")]
pub fn restrict(rules: &Rules) -> Result<Sandbox, String> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus,
    };

    // The version that the rules were tried with; further rights of a newer kernel are left alone.
    const TRIED: ABI = ABI::V5;
    let Some(abi) = kernel_abi() else {
        return Err("this kernel has no Landlock, or it is switched off (5.13 and later; `lsm=` at boot)".to_owned());
    };
    let failed = |error: landlock::RulesetError| format!("the kernel refused: {error}");
    let all = AccessFs::from_all(TRIED);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev | AccessFs::Execute;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.handle_access(AccessNet::BindTcp))
        .map_err(failed)?;
    if !rules.connects {
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp).map_err(failed)?;
    }
    let mut created = ruleset.create().map_err(failed)?;
    let null = BTreeSet::from([PathBuf::from("/dev/null")]);
    let granted = [
        (&rules.reads, read),
        (&rules.writes, all & !devices),
        (&rules.clears, AccessFs::RemoveFile.into()),
        (&rules.makes, AccessFs::MakeSock | AccessFs::MakeDir),
        (&null, AccessFs::ReadFile | AccessFs::WriteFile),
    ];
    for (paths, access) in granted {
        for path in paths {
            // A path that does not exist cannot be allowed, and need not be.
            let Ok(fd) = PathFd::new(path) else { continue };
            let access = if path.is_dir() { access } else { access & AccessFs::from_file(TRIED) };
            created = created.add_rule(PathBeneath::new(fd, access)).map_err(failed)?;
        }
    }
    let landlock = match created.restrict_self().map_err(failed)?.ruleset {
        RulesetStatus::FullyEnforced => Enforcement::Full,
        RulesetStatus::PartiallyEnforced => Enforcement::Partial,
        RulesetStatus::NotEnforced => Enforcement::None,
    };
    let why = match landlock {
        Enforcement::Full if rules.commands => {
            return Ok(Sandbox {
                landlock: Enforcement::Partial,
                abi,
                network: rules.connects,
                why: Some("the command that prints a key is run outside of it".to_owned()),
            });
        }
        Enforcement::Full => None,
        Enforcement::Partial => {
            Some(format!("this kernel's Landlock (version {abi}) knows not all of the rules: {}", unknown(abi)))
        }
        Enforcement::None => Some("the kernel enforced nothing".to_owned()),
    };
    Ok(Sandbox { landlock, abi, network: rules.connects || abi < 4 || landlock == Enforcement::None, why })
}

/// What an old version of Landlock does not prevent.
#[cfg(target_os = "linux")]
fn unknown(abi: u32) -> &'static str {
    match abi {
        0..=2 => "files can be cut short, network connections opened",
        3 => "network connections can be opened",
        _ => "devices can be controlled",
    }
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub fn restrict(_rules: &Rules) -> Result<Sandbox, String> {
    Err("only Linux has Landlock".to_owned())
}

fn is_file(path: &Path) -> bool {
    look_at(path, Path::metadata).is_ok_and(|meta| meta.is_file())
}

/// The folder of a model that is written as a path.
fn folder(model: &str) -> Option<PathBuf> {
    match model.strip_prefix("~/") {
        Some(rest) => Some(home()?.join(rest)),
        None if model.starts_with('/') => Some(model.into()),
        None if model.starts_with('.') => std::path::absolute(model).ok(),
        None => None,
    }
}

#[cfg(all(test, unix))]
mod tests;
