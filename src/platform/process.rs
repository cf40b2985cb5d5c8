//! Starting and killing processes, and the resources that this one has used.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{
    confine, in_own_group, kill_group, leave_own_console, open_files, resident_bytes, shell, thread_time,
    unbacked_bytes,
};

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_command_ends_with_its_group() {
        let mut command = shell("echo begun && sleep 60");
        let mut child = in_own_group(&mut command).stdout(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        kill_group(&mut child);
        assert!(!child.wait().unwrap().success());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn work_takes_the_thread_s_time() {
        let before = thread_time();
        let mut sum = 0_u64;
        while thread_time().saturating_sub(before) < Duration::from_millis(1) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(thread_time() > before && sum > 0);
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn this_process_is_in_memory() {
        let before = (resident_bytes(), unbacked_bytes());
        let own = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(resident_bytes() >= before.0 + (48 << 20) && unbacked_bytes() >= before.1 + (48 << 20));
        drop(own);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_file_backs_is_no_memory_of_one_s_own() {
        // The program itself is mapped.
        assert!(unbacked_bytes() < resident_bytes());
    }
}
