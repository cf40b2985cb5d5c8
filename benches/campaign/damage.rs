//! Every file of the data folder × every damage: the daemon starts, or says in one line what to do, and never waits for
//! ever; what was paid for comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use anyhow::{Context, Result, bail};

use crate::Asked;
use crate::common::{files, option, rng::Rng};
use crate::lab::{self, Lab, Start};

/// Notes of the vault, three chunks each.
const NOTES: usize = 6;

/// Different damages of the kinds that have many.
const VARIANTS: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    BitFlips(u64),
    Cut(u64),
    Deleted,
    Zeroed,
    Folder,
    Fifo,
    NoRights,
    ReadOnly,
    LinkElsewhere,
    Dangling,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Damage::BitFlips(_) => "bits flipped",
            Damage::Cut(_) => "cut",
            Damage::Deleted => "deleted",
            Damage::Zeroed => "zeroed",
            Damage::Folder => "a folder",
            Damage::Fifo => "a FIFO",
            Damage::NoRights => "no rights",
            Damage::ReadOnly => "read-only",
            Damage::LinkElsewhere => "a link elsewhere",
            Damage::Dangling => "a dangling link",
        })
    }
}

impl Damage {
    fn all() -> Vec<Damage> {
        use Damage::{BitFlips, Cut, Dangling, Deleted, Fifo, Folder, LinkElsewhere, NoRights, ReadOnly, Zeroed};
        let many = (0..VARIANTS).flat_map(|n| [BitFlips(n), Cut(n)]);
        many.chain([Deleted, Zeroed, Folder, Fifo, NoRights, ReadOnly, LinkElsewhere, Dangling]).collect()
    }

    fn inflict(self, file: &Path, elsewhere: &Path, rng: &mut Rng) -> Result<()> {
        let mut bytes = fs::read(file)?;
        let mode = |mode| fs::set_permissions(file, fs::Permissions::from_mode(mode));
        match self {
            Damage::BitFlips(_) => {
                for _ in 0..if bytes.is_empty() { 0 } else { rng.between(1, 8) } {
                    let at = rng.below(bytes.len());
                    bytes[at] ^= 1 << rng.below(8);
                }
                fs::write(file, bytes)?;
            }
            Damage::Cut(_) => {
                bytes.truncate(rng.below(bytes.len().max(1)));
                fs::write(file, bytes)?;
            }
            Damage::Zeroed => fs::write(file, vec![0; bytes.len()])?,
            Damage::NoRights => mode(0)?,
            Damage::ReadOnly => mode(0o400)?,
            Damage::LinkElsewhere => {
                fs::rename(file, elsewhere)?;
                symlink(elsewhere, file)?;
            }
            Damage::Deleted | Damage::Folder | Damage::Fifo | Damage::Dangling => fs::remove_file(file)?,
        }
        match self {
            Damage::Folder => fs::create_dir(file)?,
            Damage::Fifo if !Command::new("mkfifo").arg(file).status()?.success() => bail!("mkfifo failed"),
            Damage::Dangling => symlink(elsewhere.join("missing"), file)?,
            _ => {}
        }
        Ok(())
    }
}

/// What came of one damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Serves,
    /// It serves, and tells of a problem.
    Tells,
    /// It ended, or does not serve the vault, and said in a line which file is wrong.
    Says,
    Fails,
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (first, only) = (asked.first()?, option(&asked.args, "--only"));
    let lab = Lab::new(asked, NOTES)?;
    let whole = lab.path("whole");
    let (daemon, mut client) = lab.start_whole(&whole)?;
    let paid = lab::contexts(&mut client)?;
    if paid == 0 {
        bail!("nothing was bought: {}", fs::read_to_string(whole.join("log"))?);
    }
    drop(client);
    daemon.stop()?;

    let data = whole.join("data");
    let mut cases = Vec::new();
    for file in files(&data)? {
        let name = file.strip_prefix(&data)?.to_owned();
        if only.as_ref().is_none_or(|only| name.to_string_lossy().contains(only.as_str())) {
            cases.extend(Damage::all().into_iter().map(|damage| (name.clone(), damage)));
        }
    }
    let mut table: BTreeMap<(String, Damage), BTreeMap<Outcome, usize>> = BTreeMap::new();
    let (mut failures, count) = (Vec::new(), cases.len());
    for (no, (name, damage)) in cases.into_iter().enumerate().skip(first) {
        let mut rng = asked.rng(no);
        let (outcome, why) = one(&lab, &whole, &name, damage, paid, &mut rng)?;
        let line = format!("{no}: {} {damage}: {outcome:?}{why}", name.display());
        eprintln!("{line}");
        if outcome == Outcome::Fails {
            failures.push(line);
        }
        let kind = match damage {
            Damage::BitFlips(_) => Damage::BitFlips(0),
            Damage::Cut(_) => Damage::Cut(0),
            other => other,
        };
        *table.entry((part(&name), kind)).or_default().entry(outcome).or_default() += 1;
    }
    println!("seed {}, {count} damages of {paid} paid contexts, {} failures\n", asked.seed, failures.len());
    let damages: BTreeSet<Damage> = table.keys().map(|(_, damage)| *damage).collect();
    let names: Vec<String> = damages.iter().map(ToString::to_string).collect();
    println!("| file | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for file in table.keys().map(|(file, _)| file).collect::<BTreeSet<_>>() {
        let cell = |damage: &Damage| table.get(&(file.clone(), *damage)).map_or(String::new(), shown);
        println!("| {file} | {} |", damages.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    println!(
        "\nserves; tells: serves, and says in `status` what was wrong; says: does not serve, and says why and where"
    );
    for failure in &failures {
        println!("- {failure}");
    }
    if failures.is_empty() { Ok(()) } else { bail!("{} of {count} failed", failures.len()) }
}

/// What came of damages of one kind.
fn shown(outcomes: &BTreeMap<Outcome, usize>) -> String {
    let shown = outcomes.iter().map(|(outcome, count)| {
        let name = match outcome {
            Outcome::Serves => "serves",
            Outcome::Tells => "tells",
            Outcome::Says => "says",
            Outcome::Fails => "**fails**",
        };
        if outcomes.len() == 1 { name.to_owned() } else { format!("{name} {count}") }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The kind of file: vaults and segments have numbers in their names.
fn part(name: &Path) -> String {
    let parts = name.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let plain = parts.map(|part| {
        let (stem, ending) = part.rsplit_once('.').map_or((part.as_str(), ""), |(stem, ending)| (stem, ending));
        let is_number = stem.len() > 6 && stem.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, '-' | '.'));
        match () {
            () if part.starts_with("vault-") => "*".to_owned(),
            () if part.starts_with("vectors-") => "vectors-*.bin".to_owned(),
            () if is_number => format!("*.{ending}"),
            () => part,
        }
    });
    let joined: Vec<String> = plain.collect();
    joined.join("/")
}

/// Damages a copy of the data and starts a daemon over it.
fn one(lab: &Lab, whole: &Path, name: &Path, damage: Damage, paid: u64, rng: &mut Rng) -> Result<(Outcome, String)> {
    let home = lab.path("damaged");
    clear(&home)?;
    let elsewhere = lab.path("elsewhere");
    clear(&elsewhere)?;
    crate::common::copy(&whole.join("data"), &home.join("data"))?;
    let file = home.join("data").join(name);
    damage.inflict(&file, &elsewhere, rng).with_context(|| format!("{damage} {}", file.display()))?;
    let calls = lab.model.calls();
    let mut daemon = lab.start(&home)?;
    let started = lab::await_start(&mut daemon)?;
    let log = || fs::read_to_string(home.join("log")).unwrap_or_default();
    let fails = |why: String| Ok((Outcome::Fails, format!(": {why}\n{}", log())));
    match started {
        Start::Hangs => {
            daemon.kill()?;
            fails(format!("it hangs for {:?}", lab::PATIENCE))
        }
        Start::Ended(code) => {
            let said = log();
            let told = said.lines().any(|line| names(line, &file));
            let why = format!(" ({code}): {}", said.lines().last().unwrap_or_default());
            if told { Ok((Outcome::Says, why)) } else { fails(format!("it ended without a word of the file{why}")) }
        }
        Start::Serves(client, status) if status["vaults"][0]["notes"].as_u64() == Some(0) => {
            drop(client);
            daemon.stop()?;
            let problems = status["problems"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
            match problems.into_iter().find(|line| names(line, &file)) {
                Some(line) => Ok((Outcome::Says, format!(": {line}"))),
                None => fails(format!("the vault is not served, and nothing names the file: {}", status["problems"])),
            }
        }
        Start::Serves(mut client, status) => {
            let (have, bought) = (lab::contexts(&mut client)?, lab.model.calls() - calls);
            let found = lab::all_found(&mut client, NOTES);
            drop(client);
            daemon.stop()?;
            let problems = status["problems"].as_array().map_or(0, Vec::len);
            match found {
                Err(error) => fails(format!("{error}; {}", status["problems"])),
                Ok(()) if bought > 0 => fails(format!("{bought} calls again; {}", status["problems"])),
                Ok(()) if have < paid => fails(format!("{have} of {paid} contexts; {}", status["problems"])),
                Ok(()) if problems > 0 => Ok((Outcome::Tells, format!(": {}", status["problems"][0]))),
                Ok(()) => Ok((Outcome::Serves, String::new())),
            }
        }
    }
}

/// Whether a line says where the damage is: the file, or a folder of the data that it is in.
fn names(line: &str, file: &Path) -> bool {
    file.ancestors().take_while(|path| !path.ends_with("data")).any(|path| line.contains(&*path.to_string_lossy()))
}

/// Removes what is there, whatever its rights.
fn clear(path: &PathBuf) -> Result<()> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else {
        fs::remove_file(path)?;
    }
    Ok(())
}
