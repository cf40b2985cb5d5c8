//! What the daemon takes from its host: priorities of threads.
