//! Who governs a session, asked in order and where waiting for the disk stalls nobody.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::govern::{
    CallEnd, GatewayCall, Govern, Instead, ListedTool, NotRead, OwnCall, PersonSaid, Reading,
    Ruling, Ticket,
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
        let shared = Arc::clone(&self.shared);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || shared.serve())),
            // The runtime is gone, and with it who could wait: what ended must still be told.
            Err(_) => shared.serve(),
        }
    }
}

impl Shared {
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
            // A panic leaves no half-made change that counts: that is in the store. Who asked gets no answer.
            let asked = catch_unwind(AssertUnwindSafe(|| {
                let govern = post.hold();
                govern.begin();
                job(govern);
            }));
            asked.ok();
        }
    }
}

impl Post {
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

    fn ended(&mut self, _ticket: &Ticket, _result: CallEnd<'_>, _at_ms: u64) -> Option<Instead> {
        Some(Instead::Result(unavailable()))
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a failed test panics")]

    use std::sync::mpsc;

    use super::{Nobody, Office};

    fn office() -> Office {
        Office::new(Box::new(|| Box::new(Nobody)))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_told_while_a_question_is_answered_comes_after_it() {
        let office = office();
        let (said, heard) = mpsc::channel();
        let (inner, first) = (office.clone(), said.clone());
        let asked = office.ask(move |_| {
            let told = first.clone();
            inner.tell(move |_| told.send("told").unwrap());
            first.send("asked").unwrap();
        });
        assert_eq!(asked.await, Some(()));
        // In its turn: after what was told.
        assert_eq!(office.ask(|_| ()).await, Some(()));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["asked", "told"]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_waits_for_the_disk_stalls_nobody() {
        let (slow, quick) = (office(), office());
        let (go, wait) = mpsc::channel();
        let waiting = tokio::spawn(async move { slow.ask(move |_| wait.recv().unwrap()).await });
        // On the one thread of the runtime, which the first may not hold.
        let other = tokio::spawn(async move { quick.ask(|_| 7).await });
        assert_eq!(other.await.unwrap(), Some(7));
        go.send(5).unwrap();
        assert_eq!(waiting.await.unwrap(), Some(5));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_question_that_panics_has_no_answer_and_harms_no_other() {
        let office = office();
        let asked: Option<()> = office.ask(|_| panic!("on purpose")).await;
        assert_eq!(asked, None);
        assert_eq!(office.ask(|_| 3).await, Some(3));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_runtime_of_one_thread_asks_on_another() {
        let here = std::thread::current().id();
        let there = office().ask(|_| std::thread::current().id()).await;
        assert_ne!(there, Some(here));
    }
}
