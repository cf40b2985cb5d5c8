//! Processes, as every Unix has them.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::{ClockId, clock_gettime};

/// A line for the user's shell.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// Makes a command run in its own process group, so that the processes that it starts can be killed with it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Kills a child and the process group that it leads. It may have ended just now.
pub fn kill_group(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Processor time of this thread: on a busy machine the clock would say nothing about the work.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}

/// Resident memory of this process in bytes, 0 where that cannot be told.
pub fn resident_bytes() -> u64 {
    pages().map_or(0, |(resident, _)| resident)
}

/// Resident memory of this process that no file backs, in bytes, which the system cannot take away; 0 if unknown.
pub fn unbacked_bytes() -> u64 {
    pages().map_or(0, |(resident, shared)| resident.saturating_sub(shared))
}

/// Bytes that are resident, and those of them that a file backs or that others share.
fn pages() -> Option<(u64, u64)> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut bytes = statm.split(' ').skip(1).map_while(|pages| pages.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some((bytes.next()? * page, bytes.next()? * page))
}

/// Limits this process to so many bytes of memory and seconds of processor time, forbids it to write files, and gives
/// it the lowest priority. A limit that cannot be set is skipped.
pub fn confine(memory: u64, seconds: u64) {
    use rustix::process::{Resource, Rlimit, nice, setrlimit};
    let limits = [(Resource::As, memory), (Resource::Cpu, seconds), (Resource::Core, 0), (Resource::Fsize, 0)];
    for (resource, most) in limits {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    let _ = nice(19);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Lets this process open `wanted` files at once, or as many as the system allows; returns how many that is.
pub fn open_files(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let now = current.unwrap_or(u64::MAX);
    let more = wanted.min(maximum.unwrap_or(u64::MAX));
    let raised = more > now && setrlimit(Resource::Nofile, Rlimit { current: Some(more), maximum }).is_ok();
    if raised { more } else { now }
}

/// Nothing to leave: no Unix opens a window for a program.
pub fn leave_own_console() {}
