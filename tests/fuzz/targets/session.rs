#![no_main]
use std::sync::LazyLock;

use situated::daemon::serve::fuzz::Session;

/// One for all connections, as a daemon has.
static SESSION: LazyLock<Session> = LazyLock::new(Session::start);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| SESSION.talk(bytes));
