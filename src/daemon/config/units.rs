//! Values as people write them: `"300ms"`, `"8 MiB"`, `15`, `"15 %"`. Each reader says what it would accept.

use context::own_prompt::{OwnPrompt, PRESETS};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::{Opener, paths};
use note::chunk::Strategy;
use protocol::nearest::nearest;
use strum::VariantArray;

/// A value, and where it is in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed<T> {
    pub value: T,
    pub line: u32,
    pub column: u32,
}

/// A value as typed. TOML has types for numbers; in the environment everything is text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Int(i64),
    /// A TOML float.
    Float(f64),
    /// A TOML boolean.
    Bool(bool),
    /// A variable of the environment, or a flag: relative paths mean the current folder.
    Typed(String),
    /// A TOML table, in the order of the file.
    Table(Vec<(String, Placed<Value>)>),
    /// A TOML list.
    List(Vec<Placed<Value>>),
    /// Something that no key takes, by its name in TOML.
    Other(&'static str),
}

impl Value {
    fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) | Value::Typed(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// A number, or in the environment the text of one.
    fn number(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            Value::Typed(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) | Value::Typed(_) => "a string",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Table(_) => "a table",
            Value::List(_) => "a list",
            Value::Other(kind) => kind,
        }
    }

    fn shown(&self) -> String {
        match self {
            Value::Text(text) | Value::Typed(text) => format!("`{}`", text.escape_debug()),
            Value::Int(n) => format!("`{n}`"),
            Value::Float(x) => format!("`{x}`"),
            Value::Bool(b) => format!("`{b}`"),
            Value::Table(_) | Value::List(_) | Value::Other(_) => self.kind().to_owned(),
        }
    }
}

/// A string as TOML.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The same on one line: keys must be, and long texts are easier to read so.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            c if c.is_control() => write!(out, "\\u{:04X}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
    out
}

/// A number followed by a unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

fn out_of_range<T: Copy>(value: &Value, range: RangeInclusive<T>, show: fn(T) -> String) -> String {
    format!("{} is out of range: {} to {}", value.shown(), show(*range.start()), show(*range.end()))
}

/// A duration with its unit.
pub(super) fn duration(value: &Value, range: RangeInclusive<Duration>) -> Result<Duration, String> {
    const EXPECTED: &str = "write a duration with its unit, such as \"300ms\", \"2s\", \"15m\", \"1h\" or \"7d\"";
    let (number, unit) = value
        .text()
        .and_then(number_and_unit)
        .ok_or_else(|| format!("{} is not a duration; {EXPECTED}", value.shown()))?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86400.0,
        "" => return Err(format!("{} has no unit; {EXPECTED}", value.shown())),
        _ => return Err(format!("`{unit}` is not a unit of time; {EXPECTED}")),
    };
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| format!("{} is too long", value.shown()))?;
    if range.contains(&duration) {
        // In whole milliseconds, as it is shown.
        Ok(Duration::from_millis(duration.as_millis() as u64))
    } else {
        Err(out_of_range(value, range, show_duration))
    }
}

/// The shortest exact form of a duration, readable by [`duration`].
pub(super) fn show_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if ms > 0 && ms.is_multiple_of(length) {
            return format!("{}{unit}", ms / length);
        }
    }
    format!("{ms}ms")
}

const BYTE_UNITS: [(&str, u64); 8] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("KB", 1000),
    ("B", 1),
];

/// A size in bytes: an integer, or a string with a unit.
pub(super) fn bytes(value: &Value, range: RangeInclusive<u64>) -> Result<u64, String> {
    const EXPECTED: &str = "write a number of bytes or a size such as \"8 MiB\"";
    let size = match value {
        Value::Int(n) => u64::try_from(*n).ok(),
        _ => value.text().and_then(number_and_unit).and_then(|(number, unit)| {
            let factor = if unit.is_empty() { 1 } else { BYTE_UNITS.iter().find(|(name, _)| *name == unit)?.1 };
            Some((number * factor as f64) as u64)
        }),
    };
    let size = size.ok_or_else(|| format!("{} is not a size; {EXPECTED}", value.shown()))?;
    if range.contains(&size) { Ok(size) } else { Err(out_of_range(value, range, show_bytes)) }
}

/// The shortest exact form of a size, readable by [`bytes`].
pub(super) fn show_bytes(size: u64) -> String {
    let unit = BYTE_UNITS[..3].iter().find(|(_, factor)| size > 0 && size.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{size} B"), |(name, factor)| format!("{} {name}", size / factor))
}

/// A whole number in a range, in which all numbers are of the type.
pub(super) fn count<T: TryFrom<u64>>(value: &Value, range: RangeInclusive<u64>) -> Result<T, String> {
    let number = match value {
        Value::Int(n) => Some(*n),
        Value::Typed(text) => text.trim().parse().ok(),
        _ => None,
    };
    let expected = || format!("write a whole number from {} to {}", range.start(), range.end());
    match number {
        Some(n) => {
            let number = u64::try_from(n).ok().filter(|n| range.contains(n)).and_then(|n| T::try_from(n).ok());
            number.ok_or_else(|| format!("`{n}` is out of range; {}", expected()))
        }
        None => Err(format!("{} is not a whole number; {}", value.shown(), expected())),
    }
}

/// A share from 0 to 1.
pub(super) fn share(value: &Value) -> Result<f32, String> {
    match value.number() {
        Some(x) if (0.0..=1.0).contains(&x) => Ok(x as f32),
        _ => Err(format!("{} is not a share; write a number from 0.0 to 1.0", value.shown())),
    }
}

/// Shares from 0 to 1 under names, in lower case: a table, or in the environment `daily=0.05, meeting=0.02`.
pub(super) fn shares(value: &Value) -> Result<BTreeMap<String, f32>, String> {
    const EXPECTED: &str = "write a table such as { daily = 0.05 }";
    let typed = |item: &str| {
        let (name, share) = item.split_once('=')?;
        Some((name.trim().to_owned(), Value::Typed(share.to_owned())))
    };
    let items: Option<Vec<(String, Value)>> = match value {
        Value::Table(items) => Some(items.iter().map(|(name, placed)| (name.clone(), placed.value.clone())).collect()),
        Value::Typed(text) => text.split(',').filter(|item| !item.trim().is_empty()).map(typed).collect(),
        _ => None,
    };
    let items = items.ok_or_else(|| format!("{} will not do; {EXPECTED}", value.shown()))?;
    let named = |(name, value): (String, Value)| match share(&value) {
        Ok(share) => Ok((name.to_lowercase(), share)),
        Err(why) => Err(format!("`{}`: {why}", name.escape_debug())),
    };
    items.into_iter().map(named).collect()
}

/// Kinds of notes by folder, in the order of the file.
pub(super) fn kinds(value: &Value) -> Result<Vec<(String, String)>, String> {
    let Value::Table(items) = value else {
        return Err("write a table, such as `kinds = { \"Daily/\" = \"daily\" }`".to_owned());
    };
    let kind = |(folder, kind): &(String, Placed<Value>)| match string(&kind.value) {
        Ok(kind) => Ok((folder.clone(), kind)),
        Err(why) => Err(format!("`{}`: {why}", folder.escape_debug())),
    };
    items.iter().map(kind).collect()
}

/// A share in percent: `15` or `"15 %"`.
pub(super) fn percent(value: &Value, range: RangeInclusive<u64>) -> Result<u32, String> {
    let number = match value.text() {
        Some(text) => Value::Typed(text.strip_suffix('%').unwrap_or(text).to_owned()),
        None => value.clone(),
    };
    count(&number, range.clone()).map_err(|_| {
        format!("{} is not a percentage; write one from {} to {}", value.shown(), range.start(), range.end())
    })
}

/// A boolean.
pub(super) fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(b) => Ok(*b),
        Value::Typed(text) if text.trim() == "true" => Ok(true),
        Value::Typed(text) if text.trim() == "false" => Ok(false),
        _ => Err(format!("{} is neither true nor false", value.shown())),
    }
}

/// A string.
pub(super) fn string(value: &Value) -> Result<String, String> {
    value.text().map(str::to_owned).ok_or_else(|| format!("expected a string in quotes, found {}", value.kind()))
}

/// A pattern of what is left out, in the syntax of .gitignore.
pub(super) fn pattern(value: &Value) -> Result<String, String> {
    let glob = string(value)?;
    vault::policy::Policy::problem(&glob).map_or(Ok(glob), |error| Err(format!("not a pattern: {error}")))
}

/// A pattern of what is private.
pub(super) fn private_pattern(value: &Value) -> Result<String, String> {
    let glob = string(value)?;
    note::Private::problem(&glob).map_or(Ok(glob), |error| Err(format!("not a pattern: {error}")))
}

/// The meaning of a value that is one of a few words.
pub(super) fn one_of<T: Copy>(value: &Value, words: &[(&'static str, T)]) -> Result<T, String> {
    let text = string(value)?;
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near =
            nearest(&text, words.iter().copied()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("{} is not known{near} (there is {})", value.shown(), listed(&words))
    })
}

/// The variant of that name.
pub(super) fn variant<T: Copy + Into<&'static str> + VariantArray>(value: &Value) -> Result<T, String> {
    let words: Vec<(&str, T)> = T::VARIANTS.iter().map(|variant| ((*variant).into(), *variant)).collect();
    one_of(value, &words)
}

/// A way of cutting chunks, by its name or by the name that other programs use.
pub(super) fn strategy(value: &Value) -> Result<Strategy, String> {
    const ELSEWHERE: [(&str, Strategy); 3] = [
        ("obsidian_aware", Strategy::Obsidian),
        ("markdown_semantic", Strategy::Semantic),
        ("simple", Strategy::Fixed),
    ];
    let text = string(value)?;
    let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == text).map(|(_, strategy)| *strategy);
    elsewhere.map_or_else(|| variant(value), Ok)
}

/// A number in a range.
pub(super) fn number(value: &Value, range: RangeInclusive<f32>) -> Result<f32, String> {
    value.number().map(|x| x as f32).filter(|x| range.contains(x)).ok_or_else(|| {
        format!("{} will not do; write a number from {:?} to {:?}", value.shown(), range.start(), range.end())
    })
}

/// An amount of money: dollars as a number or in quotes, in millionths of a dollar.
pub(super) fn dollars(value: &Value) -> Result<u64, String> {
    /// More is a typing mistake.
    const MOST: f64 = 1e6;
    let typed = || value.text()?.trim_start_matches('$').trim().parse().ok();
    match value.number().or_else(typed) {
        Some(x) if (0.0..=MOST).contains(&x) => Ok((x * 1e6).round() as u64),
        _ => Err(format!(
            "{} is not an amount in dollars; write a number such as 0.50, up to a million (0 buys nothing)",
            value.shown()
        )),
    }
}

/// A string that is not empty, of characters that `allowed` accepts; the error says what is expected, not what was
/// typed.
pub(super) fn plain(value: &Value, allowed: fn(char) -> bool, expected: &str) -> Result<String, String> {
    let text = string(value)?;
    if text.is_empty() || !text.chars().all(allowed) { Err(format!("write {expected}")) } else { Ok(text) }
}

/// A name of a table that others are told: of at most 32 characters that stand for themselves everywhere.
pub(super) fn is_short_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.len() <= 32 && name.chars().all(allowed)
}

/// A string that is not empty.
pub(super) fn words(value: &Value) -> Result<String, String> {
    string(value).and_then(|text| if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text) })
}

/// A string that is not empty, and is not shown.
pub(super) fn secret(value: &Value) -> Result<String, String> {
    words(value)
}

/// What a model is told besides the fixed instructions, in every request: so it is short.
pub(super) fn instructions(value: &Value) -> Result<String, String> {
    /// Characters; about a thousand tokens.
    const MOST: usize = 4000;
    let text = words(value)?;
    match text.chars().count() {
        n if n > MOST => Err(format!("{n} characters are sent with every request; write {MOST} at most")),
        _ => Ok(text),
    }
}

/// A prompt in the user's own words.
pub(super) fn own_prompt(value: &Value) -> Result<OwnPrompt, String> {
    OwnPrompt::parse(&instructions(value)?)
}

/// A prompt of ours by its name.
pub(super) fn preset(value: &Value) -> Result<OwnPrompt, String> {
    let name = words(value)?;
    let names = PRESETS.map(|(name, _)| name);
    OwnPrompt::preset(&name).ok_or_else(|| format!("there is no preset of that name; there is {}", listed(&names)))
}

/// A prefix that is put before texts, including white space at its ends. May be empty.
pub(super) fn prefix(value: &Value) -> Result<String, String> {
    /// Characters: it is sent with every text.
    const MOST: usize = 400;
    let (Value::Text(text) | Value::Typed(text)) = value else {
        return Err(format!("expected a string in quotes, found {}", value.kind()));
    };
    match text.chars().count() {
        n if n > MOST => Err(format!("{n} characters are sent with every text; write {MOST} at most")),
        _ if text.chars().any(|c| c.is_control() && c != '\n') => Err("it holds control characters".to_owned()),
        _ => Ok(text.clone()),
    }
}

/// The address of a server. What was typed is not repeated if it may hold a password.
pub(super) fn address(value: &Value) -> Result<String, String> {
    const EXPECTED: &str = "write an address such as \"https://api.example.com\" or \"http://127.0.0.1:11434\"";
    let text = string(value)?;
    // The parser that requests go through too, so that nothing is read differently there.
    let url = reqwest::Url::parse(&text).map_err(|error| format!("this is not an address ({error}); {EXPECTED}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("an address begins with https:// or http://; {EXPECTED}"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("no name or password stands in an address; {WHERE_KEYS_GO}"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("an address ends with its path, without `?` and `#`; {EXPECTED}"));
    }
    let host = url.host_str().unwrap_or_default();
    if url.scheme() == "http" && !is_this_machine(host) {
        return Err(format!(
            "http:// to `{}` would send the key and your notes in the clear; use https://, or a tunnel that ends on this machine (`ssh -L`)",
            host.escape_debug()
        ));
    }
    Ok(text)
}

/// A message, or a name in it, without the names and passwords of addresses and without providers' keys: a user may
/// have typed one in the wrong place, and messages end up in logs, too.
pub(super) fn without_secrets(message: &str) -> String {
    without_keys(&without_passwords(message))
}

fn without_passwords(message: &str) -> String {
    /// One slash, not two: the second is lost where an address becomes a path.
    const SCHEME_END: &str = ":/";
    let mut shown = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(SCHEME_END) {
        let address = rest[at + 1..].trim_start_matches('/');
        let (scheme, address) = rest.split_at(rest.len() - address.len());
        let end = address.find(|c: char| c.is_whitespace() || "/?#`\"'".contains(c)).unwrap_or(address.len());
        let host = address[..end].rfind('@').unwrap_or(0);
        shown.push_str(scheme);
        shown.push_str(if host > 0 { "…" } else { "" });
        rest = &address[host..];
    }
    shown + rest
}

fn without_keys(message: &str) -> String {
    /// The shortest key, an AWS one; a shorter word only begins like one.
    const SHORTEST: usize = 20;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let hidden = |piece: &str| {
        let (word, rest) = piece.split_at(piece.trim_end_matches(|c| !is_part(c)).len());
        match KEYS_BEGIN.iter().find(|beginning| word.len() >= SHORTEST && word.starts_with(**beginning)) {
            Some(beginning) => format!("{beginning}…{rest}"),
            None => piece.to_owned(),
        }
    };
    message.split_inclusive(|c| !is_part(c)).map(hidden).collect()
}

/// Whether a host, as an address spells it, is this machine.
fn is_this_machine(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name == "localhost" || name.ends_with(".localhost") || ip.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Where a provider's key goes, for a user who writes it into the configuration.
pub(super) const WHERE_KEYS_GO: &str = "put the key into a file that only you can read (mode 0600) and name the file in `context.key_file`, or set `context.key_command` to a command that prints it";

/// The same, for the keys of a section.
pub(super) fn where_keys_go(section: &str) -> String {
    if section.is_empty() {
        WHERE_KEYS_GO.to_owned()
    } else {
        WHERE_KEYS_GO.replace("context.", &format!("{section}."))
    }
}

/// What providers' keys begin with.
const KEYS_BEGIN: [&str; 3] = ["sk-", "AKIA", "ABSK"];

/// Whether a text looks like a provider's key: such a text is never repeated.
fn looks_like_a_key(text: &str) -> bool {
    KEYS_BEGIN.iter().chain(&["Bearer "]).any(|beginning| text.starts_with(beginning))
}

/// The path of a file with a key. What was typed may be the key itself, so it is not repeated.
pub(super) fn key_file(value: &Value) -> Result<PathBuf, String> {
    if value.text().is_some_and(looks_like_a_key) {
        return Err(format!("this looks like a key and not like a path; {WHERE_KEYS_GO}"));
    }
    path(value).map_err(|_| "write the path of the file that holds the key, beginning with `/` or `~/`".to_owned())
}

/// The name of a systemd credential.
pub(super) fn credential(value: &Value) -> Result<String, String> {
    if value.text().is_some_and(looks_like_a_key) {
        return Err(format!("this looks like a key and not like a credential's name; {WHERE_KEYS_GO}"));
    }
    plain(
        value,
        |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'),
        "the name that the unit's `LoadCredential=` gives it, of letters, digits, `-`, `_` and `.`",
    )
    .and_then(|name| {
        if name.starts_with('.') { Err("a credential's name begins with a letter".to_owned()) } else { Ok(name) }
    })
}

/// What opens a note for a person.
pub(super) fn opener(value: &Value) -> Result<Opener, String> {
    let text = words(value)?;
    match (text.as_str(), text.strip_prefix("command ")) {
        ("editor", _) => Ok(Opener::Editor),
        ("obsidian", _) => Ok(Opener::Obsidian),
        (_, Some(command)) if command.contains("{path}") => Ok(Opener::Command(command.trim().to_owned())),
        (_, Some(_)) => Err("the command does not say where the path goes; write `{path}` in it".to_owned()),
        _ => Err(format!(
            "{} is not known; there is `editor`, `obsidian` and `command CMD {{path}} {{line}}`",
            value.shown()
        )),
    }
}

/// Readable by [`opener`].
pub(super) fn show_opener(opener: &Opener) -> String {
    match opener {
        Opener::Editor => "editor".to_owned(),
        Opener::Obsidian => "obsidian".to_owned(),
        Opener::Command(command) => format!("command {command}"),
    }
}

/// An absolute path, or one below `~`.
pub(super) fn path(value: &Value) -> Result<PathBuf, String> {
    // Not trimmed: white space at the ends may belong to a path.
    let (Value::Text(text) | Value::Typed(text)) = value else {
        return Err(format!("expected a path in quotes, found {}", value.kind()));
    };
    if text.contains('\0') {
        return Err("a path cannot hold a NUL character".to_owned());
    }
    let path = paths::expand(text)?;
    match value {
        _ if path.is_absolute() => Ok(path),
        Value::Typed(_) => std::path::absolute(&path).map_err(|e| format!("{}: {e}", path.display())),
        _ => Err(format!(
            "{} is relative, and to what would depend on who starts the daemon; begin it with `/` or `~/`",
            value.shown()
        )),
    }
}

/// Words as a message lists them.
pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
