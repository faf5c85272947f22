//! The servers that single commands of a page need: a scripted model, and a collector of spans.

use interlock_testkit::{
    collector::Collector,
    provider::{self, Provider, Reply, Script as Replies},
};

use super::script::Step;

/// The servers of one command; they stop when dropped.
pub(super) struct Services {
    model: Option<(Provider, usize)>,
    collector: Option<Collector>,
}

impl Services {
    /// Starts what the command needs.
    pub(super) fn start(step: &Step) -> Services {
        let replies = step.model.iter().map(|calls| {
            let calls = calls.iter();
            Reply::say(
                calls
                    .map(|(tool, input)| provider::call(tool, input))
                    .collect(),
            )
        });
        let replies: Vec<Reply> = replies.collect();
        let count = replies.len();
        let model = (count > 0).then(|| {
            let model = Provider::start(Replies::replies(replies)).unwrap();
            (model, count)
        });
        let collector = step.collector.then(|| Collector::start("200 OK").unwrap());
        Services { model, collector }
    }

    /// Returns the environment variables through which the program finds them.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if let Some((model, _)) = &self.model {
            variables.push(("ANTHROPIC_BASE_URL", model.url()));
            variables.push(("ANTHROPIC_API_KEY", "a-key".to_owned()));
        }
        if let Some(collector) = &self.collector {
            variables.push(("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint()));
        }
        variables
    }

    /// Checks that the command has used them.
    pub(super) fn expect_used(&self) -> Result<(), String> {
        if let Some((model, count)) = &self.model {
            let asked = model.asked().len();
            if asked != *count {
                return Err(format!("the model got {asked} requests, not {count}"));
            }
        }
        let is_unused = |collector: &Collector| collector.posted().is_empty();
        match self.collector.as_ref().is_some_and(is_unused) {
            true => Err("the collector got nothing".to_owned()),
            false => Ok(()),
        }
    }
}
