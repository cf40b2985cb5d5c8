//! How calls enter the sums of a report.

use super::Settled;
use super::line::Entry;
use protocol::cost::Sums;

/// How calls enter sums.
pub(super) trait CountCalls {
    /// A call is about to be sent.
    fn reserve(&mut self, entry: &Entry);
    /// A reserved call is taken out again.
    fn unreserve(&mut self, entry: &Entry);
    /// A call has ended.
    fn settle(&mut self, used: &Settled);
    /// Adds all calls of other sums.
    fn include(&mut self, other: &Sums);
}

impl CountCalls for Sums {
    fn reserve(&mut self, entry: &Entry) {
        each_reserved(self, entry, add);
    }

    fn unreserve(&mut self, entry: &Entry) {
        each_reserved(self, entry, take);
    }

    fn settle(&mut self, used: &Settled) {
        add(&mut self.calls, 1);
        add(&mut self.failed, u64::from(used.failed));
        add(&mut self.contexts, u64::from(used.contexts));
        add(&mut self.tokens_in, used.usage.tokens_in());
        add(&mut self.tokens_cached, used.usage.cache_read);
        add(&mut self.tokens_out, used.usage.output);
        add(&mut self.estimated_calls, u64::from(used.usage.estimated));
        if let Some(micro) = used.micro_dollars {
            add(&mut self.micro_dollars, micro);
        } else {
            add(&mut self.unpriced_calls, 1);
            add(&mut self.unpriced_tokens, used.usage.tokens());
        }
    }

    fn include(&mut self, other: &Sums) {
        add(&mut self.calls, other.calls);
        add(&mut self.failed, other.failed);
        add(&mut self.contexts, other.contexts);
        add(&mut self.tokens_in, other.tokens_in);
        add(&mut self.tokens_cached, other.tokens_cached);
        add(&mut self.tokens_out, other.tokens_out);
        add(&mut self.estimated_calls, other.estimated_calls);
        add(&mut self.micro_dollars, other.micro_dollars);
        add(&mut self.unpriced_calls, other.unpriced_calls);
        add(&mut self.unpriced_tokens, other.unpriced_tokens);
        add(&mut self.unsettled_calls, other.unsettled_calls);
        add(&mut self.unsettled_micro_dollars, other.unsettled_micro_dollars);
    }
}

/// Changes the sums that a reserved call counts in.
fn each_reserved(sums: &mut Sums, entry: &Entry, change: fn(&mut u64, u64)) {
    change(&mut sums.calls, 1);
    change(&mut sums.unsettled_calls, 1);
    if let Some(micro) = entry.reserved {
        change(&mut sums.micro_dollars, micro);
        change(&mut sums.unsettled_micro_dollars, micro);
    } else {
        change(&mut sums.unpriced_calls, 1);
        change(&mut sums.unpriced_tokens, entry.tokens);
    }
}

/// Saturates: a file from elsewhere may hold any number.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn take(sum: &mut u64, less: u64) {
    *sum = sum.saturating_sub(less);
}
