//! Tables that outlive a call, since their content makes the next call faster.
//!
//! Threads share them: a daemon has some fifty threads that read a text at one time or another, but seldom more than a
//! handful at once. With half a megabyte per thread it grew by 20 MB within an hour.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// Tables of one kind that nobody uses at the moment.
pub(crate) struct Scratch<T>(Mutex<Vec<T>>);

impl<T> Scratch<T> {
    /// No tables yet.
    pub(crate) const fn new() -> Self {
        Scratch(Mutex::new(Vec::new()))
    }

    /// Takes the table that was given back last, which is the likeliest to be in a cache; `None` if all are in use.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().pop()
    }

    /// Gives a table back. No more are kept than threads can run at once.
    pub(crate) fn give(&self, table: T) {
        static MOST: OnceLock<usize> = OnceLock::new();
        let most = *MOST.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).max(2));
        let mut idle = self.0.lock();
        if idle.len() < most {
            idle.push(table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_last_comes_first_and_a_burst_leaves_few() {
        let scratch = Scratch::new();
        assert!(scratch.take().is_none());
        (0..1000).for_each(|n| scratch.give(n));
        let kept: Vec<i32> = std::iter::from_fn(|| scratch.take()).collect();
        let most = std::thread::available_parallelism().unwrap().get().max(2) as i32;
        assert_eq!(kept, (0..most.min(1000)).rev().collect::<Vec<_>>());
    }
}
