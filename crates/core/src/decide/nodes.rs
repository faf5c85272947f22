//! Reports of nodes in progress: calls of their models, and events to record before a node is done.

use super::{Answered, Reply, Work};
use crate::{
    command::NodeCommand,
    event::Event,
    names::FramePath,
    refusal::{Code, Refusal},
    run::RunningAt,
    stage::{SPENT, is_spent},
};

impl Work<'_> {
    /// Handles a report of the effect in progress at `path`.
    pub(super) fn node(
        &mut self,
        path: &FramePath,
        attempt: u32,
        command: &NodeCommand,
    ) -> Answered {
        self.open_and_going()?;
        self.path = path.clone();
        let frame = self.run.frame(path).filter(|_| self.is_open(path));
        let effect = frame.and_then(|frame| frame.stay.effect());
        if effect.is_none_or(|effect| effect.at != RunningAt::Started || effect.attempt != attempt)
        {
            return Err(Refusal::new(
                Code::NothingPending,
                format!("try {attempt} is not running there"),
            ));
        }
        match command {
            NodeCommand::CallModel {
                number,
                provider,
                model,
                request,
            } => {
                if is_spent(self.machine, &self.run) {
                    return Err(Refusal::new(Code::Budget, SPENT));
                }
                self.emit(Event::ModelCalled {
                    path: path.clone(),
                    turn: *number,
                    provider: provider.clone(),
                    model: model.clone(),
                    digest: request.clone(),
                });
            }
            NodeCommand::Answered {
                number,
                digest,
                finish,
                usage,
                ms,
            } => self.emit(Event::ModelResponded {
                path: path.clone(),
                turn: *number,
                digest: digest.clone(),
                finish: *finish,
                calls: Vec::new(),
                usage: *usage,
                ms: *ms,
            }),
            NodeCommand::NotAnswered {
                number,
                code,
                message,
            } => self.emit(Event::ModelFailed {
                path: path.clone(),
                turn: *number,
                code: code.clone(),
                message: message.clone(),
                again_ms: None,
            }),
            NodeCommand::Note { code, message } => self.note(path, code, message.clone()),
        }
        Ok(Reply::Accepted)
    }
}
