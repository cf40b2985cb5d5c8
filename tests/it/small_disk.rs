//! A disk that a test can fill.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system of its own; unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path, size: &str) -> Self {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={size},mode=700");
        let run = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "situated-test"]).arg(at).output();
        assert!(run.unwrap().status.success());
        SmallDisk(at.to_owned())
    }

    /// Takes all space that is left.
    pub(crate) fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.0.join("filler")).unwrap();
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    pub(crate) fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The daemon may still be ending; a lazy unmount waits for it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}
