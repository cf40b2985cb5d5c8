//! A table that is cheap to copy: what a snapshot holds, and what the writer goes on changing.
//!
//! It is made of reference-counted pieces. A clone copies the pointers to the pieces. A change copies the one piece
//! that it affects, if a snapshot still holds that piece, and changes it in place otherwise. So publishing after one
//! save costs a few kilobytes, however large the vault is.

use std::sync::Arc;

/// Items of a block: small enough to copy on a save, large enough that the list of blocks stays short.
const BLOCK: usize = 256;

/// A sparse list indexed by number. A number that was never set reads as `None`, and so does one that was cleared; a
/// block without items takes only the room of its pointer. An item lies where its block does: a search follows as few
/// pointers as there can be, for it waits for memory at each.
pub struct Blocks<T> {
    blocks: Vec<Option<Arc<[Option<T>; BLOCK]>>>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks { blocks: Vec::new() }
    }
}

impl<T> Clone for Blocks<T> {
    fn clone(&self) -> Self {
        Blocks { blocks: self.blocks.clone() }
    }
}

impl<T: Clone> Blocks<T> {
    /// The item at `at`.
    pub fn get(&self, at: u32) -> Option<&T> {
        let at = at as usize;
        self.blocks.get(at / BLOCK)?.as_ref()?[at % BLOCK].as_ref()
    }

    /// Puts `item` at `at`, or clears the place, and returns what was there. Clearing a place that has none copies nothing.
    pub fn set(&mut self, at: u32, item: Option<T>) -> Option<T> {
        if item.is_none() && self.get(at).is_none() {
            return None;
        }
        let (block, place) = (at as usize / BLOCK, at as usize % BLOCK);
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, None);
        }
        let items = self.blocks[block].get_or_insert_with(|| Arc::new([const { None }; BLOCK]));
        std::mem::replace(&mut Arc::make_mut(items)[place], item)
    }

    /// Takes the items of another table, in place of those that are at their numbers. A block that only the other one
    /// has is not copied.
    pub fn append(&mut self, others: Blocks<T>) {
        if self.blocks.len() < others.blocks.len() {
            self.blocks.resize(others.blocks.len(), None);
        }
        for (block, others) in self.blocks.iter_mut().zip(others.blocks) {
            match (block.as_mut(), others) {
                (Some(block), Some(others)) => {
                    let items = Arc::make_mut(block).iter_mut().zip(others.iter());
                    items.filter(|(_, other)| other.is_some()).for_each(|(item, other)| item.clone_from(other));
                }
                (None, others) => *block = others,
                (Some(_), None) => {}
            }
        }
    }

    /// A number that all items are below; there is room up to it.
    pub fn end(&self) -> u32 {
        (self.blocks.len() * BLOCK) as u32
    }

    /// All items with their numbers, in order.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        let items =
            self.blocks.iter().zip((0..).step_by(BLOCK)).filter_map(|(block, first)| Some((first, block.as_ref()?)));
        items.flat_map(|(first, block)| (first..).zip(block.iter())).filter_map(|(at, item)| Some((at, item.as_ref()?)))
    }

    /// All items, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten().flat_map(|block| block.iter().flatten())
    }
}

impl<T> FromIterator<Option<T>> for Blocks<T> {
    /// The items of the numbers from 0 on.
    fn from_iter<I: IntoIterator<Item = Option<T>>>(items: I) -> Self {
        let mut items = items.into_iter().fuse().peekable();
        let block = || items.peek().is_some().then(|| std::array::from_fn(|_| items.next().flatten()));
        let has_item = |block: [Option<T>; BLOCK]| block.iter().any(Option::is_some).then(|| Arc::new(block));
        Blocks { blocks: std::iter::from_fn(block).map(has_item).collect() }
    }
}

#[cfg(test)]
mod tests;
