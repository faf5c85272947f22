//! Model stages in the drive loop: their slots, their requests, and reports to them.

use std::{
    mem,
    sync::{Arc, mpsc::Sender},
};

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Effect},
    event::Event,
    machine::{EffectKind, NodeKind, StageRules},
    names::FramePath,
    place::stage_of,
    stage::{Step, step},
};

use super::{Drive, DriveError, Landed};
use crate::{
    host::Host,
    order::NodeOrder,
    stage::{Heard, Question, StageOrder, Standing, concerns},
};

/// What a running stage has not received yet.
#[derive(Debug)]
pub(super) struct Listening {
    path: FramePath,
    /// Events in its frame.
    events: Vec<Event>,
    /// Where to report that this step is no longer the next.
    waits: Option<(Step, Sender<Heard>)>,
    /// Request that arrived while the run was paused.
    held: Option<Question>,
}

impl Listening {
    pub(super) fn new(path: &FramePath) -> Self {
        Self {
            path: path.clone(),
            events: Vec::new(),
            waits: None,
            held: None,
        }
    }
}

impl<H: Host> Drive<'_, H> {
    /// Returns whether an effect is a model stage.
    pub(super) fn is_stage(&self, effect: &Effect) -> bool {
        let frame = self.run.frame(&effect.frame);
        frame.is_some_and(|frame| stage_of(self.machine, frame).is_some())
    }

    /// Returns whether an attempt of the stage is running, and so has its slot.
    pub(super) fn has_begun(&self, effect: &Effect) -> bool {
        let frame = self.run.frame(&effect.frame);
        frame.is_some_and(|frame| frame.stay.stage_attempt().is_some())
    }

    /// Returns how many further stages may begin.
    ///
    /// A stage that waits for a person keeps its slot.
    pub(super) fn free_slots(&self, list: &[Effect]) -> usize {
        let rules = self.machine.stages.as_ref();
        let most = rules.map_or_else(|| StageRules::default().at_once, |rules| rules.at_once);
        let taken = list.iter().filter(|effect| {
            self.is_stage(effect)
                && (self.has_begun(effect) || self.flights.contains_key(&effect.id))
        });
        most.max(1).saturating_sub(taken.count())
    }

    /// Creates the input of a stage.
    pub(super) fn stage_order(
        &mut self,
        effect: &Effect,
    ) -> Result<StageOrder, DriveError<H::Error>> {
        let path = effect.frame.clone();
        let begun = self
            .run
            .frame(&path)
            .filter(|frame| frame.stay.stage_attempt().is_some());
        let events = match begun.map(|frame| frame.stay.entered_seq) {
            Some(seq) => self.host.events(seq).map_err(DriveError::Host)?,
            None => Vec::new(),
        };
        let events = events
            .into_iter()
            .filter(|event| concerns(event) == Some(&path));
        let machine = self.machine;
        let shared = self.shared.get_or_insert_with(|| Arc::new(machine.clone()));
        Ok(StageOrder {
            machine: Arc::clone(shared),
            told: Standing {
                refused: None,
                run: Arc::new(self.run.clone()),
                events: events.collect(),
            },
            path,
        })
    }

    /// Creates the input of a tool state or a custom node.
    pub(super) fn node_order(
        &mut self,
        effect: &Effect,
    ) -> Result<NodeOrder, DriveError<H::Error>> {
        let events = match effect.kind {
            EffectKind::Node(NodeKind::StateRecords) => {
                self.host.events(0).map_err(DriveError::Host)?
            }
            _ => Vec::new(),
        };
        let machine = self.machine;
        let shared = self.shared.get_or_insert_with(|| Arc::new(machine.clone()));
        Ok(NodeOrder {
            machine: Arc::clone(shared),
            run: Arc::new(self.run.clone()),
            path: effect.frame.clone(),
            events,
        })
    }

    /// Stores events for the stages in whose frames they happened.
    pub(super) fn note(&mut self, events: &[Event]) {
        for flight in self.flights.values_mut() {
            if let Some(listening) = &mut flight.listening {
                let own = events
                    .iter()
                    .filter(|event| concerns(event) == Some(&listening.path));
                listening.events.extend(own.cloned());
            }
        }
    }

    /// Loads the run after another writer; stages receive the other writer's events.
    pub(super) fn reload(&mut self) -> Result<(), DriveError<H::Error>> {
        let from = self.run.seq;
        self.run = self.host.load().map_err(DriveError::Host)?;
        let listens = self
            .flights
            .values()
            .any(|flight| flight.listening.is_some());
        if !listens || self.run.seq == from {
            return Ok(());
        }
        let count = usize::try_from(self.run.seq.saturating_sub(from)).unwrap_or(usize::MAX);
        let mut events = self.host.events(from).map_err(DriveError::Host)?;
        events.truncate(count);
        self.note(&events);
        Ok(())
    }

    /// Handles a stage's request; a stage that is no longer running gets no answer.
    pub(super) fn asked(&mut self, question: Question) -> Result<(), DriveError<H::Error>> {
        let flight = self.flights.get_mut(&question.id);
        let flight = flight.filter(|flight| flight.attempt == question.attempt && !flight.stopping);
        let Some(listening) = flight.and_then(|flight| flight.listening.as_mut()) else {
            return Ok(());
        };
        match question.ask {
            Err(step) => listening.waits = Some((step, question.reply)),
            // It is answered when the run continues.
            Ok(_) if self.run.paused.is_some() => listening.held = Some(question),
            Ok(_) => return self.answer(question),
        }
        Ok(())
    }

    fn answer(&mut self, question: Question) -> Result<(), DriveError<H::Error>> {
        let Ok(ask) = question.ask else {
            return Ok(());
        };
        // A stage that asks waits for nothing else.
        let flight = self.flights.get_mut(&question.id);
        if let Some(listening) = flight.and_then(|flight| flight.listening.as_mut()) {
            listening.waits = None;
        }
        let decision = self.submit(*ask)?;
        let told = self.told(&question.id, &decision.reply);
        // A stage that has ended meanwhile does not receive it.
        let _ = question.reply.send(Heard::Run(told));
        Ok(())
    }

    /// Answers requests that arrived while the run was paused; returns whether there were any.
    pub(super) fn answer_held(&mut self) -> Result<bool, DriveError<H::Error>> {
        if self.run.paused.is_some() {
            return Ok(false);
        }
        let mut held = self.flights.values_mut();
        let question = held.find_map(|flight| flight.listening.as_mut()?.held.take());
        let Some(question) = question else {
            return Ok(false);
        };
        self.answer(question)?;
        Ok(true)
    }

    /// Notifies stages that wait for the run to continue.
    pub(super) fn wake(&mut self) {
        let due: Vec<String> = self
            .flights
            .iter()
            .filter(|(_, flight)| {
                flight.listening.as_ref().is_some_and(|listening| {
                    let next = step(self.machine, &self.run, &listening.path);
                    let waits = listening.waits.as_ref();
                    waits.is_some_and(|(before, _)| next.as_ref() != Some(before))
                })
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            let told = self.told(&id, &Reply::Accepted);
            let flight = self.flights.get_mut(&id);
            let listening = flight.and_then(|flight| flight.listening.as_mut());
            if let Some((_, reply)) = listening.and_then(|listening| listening.waits.take()) {
                // A stage that has ended meanwhile does not receive it.
                let _ = reply.send(Heard::Run(told));
            }
        }
    }

    fn told(&mut self, id: &str, reply: &Reply) -> Standing {
        let run = Arc::new(self.run.clone());
        let flight = self.flights.get_mut(id);
        let listening = flight.and_then(|flight| flight.listening.as_mut());
        let events = listening.map_or_else(Vec::new, |listening| mem::take(&mut listening.events));
        Standing::new(reply, run, events)
    }

    /// Handles the end of a stage's thread: the result of the stage is already in the run.
    ///
    /// A failure with a name belongs to the state, before its model was called.
    pub(super) fn stage_ended(&mut self, landed: Landed) -> Result<(), DriveError<H::Error>> {
        match landed.outcome {
            Some(ActivityOutcome::Failed(ref cause)) if cause.code.is_string() => self.land(landed),
            Some(ActivityOutcome::Failed(cause)) => Err(DriveError::Broken {
                path: landed.id,
                message: cause.message,
            }),
            _ => Ok(()),
        }
    }
}
