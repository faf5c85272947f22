//! Channel from a node to the loop that drives its run, which alone writes to the log.

use std::sync::mpsc::channel;

use interlock_core::{
    command::{CommandKind, NodeCommand},
    names::FramePath,
};

use super::{CANCELLED, FAILED};
use crate::{
    order::{Failed, Order},
    stage::{Heard, Outbox, Question},
};

/// Channel of one running effect.
pub(crate) struct Talk {
    id: String,
    attempt: u32,
    path: FramePath,
    outbox: Outbox,
}

impl Talk {
    pub(crate) fn new(order: &Order, path: &FramePath, outbox: Outbox) -> Self {
        Self {
            id: order.id.clone(),
            attempt: order.attempt,
            path: path.clone(),
            outbox,
        }
    }

    /// Sends a command to the run; returns when it is in the log.
    pub(super) fn tell(&self, command: NodeCommand) -> Result<(), Failed> {
        let (reply, answer) = channel();
        let sent = (self.outbox)(Question {
            id: self.id.clone(),
            attempt: self.attempt,
            ask: Ok(Box::new(CommandKind::Node {
                path: self.path.clone(),
                attempt: self.attempt,
                command,
            })),
            reply,
        });
        // The run is no longer driven, or no longer with this effect.
        let cut = || Failed::new(CANCELLED, "it was stopped");
        if !sent {
            return Err(cut());
        }
        match answer.recv() {
            Ok(Heard::Run(told)) => match told.refused {
                None => Ok(()),
                Some(refusal) => Err(Failed {
                    reason: Some(refusal.code.as_str()),
                    ..Failed::new(FAILED, refusal.message)
                }),
            },
            Ok(Heard::Channel(..)) | Err(_) => Err(cut()),
        }
    }

    /// Writes a note to the log before the noted action.
    pub(super) fn note(&self, code: &str, message: String) -> Result<(), Failed> {
        self.tell(NodeCommand::Note {
            code: code.to_owned(),
            message,
        })
    }
}
