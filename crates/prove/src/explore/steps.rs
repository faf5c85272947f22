//! What comes of a step: from the table, or from the engine, whose answer is then kept.

use super::{Explorer, Found, Here, Move};
use crate::{
    atlas::State,
    hash::{NONE, at, short},
    key::move_seen,
    moves::Candidate,
    perform::{counts, stays},
    table::{Change, Kind, Slot, Step},
};

impl Explorer<'_> {
    /// Finds what comes of a candidate: in the table, or from the engine.
    pub(super) fn step(&mut self, here: &Here, by: Move) -> (Option<Found>, bool) {
        let entry = self.entry(here, by);
        let kept = self.table.slot(entry, by.candidate, by.kind);
        let kept = match kept {
            Some(Slot::Wide) => self.table.wide.get(wide_key(here, by).as_slice()),
            other => other,
        };
        match kept {
            Some(Slot::Nothing { stop }) => return (None, *stop),
            Some(Slot::Step(step)) => {
                let mut to = std::mem::take(&mut self.to);
                if step.apply(&mut self.atlas, &here.state, at(by.part), &mut to) {
                    let (template, counts, stop) = (step.template, step.counts, step.stop);
                    let effect = Some(step.effect);
                    self.atlas.order(&mut to);
                    let found = Found {
                        to,
                        template,
                        counts,
                        effect,
                        run: None,
                    };
                    return (Some(found), stop);
                }
            }
            Some(Slot::Wide) | None => {}
        }
        self.ask(here, by, entry)
    }

    /// Finds where a step is kept: no guard is asked about a call.
    pub(super) fn entry(&self, here: &Here, by: Move) -> usize {
        let [asked, unasked] = here.entries.get(at(by.part)).copied().unwrap_or_default();
        let all = here.candidates.get(at(by.part));
        let candidate = all.and_then(|all| all.get(at(by.candidate)));
        let is_call = candidate.is_some_and(Candidate::is_call);
        if is_call && !self.reads_all && !self.guards_happen {
            unasked
        } else {
            asked
        }
    }

    /// Asks the engine, and keeps what it says.
    fn ask(&mut self, here: &Here, by: Move, entry: usize) -> (Option<Found>, bool) {
        self.materialise(here.visit);
        self.graph.asked += 1;
        let mut last = std::mem::take(&mut self.last);
        last.go_to((short(here.visit), by.part));
        let run = self.runs.get(&short(here.visit));
        let done = run.and_then(|run| self.done(&here.state, run, by, &mut last));
        self.last = last;
        let run = self.runs.get(&short(here.visit));
        let Some((tried, leaf)) = done else {
            // INVARIANT: every visit has a run; without one nothing may be said to hold.
            self.graph.whole = false;
            return (None, false);
        };
        let stop = tried.stop;
        let Some(mut done) = tried.done else {
            if let Some(entry) = self.table.get_mut(entry) {
                entry.put(by.candidate, by.kind, Slot::Nothing { stop });
            }
            return (None, stop);
        };
        let counted = run.is_some_and(|run| counts(run, &done, &leaf.path));
        let goes_on = run.is_some_and(|run| stays(run, &done, &leaf.path));
        let template = self.template(&done);
        let mut to = self.atlas.state(self.model, &done.run);
        let (change, wide) = self.change(here, by, &to, goes_on);
        let run = self.runs.get(&short(here.visit));
        let words = run.and_then(|run| {
            self.atlas
                .words(self.model, (&here.state, run), (&to, &done.run))
        });
        let mut effect = None;
        match words {
            Some(words) => {
                let step = self.table.step(template, (counted, stop), (change, words));
                effect = Some(step.effect);
                self.keep(here, by, entry, (step, wide));
            }
            None => self.contradicted = true,
        }
        let moved = self.atlas.order(&mut to);
        move_seen(self.model, &mut done.run, &moved);
        let found = Found {
            to,
            template,
            counts: counted,
            effect,
            run: Some(Box::new(done.run)),
        };
        (Some(found), stop)
    }

    /// Says what a step changes, and whether that has to be kept for the whole state.
    fn change(&mut self, here: &Here, by: Move, to: &State, goes_on: bool) -> (Change, bool) {
        let change = Change::between(&here.state, to, at(by.part));
        let (_, full) = self.surroundings(&here.state, at(by.part));
        let before = here.state.used.get(at(by.part)).copied().unwrap_or(NONE);
        match change {
            // How often it is done depends on what is left.
            _ if by.kind != Kind::Plain => (change, true),
            Change::All { .. } => (change, goes_on || !full),
            Change::Part { part, used } if goes_on => match self.atlas.used_more(before, used) {
                Some(more) => (Change::Counted { part, more }, false),
                None => (Change::Part { part, used }, true),
            },
            other => (other, false),
        }
    }

    /// Keeps a step for all states that it is the same in.
    fn keep(&mut self, here: &Here, by: Move, entry: usize, (mut step, wide): (Step, bool)) {
        let known = self.table.slot(entry, by.candidate, by.kind);
        let known = match (known, wide) {
            (Some(Slot::Wide), true) => self.table.wide.get(wide_key(here, by).as_slice()),
            (Some(Slot::Wide), false) | (Some(Slot::Step(_) | Slot::Nothing { .. }), true) => {
                self.contradicted = true;
                return;
            }
            (known, _) => known,
        };
        if let Some(Slot::Step(known)) = known {
            self.contradicted |= *known != step;
            step = known.clone();
        }
        let mut slot = Slot::Step(step);
        if wide {
            let key = wide_key(here, by).into_boxed_slice();
            self.table
                .wide
                .insert(key, std::mem::replace(&mut slot, Slot::Wide));
        }
        if let Some(entry) = self.table.get_mut(entry) {
            entry.put(by.candidate, by.kind, slot);
        }
    }
}

/// Writes the whole state, as far as a step reads it that changes more than its part.
fn wide_key(here: &Here, by: Move) -> Vec<u32> {
    let state = &here.state;
    let mut key = vec![
        by.part,
        by.candidate,
        by.kind as u32,
        state.rest,
        short(state.parts.len()),
    ];
    key.extend(state.parts.iter().chain(&state.used));
    key.extend(here.truths.iter().flatten());
    key.extend(here.entries.iter().flatten().map(|entry| short(*entry)));
    key
}
