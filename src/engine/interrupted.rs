//! What keeps a model from being asked, in words for the user.

use std::fmt;

use context::cost::dollars;
use provider::ledger::OverBudget;

/// Why a job was not carried out in full.
#[derive(Clone, Debug)]
pub(super) enum Interrupted {
    /// The note cannot be read now, or no longer holds what the job asks for.
    Changed,
    /// A limit of the budget.
    Budget(OverBudget),
    /// A context cannot be written to the disk, and waits in memory.
    Unkept(String),
    /// The provider: see [`provider::CompletionClient::health`].
    Provider(String),
    /// The model has given nothing that could be used for a long while; what the provider said last, if it refuses.
    Useless(Option<String>),
    /// Nothing more is sent, because the daemon ends or is configured anew, or because the contexts are not wanted any
    /// more.
    Draining,
}

impl Interrupted {
    /// Whether the budget of a rebuild is used up.
    pub(super) fn ends_rebuild(&self) -> bool {
        matches!(self, Interrupted::Budget(OverBudget::Rebuild { .. } | OverBudget::RebuildTokens { .. }))
    }

    /// Why a rebuild of contexts ends before all are bought, and what buys the rest alone. To rebuild again would buy
    /// what this run has bought once more, unless what is built (`of_generation`) lacks the rest.
    pub(super) fn end_of_rebuild(&self, of_generation: bool) -> String {
        let (used, key) = match self {
            Interrupted::Budget(refused @ OverBudget::Rebuild { .. }) => (used_up(refused), "budget.rebuild"),
            Interrupted::Budget(refused @ OverBudget::RebuildTokens { .. }) => {
                (used_up(refused), "budget.rebuild_tokens")
            }
            other => return other.to_string(),
        };
        if of_generation {
            format!("{used}; raise `{key}` and build it again, which buys the rest")
        } else {
            format!(
                "{used}; `situated contexts start --replace` buys the rest, within the budget of the day (to raise \
                 `{key}` and rebuild again buys all anew)"
            )
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interrupted::Changed => f.write_str("the note has changed"),
            Interrupted::Budget(refused) => f.write_str(&budget_message(refused)),
            Interrupted::Unkept(why) => write!(f, "a context could not be kept: {why}"),
            Interrupted::Provider(message) => f.write_str(message),
            Interrupted::Useless(Some(why)) => write!(
                f,
                "the provider refused the last questions, so it is left alone for a while; mend the cause and \
                 `situated resume`, or choose another model (`situated doctor --provider` tries it): {why}"
            ),
            Interrupted::Useless(None) => f.write_str(
                "nothing in the model's last answers could be used (`situated stats` says why), so it is left alone \
                 for a while; choose another model, or `situated resume`",
            ),
            Interrupted::Draining => {
                f.write_str("the daemon ends or is configured anew, or the contexts are not wanted any more")
            }
        }
    }
}

/// That the budget of a rebuild is used up. Nothing is reserved of it any more when it ends the rebuild.
fn used_up(refused: &OverBudget) -> String {
    match refused {
        OverBudget::Rebuild { limit, spent, needed } => format!(
            "the rebuild's budget ({}, {} spent) leaves too little for its next call, which may take {}",
            dollars(*limit),
            dollars(*spent),
            dollars(*needed)
        ),
        OverBudget::RebuildTokens { limit, spent, needed } => format!(
            "the rebuild's tokens ({limit}, {spent} used) leave too few for its next call, which may take {needed}"
        ),
        other => budget_message(other),
    }
}

/// What a limit of the budget means for the user.
pub(super) fn budget_message(refused: &OverBudget) -> String {
    match refused {
        OverBudget::Day { limit, needed, .. } if refused.never_fits() => format!(
            "one call about it may cost {}, more than `budget.day` allows ({}): raise that, or have less of a note shown \
             (`context.max_document_tokens`)",
            dollars(*needed),
            dollars(*limit)
        ),
        OverBudget::DayTokens { limit, needed, .. } if refused.never_fits() => format!(
            "one call about it may take {needed} tokens, more than `budget.day_tokens` allows ({limit}): raise that, or \
             have less of a note shown (`context.max_document_tokens`)"
        ),
        OverBudget::Day { limit: 0, .. } => "`budget.day` is 0, so nothing is asked for; raise that".to_owned(),
        OverBudget::DayTokens { limit: 0, .. } => "`budget.day_tokens` is 0, so nothing is asked of models of unknown \
                                                   price; raise that, or give the model's price in `[context.models]`"
            .to_owned(),
        OverBudget::Day { limit, spent, needed } => format!(
            "today's budget ({}, {} spent or reserved) leaves too little for the next call, which may take {}; it goes on \
             when calls have taken less than they might, or tomorrow, or raise `budget.day`",
            dollars(*limit),
            dollars(*spent),
            dollars(*needed)
        ),
        OverBudget::Rebuild { .. } => format!("{}; raise `budget.rebuild` and rebuild again", used_up(refused)),
        OverBudget::DayTokens { limit, spent, needed } => format!(
            "today's tokens for models of unknown price ({limit}, {spent} used or reserved) leave too few for the next \
             call, which may take {needed}; it goes on when calls have taken less than they might, or tomorrow, or \
             raise `budget.day_tokens`, or give the model's price in `[context.models]`"
        ),
        OverBudget::RebuildTokens { .. } => {
            format!("{}; raise `budget.rebuild_tokens` and rebuild again", used_up(refused))
        }
        OverBudget::Io(message) => message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuild_that_ends_names_what_buys_the_rest_alone() {
        for (refused, key) in [
            (OverBudget::Rebuild { limit: 100, spent: 90, needed: 20 }, "`budget.rebuild`"),
            (OverBudget::RebuildTokens { limit: 100, spent: 90, needed: 20 }, "`budget.rebuild_tokens`"),
        ] {
            let ended = Interrupted::Budget(refused);
            let (said, of_generation) = (ended.end_of_rebuild(false), ended.end_of_rebuild(true));
            assert!(
                said.contains("; `situated contexts start --replace` buys the rest") && said.contains(key),
                "{said}"
            );
            assert!(!of_generation.contains("--replace") && of_generation.contains(key), "{of_generation}");
        }
    }

    #[test]
    fn a_budget_says_used_up_and_tomorrow_only_where_that_is_so() {
        let day = |limit, spent| budget_message(&OverBudget::Day { limit, spent, needed: 100 });
        let tokens = |limit, spent| budget_message(&OverBudget::DayTokens { limit, spent, needed: 100 });
        for said in [day(1000, 950), tokens(1000, 950)] {
            assert!(said.contains("or reserved) leave") && said.contains("tomorrow"), "{said}");
        }
        for said in [day(0, 0), tokens(0, 0)] {
            assert!(said.contains(" is 0") && !said.contains("tomorrow"), "{said}");
        }
    }
}
