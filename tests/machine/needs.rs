//! Build script: says what this machine has that some tests need, so that those which cannot run here count as ignored
//! and not as passed. `touch tests/machine/needs.rs` has it look again. It also lists the files of the sample vault, which
//! are compiled in.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=tests/machine/needs.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-changed=tests/vault");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    list_sample_vault(&out);
    let is_root = succeeds("sh", &["-c", "test $(id -u) = 0"]);
    let others_may_run = out.ancestors().all(is_open_to_others);
    let needs = [
        ("has_bash", has("bash")),
        ("has_emacs", has("emacs")),
        ("has_devices", is_root && can_make_devices(&out)),
        ("has_fish", has("fish")),
        ("has_git", has("git")),
        ("has_jq_and_nc", has("sh") && has("jq") && half_closes("nc")),
        ("has_jq_and_socat", has("sh") && has("jq") && has("socat")),
        ("has_landlock", has_landlock()),
        ("has_mount", is_root && can_mount(&out)),
        ("has_node", has("node")),
        ("has_nvim", has("nvim")),
        ("has_other_users", is_root && others_may_run),
        ("has_python", has("python3")),
        ("has_terminal", Path::new("/dev/ptmx").exists()),
        ("has_zsh", has("zsh")),
        // `root` is bound by none, but may become somebody who is.
        ("is_bound_by_permissions", !is_root || others_may_run),
    ];
    for (need, is_met) in needs {
        println!("cargo::rustc-check-cfg=cfg({need})");
        if is_met {
            println!("cargo::rustc-cfg={need}");
        }
    }
}

/// Writes `FILES`: the path of each file of the sample vault, and its text.
fn list_sample_vault(out: &Path) {
    let vault =
        Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR")).join("tests/vault");
    let mut files = Vec::new();
    let mut folders = vec![vault.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the sample vault can be read") {
            let path = entry.expect("the sample vault can be read").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let line = |file: &PathBuf| {
        let name = file.strip_prefix(&vault).expect("it lies in the vault").to_str().expect("its names are UTF-8");
        // By the folder of the package as it is when this is compiled: a checkout may be moved with its target folder.
        let path = format!("/tests/vault/{}", name.replace('\\', "/"));
        format!("    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),\n")
    };
    let lines: String = files.iter().map(line).collect();
    let list = format!("/// Path in the vault, and text.\npub(super) const FILES: &[(&str, &str)] = &[\n{lines}];\n");
    std::fs::write(out.join("sample.rs"), list).expect("OUT_DIR can be written to");
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Whether this `nc` speaks to sockets of files, and can end its input alone.
fn half_closes(nc: &str) -> bool {
    let help = Command::new(nc).arg("-h").output();
    help.is_ok_and(|help| {
        let said = String::from_utf8_lossy(&help.stdout).into_owned() + &String::from_utf8_lossy(&help.stderr);
        said.contains("-N") && said.contains("-U")
    })
}

fn is_open_to_others(dir: &Path) -> bool {
    dir.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0)
}

fn can_make_devices(dir: &Path) -> bool {
    let trial = dir.join("zero");
    let made = succeeds("mknod", &[&trial.display().to_string(), "c", "1", "5"]);
    // It is not there if it could not be made.
    let _ = std::fs::remove_file(&trial);
    made
}

/// Tries it where nobody else sees it.
fn can_mount(dir: &Path) -> bool {
    let trial = format!("mount -t tmpfs needs '{}'", dir.display());
    succeeds("unshare", &["--mount", "sh", "-c", &trial])
}

/// Asks the kernel for its version of Landlock.
#[cfg(target_os = "linux")]
fn has_landlock() -> bool {
    const VERSION: libc::c_int = 1;
    // SAFETY: with this flag the call takes no pointer and no size, and changes nothing: landlock_create_ruleset(2).
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) > 0 }
}

#[cfg(not(target_os = "linux"))]
fn has_landlock() -> bool {
    false
}
