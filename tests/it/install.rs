//! `situated service` against a manager that is a shell script: it writes down what it is asked, and really starts what
//! the unit names. Under a real systemd the same is run by `.ci/service`, where that can be.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{Place, eventually};

/// As much of `systemctl --user` as is asked. `$HOME/silent` makes it say that it reaches nobody.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >>"$HOME/calls"
units="$HOME/.config/systemd/user"
[ "$1" = --user ] && shift
if [ -e "$HOME/silent" ]; then echo "Failed to connect to bus: No medium found" >&2; exit 1; fi
end() { # the daemon is waited for, but is no child of this shell
  [ -s "$HOME/pid" ] || return 0
  kill "$(cat "$HOME/pid")" 2>/dev/null
  while kill -0 "$(cat "$HOME/pid")" 2>/dev/null; do sleep 0.02; done
  : >"$HOME/pid"
}
case "$1 $2" in
"show --property=Version") echo "Version=252"; echo "UnitPath=$units $HOME/packaged" ;;
"show situated.service")
  unit="$units/situated.service"; [ -e "$unit" ] || unit="$HOME/packaged/situated.service"
  if [ -s "$HOME/pid" ] && kill -0 "$(cat "$HOME/pid")" 2>/dev/null; then
    echo "ActiveState=active"; echo "MainPID=$(cat "$HOME/pid")"; echo "ActiveEnterTimestamp=@1700000000"
  elif [ -s "$HOME/status" ]; then
    echo "ActiveState=failed"; echo "Result=exit-code"; echo "ExecMainStatus=$(cat "$HOME/status")"; echo "MainPID=0"
  else
    echo "ActiveState=inactive"; echo "Result=success"; echo "MainPID=0"
  fi ;;
"restart --no-block" | "start --no-block")
  [ "$1" = start ] || end
  unit="$units/situated.service"; [ -e "$unit" ] || unit="$HOME/packaged/situated.service"
  [ -d "$HOME/data" ] || echo "$1 without a data folder" >>"$HOME/calls"
  command=$(sed -n 's/^ExecStart=//p' "$unit"); : >"$HOME/status"
  ( sh -c 'echo $$ >"$HOME/pid"; exec '"$command"; echo $? >"$HOME/status" ) >/dev/null 2>&1 & ;;
"stop situated.service") end; : >"$HOME/status" ;;
"reset-failed situated.service") : >"$HOME/status" ;;
"daemon-reload ") ;;
*) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
"#;

/// A home with a manager in it.
struct Home(Place);

impl Home {
    fn new() -> Home {
        let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
        place.configure("");
        let home = Home(place);
        home.program("systemctl", SYSTEMCTL);
        home.program("systemd-run", "#!/bin/sh\necho \"run $*\" >>\"$HOME/calls\"\n");
        home.program("loginctl", "#!/bin/sh\necho 'Access denied' >&2\nexit 1\n");
        home
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.at("bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.dir.path().join(path)
    }

    fn units(&self) -> PathBuf {
        self.at(".config/systemd/user")
    }

    fn command(&self) -> Command {
        let mut command = self.0.command();
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.at("bin")).chain(std::env::split_paths(&usual));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Runs it; its exit code, and all that it said.
    fn said(&self, arguments: &[&str]) -> (i32, String) {
        told(&self.run(arguments))
    }

    /// Runs it, and it has to go well.
    fn well(&self, arguments: &[&str]) -> String {
        let (code, said) = self.said(arguments);
        assert_eq!(code, 0, "{arguments:?}: {said}");
        said
    }

    /// Everything below the units' folder, as text, links as what they lead to.
    fn installed(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.units(), &self.units(), &mut found);
        found.sort();
        found
    }

    fn calls(&self) -> String {
        std::fs::read_to_string(self.at("calls")).unwrap_or_default()
    }

    fn status(&self) -> Value {
        serde_json::from_slice(&self.run(&["service", "status", "--json"]).stdout).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What the script has started.
        if let Some(pid) = std::fs::read_to_string(self.at("pid")).ok().and_then(|text| text.trim().parse().ok()) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            list(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

fn told(output: &Output) -> (i32, String) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

const UNIT: &str = "situated.service";
const LINK: &str = "default.target.wants/situated.service";

#[test]
fn it_is_installed_runs_is_asked_and_goes() {
    let home = Home::new();
    let dry = home.well(&["service", "install", "--dry-run"]);
    assert!(dry.contains("ExecStart=") && dry.contains("nothing was written"), "{dry}");
    assert!(home.installed().is_empty() && !home.at("data").exists(), "{:?}", home.installed());
    let (code, said) = home.said(&["service", "status"]);
    assert!(code == 3 && said.contains("not installed"), "{code} {said}");
    for verb in ["start", "restart", "stop"] {
        let (code, said) = home.said(&["service", verb]);
        assert!(code == 69 && said.contains("`situated service install`"), "{verb}: {code} {said}");
    }

    let said = home.well(&["service", "install"]);
    assert!(said.contains("running (pid ") && said.contains("answered after"), "{said}");
    // In a folder for temporary files, and with data elsewhere than usual.
    let dropped = ["situated.service.d/10-sandbox.conf", "situated.service.d/30-paths.conf"];
    assert_eq!(home.installed(), [LINK, UNIT, dropped[0], dropped[1]]);
    assert!(home.calls().contains("run --user --wait --collect --quiet -p PrivateUsers=yes"), "{}", home.calls());
    let paths = std::fs::read_to_string(home.units().join(dropped[1])).unwrap();
    assert!(paths.contains(&format!("ReadWritePaths=-{}", home.at("data").display())), "{paths}");
    let told = home.well(&["service", "status"]);
    assert!(told.contains("running since") && told.contains("no network"), "{told}");
    let status = home.status();
    assert_eq!(status["service"]["pid"], status["daemon"]["pid"]);
    let flags = ["enabled", "running", "ours", "strict", "program_exists", "program_is_this"];
    assert!(flags.iter().all(|flag| status["service"][flag] == true), "{status}");
    assert!(status["service"]["older"] == false && status["service"]["packaged"] == false, "{status}");

    // Once more, and nothing is done.
    let before = home.calls().matches("restart").count();
    assert!(home.well(&["service", "install"]).contains("installed already"));
    assert_eq!(home.calls().matches("restart").count(), before);
    assert!(home.well(&["service", "start"]).contains("it runs already"));
    assert!(home.well(&["service", "logs"]).contains("the daemon listens"));
    assert!(home.well(&["service", "install", "--linger"]).contains("lingering was refused (Access denied)"));

    assert!(home.well(&["service", "stop"]).contains("stopped"));
    assert_eq!(home.said(&["service", "status"]).0, 3);
    // The service may make no folder beside its own.
    std::fs::remove_dir_all(home.at("data")).unwrap();
    assert!(home.well(&["service", "restart"]).contains("running anew"));
    assert!(!home.calls().contains("without a data folder"), "{}", home.calls());
    assert!(home.well(&["service", "uninstall"]).contains("indexes and vaults stay"));
    assert!(home.installed().is_empty() && home.at("data/vaults").exists());
    assert!(home.well(&["service", "uninstall"]).contains("nothing was done"));
    let (code, said) = home.said(&["service", "uninstall", "--purge"]);
    assert!(code == 2 && said.contains("--yes") && home.at("data/vaults").exists(), "{code} {said}");
    home.well(&["service", "uninstall", "--purge", "--yes"]);
    assert!(!home.at("data").exists() && home.0.vault.join("a.md").exists());
}

#[test]
fn what_an_installation_would_do_is_shown_while_a_daemon_runs_that_is_not_the_services() {
    let home = Home::new();
    let mut daemon = home.0.spawn(&["run"]);
    daemon.wait_idle();
    let dry = home.well(&["service", "install", "--dry-run"]);
    assert!(dry.contains("ExecStart=") && dry.contains("end it with `situated stop`"), "{dry}");
    let (code, said) = home.said(&["service", "install"]);
    assert!(code == 75 && said.contains("end it with `situated stop`") && home.installed().is_empty(), "{code} {said}");
}

#[test]
fn an_installation_that_fails_is_told_and_undone() {
    let home = Home::new();
    std::fs::write(home.0.socket_place(), "in the way").unwrap();
    std::fs::create_dir_all(home.units()).unwrap();
    let older = "[Unit]\nX-SituatedVersion=0.0.9\n[Service]\nExecStart=/bin/false\n";
    std::fs::write(home.units().join(UNIT), older).unwrap();
    let (code, said) = home.said(&["service", "install"]);
    assert_eq!(code, 73, "{said}");
    for expected in
        ["in place of that of situated 0.0.9", "did not come up", "is in the way and is no socket", "as it was"]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(home.installed(), [UNIT]);
    assert_eq!(std::fs::read_to_string(home.units().join(UNIT)).unwrap(), older);
    std::fs::remove_file(home.0.socket()).unwrap();
    assert!(home.status()["service"]["older"] == true);
    home.well(&["service", "install"]);
    assert!(home.status()["service"]["older"] == false);
    // A configuration that turned wrong is told by the code, and starts nothing again and again.
    home.0.configure("\n[search]\nlimmit = 3\n");
    let (code, said) = home.said(&["service", "restart"]);
    assert!(code == 78 && said.contains("the configuration is wrong"), "{code} {said}");
    let (code, said) = home.said(&["service", "status"]);
    assert!(code == 3 && said.contains("failed: the configuration is wrong"), "{code} {said}");
    let (code, said) = home.said(&["service", "install"]);
    assert!(code == 78 && said.contains("limmit"), "{code} {said}");
}

#[test]
fn a_sandbox_that_cannot_be_had_is_left_out() {
    let home = Home::new();
    home.program("systemd-run", "#!/bin/sh\necho 'Job failed: 217/USER' >&2\nexit 217\n");
    let said = home.well(&["service", "install"]);
    assert!(said.contains("strict sandbox is left out") && said.contains("217/USER"), "{said}");
    assert!(!home.installed().iter().any(|file| file.contains("sandbox")), "{:?}", home.installed());
    assert!(home.well(&["service", "status"]).contains("without the strict part"));
    // One day it can be had.
    home.program("systemd-run", "#!/bin/sh\n");
    home.well(&["service", "install"]);
    assert!(home.installed().iter().any(|file| file.contains("sandbox")), "{:?}", home.installed());
}

#[test]
fn a_provider_gets_its_network_and_loses_it_again() {
    let home = Home::new();
    home.well(&["service", "install"]);
    home.0.configure("\n[context]\nprovider = \"ollama\"\nmodel = \"none\"\n");
    // The daemon may start itself anew; what the service may do is not its own to change.
    let (code, said) = home.said(&["config", "reload"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("may not use the network") && said.contains("[context] ollama"), "{said}");
    home.well(&["service", "install"]);
    let drop_in = home.units().join("situated.service.d/20-network.conf");
    assert!(std::fs::read_to_string(&drop_in).unwrap().contains("AF_INET6"));
    let strict = std::fs::read_to_string(home.units().join("situated.service.d/10-sandbox.conf")).unwrap();
    assert!(!strict.contains("PrivateNetwork"), "{strict}");
    assert!(!home.well(&["config", "reload"]).contains("may not use"));
    home.0.configure("\n[context]\nproviderr = \"ollama\"\n");
    let (code, said) = home.said(&["config", "reload"]);
    assert!(code == 1 && said.contains("config.toml:") && said.contains("old configuration stays"), "{code} {said}");
    home.0.configure("");
    home.well(&["service", "install"]);
    assert!(!drop_in.exists());
}

#[test]
fn without_a_manager_it_is_said_what_can_be_done() {
    let home = Home::new();
    // A user's systemd that does not answer: no login session, no bus.
    std::fs::write(home.at("silent"), "").unwrap();
    let said = home.well(&["service", "install"]);
    assert!(said.contains("No medium found") && said.contains("starts at the next login"), "{said}");
    assert_eq!(home.installed()[..2], [LINK, UNIT]);
    assert_eq!(std::fs::read_link(home.units().join(LINK)).unwrap(), home.units().join(UNIT));
    let (code, said) = home.said(&["service", "status"]);
    assert!(code == 3 && said.contains("cannot be asked"), "{code} {said}");
    let (code, said) = home.said(&["service", "start"]);
    assert!(code == 69 && said.contains("No medium found") && said.contains("situated run"), "{code} {said}");
    home.well(&["service", "uninstall"]);
    assert!(home.installed().is_empty());

    // No systemd at all.
    let run = |arguments: &[&str]| told(&home.command().env("PATH", home.at("none")).args(arguments).output().unwrap());
    let (code, said) = run(&["service", "install"]);
    assert!(code == 69 && said.contains("no systemd here") && said.contains("situated run"), "{code} {said}");
    assert!(run(&["service", "status"]).1.contains("not installed"));
    let (code, said) = run(&["service", "logs"]);
    assert!(code == 1 && said.contains("no log yet"), "{code} {said}");
    assert!(home.installed().is_empty());
}

#[test]
fn what_is_in_the_way_is_told_and_left() {
    let home = Home::new();
    // A daemon that was started by hand.
    let daemon = home.0.spawn(&["run"]);
    eventually("it runs", || home.run(&["call", "ping"]).status.success());
    let (code, said) = home.said(&["service", "install"]);
    assert!(
        code == 75 && said.contains(&format!("(pid {})", daemon.pid())) && said.contains("situated stop"),
        "{said}"
    );
    assert!(home.installed().is_empty());
    assert!(home.well_or_not(&["service", "status"]).contains("was started by hand"));
    assert_eq!(daemon.stop(), Some(0));

    // A folder that cannot be made.
    std::fs::create_dir_all(home.at(".config")).unwrap();
    std::fs::write(home.at(".config/systemd"), "").unwrap();
    let (code, said) = home.said(&["service", "install"]);
    assert!(code == 73 && said.contains("cannot create") && said.contains(".config/systemd"), "{code} {said}");
    std::fs::remove_file(home.at(".config/systemd")).unwrap();

    // A unit of somebody's own making.
    std::fs::create_dir_all(home.units()).unwrap();
    std::fs::write(home.units().join(UNIT), "[Service]\nExecStart=/bin/false\n").unwrap();
    let (code, said) = home.said(&["service", "install"]);
    assert!(code == 73 && said.contains("--force"), "{code} {said}");
    assert_eq!(home.said(&["service", "uninstall"]).0, 73);
    assert!(home.units().join(UNIT).exists());
    home.well(&["service", "install", "--force"]);
}

impl Home {
    fn well_or_not(&self, arguments: &[&str]) -> String {
        self.said(arguments).1
    }
}

#[test]
fn a_packaged_unit_is_used_and_two_are_told() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_situated");
    std::fs::create_dir(home.at("packaged")).unwrap();
    let packaged = home.at("packaged/situated.service");
    let arguments = format!(
        "--config {} --data-dir {} --socket {}",
        home.at("config.toml").display(),
        home.at("data").display(),
        home.0.socket().display()
    );
    let text = format!("[Unit]\nX-SituatedVersion=0.0.9\n[Service]\nExecStart={program} run --quiet {arguments}\n");
    std::fs::write(&packaged, &text).unwrap();
    let said = home.well(&["service", "install"]);
    assert!(said.contains("the packaged unit") && said.contains("answered after"), "{said}");
    assert!(!home.units().join(UNIT).exists());
    assert_eq!(std::fs::read_link(home.units().join(LINK)).unwrap(), packaged);
    assert!(home.status()["service"]["packaged"] == true);
    let said = home.well(&["service", "uninstall"]);
    assert!(said.contains("stays; its package removes it"), "{said}");
    assert!(home.installed().is_empty() && packaged.exists());

    // Installed by a package and by hand: the one by hand is in force, which is told.
    std::fs::rename(&packaged, home.at("aside")).unwrap();
    home.well(&["service", "install"]);
    std::fs::rename(home.at("aside"), &packaged).unwrap();
    assert!(home.well(&["service", "status"]).contains("hides the packaged one"));
    assert!(home.well(&["service", "install"]).contains("your own unit hides the packaged one"));
    home.well(&["service", "uninstall"]);
}

#[test]
fn a_program_that_moved_is_told_and_found_again() {
    let home = Home::new();
    let (one, other) = (home.at("bin/situated"), home.at("odd $place/situated"));
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_situated"), &one).unwrap();
    let run = |program: &Path, arguments: &[&str]| {
        let like = home.command();
        let mut command = Command::new(program);
        command.env_clear().args(arguments);
        for (name, value) in like.get_envs() {
            value.map(|value| command.env(name, value));
        }
        told(&command.output().unwrap())
    };
    let (code, said) = run(&one, &["service", "install"]);
    assert!(code == 0 && said.contains("folder for temporary files"), "{code} {said}");
    std::fs::rename(&one, &other).unwrap();
    let (_, said) = run(&other, &["service", "status"]);
    assert!(said.contains("which is gone"), "{said}");
    let (code, said) = run(&other, &["service", "restart"]);
    assert!(code == 69 && said.contains("which is gone") && said.contains("service install"), "{code} {said}");
    let (code, said) = run(&other, &["service", "install", "--dry-run"]);
    assert!(code == 0 && said.contains("ExecStart=:\""), "{code} {said}");
    // By a name that lasts, through a link.
    symlink(&other, &one).unwrap();
    run(&one, &["service", "uninstall"]);
}

#[test]
#[cfg_attr(
    not(is_bound_by_permissions),
    ignore = "root is bound by no permission, and nobody else may enter the build folder"
)]
fn a_read_only_home_is_told() {
    let home = Home::new();
    std::fs::create_dir_all(home.at(".config")).unwrap();
    std::fs::create_dir_all(home.at("data")).unwrap();
    let like = home.command();
    let mut command = crate::bad::bound(&home.0);
    for (name, value) in like.get_envs() {
        value.map(|value| command.env(name, value));
    }
    std::fs::set_permissions(home.at(".config"), std::fs::Permissions::from_mode(0o555)).unwrap();
    let (code, said) = told(&command.args(["service", "install"]).output().unwrap());
    std::fs::set_permissions(home.at(".config"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(code == 77 && said.contains("cannot create") && said.contains("Permission denied"), "{code} {said}");
    assert!(home.installed().is_empty() && !home.calls().contains("restart"), "{}", home.calls());
}
