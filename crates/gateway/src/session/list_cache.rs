//! Cached lists of a server, to know its tools and prompts by name.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use interlock_core::machine::Object;
use serde_json::{Value, json};

use super::kept::{Live, Upstream};
use crate::{message::Outcome, session::origin::Origin, session::peer::Tag};

/// Maximum number of pages requested of one list.
const PAGES_MAX: usize = 1_000;
/// Maximum number of entries kept of one list.
const ENTRIES_MAX: usize = 100_000;

/// Kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Prompts,
}

impl Kind {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// Field of the result, which is also the name of the capability.
    pub(crate) const fn field(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
        }
    }
}

/// Entries of a list, by name and in order.
pub(crate) type Entries = indexmap::IndexMap<String, Arc<Value>>;

/// What is known of a list.
#[derive(Debug, Default)]
pub(crate) struct ListCache {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: Arc<Entries>,
    /// Whether every page was read since the server last reported a change of the list.
    whole: bool,
    /// Entries that were read since then.
    fresh: HashSet<String>,
    /// Number that grows whenever the known entries change.
    edition: u64,
}

impl ListCache {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the known entries, and their edition.
    pub(crate) fn known(&self) -> (Arc<Entries>, u64) {
        let inner = self.lock();
        (Arc::clone(&inner.known), inner.edition)
    }

    /// Returns whether everything was read since the server last reported a change.
    pub(crate) fn is_whole(&self) -> bool {
        self.lock().whole
    }

    /// Returns an entry that is up to date, as far as the server has reported changes.
    pub(crate) fn fresh(&self, name: &str) -> Option<Arc<Value>> {
        let inner = self.lock();
        let fresh = inner.whole || inner.fresh.contains(name);
        inner.known.get(name).filter(|_| fresh).cloned()
    }

    /// Marks all entries as outdated, because the server reported a change.
    pub(crate) fn spoil(&self) {
        let mut inner = self.lock();
        inner.whole = false;
        inner.fresh.clear();
    }

    /// Adds the entries of one page.
    pub(crate) fn see(&self, entries: &[Value]) {
        let mut inner = self.lock();
        let Inner { known, fresh, .. } = &mut *inner;
        let known = Arc::make_mut(known);
        let mut changed = false;
        for entry in entries {
            let Some(name) = entry.get("name").and_then(Value::as_str) else {
                continue;
            };
            if known.len() >= ENTRIES_MAX {
                break;
            }
            fresh.insert(name.to_owned());
            if known.get(name).is_none_or(|old| **old != *entry) {
                known.insert(name.to_owned(), Arc::new(entry.clone()));
                changed = true;
            }
        }
        inner.edition += u64::from(changed);
    }

    fn replace(&self, entries: Entries) {
        let mut inner = self.lock();
        inner.known = Arc::new(entries);
        inner.whole = true;
        inner.edition += 1;
    }
}

impl Upstream {
    pub(crate) const fn list_cache(&self, kind: Kind) -> &ListCache {
        match kind {
            Kind::Tools => &self.tools,
            Kind::Prompts => &self.prompts,
        }
    }

    /// Returns what the server lists, read again if something changed; if that fails, the last known entries.
    pub(crate) async fn listed(&self, kind: Kind, origin: &Arc<Origin>) -> Arc<Entries> {
        if !self.list_cache(kind).is_whole() {
            // Two requests at once would ask twice.
            let _turn = self.listing.lock().await;
            if !self.list_cache(kind).is_whole()
                && let Ok(live) = self.live().await
                && live.can(kind.field())
            {
                self.ask_all(kind, &live, origin).await.ok();
            }
        }
        self.list_cache(kind).known().0
    }

    /// Returns the definition of an entry; `None` if the server lists none of that name, or fails to list what it has
    /// reported as changed.
    pub(crate) async fn definition(
        &self,
        kind: Kind,
        name: &str,
        origin: &Arc<Origin>,
    ) -> Option<Arc<Value>> {
        if let Some(definition) = self.list_cache(kind).fresh(name) {
            return Some(definition);
        }
        let listed = self.listed(kind, origin).await;
        match self.live().await {
            Ok(_) => self.list_cache(kind).fresh(name),
            // It gets no call either, and the answer says why.
            Err(_) => listed.get(name).cloned(),
        }
    }

    /// Reads every page.
    pub(crate) async fn ask_all(
        &self,
        kind: Kind,
        live: &Arc<Live>,
        origin: &Arc<Origin>,
    ) -> Result<Arc<Entries>, Outcome> {
        let mut entries = Entries::new();
        let mut cursor: Option<Value> = None;
        for _ in 0..PAGES_MAX {
            let params = cursor
                .take()
                .map(|cursor| Object::from_iter([("cursor".to_owned(), cursor)]));
            let params = live.addressed(params, &origin.introduced);
            let asked = live.peer.request(Tag::Own, kind.method(), params);
            let outcome = asked.await.map_err(|_| self.gone(live))?;
            let Outcome::Result(result) = outcome else {
                return Err(outcome);
            };
            let mut page: Value = serde_json::from_str(result.get()).unwrap_or_default();
            for entry in page
                .get(kind.field())
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Some(name) = entry.get("name").and_then(Value::as_str)
                    && entries.len() < ENTRIES_MAX
                {
                    entries.insert(name.to_owned(), Arc::new(entry.clone()));
                }
            }
            match page.get_mut("nextCursor").map(Value::take) {
                Some(next @ Value::String(_)) => cursor = Some(next),
                _ => break,
            }
        }
        self.list_cache(kind).replace(entries);
        Ok(self.list_cache(kind).known().0)
    }
}

/// Returns which list a notification is about.
pub(crate) fn spoiled(method: &str) -> Option<Kind> {
    match method {
        "notifications/tools/list_changed" => Some(Kind::Tools),
        "notifications/prompts/list_changed" => Some(Kind::Prompts),
        _ => None,
    }
}

/// Returns an empty list of entries.
pub(crate) fn no_entries(kind: Kind) -> Value {
    json!({ kind.field(): [] })
}
