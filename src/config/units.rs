//! Values as people write them: `"300ms"`, `"8 MiB"`, `15`, `"15 %"`. Each reader says what it would accept.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::paths;

/// A scalar as typed. Numbers in TOML have a type of their own, in the environment all is text.
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

    fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) | Value::Typed(_) => "a string",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Other(kind) => kind,
        }
    }

    fn shown(&self) -> String {
        match self {
            Value::Text(text) | Value::Typed(text) => format!("`{}`", text.escape_debug()),
            Value::Int(n) => format!("`{n}`"),
            Value::Float(x) => format!("`{x}`"),
            Value::Bool(b) => format!("`{b}`"),
            Value::Other(kind) => (*kind).to_owned(),
        }
    }
}

/// A number followed by a unit.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// A duration with its unit.
pub(super) fn duration(value: &Value, range: RangeInclusive<Duration>) -> Result<Duration, String> {
    const EXPECTED: &str = "write a duration with its unit, such as \"300ms\", \"2s\", \"15m\" or \"1h\"";
    let Some(text) = value.text() else {
        return Err(format!("{} is not a duration; {EXPECTED}", value.shown()));
    };
    let (number, unit) =
        number_and_unit(text).ok_or_else(|| format!("{} is not a duration; {EXPECTED}", value.shown()))?;
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
        Ok(duration)
    } else {
        Err(format!(
            "{} is out of range: {} to {}",
            value.shown(),
            show_duration(*range.start()),
            show_duration(*range.end())
        ))
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
    if range.contains(&size) {
        Ok(size)
    } else {
        Err(format!(
            "{} is out of range: {} to {}",
            value.shown(),
            show_bytes(*range.start()),
            show_bytes(*range.end())
        ))
    }
}

/// The shortest exact form of a size, readable by [`bytes`].
pub(super) fn show_bytes(size: u64) -> String {
    let unit = BYTE_UNITS[..3].iter().find(|(_, factor)| size > 0 && size.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{size} B"), |(name, factor)| format!("{} {name}", size / factor))
}

/// A whole number in a range.
pub(super) fn count(value: &Value, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = match value {
        Value::Int(n) => Some(*n),
        Value::Typed(text) => text.trim().parse().ok(),
        _ => None,
    };
    let expected = || format!("write a whole number from {} to {}", range.start(), range.end());
    match number {
        Some(n) => match u64::try_from(n) {
            Ok(n) if range.contains(&n) => Ok(n),
            _ => Err(format!("`{n}` is out of range; {}", expected())),
        },
        None => Err(format!("{} is not a whole number; {}", value.shown(), expected())),
    }
}

/// A share from 0 to 1.
pub(super) fn share(value: &Value) -> Result<f32, String> {
    let number = match value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(x) => Some(*x),
        Value::Typed(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(x) if (0.0..=1.0).contains(&x) => Ok(x as f32),
        _ => Err(format!("{} is not a share; write a number from 0.0 to 1.0", value.shown())),
    }
}

/// A share in percent: `15` or `"15 %"`.
pub(super) fn percent(value: &Value, range: RangeInclusive<u64>) -> Result<u32, String> {
    let number = match value.text() {
        Some(text) => Value::Typed(text.strip_suffix('%').unwrap_or(text).to_owned()),
        None => value.clone(),
    };
    count(&number, range.clone()).map(|n| n as u32).map_err(|_| {
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

/// One of a few words.
pub(super) fn word(value: &Value, words: &[&'static str]) -> Result<&'static str, String> {
    let text = string(value)?;
    words.iter().find(|word| **word == text).copied().ok_or_else(|| {
        let near = nearest(&text, words).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let all = words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        format!("{} is not known{near} (there is {all})", value.shown())
    })
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

/// The word that was most likely meant, if any is near.
pub(super) fn nearest<'a>(typed: &str, words: &[&'a str]) -> Option<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&typed, word), *word))
        .filter(|(distance, word)| *distance <= 1 + word.chars().count().max(typed.chars().count()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}
