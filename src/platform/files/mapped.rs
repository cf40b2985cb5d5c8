//! The beginning of a file as memory.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};

/// The first bytes of a file as memory: the system reads them from the file on access, and may evict them again. A
/// clone is the same memory.
///
/// The system kills a process that accesses bytes which the file no longer has. So only this program may cut the file,
/// and callers ask [`Mapped::is_whole`] before they read many bytes.
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
        // SAFETY: `is_whole` checks the file's length before bytes are read. The store writes only behind the bytes that
        // are shown, and over records that nobody names any more: whoever still reads one of those throws it away.
        #[allow(unsafe_code)]
        let map = unsafe { MmapOptions::new().len(with_room(len)).map(&**file)? };
        Ok(Mapped { file: file.clone(), map: Arc::new(map), len })
    }

    /// The same map with more of the file, which has grown meanwhile.
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

    /// Tells the system that nobody will read the bytes for a while: those that were read no longer count as memory of
    /// this process, and come from the file again.
    pub fn let_go(&self) {
        #[cfg(unix)]
        {
            // A system that refuses keeps them until it needs the memory.
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

/// How many bytes to map, so that not every write behind them needs another map. Windows would make the file itself as
/// long.
fn with_room(len: usize) -> usize {
    const ROOM: usize = 1 << 20;
    if cfg!(unix) { len + len / 4 + ROOM } else { len }
}
