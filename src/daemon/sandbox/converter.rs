//! Documents are converted by a child process, which may only read the one file that is handed to it and write text,
//! with a bounded share of memory and time. The readers of PDFs and archives are large and not our code; whatever a
//! broken or hostile file makes them do ends with the child.
//!
//! A restricted thread cannot start a program, so a thread from before the restriction starts these children.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use note::Format;
use vault::documents::{Convert, MOST_BYTES};

use super::errands::Errands;
use super::landlock::{Rules, restrict};

/// The first argument of a child; no command of the program has this name.
const CHILD: &str = "--convert-document";

/// How long a child may write nothing. This machine may be busy: what holds for the whole of a document is its processor time.
const SILENT: Duration = Duration::from_secs(40);

/// How long the end of a child that was killed is waited for. One that reads from a file system that hangs does not end.
const DEAD_WITHIN: Duration = Duration::from_secs(5);

/// Processor time of a child, in seconds, and its address space, in bytes: the file itself, what it unpacks to, its text.
const MOST_SECONDS: u64 = 300;
const MOST_MEMORY: u64 = 1 << 30;

/// Most bytes of what a child says about a document.
const LONGEST_REMARK: u64 = 300;

/// The exit code of a child that cannot read the document; it says why.
const UNREADABLE: u8 = 3;

/// The text of a document, and a remark about it.
type Answer = io::Result<(Vec<u8>, Option<String>)>;

/// Has children convert documents.
pub struct Converter {
    program: PathBuf,
    errands: Errands,
}

impl Converter {
    /// Starts the thread that starts children. To be called before this process gives up its rights. `None` if that is
    /// not possible.
    pub fn start() -> Option<Converter> {
        // The program that runs, whatever an update has put in its place since.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { std::env::current_exe().ok()? };
        Some(Converter { program, errands: Errands::start("documents")? })
    }
}

impl Convert for Converter {
    fn convert(&self, format: Format, file: File, most: u64) -> Answer {
        let mut command = Command::new(&self.program);
        command.args([CHILD, format.name(), &most.to_string()]).env_clear().current_dir("/");
        command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = || io::Error::other("the thread that has documents converted has ended");
        converted(self.errands.run(move || command.spawn()).ok_or_else(ended)??, most, SILENT)
    }
}

/// What a child that converts a document gives until it ends, or writes nothing for as long as `silent`.
fn converted(mut child: Child, most: u64, silent: Duration) -> Answer {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (read, parts) = mpsc::channel();
    let reader = move || {
        // What came before the pipe broke counts.
        if let Some(out) = stdout {
            let mut out = BufReader::new(out.take(most));
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let _ = read.send(Ok(std::mem::take(&mut line)));
            }
        }
        let mut remark = Vec::new();
        let _ = stderr.map(|out| out.take(LONGEST_REMARK).read_to_end(&mut remark));
        let _ = read.send(Err(remark));
    };
    thread::Builder::new().name("document".to_owned()).spawn(reader).inspect_err(|_| drop(child.kill()))?;
    let mut bytes = Vec::new();
    let remark = loop {
        match parts.recv_timeout(silent) {
            Ok(Ok(line)) => bytes.extend(line),
            Ok(Err(remark)) => break Some(remark),
            Err(_) => break None,
        }
    };
    let was_late = remark.is_none();
    let status = if was_late { killed(child, DEAD_WITHIN)? } else { child.wait()? };
    Ok(said(bytes, &String::from_utf8_lossy(&remark.unwrap_or_default()), status, was_late))
}

/// Kills a child; its exit status.
///
/// # Errors
/// It has not ended in time. Another thread waits for that.
fn killed(mut child: Child, within: Duration) -> io::Result<ExitStatus> {
    child.kill()?;
    let until = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > until {
            // Without the thread the child stays a zombie until the daemon ends, which harms nobody.
            let _ = thread::Builder::new().name("document".to_owned()).spawn(move || child.wait());
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its reader does not end: its file system hangs"));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The text of a document and the remark about it, depending on how its child ended.
fn said(bytes: Vec<u8>, remark: &str, status: ExitStatus, was_late: bool) -> (Vec<u8>, Option<String>) {
    let shown: String = remark.chars().filter(|c| !c.is_control()).collect();
    let told = (!shown.trim().is_empty()).then(|| shown.trim().to_owned());
    match status.code() {
        Some(0) => (bytes, told),
        Some(code) if code == i32::from(UNREADABLE) => {
            let why = told.unwrap_or_else(|| "it cannot be read".to_owned());
            (Vec::new(), Some(format!("{why}; its name is searched")))
        }
        _ => {
            let why = if was_late {
                "it takes too long to read"
            } else {
                "its reader took too much memory or time, or failed"
            };
            let part = if bytes.is_empty() { "its name is searched" } else { "what was read until then is searched" };
            // The text may end within a character, and half a line is no page.
            (whole_lines(bytes), Some(format!("{why}; {part}")))
        }
    }
}

fn whole_lines(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1));
    bytes
}

/// Converts the document on standard input if this process was started for that; returns its exit code.
pub fn as_child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(CHILD)) {
        return None;
    }
    let word = |argument: Option<std::ffi::OsString>| argument.and_then(|argument| argument.into_string().ok());
    let format = word(arguments.next()).and_then(|name| name.parse().ok());
    let most = word(arguments.next()).and_then(|most| most.parse::<usize>().ok());
    let (Some(format), Some(most)) = (format, most) else { return Some(ExitCode::from(2)) };
    confine();
    Some(match child(format, most) {
        Ok(remark) => {
            eprint!("{}", remark.unwrap_or_default());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprint!("{why}");
            ExitCode::from(UNREADABLE)
        }
    })
}

/// Gives up everything except what is open.
fn confine() {
    // A reader's panic message may contain text of the document.
    std::panic::set_hook(Box::new(|_| {}));
    // If the kernel cannot do this, only the limits protect.
    let _ = restrict(&Rules::default());
    platform::process::confine(MOST_MEMORY, MOST_SECONDS);
}

fn child(format: Format, most: usize) -> Result<document::Remark, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    let mut out = io::stdout().lock();
    let converted =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| document::convert(format, &bytes, most, &mut out)));
    let remark = converted.map_err(|_| "its reader gave up".to_owned())?.map_err(|why| why.to_string())?;
    out.flush().map_err(|error| format!("its text cannot be written: {error}"))?;
    Ok(remark)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_does_not_end_is_waited_for_no_longer_than_it_may_take() {
        let sleeps = || Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(killed(sleeps(), DEAD_WITHIN).unwrap().code(), None, "it was killed");
        // As good as one that the kernel does not let die: nobody waits for it at all.
        let mut ends = 0..20;
        assert!(ends.any(|_| killed(sleeps(), Duration::ZERO).is_err_and(|why| why.kind() == io::ErrorKind::TimedOut)));
    }

    #[test]
    fn a_child_may_take_long_but_not_be_silent_for_long() {
        let within = |script: &str| {
            let mut child = Command::new("sh");
            child.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            converted(child.spawn().unwrap(), 100, Duration::from_millis(1500)).unwrap()
        };
        let slow = "for n in 1 2 3 4; do echo $n; sleep 0.5; done";
        assert_eq!(within(&format!("{slow}; printf said >&2")), (b"1\n2\n3\n4\n".to_vec(), Some("said".to_owned())));
        let (text, remark) = within("echo 1; printf 2; exec sleep 60");
        assert_eq!(text, b"1\n");
        assert!(remark.is_some_and(|remark| remark.contains("too long")));
    }
}
