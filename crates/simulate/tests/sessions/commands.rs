//! The next command of a session, chosen at random: usually one that is meaningful in the run's state.

use interlock_core::{
    call::ToolCall,
    command::{
        Answer, CommandKind, Consent, EffectSettlement, LineEnd, LineStart, TransitionRequest,
    },
    event::{PromptCall, PromptEnd, ProtectedChange, ProtectedFate, TokenPlace, ToolChange},
    machine::Object,
    names::{AgentId, CallId, Digest, FramePath},
    pending::pending,
    place::{machine_of, standing},
    question,
    run::OpenCall,
};
use interlock_simulate::with_what_it_takes;
use serde_json::json;

use crate::sessions::{
    session::{Session, different},
    varied::varied,
};

impl Session<'_> {
    pub(crate) fn command(&mut self) -> CommandKind {
        let by = "ana".to_owned();
        if self.run.paused.is_some() && self.dice.one_in(3) {
            return CommandKind::Resume { by, seen: None };
        }
        if self.run.is_over() && self.dice.one_in(2) {
            return CommandKind::Reopen { by };
        }
        if self.machine.durable && !self.dice.one_in(5) {
            return self.carried_out();
        }
        match self.dice.below(20) {
            0..=5 => self.transition(),
            6..=11 => self.propose(),
            12..=14 => self.result(),
            15 | 16 => self.answered(),
            _ => self.rare(),
        }
    }

    pub(crate) fn id(&mut self) -> CallId {
        CallId::new(format!("c{}", self.proposed.len()))
    }

    fn agent(&mut self) -> Option<AgentId> {
        let named = self.dice.one_in(4);
        named.then(|| AgentId::new(self.dice.word(&["a1", "a2"])))
    }

    /// Returns one of the run's frames, or none.
    pub(crate) fn place(&mut self) -> FramePath {
        let standing = standing(&self.run);
        self.dice.pick(&standing).cloned().unwrap_or_default()
    }

    fn branch(&mut self) -> Option<String> {
        let many = standing(&self.run).len() > 1;
        if !self.dice.one_in(if many { 2 } else { 12 }) {
            return None;
        }
        let path = self.place();
        let last = path.names().last().cloned();
        match self.dice.below(3) {
            0 => last,
            1 => Some(path.to_string()),
            _ => Some(self.dice.word(&["a", "nowhere"])),
        }
    }

    pub(crate) fn data(&mut self) -> Object {
        let picked = self.dice.pick(&self.material.data).cloned();
        picked.unwrap_or_default()
    }

    fn event(&mut self) -> String {
        let path = self.place();
        let frame = self.run.frame(&path);
        let own = machine_of(&self.machine, &self.run, &path);
        let state = frame.and_then(|frame| own?.states.get(&frame.at));
        let known: Vec<String> = state
            .into_iter()
            .flat_map(|state| state.on.keys())
            .map(ToString::to_string)
            .collect();
        let picked = match self.dice.below(8) {
            0 => self.dice.pick(&self.material.events),
            _ => self.dice.pick(&known),
        };
        picked.cloned().unwrap_or_else(|| "done".to_owned())
    }

    fn request(&mut self) -> TransitionRequest {
        let agent = self.agent();
        let by = match &agent {
            Some(agent) => agent.to_string(),
            None => self.dice.word(&["agent", "agent", "ana"]),
        };
        TransitionRequest {
            event: self.event(),
            data: self.data(),
            branch: self.branch(),
            agent,
            by,
            approved_by: None,
        }
    }

    fn transition(&mut self) -> CommandKind {
        let mut request = self.request();
        let asked = question(&self.machine, &self.run, &request);
        match (asked, self.dice.below(4)) {
            (Some(asked), 0) => {
                request.approved_by = Some(Consent {
                    by: "ana".to_owned(),
                    question: asked.digest,
                });
            }
            (Some(_), 1) => {
                return CommandKind::AskInPrompt {
                    request,
                    prompt: self.prompt(),
                };
            }
            _ => {}
        }
        CommandKind::Transition(request)
    }

    fn prompt(&mut self) -> PromptCall {
        let agent = self.agent();
        PromptCall {
            session: self.dice.word(&["s1", "s1", "s2"]),
            agent,
            call: self.id(),
        }
    }

    pub(crate) fn some_call(&mut self) -> ToolCall {
        let again = self.dice.one_in(5);
        let from = if again && !self.proposed.is_empty() {
            &self.proposed
        } else {
            &self.material.calls
        };
        let mut call = self.dice.pick(from).cloned().unwrap();
        if self.dice.one_in(3) {
            call.facts = varied(&mut self.dice, &call.facts, &self.material.facts, 1);
        }
        call
    }

    fn propose(&mut self) -> CommandKind {
        let mut call = self.some_call();
        if !self.dice.one_in(8) {
            call.id = self.id();
        }
        if !self.dice.one_in(3) {
            call.agent = self.agent();
            call.branch = self.branch();
        }
        if self.dice.one_in(4) {
            call.prompts_in = Some(self.dice.word(&["s1", "s2"]));
        }
        call.foreign |= self.dice.one_in(25);
        self.proposed.push(call.clone());
        CommandKind::Propose(Box::new(call))
    }

    fn open_call(&mut self) -> Option<OpenCall> {
        let open: Vec<&OpenCall> = self.run.calls.iter().collect();
        self.dice.pick(&open).copied().cloned()
    }

    /// Reports the end of a call, or of the line that it runs.
    fn result(&mut self) -> CommandKind {
        let open = self.open_call();
        let result = self.ended(open.as_ref());
        let id = open.as_ref().map(|open| open.id.clone());
        match self.dice.below(6) {
            0 => CommandKind::StartLine(LineStart {
                call: id.unwrap_or_default(),
                level: self.dice.word(&["files", "network"]),
                unconfined: vec!["network".to_owned()],
            }),
            1 | 2 => CommandKind::EndLine(LineEnd {
                call: id.unwrap_or_default(),
                path: open.map_or_else(FramePath::root, |open| open.path),
                exit: result.exit,
                wrote: result.wrote,
                commands: result.commands,
                unseen: self.dice.one_in(4),
                checked: result.checked,
            }),
            _ => CommandKind::Record(result),
        }
    }

    pub(crate) fn answered(&mut self) -> CommandKind {
        let waiting = pending(&self.machine, &self.run);
        let mut answer: Answer = self
            .dice
            .pick(&self.material.answers)
            .cloned()
            .unwrap_or_default();
        if let Some(one) = self.dice.pick(&waiting) {
            answer.path = match self.dice.below(5) {
                0 => None,
                1 => Some(one.id().to_string()),
                2 => Some(one.shown.clone()),
                3 => Some(one.path().to_string()),
                _ => answer.path,
            };
        }
        if self.dice.one_in(4) {
            answer.data = self.data();
        }
        if self.dice.one_in(5) {
            answer.before = Some(self.run.seq.saturating_sub(self.dice.number(&[0, 1, 4])));
        }
        match self.dice.below(24) {
            0 => answer.message = Some("go on".to_owned()),
            1 => answer.edit = Some("{\"x\": 2}".to_owned()),
            2 => answer.note = Some("not so".to_owned()),
            3 => answer.of = Some(self.place().to_string()),
            _ => {}
        }
        if self.dice.one_in(4) {
            return CommandKind::Reject(answer);
        }
        if self.dice.one_in(6) {
            return CommandKind::Approve(answer);
        }
        CommandKind::Approve(with_what_it_takes(&self.machine, &self.run, answer))
    }

    pub(crate) fn rare(&mut self) -> CommandKind {
        let by = self.dice.word(&["ana", "bob"]);
        match self.dice.below(26) {
            0 => CommandKind::Pause {
                by,
                reason: Some("a look".to_owned()),
            },
            1..=4 => CommandKind::Resume { by, seen: None },
            5 | 6 => {
                let prompt = self.prompt();
                let open = self.run.requests.iter().find_map(|one| one.prompt.clone());
                let call = open.map_or(prompt.call, |open| open.call);
                let why = [
                    PromptEnd::NextCall,
                    PromptEnd::OtherArguments,
                    PromptEnd::TurnOver,
                    PromptEnd::SessionOver,
                ];
                CommandKind::ClosePrompts {
                    session: prompt.session,
                    agent: prompt.agent,
                    call: (!self.dice.one_in(3)).then_some(call),
                    why: self.dice.pick(&why).copied().unwrap_or(PromptEnd::TurnOver),
                }
            }
            7 => CommandKind::ReleaseAgent {
                agent: AgentId::new(self.dice.word(&["a1", "a2"])),
            },
            8 => CommandKind::Finish,
            9 => CommandKind::ReportFiles {
                files: vec!["src/a.py".to_owned(), "b.py".to_owned()],
                before: self.open_call().map(|open| open.id),
            },
            10 => CommandKind::ReportFrozen {
                changes: self.frozen(),
            },
            11 => CommandKind::ReportProtected {
                changes: vec![ProtectedChange {
                    path: self.dice.word(&["/p/1", "/p/2"]),
                    what: "settings".to_owned(),
                    fate: ProtectedFate::Changed,
                    digest: Some(self.dice.word(&["d1", "d2"])),
                    undone: self.dice.one_in(3),
                }],
            },
            12 => CommandKind::ReportToken {
                place: TokenPlace::Result,
            },
            13 => CommandKind::ReportTool(ToolChange {
                server: self.dice.word(&["s", "t"]),
                tool: "t".to_owned(),
                pinned: Digest::new("1"),
                found: Digest::new(self.dice.word(&["2", "3"])),
                parts: vec!["description".to_owned()],
            }),
            14 => CommandKind::AcceptTool {
                server: self.dice.word(&["s", "t"]),
                tool: "t".to_owned(),
                by,
            },
            15 => CommandKind::ReportConsole {
                pid: 7,
                program: "sh".to_owned(),
                request: "POST /".to_owned(),
            },
            16 => CommandKind::DecideTrust {
                project: "/p".to_owned(),
                word: "no".to_owned(),
                digest: Digest::new("d"),
                by,
            },
            17 if self.dice.one_in(2) => CommandKind::Cancel { by },
            17..=19 => CommandKind::Advance,
            20 => CommandKind::LoseEffects,
            21 => CommandKind::SettleEffect {
                path: None,
                how: EffectSettlement::Again,
                by,
            },
            22 | 23 => CommandKind::Reopen { by },
            24 => CommandKind::Adopt {
                machine: Box::new(different(&mut self.dice, self.material)),
                by,
            },
            _ => CommandKind::SetVariables {
                values: match self.dice.one_in(3) {
                    true => json!({"new": 1}).as_object().unwrap().clone(),
                    false => self.data(),
                },
                by,
            },
        }
    }
}
