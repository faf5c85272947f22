//! Counts the decisions of a session's policy.

use serde_json::Value;

use super::Metrics;
use crate::govern::{
    CallDecision, CallEnd, GatewayCall, Instead, ListedTool, NotRead, OwnCall, PersonSaid, Reading,
    SessionPolicy, Ticket,
};

/// A policy whose decisions are counted.
pub(crate) struct Counting {
    pub(crate) inner: Box<dyn SessionPolicy>,
    pub(crate) metrics: Metrics,
}

impl Counting {
    fn count(&self, ruling: CallDecision) -> CallDecision {
        match &ruling {
            // Without a run that guards the session, there was nothing to judge.
            CallDecision::Pass(ticket) if ticket.call.is_none() => {}
            CallDecision::Pass(_) => self.metrics.verdict("allowed"),
            CallDecision::Ask(_) => self.metrics.verdict("asked"),
            CallDecision::Answer(answer) => {
                let code = answer.pointer("/structuredContent/code");
                if let Some(code) = code.and_then(Value::as_str) {
                    self.metrics.verdict(code);
                }
            }
        }
        ruling
    }
}

impl SessionPolicy for Counting {
    fn begin(&mut self) {
        self.inner.begin();
    }

    fn own_tools(&self) -> Vec<Value> {
        self.inner.own_tools()
    }

    fn instructions(&self) -> String {
        self.inner.instructions()
    }

    fn own_call(&mut self, name: &str, call: &OwnCall<'_>) -> Option<CallDecision> {
        let ruling = self.inner.own_call(name, call)?;
        Some(self.count(ruling))
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        self.inner.shown(tools)
    }

    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision {
        let ruling = self.inner.call(call);
        self.count(ruling)
    }

    fn read(&mut self, reading: &Reading<'_>) -> Option<NotRead> {
        let refused = self.inner.read(reading)?;
        if let Some(code) = refused.data.get("code").and_then(Value::as_str) {
            self.metrics.verdict(code);
        }
        Some(refused)
    }

    fn answered(&mut self, key: &str, said: &PersonSaid, at_ms: u64) -> CallDecision {
        let ruling = self.inner.answered(key, said, at_ms);
        self.count(ruling)
    }

    fn ended(&mut self, ticket: &Ticket, result: CallEnd<'_>, at_ms: u64) -> Option<Instead> {
        self.inner.ended(ticket, result, at_ms)
    }

    fn changed(&mut self) -> bool {
        self.inner.changed()
    }
}

#[cfg(test)]
mod tests {
    use interlock_core::names::CallId;

    use super::{CallDecision, Counting, Metrics, Ticket};
    use crate::governor_queue::Nobody;

    #[test]
    fn a_call_that_no_run_judged_is_not_counted() {
        let metrics = Metrics::default();
        let counting = Counting {
            inner: Box::new(Nobody),
            metrics: metrics.clone(),
        };
        let pass = |call: Option<&str>| {
            counting.count(CallDecision::Pass(Ticket {
                call: call.map(CallId::new),
                bytes_max: None,
            }));
            metrics.counted().verdicts.get("allowed").copied()
        };
        assert_eq!(pass(None), None);
        assert_eq!(pass(Some("1")), Some(1));
    }
}
