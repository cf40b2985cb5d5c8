//! `situated eval`: how well a vault is found, measured in this process.
//!
//! The notes are read, and the queries are made and masked in memory ([`::index::eval`]). Each way of writing contexts
//! gets its own index in a temporary folder, which only the user can enter and which is removed at the end. Neither the
//! vault nor a daemon's data is written to, except the ledger if a reranker costs money; contexts that a model wrote
//! are read from the journal.

mod index;
mod rerank;
mod show;
mod source;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;

use super::args::Eval;
use super::exit;
use super::jobs;
use super::print::{counted, shown, typed};
use super::replace::{self, Draft};
use super::session::{CliFailure, Session};
use super::signals::Interrupt;
use super::target;
use super::tour::{remove, temporary_folder};
use crate::daemon::config::{Config, ConfigErrors, Overrides};
use ::index::embed::builtin;
use ::index::embed::settings::EmbedProvider;
use ::index::eval::docs::{Arm, Page};
use ::index::eval::report::{Comparison, QueryRun, Report, System, misses, pairs};
use context::settings::Provider;
use engine::rerank::Reranker;
use index::How;
use protocol::search::Mode;
use rerank::Judges;
use source::Source;

/// The lanes that are measured.
const LANES: [(&str, Mode); 3] = [("lexical", Mode::Lexical), ("dense", Mode::Dense), ("hybrid", Mode::Hybrid)];

/// `situated eval`.
pub(super) fn run(args: &Eval, session: &mut Session) -> Result<u8, CliFailure> {
    let began = Instant::now();
    let loaded = target::or_served(session.config()?, session)?;
    // Before minutes of work, fail on a page that cannot be written or a configuration that makes no sense.
    page(args, &loaded.config)?;
    let pair = match (&args.a, &args.b) {
        (Some(a), Some(b)) => Some([Side::read("A", a, session)?, Side::read("B", b, session)?]),
        _ => None,
    };
    let measured: Vec<&Config> =
        pair.as_ref().map_or(vec![&loaded.config], |pair| pair.each_ref().map(|side| &side.config).into());
    if measured.iter().any(|config| config.engine.embed.provider != EmbedProvider::Builtin) {
        session.say("vectors are the built-in model's; the embedder that `[embed]` names is not measured");
    }
    let mut bench = Bench::new(session)?;
    let mut source = match &args.set {
        Some(dir) => source::set(dir, args, &loaded.config, &bench)?,
        None => source::vault(args, &loaded.config, &bench)?,
    };
    if let Some(gaps) = source.gaps() {
        session.say(super::session::safe(&gaps));
    }
    let judges = if args.rerank { Judges::of(&measured)? } else { Judges::default() };
    if judges.leaves().next().is_some() {
        let secret = source.leave_private_out();
        if secret > 0 {
            let made = if secret == 1 { "is made" } else { "are made" };
            session.say(format!(
                "{} {made} of private notes, and left out: the reranker is elsewhere",
                counted(secret as u64, "query")
            ));
        }
    }
    if source.queries.is_empty() {
        return session.done(json!(source.report()), source.why_no_queries()).map(|_| exit::NOTHING);
    }
    bench.bar.finish_and_clear();
    // A survey asks the reranker for each kind of contexts: none, the template's, and a model's if there are any.
    let times = if pair.is_some() { 1 } else { 3 };
    let agreed = bench.interrupt.while_asking(|| judges.agreed(&source, times, args.yes, session))?;
    if !agreed {
        return session.nothing(exit::OK, "nothing was measured");
    }
    let mut measured = match &pair {
        Some(sides) => compare(&source, sides, &judges, session, args.seed, &mut bench)?,
        None => survey(&source, &loaded.config, judges.of_side(0), args.seed, &mut bench)?,
    };
    bench.bar.finish_and_clear();
    let asked = source.queries.iter().map(|query| {
        let mut expected: Vec<String> = query.judged.keys().cloned().collect();
        expected.sort_unstable();
        (query.text.as_str(), query.kind.as_str(), expected)
    });
    measured.report.misses = misses(asked, &measured.runs);
    measured.report.pairs = pairs(&measured.runs, args.seed);
    let report = Report {
        seed: args.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        embedder: builtin::IDENTITY.to_owned(),
        date: jiff::Zoned::now().date().to_string(),
        took_s: began.elapsed().as_secs_f64(),
        ..measured.report
    }
    .judged();
    if let Some((path, mut draft)) = page(args, &loaded.config)? {
        let written = draft.out.write_all(::index::eval::page(&report).as_bytes()).and_then(|()| draft.land());
        written.map_err(CliFailure::of_file(exit::IO, path))?;
    }
    session.print(json!(report), |out| show::show(&report, out))?;
    if let Some(path) = &args.html {
        session.say(format!("{} has it with plots, and what was missed", shown(path)));
    }
    Ok(exit::OK)
}

/// What is to replace the page, if one is wanted: that stays as it is if nothing gets measured. In a vault the page would
/// be a note, which holds the queries that are measured next.
fn page<'a>(args: &'a Eval, config: &Config) -> Result<Option<(&'a Path, Draft)>, CliFailure> {
    let Some(path) = args.html.as_deref() else { return Ok(None) };
    let of_set = args.set.as_ref().map(|dir| dir.join("vault"));
    let vaults = config.engine.vaults.iter().map(|vault| vault.path.as_path());
    let vaults = vaults.chain(of_set.as_deref()).chain(args.vault.as_deref());
    Ok(Some((path, replace::page(path, vaults)?)))
}

/// One of two configurations.
struct Side {
    name: String,
    config: Config,
}

impl Side {
    fn read(letter: &str, path: &Path, session: &Session) -> Result<Self, CliFailure> {
        let wrong =
            |what: String| CliFailure::new(ConfigErrors::EXIT_CODE, format!("--{}: {what}", letter.to_lowercase()));
        if !path.is_file() {
            return Err(wrong(format!("{} is not a file", shown(path))));
        }
        let overrides = Overrides { config: Some(path.to_owned()), ..session.overrides() };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let loaded = Config::load(&overrides).map_err(|errors| {
            let check = format!("`situated --config {} config check` checks again", typed(path));
            wrong(format!("the configuration is wrong\n{errors}\n{check}"))
        })?;
        Ok(Side { name: format!("{letter} ({stem})"), config: loaded.config })
    }

    /// The kind of contexts that the configuration asks for.
    fn arm(&self) -> Arm {
        match self.config.engine.context.provider {
            Provider::None => Arm::Off,
            Provider::Template => Arm::Template,
            _ => Arm::Model,
        }
    }
}

/// What measuring needs besides notes and queries: a folder, a progress bar, and the user's interrupt.
struct Bench {
    dir: PathBuf,
    bar: ProgressBar,
    interrupt: Interrupt,
    indexes: usize,
}

impl Bench {
    fn new(session: &Session) -> Result<Self, CliFailure> {
        let bar = jobs::bar(session.globals.quiet || session.globals.json);
        bar.enable_steady_tick(Duration::from_millis(200));
        let dir = temporary_folder("eval")?;
        let folder = dir.clone();
        // The folder holds texts of notes.
        let interrupt = Interrupt::listen(move || remove(&folder));
        Ok(Bench { dir, bar, interrupt, indexes: 0 })
    }

    /// Begins a phase of so many steps.
    fn phase(&self, name: &str, steps: usize) {
        self.bar.set_style(jobs::style("{wide_bar:.cyan} {human_pos}/{human_len}  {msg}"));
        self.bar.set_length(steps as u64);
        self.bar.set_position(0);
        self.bar.set_message(name.to_owned());
    }

    /// Counts one more step as done; fails once the user has interrupted.
    fn step(&self) -> Result<(), CliFailure> {
        self.bar.inc(1);
        if self.interrupt.raised() {
            return Err(CliFailure::new(
                exit::INTERRUPTED,
                "interrupted; nothing was measured and nothing is left behind",
            ));
        }
        Ok(())
    }

    /// A folder for one more index.
    fn place(&mut self) -> Result<PathBuf, CliFailure> {
        self.indexes += 1;
        let dir = self.dir.join(format!("index-{}", self.indexes));
        std::fs::create_dir(&dir)?;
        Ok(dir)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        remove(&self.dir);
    }
}

/// What was measured, and each system's runs.
struct Measured {
    report: Report,
    runs: Vec<Vec<QueryRun>>,
}

/// Measures every lane with every kind of contexts; the hybrid lane also with the configuration's boosts, and then
/// reranked.
fn survey(
    source: &Source,
    config: &Config,
    judge: Option<&Reranker>,
    seed: u64,
    bench: &mut Bench,
) -> Result<Measured, CliFailure> {
    let pages = source.pages(config, bench)?;
    let written = written_in(&pages);
    let arms = [Arm::Off, Arm::Template, Arm::Model];
    let mut measured = Measured {
        report: Report { chunks: pages.iter().map(|page| page.cuts.len()).sum(), written, ..source.report() },
        runs: Vec::new(),
    };
    for arm in arms.into_iter().filter(|arm| *arm != Arm::Model || written > 0) {
        let built = index::build(source, &pages, arm, config, bench)?;
        let plain = LANES.map(|(lane, mode)| (lane, mode, false, None));
        let boosted = [("hybrid", Mode::Hybrid, true, None)];
        let judged = judge.map(|judge| ("hybrid", Mode::Hybrid, true, Some(judge)));
        for (lane, mode, boosts, reranker) in plain.into_iter().chain(boosted).chain(judged) {
            let how = How { config, mode, contextual: arm != Arm::Off, boosts, reranker };
            let runs = index::ask(source, &built, how, bench)?;
            let system = System::new(lane, arm.name(), &runs, seed);
            measured.report.systems.push(System { boosts, rerank: reranker.is_some(), ..system });
            measured.runs.push(runs);
        }
    }
    Ok(measured)
}

/// Measures two configurations in the hybrid lane, each with its boosts. Contexts of a model that has written none are
/// the template's, and are called so.
fn compare(
    source: &Source,
    sides: &[Side; 2],
    judges: &Judges,
    session: &Session,
    seed: u64,
    bench: &mut Bench,
) -> Result<Measured, CliFailure> {
    let mut measured = Measured { report: source.report(), runs: Vec::new() };
    let mut chunks = [0; 2];
    for (i, side) in sides.iter().enumerate() {
        let pages = source.pages(&side.config, bench)?;
        chunks[i] = pages.iter().map(|page| page.cuts.len()).sum();
        let written = written_in(&pages);
        let arm = match side.arm() {
            Arm::Model if written == 0 => {
                let none = format!("{}: no model has written contexts here; the free ones are measured", side.name);
                bench.bar.suspend(|| session.say(super::session::safe(&none)));
                Arm::Template
            }
            Arm::Model => {
                measured.report.written = measured.report.written.max(written);
                Arm::Model
            }
            arm => arm,
        };
        let built = index::build(source, &pages, arm, &side.config, bench)?;
        let reranker = judges.of_side(i);
        let how = How { config: &side.config, mode: Mode::Hybrid, contextual: true, boosts: true, reranker };
        let runs = index::ask(source, &built, how, bench)?;
        let system = System::new("hybrid", arm.name(), &runs, seed);
        let (config, rerank) = (Some(side.name.clone()), reranker.is_some());
        measured.report.systems.push(System { config, rerank, boosts: true, ..system });
        measured.runs.push(runs);
    }
    let of = |i: usize| (sides[i].name.as_str(), measured.runs[i].as_slice());
    measured.report.comparison = Some(Comparison { chunks, ..Comparison::new(of(0), of(1), seed) });
    measured.report.chunks = chunks[1];
    Ok(measured)
}

/// Chunks that a model has written a context for.
fn written_in(pages: &[Page]) -> usize {
    pages.iter().flat_map(|page| &page.cuts).filter(|cut| cut.written.is_some()).count()
}

/// By kind of query: how many could be made, and how many were drawn.
type Kinds = BTreeMap<String, (usize, usize)>;
