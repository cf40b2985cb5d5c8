//! `situated search` and `situated related`: a list of hits to read, or lines for another program.

use std::path::Path;

use jiff::civil::Date;

use super::args::{Related, Search, Show, weigh};
use super::exit;
use super::format::Format;
use super::input;
use super::jobs::pause_told;
use super::open;
use super::print::{
    Out, age, bold, columns, cut_front, cyan, dim, headings, highlighted, link, mark, millis, now, printable,
    printable_lines, wrap, yellow,
};
use super::session::{CliFailure, Session, safe};
use super::target::{Served, by_one_name};
use super::why::{reasons, why};
use protocol::client::{Client, Reply};
use protocol::hit::{Hit, LinkDirection};
use protocol::search::{
    Attachment, BoostWeights, Contextual, Group, Include, Mode, RelatedRequest, SearchAnswer, SearchRequest, TimeAsked,
};
use protocol::table::Call;

/// Most bytes of a text to search for: a request is at most a mebibyte, and JSON makes some characters longer.
const MOST_TEXT: u64 = 128 << 10;

/// `situated search`.
pub(super) fn search(args: Search, session: &mut Session) -> Result<u8, CliFailure> {
    let format = args.show.format.as_deref().map(Format::parse).transpose()?;
    let query = args.query.join(" ");
    let contextual = match &args.generation {
        Some(generation) => Some(Contextual::Generation(format!("gen:{generation}"))),
        None => args.no_context.then_some(Contextual::Flag(false)),
    };
    let mut client = session.client()?;
    let expect = args.expect.as_deref().map(|note| by_one_name(note, args.show.vault.as_deref(), &mut client));
    let request = SearchRequest {
        query: query.clone(),
        vault: args.show.vault.clone(),
        limit: args.show.limit.map(usize::from),
        min_score: args.min_score,
        mode: args.mode,
        contextual,
        fresh: args.fresh,
        // The list for a person says why each hit was found.
        explain: args.show.explain || is_for_a_person(&args.show, session),
        expect: expect.transpose()?.map(|(path, _)| path),
        expand: args.expand,
        rerank: args.rerank.then_some(true).or(args.no_rerank.then_some(false)),
        include: included(&args.show, session)?,
        boosts: boosts(&args),
        ..SearchRequest::default()
    };
    let reply = client.ask(&request)?;
    show(reply, &args.show, format.as_ref(), Some((&query, args.mode)), &mut client, session)
}

/// The weights that differ from the configured ones.
fn boosts(args: &Search) -> Option<BoostWeights> {
    let mut boosts = BoostWeights::default();
    for (name, weight) in &args.boost {
        // The parser of the arguments has refused other names.
        weigh(&mut boosts, name, *weight);
    }
    if args.no_dates {
        boosts.date = Some(0.0);
    }
    (boosts != BoostWeights::default()).then_some(boosts)
}

/// `situated related`.
pub(super) fn related(args: Related, session: &mut Session) -> Result<u8, CliFailure> {
    let format = args.show.format.as_deref().map(Format::parse).transpose()?;
    let mut request = RelatedRequest {
        vault: args.show.vault.clone(),
        limit: args.show.limit.map(usize::from),
        group: if args.notes { Group::Note } else { Group::Chunk },
        exclude_linked: args.unlinked,
        explain: args.show.explain,
        include: included(&args.show, session)?,
        ..RelatedRequest::default()
    };
    let mut client = session.client()?;
    if let Some(note) = &args.note {
        let (path, lines) = by_one_name(note, args.show.vault.as_deref(), &mut client)?;
        request.path = Some(path);
        (request.line, request.end_line) = lines.map_or((None, None), |(first, last)| (Some(first), last));
    } else {
        request.text = Some(text(args.text.as_deref().unwrap_or_default())?);
    }
    let reply = client.ask(&request)?;
    show(reply, &args.show, format.as_ref(), None, &mut client, session)
}

/// A text as given, or from standard input.
fn text(given: &str) -> Result<String, CliFailure> {
    let text = if given == "-" { input::text(Path::new("-"), MOST_TEXT, "the text")? } else { given.to_owned() };
    if text.len() as u64 > MOST_TEXT {
        return Err(CliFailure::usage(format!("the text is longer than {} KiB; give a part of it", MOST_TEXT >> 10)));
    }
    if text.trim().is_empty() {
        return Err(CliFailure::usage("the text is empty; `--text -` reads one from standard input"));
    }
    Ok(text)
}

/// Whether the answer is printed for a person, not for another program.
fn is_for_a_person(show: &Show, session: &Session) -> bool {
    !session.globals.json && !show.jsonl && show.format.is_none()
}

/// What the daemon includes in hits. `--include` is for JSON only; JSON and a format get the texts of hits in any case.
fn included(show: &Show, session: &Session) -> Result<Vec<Include>, CliFailure> {
    if !show.include.is_empty() && !session.globals.json && !show.jsonl {
        return Err(CliFailure::usage(
            "`--include` says what the JSON of a hit holds: it goes with `--json` or `--jsonl`",
        ));
    }
    let mut include = show.include.clone();
    include.extend(if is_for_a_person(show, session) { [].iter() } else { Include::TEXTS.iter() });
    Ok(include)
}

/// Opens the hit that `--open` names.
fn open_hit(hits: &[Hit], show: &Show, client: &mut Client, session: &Session) -> Result<u8, CliFailure> {
    let number = usize::from(show.open.unwrap_or(1));
    let Some(hit) = hits.get(number - 1) else {
        let found = super::print::counted(hits.len() as u64, "hit");
        return Err(CliFailure::new(exit::NOTHING, format!("--open={number}: there is no such hit ({found})")));
    };
    if open::is_of_team(hit) {
        return Err(CliFailure::new(exit::NOTHING, open::of_team(hit)));
    }
    open::found(Served::ask(client)?.place(hit), &hit.path, show.open_in, session)
}

fn show<C: Call<Answer = SearchAnswer>>(
    reply: Reply<C>,
    show: &Show,
    format: Option<&Format>,
    asked: Option<(&str, Option<Mode>)>,
    client: &mut Client,
    session: &mut Session,
) -> Result<u8, CliFailure> {
    let SearchAnswer { hits, took_ms, truncated, warnings, expected, time, attachments, .. } = reply.read()?;
    let code = if hits.is_empty() { exit::NOTHING } else { exit::OK };
    let query = asked.map(|(query, _)| query);
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    for warning in &warnings {
        session.say(format!("{} {}", yellow("note:"), safe(warning)));
    }
    if let Some(TimeAsked { words, read_as, .. }) = &time {
        session.say(dim(format!("“{}” read as: {} (--no-dates: not at all)", safe(words), safe(read_as))));
    }
    if show.jsonl {
        session.jsonl(&hits)?;
        return Ok(code);
    }
    if let Some(format) = format {
        let served = if format.needs_folders() { Served::ask(client)? } else { Served::default() };
        for hit in &hits {
            session.out.line(format.fill(hit, &served))?;
        }
        return Ok(code);
    }
    if let (Some(expected), true) = (&expected, hits.is_empty()) {
        super::expect::print(expected, &mut session.out)?;
    }
    for Attachment { path, .. } in &attachments {
        session.say(format!("{} {}", dim("a file is called so:"), safe(path)));
    }
    if hits.is_empty() {
        let has_words = query.and_then(|query| index::search::parse(query, Date::default()).ok());
        let has_words = has_words.is_some_and(|parsed| parsed.has_text());
        let says = |what: &str| warnings.iter().any(|warning| warning.contains(what));
        // What a condition leaves out, and what is not there, is found in no other way either.
        let is_left_out = says("no note meets ") || says("has no note in it");
        let is_dense = asked.is_some_and(|(_, mode)| mode == Some(Mode::Dense));
        let hint = match has_words && !is_left_out {
            true if is_dense => "; try other words, or leave `--mode dense` out",
            // Words and meaning were asked.
            true if says("has a word of this query") => "; try fewer or other words",
            true => "; try fewer or other words, or `--mode dense` for meaning alone",
            false => "",
        };
        session.say(format!("nothing found{hint}"));
        let pause = if says("`situated resume`") { None } else { pause_told(client)? };
        if let Some(pause) = pause {
            session.say(pause);
        }
        return Ok(code);
    }
    if show.open.is_some() || show.open_in.is_some() {
        return open_hit(&hits, show, client, session);
    }
    let links = session.out.links(show.hyperlinks);
    let served = if links || show.vault.is_none() { Served::ask(client)? } else { Served::default() };
    // An answer may be about any of several.
    let may_differ = show.vault.is_none() && served.are_several();
    let several_vaults = may_differ || hits.iter().any(|hit| hit.vault != hits[0].vault);
    for (i, hit) in hits.iter().enumerate() {
        session.out.part(i)?;
        let look = Look {
            rank: i + 1,
            context: show.context,
            explain: show.explain,
            vault: several_vaults,
            now: now(),
            query,
            links: links.then_some(&served),
        };
        print_hit(hit, &look, &mut session.out)?;
    }
    if let Some(expected) = &expected {
        session.out.line("")?;
        super::expect::print(expected, &mut session.out)?;
    }
    let more = if truncated { ", more with --limit" } else { "" };
    session.say(dim(format!("\n{} in {}{more}", super::print::counted(hits.len() as u64, "hit"), millis(took_ms))));
    Ok(code)
}

/// How one hit is shown.
#[derive(Default)]
pub(super) struct Look<'a> {
    /// 1-based.
    pub rank: usize,
    /// Whether its context is shown.
    pub context: bool,
    /// Whether its lanes are shown.
    pub explain: bool,
    /// Whether its vault is named.
    pub vault: bool,
    /// Seconds since 1970.
    pub now: i64,
    /// The query, to say why the hit was found.
    pub query: Option<&'a str>,
    /// Where the notes are, if hits are links.
    pub links: Option<&'a Served>,
}

/// Prints rank, title › headings; path:line and age; the passage; its context; how it was found.
pub(super) fn print_hit(hit: &Hit, look: &Look<'_>, out: &mut Out) -> std::io::Result<()> {
    let margin = "    ";
    let width = out.width();
    let rank = format!("{:>2}. ", look.rank);
    let (title, below) = headings(&hit.title, &hit.heading_path, width.saturating_sub(columns(&rank)));
    out.line(format!("{}{}{}", dim(&rank), bold(&title), below))?;

    let vault = if look.vault || open::is_of_team(hit) { format!("{}: ", safe(&hit.vault)) } else { String::new() };
    let place = format!("{vault}{}:{}", printable(&hit.path), hit.best_line());
    let stale = if hit.stale { "  changed since" } else { "" };
    let linked = match hit.link {
        Some(LinkDirection::To) => "  linked to already",
        Some(LinkDirection::From) => "  links here already",
        Some(LinkDirection::Both) => "  linked both ways",
        None if hit.linked == Some(true) => "  linked already",
        None => "",
    };
    let when = format!("  {}{linked}", age(look.now, hit.mtime));
    let room = out.room_for_places().saturating_sub(columns(margin) + columns(&when) + columns(stale)).max(8);
    let place = cut_front(&place, room);
    let reason = look.query.filter(|_| !look.explain).map(|query| why(hit, query)).filter(|why| !why.is_empty());
    // The reason is the first to go where there is little room.
    let used = columns(margin) + columns(&place) + columns(&when) + columns(stale);
    let reason = reason.map(|why| format!("  {why}")).filter(|why| used + columns(why) <= width).unwrap_or_default();
    let mut place = cyan(place);
    if let Some(url) = look.links.and_then(|served| served.url(hit)) {
        place = link(&url, &place);
    }
    out.line(format!("{margin}{place}{}{}{}", dim(when), yellow(stale), dim(reason)))?;

    let snippet = printable_lines(&hit.snippet);
    // Ranges belong to the text as it was sent; if cleaning changed the text, they would point elsewhere.
    let marks = if *snippet == *hit.snippet { hit.highlights.as_slice() } else { &[] };
    for line in wrap(&snippet, width - columns(margin)) {
        if !snippet[line.clone()].trim().is_empty() {
            out.line(format!("{margin}{}", highlighted(&snippet, line, marks, mark)))?;
        }
    }
    if look.context && !hit.context.is_empty() {
        let context = printable_lines(&hit.context);
        for line in wrap(&context, width - columns(margin) - 2) {
            out.line(format!("{margin}{}", dim(format!("│ {}", &context[line]))))?;
        }
    }
    if look.explain {
        out.wrapped(margin, &reasons(hit, look.vault.then_some(&*hit.vault)))?;
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
