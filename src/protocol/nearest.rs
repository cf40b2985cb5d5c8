//! Which known name was most likely meant by one that is not known.

/// Characters of an unknown name that are compared, and repeated.
pub(crate) const MOST_NAME: usize = 60;

/// The name that was most likely meant, if any is near.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if typed.len() > MOST_NAME {
        return None;
    }
    let typed = typed.to_lowercase().replace('-', "_");
    let distances = names.map(|name| (strsim::damerau_levenshtein(&typed, name), name));
    let near = distances.filter(|(distance, name)| *distance <= 1 + name.len().max(typed.len()) / 4);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}
