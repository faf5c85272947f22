//! Approvals that require a passkey: nothing else is accepted, by any route.

use interlock_core::{
    Decision, Reply,
    call::{CallFacts, CallKind, CallResult, ToolCall},
    command::{Answer, Command, CommandKind, Consent, TransitionRequest},
    decide,
    event::{Event, PromptCall},
    evolve,
    machine::{Machine, Object},
    names::{CallId, Digest, RunId},
    passkey::{PasskeyAssertion, Statement},
    pending::pending,
    question,
    refusal::Code,
    run::Run,
};
use serde_json::json;

fn machine() -> Machine {
    let to = |state: &str, rule: serde_json::Value| json!({"branched": false, "transitions": [{"target": {"state": state}, "approval": rule}]});
    serde_json::from_value(json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Read"], "on_denied": "ask"},
                "approval": "passkey",
                "on": {
                    "SHIP": to("done", json!({"message": "Ship it?", "kind": "passkey"})),
                    "PLAIN": to("done", json!({})),
                },
            },
            "done": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

struct Played {
    machine: Machine,
    run: Run,
    events: Vec<Event>,
}

impl Played {
    fn new() -> Self {
        let mut played = Self {
            machine: machine(),
            run: Run::new(RunId::new("r")),
            events: Vec::new(),
        };
        played.ask(CommandKind::Start {
            input: Object::new(),
            by: "ana".to_owned(),
            durable: None,
        });
        played
    }

    fn ask(&mut self, command: CommandKind) -> Decision {
        let command = Command {
            at_ms: 1,
            kind: command,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in &decision.events {
            self.run = evolve(self.run.clone(), event);
            self.events.push(event.clone());
        }
        decision
    }

    fn sends(&mut self, event: &str, approved_by: Option<Consent>) -> Decision {
        self.ask(CommandKind::Transition(request(event, approved_by)))
    }

    fn proposes(&mut self, id: &str) -> Decision {
        self.ask(CommandKind::Propose(Box::new(call(id))))
    }

    /// Returns the approval of the only pending request, signed by a passkey.
    fn yes(&self) -> Answer {
        self.yes_at(self.run.seq)
    }

    /// Returns the same, signed for another moment of the run.
    fn yes_at(&self, seq: u64) -> Answer {
        let waiting = pending(&self.machine, &self.run);
        let [one] = waiting.as_slice() else {
            unreachable!("{waiting:?}");
        };
        let said = Statement {
            run: &self.run.id,
            request: &one.id(),
            question: one.digest(),
            note: None,
        };
        let passkey = PasskeyAssertion::unsigned(said, seq, Object::new());
        Answer {
            by: "ana".to_owned(),
            passkey: Some(Box::new(passkey)),
            ..Answer::default()
        }
    }

    /// Returns the code with which an approval is refused; the request stays pending.
    fn refused(&mut self, yes: Answer) -> Code {
        let (before, waiting) = (self.run.clone(), pending(&self.machine, &self.run));
        let Reply::Refused(refusal) = self.ask(CommandKind::Approve(yes)).reply else {
            unreachable!("a yes that is none was taken");
        };
        assert_eq!(pending(&self.machine, &self.run), waiting);
        assert_eq!(self.run, before, "a refused answer changes nothing");
        refusal.code
    }
}

fn request(event: &str, approved_by: Option<Consent>) -> TransitionRequest {
    TransitionRequest {
        event: event.to_owned(),
        data: Object::new(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by,
    }
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        tool: "Write".to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind: CallKind::Other,
        digest: Digest::new("w".repeat(64)),
        summary: "a.txt".to_owned(),
        agent: None,
        branch: None,
        prompts_in: Some("s".to_owned()),
        facts: CallFacts::default(),
    }
}

fn plain_yes() -> Answer {
    Answer {
        by: "ana".to_owned(),
        ..Answer::default()
    }
}

#[test]
fn a_transition_takes_a_passkey_and_nothing_else() {
    let mut played = Played::new();
    played.sends("SHIP", None);
    assert_eq!(played.refused(plain_yes()), Code::PasskeyRequired);
    let by_id = pending(&played.machine, &played.run)[0].id().to_string();
    let named = Answer {
        path: Some(by_id),
        ..plain_yes()
    };
    assert_eq!(played.refused(named), Code::PasskeyRequired);
    let yes = played.yes();
    assert_eq!(
        played.ask(CommandKind::Approve(yes.clone())).reply,
        Reply::Accepted
    );
    assert_eq!(played.run.root.at.as_str(), "done");
    let recorded = played.events.iter().find_map(|event| match event {
        Event::RequestAnswered { passkey, .. } => passkey.clone(),
        _ => None,
    });
    assert_eq!(recorded, yes.passkey, "the log can be checked");
}

#[test]
fn a_no_takes_none() {
    let mut played = Played::new();
    played.sends("SHIP", None);
    assert_eq!(
        played.ask(CommandKind::Reject(plain_yes())).reply,
        Reply::Accepted
    );
    assert_eq!(pending(&played.machine, &played.run), []);
    assert_eq!(played.run.root.at.as_str(), "work");
}

#[test]
fn an_assertion_is_for_its_request_moment_and_answer() {
    let mut played = Played::new();
    played.sends("SHIP", None);
    let first = played.yes();
    let changed = |change: &dyn Fn(&mut Answer)| {
        let mut yes = first.clone();
        change(&mut yes);
        yes
    };
    let invalid = Code::PasskeyInvalid;
    let data = |yes: &mut Answer| drop(yes.data.insert("version".to_owned(), json!("2")));
    assert_eq!(played.refused(changed(&data)), invalid, "other data");
    let note = |yes: &mut Answer| yes.note = Some("well".to_owned());
    assert_eq!(played.refused(changed(&note)), invalid, "another note");
    let edit = |yes: &mut Answer| yes.edit = Some("text".to_owned());
    assert_eq!(played.refused(changed(&edit)), invalid, "an edited output");
    let before = |yes: &mut Answer| yes.before = Some(99);
    assert_eq!(played.refused(changed(&before)), invalid, "another moment");
    for seq in [0, played.run.seq - 1, played.run.seq + 1] {
        let moved = |yes: &mut Answer| yes.passkey.as_mut().unwrap().seq = seq;
        assert_eq!(played.refused(changed(&moved)), invalid, "{seq}");
    }
    // Asked again, it is another request.
    played.ask(CommandKind::Reject(plain_yes()));
    played.sends("SHIP", None);
    assert_eq!(played.refused(first), invalid, "a replay");
    let mut elsewhere = played.yes();
    elsewhere.passkey = {
        let mut other = Played::new();
        other.run.id = RunId::new("other");
        other.sends("SHIP", None);
        other.yes().passkey
    };
    assert_eq!(played.refused(elsewhere), invalid, "of another run");
}

#[test]
fn the_prompt_of_a_client_neither_asks_nor_answers() {
    let mut played = Played::new();
    let ship = request("SHIP", None);
    assert_eq!(question(&played.machine, &played.run, &ship), None);
    assert!(question(&played.machine, &played.run, &request("PLAIN", None)).is_some());
    let prompt = PromptCall {
        session: "s".to_owned(),
        agent: None,
        call: CallId::new("t1"),
    };
    let asked = played.ask(CommandKind::AskInPrompt {
        request: ship.clone(),
        prompt,
    });
    assert_eq!((asked.reply, asked.events), (Reply::Accepted, Vec::new()));
    // A claim that a prompt was confirmed leaves the request pending.
    played.sends("SHIP", None);
    let digest = pending(&played.machine, &played.run)[0].digest().clone();
    played.ask(CommandKind::Reject(plain_yes()));
    let consent = Consent {
        by: "ana".to_owned(),
        question: digest,
    };
    let told = played.sends("SHIP", Some(consent));
    assert!(matches!(told.reply, Reply::Pending { .. }), "{told:?}");
    assert_eq!(played.run.root.at.as_str(), "work");
}

#[test]
fn a_call_is_refused_until_a_passkey_grants_it() {
    let mut played = Played::new();
    let first = played.proposes("t1");
    // The client gets a refusal, so that it does not ask in its own prompt.
    assert!(matches!(first.reply, Reply::Refused(_)), "{first:?}");
    assert!(!pending(&played.machine, &played.run)[0].is_in_prompt());
    assert!(played.proposes("t2").events.is_empty(), "asked already");
    // A call that runs anyway is not an approval, and leaves no trace of one.
    played.ask(CommandKind::Record(CallResult {
        id: Some(CallId::new("t1")),
        ok: true,
        exit: None,
        bytes: 0,
        wrote: Vec::new(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    }));
    assert_eq!(pending(&played.machine, &played.run).len(), 1);
    assert!(played.run.settled.is_empty(), "{:?}", played.run.settled);
    assert_eq!(played.refused(plain_yes()), Code::PasskeyRequired);
    assert!(matches!(played.proposes("t3").reply, Reply::Refused(_)));
    let yes = played.yes();
    assert_eq!(played.ask(CommandKind::Approve(yes)).reply, Reply::Accepted);
    assert_eq!(played.proposes("t4").reply, Reply::Accepted);
    assert!(
        matches!(played.proposes("t5").reply, Reply::Refused(_)),
        "it is used once"
    );
}

#[test]
fn an_assertion_of_a_moment_to_come_is_no_yes() {
    let mut played = Played::new();
    played.sends("SHIP", None);
    let ahead = played.yes_at(played.run.seq + 1);
    assert_eq!(played.refused(ahead), Code::PasskeyInvalid);
    let now = played.yes();
    assert_eq!(played.ask(CommandKind::Approve(now)).reply, Reply::Accepted);
}

#[test]
fn an_assertion_covers_no_message_and_no_changed_output() {
    let with: [fn(&mut Answer); 3] = [
        |yes| yes.message = Some("and be quick".to_owned()),
        |yes| yes.edit = Some("another output".to_owned()),
        |yes| yes.of = Some("work".to_owned()),
    ];
    for change in with {
        let mut played = Played::new();
        played.sends("SHIP", None);
        let mut yes = played.yes();
        change(&mut yes);
        assert_eq!(played.refused(yes), Code::PasskeyInvalid);
        let plain = played.yes();
        assert_eq!(
            played.ask(CommandKind::Approve(plain)).reply,
            Reply::Accepted
        );
    }
}

#[test]
fn another_call_is_another_question() {
    let mut played = Played::new();
    played.proposes("t1");
    let mut other = call("t2");
    other.digest = Digest::new("v".repeat(64));
    played.ask(CommandKind::Propose(Box::new(other)));
    assert_eq!(pending(&played.machine, &played.run).len(), 2);
}

#[test]
fn an_assertion_from_before_the_question_is_no_yes() {
    let mut played = Played::new();
    played.sends("SHIP", None);
    let asked = pending(&played.machine, &played.run)[0].request.seq;
    for seq in [asked - 1, asked] {
        let yes = played.yes_at(seq);
        assert_eq!(played.refused(yes), Code::PasskeyInvalid, "{seq}");
    }
}
