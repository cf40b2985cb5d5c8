//! Keys of providers: where they are found, and that they are not printed.
//!
//! A key is never part of the configuration. It is in a file that only the user can read, or a command prints it, or
//! systemd hands it over; the environment, which every child process inherits, comes last. For Bedrock the same places
//! hold either a bearer key or `ACCESS:SECRET`, or `ACCESS:SECRET:SESSION` with temporary credentials.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use platform::files::{is_open_to_others, mode, open_at_once, owner};
use platform::process::{in_own_group, kill_group, shell};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use context::settings::{KeyConfig, Provider};
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;

/// The section of the configuration for the model that writes contexts.
const CONTEXT: &str = "context";

/// The variables that hold what AWS requests are signed with.
const AWS_ACCESS: &str = "AWS_ACCESS_KEY_ID";
const AWS_SECRET: &str = "AWS_SECRET_ACCESS_KEY";

/// How long a command may take to print a key: long enough to ask an agent, not a person.
const COMMAND_TIME: Duration = Duration::from_secs(10);

/// How often we check whether a command has ended, after it closed its output.
const LOOK: Duration = Duration::from_millis(5);

/// Most bytes of a key; session tokens of AWS have about a thousand.
const MOST_BYTES: u64 = 16 * 1024;

/// Name of the systemd credential that is looked for if none is configured.
const CREDENTIAL: &str = "situated-key";

/// What identifies us to a provider. Prints as `[REDACTED]`, and is overwritten when dropped.
#[derive(Clone, Debug)]
pub(super) enum Key {
    /// One word.
    Bearer(SecretString),
    /// What AWS requests are signed with.
    Aws {
        /// Id of the access key.
        access: SecretString,
        /// The secret that signs.
        secret: SecretString,
        /// The session token, with temporary credentials.
        session: Option<SecretString>,
    },
}

/// From this many characters on, the beginning of a key is hidden too.
const TELLING: usize = 4;

impl Key {
    /// The words that it consists of.
    pub(super) fn secrets(&self) -> Vec<&SecretString> {
        match self {
            Key::Bearer(key) => vec![key],
            Key::Aws { access, secret, session } => [access, secret].into_iter().chain(session).collect(),
        }
    }

    /// What tells the key from others. Nobody can find the key by it.
    pub(super) fn mark(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("situated: what tells keys of providers apart");
        for secret in self.secrets() {
            hasher.update(secret.expose_secret().as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// A text without the key, and without the beginning of a key that the end of a quotation cut off.
    pub(super) fn kept_from(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets().into_iter().map(ExposeSecret::expose_secret).filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "…");
            let beginnings = secret.char_indices().map(|(end, _)| &secret[..end]).skip(TELLING);
            if let Some(cut) =
                beginnings.map(|part| format!("{part}…")).filter(|part| text.contains(part.as_str())).last()
            {
                text = text.replace(&cut, "…");
            }
        }
        text
    }
}

/// Whose key is looked for: that of a provider, as the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose {
    /// The section of the configuration that says where it is.
    section: &'static str,
    /// Variables that hold it, the usual one first.
    variables: &'static [&'static str],
    /// Whether it may be what AWS requests are signed with.
    aws: bool,
    /// Whether a key is looked for at all.
    needed: bool,
}

impl From<Provider> for Whose {
    fn from(provider: Provider) -> Self {
        let variables: &[&str] = match provider {
            Provider::None | Provider::Template | Provider::Ollama => &[],
            Provider::Anthropic => &["ANTHROPIC_API_KEY"],
            Provider::OpenAi => &["OPENAI_API_KEY"],
            Provider::Bedrock => &["AWS_BEARER_TOKEN_BEDROCK"],
        };
        let aws = provider == Provider::Bedrock;
        Whose { section: CONTEXT, variables, aws, needed: !matches!(provider, Provider::None | Provider::Template) }
    }
}

impl From<EmbedProvider> for Whose {
    fn from(provider: EmbedProvider) -> Self {
        let variables: &[&str] = match provider {
            EmbedProvider::Builtin | EmbedProvider::Static | EmbedProvider::Transformer | EmbedProvider::Ollama => &[],
            EmbedProvider::OpenAi => &["OPENAI_API_KEY"],
            EmbedProvider::Voyage => &["VOYAGE_API_KEY"],
            // The name that Cohere's own client reads, and the one that people expect.
            EmbedProvider::Cohere => &["CO_API_KEY", "COHERE_API_KEY"],
        };
        Whose { section: "embed", variables, aws: false, needed: provider.is_remote() }
    }
}

impl From<RerankProvider> for Whose {
    fn from(provider: RerankProvider) -> Self {
        let needed = !matches!(provider, RerankProvider::None | RerankProvider::Transformer);
        Whose { section: "rerank", variables: provider.variables(), aws: false, needed }
    }
}

impl Whose {
    /// The key of a collection that a team shares.
    pub(super) fn team() -> Self {
        Whose { section: "team", variables: &[], aws: false, needed: true }
    }

    /// Whether a provider is asked, which may want a key.
    pub fn is_asked(self) -> bool {
        self.needed
    }

    /// Nobody's: no key is looked for.
    pub(super) fn nobody() -> Self {
        Whose { needed: false, ..Whose::team() }
    }
}

/// Text that is overwritten when dropped.
type Secret = Zeroizing<String>;

/// Looks for a provider's key: file, command, systemd credential, environment. Blocks, for up to ten seconds if a
/// command is asked. `None` if nothing is configured and the environment has none, which is right for servers of
/// this machine.
///
/// # Errors
/// What is wrong with the place where it should be, and what to do; never anything read from there.
pub(super) fn find(whose: Whose, config: &KeyConfig) -> Result<Option<Key>, String> {
    find_in(whose, config, COMMAND_TIME, &|name| std::env::var_os(name))
}

fn find_in(
    whose: impl Into<Whose>,
    config: &KeyConfig,
    command_time: Duration,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<Key>, String> {
    let whose = whose.into();
    if !whose.needed {
        return Ok(None);
    }
    if let Some(path) = &config.file {
        return key_of(whose, path).map(Some);
    }
    if let Some(command) = &config.command {
        // The command is not quoted: it may hold a secret.
        let place = format!("the command of `{}.key_command`", whose.section);
        return key(whose, &from_command(command, &place, command_time)?, &place).map(Some);
    }
    // The default credential is the key for contexts; no other section may see it.
    let credential = whose.section == CONTEXT || config.credential.is_some();
    if credential && let Some((text, place)) = from_systemd(config, env)? {
        return key(whose, &text, &place).map(Some);
    }
    from_environment(whose, env)
}

/// The place where a key is looked for first; never the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyPlace {
    /// In words.
    pub place: String,
    /// Whether it is there; absent where only a call would tell.
    pub found: Option<bool>,
}

/// Where a provider's key is looked for first; `None` if the provider wants none.
pub fn place(whose: Whose, config: &KeyConfig) -> Option<KeyPlace> {
    place_in(whose, config, &|name| std::env::var_os(name))
}

fn place_in(whose: Whose, config: &KeyConfig, env: &dyn Fn(&str) -> Option<OsString>) -> Option<KeyPlace> {
    let at = |place: String, found| Some(KeyPlace { place, found });
    let variable = |name: &str| env(name).filter(|value| !value.is_empty());
    let is_set = |name: &str| variable(name).is_some();
    if let Some(file) = &config.file {
        return at(format!("the file {}", file.display()), Some(file.exists()));
    }
    if config.command.is_some() {
        // Not run for this: it may ask the user for a password.
        return at(format!("the command of `{}.key_command`", whose.section), None);
    }
    let credential = config.credential.as_deref().unwrap_or(CREDENTIAL);
    // Only a service is handed any.
    let is_there = variable("CREDENTIALS_DIRECTORY").map(|folder| Path::new(&folder).join(credential).exists());
    if config.credential.is_some() || (whose.section == CONTEXT && is_there == Some(true)) {
        return at(format!("the systemd credential `{credential}`"), is_there);
    }
    let bearer = whose.variables.iter().find(|name| is_set(name));
    let signs = whose.aws && is_set(AWS_ACCESS) && is_set(AWS_SECRET);
    let set = bearer.or(signs.then_some(&AWS_ACCESS));
    at(format!("the variable {}", set.or(whose.variables.first())?), Some(set.is_some()))
}

/// What is wrong with a provider's key file, as reading it finds; never anything read from there.
///
/// # Errors
/// Why it is not taken.
pub fn check_file(path: &Path, whose: Whose) -> Result<(), String> {
    key_of(whose, path).map(drop)
}

/// The key in a file.
fn key_of(whose: Whose, path: &Path) -> Result<Key, String> {
    let place = format!("the key file {}", path.display());
    let (file, at) = (path.to_owned(), place.clone());
    key(whose, &with_rights(&place, move || from_file(&file, &at))?, &place)
}

/// Reads a file that only we may read. The checks are made on the opened file, not on whatever has its name by then.
fn from_file(path: &Path, place: &str) -> Result<Secret, String> {
    let failed = |e: io::Error| format!("{place} cannot be read: {e}");
    let file = open_at_once(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(format!("{place} is not a file"));
    }
    let (own, uid) = (platform::user::id(), owner(&found));
    if uid != own {
        return Err(format!("{place} belongs to another user (uid {uid}, not {own})"));
    }
    if is_open_to_others(&found) {
        return Err(format!(
            "{place} can be read by others (mode {:04o}): `chmod 600 {}`",
            mode(&found),
            path.display()
        ));
    }
    read(file, place)
}

fn read(file: File, place: &str) -> Result<Secret, String> {
    let mut text = Secret::default();
    match file.take(MOST_BYTES + 1).read_to_string(&mut text) {
        Ok(length) if length as u64 > MOST_BYTES => Err(format!("{place} is too long for a key")),
        Ok(_) => Ok(text),
        Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(format!("{place} is not text")),
        Err(e) => Err(format!("{place} cannot be read: {e}")),
    }
}

/// Work for the thread of [`keep_key_reader`].
type Errand = Box<dyn FnOnce() + Send>;

/// Sends to the thread that reads keys, if there is one.
static READER: OnceLock<mpsc::Sender<Errand>> = OnceLock::new();

/// Starts the thread that reads key files and runs `key_command`s from now on. Call it before this process gives up its
/// rights: the file that it may read is the one that has the name then, and a key is often renewed by another file that
/// takes the name; a password manager needs the user's rights, and a process that a restricted thread starts is as
/// restricted as the thread. The thread does `first` before anything else.
pub fn keep_key_reader(first: impl FnOnce() + Send + 'static) {
    let (sender, errands) = mpsc::channel::<Errand>();
    let run = move || {
        first();
        errands.into_iter().for_each(|errand| errand());
    };
    if thread::Builder::new().name("keys".to_owned()).spawn(run).is_ok() {
        // A second reader gets no work, and ends.
        let _ = READER.set(sender);
    }
}

/// Has the thread that reads keys read one, if there is such a thread.
fn with_rights(place: &str, read: impl FnOnce() -> Result<Secret, String> + Send + 'static) -> Result<Secret, String> {
    let Some(reader) = READER.get() else { return read() };
    let (sender, key) = mpsc::sync_channel(1);
    let nobody = || format!("{place} cannot be read: the thread that should has ended");
    reader.send(Box::new(move || drop(sender.send(read())))).map_err(|_| nobody())?;
    key.recv().unwrap_or_else(|_| Err(nobody()))
}

/// The first line that a command prints.
fn from_command(command: &str, place: &str, time: Duration) -> Result<Secret, String> {
    let (command, at) = (command.to_owned(), place.to_owned());
    with_rights(place, move || run_command(&command, &at, time))
}

/// The first line that a command prints. It runs in its own process group, so that the processes that it started can be
/// killed with it.
fn run_command(command: &str, place: &str, time: Duration) -> Result<Secret, String> {
    let mut child = in_own_group(&mut shell(command))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Its complaints may quote what it was looking for.
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{place} cannot be run: {e}"))?;
    let deadline = Instant::now() + time;
    let output = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // Reads to the end, so that a command which prints more than we need is not stopped by a closed pipe. If a
    // grandchild left the group and keeps the pipe open, the thread stays until the grandchild is gone.
    let reader = move || {
        let mut bytes = Zeroizing::new(Vec::new());
        let read = output.map_or(Ok(0), |mut output| {
            let kept = (&mut output).take(MOST_BYTES).read_to_end(&mut bytes)?;
            io::copy(&mut output, &mut io::sink()).map(|_| kept)
        });
        // Nobody waits any more after the deadline.
        let _ = sender.send(read.map(|_| bytes));
    };
    // If the thread cannot be started, the channel is closed, and the command is killed like one that hangs.
    let _ = thread::Builder::new().name("key-command".to_owned()).spawn(reader);
    let printed = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    let ended = printed.is_ok().then(|| wait(&mut child, deadline)).flatten();
    let Some(status) = ended else {
        kill_group(&mut child);
        let _ = child.wait();
        return Err(match printed {
            Err(mpsc::RecvTimeoutError::Disconnected) => format!("the output of {place} cannot be read"),
            _ => format!("{place} did not end within {} s", time.as_secs_f32()),
        });
    };
    if !status.success() {
        return Err(format!(
            "{place} failed ({status}); run it in a terminal to see why. If it works there, the service may be kept from \
             what it reads: `situated service install` once more"
        ));
    }
    let bytes = match printed {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(e)) => return Err(format!("the output of {place} cannot be read: {e}")),
        Err(_) => return Err(format!("the output of {place} cannot be read")),
    };
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    std::str::from_utf8(line).map(|line| Secret::new(line.to_owned())).map_err(|_| format!("{place} prints no text"))
}

/// Waits for a child until a deadline. `None` if it is still running or cannot be waited for.
fn wait(child: &mut std::process::Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().ok()? {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(LOOK);
    }
}

/// A credential in a folder that systemd made and only we can see, so its mode is not checked.
fn from_systemd(
    config: &KeyConfig,
    env: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<(Secret, String)>, String> {
    let name = config.credential.as_deref().unwrap_or(CREDENTIAL);
    let place = format!("the systemd credential `{name}`");
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(format!("{place} has no name that a credential can have"));
    }
    let Some(folder) = env("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty()) else {
        return match config.credential {
            Some(_) => Err(format!(
                "{place} is configured, but systemd handed no credentials over: \
                                    the unit needs `LoadCredential={name}:…`"
            )),
            None => Ok(None),
        };
    };
    match File::open(Path::new(&folder).join(name)) {
        Ok(file) => Ok(Some((read(file, &place)?, place))),
        Err(e) if e.kind() == io::ErrorKind::NotFound && config.credential.is_none() => Ok(None),
        Err(e) => Err(format!("{place} cannot be read: {e}")),
    }
}

fn from_environment(whose: Whose, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<Key>, String> {
    let word = |name: &str| match env(name).filter(|value| !value.is_empty()) {
        Some(value) => match value.into_string() {
            Ok(text) => clean(&Secret::new(text), &format!("the variable {name}")).map(Some),
            Err(_) => Err(format!("the variable {name} is not text")),
        },
        None => Ok(None),
    };
    for name in whose.variables {
        if let Some(bearer) = word(name)? {
            return Ok(Some(Key::Bearer(bearer)));
        }
    }
    if !whose.aws {
        return Ok(None);
    }
    match (word(AWS_ACCESS)?, word(AWS_SECRET)?) {
        (Some(access), Some(secret)) => Ok(Some(Key::Aws { access, secret, session: word("AWS_SESSION_TOKEN")? })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(format!("{AWS_ACCESS} is set, but {AWS_SECRET} is not")),
        (None, Some(_)) => Err(format!("{AWS_SECRET} is set, but {AWS_ACCESS} is not")),
    }
}

/// Reads a text as a key. Bearer keys of Bedrock hold no colon, so a colon means `ACCESS:SECRET` with or without a
/// session.
fn key(whose: Whose, text: &str, place: &str) -> Result<Key, String> {
    if !whose.aws || !text.contains(':') {
        return clean(text, place).map(Key::Bearer);
    }
    let mut parts = text.trim().splitn(3, ':');
    let mut next = || parts.next().map(|part| clean(part, place));
    match (next().transpose()?, next().transpose()?, next().transpose()?) {
        (Some(access), Some(secret), session) => Ok(Key::Aws { access, secret, session }),
        _ => Err(format!("{place} holds no `ACCESS:SECRET`")),
    }
}

/// A key without the white space around it. It goes into a header, so nothing else may be in it.
fn clean(text: &str, place: &str) -> Result<SecretString, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{place} is empty"));
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("{place} holds no key: a key is one word of printable ASCII"));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests;
