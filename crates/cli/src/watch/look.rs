//! Reads the store again and again, in a separate thread.

use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use interlock_core::{
    names::{ApprovalId, RunId},
    pending::{Pending, pending},
    place::titles,
};
use interlock_store::{EventLog as _, Home, Listed, RunLog, RunSummary, StoreError};

use super::model::{Look, Row, Selection, Waiting};
use crate::{app::App, live::now_ms, log_line::sentence, review::Review};

/// Interval of updates.
const EVERY: Duration = Duration::from_millis(250);
/// Maximum number of lines of a log that are kept.
const LINES_MAX: usize = 2_000;

/// Cached facts of a run, valid as long as it has this many events.
struct Known {
    events: u64,
    waiting: Vec<Pending>,
    /// Titles of its current states; `None` if it is over or cannot be read.
    state: Option<String>,
    client: String,
}

/// Reads the store.
pub(super) struct Looker<'a> {
    app: &'a App,
    home: Home,
    known: BTreeMap<RunId, Known>,
    followed: Option<Followed>,
    /// The last reviewed request, and its review.
    reviewed: Option<(RunId, ApprovalId, Review)>,
}

/// The log of the selected run.
struct Followed {
    log: RunLog,
    seen: u64,
    lines: Vec<String>,
}

impl<'a> Looker<'a> {
    pub(super) const fn new(app: &'a App, home: Home) -> Self {
        Self {
            app,
            home,
            known: BTreeMap::new(),
            followed: None,
            reviewed: None,
        }
    }

    /// Runs until nobody needs updates; selections arrive through `selected`.
    pub(super) fn run(mut self, selected: &Receiver<Selection>, looks: &Sender<Look>) {
        let mut wanted = Selection::default();
        loop {
            let mut look = self.look(wanted.run.as_ref());
            look.review = self.review(wanted.asked.as_ref());
            if looks.send(look).is_err() {
                return;
            }
            match selected.recv_timeout(EVERY) {
                Ok(newest) => wanted = selected.try_iter().last().unwrap_or(newest),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn look(&mut self, wanted: Option<&RunId>) -> Look {
        let mut look = Look {
            now_ms: now_ms(),
            ..Look::default()
        };
        let mut trouble: Option<String> = None;
        match self.home.list_runs() {
            Ok(runs) => {
                for run in &runs {
                    self.see(run, &mut look);
                }
                self.known
                    .retain(|known, _| runs.iter().any(|run| run.id == *known));
            }
            Err(error) => trouble = Some(error.to_string()),
        }
        if let Some(wanted) = wanted {
            match self.follow(wanted) {
                Ok(lines) => look.log = Some((wanted.clone(), lines)),
                Err(error) => trouble = Some(error),
            }
        }
        look.trouble = trouble;
        look
    }

    /// Computes what an approval of a request means: once, since a person reads it.
    fn review(&mut self, asked: Option<&Waiting>) -> Option<(RunId, ApprovalId, Review)> {
        let asked = asked?;
        let known = |(run, id, _): &&(RunId, ApprovalId, Review)| {
            *run == asked.run && *id == asked.pending.id()
        };
        if let Some(found) = self.reviewed.as_ref().filter(known) {
            return Some(found.clone());
        }
        // A run that cannot be read is listed as damaged.
        let log = self.home.open_run(&asked.run).ok()?;
        let (machine, run) = (log.machine().ok()?, log.load().ok()?);
        let found = Review::of(&self.home, &log, (&machine, &run), &asked.pending).ok()?;
        self.reviewed = Some((asked.run.clone(), asked.pending.id(), found));
        self.reviewed.clone()
    }

    fn see(&mut self, run: &RunSummary, look: &mut Look) {
        let card = match &run.listed {
            Listed::Known(card) => card,
            Listed::Damaged { .. } | Listed::Unreachable { .. } => {
                let (status, why) = run.listed.problem().unwrap_or_default();
                look.rows.push(Row {
                    run: run.id.clone(),
                    workflow: why.to_owned(),
                    state: String::new(),
                    status: status.to_owned(),
                    client: String::new(),
                    created_ms: look.now_ms,
                    over: true,
                });
                return;
            }
        };
        let stale = self
            .known
            .get(&run.id)
            .is_none_or(|known| known.events != card.events);
        if stale {
            let found = self.find(&run.id, card.events, card.is_over());
            self.known.insert(run.id.clone(), found);
        }
        let known = self.known.get(&run.id);
        let workflow = card
            .name
            .clone()
            .unwrap_or_else(|| card.workflow.to_string());
        look.waiting.extend(
            known
                .into_iter()
                .flat_map(|known| &known.waiting)
                .map(|pending| Waiting {
                    run: run.id.clone(),
                    workflow: workflow.clone(),
                    pending: pending.clone(),
                }),
        );
        look.rows.push(Row {
            run: run.id.clone(),
            workflow,
            state: known
                .and_then(|known| known.state.clone())
                .unwrap_or_else(|| card.state.join(", ")),
            status: card.status.as_str().to_owned(),
            client: known.map(|known| known.client.clone()).unwrap_or_default(),
            created_ms: card.created_ms,
            over: card.is_over(),
        });
    }

    fn find(&self, run: &RunId, events: u64, over: bool) -> Known {
        let client = match self.home.session_of(run) {
            Ok(Some(binding)) => binding.session.client.unwrap_or_default(),
            Ok(None) | Err(_) => String::new(),
        };
        // A run that has ended asks nothing; one that cannot be read is listed as damaged next time.
        let found = (!over).then(|| self.stands_in(run));
        let (waiting, state) = match found {
            Some(Ok((waiting, state))) => (waiting, Some(state)),
            Some(Err(_)) | None => (Vec::new(), None),
        };
        Known {
            events,
            waiting,
            state,
            client,
        }
    }

    /// Reads the open requests of a run, and the titles of its current states.
    fn stands_in(&self, run: &RunId) -> Result<(Vec<Pending>, String), StoreError> {
        let log = self.home.open_run(run)?;
        let (machine, run) = (log.machine()?, log.load()?);
        let titles = titles(&machine, &run).join(", ");
        Ok((pending(&machine, &run), titles))
    }

    /// Reads what is new in the log of `wanted`.
    fn follow(&mut self, wanted: &RunId) -> Result<Vec<String>, String> {
        let known = self
            .followed
            .take()
            .filter(|known| known.log.run() == wanted);
        let mut followed = match known {
            Some(known) => known,
            None => {
                let log = self
                    .home
                    .open_run(wanted)
                    .map_err(|error| error.to_string())?;
                let count = log.count().map_err(|error| error.to_string())?;
                let kept = u64::try_from(LINES_MAX).unwrap_or(u64::MAX);
                Followed {
                    seen: count.saturating_sub(kept),
                    log,
                    lines: Vec::new(),
                }
            }
        };
        for recorded in followed.log.events(followed.seen) {
            let recorded = recorded.map_err(|error| error.to_string())?;
            followed.seen = recorded.seq + 1;
            if let Ok(line) = sentence(self.app, &recorded) {
                followed.lines.push(line);
            }
        }
        let many = followed.lines.len().saturating_sub(LINES_MAX);
        followed.lines.drain(..many);
        let lines = followed.lines.clone();
        self.followed = Some(followed);
        Ok(lines)
    }
}
