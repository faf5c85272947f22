//! Who governs a session, asked in order and where waiting for the disk stalls nobody.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
    task::block_in_place,
};

use crate::govern::{
    CallEnd, GatewayCall, Govern, ListedTool, NotRead, OwnCall, PersonSaid, Reading, Ruling, Ticket,
};

type Job = Box<dyn FnOnce(&mut dyn Govern) + Send>;
/// Makes who governs, at the first question.
pub(crate) type Appoint = Box<dyn FnOnce() -> Box<dyn Govern> + Send>;

/// Who governs a session.
#[derive(Clone)]
pub(crate) struct Office {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    govern: Mutex<Post>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether a thread works on them.
    served: bool,
}

struct Post {
    appoint: Option<Appoint>,
    held: Option<Box<dyn Govern>>,
}

impl fmt::Debug for Office {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Office")
    }
}

impl Office {
    pub(crate) fn new(appoint: Appoint) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::default(),
                govern: Mutex::new(Post {
                    appoint: Some(appoint),
                    held: None,
                }),
            }),
        }
    }

    /// Asks in its turn; `None`: there was no answer, which is no permission.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn Govern) -> R + Send + 'static,
    ) -> Option<R> {
        if can_stay() && self.shared.is_free() {
            // Nobody is before it: without a way to another thread and back.
            return block_in_place(|| self.shared.serve_one(question));
        }
        let (answer, answered) = oneshot::channel();
        self.tell(move |govern| {
            answer.send(question(govern)).ok();
        });
        answered.await.ok()
    }

    /// Tells in its turn; nobody waits for it.
    pub(crate) fn tell(&self, job: impl FnOnce(&mut dyn Govern) + Send + 'static) {
        let mut queue = lock(&self.shared.queue);
        queue.jobs.push_back(Box::new(job));
        if queue.served {
            return;
        }
        queue.served = true;
        drop(queue);
        self.shared.serve_elsewhere();
    }
}

/// Tells whether a thread of the runtime may wait for the disk while others do its work.
fn can_stay() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Shared {
    /// Takes the place of who works on the queue, where nobody does.
    fn is_free(&self) -> bool {
        let mut queue = lock(&self.queue);
        !std::mem::replace(&mut queue.served, true)
    }

    /// Asks at once, and leaves to another thread what came meanwhile.
    fn serve_one<R>(self: &Arc<Self>, question: impl FnOnce(&mut dyn Govern) -> R) -> Option<R> {
        let answer = lock(&self.govern).ask(question);
        let mut queue = lock(&self.queue);
        queue.served = !queue.jobs.is_empty();
        if queue.served {
            drop(queue);
            self.serve_elsewhere();
        }
        answer
    }

    fn serve_elsewhere(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || shared.serve())),
            // The runtime is gone, and with it who could wait: what ended must still be told.
            Err(_) => shared.serve(),
        }
    }

    fn serve(&self) {
        let mut post = lock(&self.govern);
        loop {
            let job = {
                let mut queue = lock(&self.queue);
                let Some(job) = queue.jobs.pop_front() else {
                    queue.served = false;
                    return;
                };
                job
            };
            post.ask(job);
        }
    }
}

impl Post {
    /// Asks who governs; `None`: it panicked, and who asked gets no answer.
    fn ask<R>(&mut self, question: impl FnOnce(&mut dyn Govern) -> R) -> Option<R> {
        // A panic leaves no half-made change that counts: that is in the store.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let govern = self.hold();
            govern.begin();
            question(govern)
        }));
        asked.ok()
    }

    fn hold(&mut self) -> &mut dyn Govern {
        let appoint = self.appoint.take();
        let held = self
            .held
            // Nobody could be appointed: nothing is allowed.
            .get_or_insert_with(|| {
                appoint.map_or_else(|| Box::new(Nobody) as _, |appoint| appoint())
            });
        held.as_mut()
    }
}

/// Governs where nobody else could be made to: allows nothing.
pub(crate) struct Nobody;

impl Nobody {
    fn no() -> Ruling {
        Ruling::Answer(unavailable())
    }
}

impl Govern for Nobody {
    fn own_tools(&self) -> Vec<Value> {
        Vec::new()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn own_call(&mut self, _name: &str, _call: &OwnCall<'_>) -> Option<Ruling> {
        Some(Self::no())
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        vec![false; tools.len()]
    }

    fn call(&mut self, _call: &GatewayCall<'_>) -> Ruling {
        Self::no()
    }

    fn read(&mut self, _reading: &Reading<'_>) -> Option<NotRead> {
        Some(unread())
    }

    fn answered(&mut self, _key: &str, _said: &PersonSaid, _at_ms: u64) -> Ruling {
        Self::no()
    }

    fn ended(&mut self, _ticket: &Ticket, _result: CallEnd<'_>, _at_ms: u64) -> Option<Value> {
        Some(unavailable())
    }

    fn changed(&mut self) -> bool {
        false
    }
}

/// Answers a reading that nobody could rule on.
pub(crate) fn unread() -> NotRead {
    let message =
        "Interlock failed while it judged this, so it is refused: ask again, or tell a person";
    NotRead {
        message: message.to_owned(),
        data: json!({"code": "unavailable"}),
    }
}

/// Answers a call that nobody could rule on.
pub(crate) fn unavailable() -> Value {
    let message = "Interlock failed while it judged this call, so it is refused; nothing is certain but what `interlock log` shows: call again, or tell a person";
    json!({
        "content": [{"type": "text", "text": format!("Refused (`unavailable`): {message}.")}],
        "structuredContent": {"run": null, "ok": false, "code": "unavailable", "message": message, "log": []},
        "isError": true,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
