//! What must hold between values, and between them and the disk.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{iter, slice};

use super::{Loaded, Problem, ValueOrigin, VaultConfig, socket_too_long, units};
use context::models::Model;
use context::settings::{ExpansionChoice, KeyConfig, NO_BEDROCK, Provider};
use index::embed::settings::EmbedProvider;
use index::search::rerank::RerankProvider;
use note::chunk::ChunkConfig;
use protocol::nearest::nearest;
use provider::hub::ModelId;
use vault::root::look_at;

/// A problem for each relation that does not hold.
pub(super) fn check(loaded: &Loaded) -> Vec<Problem> {
    let mut check = Check { loaded, problems: Vec::new() };
    check.sizes();
    check.context();
    check.rerank();
    check.embed();
    check.names();
    check.patterns();
    check.vaults();
    check.teams();
    check.nesting();
    if let Some(message) = loaded.config.serve.socket.as_deref().and_then(socket_too_long) {
        check.problem("serve.socket", message);
    }
    check.problems
}

impl Loaded {
    /// A problem of a value that can be read, at the line that sets it.
    pub(crate) fn problem_at(&self, key: &str, message: &str) -> Problem {
        let (file, line) = match self.origin(key) {
            ValueOrigin::File(file, line) => (Some(file.clone()), Some(*line)),
            _ => (None, None),
        };
        let (key, message) = (Some(units::without_secrets(key)), units::without_secrets(message));
        Problem { file, line, column: line.map(|_| 1), key, message }
    }
}

struct Check<'a> {
    loaded: &'a Loaded,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn problem(&mut self, key: &str, message: impl AsRef<str>) {
        self.problems.push(self.loaded.problem_at(key, message.as_ref()));
    }

    /// Reports a relation between two values at the line where one of them was written.
    fn relation(&mut self, keys: [&str; 2], message: impl AsRef<str>) {
        let written = keys.into_iter().find(|key| matches!(self.loaded.origins.get(*key), Some(ValueOrigin::File(..))));
        self.problem(written.unwrap_or(keys[0]), message);
    }

    fn sizes(&mut self) {
        let rules = &self.loaded.config.engine.chunk;
        self.chunk("chunk", &rules.plain);
        for (kind, chunk) in &rules.types {
            self.chunk(&format!("chunk.types.{kind}"), chunk);
        }
        let watch = &self.loaded.config.engine.watch;
        self.order(["watch.quiet", "watch.burst"], [watch.lone, watch.burst], "longer than");
        self.order(["watch.burst", "watch.storm"], [watch.burst, watch.storm], "longer than");
    }

    fn chunk(&mut self, table: &str, chunk: &ChunkConfig) {
        let [min, target, max] = ["min", "target", "max"].map(|key| format!("{table}.{key}"));
        self.order([&min, &target], [chunk.min, chunk.target], "above");
        self.order([&target, &max], [chunk.target, chunk.max], "above");
    }

    /// The first of two values must not be `above` the second.
    fn order<T: PartialOrd + Debug>(&mut self, keys: [&str; 2], values: [T; 2], above: &str) {
        let ([low_key, high_key], [low, high]) = (keys, values);
        if low > high {
            self.relation(keys, format!("{low_key} {low:?} is {above} {high_key} {high:?}; set both"));
        }
    }

    fn context(&mut self) {
        let context = &self.loaded.config.engine.context;
        if context.provider == Provider::Bedrock && cfg!(not(feature = "bedrock")) {
            return self.problem("context.provider", NO_BEDROCK);
        }
        if context.timeout > context.deadline {
            self.relation(
                ["context.timeout", "context.deadline"],
                format!(
                    "context.timeout {} is longer than context.deadline {}, which is for all attempts together; set both",
                    units::show_duration(context.timeout),
                    units::show_duration(context.deadline)
                ),
            );
        }
        if let Some(least) = context.min_words.filter(|least| *least > context.max_words) {
            let message = format!("context.min_words {least} is more than context.max_words {}", context.max_words);
            self.relation(["context.min_words", "context.max_words"], message);
        }
        let own = context.prompts.iter().find(|prompt| prompt.own.is_some());
        if let Some(own) = own.filter(|_| context.expansion == ExpansionChoice::Questions) {
            let message = format!(
                "context.expansion asks for questions beside contexts, and notes of the kind `{}` are asked about by your own \
                 prompt, which is answered by one text; leave one of them out",
                own.kind
            );
            let prompt = format!("context.prompt.{}", own.kind);
            self.relation(["context.expansion", &prompt], message);
        }
        self.one_key("context", &self.loaded.config.engine.context.key);
        self.models();
    }

    /// What the user says about models, and about those that are asked: a daemon that cannot read it opens no vault.
    fn models(&mut self) {
        let engine = &self.loaded.config.engine;
        let mut wrong: Vec<(String, String)> = Vec::new();
        for said in &engine.context.models {
            if let Err(message) = Model::find(Provider::Template, "", false, slice::from_ref(said)) {
                let message = message.trim_start_matches(&format!("models \"{}\": ", said.model.trim())).to_owned();
                wrong.push((format!("context.models.{}", said.model), message));
            }
        }
        if wrong.is_empty() {
            let asked = iter::once(("context.model".to_owned(), &engine.context));
            let beside = engine.generations.iter().map(|(name, of)| (format!("generation.{name}.model"), of));
            wrong.extend(asked.chain(beside).filter_map(|(key, of)| Some((key, provider::model(of).err()?))));
        }
        for (key, message) in wrong {
            self.problem(&key, message);
        }
    }

    fn one_key(&mut self, section: &str, key: &KeyConfig) {
        if key.file.is_some() && key.command.is_some() {
            let (file, command) = (format!("{section}.key_file"), format!("{section}.key_command"));
            let message = format!("{file} and {command} are both set, and there is one key; leave one of them out");
            self.relation([&command, &file], message);
        }
    }

    fn embed(&mut self) {
        let embed = &self.loaded.config.engine.embed;
        if embed.provider == EmbedProvider::Static {
            self.static_table();
        }
        self.one_key("embed", &embed.key);
    }

    fn static_table(&mut self) {
        let embed = &self.loaded.config.engine.embed;
        if embed.path.is_none() {
            let message = "where the table of \"static\" is has to be said; add `path`, the folder with its \
                           model.safetensors and tokenizer.json, beginning with `/` or `~/`";
            return self.problem("embed.provider", message);
        }
        let prefixes = [("embed.query_prefix", &embed.query_prefix), ("embed.document_prefix", &embed.document_prefix)];
        let set = |(key, prefix): (&'static str, &Option<String>)| {
            prefix.as_ref().is_some_and(|p| !p.is_empty()).then_some(key)
        };
        for key in prefixes.into_iter().filter_map(set) {
            let message = "a static table adds up words, so a prefix would be the same part of every vector and tell \
                           nothing; leave it out";
            self.problem(key, message);
        }
    }

    fn rerank(&mut self) {
        let rerank = &self.loaded.config.engine.rerank;
        let is_folder_or_id = |model: &str| Path::new(model).is_absolute() || ModelId::parse(model).is_some();
        match rerank.provider {
            RerankProvider::Tei if rerank.base_url.is_none() => self.problem(
                "rerank.provider",
                "where \"tei\" is has to be said; add `base_url`, such as \"http://127.0.0.1:8080\"",
            ),
            RerankProvider::Transformer if !rerank.model.as_deref().is_some_and(is_folder_or_id) => self.problem(
                "rerank.model",
                "name the cross-encoder: `situated models add cross-encoder ORG/NAME` downloads one and writes it here; or \
                 its folder, beginning with `/`",
            ),
            _ => {}
        }
        self.one_key("rerank", &rerank.key);
        if rerank.price_per_mtok.is_some() && rerank.price_per_1k.is_some() {
            self.relation(
                ["rerank.price_per_1k", "rerank.price_per_mtok"],
                "rerank.price_per_mtok and rerank.price_per_1k are both set, and a model has one price; leave one of them out",
            );
        }
        if rerank.provider != RerankProvider::None {
            self.within_query("rerank.deadline", rerank.deadline());
        }
    }

    /// A part of a search must leave something of the time for all of it.
    fn within_query(&mut self, key: &str, part: Duration) {
        const WHOLE: &str = "serve.query_timeout";
        let whole = self.loaded.config.serve.query_timeout;
        if part >= whole {
            let [part, whole] = [part, whole].map(units::show_duration);
            let message = format!("{key} {part} leaves nothing of {WHOLE} {whole} for the search itself; set both");
            self.relation([key, WHOLE], message);
        }
    }

    fn names(&mut self) {
        let vaults = &self.loaded.config.engine.vaults;
        for (i, vault) in vaults.iter().enumerate() {
            let key = key_of(vault, "name");
            if let Some(why) = bad_name(&vault.name) {
                self.problem(&key, format!("`{}` cannot be a vault's name: {why}", vault.name.escape_debug()));
            }
            // Names become folders, and some file systems ignore case.
            if vaults[..i].iter().any(|other| other.name.to_lowercase() == vault.name.to_lowercase()) {
                self.problem(&key, format!("two vaults are called `{}`; give one of them another `name`", vault.name));
            }
        }
    }

    /// Patterns that can match nothing: what they are to keep back would be shown.
    fn patterns(&mut self) {
        for vault in &self.loaded.config.engine.vaults {
            let private = vault.private.iter().map(|glob| ("private", glob));
            for (name, glob) in vault.exclude.iter().map(|glob| ("exclude", glob)).chain(private) {
                if let Some(why) = matches_nothing(glob, &vault.path) {
                    self.problem(&key_of(vault, name), format!("`{}` matches nothing: {why}", glob.escape_debug()));
                }
            }
        }
    }

    fn vaults(&mut self) {
        let engine = &self.loaded.config.engine;
        for vault in &engine.vaults {
            let path = vault.path.display();
            let can_be_read =
                look_at(
                    &vault.path,
                    |path| {
                        if path.metadata()?.is_dir() { path.read_dir().map(|_| true) } else { Ok(false) }
                    },
                );
            let message = match can_be_read {
                Ok(true) => continue,
                Ok(false) => format!("{path} is not a folder; a vault is the folder that holds the notes"),
                // It was read once, and goes on when it is back: a disk may be mounted later, or not answer for a while.
                Err(_) if engine::vault_dir(&engine.data_dir, &vault.path).is_dir() => continue,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("there is no folder {path}; is it spelt right, and mounted?")
                }
                Err(error) => format!("the vault {path} cannot be read: {error}"),
            };
            self.problem(&key_of(vault, "path"), message);
        }
    }

    fn teams(&mut self) {
        let engine = &self.loaded.config.engine;
        for vault in &engine.vaults {
            let Some(team) = vault.publish.as_deref().filter(|team| !engine.teams.contains_key(*team)) else {
                continue;
            };
            let near = nearest(team, engine.teams.keys().map(String::as_str)).map_or_else(
                || format!("write `[team.{}]` with its `url` and `collection`", team.escape_debug()),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("there is no team `{}`; {near}", team.escape_debug());
            self.problem(&key_of(vault, "publish"), message);
        }
        for (name, team) in &engine.teams {
            let full = format!("team.{name}");
            if cfg!(not(feature = "team")) {
                self.problem(&full, "this program was built without teams (feature `team`)");
            }
            self.one_key(&full, &team.key);
            self.within_query(&format!("{full}.timeout"), team.timeout);
        }
    }

    fn nesting(&mut self) {
        let config = &self.loaded.config;
        let vaults = &config.engine.vaults;
        let real: Vec<PathBuf> = vaults.iter().map(|vault| real_path(&vault.path)).collect();
        for (i, vault) in vaults.iter().enumerate() {
            for (j, VaultConfig { name: other, .. }) in vaults.iter().enumerate() {
                let (inner, outer) = (&real[i], &real[j]);
                if inner == outer && j < i {
                    let message = format!("this is the same folder as that of the vault `{other}`");
                    self.problem(&key_of(vault, "path"), message);
                } else if let Ok(relative) = inner.strip_prefix(outer)
                    && inner != outer
                {
                    let name = &vault.name;
                    let path = format!("{}/", relative.display());
                    let path = if path.contains(' ') { format!("\"{path}\"") } else { path };
                    let message = format!(
                        "the vault `{name}` lies inside the vault `{other}`; its notes would be indexed twice. Leave one \
                         out: searches of `{other}` can be narrowed with `path:{path}`"
                    );
                    self.problem(&key_of(vault, "path"), message);
                }
            }
        }
        let holder = |path: &Path| vaults.iter().zip(&real).find(|(_, root)| path.starts_with(root));
        if let Some(socket) = config.serve.socket.as_deref().map(real_path)
            && let Some((VaultConfig { name, .. }, _)) = holder(&socket)
        {
            let socket = socket.display();
            let message = format!("{socket} lies inside the vault `{name}`, and nothing is ever written there");
            self.problem("serve.socket", message);
        }
        let data = real_path(&config.engine.data_dir);
        let shown = data.display();
        for (vault, root) in vaults.iter().zip(&real) {
            if data.starts_with(root) {
                let message = format!(
                    "{shown} lies inside the vault `{}`, and nothing is ever written there; name another `data_dir`, or the \
                     folder in which the notes are",
                    vault.name
                );
                self.problem("data_dir", message);
            } else if root.starts_with(&data) {
                self.problem(&key_of(vault, "path"), format!("the vault lies inside the data folder {shown}"));
            }
        }
    }
}

/// The key of a vault's setting in the table of origins; a name that was not given has the origin of the path.
fn key_of(vault: &VaultConfig, key: &str) -> String {
    format!("vault.{}.{key}", vault.name)
}

/// Why a pattern can match no note of the vault at `root`.
fn matches_nothing(glob: &str, root: &Path) -> Option<String> {
    let pattern = glob.strip_prefix('!').unwrap_or(glob).trim();
    let is_below = |root: &Path| Path::new(pattern).starts_with(root);
    if pattern.is_empty() || pattern.starts_with('#') {
        return Some(
            "an empty pattern and one that begins with `#` say nothing; `\\#` means the sign itself".to_owned(),
        );
    }
    if pattern.starts_with("~/") || is_below(root) || is_below(&real_path(root)) {
        let inside = Path::new(pattern).strip_prefix(root).ok().filter(|inside| !inside.as_os_str().is_empty());
        let example = inside.map_or_else(|| "Journal/".to_owned(), |inside| format!("/{}", inside.display()));
        return Some(format!("patterns are relative to the vault's folder, as `{example}`"));
    }
    let leads_out = pattern.split('/').any(|part| part == "..");
    leads_out.then(|| "nothing in a vault has `..` in its path".to_owned())
}

fn bad_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
        Some("it becomes a folder's name, so it cannot hold slashes or control characters")
    } else if name.starts_with('.') {
        Some("it must not begin with a dot")
    } else if name.trim() != name {
        Some("it has white space at an end")
    } else if name.len() > 200 {
        Some("it is too long")
    } else {
        None
    }
}

/// The path with links resolved, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = look_at(existing, Path::canonicalize) {
            return missing.iter().rev().fold(real, |path, part| path.join(part));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                existing = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}
