//! Sections by heading: small neighbours together, long sections split at their blocks.

use std::ops::Range;

use super::split::split;
use super::{ChunkConfig, Piece, Ruler, Strategy, Tools, semantic};
use crate::{Note, Section};

pub(super) fn pack(note: &Note, config: &ChunkConfig, ruler: &Ruler<'_>, tools: &Tools<'_>) -> Vec<Piece> {
    let whole = note.body..note.text.len();
    let daily = note.kind.as_deref() == Some("daily");
    if config.strategy == Strategy::Obsidian && daily && ruler.tokens(&whole) <= config.max {
        return vec![Piece { sections: 0..note.sections.len(), span: whole }];
    }
    let mut pieces = Vec::new();
    let mut open: Option<Group> = None;
    for (i, section) in note.sections.iter().enumerate() {
        let tokens = ruler.tokens(&section.span);
        let leads = is_heading_only(note, section)
            && note.sections.get(i + 1).is_some_and(|next| next.path.starts_with(&section.path));
        let joins = open.as_ref().is_some_and(|group| {
            // A heading without text of its own belongs to what it heads, not to what stands before it.
            (group.only_headings || !leads) && group.takes(note, section, tokens, config)
        });
        match &mut open {
            Some(group) if joins => {
                group.sections.end = i + 1;
                group.tokens += tokens;
                group.only_headings &= is_heading_only(note, section);
            }
            _ => {
                if let Some(group) = open.take() {
                    group.close(note, config, ruler, tools, &mut pieces);
                }
                let only_headings = is_heading_only(note, section);
                open = Some(Group { sections: i..i + 1, tokens, only_headings });
            }
        }
    }
    if let Some(group) = open {
        group.close(note, config, ruler, tools, &mut pieces);
    }
    pieces
}

/// Neighbouring sections that become one chunk, or one section that becomes several.
struct Group {
    sections: Range<usize>,
    tokens: u32,
    only_headings: bool,
}

impl Group {
    fn takes(&self, note: &Note, section: &Section, tokens: u32, config: &ChunkConfig) -> bool {
        let fits = self.tokens + tokens <= config.max;
        if self.only_headings {
            // A heading without text of its own says what the next section is about.
            return fits && self.is_parent_side(note, section);
        }
        let small = self.tokens < config.min || tokens < config.min;
        config.strategy != Strategy::Markdown
            && small
            && self.tokens + tokens <= config.target
            && self.is_parent_side(note, section)
    }

    /// Whether `section` lies under the parent of the group's first section: a sibling or something below one.
    fn is_parent_side(&self, note: &Note, section: &Section) -> bool {
        let first = &note.sections[self.sections.start].path;
        section.path.starts_with(&first[..first.len().saturating_sub(1)])
    }

    fn close(self, note: &Note, config: &ChunkConfig, ruler: &Ruler<'_>, tools: &Tools<'_>, pieces: &mut Vec<Piece>) {
        let span = note.sections[self.sections.start].span.start..note.sections[self.sections.end - 1].span.end;
        let semantic = config.strategy == Strategy::Semantic;
        let whole = if semantic { config.target } else { config.max };
        if self.tokens <= whole {
            pieces.push(Piece { sections: self.sections, span });
            return;
        }
        let parts = if semantic {
            semantic::split(note, &span, config, ruler, tools)
        } else {
            split(note, &span, config, ruler)
        };
        pieces.extend(parts.into_iter().map(|span| Piece { sections: self.sections.clone(), span }));
    }
}

fn is_heading_only(note: &Note, section: &Section) -> bool {
    section.heading.is_some() && note.text[section.content.clone()].trim().is_empty()
}
