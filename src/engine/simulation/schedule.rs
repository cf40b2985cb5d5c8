//! What happens, and when: all of it follows from the seed.

use std::fmt;
use std::time::Duration;

use super::dice::Dice;
use super::disk::Loss;
use super::model::Mood;

/// Something that happens from outside.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Create,
    Edit,
    Rename,
    /// A note has another name, and another note has the one that it had.
    Replace,
    Delete,
    Switch,
    Truncate,
    Touch,
    ChangePrivacy,
    /// The provider changes its ways.
    Mood(Mood),
    /// Micro-dollars per day from now on.
    Budget(u64),
    /// After so many effects more, everything that is not on the disk is lost.
    Die(Loss, u32),
    /// A clean stop and a start.
    Restart,
    /// Another indexer takes the vault over.
    HandOver,
    /// Somebody asks for a look at everything.
    Sync,
    /// The clock on the wall is set, by so many seconds.
    Jump(i64),
    Pause,
    Resume,
    /// Everything is to be made anew.
    Rebuild,
    /// The same, as a batch.
    RebuildByBatch,
    /// Micro-dollars per rebuild from now on.
    RebuildBudget(u64),
    /// Rebuilds are cancelled.
    Cancel,
    /// Another provider is asked, which has no batches, or the first one again.
    Provider,
    /// Contexts that should be better are to be made anew.
    Refresh,
    /// Another embedder makes the vectors from now on: the one of a provider, or the built-in one.
    Embedder(bool),
}

/// How the file system tells of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    AtOnce,
    Late(u64),
    Twice,
    /// Not at all; later it tells that something was lost.
    Lost,
}

/// An action, how long it comes after the one before, and how it is told of.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) after: Duration,
    pub(super) action: Action,
    pub(super) telling: Telling,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:?} {:?} ({:?})", self.after, self.action, self.telling)
    }
}

/// A whole schedule.
pub(super) struct Schedule {
    pub(super) notes: usize,
    /// Whether a model writes contexts.
    pub(super) costs: bool,
    /// Whether that model has a batch interface, and how many questions a batch takes.
    pub(super) batches: bool,
    pub(super) most: usize,
    pub(super) concurrency: usize,
    /// When it begins, milliseconds since 1970.
    pub(super) wall: i64,
    pub(super) steps: Vec<Step>,
}

/// Daily budgets, micro-dollars: a call of the simulated model may take some hundreds.
const BUDGETS: &[u64] = &[0, 300, 1_500, 6_000, 1_000_000];

/// From this seed on more can happen: the seeds before keep the schedules that once found a fault.
pub(super) const MORE: u64 = 20_000;

/// From this seed on a provider has batches too.
pub(super) const BATCHES: u64 = 40_000;

impl Schedule {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let batches = seed >= BATCHES;
        let costs = dice.percent(80) || batches;
        let steps = 6 + dice.below(14);
        let more = seed >= MORE;
        Schedule {
            notes: 2 + dice.below(5),
            costs,
            batches,
            most: if batches { 1 + dice.below(30) } else { 0 },
            concurrency: 1 + dice.below(4),
            // Any time of day, so that midnight is passed now and then.
            wall: 1_790_000_000_000 + (dice.next() % 86_400_000) as i64,
            steps: (0..steps).map(|_| step(&mut dice, costs, more, batches)).collect(),
        }
    }
}

fn step(dice: &mut Dice, costs: bool, more: bool, batches: bool) -> Step {
    let after = match dice.below(6) {
        0 => Duration::ZERO,
        1 => Duration::from_millis(dice.below(120) as u64),
        2 | 3 => Duration::from_millis(dice.below(3_000) as u64),
        4 => Duration::from_secs(dice.below(60) as u64),
        _ => Duration::from_secs(dice.below(1_800) as u64),
    };
    let telling = match dice.below(10) {
        0 => Telling::Late(dice.below(5_000) as u64),
        1 => Telling::Twice,
        2 => Telling::Lost,
        _ => Telling::AtOnce,
    };
    let by_batch = batches && dice.percent(25);
    let action = if by_batch { about_batches(dice) } else { action(dice, costs, more) };
    Step { after, action, telling }
}

fn about_batches(dice: &mut Dice) -> Action {
    match dice.below(10) {
        0..6 => Action::RebuildByBatch,
        6..8 => Action::Cancel,
        8 => Action::Provider,
        _ => Action::RebuildBudget(*dice.pick(BUDGETS)),
    }
}

fn action(dice: &mut Dice, costs: bool, more: bool) -> Action {
    if more && dice.percent(15) {
        return if dice.percent(50) { Action::HandOver } else { Action::Replace };
    }
    match dice.below(100) {
        0..8 => Action::Create,
        8..34 => Action::Edit,
        34..40 => Action::Rename,
        40..44 => Action::Delete,
        44..48 => Action::Switch,
        48..51 => Action::Truncate,
        51..53 => Action::Touch,
        53..57 => Action::ChangePrivacy,
        57..70 if costs => Action::Mood(*dice.pick(&Mood::ALL)),
        70..76 if costs => Action::Budget(*dice.pick(BUDGETS)),
        76..86 => Action::Die(if dice.percent(50) { Loss::Kill } else { Loss::Power }, dice.below(40) as u32),
        86..90 => Action::Restart,
        90..93 => Action::Sync,
        93..95 => Action::Jump(dice.below(200_000) as i64 - 50_000),
        95..96 => Action::Pause,
        96..97 => Action::Resume,
        97 => Action::Embedder(dice.percent(60)),
        98 => Action::Rebuild,
        99 => Action::Refresh,
        _ => Action::Edit,
    }
}
