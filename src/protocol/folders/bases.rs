//! The folders that a platform gives all programs: what differs between platforms, and no more.

use std::path::{Path, PathBuf};

use directories::BaseDirs;

/// How a platform lays out a home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    /// Linux and its like, after the XDG base directory specification.
    Xdg,
    /// A Mac.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// That of this build.
    pub(super) const HERE: Platform = if cfg!(target_os = "macos") {
        Platform::Mac
    } else if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Xdg
    };
}

/// The folders of all programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bases {
    /// Absolute, or `None`.
    pub(super) home: Option<PathBuf>,
    pub(super) config: PathBuf,
    pub(super) data: PathBuf,
    pub(super) state: Option<PathBuf>,
    /// Where programs from elsewhere cache what they download: on a Mac and on Windows too they follow XDG.
    pub(super) cache: PathBuf,
    pub(super) runtime: Option<PathBuf>,
}

impl Bases {
    /// As `directories` finds them for this process.
    pub(super) fn here(platform: Platform) -> Bases {
        let Some(dirs) = BaseDirs::new() else { return Bases::usual(platform, Path::new("")) };
        let usual = Bases::usual(platform, dirs.home_dir());
        // Below a home folder with a relative path nothing has a place.
        let absolute = |found: &Path, usual: PathBuf| if found.is_absolute() { found.to_owned() } else { usual };
        let cache = match platform {
            Platform::Xdg => absolute(dirs.cache_dir(), usual.cache),
            Platform::Mac | Platform::Windows => usual.cache,
        };
        // An index is of one machine, and does not roam with its user.
        let data = if platform == Platform::Windows { dirs.data_local_dir() } else { dirs.data_dir() };
        Bases {
            home: usual.home,
            config: absolute(dirs.config_dir(), usual.config),
            data: absolute(data, usual.data),
            state: usual.state.map(|usual| dirs.state_dir().map_or(usual.clone(), |found| absolute(found, usual))),
            cache,
            runtime: dirs.runtime_dir().map(Path::to_owned),
        }
    }

    /// Where no variable says otherwise.
    pub(super) fn usual(platform: Platform, home: &Path) -> Bases {
        let home = Some(home).filter(|home| home.is_absolute()).map(Path::to_owned);
        // Without a home there is no good place; the root is one where creating fails with a clear message.
        let below = |folder: &str| home.as_deref().unwrap_or(Path::new("/")).join(folder);
        let (config, data, state) = match platform {
            Platform::Xdg => (".config", ".local/share", Some(".local/state")),
            Platform::Mac => ("Library/Application Support", "Library/Application Support", None),
            Platform::Windows => ("AppData/Roaming", "AppData/Local", None),
        };
        Bases {
            config: below(config),
            data: below(data),
            state: state.map(below),
            cache: below(".cache"),
            runtime: None,
            home,
        }
    }

    /// The home folder, or the root.
    pub(super) fn root(&self) -> &Path {
        self.home.as_deref().unwrap_or(Path::new("/"))
    }
}
