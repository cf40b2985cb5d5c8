//! What `strace` saw a daemon do to its files, and the folder that a loss of power leaves of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::common::rng::Rng;

const CALLS: &str = "openat,close,write,writev,pwrite64,lseek,ftruncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,\
                     mkdirat,rmdir,fsync,fdatasync";

/// How long `strace` may go on writing when the program has ended.
const WRITTEN_WITHIN: Duration = Duration::from_mins(1);

/// A program that starts `program` and has its calls written to `log`, which is there once it has all of them.
pub(super) fn program(dir: &Path, program: &str, log: &Path) -> Result<PathBuf> {
    let script = dir.join("recorded-program");
    let (log, part) = (log.display(), log.with_extension("part"));
    let text = format!(
        "#!/bin/sh\nexec strace -f -D -qq -y -xx -ttt -s 67108864 -o '|cat > \"{part}\" && mv \"{part}\" \"{log}\"' \\\n  \
         -e trace={CALLS} -e signal=none '{program}' \"$@\"\n",
        part = part.display(),
    );
    fs::write(&script, text).context("writing the program that is recorded")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
    Ok(script)
}

/// What a call did within the data folder.
#[derive(Debug)]
enum Did {
    Made(PathBuf),
    Emptied(PathBuf),
    Wrote { path: PathBuf, at: u64, bytes: Vec<u8> },
    Appended { path: PathBuf, bytes: Vec<u8> },
    Cut(PathBuf, u64),
    Synced(PathBuf),
    Renamed(PathBuf, PathBuf),
    Removed(PathBuf),
    Folder(PathBuf),
}

pub(super) struct Record {
    /// When each ended, in seconds since 1970, and what it did to paths within the data folder.
    did: Vec<(f64, Did)>,
}

/// An open file.
struct Open {
    at: u64,
    appends: bool,
}

impl Record {
    /// Reads the log of a run that had its data in `data`, which was empty at first.
    pub(super) fn read(log: &Path, data: &Path) -> Result<Record> {
        let until = Instant::now() + WRITTEN_WITHIN;
        while !log.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let text = fs::read_to_string(log).with_context(|| format!("reading {}", log.display()))?;
        let (mut begun, mut open, mut did) = (HashMap::new(), HashMap::new(), Vec::new());
        for line in text.lines() {
            // A number of fewer than five digits has blanks behind it.
            let Some((thread, rest)) = line.split_once(' ') else { continue };
            let Some((time, call)) = rest.trim_start().split_once(' ') else { continue };
            let Ok(time) = time.parse::<f64>() else { continue };
            // A call that another thread's interrupted stands on two lines.
            let call = if let Some(start) = call.strip_suffix("<unfinished ...>") {
                begun.insert(thread.to_owned(), start.trim_end().to_owned());
                continue;
            } else if call.starts_with("<... ") {
                let Some((_, rest)) = call.split_once(" resumed>") else { continue };
                format!("{}{rest}", begun.remove(thread).unwrap_or_default())
            } else {
                call.to_owned()
            };
            for one in understood(&call, data, &mut open) {
                did.push((time, one));
            }
        }
        if did.is_empty() {
            bail!("{} names no change of a file in {}", log.display(), data.display());
        }
        Ok(Record { did })
    }

    pub(super) fn len(&self) -> usize {
        self.did.len()
    }

    pub(super) fn time(&self, at: usize) -> f64 {
        self.did[at].0
    }

    /// Makes the folder that is left if the power goes after that call.
    pub(super) fn lose(&self, at: usize, data: &Path, rng: &mut Rng) -> Result<()> {
        let mut disk = Disk::default();
        self.did[..=at].iter().for_each(|(_, did)| disk.apply(did));
        fs::create_dir_all(data)?;
        fs::set_permissions(data, fs::Permissions::from_mode(0o700))?;
        for folder in &disk.folders {
            fs::create_dir_all(data.join(folder))?;
        }
        // Every other time nothing that was not synced is left, else of each file a part.
        let nothing = rng.chance(0.5);
        for (path, file) in &disk.files {
            let kept = if nothing { 0 } else { rng.below(file.since.len() + 1) };
            let mut bytes = file.synced.clone();
            file.since[..kept].iter().for_each(|change| change.apply(&mut bytes));
            if let Some(folder) = data.join(path).parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(data.join(path), bytes)?;
        }
        Ok(())
    }
}

/// A change of a file's bytes.
#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Append(Vec<u8>),
    Length(u64),
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Write(at, bytes) => {
                let (at, end) = (*at as usize, *at as usize + bytes.len());
                file.resize(file.len().max(end), 0);
                file[at..end].copy_from_slice(bytes);
            }
            Change::Append(bytes) => file.extend(bytes),
            Change::Length(length) => file.resize(*length as usize, 0),
        }
    }
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    /// What was not synced, in its order.
    since: Vec<Change>,
}

#[derive(Default)]
struct Disk {
    /// In an order that is the same in each run, for the seed's sake.
    files: BTreeMap<PathBuf, File>,
    folders: BTreeSet<PathBuf>,
}

impl Disk {
    fn change(&mut self, path: &Path, change: Change) {
        self.files.entry(path.to_owned()).or_default().since.push(change);
    }

    fn apply(&mut self, did: &Did) {
        match did {
            Did::Made(path) => drop(self.files.entry(path.clone()).or_default()),
            Did::Emptied(path) => self.change(path, Change::Length(0)),
            Did::Wrote { path, at, bytes } => self.change(path, Change::Write(*at, bytes.clone())),
            Did::Appended { path, bytes } => self.change(path, Change::Append(bytes.clone())),
            Did::Cut(path, length) => self.change(path, Change::Length(*length)),
            Did::Synced(path) => {
                if let Some(file) = self.files.get_mut(path) {
                    for change in std::mem::take(&mut file.since) {
                        change.apply(&mut file.synced);
                    }
                }
            }
            Did::Renamed(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                    return;
                }
                let moved = |path: &PathBuf| path.strip_prefix(from).ok().map(|rest| to.join(rest));
                self.folders = self.folders.iter().map(|path| moved(path).unwrap_or_else(|| path.clone())).collect();
                let files = std::mem::take(&mut self.files);
                self.files = files.into_iter().map(|(path, file)| (moved(&path).unwrap_or(path), file)).collect();
            }
            Did::Removed(path) => {
                self.files.remove(path);
                self.folders.remove(path);
            }
            Did::Folder(path) => drop(self.folders.insert(path.clone())),
        }
    }
}

/// What a call did to files in the data folder, if it succeeded.
fn understood(call: &str, data: &Path, open: &mut HashMap<u32, Open>) -> Vec<Did> {
    let parsed = || {
        let (name, rest) = call.split_once('(')?;
        let (args, returned) = rest.rsplit_once(" = ")?;
        let returned: i64 = returned.split(['<', ' ']).next()?.parse().ok()?;
        (returned >= 0).then_some((name, args.trim_end().strip_suffix(')')?, returned as u64))
    };
    let Some((name, args, returned)) = parsed() else { return Vec::new() };
    let within = |path: &Path| path.strip_prefix(data).ok().map(Path::to_owned);
    let named = |n: usize| {
        let path = PathBuf::from(OsString::from_vec(quoted(args).nth(n)?));
        // A name may stand in the folder that the call's first argument is.
        within(&described(args).filter(|_| path.is_relative()).map_or(path.clone(), |folder| folder.join(&path)))
    };
    let number = |n: usize| args.rsplit(", ").nth(n).and_then(|arg| arg.parse::<u64>().ok());
    let file = || Some((descriptor(args)?, within(&described(args)?)?));
    let found = match name {
        "openat" => {
            let flags = args.rsplit("\", ").next().unwrap_or_default();
            open.insert(returned as u32, Open { at: 0, appends: flags.contains("O_APPEND") });
            let path = named(0).filter(|_| !flags.contains("O_DIRECTORY"));
            let made = path.clone().filter(|_| flags.contains("O_CREAT")).map(Did::Made);
            let emptied = path.filter(|_| flags.contains("O_TRUNC")).map(Did::Emptied);
            return made.into_iter().chain(emptied).collect();
        }
        "close" => {
            descriptor(args).and_then(|number| open.remove(&number));
            None
        }
        "lseek" => {
            if let Some(file) = descriptor(args).and_then(|number| open.get_mut(&number)) {
                file.at = returned;
            }
            None
        }
        "write" | "writev" => file().map(|(number, path)| {
            let mut bytes: Vec<u8> = quoted(args).flatten().collect();
            bytes.truncate(returned as usize);
            let file = open.entry(number).or_insert(Open { at: 0, appends: false });
            let at = file.at;
            file.at += bytes.len() as u64;
            if file.appends { Did::Appended { path, bytes } } else { Did::Wrote { path, at, bytes } }
        }),
        "pwrite64" => file().zip(number(0)).map(|((_, path), at)| {
            let mut bytes: Vec<u8> = quoted(args).flatten().collect();
            bytes.truncate(returned as usize);
            Did::Wrote { path, at, bytes }
        }),
        "ftruncate" => file().zip(number(0)).map(|((_, path), length)| Did::Cut(path, length)),
        "fsync" | "fdatasync" => file().map(|(_, path)| Did::Synced(path)),
        "rename" | "renameat" | "renameat2" => named(0).zip(named(1)).map(|(from, to)| Did::Renamed(from, to)),
        "unlink" | "unlinkat" | "rmdir" => named(0).map(Did::Removed),
        "mkdir" | "mkdirat" => named(0).map(Did::Folder),
        _ => None,
    };
    found.into_iter().collect()
}

/// The number that a call's first argument is.
fn descriptor(args: &str) -> Option<u32> {
    args.split('<').next()?.parse().ok()
}

/// The path of the file that it stands for.
fn described(args: &str) -> Option<PathBuf> {
    let (_, rest) = args.split_once('<')?;
    Some(PathBuf::from(OsString::from_vec(bytes(rest.split_once('>')?.0))))
}

/// The texts in quotes.
fn quoted(args: &str) -> impl Iterator<Item = Vec<u8>> {
    args.split('"').skip(1).step_by(2).map(bytes)
}

/// `\x61\x62` are two bytes.
fn bytes(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).filter_map(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok()).collect()
}
