//! The terminal: keys in, frames out, and its modes restored at every end.

use std::{
    io::IsTerminal as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use interlock_core::command::{Answer, CommandKind};
use ratatui::DefaultTerminal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{
    look::Looker,
    model::{Act, Key, Look, Model, Selection, Waiting},
    view::{Looks, draw},
};
use crate::{
    app::App,
    authority,
    failure::{Done, Exit, Failure},
    live, review,
};

/// Longest wait for a key before new snapshots are handled.
const WAIT: Duration = Duration::from_millis(50);
/// Longest time that a signal may take to end the screen.
const HEED: Duration = Duration::from_secs(1);

/// Shows the runs until the person leaves.
pub(crate) fn watch(app: &App) -> Done {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::usage(anyhow::anyhow!(
            "`interlock watch` needs a terminal: `interlock runs` and `interlock log --follow` print lines"
        )));
    }
    let stopped = Arc::new(AtomicBool::new(false));
    end_by_signal(&stopped)?;
    let home = app.home()?;
    let (looks_in, looks) = channel();
    let (selected, selected_out) = channel();
    // The lines of the log are styled here: they must not contain colours.
    let plain = app.with(crate::output::Output::new(crate::args::Colour::Never));
    let plain = &plain;
    thread::scope(|scope| {
        scope.spawn(move || Looker::new(plain, home).run(&selected_out, &looks_in));
        // Sets up the terminal, and restores it at the end and in a panic.
        let mut terminal = ratatui::try_init()?;
        let screen = Screen {
            app,
            model: Model::default(),
            looks: Looks {
                colours: app.output.colours(),
            },
            news: looks,
            selected,
            stopped: &stopped,
        };
        let end = screen.run(&mut terminal);
        let restored = ratatui::try_restore();
        end.and_then(|()| Ok(restored?))
    })
}

/// Sets `stopped` on a signal, and ends the process itself if nothing reacts.
///
/// Reading keys from a terminal that is gone may never return.
fn end_by_signal(stopped: &Arc<AtomicBool>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let stopped = Arc::clone(stopped);
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_some() {
                stopped.store(true, Ordering::SeqCst);
                thread::sleep(HEED);
                // Still running.
                let _ = ratatui::try_restore();
                std::process::exit(i32::from(Exit::Cancelled.code()));
            }
        })?;
    Ok(())
}

struct Screen<'a> {
    app: &'a App,
    model: Model,
    looks: Looks,
    news: Receiver<Look>,
    selected: Sender<Selection>,
    stopped: &'a AtomicBool,
}

impl Screen<'_> {
    fn run(mut self, terminal: &mut DefaultTerminal) -> Done {
        let mut known = Selection::default();
        loop {
            terminal.draw(|frame| draw(frame, &self.model, self.looks))?;
            if self.stopped.load(Ordering::SeqCst) {
                return Err(Failure::Said(Exit::Cancelled));
            }
            if let Some(act) = self.next_key()?.and_then(|key| self.model.press(key)) {
                match act {
                    Act::Quit => return Ok(()),
                    Act::Interrupt => return Err(Failure::Said(Exit::Cancelled)),
                    Act::Approve(asked) => self.answer(&asked, true, None),
                    Act::Reject(asked, note) => self.answer(&asked, false, note),
                }
            }
            if let Some(look) = self.news.try_iter().last() {
                self.model.see(look);
            }
            let wanted = self.model.wanted();
            if known != wanted {
                known = wanted;
                // The reader is gone only when this is about to end.
                let _ = self.selected.send(known.clone());
            }
        }
    }

    fn next_key(&self) -> Result<Option<Key>, Failure> {
        if !event::poll(WAIT)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => key(pressed),
            // The next frame uses the new size.
            _ => None,
        })
    }

    /// Gives a person's answer; its outcome is shown at the bottom.
    fn answer(&mut self, asked: &Waiting, yes: bool, note: Option<String>) {
        let said = match give(self.app, asked, yes, note) {
            Ok(said) => said,
            Err(Failure::Error(_, error)) => error.to_string(),
            Err(Failure::Said(_)) => "it could not be answered".to_owned(),
        };
        self.model.said = Some(said);
    }
}

fn give(app: &App, asked: &Waiting, yes: bool, note: Option<String>) -> Result<String, Failure> {
    // Checked again for each answer: the process may by now be below an agent.
    let mut live = live::open(app, Some(asked.run.as_str()))?;
    let by = authority::person(app, Some(&live.run.id))?;
    let pending = &asked.pending;
    let answer = Answer {
        by,
        note,
        path: Some(pending.id().to_string()),
        ..Answer::default()
    };
    let ask = if yes {
        CommandKind::Approve(answer)
    } else {
        CommandKind::Reject(answer)
    };
    let before = live.run.clone();
    let decision = live.ask(ask)?;
    let (ok, code, message) = live::reply(&decision.reply);
    let word = if yes { "approved" } else { "denied" };
    Ok(if ok {
        let meant = std::slice::from_ref(pending);
        let seen = (&live.machine, &before);
        let said = review::answered(word, seen, meant, &decision.events);
        said.first().cloned().unwrap_or_else(|| word.to_owned())
    } else {
        format!("refused ({}): {message}", code.unwrap_or_default())
    })
}

fn key(pressed: KeyEvent) -> Option<Key> {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    let alt = pressed.modifiers.contains(KeyModifiers::ALT);
    Some(match pressed.code {
        KeyCode::Char('c' | 'd') if control => Key::Interrupt,
        KeyCode::Char(_) if control || alt => return None,
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab | KeyCode::Right => Key::Tab,
        KeyCode::BackTab | KeyCode::Left => Key::BackTab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
