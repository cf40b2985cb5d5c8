//! The beginning of a file as memory.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};

/// The first bytes of a file as memory: the system reads them when they are looked at, and may forget them again. A clone
/// is the same memory.
///
/// Whoever looks at bytes that the file no longer has is killed by the system, so the file must be one that this program
/// alone cuts, and [`Mapped::is_whole`] asks before many are looked at.
#[derive(Clone)]
pub struct Mapped {
    file: Arc<File>,
    map: Arc<Mmap>,
    len: usize,
}

impl Mapped {
    /// The first `len` bytes of a file, which has to be open for reading.
    ///
    /// # Errors
    /// The file is shorter, or the system cannot show it as memory.
    pub fn of(file: &Arc<File>, len: usize) -> io::Result<Mapped> {
        if !is_as_long(file, len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: what is shown of it is never written again, and is asked for by `is_whole` before it is looked at.
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().len(with_room(len)).map(&**file)? };
        Ok(Mapped { file: file.clone(), map: Arc::new(map), len })
    }

    /// The same with more of the file, which has been written behind it meanwhile.
    ///
    /// # Errors
    /// As for [`Mapped::of`].
    pub fn grown(&self, len: usize) -> io::Result<Mapped> {
        if len > self.map.len() {
            return Mapped::of(&self.file, len);
        }
        if !is_as_long(&self.file, len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Mapped { len, ..self.clone() })
    }

    /// Tells the system that nobody will look at it for a while: what has been looked at no longer counts as memory of this
    /// process, and is found in the file again.
    pub fn let_go(&self) {
        #[cfg(unix)]
        {
            // A system that does not want to keeps it until it needs the memory.
            // SAFETY: nothing is written through this map, so what it shows is as it is in the file.
            #[allow(unsafe_code)]
            let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Whether the file still has all of it.
    pub fn is_whole(&self) -> bool {
        is_as_long(&self.file, self.len)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

fn is_as_long(file: &File, len: usize) -> bool {
    file.metadata().is_ok_and(|meta| meta.len() >= len as u64)
}

/// What is asked of the system, so that not every byte that is written behind it needs another map. Windows would make the
/// file itself as long.
fn with_room(len: usize) -> usize {
    const ROOM: usize = 1 << 20;
    if cfg!(unix) { len + len / 4 + ROOM } else { len }
}
