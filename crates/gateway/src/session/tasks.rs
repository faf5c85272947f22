//! Calls that outlive their request: tasks, and calls that come back with more input.
//!
//! What such a call was allowed by is held until its end is seen.

use std::{collections::HashMap, sync::Arc};

use interlock_core::machine::Object;
use serde_json::Value;

use super::{
    Asking, Session,
    call::{Target, text_of},
    serve::invalid,
};
use crate::{
    fields::Fields,
    govern::{CallEnd, Ticket},
    governor::now_ms,
    message::{Outcome, Request},
    peer::Reply,
};

/// Calls held in one session.
const HELD_MAX: usize = 10_000;

/// How a call goes on after its request is answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Goes {
    /// As a task of this name.
    Task(String),
    /// By coming back, with this state.
    Comes {
        /// The server, the tool and its arguments.
        key: String,
        state: Option<String>,
    },
}

/// Calls that outlive their request.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// With how often other tools had become visible by then.
    held: HashMap<Goes, (Ticket, u64)>,
    /// Which server has which task.
    servers: HashMap<String, usize>,
}

impl Session {
    /// Tells whether an answer is not the end of a call.
    pub(super) fn goes_on(
        &self,
        outcome: &Outcome,
        asking: &Asking,
        target: &Target,
        key: &str,
    ) -> Option<Goes> {
        let Outcome::Result(result) = outcome else {
            return None;
        };
        let fields = Fields::of(result)?;
        if fields.text("resultType").as_deref() == Some("input_required") {
            return Some(Goes::Comes {
                key: key.to_owned(),
                state: fields.text("requestState"),
            });
        }
        let task = match fields.text("resultType").as_deref() {
            Some("task") => fields.text("taskId"),
            _ => None,
        };
        let nested = || fields.value("task")?.get("taskId")?.as_str().map(str::to_owned);
        // What has content is a result, whatever else is in it.
        let task = task.or_else(|| fields.get("content").is_none().then(nested)?)?;
        let upstreams = &asking.side.upstreams;
        let at = upstreams.iter().position(|upstream| Arc::ptr_eq(upstream, &target.upstream))?;
        let servers = &mut self.state().tasks.servers;
        if servers.len() < HELD_MAX {
            servers.insert(task.clone(), at);
        }
        Some(Goes::Task(task))
    }

    /// Holds what a call was allowed by.
    pub(super) fn hold(&self, goes: Goes, ticket: Ticket) {
        let replaced = {
            let mut state = self.state();
            let moves = state.moves;
            if state.tasks.held.len() < HELD_MAX {
                state.tasks.held.insert(goes, (ticket, moves)).map(|(ticket, _)| ticket)
            } else {
                Some(ticket)
            }
        };
        self.lose(replaced);
    }

    /// Takes what a call was allowed by; what may have changed since is asked anew.
    pub(super) fn take_ticket(&self, goes: &Goes) -> Option<Ticket> {
        let (ticket, still) = {
            let mut state = self.state();
            let (ticket, moves) = state.tasks.held.remove(goes)?;
            (ticket, moves == state.moves)
        };
        if still || matches!(goes, Goes::Task(_)) {
            return Some(ticket);
        }
        self.lose(Some(ticket));
        None
    }

    /// Records that nobody will know how a call ended.
    fn lose(&self, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.governor.tell(move |govern| {
                govern.ended(&ticket, CallEnd::Unknown, now_ms());
            });
        }
    }

    /// Records that of all calls that are held.
    pub(super) fn forget_tasks(&self) {
        let tasks = std::mem::take(&mut self.state().tasks);
        let mut held: Vec<(Ticket, u64)> = tasks.held.into_values().collect();
        held.sort_by_key(|(ticket, _)| ticket.call.as_ref().map(ToString::to_string));
        for (ticket, _) in held {
            self.lose(Some(ticket));
        }
    }

    /// Answers a request about a task, by the server that has it.
    pub(super) async fn with_task(
        self: &Arc<Self>,
        asking: &Asking,
        request: Request,
        extra: Object,
    ) -> Reply {
        let method = request.method.clone();
        let Some(task) = request.text("taskId").map(str::to_owned) else {
            if asking.side.only().is_some() {
                return self.pass_on(asking, request, extra).await;
            }
            return super::serve::own(invalid("`taskId` must be given"));
        };
        let known = self.state().tasks.servers.get(&task).copied();
        let server = known.and_then(|at| asking.side.upstreams.get(at));
        let (outcome, extra) = match server.or_else(|| asking.side.only()) {
            Some(server) => {
                let server = Arc::clone(server);
                self.forward(asking, &server, &method, request.params, extra).await
            }
            None => {
                let servers = asking.side.upstreams.clone();
                let declined = |outcome: &Outcome| matches!(outcome, Outcome::Error(_));
                self.first_of(asking, &servers, request, extra, declined).await
            }
        };
        (self.task_answered(asking, &method, task, outcome).await, extra)
    }

    /// Looks whether an answer is the end of a call that went on as a task.
    async fn task_answered(
        self: &Arc<Self>,
        asking: &Asking,
        method: &str,
        task: String,
        outcome: Outcome,
    ) -> Outcome {
        let Outcome::Result(result) = &outcome else {
            return outcome;
        };
        let fields = Fields::of(result);
        let status = fields.as_ref().and_then(|fields| fields.text("status"));
        let inner = fields.as_ref().and_then(|fields| fields.value("result"));
        match (method, status.as_deref()) {
            ("tasks/result", _) => match self.take_ticket(&Goes::Task(task)) {
                Some(ticket) => self.end(asking, ticket, outcome).await,
                None => outcome,
            },
            ("tasks/get", Some("completed")) => {
                let (Some(inner), Some(mut fields)) = (inner, fields) else {
                    return outcome;
                };
                let Some(ticket) = self.take_ticket(&Goes::Task(task)) else {
                    return outcome;
                };
                let ended = Outcome::Result(text_of(&inner));
                let Outcome::Result(ended) = self.end(asking, ticket, ended).await else {
                    return outcome;
                };
                let ended: Value = serde_json::from_str(ended.get()).unwrap_or_default();
                fields.set("result", &ended);
                Outcome::Result(fields.write())
            }
            ("tasks/cancel" | "tasks/get", Some("cancelled" | "failed")) => {
                let ticket = self.take_ticket(&Goes::Task(task));
                self.lose(ticket);
                outcome
            }
            _ => outcome,
        }
    }
}
