//! What Unix and Windows call by different names. Each module has the same functions for both, so that no other part of
//! the program has to know where it runs. What only one of them has (Landlock, launchd) stays with the code that uses
//! it.

pub mod files;
pub mod process;
pub mod stream;
pub mod user;
