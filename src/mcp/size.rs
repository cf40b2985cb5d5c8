//! Fits results into a model's window: a limit on the characters of a result, in either of its forms, of which a client
//! gives a model one. It is kept by shortening texts first, and then by leaving things out at the end; the result says
//! what was left out.

use serde::Serialize;

use super::daemon::Trouble;

/// Characters of a result, unless the caller says otherwise.
pub(super) const USUAL: usize = 20_000;

/// What a caller may ask for.
const RANGE: std::ops::RangeInclusive<usize> = 2_000..=200_000;

/// A text shorter than this says too little to be worth its place.
const SHORTEST: usize = 200;

/// The limit of a call.
pub(super) fn limit(asked: Option<usize>) -> Result<usize, Trouble> {
    let limit = asked.unwrap_or(USUAL);
    if RANGE.contains(&limit) {
        return Ok(limit);
    }
    Err(Trouble::invalid(format!("`max_chars` is {limit}: it may be {} to {}", RANGE.start(), RANGE.end())))
}

/// Characters of the longer form of a result: its text, or its structured value as JSON.
pub(super) fn of(text: &str, structured: &impl Serialize) -> usize {
    let json = serde_json::to_string(structured).map_or(usize::MAX, |json| json.chars().count());
    text.chars().count().max(json)
}

/// The most characters, up to `most`, that texts may have so that `fits` holds, found by halving. `None` if it does not
/// hold for [`SHORTEST`] either.
pub(super) fn longest(most: usize, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
    if fits(most) {
        return Some(most);
    }
    let (mut low, mut high) = (SHORTEST.min(most), most);
    if !fits(low) {
        return None;
    }
    while high - low > 16 {
        let middle = usize::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// At most so many characters of a text, ended by an ellipsis if there was more, at a line's end if one is near.
pub(super) fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let kept = &text[..end];
    let near = kept.rfind('\n').filter(|at| kept.len() - at < kept.len() / 4);
    format!("{}…", kept[..near.unwrap_or(end)].trim_end())
}

/// Whole lines of a text, with at most `room` characters when `cost` is what each takes; at least a part of the first.
/// The text, and how many lines it has.
pub(super) fn lines(text: &str, room: usize, cost: &dyn Fn(&str) -> usize) -> (String, usize) {
    let (mut kept, mut count, mut used) = (String::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        used += cost(line);
        if used > room {
            if count == 0 {
                return (cut(line, room), 1);
            }
            break;
        }
        kept.push_str(line);
        count += 1;
    }
    (kept, count)
}

#[cfg(test)]
mod tests;
