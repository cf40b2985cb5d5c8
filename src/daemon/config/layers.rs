//! Defaults < file < environment < flags. Every value knows which layer it came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::keys::{KEYS, Key, PROMPT, PROMPT_KEYS, SECTIONS, TEAM, VAULT, VAULT_KEYS};
use super::raw::{CHUNK, CHUNK_TYPES, CONTEXT, RawConfig, RawTable, Reader, advice, is_a_key};
use super::team;
use super::units::{self, Placed, Value};
use super::{
    Config, ConfigErrors, Loaded, Overrides, Problem, Unnamed, ValueOrigin, VaultConfig, Whereabouts, check,
    default_config_file, default_data_dir, free_name, name_of_folder, real_folder,
};
use context::settings::{ContextConfig, KindPrompt, ModelOverride};
use note::chunk::ChunkConfig;
use protocol::folders::Folders;

/// A configuration is small; a larger file is a mistake (a device, a log, a note).
const FILE_BYTES: u64 = 1 << 20;

pub(super) type Environment = BTreeMap<String, String>;

/// The variables that begin with `SITUATED_` and are not empty.
pub(super) fn environment() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, value)| name.starts_with("SITUATED_") && !value.is_empty())
        .collect()
}

/// The short names that OPS promises besides `SITUATED_<SECTION>_<KEY>`; the short one wins.
const SHORT_NAMES: [(&str, &str); 1] = [("serve.socket", "SITUATED_SOCKET")];

/// The file that [`super::Config::load`] reads, whether or not it is there.
pub fn config_file(overrides: &Overrides) -> PathBuf {
    file_to_read(overrides, &environment()).0
}

/// The file to read, and whether it must exist.
fn file_to_read(overrides: &Overrides, environment: &Environment) -> (PathBuf, Option<ValueOrigin>) {
    if let Some(path) = &overrides.config {
        (path.clone(), Some(ValueOrigin::Flag("--config")))
    } else if let Some(path) = environment.get("SITUATED_CONFIG") {
        let path = super::paths::expand(path).unwrap_or_else(|_| PathBuf::from(path));
        (path, Some(ValueOrigin::Env("SITUATED_CONFIG".to_owned())))
    } else {
        (default_config_file(), None)
    }
}

fn read_file(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let file = platform::files::open_at_once(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, "it is larger than 1 MiB, so it cannot be a configuration"));
    }
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Everything read and laid over the defaults, but not yet checked against the disk; with a `text` instead of the file's.
fn merge(overrides: &Overrides, environment: &Environment, text: Option<&str>) -> (Loaded, Vec<Problem>) {
    let mut merge = Merge {
        config: Config::new(default_data_dir(), Vec::new()),
        origins: BTreeMap::new(),
        types: Vec::new(),
        beside_file: Vec::new(),
        left_out: Vec::new(),
        problems: Vec::new(),
    };
    let (path, asked_by) = file_to_read(overrides, environment);
    let mut file = None;
    match text.map_or_else(|| read_file(&path), |text| Ok(text.to_owned())) {
        Ok(content) => {
            merge.file(&path, &content);
            file = Some(path);
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && asked_by.is_none() => {}
        Err(error) => {
            let hint = if error.kind() == std::io::ErrorKind::NotFound { "; `situated init` writes one" } else { "" };
            let by = asked_by.map_or_else(String::new, |origin| format!(" ({origin})"));
            let message = format!("the configuration{by} cannot be read: {error}{hint}");
            merge.problems.push(Problem { file: Some(path), ..unplaced(None, message) });
        }
    }
    merge.environment(environment);
    merge.flags(overrides);
    merge.chunk_sizes();
    merge.types(file.as_deref());
    let Merge { config, origins, beside_file, left_out, problems, .. } = merge;
    (Loaded { config, origins, file, beside_file, left_out }, problems)
}

/// See [`Config::load`].
pub(super) fn load(overrides: &Overrides, environment: &Environment) -> Result<Loaded, ConfigErrors> {
    let (loaded, problems) = read(overrides, environment, None);
    if problems.is_empty() { Ok(loaded) } else { Err(ConfigErrors { problems }) }
}

/// See [`super::Config::read`].
pub(super) fn read(overrides: &Overrides, environment: &Environment, text: Option<&str>) -> (Loaded, Vec<Problem>) {
    let (loaded, mut problems) = merge(overrides, environment, text);
    problems.extend(check::check(&loaded));
    problems.sort_by_key(|p| (p.file.is_none(), p.line, p.column));
    (loaded, problems)
}

/// See [`Config::unnamed`].
pub(super) fn unnamed(loaded: &Loaded, overrides: &Overrides, environment: &Environment) -> Unnamed {
    let Folders { config_file, data_dir, .. } = Folders::here();
    let (_, asked_by) = file_to_read(overrides, environment);
    Unnamed {
        data_dir: (!loaded.origins.contains_key("data_dir")).then_some(data_dir),
        config_file: asked_by.is_none().then_some(config_file),
    }
}

/// See [`Config::whereabouts`].
pub(super) fn whereabouts(overrides: &Overrides, environment: &Environment) -> Whereabouts {
    let (loaded, problems) = merge(overrides, environment, None);
    let Config { engine, serve, open } = loaded.config;
    let is_named = matches!(loaded.origins.get("data_dir"), Some(ValueOrigin::Flag(_) | ValueOrigin::Env(_)));
    Whereabouts { data_dir: engine.data_dir, socket: serve.socket, is_named, open, problems }
}

struct Merge {
    config: Config,
    origins: BTreeMap<String, ValueOrigin>,
    /// `[chunk.types]`, which start from `[chunk]` once all layers are applied.
    types: Vec<RawTable>,
    /// See [`Loaded::beside_file`].
    beside_file: Vec<PathBuf>,
    /// See [`Loaded::left_out`].
    left_out: Vec<String>,
    problems: Vec<Problem>,
}

impl Merge {
    fn file(&mut self, path: &Path, content: &str) {
        let mut reader = Reader::new(path, content);
        let RawConfig { scalars, vaults, prompts, models, generations, types, teams } = reader.read();
        for (key, placed) in scalars {
            if reader.take(&key.full(), &placed, |value| (key.set)(&mut self.config, value)).is_some() {
                self.note_origin(path, key.full(), placed.line);
            }
        }
        for raw in vaults {
            self.vault(path, &raw, &mut reader);
        }
        for raw in teams {
            self.team(path, &raw, &mut reader);
        }
        for raw in prompts {
            self.prompt(path, &raw, &mut reader);
        }
        for (model, Placed { value: table, line, .. }) in models {
            self.note_origin(path, format!("context.models.{model}"), line);
            self.config.engine.context.models.push(ModelOverride { model, table });
        }
        self.types = types;
        // Last, because they start from `[context]`.
        for raw in generations {
            self.generation(path, &raw, &mut reader);
        }
        self.problems.append(&mut reader.problems);
    }

    fn note_origin(&mut self, file: &Path, key: String, line: u32) {
        self.origins.insert(key, ValueOrigin::File(file.to_path_buf(), line));
    }

    /// Notes where the entries of a table came from.
    fn note_origins(&mut self, file: &Path, full: &str, entries: &[(String, Placed<Value>)]) {
        for (key, placed) in entries {
            self.note_origin(file, format!("{full}.{key}"), placed.line);
        }
    }

    fn generation(&mut self, file: &Path, raw: &RawTable, reader: &mut Reader<'_>) {
        let name = &raw.name.value;
        let full = format!("generation.{name}");
        if !units::is_short_name(name) {
            let message = "a generation's name becomes a folder's: at most 32 of a-z, 0-9 and `-`";
            return reader.problem_at(&full, &raw.name, message);
        }
        if name == "default" {
            let message = "`default` is the one that `[context]` describes; give this one another name";
            return reader.problem_at(&full, &raw.name, message);
        }
        let mut config = self.config.clone();
        let plain = config.engine.context.clone();
        // First whom it asks: that decides what it takes from `[context]`.
        let whom = |(key, _): &&(String, _)| matches!(key.as_str(), "provider" | "base_url");
        let (whom, rest): (Vec<_>, Vec<_>) = raw.entries.iter().partition(whom);
        reader.set((KEYS, CONTEXT), &full, whom, &mut config);
        let asked = &config.engine.context;
        let of_its_own = raw.get("base_url").is_some() || asked.provider == plain.provider;
        let (provider, base_url) = (asked.provider, asked.base_url.clone().filter(|_| of_its_own));
        let lent = plain.lent_to(provider, base_url.as_deref());
        config.engine.context = ContextConfig { provider, base_url, ..lent };
        reader.set((KEYS, CONTEXT), &full, rest, &mut config);
        self.note_origins(file, &full, &raw.entries);
        self.config.engine.generations.insert(name.clone(), config.engine.context);
    }

    fn vault(&mut self, file: &Path, raw: &RawTable, reader: &mut Reader<'_>) {
        if raw.get("path").is_none() {
            return reader.problem_at(VAULT, &raw.name, "this vault has no `path`; write the folder of its notes");
        }
        let mut vault = VaultConfig::new("", "");
        let set = reader.set((VAULT_KEYS, VAULT), VAULT, &raw.entries, &mut vault);
        if !set.contains(&"path") {
            return;
        }
        if !set.contains(&"name") {
            vault.name = name_of_folder(&vault.path);
        }
        self.note_origins(file, &format!("vault.{}", vault.name), &raw.entries);
        self.config.engine.vaults.push(vault);
    }

    fn team(&mut self, file: &Path, raw: &RawTable, reader: &mut Reader<'_>) {
        let Placed { value: name, line, .. } = &raw.name;
        let full = format!("{TEAM}.{name}");
        self.note_origins(file, &full, &raw.entries);
        if let Some(config) = team::read(&full, raw, reader) {
            self.note_origin(file, full, *line);
            self.config.engine.teams.insert(name.clone(), config);
        }
    }

    fn prompt(&mut self, file: &Path, raw: &RawTable, reader: &mut Reader<'_>) {
        if raw.get("kind").is_none() {
            let message = "this prompt has no `kind`; write the kind of note, or \"*\"";
            return reader.problem_at(PROMPT, &raw.name, message);
        }
        if ["instructions", "template", "preset"].iter().filter(|text| raw.get(text).is_some()).count() != 1 {
            let message = "a prompt has one of `instructions` (added to ours), `template` (in the place of ours) and \
                           `preset`";
            return reader.problem_at(PROMPT, &raw.name, message);
        }
        let mut prompt = KindPrompt { kind: String::new(), instructions: String::new(), own: None, version: 1 };
        if reader.set((PROMPT_KEYS, PROMPT), PROMPT, &raw.entries, &mut prompt).len() < raw.entries.len() {
            return;
        }
        let (known, kind) = (&mut self.config.engine.context.prompts, prompt.kind.clone());
        if known.iter().any(|other| other.kind == kind) {
            let message =
                format!("there are two prompts for notes of the kind `{}`; leave one out", kind.escape_debug());
            return reader.problem_at(PROMPT, &raw.name, message);
        }
        known.push(prompt);
        self.note_origin(file, format!("{PROMPT}.{kind}"), raw.name.line);
    }

    /// Sets sizes that no layer gives to those of the strategy.
    fn chunk_sizes(&mut self) {
        let given = self.config.engine.chunk.plain;
        let sizes = &mut self.config.engine.chunk.plain;
        *sizes = ChunkConfig::of(given.strategy);
        for (key, size, given) in [
            ("chunk.target", &mut sizes.target, given.target),
            ("chunk.min", &mut sizes.min, given.min),
            ("chunk.max", &mut sizes.max, given.max),
            ("chunk.overlap", &mut sizes.overlap_percent, given.overlap_percent),
        ] {
            if self.origins.contains_key(key) {
                *size = given;
            }
        }
    }

    /// `[chunk.types.NAME]`: values that it does not give come from `[chunk]`, or from its own strategy if it names
    /// another one.
    fn types(&mut self, file: Option<&Path>) {
        let Some(file) = file else { return };
        let mut reader = Reader::new(file, "");
        for RawTable { name, entries } in std::mem::take(&mut self.types) {
            let kind = name.value.clone();
            let full = format!("{CHUNK_TYPES}.{kind}");
            let twice = self.config.engine.chunk.types.keys().any(|other| other.eq_ignore_ascii_case(&kind));
            if let Some(message) = bad_kind(&kind, twice) {
                reader.problem_at(&full, &name, message);
                continue;
            }
            let mut config = self.config.clone();
            for strategy in [true, false] {
                let entries = entries.iter().filter(|(key, _)| (key == "strategy") == strategy);
                reader.set((KEYS, CHUNK), &full, entries, &mut config);
                if strategy && config.engine.chunk.plain.strategy != self.config.engine.chunk.plain.strategy {
                    config.engine.chunk.plain = ChunkConfig::of(config.engine.chunk.plain.strategy);
                }
            }
            self.note_origins(file, &full, &entries);
            self.config.engine.chunk.types.insert(kind, config.engine.chunk.plain);
        }
        self.problems.append(&mut reader.problems);
    }

    fn environment(&mut self, environment: &Environment) {
        for key in KEYS {
            let full = key.full();
            let short = SHORT_NAMES.iter().find(|(long, _)| *long == full).map(|(_, short)| (*short).to_owned());
            let found = short.into_iter().chain([key.variable()]).find(|name| environment.contains_key(name));
            if let Some(name) = found {
                self.typed(key, &environment[&name], ValueOrigin::Env(name.clone()));
            }
        }
        for name in environment.keys() {
            self.unknown_variable(name);
        }
    }

    /// A variable of one of our sections whose key does not exist is a typo; other variables are not ours
    /// to judge (a supervisor's, a later version's).
    fn unknown_variable(&mut self, name: &str) {
        let known =
            KEYS.iter().any(|key| key.variable() == name) || SHORT_NAMES.iter().any(|(_, short)| *short == name);
        let rest = name.trim_start_matches("SITUATED_").to_lowercase();
        let section =
            SECTIONS.iter().find_map(|(section, _)| Some((*section, rest.strip_prefix(section)?.strip_prefix('_')?)));
        if let (false, Some((section, key))) = (known, section) {
            let advice = match (section, key) {
                _ if is_a_key(section, key) => units::where_keys_go(section),
                ("context", "prompt" | "models") | ("chunk", "types") => {
                    format!("`{section}.{key}` stands in the file, for it is a table")
                }
                _ => advice(section, key),
            };
            let message = format!("the environment variable {name} means no key; {advice}");
            self.problems.push(unplaced(Some(format!("{section}.{key}")), message));
        }
    }

    fn flags(&mut self, overrides: &Overrides) {
        for (full, value, flag) in
            [("data_dir", &overrides.data_dir, "--data-dir"), ("serve.socket", &overrides.socket, "--socket")]
        {
            if let (Some(path), Some(key)) = (value, KEYS.iter().find(|key| key.full() == full)) {
                // A path that is not text cannot go through the reader of texts, and has no `~` to replace.
                match (path.to_str(), std::path::absolute(path)) {
                    (None, Ok(path)) => {
                        match full {
                            "data_dir" => self.config.engine.data_dir = path,
                            _ => self.config.serve.socket = Some(path),
                        }
                        self.origins.insert(full.to_owned(), ValueOrigin::Flag(flag));
                    }
                    _ => self.typed(key, &path.to_string_lossy(), ValueOrigin::Flag(flag)),
                }
            }
        }
        if !overrides.vaults.is_empty() {
            self.only(overrides);
        }
    }

    /// Keeps the vaults of the command line only, in their order.
    fn only(&mut self, overrides: &Overrides) {
        let in_file = std::mem::take(&mut self.config.engine.vaults);
        let in_file: Vec<(PathBuf, VaultConfig)> =
            in_file.into_iter().map(|known| (real_folder(&known.path), known)).collect();
        let given: Vec<(&PathBuf, PathBuf)> =
            overrides.vaults.iter().map(|folder| (folder, real_folder(folder))).collect();
        let (left_out, in_both): (Vec<_>, Vec<_>) =
            in_file.iter().partition(|(path, _)| given.iter().all(|(_, folder)| folder != path));
        let (mut kept, mut origins) = (Vec::<VaultConfig>::new(), Vec::new());
        for (i, (typed, path)) in given.iter().enumerate() {
            if given[..i].iter().any(|(_, before)| before == path) {
                continue;
            }
            if let Some((_, known)) = in_both.iter().find(|(folder, _)| folder == path) {
                kept.push(known.clone());
            } else if !overrides.named.contains(typed) {
                // All names of the file are taken, for the file may come to name this vault, too.
                let name = free_name(path, in_file.iter().map(|(_, known)| known).chain(&kept));
                let key = format!("vault.{name}.path");
                let mut overlap = left_out.iter().filter(|(of, _)| path.starts_with(of) || of.starts_with(path));
                if let Some((folder, known)) = overlap.next() {
                    let message = format!(
                        "{} overlaps the vault `{}` ({}) of the configuration, and would be read without what is said there, \
                         as of private notes: name that folder, or change the configuration",
                        path.display(),
                        known.name,
                        folder.display()
                    );
                    self.problems.push(unplaced(Some(key.clone()), message));
                }
                origins.push((key, ValueOrigin::Flag("VAULT")));
                self.beside_file.push((*typed).clone());
                kept.push(VaultConfig::new(name, path));
            }
        }
        let is_left = |key: &str| in_both.iter().any(|(_, known)| key.starts_with(&format!("vault.{}.", known.name)));
        self.origins.retain(|key, _| !key.starts_with("vault.") || is_left(key));
        self.origins.extend(origins);
        self.left_out = left_out.iter().map(|(_, known)| known.name.clone()).collect();
        self.config.engine.vaults = kept;
    }

    fn typed(&mut self, key: &Key, value: &str, origin: ValueOrigin) {
        match (key.set)(&mut self.config, &Value::Typed(value.to_owned())) {
            Ok(()) => {
                self.origins.insert(key.full(), origin);
            }
            Err(message) => {
                self.problems.push(unplaced(Some(key.full()), format!("{message} (from {origin})")));
            }
        }
    }
}

/// A problem that belongs to no line of the file.
fn unplaced(key: Option<String>, message: String) -> Problem {
    let key = key.map(|key| units::without_secrets(&key));
    Problem { file: None, line: None, column: None, key, message: units::without_secrets(&message) }
}

/// What is wrong with a kind of note that has its own table.
fn bad_kind(kind: &str, twice: bool) -> Option<String> {
    if kind == "*" {
        Some("what holds for all other notes stands in `[chunk]`".to_owned())
    } else if kind.trim().is_empty() || kind.chars().any(char::is_control) {
        Some("this is no kind of note; write one such as `[chunk.types.daily]`".to_owned())
    } else {
        twice.then(|| format!("there are two tables for notes of the kind `{}`; leave one out", kind.escape_debug()))
    }
}
