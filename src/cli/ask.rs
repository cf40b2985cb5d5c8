//! `situated ask`: prints an answer from the notes as it arrives, and where its sources are.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::args::Ask;
use super::exit;
use super::input;
use super::money::{price, tokens};
use super::print::{bold, columns, counted, cut_front, cyan, dim, headings, millis, now, printable_lines, yellow};
use super::search::{Look, print_hit};
use super::session::{CliFailure, Session, safe, with_schema};
use super::signals::Interrupt;
use super::why::judged;
use protocol::ask::{AskAnswer, AskPassage, AskRequest, Citation, PastTurn};
use protocol::client::{Client, ClientError};
use protocol::search::{Expand, Include, SearchAnswer, SearchRequest};

/// Longest silence of the daemon: longer than the daemon itself waits for a model.
const PATIENCE: Duration = Duration::from_mins(11);

/// Past turns that are sent with the next question.
const TURNS: usize = 3;

/// Most bytes of a question that are read from standard input.
const MOST_TYPED: u64 = 64 << 10;

/// Most notes that are listed where there is no answer.
const NEAREST: usize = 5;

/// `situated ask [QUESTION]`.
pub(super) fn run(args: &Ask, session: &mut Session) -> Result<u8, CliFailure> {
    let question = args.question.join(" ");
    if args.question.is_empty() && std::io::stdin().is_terminal() {
        if session.globals.json {
            return Err(CliFailure::usage("with --json give the question: `situated ask --json \"…\"`"));
        }
        return converse(args, session);
    }
    let question = if args.question.is_empty() { typed()? } else { question };
    let mut client = session.patient_client(Some(PATIENCE))?;
    let interrupt = Interrupt::listen(|| ());
    let asked = Asked { args, question: &question, history: &[] };
    asked.ask(&mut client, &interrupt, session).map(|(code, _)| code)
}

/// A question that is piped in.
fn typed() -> Result<String, CliFailure> {
    let bytes = input::bytes(Path::new("-"), MOST_TYPED, "the question")?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        CliFailure::usage(format!("the question on standard input is not UTF-8 from byte {at} on; pipe it in as UTF-8"))
    })?;
    if text.trim().is_empty() {
        return Err(CliFailure::usage("there is no question: `situated ask \"…\"`, or pipe one in"));
    }
    Ok(text)
}

/// Question after question, at a terminal.
fn converse(args: &Ask, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.patient_client(Some(PATIENCE))?;
    let interrupt = Interrupt::listen(|| ());
    session.say(dim("Ask your notes. Ctrl-C stops an answer; exit or Ctrl-D ends."));
    let mut history: Vec<PastTurn> = Vec::new();
    loop {
        let _ = write!(anstream::stderr(), "{} ", bold("?"));
        let mut line = String::new();
        if std::io::stdin().lock().take(MOST_TYPED).read_line(&mut line)? == 0 {
            session.say("");
            return Ok(exit::OK);
        }
        let question = line.trim();
        match question {
            "" => continue,
            "/quit" | "/q" | "/exit" | "quit" | "exit" => return Ok(exit::OK),
            command if command.starts_with('/') => {
                session.say(format!("there is no {}; exit ends", safe(command)));
                continue;
            }
            _ => {}
        }
        interrupt.lower();
        let asked = Asked { args, question, history: &history };
        match asked.ask(&mut client, &interrupt, session) {
            Ok((_, Some(answer))) if answer.found => {
                history.push(PastTurn { question: question.to_owned(), answer: answer.answer });
                history.drain(..history.len().saturating_sub(TURNS));
            }
            Ok(_) => {}
            Err(CliFailure::Quiet) => return Err(CliFailure::Quiet),
            Err(failure) => {
                failure.tell(false);
                // Reconnects to a daemon that was restarted; if none runs, the conversation ends.
                client = session.patient_client(Some(PATIENCE))?;
            }
        }
        session.say("");
    }
}

struct Asked<'a> {
    args: &'a Ask,
    question: &'a str,
    history: &'a [PastTurn],
}

impl Asked<'_> {
    fn request(&self, json: bool) -> AskRequest {
        let Ask { passages, vault, mode, expand, explain, fresh, .. } = self.args;
        AskRequest {
            question: self.question.to_owned(),
            vault: vault.clone(),
            mode: *mode,
            passages: passages.map(usize::from),
            expand: *expand,
            history: self.history.to_vec(),
            fresh: *fresh,
            explain: *explain,
            stream: json.then_some(false),
            ..AskRequest::default()
        }
    }

    /// Asks and prints; returns the exit code, and the answer if there is one.
    fn ask(
        &self,
        client: &mut Client,
        interrupt: &Interrupt,
        session: &mut Session,
    ) -> Result<(u8, Option<AskAnswer>), CliFailure> {
        let json = session.globals.json;
        let mut shown = false;
        let mut unheard = None;
        let answered = {
            let out = &mut session.out;
            let mut show = |text: &str| {
                shown = true;
                // A write that fails means that the reader has gone; the rest of the answer is not printed.
                if unheard.is_none() {
                    unheard = out.text(&printable_lines(text)).err();
                }
            };
            client.ask_with_text(&self.request(json), &mut show, &|| !interrupt.raised())
        };
        if shown {
            session.out.text("\n")?;
        }
        if let Some(error) = unheard {
            return Err(error.into());
        }
        let reply = match answered {
            Ok(reply) => reply,
            Err(ClientError::Remote(remote)) if remote.kind == "cancelled" => {
                session.say(dim("stopped"));
                return Ok((exit::INTERRUPTED, None));
            }
            Err(error @ ClientError::Remote(_)) => return self.instead(error, client, session),
            Err(error) => return Err(error.into()),
        };
        let read = reply.read()?;
        let code = if read.found && read.unfinished.is_none() { exit::OK } else { exit::NOTHING };
        if json {
            session.json(reply.into_json())?;
        } else {
            self.tell(&read, session)?;
        }
        Ok((code, Some(read)))
    }

    /// Prints what follows the text of an answer: sources, or the nearest notes.
    fn tell(&self, answer: &AskAnswer, session: &mut Session) -> Result<(), CliFailure> {
        if let Some(why) = &answer.unfinished {
            session.say(format!("{} {}", yellow("unfinished:"), safe(why)));
        }
        let several = answer.passages.iter().any(|passage| passage.vault != answer.passages[0].vault);
        if answer.found {
            if !answer.citations.is_empty() {
                session.out.line("")?;
            }
            for cited in &answer.citations {
                session.out.line(source(cited, true, several, session.out.room_for_places()))?;
            }
        } else if answer.unfinished.is_none() {
            session.out.line("Your notes do not say.")?;
            if !self.args.explain && !answer.passages.is_empty() {
                session.out.line(dim("The nearest notes:"))?;
                let mut named: Vec<(&str, &str)> = Vec::new();
                for passage in &answer.passages {
                    let note = (passage.vault.as_str(), passage.path.as_str());
                    if !named.contains(&note) && named.len() < NEAREST {
                        named.push(note);
                        let width = session.out.room_for_places().saturating_sub(2);
                        let line = source(&Citation::of(passage), false, several, width);
                        session.out.line(format!("  {line}"))?;
                    }
                }
            }
        }
        for warning in &answer.warnings {
            session.say(format!("{} {}", yellow("note:"), safe(warning)));
        }
        if self.args.explain {
            explain(answer, several, session)?;
        }
        Ok(())
    }

    /// Prints why there is no answer, and the best passages instead.
    fn instead(
        &self,
        error: ClientError,
        client: &mut Client,
        session: &mut Session,
    ) -> Result<(u8, Option<AskAnswer>), CliFailure> {
        let is_of_model = matches!(&error, ClientError::Remote(remote) if matches!(remote.kind.as_str(), "not_configured" | "provider"));
        let failure = CliFailure::from(error);
        if !is_of_model {
            return Err(failure);
        }
        // This search asks no model: the call that failed would fail again.
        let request = SearchRequest {
            query: self.question.to_owned(),
            vault: self.args.vault.clone(),
            limit: Some(NEAREST),
            expand: Some(Expand::Off),
            explain: self.args.explain,
            include: Include::TEXTS.to_vec(),
            ..SearchRequest::default()
        };
        let Ok(SearchAnswer { hits, .. }) = client.call(&request) else { return Err(failure) };
        if session.globals.json {
            let CliFailure::Said { code, message } = &failure else { return Err(failure) };
            let error = json!({ "error": { "code": code, "message": message }, "passages": hits });
            session.out.json(&with_schema(error))?;
            // Only on standard error: standard output already has its one JSON object.
            return Ok((failure.tell(false), None));
        }
        let code = failure.tell(false);
        if !hits.is_empty() {
            session.say(dim("The best passages instead:\n"));
        }
        let several = hits.iter().any(|hit| hit.vault != hits[0].vault);
        for (i, hit) in hits.iter().enumerate() {
            session.out.part(i)?;
            let look = Look { rank: i + 1, explain: self.args.explain, vault: several, now: now(), ..Look::default() };
            print_hit(hit, &look, &mut session.out)?;
        }
        Ok((code, None))
    }
}

/// `[1] path:line  Title › Heading`, in at most `width` columns; a long path loses its beginning.
fn source(cited: &Citation, numbered: bool, several: bool, width: usize) -> String {
    let number = if numbered { format!("[{}] ", cited.n) } else { String::new() };
    let vault = if several { format!("{}: ", safe(&cited.vault)) } else { String::new() };
    let place = format!("{vault}{}:{}", safe(&cited.path), cited.best_line());
    let place = cut_front(&place, width.saturating_sub(columns(&number)).max(8));
    let room = width.saturating_sub(columns(&number) + columns(&place) + 2);
    let (title, below) = headings(&cited.title, &cited.heading_path, room);
    let name = if room < 8 { String::new() } else { format!("  {title}{below}") };
    format!("{}{}{}", bold(number), cyan(place), dim(name))
}

/// The passages with their scores and lengths, and what the answer took.
fn explain(answer: &AskAnswer, several: bool, session: &mut Session) -> Result<(), CliFailure> {
    let out = &mut session.out;
    out.line("")?;
    out.line(bold(format!("{} shown to the model", counted(answer.passages.len() as u64, "passage"))))?;
    for passage in &answer.passages {
        let AskPassage { n, vault, line, end_line, score, chars, stale, .. } = passage;
        let cited = if answer.citations.iter().any(|cited| cited.n == *n) { ", cited" } else { "" };
        let stale = if *stale { ", changed since" } else { "" };
        out.line(source(&Citation::of(passage), true, several, out.room_for_places()))?;
        let size = counted(*chars as u64, "character");
        out.wrapped("    ", &format!("score {score:.3}, lines {line} to {end_line}, {size}{cited}{stale}"))?;
        if passage.lanes.is_some() {
            out.wrapped("    ", &judged(passage.lanes.as_ref(), *score, several.then_some(vault.as_str())))?;
        }
    }
    let all = answer.tokens_in.saturating_add(answer.tokens_out);
    if all == 0 {
        out.wrapped("", "No model was asked.")?;
        return Ok(());
    }
    let about = if answer.tokens_estimated { "about " } else { "" };
    let took = format!(
        "{} {}: {about}{}, {}, {}",
        safe(&answer.provider),
        safe(&answer.model),
        tokens(answer.tokens_in, answer.tokens_cached, answer.tokens_out),
        price(answer.micro_dollars, all),
        millis(answer.took_ms),
    );
    out.wrapped("", &took)?;
    Ok(())
}

#[cfg(test)]
mod tests;
