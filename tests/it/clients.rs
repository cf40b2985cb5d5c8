//! The clients of `src/protocol/PROTOCOL.md`, in shell, Python, Node and Neovim, run as they stand there against a real
//! daemon.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use protocol::daemon::PingRequest;

use crate::protocol::{PROTOCOL, add_notes, blocks};
use crate::support::{Daemon, PATIENCE, Place};

/// A title that would speak to a terminal, and a text with what some take for the end of a line.
const EVIL: &str = "# Evil \u{1b}]0;owned\u{7}\u{202e} title\n\nThe zanzibarheron\u{2028}stands\u{2029}still.\n";

struct Bench {
    place: Place,
    daemon: Daemon,
}

impl Bench {
    /// A daemon over a vault with the notes of the specification.
    fn new() -> Bench {
        let place = Place::with_sample();
        add_notes(&place.vault);
        place.write("Evil.md", EVIL);
        let daemon = place.start();
        Bench { place, daemon }
    }

    /// The client of that name as a file.
    fn client(&self, name: &str) -> PathBuf {
        let path = self.place.dir.path().join(name);
        std::fs::write(&path, source(name)).unwrap();
        path
    }

    /// A program with `situated` on its PATH, which finds this daemon.
    fn command(&self, program: &str) -> Command {
        let bin = self.place.dir.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let situated = bin.join("situated");
        if !situated.exists() {
            let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_situated"));
            std::fs::write(&situated, text).unwrap();
            std::fs::set_permissions(&situated, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut path = std::ffi::OsString::from(bin);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command
            .env("PATH", path)
            .env("SITUATED_SOCKET", self.place.socket())
            .env("SITUATED_DATA_DIR", self.place.data())
            .env_remove("SITUATED_CONFIG")
            .current_dir(&self.place.vault)
            .stdin(Stdio::null());
        command
    }
}

fn source(name: &str) -> String {
    let named = |info: &str| info.split(' ').nth(1) == Some(name);
    let found: Vec<_> = blocks(PROTOCOL).into_iter().filter(|block| named(block.info)).collect();
    assert_eq!(found.len(), 1, "{name} stands in PROTOCOL.md once");
    found[0].lines.join("\n") + "\n"
}

/// What it prints; a terminal may be shown it.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_clean(&text);
    text
}

fn assert_clean(text: &str) {
    let unclean = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(unclean), "{text:?}");
}

/// A program that runs on, killed when dropped, and the lines that it prints.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn of(command: &mut Command) -> Running {
        // In a group of its own, for a shell starts more of them.
        let mut child =
            std::os::unix::process::CommandExt::process_group(command, 0).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }

    fn until(&mut self, what: &str) {
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            assert_clean(&line);
            if line.contains(what) {
                return;
            }
            seen.push(line);
        }
        panic!("`{what}` did not come, but {seen:#?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

/// A client that searches once.
fn searches(bench: &mut Bench, command: &mut dyn FnMut(&Bench, &str) -> Command) {
    let found = printed(&mut command(bench, "quibbleheron"));
    assert!(found.lines().next().unwrap().starts_with("Protocol/Heron.md:"), "{found}");
    let found = printed(&mut command(bench, "zanzibarheron"));
    assert!(found.contains("Evil.md:3: Evil "), "{found}");
}

/// A client that watches a query.
fn watches(bench: &mut Bench, command: &mut dyn FnMut(&Bench, &str) -> Command) {
    let mut running = Running::of(&mut command(bench, "zanzibarheron"));
    running.until("Evil.md");
    bench.place.write("Protocol/Zanzibar.md", "# Zanzibar\n\nThe zanzibarheron flew home to Zanzibar.\n");
    running.until("Protocol/Zanzibar.md");
}

#[test]
#[cfg_attr(not(has_jq_and_socat), ignore = "needs jq and socat")]
fn a_shell_searches() {
    let mut bench = Bench::new();
    searches(&mut bench, &mut |bench, query| {
        let mut command = bench.command("sh");
        command.arg(bench.client("search.sh")).arg(query);
        command
    });
}

#[test]
#[cfg_attr(not(has_jq_and_nc), ignore = "needs jq, and the nc of OpenBSD")]
fn a_shell_watches() {
    let mut bench = Bench::new();
    watches(&mut bench, &mut |bench, query| {
        let mut command = bench.command("sh");
        command.arg(bench.client("watch.sh")).arg(query);
        command
    });
}

#[test]
#[cfg_attr(not(has_python), ignore = "needs python3")]
fn python_searches() {
    let mut bench = Bench::new();
    searches(&mut bench, &mut |bench, query| {
        let mut command = bench.command("python3");
        command.arg(bench.client("search.py")).arg(query);
        command
    });
    // What the daemon refuses is said, and nothing else.
    let text = source("search.py").replace("limit=10", "limit=9999");
    let wrong = bench.place.dir.path().join("wrong.py");
    std::fs::write(&wrong, text).unwrap();
    let output = bench.command("python3").arg(wrong).arg("heron").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "`limit` must be 1 to 200, not 9999\n");
    bench.daemon.ask(&PingRequest::default());
}

#[test]
#[cfg_attr(not(has_node), ignore = "needs node")]
fn node_watches() {
    let mut bench = Bench::new();
    watches(&mut bench, &mut |bench, query| {
        let mut command = bench.command("node");
        command.arg(bench.client("watch.mjs")).arg(query);
        command
    });
}

/// Neovim without any configuration, which runs a script and then `then`.
fn neovim(bench: &Bench, script: &Path, then: &str) -> Command {
    let mut command = bench.command("nvim");
    command.args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-c"]).arg(format!("luafile {}", script.display()));
    command.args(["-c", then]);
    command
}

#[test]
#[cfg_attr(not(has_nvim), ignore = "needs nvim")]
fn neovim_searches_into_the_quickfix_list() {
    let bench = Bench::new();
    let out = bench.place.dir.path().join("quickfix");
    let then = format!(
        "lua vim.cmd('Situated quibbleheron'); \
         vim.wait(20000, function() return #vim.fn.getqflist() > 0 end); \
         local first = vim.fn.getqflist()[1]; \
         vim.fn.writefile({{ vim.fn.bufname(first.bufnr), tostring(first.lnum), first.text }}, '{}'); vim.cmd('qall!')",
        out.display()
    );
    printed(&mut neovim(&bench, &bench.client("situated.lua"), &then));
    let listed = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!((lines[0], lines[2]), ("Protocol/Heron.md", "Heron"), "{listed}");
}

#[test]
#[cfg_attr(not(has_nvim), ignore = "needs nvim")]
fn a_pane_of_neovim_follows_the_note() {
    let mut bench = Bench::new();
    let (first, second) = (bench.place.dir.path().join("first"), bench.place.dir.path().join("second"));
    let script = bench.place.dir.path().join("pane.lua");
    // What is shown goes to a file whenever it changes: that is what the test looks at.
    let spy = format!(
        "vim.api.nvim_buf_attach(buffer, false, {{ on_lines = function() vim.schedule(function()\n\
         local name = vim.api.nvim_buf_get_name(0):match('Heron') and '{}' or '{}'\n\
         vim.fn.writefile(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), name) end) end }})\n",
        first.display(),
        second.display()
    );
    std::fs::write(&script, source("situated.lua") + &source("pane.lua") + &spy).unwrap();
    bench.place.write("Protocol/Stork.md", "# Stork\n\nStorks build a nest high up on old chimneys.\n");
    bench.daemon.sync();
    let mut command = bench.command("nvim");
    command.args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "Protocol/Heron.md", "-c"]);
    command
        .arg(format!("luafile {}", script.display()))
        .args(["-c", "lua vim.defer_fn(function() vim.cmd('qall!') end, 60000)"]);
    let until = Instant::now() + PATIENCE;
    let shows = |file: &Path, what: &str| {
        while !std::fs::read_to_string(file).is_ok_and(|text| text.contains(what)) {
            let now = std::fs::read_to_string(file);
            assert!(Instant::now() < until, "the pane does not show {what}: {now:?}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let _running = Running::of(&mut command);
    shows(&first, "Protocol/Stork.md:");
    // A note that is saved meanwhile shows up by itself.
    bench.place.write("Protocol/Egret.md", "# Egret\n\nEgrets and herons hunt in shallow water and nest in alders.\n");
    shows(&first, "Protocol/Egret.md:");
}
