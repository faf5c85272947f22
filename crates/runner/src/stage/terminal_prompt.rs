//! The terminal as a channel: one request after the other, in order of arrival.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use crate::{
    people::{Typed, choose},
    screen::Screen,
};
use interlock_process::{Cancel, Stop, Terminal};

use super::channel::{Answers, Channel, ChannelAnswer, Open, PersonRequest};

/// A channel that asks a person at the terminal.
///
/// Requests are queued; input typed before a question is shown does not answer it.
pub struct TerminalPrompt {
    shared: Arc<Shared>,
}

struct Shared {
    terminal: Arc<Terminal>,
    screen: Arc<dyn Screen>,
    /// Name of the person in the log.
    by: String,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Request>,
    /// Whether a thread serves it.
    served: bool,
}

struct Request {
    wanted: PersonRequest,
    answers: Answers,
    cancel: Cancel,
    /// Why it was withdrawn.
    withdrawn: Arc<Mutex<Option<String>>>,
}

impl TerminalPrompt {
    /// Creates a channel on `terminal`; answers count as those of `by`.
    #[must_use]
    pub fn new(terminal: Arc<Terminal>, screen: Arc<dyn Screen>, by: String) -> Self {
        Self {
            shared: Arc::new(Shared {
                terminal,
                screen,
                by,
                queue: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }
}

impl Channel for TerminalPrompt {
    fn ask(&self, wanted: PersonRequest, answers: Answers) -> Box<dyn Open> {
        let withdrawn = Arc::new(Mutex::new(None));
        let cancel = match Cancel::new() {
            Ok(cancel) => cancel,
            Err(_) => {
                answers.say(ChannelAnswer::Broken);
                return Box::new(Ticket {
                    cancel: None,
                    withdrawn,
                });
            }
        };
        let request = Request {
            wanted,
            answers,
            cancel: cancel.clone(),
            withdrawn: Arc::clone(&withdrawn),
        };
        self.shared.take(request);
        Box::new(Ticket {
            cancel: Some(cancel),
            withdrawn,
        })
    }
}

/// A request at the terminal.
struct Ticket {
    cancel: Option<Cancel>,
    withdrawn: Arc<Mutex<Option<String>>>,
}

impl Open for Ticket {
    fn withdraw(self: Box<Self>, why: &str) {
        let mut withdrawn = self
            .withdrawn
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *withdrawn = Some(why.to_owned());
        drop(withdrawn);
        if let Some(cancel) = &self.cancel {
            cancel.stop(Stop::Gently);
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request, and starts a thread if none serves the queue.
    fn take(self: &Arc<Self>, request: Request) {
        let mut queue = self.queue();
        queue.waiting.push_back(request);
        self.changed.notify_all();
        if queue.served {
            return;
        }
        let shared = Arc::clone(self);
        let begun = thread::Builder::new()
            .name("desk".to_owned())
            .spawn(move || shared.serve());
        match begun {
            Ok(_) => queue.served = true,
            Err(_) => {
                for request in queue.waiting.drain(..) {
                    request.answers.say(ChannelAnswer::Broken);
                }
            }
        }
    }

    fn serve(&self) {
        loop {
            let mut queue = self.queue();
            let Some(request) = queue.waiting.pop_front() else {
                queue.served = false;
                return;
            };
            drop(queue);
            self.put(&request);
        }
    }

    /// Asks one request, unless it was withdrawn.
    fn put(&self, request: &Request) {
        if request.cancel.is_cancelled() {
            return;
        }
        let PersonRequest {
            id,
            path,
            tool,
            text,
            passkey,
        } = &request.wanted;
        let head = if tool.is_empty() {
            format!("\n`{path}` asks ({id}): {text}\n")
        } else {
            format!("\n`{path}` wants to call `{tool}`, which it does not list ({id}):\n{text}\n")
        };
        let (head, words) = if *passkey {
            let how = "A yes takes a passkey, on the page that `interlock console` opens.";
            (format!("{head}{how}\n"), "[n]o, [d]efer > ")
        } else {
            (head, "[y]es, [n]o, [d]efer > ")
        };
        self.screen.asking(path, true);
        let said = choose(
            &self.terminal,
            self.screen.as_ref(),
            &request.cancel,
            path,
            &head,
            words,
            |typed| {
                let said = self.meant(typed);
                said.filter(|said| !(*passkey && matches!(said, ChannelAnswer::Yes { .. })))
            },
        );
        match said {
            Typed::Text(said) => request.answers.say(said),
            Typed::End => request.answers.say(ChannelAnswer::Broken),
            Typed::Stopped => {
                let why = request
                    .withdrawn
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                if let Some(why) = why {
                    self.screen.ask(path, &format!("\n({id}: {why})\n"));
                }
            }
        }
        self.screen.asking(path, false);
    }

    /// Interprets a person's input; `None` if it is not an answer.
    fn meant(&self, typed: &str) -> Option<ChannelAnswer> {
        let typed = typed.trim();
        let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let note = Some(rest.trim().to_owned()).filter(|note| !note.is_empty());
        match word.to_lowercase().as_str() {
            "y" | "yes" if note.is_none() => Some(ChannelAnswer::Yes {
                by: self.by.clone(),
            }),
            "n" | "no" => Some(ChannelAnswer::No {
                by: self.by.clone(),
                note,
            }),
            "d" | "defer" if note.is_none() => Some(ChannelAnswer::Later),
            _ => None,
        }
    }
}

impl fmt::Debug for TerminalPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("by", &self.shared.by)
            .finish_non_exhaustive()
    }
}
