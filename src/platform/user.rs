//! Who this process is.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

#[cfg(windows)]
pub use system::Sid;
#[cfg(windows)]
pub(crate) use system::text as text_of;
pub use system::{id, sid};
