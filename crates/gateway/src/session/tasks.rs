//! Tasks: calls that outlive their request.
//!
//! The ticket of such a call is held until its end is seen.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{Asking, Session, serve::invalid};
use crate::{
    fields::Fields,
    govern::{CallEnd, Ticket},
    message::{Outcome, Request, raw},
    now_ms,
    session::kept::Upstream,
};

/// Maximum number of tickets held in one session.
const HELD_MAX: usize = 10_000;

/// Calls that outlive their request.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    held: HashMap<String, Ticket>,
    /// Server of each task.
    servers: HashMap<String, usize>,
}

impl Session {
    /// Returns the task as which a call continues; `None` if the answer is its end.
    pub(super) fn task_of(
        &self,
        outcome: &Outcome,
        asking: &Asking,
        server: &Arc<Upstream>,
    ) -> Option<String> {
        let Outcome::Result(result) = outcome else {
            return None;
        };
        let fields = Fields::of(result)?;
        let whole = match fields.text("resultType").as_deref() {
            Some("task") => fields.text("taskId"),
            _ => None,
        };
        let nested = || Some(fields.value("task")?.get("taskId")?.as_str()?.to_owned());
        // An answer with content is a result, whatever else it contains.
        let task = whole.or_else(|| fields.get("content").is_none().then(nested)?)?;
        let at = asking
            .side
            .upstreams
            .iter()
            .position(|other| Arc::ptr_eq(other, server))?;
        let servers = &mut self.state().tasks.servers;
        if servers.len() < HELD_MAX {
            servers.insert(task.clone(), at);
        }
        Some(task)
    }

    /// Holds the ticket of a call.
    pub(super) fn hold(&self, task: String, ticket: Ticket) {
        let replaced = {
            let held = &mut self.state().tasks.held;
            if held.len() < HELD_MAX {
                held.insert(task, ticket)
            } else {
                Some(ticket)
            }
        };
        self.lose(replaced);
    }

    fn take_ticket(&self, task: &str) -> Option<Ticket> {
        self.state().tasks.held.remove(task)
    }

    /// Records that the end of a call will stay unknown.
    fn lose(&self, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket {
            self.governor.tell(move |govern| {
                govern.ended(&ticket, CallEnd::Unknown, now_ms());
            });
        }
    }

    /// Records this for all calls that are held.
    pub(super) fn forget_tasks(&self) {
        let tasks = std::mem::take(&mut self.state().tasks);
        let mut held: Vec<Ticket> = tasks.held.into_values().collect();
        held.sort_by_key(|ticket| ticket.call.as_ref().map(ToString::to_string));
        for ticket in held {
            self.lose(Some(ticket));
        }
    }

    /// Answers a request about a task by the task's server.
    pub(super) async fn with_task(self: &Arc<Self>, asking: &Asking, request: Request) -> Outcome {
        let method = request.method.clone();
        let Some(task) = request.text("taskId").map(str::to_owned) else {
            if asking.side.only().is_some() {
                return self.pass_on(asking, request).await;
            }
            return invalid("`taskId` must be given");
        };
        let known = self.state().tasks.servers.get(&task).copied();
        let server = known.and_then(|at| asking.side.upstreams.get(at));
        let outcome = match server.or_else(|| asking.side.only()) {
            Some(server) => {
                let server = Arc::clone(server);
                self.forward(asking, &server, &method, request.params).await
            }
            None => {
                let servers = asking.side.upstreams.clone();
                let declined = |outcome: &Outcome| matches!(outcome, Outcome::Error(_));
                self.first_of(asking, &servers, request, None, declined)
                    .await
            }
        };
        self.task_answered(asking, &method, task, outcome).await
    }

    /// Checks whether an answer is the end of a call that continued as a task.
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
            ("tasks/result", _) => match self.take_ticket(&task) {
                Some(ticket) => self.end(asking, ticket, outcome).await,
                None => outcome,
            },
            ("tasks/get", Some("completed")) => {
                let (Some(inner), Some(mut fields)) = (inner, fields) else {
                    return outcome;
                };
                let Some(ticket) = self.take_ticket(&task) else {
                    return outcome;
                };
                let ended = Outcome::Result(raw(&inner));
                let Outcome::Result(ended) = self.end(asking, ticket, ended).await else {
                    return outcome;
                };
                let ended: Value = serde_json::from_str(ended.get()).unwrap_or_default();
                fields.set("result", &ended);
                Outcome::Result(fields.write())
            }
            ("tasks/cancel" | "tasks/get", Some("cancelled" | "failed")) => {
                let ticket = self.take_ticket(&task);
                self.lose(ticket);
                outcome
            }
            _ => outcome,
        }
    }
}
