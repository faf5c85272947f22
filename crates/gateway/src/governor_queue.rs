//! The queue of a session's policy, which is asked in order and where waiting for the disk blocks nobody.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::oneshot,
    task::block_in_place,
};

use crate::govern::{
    CallDecision, CallEnd, GatewayCall, Instead, ListedTool, NotRead, OwnCall, PersonSaid, Reading,
    SessionPolicy, Ticket,
};

type Job = Box<dyn FnOnce(&mut dyn SessionPolicy) + Send>;
/// Creates the policy at the first question.
pub(crate) type Appoint = Box<dyn FnOnce() -> Box<dyn SessionPolicy> + Send>;

/// Queue of a session's policy.
#[derive(Clone)]
pub(crate) struct GovernorQueue {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    govern: Mutex<Post>,
    /// Whether a question has been answered; later ones need only a few looks at the disk.
    begun: AtomicBool,
}

/// The thread that answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerThread {
    /// A separate thread for blocking work.
    Aside,
    /// The thread that asks.
    Here,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Whether a thread works on the queue.
    served: bool,
}

struct Post {
    appoint: Option<Appoint>,
    held: Option<Box<dyn SessionPolicy>>,
}

impl fmt::Debug for GovernorQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GovernorQueue")
    }
}

impl GovernorQueue {
    pub(crate) fn new(appoint: Appoint) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::default(),
                govern: Mutex::new(Post {
                    appoint: Some(appoint),
                    held: None,
                }),
                begun: AtomicBool::new(false),
            }),
        }
    }

    /// Asks in order; returns `None` if there was no answer, which is not a permission.
    ///
    /// A call waits for two answers, and switching to another thread and back takes as long as the answer itself: so all but the
    /// first are computed in the thread that asks. What may have to wait for others does so in [`waiting`].
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn SessionPolicy) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |govern: &mut dyn SessionPolicy| {
            answer.send(question(govern)).ok();
        });
        let place = if self.shared.begun.load(Ordering::Acquire) {
            AnswerThread::Here
        } else {
            AnswerThread::Aside
        };
        self.push(job, place);
        answered.await.ok()
    }

    /// Queues a notification without waiting.
    pub(crate) fn tell(&self, job: impl FnOnce(&mut dyn SessionPolicy) + Send + 'static) {
        self.push(Box::new(job), AnswerThread::Aside);
    }

    fn push(&self, job: Job, place: AnswerThread) {
        let mut queue = lock(&self.shared.queue);
        queue.jobs.push_back(job);
        if queue.served {
            return;
        }
        queue.served = true;
        drop(queue);
        match (place, Handle::try_current()) {
            (AnswerThread::Here, _) => self.shared.serve(),
            (AnswerThread::Aside, Ok(runtime)) => {
                let shared = Arc::clone(&self.shared);
                drop(runtime.spawn_blocking(move || shared.serve()));
            }
            // The runtime is gone, so nobody can wait: what ended must still be recorded.
            (AnswerThread::Aside, Err(_)) => self.shared.serve(),
        }
    }
}

/// Runs something that may have to wait; tasks that share the thread continue in another one.
pub(crate) fn waiting<R>(act: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(act),
        _ => act(),
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
            // A panic leaves no half-made change that counts: that is in the store. The caller gets no answer.
            let asked = catch_unwind(AssertUnwindSafe(|| {
                let govern = post.hold();
                govern.begin();
                job(govern);
            }));
            asked.ok();
            self.begun.store(true, Ordering::Release);
        }
    }
}

impl Post {
    fn hold(&mut self) -> &mut dyn SessionPolicy {
        let appoint = self.appoint.take();
        let held = self
            .held
            // No policy could be created: nothing is allowed.
            .get_or_insert_with(|| {
                appoint.map_or_else(|| Box::new(Nobody) as _, |appoint| appoint())
            });
        held.as_mut()
    }
}

/// The policy used if no other could be created: it allows nothing.
pub(crate) struct Nobody;

impl Nobody {
    fn no() -> CallDecision {
        CallDecision::Answer(unavailable())
    }
}

impl SessionPolicy for Nobody {
    fn own_tools(&self) -> Vec<Value> {
        Vec::new()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn own_call(&mut self, _name: &str, _call: &OwnCall<'_>) -> Option<CallDecision> {
        Some(Self::no())
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        vec![false; tools.len()]
    }

    fn call(&mut self, _call: &GatewayCall<'_>) -> CallDecision {
        Self::no()
    }

    fn read(&mut self, _reading: &Reading<'_>) -> Option<NotRead> {
        Some(unread())
    }

    fn answered(&mut self, _key: &str, _said: &PersonSaid, _at_ms: u64) -> CallDecision {
        Self::no()
    }

    fn ended(&mut self, _ticket: &Ticket, _result: CallEnd<'_>, _at_ms: u64) -> Option<Instead> {
        Some(Instead::Result(unavailable()))
    }

    fn changed(&mut self) -> bool {
        false
    }
}

/// Answers a reading that nobody could decide about.
pub(crate) fn unread() -> NotRead {
    let message =
        "Interlock failed while it judged this, so it is refused: ask again, or tell a person";
    NotRead {
        message: message.to_owned(),
        data: json!({"code": "unavailable"}),
    }
}

/// Answers a call that nobody could decide about.
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

    use super::{GovernorQueue, Nobody, waiting};
    use crate::govern::SessionPolicy;

    fn queue() -> GovernorQueue {
        GovernorQueue::new(Box::new(|| Box::new(Nobody)))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_told_while_a_question_is_answered_comes_after_it() {
        let queue = queue();
        let (said, heard) = mpsc::channel();
        let (inner, first) = (queue.clone(), said.clone());
        let asked = queue.ask(move |_| {
            let told = first.clone();
            inner.tell(move |_| told.send("told").unwrap());
            first.send("asked").unwrap();
        });
        assert_eq!(asked.await, Some(()));
        // In order: after the notification.
        assert_eq!(queue.ask(|_| ()).await, Some(()));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["asked", "told"]);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_waits_for_the_disk_stalls_nobody() {
        for asked_before in [false, true] {
            let (slow, quick) = (queue(), queue());
            if asked_before {
                assert_eq!(slow.ask(|_| ()).await, Some(()));
            }
            let (go, wait) = mpsc::channel();
            let held = move |_: &mut dyn SessionPolicy| waiting(|| wait.recv().unwrap());
            let first = tokio::spawn(async move { slow.ask(held).await });
            // On the only thread of the runtime, which the first must not block.
            let other = tokio::spawn(async move { quick.ask(|_| 7).await });
            assert_eq!(other.await.unwrap(), Some(7));
            go.send(5).unwrap();
            assert_eq!(first.await.unwrap(), Some(5));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_question_that_panics_has_no_answer_and_harms_no_other() {
        let queue = queue();
        let asked: Option<()> = queue.ask(|_| panic!("on purpose")).await;
        assert_eq!(asked, None);
        assert_eq!(queue.ask(|_| 3).await, Some(3));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_runtime_of_one_thread_asks_on_another_first_and_then_on_its_own() {
        let here = std::thread::current().id();
        let queue = queue();
        let first = queue.ask(|_| std::thread::current().id()).await;
        assert_ne!(first, Some(here));
        // The other thread may still be there for the next few.
        let mut answered_here = false;
        for _ in 0..1_000 {
            let next = queue.ask(|_| std::thread::current().id()).await;
            answered_here = next == Some(here);
            if answered_here {
                break;
            }
            std::thread::yield_now();
        }
        assert!(answered_here);
    }
}
