//! The channel between a stage, on its thread, and the loop that drives the run and alone writes to its log.

use std::sync::{
    Arc,
    mpsc::{Receiver, Sender},
};

use interlock_core::{
    Reply,
    command::{CommandKind, StageCommand},
    event::Event,
    machine::Machine,
    names::FramePath,
    refusal::Refusal,
    run::Run,
    stage::Step,
};

/// A request of a stage to the loop that drives its run.
#[derive(Debug, Clone)]
pub struct Question {
    /// Id of the effect.
    pub id: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Command for the run, or a step: then the stage waits until that step is no longer the next.
    pub ask: Result<Box<CommandKind>, Step>,
    /// Receives the answer; dropped if the stage is no longer under way.
    pub reply: Sender<Heard>,
}

/// What a stage receives: from the run, or from a channel.
#[derive(Debug, Clone)]
pub enum Heard {
    /// The run has answered or moved on.
    Run(Standing),
    /// A channel answers the request with this number.
    Channel(usize, super::channel::ChannelAnswer),
}

/// State of the run as a stage receives it.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Refusal of the request, if it was refused.
    pub refused: Option<Refusal>,
    /// The run.
    pub run: Arc<Run>,
    /// Events in the stage's frame since the last report.
    pub events: Vec<Event>,
}

impl Standing {
    /// Creates the report of a decision for a stage.
    #[must_use]
    pub fn new(reply: &Reply, run: Arc<Run>, events: Vec<Event>) -> Self {
        Self {
            refused: match reply {
                Reply::Refused(refusal) => Some(refusal.clone()),
                Reply::Accepted | Reply::Pending { .. } | Reply::Ask(_) => None,
            },
            run,
            events,
        }
    }
}

/// Input of a stage.
#[derive(Debug, Clone)]
pub struct StageOrder {
    /// Path of the frame in the stage.
    pub path: FramePath,
    /// The machine of the run.
    pub machine: Arc<Machine>,
    /// State of the run, and the events of the attempt so far.
    pub told: Standing,
}

impl StageOrder {
    /// Returns the next step.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        interlock_core::stage::step(&self.machine, &self.told.run, &self.path)
    }
}

/// Delivers questions to the loop that drives the run.
pub(crate) type Outbox = Box<dyn Fn(Question) -> bool + Send>;

/// The stage's side of the channel.
pub(super) struct StageLink {
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) path: FramePath,
    pub(super) outbox: Outbox,
    pub(super) answers: Sender<Heard>,
    pub(super) inbox: Receiver<Heard>,
}

/// The run is no longer driven, or no longer with this stage.
#[derive(Debug)]
pub(super) struct Cut;

impl StageLink {
    /// Sends a command of this attempt to the run.
    pub(super) fn ask_stage(&self, command: StageCommand) -> Result<Standing, Cut> {
        self.ask(CommandKind::Stage {
            path: self.path.clone(),
            attempt: self.attempt,
            command,
        })
    }

    /// Sends a command to the run.
    pub(super) fn ask(&self, command: CommandKind) -> Result<Standing, Cut> {
        // A separate channel: other messages wait meanwhile.
        let (reply, answer) = std::sync::mpsc::channel();
        self.send(Ok(Box::new(command)), reply)?;
        match answer.recv() {
            Ok(Heard::Run(told)) => Ok(told),
            Ok(Heard::Channel(..)) | Err(_) => Err(Cut),
        }
    }

    /// Asks to be notified when `step` is no longer the next.
    pub(super) fn wait_beyond(&self, step: Step) -> Result<(), Cut> {
        self.send(Err(step), self.answers.clone())
    }

    fn send(&self, ask: Result<Box<CommandKind>, Step>, reply: Sender<Heard>) -> Result<(), Cut> {
        let sent = (self.outbox)(Question {
            id: self.id.clone(),
            attempt: self.attempt,
            ask,
            reply,
        });
        if sent { Ok(()) } else { Err(Cut) }
    }
}
