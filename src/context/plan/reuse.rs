//! Whether a context may serve a note: it tells of the note that it was written for. Pure.

/// A note that holds or held a context, as seen from a note that could use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Whether it stood under the path that the note at hand has, or moved here from.
    pub here: bool,
    /// Whether it was removed since; a note that is at its path now is another one.
    pub removed: bool,
    /// Whether there is no file at its path.
    pub gone: bool,
    /// Whether it was private when it was last written.
    pub private: bool,
}

/// Whether a context of these notes may serve another, which is `private` or not.
///
/// It may serve the note that holds it; and what that note became, for a file that is renamed and changed at once, or
/// that comes back, is told from a new one by nothing: so also any note, once the source is gone. But never a public
/// note where the source was private. Of two notes that were made from one template, both there, neither is given the
/// other's. One of several sources is enough: notes that were written for in the same words hold the same context.
pub fn may_reuse(sources: &[Source], private: bool) -> bool {
    let may = |source: &Source| match () {
        () if source.here && !source.removed => true,
        () if source.private && !private => false,
        () => source.here || source.gone,
    };
    sources.iter().any(may)
}

/// What is known of a context whose note nobody knows: version 1 of the store did not say it of what lay in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Whether another note has one of its sections.
    pub elsewhere: bool,
    /// Whether it was written by a model on another machine, which is never shown a private note.
    pub shown: bool,
    /// Whether the note at hand was there already when it was written.
    pub was_there: bool,
    /// Whether the user brought it in, and did not say whose it is.
    pub given: bool,
}

/// Whether a context whose note nobody knows may serve a note, which is `private` or not.
///
/// Not while another note could be the one: one that has a section of the same path. And a public note is given it only
/// if it cannot tell of a private one that is gone: if a model was shown its note that is shown no private notes; if
/// the note at hand was there when it was written, so that this is an undo in the note itself; or if the user brought it
/// in, to be used. What is refused stays in the archive; what it costs is one context more, once.
pub fn may_adopt(context: Unknown, private: bool) -> bool {
    !context.elsewhere && (private || context.shown || context.was_there || context.given)
}

#[cfg(test)]
mod tests;
