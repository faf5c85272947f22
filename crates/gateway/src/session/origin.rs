//! An open request of a client: its client, and the questions that it may be asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use interlock_core::machine::Object;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::{
    era::{Era, Introduced},
    message::{Id, Outcome},
    session::Session,
};

/// Maximum number of questions to a client that wait.
const NEEDS_MAX: usize = 16;

/// An open request of a client.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Protocol of the client.
    pub(crate) era: Era,
    /// Introduction of the client.
    pub(crate) introduced: Arc<Introduced>,
    /// Whether it is a subscription.
    pub(crate) listens: bool,
    registered: Mutex<Registration>,
    /// Questions to a client of the modern protocol, which it gets as the answer to its request.
    needs: mpsc::Sender<Need>,
    acknowledged: mpsc::Sender<Object>,
    cancelled: Notify,
}

/// Destination of the answer; another request may take the place of this one.
#[derive(Debug)]
struct Registration {
    session: Weak<Session>,
    id: Id,
    token: Option<Value>,
    cancelled: Option<Object>,
}

/// A question that a client must answer before its request can be answered.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) method: String,
    pub(crate) params: Option<Object>,
    pub(crate) answer: oneshot::Sender<Outcome>,
}

/// Messages to an open request.
#[derive(Debug)]
pub(crate) struct OriginEvents {
    pub(crate) needs: mpsc::Receiver<Need>,
    pub(crate) acknowledged: mpsc::Receiver<Object>,
}

impl Origin {
    pub(crate) fn new(
        session: Weak<Session>,
        id: Id,
        token: Option<Value>,
        introduced: Arc<Introduced>,
        listens: bool,
    ) -> (Arc<Self>, OriginEvents) {
        let (needs, needed) = mpsc::channel(NEEDS_MAX);
        let (acknowledged, acknowledgments) = mpsc::channel(NEEDS_MAX);
        let origin = Arc::new(Self {
            era: introduced.era,
            introduced,
            listens,
            registered: Mutex::new(Registration {
                session,
                id,
                token,
                cancelled: None,
            }),
            needs,
            acknowledged,
            cancelled: Notify::new(),
        });
        let told = OriginEvents {
            needs: needed,
            acknowledged: acknowledgments,
        };
        (origin, told)
    }

    fn registration(&self) -> MutexGuard<'_, Registration> {
        self.registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.registration().session.upgrade()
    }

    pub(crate) fn id(&self) -> Id {
        self.registration().id.clone()
    }

    /// Returns the progress token that the client gave.
    pub(crate) fn token(&self) -> Option<Value> {
        self.registration().token.clone()
    }

    /// Lets another request of the same client take its place.
    pub(crate) fn replace_by(&self, other: &Self) {
        let (id, token) = (other.id(), other.token());
        let mut registration = self.registration();
        (registration.id, registration.token) = (id, token);
    }

    /// Cancels it with the given parameters.
    pub(crate) fn cancel(&self, params: Object) {
        self.registration().cancelled = Some(params);
        self.cancelled.notify_one();
    }

    /// Waits until it is cancelled; only one task may wait.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }

    /// Returns the parameters with which it was cancelled.
    pub(crate) fn why_cancelled(&self) -> Option<Object> {
        self.registration().cancelled.clone()
    }

    /// Reports which notifications a server will send for the subscription.
    pub(crate) fn acknowledge(&self, granted: Object) {
        self.acknowledged.try_send(granted).ok();
    }

    /// Asks the client through the answer to its request; returns `None` if nobody can answer.
    pub(crate) async fn need(&self, method: &str, params: Option<Object>) -> Option<Outcome> {
        let (answer, answered) = oneshot::channel();
        let need = Need {
            method: method.to_owned(),
            params,
            answer,
        };
        self.needs.send(need).await.ok()?;
        answered.await.ok()
    }
}
