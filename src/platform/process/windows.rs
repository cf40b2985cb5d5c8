//! Processes, as Windows has them.

use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Console::{FreeConsole, GetConsoleProcessList};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS, JOB_OBJECT_LIMIT_PRIORITY_CLASS,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOB_OBJECT_LIMIT_PROCESS_TIME, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::ProcessStatus::{GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, GetCurrentProcess, GetCurrentThread, GetThreadTimes, IDLE_PRIORITY_CLASS,
};

/// A line for the user's shell.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    // `cmd` has its own rules for quotes, so it gets the line as it is.
    command.arg("/C").raw_arg(line);
    command
}

/// Makes a command run in its own process group, which Ctrl-C at our console does not reach.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP)
}

/// Kills a child. It may have ended just now; processes that it started go on.
pub fn kill_group(child: &mut Child) {
    let _ = child.kill();
}

/// Processor time of this thread: on a busy machine the clock would say nothing about the work.
pub fn thread_time() -> Duration {
    const ZERO: FILETIME = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let [mut created, mut ended, mut kernel, mut user] = [ZERO; 4];
    // SAFETY: all four outlive the call; the thread's handle needs no closing.
    #[allow(unsafe_code)]
    unsafe {
        GetThreadTimes(GetCurrentThread(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user);
    }
    let count = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // Counted in 100 ns.
    Duration::from_nanos((count(kernel) + count(user)).saturating_mul(100))
}

/// Resident memory of this process in bytes, 0 where that cannot be told.
pub fn resident_bytes() -> u64 {
    counters().map_or(0, |found| found.WorkingSetSize as u64)
}

/// Memory of this process that no file backs, in bytes, resident or in the page file; 0 if unknown.
pub fn unbacked_bytes() -> u64 {
    counters().map_or(0, |found| found.PagefileUsage as u64)
}

fn counters() -> Option<PROCESS_MEMORY_COUNTERS> {
    // SAFETY: a structure of numbers, for which zeros are as good as any.
    #[allow(unsafe_code)]
    let mut found: PROCESS_MEMORY_COUNTERS = unsafe { std::mem::zeroed() };
    let bytes = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: the structure outlives the call and is as large as said; the process's handle needs no closing.
    #[allow(unsafe_code)]
    let told = unsafe { GetProcessMemoryInfo(GetCurrentProcess(), &raw mut found, bytes) };
    (told != 0).then_some(found)
}

/// Limits this process to so many bytes of memory and seconds of processor time, forbids it to start others, and gives
/// it the lowest priority. A limit that cannot be set is skipped.
pub fn confine(memory: u64, seconds: u64) {
    // SAFETY: a structure of numbers, for which zeros are as good as any.
    #[allow(unsafe_code)]
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY
        | JOB_OBJECT_LIMIT_PROCESS_TIME
        | JOB_OBJECT_LIMIT_ACTIVE_PROCESS
        | JOB_OBJECT_LIMIT_PRIORITY_CLASS;
    limits.ProcessMemoryLimit = usize::try_from(memory).unwrap_or(usize::MAX);
    // Counted in 100 ns.
    limits.BasicLimitInformation.PerProcessUserTimeLimit = i64::try_from(seconds).map_or(i64::MAX, |s| s * 10_000_000);
    limits.BasicLimitInformation.ActiveProcessLimit = 1;
    limits.BasicLimitInformation.PriorityClass = IDLE_PRIORITY_CLASS;
    let bytes = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32;
    // SAFETY: the structure outlives the call and is as large as said. The job's handle is closed by the end of the process,
    // which is in it; without a job nothing is limited.
    #[allow(unsafe_code)]
    unsafe {
        let job = CreateJobObjectW(std::ptr::null(), std::ptr::null());
        if !job.is_null() {
            SetInformationJobObject(job, JobObjectExtendedLimitInformation, (&raw const limits).cast(), bytes);
            AssignProcessToJobObject(job, GetCurrentProcess());
        }
    }
}

/// How many files this process may open at once: as many as there is memory for.
pub fn open_files(_wanted: u64) -> u64 {
    u64::MAX
}

/// Leaves the console if no other program has it: the Task Scheduler opens one for what it starts, with a window.
pub fn leave_own_console() {
    let mut programs = [0; 2];
    // SAFETY: the list outlives the call and is as long as said.
    #[allow(unsafe_code)]
    unsafe {
        if GetConsoleProcessList(programs.as_mut_ptr(), programs.len() as u32) == 1 {
            FreeConsole();
        }
    }
}
