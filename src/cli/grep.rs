//! `situated grep`: lines that match a regular expression, for a person under the name of each note, in a pipe as
//! `FILE:LINE:TEXT`.

use std::collections::VecDeque;
use std::io;

use super::args::{Grep, OpenIn};
use super::exit;
use super::open;
use super::print::{Out, bold, counted, cyan, dim, green, grouped, link, mark, millis, pieces, printable, yellow};
use super::session::{CliFailure, Session, safe};
use super::target::Served;
use protocol::client::{Client, ClientError};
use protocol::grep::{GrepAnswer, GrepCase, GrepLine, GrepNote, GrepRequest, GrepWhat};

/// `situated grep`.
pub(super) fn run(args: Grep, session: &mut Session) -> Result<u8, CliFailure> {
    if session.globals.verbose > 0 {
        // Elsewhere `-v` finds the lines that do not match.
        return Err(CliFailure::usage(
            "`grep` takes no `-v`: it finds what matches; notes without a match are found by `situated search -- '-/PATTERN/'`",
        ));
    }
    let what = match (args.files, args.count) {
        (true, _) => GrepWhat::Notes,
        (_, true) => GrepWhat::Counts,
        _ => GrepWhat::Lines,
    };
    let case = match (args.ignore_case, args.case_sensitive) {
        (true, _) => GrepCase::Insensitive,
        (_, true) => GrepCase::Sensitive,
        _ => GrepCase::Smart,
    };
    let mut words: VecDeque<String> = args.regexp.into_iter().chain(args.pattern).chain(args.within).collect();
    let request = GrepRequest {
        // The parser of the arguments has refused a line without one.
        pattern: words.pop_front().unwrap_or_default(),
        vault: args.vault.clone(),
        within: words.make_contiguous().join(" "),
        case,
        fixed: args.fixed,
        word: args.word,
        before: args.context.unwrap_or(args.before),
        after: args.context.unwrap_or(args.after),
        what,
        limit: Some(args.limit.into()),
        per_note: args.max_count.map(usize::from),
        fresh: args.fresh,
        ..GrepRequest::default()
    };
    let has_context = request.before + request.after > 0;
    let mut client = session.client()?;
    let reply = client.ask(&request).map_err(at_the_terminal)?;
    let answer = reply.read()?;
    let code = if answer.notes.is_empty() { exit::NOTHING } else { exit::OK };
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    // As grep's `-q`: a script asks whether there is such a line.
    if session.globals.quiet && args.open.is_none() && args.open_in.is_none() {
        return Ok(code);
    }
    for warning in &answer.warnings {
        session.say(format!("{} {}", yellow("note:"), safe(warning)));
    }
    if answer.notes.is_empty() {
        session.say(dim(format!("no line matches, in {}", counted(answer.searched, "note"))));
        return Ok(code);
    }
    if args.open.is_some() || args.open_in.is_some() {
        return open_line(&answer, args.open.unwrap_or(1), args.open_in, &mut client, session);
    }
    let served = Served::ask(&mut client)?;
    // An answer may be about any of several.
    let may_differ = args.vault.is_none() && served.are_several();
    let several = may_differ || answer.notes.iter().any(|note| note.vault != answer.notes[0].vault);
    let (is_read, links) = (session.out.is_terminal(), session.out.links(args.hyperlinks));
    let shown = Shown { what, has_context, several, is_read, links, served };
    for (i, note) in answer.notes.iter().enumerate() {
        shown.note(note, i == 0, &mut session.out)?;
    }
    session.say(dim(summary(&answer, what)));
    Ok(code)
}

/// An error about the pattern or the conditions, which have other names at the socket.
fn at_the_terminal(error: ClientError) -> CliFailure {
    let told = error.to_string();
    if let Some(why) = told.strip_prefix("`within`") {
        return CliFailure::usage(format!("CONDITION{why}; a PATTERN with blanks stands in quotes"));
    }
    match told.strip_prefix("`pattern`") {
        Some(why) => CliFailure::usage(format!("PATTERN{}", why.replace("`fixed` takes", "-F takes"))),
        None => error.into(),
    }
}

/// How many there are, and how long it took.
fn summary(answer: &GrepAnswer, what: GrepWhat) -> String {
    let notes = counted(answer.notes.len() as u64, "note");
    let lines = counted(answer.lines, "line");
    let shown: u64 = answer.notes.iter().map(|note| note.lines.len() as u64).sum();
    let some = what == GrepWhat::Lines && shown < answer.lines;
    let some = if some { format!(", {} of them shown", grouped(shown)) } else { String::new() };
    let more = if answer.truncated { ", and there may be more" } else { "" };
    let (time, searched) = (millis(answer.took_ms), grouped(answer.searched));
    match what {
        GrepWhat::Notes => format!("\n{notes} of {searched} in {time}{more}"),
        GrepWhat::Lines | GrepWhat::Counts => format!("\n{lines} in {notes} of {searched}{some}, in {time}{more}"),
    }
}

/// Opens the line that `--open` names.
fn open_line(
    answer: &GrepAnswer,
    number: u16,
    open_in: Option<OpenIn>,
    client: &mut Client,
    session: &Session,
) -> Result<u8, CliFailure> {
    let mut lines = answer.notes.iter().flat_map(|note| note.lines.iter().map(move |line| (note, line)));
    let Some((note, line)) = lines.nth(usize::from(number) - 1) else {
        let found = counted(answer.lines, "line");
        return Err(CliFailure::new(exit::NOTHING, format!("--open={number}: there is no such line ({found})")));
    };
    let place = Served::ask(client)?.place_of(&note.vault, &note.path, line.line);
    open::found(place, &note.path, open_in, session)
}

/// How notes are shown.
struct Shown {
    what: GrepWhat,
    has_context: bool,
    /// Whether vaults are named.
    several: bool,
    /// Whether a person reads the output, not a program.
    is_read: bool,
    links: bool,
    served: Served,
}

impl Shown {
    fn note(&self, note: &GrepNote, is_first: bool, out: &mut Out) -> io::Result<()> {
        if self.is_read { self.for_a_person(note, is_first, out) } else { self.for_a_program(note, is_first, out) }
    }

    fn for_a_person(&self, note: &GrepNote, is_first: bool, out: &mut Out) -> io::Result<()> {
        let vault = if self.several { format!("{}: ", safe(&note.vault)) } else { String::new() };
        let first = note.lines.first().map_or(1, |line| line.line);
        let name = self.linked(note, first, &cyan(bold(format!("{vault}{}", printable(&note.path)))));
        match self.what {
            GrepWhat::Notes => return out.line(name),
            GrepWhat::Counts => return out.line(format!("{name}{}", dim(format!(": {}", note.count)))),
            GrepWhat::Lines => {}
        }
        if !is_first {
            out.line("")?;
        }
        out.line(name)?;
        for (number, line, found) in numbered(&note.lines) {
            match (number, found) {
                (0, _) => out.line(dim("--"))?,
                (number, None) => out.line(format!("{}{}", dim(format!("{number:>4}  ")), printable(line)))?,
                (number, Some(found)) => {
                    let number = self.linked(note, number, &green(format!("{number:>4}")));
                    out.line(format!("{number}{} {}", dim(":"), marked(found)))?;
                }
            }
        }
        let left = note.count.saturating_sub(note.lines.len() as u64);
        if left > 0 { out.line(dim(format!("      and {left} more"))) } else { Ok(()) }
    }

    /// Prints as ripgrep does, with paths that work from the current folder.
    fn for_a_program(&self, note: &GrepNote, is_first: bool, out: &mut Out) -> io::Result<()> {
        let place = self.served.place_of(&note.vault, &note.path, 1);
        let path = place.map_or_else(|| note.path.clone(), |place| place.path_from_here().display().to_string());
        let path = safe(&path);
        match self.what {
            GrepWhat::Notes => return out.line(path),
            GrepWhat::Counts => return out.line(format!("{path}:{}", note.count)),
            GrepWhat::Lines => {}
        }
        if self.has_context && !is_first {
            out.line("--")?;
        }
        for (number, line, found) in numbered(&note.lines) {
            match (number, found) {
                (0, _) => out.line("--")?,
                (number, None) => out.line(format!("{path}-{number}-{}", with_tabs(line)))?,
                (number, Some(_)) => out.line(format!("{path}:{number}:{}", with_tabs(line)))?,
            }
        }
        Ok(())
    }

    fn linked(&self, note: &GrepNote, line: u32, text: &str) -> String {
        let place = if self.links { self.served.place_of(&note.vault, &note.path, line) } else { None };
        place.map_or_else(|| text.to_owned(), |place| link(&self.served.url_of(&place), text))
    }
}

/// The lines of a note with their numbers, including those around matches. If there are such lines, the number 0 marks
/// a gap.
fn numbered(lines: &[GrepLine]) -> Vec<(u32, &str, Option<&GrepLine>)> {
    let mut all: Vec<(u32, &str, Option<&GrepLine>)> = Vec::new();
    let has_context = lines.iter().any(|line| !line.before.is_empty() || !line.after.is_empty());
    for line in lines {
        let start = line.line.saturating_sub(line.before.len() as u32);
        if has_context && all.last().is_some_and(|(last, ..)| last + 1 < start) {
            all.push((0, "", None));
        }
        all.extend((start..).zip(&line.before).map(|(number, text)| (number, text.as_str(), None)));
        all.push((line.line, &line.text, Some(line)));
        all.extend((line.line + 1..).zip(&line.after).map(|(number, text)| (number, text.as_str(), None)));
    }
    all
}

/// A line as [`printable`], with its tabs: another program may tell columns by them.
fn with_tabs(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

/// A line with what matches marked.
fn marked(line: &GrepLine) -> String {
    let marks = line.highlights.iter().map(|(from, to)| *from as usize..*to as usize);
    let shown = |(piece, marked): (&str, bool)| {
        let clean = printable(piece);
        if marked { mark(&clean) } else { clean.into_owned() }
    };
    pieces(&line.text, 0..line.text.len(), marks).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: u32, before: &[&str], text: &str, after: &[&str]) -> GrepLine {
        let own = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        GrepLine { line, text: text.to_owned(), before: own(before), after: own(after), ..GrepLine::default() }
    }

    #[test]
    fn lines_around_matches_have_numbers_and_gaps_are_shown() {
        let lines =
            [line(3, &["two"], "three", &["four"]), line(5, &[], "five", &["six"]), line(9, &["eight"], "nine", &[])];
        let shown: Vec<_> =
            numbered(&lines).into_iter().map(|(number, text, found)| (number, text, found.is_some())).collect();
        let expected = [
            (2, "two", false),
            (3, "three", true),
            (4, "four", false),
            (5, "five", true),
            (6, "six", false),
            (0, "", false),
            (8, "eight", false),
            (9, "nine", true),
        ];
        assert_eq!(shown, expected);
        assert!(numbered(&[line(1, &[], "a", &[]), line(9, &[], "b", &[])]).iter().all(|(number, ..)| *number > 0));
    }

    #[test]
    fn another_program_gets_the_tabs_of_a_line() {
        assert_eq!(with_tabs("a\tb\u{1b}[31m\r c\t"), "a\tb  c\t");
    }

    #[test]
    fn ranges_that_are_none_are_passed_over_and_controls_are_not_printed() {
        let mut found = line(1, &[], "käse \u{1b}[31mrot", &[]);
        found.highlights = vec![(2, 3), (0, 5), (900, 901)];
        let shown = marked(&found);
        assert!(!shown.contains("\u{1b}[31m") && shown.contains("rot"), "{shown:?}");
    }
}
