//! Where notes and queries come from: a vault, or a set on the disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Bench, Kinds};
use crate::cli::args::Eval;
use crate::cli::exit;
use crate::cli::print::{counted, escaped};
use crate::cli::session::CliFailure;
use crate::cli::target;
use crate::daemon::config::{Config, name_of_folder, real_folder};
use crate::daemon::sandbox::converter::Converter;
use index::Index;
use index::embed::builtin;
use index::eval::docs::{Page, Written, entry, repeats, written};
use index::eval::report::Report;
use index::eval::set::{HitPlace, Missing, Query};
use index::eval::{MadeQueries, MakeSettings, Rng, Set, make};
use note::fingerprint::ContextKey;
use note::{FileStat, Note, NoteRules, Private, VaultPath, parse};
use store::journaled;
use vault::documents::{Convert, Documents};
use vault::obsidian;
use vault::policy::Policy;
use vault::root::VaultError;
use vault::settings::VaultConfig;
use vault::walk::walk;

/// Queries of each kind, unless the user says otherwise.
const PER_KIND: usize = 100;

/// Most missing documents that are named: on the terminal (`NAMED`), and in a report (`TOLD`).
const NAMED: usize = 5;
const TOLD: usize = 100;

impl From<VaultError> for CliFailure {
    fn from(error: VaultError) -> Self {
        CliFailure::new(exit::IO, error.to_string())
    }
}

/// Notes to search, and queries to ask.
pub(super) struct Source {
    /// Name of the vault or set.
    pub(super) name: String,
    /// `vault` or `set`.
    kind: &'static str,
    /// The notes as they are searched: masked.
    pub(super) notes: Vec<Note>,
    /// In a fixed order.
    pub(super) queries: Vec<Query>,
    /// Queries by kind: how many could be made, and how many were drawn; empty for a set.
    kinds: Kinds,
    /// Files or documents that were left out.
    lost: usize,
    /// Size and times of a vault's notes: boosts can rank newer notes higher.
    pub(super) stats: HashMap<VaultPath, FileStat>,
    /// Which notes no model elsewhere may see.
    pub(super) private: Arc<Private>,
    /// The set, which maps hits to ids; without one, the id of a hit is its path.
    set: Option<Set>,
    /// The notes as they are on the disk: a model's contexts are keyed by what they were written for.
    unmasked: Vec<Note>,
    /// Texts of queries that a private note gave, or is to answer.
    secret: HashSet<String>,
    /// A model's contexts, by what they were written for.
    written: HashMap<ContextKey, Written>,
    /// Texts that a model's context must not repeat, by note.
    hidden: HashMap<VaultPath, Vec<String>>,
}

impl Source {
    /// The notes cut as a configuration says.
    pub(super) fn pages(&self, config: &Config, bench: &Bench) -> Result<Vec<Page>, CliFailure> {
        bench.phase("cutting", self.notes.len());
        let mut pages = Vec::with_capacity(self.notes.len());
        for (i, note) in self.notes.iter().enumerate() {
            let by_id = match self.unmasked.get(i).filter(|_| !self.written.is_empty()) {
                Some(unmasked) => written(unmasked, &config.engine.chunk, &|key| self.written.get(&key).cloned()),
                None => HashMap::new(),
            };
            let hidden = self.hidden.get(&note.path).map_or(&[][..], Vec::as_slice);
            let of = |chunk: &note::chunk::Chunk| {
                by_id.get(&chunk.id).filter(|written| !repeats(&written.text, hidden)).cloned()
            };
            pages.push(Page::new(note.clone(), &config.engine.chunk, of));
            bench.step()?;
        }
        Ok(pages)
    }

    /// Leaves out queries that no model elsewhere may see; returns how many.
    pub(super) fn leave_private_out(&mut self) -> usize {
        let (secret, open) = std::mem::take(&mut self.queries).into_iter().partition(|q| self.secret.contains(&q.text));
        self.queries = open;
        let secret: Vec<Query> = secret;
        for query in &secret {
            self.kinds.entry(query.kind.clone()).and_modify(|(_, drawn)| *drawn -= 1);
        }
        secret.len()
    }

    /// The ids that hits stand for.
    pub(super) fn rank<'a>(&self, hits: impl Iterator<Item = HitPlace<'a>>) -> Vec<String> {
        match &self.set {
            Some(set) => set.rank(hits),
            None => hits.map(|hit| hit.path.to_owned()).collect(),
        }
    }

    /// Most hits of one note that count.
    pub(super) fn per_note(&self) -> usize {
        self.set.as_ref().map_or(1, Set::per_note)
    }

    /// What is missing from a set, to be said before anything is measured.
    pub(super) fn gaps(&self) -> Option<String> {
        let set = self.set.as_ref().filter(|set| !set.missing.is_empty())?;
        let name = |missing: &Missing| match missing.queries {
            0 => missing.id.clone(),
            queries => format!("{} (relevant to {})", missing.id, counted(queries as u64, "query")),
        };
        let named: Vec<String> = set.missing.iter().take(NAMED).map(name).collect();
        let more = if set.missing.len() > NAMED { ", …" } else { "" };
        let left_out = match set.unanswerable {
            0 => String::new(),
            queries => {
                format!(
                    " Left out, for nothing that is relevant to them is there: {}.",
                    counted(queries as u64, "query")
                )
            }
        };
        let place = if set.has_vault() { "the set's vault" } else { "corpus.jsonl" };
        let missing = counted(set.missing.len() as u64, "document");
        Some(format!("Not in {place}: {missing}: {}{more}.{left_out}", named.join(", ")))
    }

    /// A report that says of what is measured, and nothing else yet.
    pub(super) fn report(&self) -> Report {
        let told = |set: &Set| (set.unanswerable, set.missing.iter().take(TOLD).cloned().collect());
        let (unanswerable, missing) = self.set.as_ref().map_or_else(Default::default, told);
        Report {
            unanswerable,
            missing,
            name: self.name.clone(),
            source: self.kind.to_owned(),
            notes: self.notes.len(),
            lost: self.lost,
            queries: self.queries.len(),
            kinds: self.kinds.clone(),
            ..Report::default()
        }
    }

    /// What to say where there is nothing to ask.
    pub(super) fn why_no_queries(&self) -> String {
        match self.kind {
            "set" => "nothing was measured: of no query is anything relevant there. The ids of corpus.jsonl and \
                      qrels.tsv are paths in the set's vault/, or else corpus.jsonl has the text of its passages"
                .to_owned(),
            _ => format!(
                "no query could be made of {}: none has an alias, a description, a first sentence, or a link whose text \
                 says more than the names of its target and enough to mean one note; `--set DIR` asks queries of your own",
                counted(self.notes.len() as u64, "note")
            ),
        }
    }
}

/// A vault's notes, masked, and the queries made of them.
pub(super) fn vault(args: &Eval, config: &Config, bench: &Bench) -> Result<Source, CliFailure> {
    let vault = chosen(args.vault.as_deref(), config)?;
    let (files, lost) = files(&vault, bench)?;
    let bytes = |path: &VaultPath| Some(vault::read::read(&vault.path, path, obsidian::LONGEST).ok()?.0);
    let (rules, _) = obsidian::rules(&vault, bytes);
    let unmasked: Vec<Note> = files.iter().map(|file| parse(&file.path, &file.bytes, &rules)).collect();
    let private = private(&vault, &files, config);
    let stats = files.into_iter().map(|file| (file.path, file.stat)).collect();
    let names = names(&unmasked, bench)?;
    let resolve = |mention: &str, from: &VaultPath| {
        let (side, no) = names.resolve_side(mention, from)?;
        names.note(no).map(|note| (side, note.path.clone()))
    };
    let settings = MakeSettings { seed: args.seed, per_kind: args.limit.map_or(PER_KIND, |limit| limit as usize) };
    let MadeQueries { queries, found, notes } = make(unmasked.clone(), &rules, &resolve, settings);
    let drawn = |kind| queries.iter().filter(|query| query.kind == kind).count();
    let mut hidden: HashMap<VaultPath, Vec<String>> = HashMap::new();
    for query in &queries {
        for path in query.sources.iter().chain([&query.target]) {
            hidden.entry(path.clone()).or_default().push(query.text.clone());
        }
    }
    let hidden_notes = unmasked.iter().filter(|note| private.covers_note(note));
    let hidden_notes: HashSet<&VaultPath> = hidden_notes.map(|note| &note.path).collect();
    let is_secret = |query: &&index::eval::MadeQuery| {
        query.sources.iter().chain([&query.target]).any(|path| hidden_notes.contains(path))
    };
    let secret = queries.iter().filter(is_secret);
    let secret = secret.map(|query| query.text.clone()).collect();
    let journal = journaled(&engine::vault_dir(&config.engine.data_dir, &vault.path))?;
    let written = journal.into_iter().map(|(key, context)| {
        let weak = context.making.is_some_and(|making| making.weak);
        (key, Written { text: context.text, weak })
    });
    let asked = |query: &index::eval::MadeQuery| Query {
        text: query.text.clone(),
        kind: query.kind.name().to_owned(),
        judged: query.judged(),
    };
    Ok(Source {
        name: vault.name,
        kind: "vault",
        kinds: found.iter().map(|(kind, found)| (kind.name().to_owned(), (*found, drawn(*kind)))).collect(),
        queries: queries.iter().map(asked).collect(),
        notes,
        lost,
        stats,
        private: Arc::new(private),
        set: None,
        secret,
        unmasked,
        written: written.collect(),
        hidden,
    })
}

/// A set's notes and queries.
pub(super) fn set(dir: &Path, args: &Eval, config: &Config, bench: &Bench) -> Result<Source, CliFailure> {
    let (corpus, queries, qrels) = (part(dir, "corpus.jsonl")?, part(dir, "queries.jsonl")?, part(dir, "qrels.tsv")?);
    let own = dir.join("vault");
    let (mut unread, mut private) = (0, Private::default());
    let files = if own.is_dir() {
        let vault = VaultConfig::new("set", own);
        let (files, lost) = files(&vault, bench)?;
        private = self::private(&vault, &files, config);
        unread = lost;
        Some(files)
    } else {
        None
    };
    let texts: Option<BTreeMap<String, String>> = files.as_ref().map(|files| {
        let text = |file: &File| (file.path.to_string(), String::from_utf8_lossy(&file.bytes).into_owned());
        files.iter().map(text).collect()
    });
    let mut set = Set::read(&corpus, &queries, &qrels, texts.as_ref())
        .map_err(|error| CliFailure::new(exit::IO, format!("{}/{error}", dir.display())))?;
    let rules = NoteRules::default();
    let own = files.map(|files| files.iter().map(|file| parse(&file.path, &file.bytes, &rules)).collect());
    let notes: Vec<Note> = own.unwrap_or_else(|| {
        let note = |(path, text): &(String, String)| Some(parse(&VaultPath::parse(path)?, text.as_bytes(), &rules));
        set.notes().iter().filter_map(note).collect()
    });
    let mut asked = std::mem::take(&mut set.queries);
    if let Some(limit) = args.limit {
        Rng::new(args.seed).shuffle(&mut asked);
        asked.truncate(limit as usize);
    }
    let hidden: HashSet<&str> =
        notes.iter().filter(|note| private.covers_note(note)).map(|note| note.path.as_str()).collect();
    let is_secret = |query: &&Query| query.judged.keys().any(|id| hidden.contains(id.as_str()));
    let secret = asked.iter().filter(is_secret).map(|query| query.text.clone()).collect();
    Ok(Source {
        name: name_of_folder(&dir.canonicalize().unwrap_or_else(|_| dir.to_owned())),
        kind: "set",
        notes,
        queries: asked,
        kinds: Kinds::new(),
        stats: HashMap::new(),
        lost: set.missing.len() + unread,
        private: Arc::new(private),
        set: Some(set),
        secret,
        unmasked: Vec::new(),
        written: HashMap::new(),
        hidden: HashMap::new(),
    })
}

/// One of the files of a set.
fn part(dir: &Path, name: &str) -> Result<String, CliFailure> {
    let place = dir.join(name);
    std::fs::read(&place).map_err(|error| error.to_string()).and_then(text).map_err(|error| {
        let hint = "a set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv";
        CliFailure::new(exit::IO, format!("{}: {error}; {hint}", place.display()))
    })
}

/// A file's text, without the byte order mark that some editors put before it.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        format!("line {line} is not UTF-8; save it as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The vault that the user names: by name, by folder (with its configuration if it has one), or the first one.
fn chosen(what: Option<&Path>, config: &Config) -> Result<VaultConfig, CliFailure> {
    let Some(what) = what else {
        return config.engine.vaults.first().cloned().ok_or_else(|| {
            CliFailure::usage("no vault is configured; name a folder of notes: `situated eval ~/Notes`")
        });
    };
    if let Some(at) = target::configured(what, &config.engine.vaults) {
        return Ok(config.engine.vaults[at].clone());
    }
    if !what.is_dir() {
        let known = match &config.engine.vaults[..] {
            [] => "none is configured".to_owned(),
            vaults => format!("there is {}", target::names(vaults)),
        };
        return Err(CliFailure::usage(format!("{} is neither a folder nor a vault's name; {known}", what.display())));
    }
    let folder = real_folder(what);
    Ok(VaultConfig::new(name_of_folder(&folder), folder))
}

/// Which of these notes are private: also those of a folder that lies in a vault, or around it.
fn private(vault: &VaultConfig, files: &[File], config: &Config) -> Private {
    if !vault.private.is_empty() {
        return Private::new(&vault.private);
    }
    let is_private = config.private_files();
    let hidden = files.iter().filter(|file| is_private(&vault.path.join(file.path.to_relative())));
    // A glob that matches this path alone.
    let glob = |file: &File| format!("/{}", escaped(file.path.as_str(), |c| c == '/' || c.is_alphanumeric()));
    Private::new(&hidden.map(glob).collect::<Vec<_>>())
}

/// A note as it is on the disk.
struct File {
    path: VaultPath,
    bytes: Vec<u8>,
    stat: FileStat,
}

/// Every note, in order of path, and how many files could not be read.
fn files(vault: &VaultConfig, bench: &Bench) -> Result<(Vec<File>, usize), CliFailure> {
    let policy = Policy::new(&vault.path, vault)?;
    let kept = bench.dir.join("documents");
    let convert = Converter::start().map(|converter| Arc::new(converter) as Arc<dyn Convert>);
    let documents = Documents::new(Box::new(move |_| kept.clone()), convert);
    let found = walk(&vault.path, &policy, None, &AtomicBool::new(false))?;
    let mut lost = found.skipped.len();
    bench.phase("reading", found.files.len());
    let mut files = Vec::with_capacity(found.files.len());
    for (path, _) in found.files {
        match documents.read(&vault.path, &path, vault.max_note_bytes) {
            Ok(text) => files.push(File { path, bytes: text.bytes, stat: text.stat }),
            Err(_) => lost += 1,
        }
        bench.step()?;
    }
    Ok((files, lost))
}

/// An index of names and links only, to resolve links.
fn names(notes: &[Note], bench: &Bench) -> Result<std::sync::Arc<index::Snapshot>, CliFailure> {
    let dir = bench.dir.join("names");
    std::fs::create_dir(&dir)?;
    let mut index = Index::open(&dir, builtin::DIMENSIONS)?;
    for (no, note) in (1..).zip(notes) {
        index.put(entry(note, no), Vec::new())?;
    }
    Ok(index.publish(notes.len() as u64)?)
}
