//! The live search as a state machine: inputs come in, effects go out. It knows no terminal, no socket and no clock.

use ratatui::crossterm::event::KeyEvent;

use super::keys::{Action, action};
use super::line::Line;
use super::requests::{Ask, Requests, Slot, What};
use protocol::decision::Reason;
use protocol::events::Notice;
use protocol::hit::Hit;
use protocol::jobs::Job;
use protocol::search::{Mode, SearchAnswer};
use protocol::status::{RunState as Daemon, Status};

/// Most notes near the selected hit that are listed beside the preview.
const NEAR: usize = 6;

/// Most notes in the list of those near a hit.
const NEAR_LIST: usize = 30;

/// What comes in.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A key.
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// The terminal has another size, or another program has used it: draw.
    Resized,
    /// An answer, or why the daemon refused the question.
    Answer(u64, Result<Box<SearchAnswer>, String>),
    /// The daemon answers.
    There(Box<Arrival>),
    /// It does not; why, and what to do.
    Away(String),
    /// The daemon sent a notice.
    Notice(Box<Notice>),
    /// A message to show below the list.
    Say(String),
    /// The process should end.
    End,
}

/// What is known of a daemon that has just been reached.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arrival {
    /// Its answer to `status`.
    pub status: Status,
    /// A job that runs.
    pub job: Option<Job>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Ask the daemon.
    Ask(Ask),
    /// Open a hit, in Obsidian or as the configuration says.
    Open {
        /// Which.
        hit: Box<Hit>,
        /// Whether in Obsidian.
        obsidian: bool,
    },
    /// Redraw everything.
    Redraw,
    /// Leave; and print where this hit is.
    Leave(Option<Box<Hit>>),
}

/// How the daemon is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Link {
    /// It is being looked for.
    #[default]
    Looking,
    /// No daemon answers: why, and what to do.
    Away(String),
    /// It answers.
    There {
        /// The daemon's state.
        daemon: Daemon,
        /// Name and notes of each vault.
        vaults: Vec<(String, u64)>,
    },
}

/// Hits, and what was said about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct List {
    /// The answer.
    pub answer: SearchAnswer,
    /// The selected hit.
    pub selected: usize,
}

/// Which pane the keys go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    /// The list of hits.
    #[default]
    List,
    /// The preview.
    Preview,
}

/// What the last drawing measured; see [`super::view::draw`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Measures {
    /// Hits that fit.
    pub page: usize,
    /// The first hit that is shown.
    pub top: usize,
    /// Lines of the preview that fit.
    pub preview_page: usize,
    /// Lines of the preview in all.
    pub preview_rows: usize,
    /// The first one that is shown.
    pub preview_top: usize,
}

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// What is typed.
    pub query: Line,
    /// Which lanes answer.
    pub mode: Mode,
    /// The vault that is searched; all for `None`.
    pub vault: Option<String>,
    /// How the daemon is.
    pub link: Link,
    /// A job that runs.
    pub job: Option<Job>,
    /// What was found.
    pub list: List,
    /// Why the daemon refused the query.
    pub failure: Option<String>,
    /// The hit whose neighbours are listed, with the list before it.
    pub near: Option<(Box<Hit>, List)>,
    /// What is near the selected hit.
    pub side: Vec<Hit>,
    /// Which pane the keys go to.
    pub pane: Pane,
    /// Whether the preview is hidden.
    pub preview_hidden: bool,
    /// The first line of the preview; `None` shows where something was found.
    pub scroll: Option<usize>,
    /// Whether the keys are shown.
    pub help: bool,
    /// A message to show until the next key.
    pub said: Option<String>,
    /// From the last drawing.
    pub measures: Measures,
    requests: Requests,
    /// Effects of the input that is being handled.
    effects: Vec<Effect>,
    /// The request for the list is a refresh of the list that is shown.
    again: bool,
    /// The index has changed since the list was asked for, so the answer that is on its way may not include the change.
    behind: bool,
}

impl State {
    /// The selected hit.
    pub(super) fn selected(&self) -> Option<&Hit> {
        self.list.answer.hits.get(self.list.selected)
    }

    /// Whether an answer for the list is on its way.
    pub(super) fn is_waiting(&self) -> bool {
        self.requests.is_waiting()
    }

    /// Whether several vaults are searched, or teams beside the only one, so that hits name theirs.
    pub(super) fn several_vaults(&self) -> bool {
        let Link::There { vaults, .. } = &self.link else { return false };
        let is_here = |hit: &Hit| vaults.iter().any(|(name, _)| *name == hit.vault);
        self.vault.is_none() && (vaults.len() > 1 || !self.list.answer.hits.iter().all(is_here))
    }

    /// Handles an input; returns its effects.
    pub(super) fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) => {
                if let Some(action) = action(key, self.query.text().is_empty()) {
                    self.act(action);
                }
            }
            Input::Paste(text) => {
                self.said = None;
                let typed = self.query.insert(&text);
                self.typed(typed);
            }
            Input::Resized => {}
            Input::Answer(number, outcome) => self.answered(number, outcome),
            Input::There(arrival) => self.arrived(*arrival),
            Input::Away(why) => (self.link, self.job) = (Link::Away(why), None),
            Input::Notice(notice) => self.told(*notice),
            Input::Say(text) => self.said = Some(text),
            Input::End => self.effects.push(Effect::Leave(None)),
        }
        std::mem::take(&mut self.effects)
    }

    fn act(&mut self, action: Action) {
        self.said = None;
        if self.help && !matches!(action, Action::Leave | Action::Redraw) {
            match action {
                Action::Step(by) | Action::Scroll(by) => self.scroll(by),
                Action::Page(by) => self.scroll(by * self.measures.preview_page.max(1) as isize),
                _ => (self.help, self.scroll) = (false, None),
            }
            return;
        }
        match action {
            Action::Type(c) => {
                let typed = self.query.insert(c.encode_utf8(&mut [0; 4]));
                self.typed(typed);
            }
            Action::Remove(to) => {
                let typed = self.query.remove(to);
                self.typed(typed);
            }
            Action::Go(to) => self.query.go(to),
            Action::Step(by) if self.pane == Pane::Preview => self.scroll(by),
            Action::Page(by) if self.pane == Pane::Preview => {
                self.scroll(by * self.measures.preview_page.max(1) as isize);
            }
            Action::Step(by) => self.step(by),
            Action::Page(by) => self.step(by * self.measures.page.max(1) as isize),
            Action::Scroll(by) => self.scroll(by),
            Action::Switch => {
                self.pane = if self.pane == Pane::List { Pane::Preview } else { Pane::List };
                self.preview_hidden &= self.pane == Pane::List;
            }
            Action::Preview => (self.preview_hidden, self.pane) = (!self.preview_hidden, Pane::List),
            Action::Related if self.near.is_none() => self.list_near(),
            Action::Mode => {
                self.mode = match self.mode {
                    Mode::Hybrid => Mode::Lexical,
                    Mode::Lexical => Mode::Dense,
                    Mode::Dense => Mode::Hybrid,
                };
                self.typed(true);
            }
            Action::Vault => self.next_vault(),
            Action::Open | Action::Obsidian => {
                let obsidian = action == Action::Obsidian;
                let hit = self.selected().cloned().map(Box::new);
                self.effects.extend(hit.map(|hit| Effect::Open { hit, obsidian }));
            }
            Action::Take => {
                let hit = self.selected().cloned().map(Box::new);
                self.effects.extend(hit.map(|hit| Effect::Leave(Some(hit))));
            }
            Action::Help => (self.help, self.scroll) = (true, Some(0)),
            Action::Redraw => self.effects.push(Effect::Redraw),
            Action::Related => self.back_to_results(),
            Action::Back if self.near.is_some() => self.back_to_results(),
            Action::Back | Action::Leave => self.effects.push(Effect::Leave(None)),
        }
    }

    /// Handles a change of the query, its mode or its vault.
    fn typed(&mut self, changed: bool) {
        if !changed {
            return;
        }
        if let Some((_, before)) = self.near.take() {
            self.list = before;
        }
        self.pane = Pane::List;
        self.ask(false);
    }

    /// Asks for what the list should show; `again` if that is what it shows already.
    fn ask(&mut self, again: bool) {
        (self.again, self.behind) = (again, false);
        let what = if let Some((hit, _)) = &self.near {
            What::Related { chunk: hit.chunk.clone(), vault: hit.vault.clone(), limit: NEAR_LIST }
        } else if self.query.text().trim().is_empty() {
            self.requests.forget(Slot::List);
            self.requests.forget(Slot::Side);
            self.list = List::default();
            self.side.clear();
            self.failure = None;
            return;
        } else {
            let query = self.query.text().trim_start().to_owned();
            What::Search { query, mode: self.mode, vault: self.vault.clone() }
        };
        self.effects.extend(self.requests.want(Slot::List, what).map(Effect::Ask));
    }

    /// Asks once more for what is shown: the index has moved on, or the daemon is back.
    fn refresh(&mut self) {
        if !matches!(self.link, Link::There { .. }) {
            return;
        }
        if self.requests.is_waiting() {
            self.behind = true;
            return;
        }
        self.ask(true);
    }

    fn answered(&mut self, number: u64, outcome: Result<Box<SearchAnswer>, String>) {
        let (slot, next) = self.requests.landed(number);
        self.effects.extend(next.map(Effect::Ask));
        match (slot, outcome) {
            (Some(Slot::List), Ok(answer)) => {
                self.failure = None;
                self.show(*answer);
                if self.behind { self.refresh() } else { self.look_around() }
            }
            // The passage has changed, and its neighbours with it.
            (Some(Slot::List), Err(_)) if self.again && self.near.is_some() => {
                self.said = Some("that passage has changed: these are the results".to_owned());
                self.back_to_results();
            }
            // A daemon that went away with the request may be back already.
            (Some(Slot::List), Err(_)) if self.behind => self.refresh(),
            (Some(Slot::List), Err(why)) => {
                self.failure = Some(why);
                self.list = List::default();
                self.side.clear();
            }
            (Some(Slot::Side), Ok(answer)) => self.side = answer.hits,
            (Some(Slot::Side), Err(_)) => self.side.clear(),
            (None, _) => {}
        }
    }

    /// Replaces the list by an answer. When that refreshes the same list, the hit that the user moved to stays
    /// selected; if the user has not moved, the best one is.
    fn show(&mut self, answer: SearchAnswer) {
        let same = |hit: &Hit, other: &Hit| hit.vault == other.vault && hit.chunk == other.chunk;
        let stays = self
            .selected()
            .filter(|_| self.again)
            .and_then(|selected| answer.hits.iter().position(|hit| same(hit, selected)))
            .filter(|at| self.list.selected > 0 || *at == 0);
        if stays.is_none() {
            (self.scroll, self.measures.top) = (None, 0);
        }
        self.list = List { answer, selected: stays.unwrap_or(0) };
    }

    /// Asks for what is near the selected hit.
    fn look_around(&mut self) {
        let Some(hit) = self.selected() else {
            self.side.clear();
            self.requests.forget(Slot::Side);
            return;
        };
        let what = What::Related { chunk: hit.chunk.clone(), vault: hit.vault.clone(), limit: NEAR };
        self.effects.extend(self.requests.want(Slot::Side, what).map(Effect::Ask));
    }

    fn step(&mut self, by: isize) {
        let last = self.list.answer.hits.len().saturating_sub(1);
        let selected = self.list.selected.saturating_add_signed(by).min(last);
        if selected != self.list.selected {
            self.list.selected = selected;
            self.scroll = None;
            self.side.clear();
            self.look_around();
        }
    }

    fn scroll(&mut self, by: isize) {
        let Measures { preview_rows, preview_page, preview_top, .. } = self.measures;
        let last = preview_rows.saturating_sub(preview_page);
        self.scroll = Some(preview_top.saturating_add_signed(by).min(last));
        // Several keys may come between two drawings.
        self.measures.preview_top = self.scroll.unwrap_or_default();
    }

    fn list_near(&mut self) {
        let Some(hit) = self.selected().cloned() else { return };
        let before = std::mem::take(&mut self.list);
        self.near = Some((Box::new(hit), before));
        self.side.clear();
        self.scroll = None;
        self.pane = Pane::List;
        self.ask(false);
    }

    fn back_to_results(&mut self) {
        if let Some((_, before)) = self.near.take() {
            self.list = before;
        }
        self.failure = None;
        self.side.clear();
        self.scroll = None;
        // The index may have moved on meanwhile.
        self.ask(true);
        self.look_around();
    }

    fn next_vault(&mut self) {
        let Link::There { vaults, .. } = &self.link else { return };
        if vaults.len() < 2 {
            self.said = Some("there is one vault".to_owned());
            return;
        }
        let next = match &self.vault {
            None => 0,
            Some(name) => vaults.iter().position(|(other, _)| other == name).map_or(0, |at| at + 1),
        };
        self.vault = vaults.get(next).map(|(name, _)| name.clone());
        self.typed(true);
    }

    fn arrived(&mut self, arrival: Arrival) {
        let Arrival { status, job } = arrival;
        let vaults: Vec<(String, u64)> = status.vaults.iter().map(|vault| (vault.name.clone(), vault.notes)).collect();
        // A daemon that was restarted may serve other vaults.
        self.vault = self.vault.take().filter(|name| vaults.iter().any(|(other, _)| other == name));
        self.link = Link::There { daemon: status.state, vaults };
        self.job = job;
        self.refresh();
    }

    /// Something in a vault has changed, which may be one that is searched.
    fn changed(&mut self, vault: &str) {
        if self.vault.as_ref().is_none_or(|searched| searched == vault) {
            self.refresh();
        }
    }

    fn told(&mut self, notice: Notice) {
        let Link::There { vaults, .. } = &mut self.link else { return };
        match notice {
            // Then the daemon was asked again, and the answer is an arrival.
            Notice::State { .. } => {}
            Notice::Job { job } => self.job = Some(*job).filter(|job| job.is_running()),
            Notice::Index { vault, notes, .. } => {
                if let Some((_, count)) = vaults.iter_mut().find(|(name, _)| *name == vault) {
                    *count = notes;
                }
                self.changed(&vault);
            }
            // The daemon reports a lone save as a decision only.
            Notice::Decision(decision) => {
                if let Some((_, count)) = vaults.iter_mut().find(|(name, _)| *name == decision.vault) {
                    match decision.reason {
                        Reason::NewNote => *count += 1,
                        Reason::NoteRemoved => *count = count.saturating_sub(1),
                        _ => {}
                    }
                }
                self.changed(&decision.vault);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
