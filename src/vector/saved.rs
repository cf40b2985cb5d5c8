//! Windows as bytes: an index that stops saves them, so that its next start need not make them from the vectors.

use std::io::{self, Write};
use std::num::NonZeroU32;

use crate::lookup::STRIP;
use crate::{BLOCK, Block, FreeSlots, NONE, Slot, Windows};

impl Windows {
    /// Writes all windows. Values that are in the matrix are not written.
    ///
    /// # Errors
    /// What `out` says.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        put(out, self.dimensions as u32)?;
        put(out, self.blocks.len() as u32)?;
        self.blocks.iter().try_for_each(|block| block.save(out))?;
        let first = |row| self.first.get(row).map_or(0, |first| first.get());
        put(out, self.first.end())?;
        (0..self.first.end()).try_for_each(|row| put(out, first(row)))?;
        let jumps: Vec<(u32, u32)> = self.jumps.numbered().map(|(slot, next)| (slot, *next)).collect();
        put(out, jumps.len() as u32)?;
        jumps.iter().try_for_each(|(slot, next)| put(out, *slot).and_then(|()| put(out, *next)))
    }

    /// Takes the windows that [`Windows::save`] wrote from the beginning of `bytes`, for the matrix of these windows,
    /// with the slots that are free. `None` if the bytes are of windows of other dimensions, or are cut.
    pub fn restored(&self, bytes: &mut &[u8]) -> Option<(Windows, FreeSlots)> {
        if take(bytes)? as usize != self.dimensions {
            return None;
        }
        let mut windows = self.emptied();
        for _ in 0..take(bytes)? {
            windows.blocks.push(Block::restored(bytes, self.dimensions)?.into());
        }
        let count = take(bytes)? as usize;
        let first = bytes.split_off(..count.checked_mul(4)?)?.as_chunks().0;
        windows.first = first.iter().map(|first| NonZeroU32::new(u32::from_le_bytes(*first))).collect();
        for _ in 0..take(bytes)? {
            let (slot, next) = (take(bytes)?, take(bytes)?);
            windows.jumps.set(slot, Some(next));
        }
        let of_block = |(block, first): (&std::sync::Arc<Block>, u32)| {
            let free = (0..block.used).filter(|at| block.slots[*at].owner == NONE);
            free.map(move |at| first + at as u32).collect::<Vec<_>>()
        };
        let free = windows.blocks.iter().zip((0..).step_by(BLOCK)).flat_map(of_block).collect();
        Some((windows, FreeSlots(free)))
    }
}

impl Block {
    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        put(out, self.used as u32)?;
        put(out, self.signs.len() as u32)?;
        put(out, self.scales.len() as u32)?;
        for (factor, slot) in self.factors.iter().zip(&self.slots).take(self.used) {
            put(out, factor.to_bits())?;
            put(out, slot.record)?;
            put(out, slot.owner)?;
        }
        let strips = self.used.div_ceil(STRIP) * self.signs.len() / (BLOCK / STRIP);
        out.write_all(self.signs[..strips].as_flattened())?;
        self.scales.iter().try_for_each(|scale| put(out, scale.to_bits()))?;
        let values: Vec<u8> = self.values.iter().map(|value| value.cast_unsigned()).collect();
        out.write_all(&values)
    }

    fn restored(bytes: &mut &[u8], dimensions: usize) -> Option<Block> {
        let mut block = Block::empty();
        block.used = take(bytes).map(|used| used as usize).filter(|used| *used <= BLOCK)?;
        let most = dimensions.next_multiple_of(64);
        let columns = take(bytes).map(|columns| columns as usize).filter(|columns| *columns <= most)?;
        let scales = take(bytes)? as usize;
        for (factor, slot) in block.factors.iter_mut().zip(&mut block.slots).take(block.used) {
            *factor = f32::from_bits(take(bytes)?);
            *slot = Slot { record: take(bytes)?, owner: take(bytes)? };
        }
        let strips = block.used.div_ceil(STRIP) * columns / (BLOCK / STRIP);
        let signs = bytes.split_off(..strips.checked_mul(STRIP)?)?.as_chunks().0;
        block.signs = signs.iter().copied().chain(std::iter::repeat([0; STRIP])).take(columns).collect();
        let scaled = bytes.split_off(..scales.checked_mul(4)?)?.as_chunks().0;
        block.scales = scaled.iter().map(|scale| f32::from_bits(u32::from_le_bytes(*scale))).collect();
        let values = bytes.split_off(..scales.checked_mul(dimensions)?)?;
        block.values = values.iter().map(|value| value.cast_signed()).collect();
        Some(block)
    }
}

fn put(out: &mut dyn Write, number: u32) -> io::Result<()> {
    out.write_all(&number.to_le_bytes())
}

fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}
