//! The thread that carries out one effect.

use std::{
    mem,
    sync::{Arc, mpsc::Sender},
    thread::{self, JoinHandle},
};

use interlock_process::Cancel;

use super::Message;
use crate::{
    carry::carry_out,
    codemie,
    order::{Failed, Order, Outcome},
    run_context::RunContext,
    stage::{self, CancelToken, Stages},
};

/// Stack size of a thread that carries out an effect.
const STACK_BYTES: usize = 512 * 1024;
/// Stack size of a thread for a model stage or a tool state, which parses schemas and shell lines.
const STAGE_STACK_BYTES: usize = 8 * 1024 * 1024;

/// Carries out `order` in a new thread, which reports how it ended.
pub(super) fn spawn(
    order: Order,
    context: Arc<RunContext>,
    (cancel, cancel_token): (Cancel, Option<CancelToken>),
    outbox: Sender<Message>,
) -> std::io::Result<JoinHandle<()>> {
    let stack = if cancel_token.is_some() || order.node.is_some() {
        STAGE_STACK_BYTES
    } else {
        STACK_BYTES
    };
    thread::Builder::new()
        .name("effect".to_owned())
        .stack_size(stack)
        .spawn(move || {
            let asking = outbox.clone();
            let mut word = Word {
                outbox,
                id: order.id.clone(),
                attempt: order.attempt,
                outcome: Failed::new(1, "the runner panicked while it ran this").into(),
            };
            word.outcome = match cancel_token {
                Some(cancel_token) => carry_stage_out(&order, &context, &cancel_token, asking),
                None => {
                    let outbox = move |question| asking.send(Message::Asked(question)).is_ok();
                    carry_out(&order, &context, &cancel, Box::new(outbox))
                }
            };
        })
}

/// Carries out a model stage.
fn carry_stage_out(
    order: &Order,
    context: &RunContext,
    cancel_token: &CancelToken,
    asking: Sender<Message>,
) -> Outcome {
    let stages: Option<&Stages> = context.stages.as_deref();
    let (Some(stage), Some(stages)) = (&order.stage, stages) else {
        return Failed::new(1, "model stages cannot run here").into();
    };
    context.screen.begins(order);
    let stopped = || cancel_token.is_cancelled();
    let telling = asking.clone();
    let telling = move |question| telling.send(Message::Asked(question)).is_ok();
    let talk = codemie::Talk::new(order, &stage.path, Box::new(telling));
    let told = (&talk, order.path.as_str());
    let fitted = match codemie::fitted(stage, context, stages, told, &stopped) {
        Ok(fitted) => fitted,
        Err(failed) => {
            let outcome = failed.into();
            context.screen.ends(order, &outcome);
            return outcome;
        }
    };
    let stages = fitted.as_ref().unwrap_or(stages);
    let outbox = move |question| asking.send(Message::Asked(question)).is_ok();
    let outcome = stage::act(
        order,
        stage,
        stages,
        &context.screen,
        cancel_token,
        Box::new(outbox),
    );
    context.screen.ends(order, &outcome);
    outcome
}

/// The final message of a thread, sent even if it panics.
struct Word {
    outbox: Sender<Message>,
    id: String,
    attempt: u32,
    outcome: Outcome,
}

impl Drop for Word {
    fn drop(&mut self) {
        // Nobody receives this when the host is gone.
        let _ = self.outbox.send(Message::Ended {
            id: mem::take(&mut self.id),
            attempt: self.attempt,
            outcome: mem::replace(&mut self.outcome, Outcome::Interrupted),
        });
    }
}
