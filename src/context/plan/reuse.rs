//! Decides whether a context may serve a note: a context reveals the note that it was written for. Pure.

/// A note that holds or held a context, as seen from a note that could use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Whether its path is the one that the note in question has, or moved from.
    pub here: bool,
    /// Whether it was removed since; then a note at its path is another one.
    pub removed: bool,
    /// Whether there is no file at its path.
    pub gone: bool,
    /// Whether it was private when it was last written.
    pub private: bool,
}

/// Whether a context of these notes may serve another, which is `private` or not.
///
/// It may serve the note that holds it. Once the source is gone, it may serve any note: nothing tells a new file from
/// one that was renamed and changed at once, or that came back. But a private source never serves a public note. Of two
/// existing notes that were made from one template, neither gets the other's context. One suitable source is enough:
/// notes with the same text hold the same context.
pub fn may_reuse(sources: &[Source], private: bool) -> bool {
    let may = |source: &Source| match () {
        () if source.here && !source.removed => true,
        () if source.private && !private => false,
        () => source.here || source.gone,
    };
    sources.iter().any(may)
}

/// What is known of a context whose note is unknown: version 1 of the store did not record it in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Whether another note has one of its sections.
    pub elsewhere: bool,
    /// Whether a model on another machine wrote it; such a model never sees a private note.
    pub shown: bool,
    /// Whether the note in question already existed when it was written.
    pub was_there: bool,
    /// Whether the user imported it without naming its note.
    pub given: bool,
}

/// Decides whether a context whose note is unknown may serve a note, which is `private` or not.
///
/// It may not while another note could be the right one: one that has a section of the same path. A public note gets it
/// only if it cannot reveal a private note that is gone: if the model that wrote it sees no private notes; if the note
/// in question existed when it was written, so that this is an undo in the note itself; or if the user imported it to
/// be used. A refused context stays in the archive; the refusal costs one more context, once.
pub fn may_adopt(context: Unknown, private: bool) -> bool {
    !context.elsewhere && (private || context.shown || context.was_there || context.given)
}

#[cfg(test)]
mod tests;
