//! STUB in this worktree.

/// STUB.
pub mod params {
    /// The whole protocol as JSON Schema.
    pub fn schema() -> serde_json::Value {
        serde_json::json!({})
    }
}

/// STUB.
pub mod locate {
    use std::path::{Path, PathBuf};

    /// What the choice of a path depends on besides the configuration.
    #[derive(Clone, Debug)]
    pub struct Surroundings;

    impl Surroundings {
        /// Those of this process.
        pub fn here() -> Self {
            Surroundings
        }
        /// The socket at which a client asks.
        pub fn find(&self, configured: Option<&Path>, data_dir: &Path) -> PathBuf {
            configured.map_or_else(|| data_dir.join("sock"), Path::to_path_buf)
        }
    }

    /// Whether a daemon holds the lock of `data_dir`, or is about to.
    pub fn is_locked(_data_dir: &Path) -> bool {
        false
    }
}

/// STUB.
pub mod bind {
    use std::path::Path;

    /// Why the daemon cannot start.
    #[derive(Debug, thiserror::Error)]
    #[error("locked")]
    pub struct BindError;

    impl BindError {
        /// The program's exit code.
        pub fn exit_code(&self) -> u8 {
            75
        }
    }

    /// The exclusive right to a data folder.
    #[derive(Debug)]
    pub struct DataLock;

    impl DataLock {
        /// Takes the lock, making the folder if need be.
        pub fn acquire(_data_dir: &Path) -> Result<DataLock, BindError> {
            Ok(DataLock)
        }
    }
}
