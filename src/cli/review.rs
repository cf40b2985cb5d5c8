//! `situated contexts review` and `situated generate`: what a model writes, for a person to judge.

use std::time::Duration;

use super::args::{Generate, Review};
use super::exit;
use super::input;
use super::money::price;
use super::print::{
    Out, bold, columns, counted, cut, cut_front, cyan, dim, padded, printable, printable_lines, wrap, yellow,
};
use super::session::{CliFailure, Session, safe};
use context::quality::GOOD;
use protocol::contexts::{GenerateRequest, ReviewRequest, Reviewed, Reviews, Scores};

/// From this width on, chunk and context are side by side.
const SIDE_BY_SIDE: usize = 100;

/// Between the two.
const GAP: &str = " │ ";

/// How long a context is waited for: a model has minutes for each of two tries.
const GENERATE_PATIENCE: Duration = Duration::from_mins(15);

/// Bytes of document or chunk: a request holds both, escaped, within a mebibyte.
const MOST_BYTES: u64 = 450_000;

/// `situated contexts review`.
pub(super) fn review(args: &Review, session: &mut Session) -> Result<u8, CliFailure> {
    let request = ReviewRequest { vault: args.vault.clone(), sample: Some(args.sample.into()) };
    let reply = session.client()?.ask(&request)?;
    let Reviews { contexts } = reply.read()?;
    let code = if contexts.is_empty() { exit::NOTHING } else { exit::OK };
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    if contexts.is_empty() {
        session.say("no model has written a context yet; `situated status` says what waits");
    }
    if args.jsonl {
        session.jsonl(&contexts)?;
        return Ok(code);
    }
    let several_vaults = contexts.iter().any(|context| context.vault != contexts[0].vault);
    for (i, context) in contexts.iter().enumerate() {
        session.out.part(i)?;
        print_reviewed(i + 1, context, several_vaults, &mut session.out)?;
    }
    Ok(code)
}

/// Prints where the context is and how it was judged; then chunk and context, side by side or one under the other.
fn print_reviewed(n: usize, reviewed: &Reviewed, several_vaults: bool, out: &mut Out) -> std::io::Result<()> {
    let number = format!("{n:>2}. ");
    let vault = if several_vaults { format!("{}: ", safe(&reviewed.vault)) } else { String::new() };
    let (first, last) = reviewed.lines;
    let place = format!("{vault}{}:{first}-{last}", printable(&reviewed.path));
    let place = cut_front(&place, out.room_for_places().saturating_sub(columns(&number)));
    let headings: Vec<_> = reviewed.heading_path.iter().map(|heading| printable(heading)).collect();
    let room = out.width().saturating_sub(columns(&number) + columns(&place) + 2);
    let headings = if room < 8 { String::new() } else { format!("  {}", cut(&headings.join(" › "), room)) };
    out.line(format!("{}{}{}", dim(&number), cyan(place), bold(headings)))?;

    let chunk = printable_lines(reviewed.chunk.trim_end());
    let context = printable_lines(reviewed.context.trim_end());
    let notes = judged(reviewed);
    if out.width() < SIDE_BY_SIDE {
        out.wrapped("    ", &chunk)?;
        for line in wrap(&context, out.width() - 6) {
            out.line(format!("    {} {}", dim("│"), &context[line]))?;
        }
        return notes.iter().try_for_each(|note| out.wrapped("    ", note));
    }
    let width = (out.width() - 4 - columns(GAP)) / 2;
    let left: Vec<&str> = wrap(&chunk, width).into_iter().map(|line| &chunk[line]).collect();
    let mut right: Vec<String> = wrap(&context, width).into_iter().map(|line| context[line].to_owned()).collect();
    right.push(String::new());
    for note in &notes {
        right.extend(wrap(note, width).into_iter().map(|line| dim(&note[line])));
    }
    for row in 0..left.len().max(right.len()) {
        let (left, right) = (left.get(row).copied().unwrap_or(""), right.get(row).map_or("", String::as_str));
        // How many columns a tab takes is not known.
        let left = padded(&left.replace('\t', " "), width);
        let gap = if right.is_empty() { GAP.trim_end() } else { GAP };
        out.line(format!("    {left}{}{right}", dim(gap)))?;
    }
    Ok(())
}

/// How a context was judged, in lines.
fn judged(reviewed: &Reviewed) -> Vec<String> {
    let mut lines = vec![format!("quality {:.2}, by {}", reviewed.quality, safe(&reviewed.generation))];
    lines.extend(reviewed.scores.as_ref().map(parts));
    lines.extend(beside(reviewed));
    if reviewed.drifted {
        lines.push("the text has become another since".to_owned());
    }
    lines
}

/// What the model wrote besides a context, and a line that says so: it is searched, but no note contains it.
fn beside(reviewed: &Reviewed) -> Vec<String> {
    let mut lines = Vec::new();
    if !reviewed.questions.is_empty() || !reviewed.terms.is_empty() {
        lines.push("beside it the model wrote, to be found by:".to_owned());
    }
    lines.extend(reviewed.questions.iter().map(|question| format!("- {}", safe(question))));
    if !reviewed.terms.is_empty() {
        lines.push(format!("terms: {}", safe(&reviewed.terms.join(", "))));
    }
    lines
}

/// The parts of a score.
fn parts(scores: &Scores) -> String {
    let Scores { length, grounding, novelty, specificity, opening, numbers, originality, coherence } = scores;
    let parts = [
        ("length", length),
        ("grounding", grounding),
        ("novelty", novelty),
        ("specificity", specificity),
        ("opening", opening),
        ("numbers", numbers),
        ("originality", originality),
        ("coherence", coherence),
    ];
    parts.map(|(name, score)| format!("{name} {score:.2}")).join(", ")
}

/// `situated generate`.
pub(super) fn generate(args: &Generate, session: &mut Session) -> Result<u8, CliFailure> {
    if [&args.document, &args.chunk].iter().all(|path| path.as_os_str() == "-") {
        return Err(CliFailure::usage("only one of --document and --chunk can be standard input"));
    }
    let document = input::text(&args.document, MOST_BYTES, "the document")?;
    let chunk = input::text(&args.chunk, MOST_BYTES, "the chunk")?;
    let (title, max_words) = (args.title.clone(), args.max_words);
    // The daemon is told the text alone, and of what makes it private only the tags.
    let is_private = session.config()?.config.private_files();
    let private = [&args.document, &args.chunk].into_iter().any(|file| is_private(file));
    let tags = if private { vec![note::PRIVATE_TAG.to_owned()] } else { Vec::new() };
    let request = GenerateRequest { document, chunk, title, tags, max_words, ..GenerateRequest::default() };
    let reply = session.patient_client(Some(GENERATE_PATIENCE))?.ask(&request)?;
    let Some(made) = session.unless_json(reply)? else { return Ok(exit::OK) };
    session.out.line(printable_lines(&made.context))?;
    let weak = if made.quality < GOOD { yellow(" (weak)") } else { String::new() };
    session.say(dim(format!(
        "by {}, quality {:.2}{weak}, {}, {}",
        safe(&made.generation),
        made.quality,
        counted(made.tokens, "token"),
        price(made.micro_dollars, made.tokens)
    )));
    Ok(exit::OK)
}

#[cfg(test)]
mod tests;
