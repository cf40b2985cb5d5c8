//! `situated` alone on a terminal: a live search. [`state`] is a state machine that knows neither terminal nor socket,
//! [`view`] draws it, and this module connects both to terminal and daemon.

mod keys;
mod line;
mod requests;
mod screen;
mod state;
mod threads;
mod view;

use std::io::IsTerminal as _;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

use super::exit;
use super::open;
use super::print::now;
use super::session::{CliFailure, Session};
use super::target::Served;
use crate::daemon::config::Opener;
use protocol::hit::Hit;
use requests::Ask;
use screen::Screen;
use state::{Effect, Input, State};
use view::Theme;

/// Most inputs that are handled before the next drawing, when many come at once.
const BATCH: usize = 32;

/// Whether a live search can be shown: input and output are a terminal that can do more than print.
pub(super) fn is_possible() -> bool {
    let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb" && !term.is_empty());
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && able
}

/// `situated`.
pub(super) fn run(session: &mut Session) -> Result<u8, CliFailure> {
    if !is_possible() {
        return Err(CliFailure::usage(
            "a live search needs a terminal to type at and to draw on; `situated search WORDS` prints",
        ));
    }
    let discovery = session.discovery();
    let (to, inputs) = channel();
    let (asks, asked) = channel();
    threads::signals(to.clone())?;
    threads::asker(discovery.clone(), asked, to.clone())?;
    let screen = Screen::enter()?;
    threads::news(discovery, session.overrides(), to.clone())?;
    let dealt_with = threads::keys(to.clone())?;
    let mut live = Live {
        state: State::default(),
        screen,
        theme: Theme { plain: session.globals.color.is_plain() },
        inputs,
        to,
        asks,
        dealt_with,
        served: Served::default(),
        opener: session.opener(),
    };
    let end = live.run();
    let served = std::mem::take(&mut live.served);
    // The screen is given back before anything is printed.
    drop(live);
    match end {
        Ok(End { taken: Some(hit), .. }) => {
            let unplaced = || format!("{}:{}", hit.path, hit.best_line());
            let place = served.place(&hit).map_or_else(unplaced, |place| place.seen_from_here());
            session.out.line(super::print::printable(&place))?;
            Ok(exit::OK)
        }
        Ok(End { by_signal: true, .. }) => Ok(exit::TERMINATED),
        Ok(_) => Ok(exit::OK),
        // The terminal is gone, so the failure cannot be shown.
        Err(error) if cfg!(unix) && error.raw_os_error() == Some(IO_ERROR) => Err(CliFailure::Quiet),
        Err(error) => Err(error.into()),
    }
}

/// `EIO`: the error that Unix reports for a terminal that is gone.
const IO_ERROR: i32 = 5;

/// How the live search ended.
#[derive(Default)]
struct End {
    /// The hit whose place is to be printed.
    taken: Option<Box<Hit>>,
    /// Whether a signal ended it, or the terminal is gone.
    by_signal: bool,
}

struct Live {
    state: State,
    screen: Screen,
    theme: Theme,
    inputs: Receiver<Input>,
    to: Sender<Input>,
    asks: Sender<Ask>,
    dealt_with: SyncSender<()>,
    served: Served,
    opener: Opener,
}

impl Live {
    /// Waits for input, handles it and draws, until the user leaves.
    fn run(&mut self) -> std::io::Result<End> {
        self.draw()?;
        while let Ok(first) = self.inputs.recv() {
            let mut next = Some(first);
            for _ in 0..BATCH {
                let Some(input) = next else { break };
                if let Some(end) = self.deal_with(input)? {
                    return Ok(end);
                }
                next = self.inputs.try_recv().ok();
            }
            if let Some(input) = next
                && let Some(end) = self.deal_with(input)?
            {
                return Ok(end);
            }
            self.draw()?;
        }
        Ok(End::default())
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let Live { state, screen, theme, .. } = self;
        let mut measures = None;
        screen.draw(|frame| measures = Some(view::draw(state, *theme, now(), frame)))?;
        state.measures = measures.unwrap_or_default();
        Ok(())
    }

    fn deal_with(&mut self, input: Input) -> std::io::Result<Option<End>> {
        let typed = matches!(input, Input::Key(_) | Input::Paste(_) | Input::Resized);
        let by_signal = matches!(input, Input::End);
        if let Input::There(arrival) = &input {
            let vaults = arrival.status.vaults.iter();
            self.served = Served::new(vaults.map(|vault| (vault.name.clone(), vault.path.clone())));
        }
        for effect in self.state.handle(input) {
            match effect {
                // The asker lives as long as the process.
                Effect::Ask(ask) => drop(self.asks.send(ask)),
                Effect::Redraw => self.screen.clear()?,
                Effect::Leave(taken) => return Ok(Some(End { taken, by_signal })),
                Effect::Open { hit, obsidian } => self.open(&hit, obsidian)?,
            }
        }
        if typed {
            let _ = self.dealt_with.try_send(());
        }
        Ok(None)
    }

    fn open(&mut self, hit: &Hit, obsidian: bool) -> std::io::Result<()> {
        let Some(place) = self.served.place(hit) else {
            self.say(if open::is_of_team(hit) {
                open::of_team(hit)
            } else {
                "where this vault lies is not known".to_owned()
            });
            return Ok(());
        };
        let opener = if obsidian { &Opener::Obsidian } else { &self.opener };
        let outcome = if *opener == Opener::Obsidian {
            open::in_obsidian(&place).map(|()| "opened in Obsidian".to_owned())
        } else {
            self.screen.lend(|| open::open(&place, opener))?.map(|()| String::new())
        };
        match outcome {
            Ok(said) if said.is_empty() => {}
            Ok(said) | Err(said) => self.say(said),
        }
        Ok(())
    }

    fn say(&self, text: String) {
        let _ = self.to.send(Input::Say(text));
    }
}
