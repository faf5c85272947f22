//! The policy of a transcript, as its first lines define it.

use std::sync::{Arc, Mutex};

use interlock_gateway::govern::{
    CallDecision, CallEnd, GatewayCall, Instead, ListedTool, NotRead, OwnCall, PersonSaid,
    Question, Reading, ReadingOf, SessionPolicy, Ticket,
};
use serde_json::{Value, json};

/// The settings in a transcript's first lines.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) servers: Vec<String>,
    /// The client's capabilities.
    pub(crate) client: Value,
    /// The capabilities of every server.
    pub(crate) server: Value,
    /// The requests that servers may not send to the client.
    pub(crate) refused: Vec<String>,
    rules: Vec<(String, String)>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            client: json!({}),
            server: json!({"tools": {}}),
            refused: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl Scene {
    /// Reads a line; returns `false` if it is not one of the first lines.
    pub(crate) fn take(&mut self, line: &str) -> bool {
        let known = [
            "servers", "client", "server", "refused", "own", "hide", "deny", "ask", "ticket",
            "cut", "unread",
        ];
        let Some((key, value)) = line.split_once(": ").filter(|(key, _)| known.contains(key))
        else {
            return false;
        };
        match key {
            "servers" => self.servers = value.split_whitespace().map(str::to_owned).collect(),
            "client" => self.client = serde_json::from_str(value).unwrap(),
            "server" => self.server = serde_json::from_str(value).unwrap(),
            "refused" => self.refused = value.split_whitespace().map(str::to_owned).collect(),
            _ => self.rules.push((key.to_owned(), value.to_owned())),
        }
        true
    }

    fn says(&self, key: &str, value: &str) -> bool {
        self.rules
            .iter()
            .any(|(known, name)| known == key && name == value)
    }
}

/// The questions to the policy, one per line.
pub(crate) type Told = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) scene: Scene,
    pub(crate) told: Told,
    pub(crate) moved: bool,
}

impl Scripted {
    fn tell(&self, line: String) {
        self.told.lock().unwrap().push(line);
    }

    fn ticket(&self, name: &str) -> Ticket {
        let counted = self.scene.says("ticket", name) || self.scene.says("cut", name);
        Ticket {
            call: counted.then(|| name.into()),
            bytes_max: None,
        }
    }
}

pub(crate) fn refusal(name: &str) -> Value {
    json!({"content": [{"type": "text", "text": format!("no {name}")}], "isError": true})
}

impl SessionPolicy for Scripted {
    fn own_tools(&self) -> Vec<Value> {
        let own = self.scene.rules.iter().filter(|(key, _)| key == "own");
        own.map(|(_, name)| json!({"name": name, "inputSchema": {"type": "object"}}))
            .collect()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn own_call(&mut self, name: &str, _call: &OwnCall<'_>) -> Option<CallDecision> {
        self.moved = true;
        let answer = json!({"content": [{"type": "text", "text": name}]});
        self.scene
            .says("own", name)
            .then_some(CallDecision::Answer(answer))
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        tools
            .iter()
            .map(|tool| !self.scene.says("hide", tool.shown))
            .collect()
    }

    fn call(&mut self, call: &GatewayCall<'_>) -> CallDecision {
        let tool = call.tool;
        let known = !tool.definition.is_null();
        self.tell(format!(
            "call {}/{} as {} known={known}",
            tool.server, tool.name, tool.shown
        ));
        if self.scene.says("deny", tool.shown) {
            return CallDecision::Answer(refusal(tool.shown));
        }
        if self.scene.says("ask", tool.shown) {
            return CallDecision::Ask(Question {
                message: format!("may {} run?", tool.shown),
                key: tool.shown.to_owned(),
                unasked: refusal("one to ask"),
            });
        }
        CallDecision::Pass(self.ticket(tool.shown))
    }

    fn read(&mut self, reading: &Reading<'_>) -> Option<NotRead> {
        let (ReadingOf::Resource(what) | ReadingOf::Prompt(what, _)) = reading.of;
        self.scene.says("unread", what).then(|| NotRead {
            message: format!("{what} is not for you"),
            data: json!({"code": "protected"}),
        })
    }

    fn answered(&mut self, key: &str, said: &PersonSaid, _at_ms: u64) -> CallDecision {
        self.tell(format!("answered {key}: {said:?}"));
        match said {
            PersonSaid::Yes => CallDecision::Pass(self.ticket(key)),
            PersonSaid::No { note } => CallDecision::Answer(refusal(note)),
            PersonSaid::Nothing => CallDecision::Answer(refusal("answer")),
        }
    }

    fn ended(&mut self, ticket: &Ticket, result: CallEnd<'_>, _at_ms: u64) -> Option<Instead> {
        let name = ticket.call.as_ref()?.to_string();
        let how = match result {
            CallEnd::Result(text) => format!("result {} bytes", text.get().len()),
            CallEnd::Error(_) => "error".to_owned(),
            CallEnd::Unknown => "unknown".to_owned(),
        };
        self.tell(format!("ended {name}: {how}"));
        self.scene
            .says("cut", &name)
            .then(|| Instead::Result(json!({"content": [], "cut": true})))
    }

    fn changed(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }
}
