//! Model stages: a real client, a scripted provider, real tools.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use interlock_core::{event::Event, machine::Machine};
use interlock_models::{
    Answer, Client, Heard, Key, Kind, ModelError, Provider, Request, RetryPolicy, Usage,
};
use interlock_process::Cancel;
use interlock_runner::{
    Answers, Channel, ChannelAnswer, Halt, Model, Models, Open, People, PersonRequest, RunContext,
    Stages, Tries,
};
use interlock_testkit::provider::{self, ModelRequest, Reply, Say, Script, call, text};
use interlock_tools::Tool;
use serde_json::{Value, json};

use crate::runs::flow::{Room, to};

/// A provider that receives calls.
pub(crate) struct Scripted {
    provider: provider::Provider,
    client: Client,
    kind: Kind,
}

impl Scripted {
    pub(crate) fn new(kind: Kind, script: Script) -> Arc<Self> {
        Arc::new(Self {
            provider: provider::Provider::start(script).unwrap(),
            client: Client::new().unwrap(),
            kind,
        })
    }

    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.provider.asked()
    }
}

impl Models for Scripted {
    fn find(&self, _: Option<&str>) -> Result<Model, String> {
        Ok(Model {
            provider: self.kind.as_str().to_owned(),
            kind: self.kind,
            name: "m1".to_owned(),
        })
    }

    fn call(
        &self,
        model: &Model,
        request: &Request,
        _: Tries,
        cancel: &Cancel,
        heard: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError> {
        let key = Key::new("k").unwrap();
        let url = match model.kind {
            Kind::OpenAi => format!("{}/v1", self.provider.url()),
            _ => self.provider.url(),
        };
        let provider = Provider::new(model.kind, Some(&url), Some(key)).unwrap();
        self.client
            .call(&provider, request, &RetryPolicy::once(), cancel, heard)
    }

    fn cost(&self, _: &Model, _: &Usage) -> Option<u64> {
        None
    }
}

/// Answers each request with the next of these; after the last, nobody is there.
struct Answering(Mutex<Vec<ChannelAnswer>>, Mutex<Vec<PersonRequest>>);

struct Asking;

impl Open for Asking {
    fn withdraw(self: Box<Self>, _: &str) {}
}

impl Channel for Answering {
    fn ask(&self, wanted: PersonRequest, answers: Answers) -> Box<dyn Open> {
        self.1.lock().unwrap().push(wanted);
        let mut left = self.0.lock().unwrap();
        let said = if left.is_empty() {
            ChannelAnswer::Broken
        } else {
            left.remove(0)
        };
        // An impatient person presses a key twice: the second press is not an answer to the next request.
        answers.say(said.clone());
        answers.say(said);
        Box::new(Asking)
    }
}

pub(crate) fn stages(room: &Room, models: &Arc<Scripted>, people: People) -> Arc<Stages> {
    let project = room.project();
    let place = interlock_facts::CallContext::of_project(project.to_str().unwrap())
        .resolved(&interlock_facts::RealDisk);
    Arc::new(Stages {
        models: Arc::clone(models) as Arc<dyn Models>,
        model: None,
        tools: Tool::PIPELINE.to_vec(),
        secrets: interlock_tools::Secrets::default(),
        servers: None,
        messages: room.log().messages(),
        home: room.home(),
        place,
        decided: interlock_confine::Decided::default(),
        program: "interlock".into(),
        people,
        datasources: Vec::new(),
        variables: std::collections::BTreeMap::new(),
    })
}

pub(crate) fn drive(room: &Room, models: &Arc<Scripted>, people: People) -> Halt {
    let stages = stages(room, models, people);
    let mut host = room.host_with(|context: &mut RunContext| context.stages = Some(stages));
    host.drive(&room.machine).unwrap()
}

/// Returns a stage that completes with `submit`.
pub(crate) fn stage(body: &str, tools: &[&str], next: Option<&str>) -> Value {
    json!({
        "activity": {"stage": {
            "body": [{"plain": body}],
            "ending": {"tool": {"name": "submit", "schema": {
                "type": "object", "required": ["said"],
                "properties": {"said": {"type": "string"}}, "additionalProperties": false,
            }}},
            "turns_max": 6,
        }},
        "policy": {"allowed_tools": tools},
        "on": {"done": {"transitions": [to(next)]}},
    })
}

pub(crate) fn machine(states: Value) -> Machine {
    let machine = json!({
        "id": "flow", "initial": "a", "durable": true, "states": states,
        "stages": {},
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

fn names(room: &Room) -> Vec<&'static str> {
    room.events().iter().map(Event::name).collect()
}

pub(crate) fn submit(said: &str) -> Vec<Say> {
    vec![call("submit", json!({ "said": said }))]
}

#[test]
fn a_stage_reads_writes_and_hands_in() {
    for kind in Kind::ALL {
        let room = Room::new(machine(
            json!({"a": stage("Do it.", &["Read", "Write", "Grep"], None)}),
        ));
        fs::write(room.project().join("one.txt"), "the first line\n").unwrap();
        let models = Scripted::new(
            kind,
            Script::turns(vec![
                vec![
                    text("Let me look."),
                    call("Read", json!({"file_path": "one.txt"})),
                    call("Grep", json!({"pattern": "first"})),
                ],
                vec![call(
                    "Write",
                    json!({"file_path": "two.txt", "content": "second\n"}),
                )],
                submit("ready"),
            ]),
        );
        let halt = drive(&room, &models, People::default());
        assert_eq!((halt, room.code()), (Halt::Over, Some(0)), "{kind}");
        let written = fs::read_to_string(room.project().join("two.txt"));
        assert_eq!(written.unwrap(), "second\n");
        let upstream = room.load().root.line.context.get("upstream").cloned();
        assert_eq!(upstream, Some(json!({"a": {"said": "ready"}})));
        let asked = models.asked();
        assert_eq!(asked.len(), 3, "{kind}");
        let results = asked[1].results();
        assert!(results[0].contains("the first line"), "{results:?}");
        assert!(results[1].contains("one.txt"), "{results:?}");
        assert_eq!(
            names(&room),
            [
                "RunStarted",
                "EffectStarted",
                "StageEntered",
                "StageStarted",
                "ModelCalled",
                "ModelResponded",
                "ToolAllowed",
                "ToolStarted",
                "ToolAllowed",
                "ToolStarted",
                "ToolEnded",
                "ToolEnded",
                "TurnEnded",
                "ModelCalled",
                "ModelResponded",
                "ToolAllowed",
                "ToolStarted",
                "ToolEnded",
                "TurnEnded",
                "ModelCalled",
                "ModelResponded",
                "CompletionAccepted",
                "TurnEnded",
                "StageActed",
                "StageAsserted",
                "StageExited",
                "RunCompleted",
            ],
            "{kind}"
        );
    }
}

#[test]
fn a_stage_shows_as_much_of_a_result_as_it_says_itself() {
    let mut short = stage("Do it.", &["Read"], Some("b"));
    short["activity"]["stage"]["result_bytes"] = json!(400);
    let room = Room::new(machine(
        json!({"a": short, "b": stage("Do it.", &["Read"], None)}),
    ));
    fs::write(room.project().join("long.txt"), "a line\n".repeat(200)).unwrap();
    let read = || vec![call("Read", json!({"file_path": "long.txt"}))];
    let script = Script::turns(vec![read(), submit("one"), read(), submit("two")]);
    let models = Scripted::new(Kind::Anthropic, script);
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    let asked = models.asked();
    let shown = |at: usize| asked[at].results()[0].matches("a line").count();
    assert!((1..60).contains(&shown(1)), "{}", shown(1));
    assert_eq!(shown(3), 200);
}

/// Returns which of two stages, which look at a file each, a request belongs to.
fn of(asked: &ModelRequest) -> &'static str {
    let is_one = asked.body.to_string().contains("Look at one.txt");
    if is_one { "one" } else { "two" }
}

#[test]
fn of_two_stages_at_once_each_hears_its_own_events_alone() {
    let fork = json!({
        "over": {"branches": {
            "one": {"initial": "one", "terminal": ""},
            "two": {"initial": "two", "terminal": ""},
        }},
        "join": "settled", "merge": "captured",
    });
    let room = Room::new(machine(json!({
        "a": {"activity": {"parallel": fork}, "on": {"done": {"transitions": [to(None)]}}},
        "one": stage("Look at one.txt", &["Read"], None),
        "two": stage("Look at two.txt", &["Read"], None),
    })));
    for name in ["one", "two"] {
        let text = format!("what {name} holds\n");
        fs::write(room.project().join(format!("{name}.txt")), text).unwrap();
    }
    let script = Script::new(|asked| {
        let file = format!("{}.txt", of(asked));
        Reply::say(match asked.turn {
            0 | 1 => vec![call("Read", json!({ "file_path": file }))],
            _ => submit("seen"),
        })
    });
    let models = Scripted::new(Kind::Anthropic, script);
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    let asked = models.asked();
    for (own, other) in [("one", "two"), ("two", "one")] {
        let own_requests = asked.iter().filter(|asked| of(asked) == own);
        let turns: Vec<usize> = own_requests.clone().map(|asked| asked.turn).collect();
        assert_eq!(turns, [0, 1, 2], "{own}");
        let foreign = format!("what {other} holds");
        for asked in own_requests {
            assert!(!asked.body.to_string().contains(&foreign), "{own}");
        }
    }
}

#[test]
fn a_token_that_reaches_a_model_is_void() {
    for kind in Kind::ALL {
        let room = Room::new(machine(json!({"a": stage("Do it.", &["Read"], None)})));
        let token = room.home().make_token(Vec::new()).unwrap();
        let note = format!("export INTERLOCK_TOKEN=\"{token}\"\n");
        fs::write(room.project().join("note.txt"), note).unwrap();
        let models = Scripted::new(
            kind,
            Script::turns(vec![
                vec![call("Read", json!({"file_path": "note.txt"}))],
                submit("ready"),
            ]),
        );
        assert_eq!(drive(&room, &models, People::default()), Halt::Over);
        assert_eq!(
            room.home().token_made_below(&token).unwrap(),
            None,
            "{kind}"
        );
        let told = names(&room)
            .iter()
            .filter(|name| **name == "TokenSeen")
            .count();
        assert_eq!(told, 1, "{kind}");
    }
}

#[test]
fn a_call_with_a_token_is_refused_and_the_token_void() {
    let room = Room::new(machine(json!({"a": stage("Do it.", &["Write"], None)})));
    let token = room.home().make_token(Vec::new()).unwrap();
    let models = Scripted::new(
        Kind::Anthropic,
        Script::turns(vec![
            vec![call("Write", json!({"file_path": "x", "content": token}))],
            submit("ready"),
        ]),
    );
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert!(!room.project().join("x").exists());
    let result: Value = serde_json::from_str(&models.asked()[1].results()[0]).unwrap();
    assert_eq!(result["code"], "protected");
    assert_eq!(room.home().token_made_below(&token).unwrap(), None);
    assert!(names(&room).contains(&"TokenSeen"));
}

#[test]
fn a_call_beyond_the_list_is_denied_where_nobody_is_asked() {
    let room = Room::new(machine(json!({"a": stage("Do it.", &["Read"], None)})));
    let models = Scripted::new(
        Kind::Anthropic,
        Script::turns(vec![
            vec![call("Write", json!({"file_path": "x", "content": "x"}))],
            submit("ready"),
        ]),
    );
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert!(!room.project().join("x").exists());
    let results = models.asked()[1].results();
    let result: Value = serde_json::from_str(&results[0]).unwrap();
    assert_eq!(result["code"], "grant_denied");
    assert!(
        result["message"]
            .as_str()
            .unwrap()
            .starts_with("no_channel"),
        "{result}"
    );
}

#[test]
fn a_yes_is_for_one_call_and_a_no_for_one() {
    let room = Room::new(machine(json!({"a": stage("Do it.", &["Read"], None)})));
    let write = |name: &str| vec![call("Write", json!({"file_path": name, "content": "x"}))];
    let models = Scripted::new(
        Kind::OpenAi,
        Script::turns(vec![write("x"), write("y"), write("x"), submit("ready")]),
    );
    let by = || "ana".to_owned();
    let answers = vec![
        ChannelAnswer::Yes { by: by() },
        ChannelAnswer::No {
            by: by(),
            note: Some("not that".to_owned()),
        },
        ChannelAnswer::Later,
    ];
    let here = Arc::new(Answering(Mutex::new(answers), Mutex::default()));
    let people = People {
        here: Some(Arc::clone(&here) as _),
        ..People::default()
    };
    assert_eq!(drive(&room, &models, people), Halt::Over);
    assert!(room.project().join("x").exists());
    assert!(!room.project().join("y").exists());
    let asked = models.asked();
    assert!(
        asked[2].results()[0].contains("not that"),
        "{:?}",
        asked[2].results()
    );
    assert!(asked[3].results()[0].contains("deferred"));
    assert_eq!(here.1.lock().unwrap().len(), 3);
    let count = |name: &str| names(&room).iter().filter(|known| **known == name).count();
    assert_eq!(count("GrantRequested"), 3);
    assert_eq!(count("GrantConsumed"), 1);
}

#[test]
fn what_the_model_writes_wrong_comes_back_with_its_code() {
    let room = Room::new(machine(json!({"a": stage("Do it.", &["Read"], None)})));
    let models = Scripted::new(
        Kind::Anthropic,
        Script::turns(vec![
            vec![
                call("Fly", json!({})),
                call("Read", json!({"path": "x"})),
                call("Read", json!({"file_path": "none"})),
                call("submit", json!({"said": 1, "more": true})),
            ],
            vec![text("I am done.")],
            submit("ready"),
        ]),
    );
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(room.code(), Some(0));
    let asked = models.asked();
    let codes: Vec<String> = asked[1]
        .results()
        .iter()
        .map(|result| {
            serde_json::from_str::<Value>(result).unwrap()["code"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        codes,
        [
            "unknown_tool",
            "invalid_arguments",
            "not_found",
            "schema_invalid"
        ]
    );
    let last = asked[2].body["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string();
    assert!(last.contains("called no tool"), "{last}");
}

#[test]
fn two_messages_without_a_call_end_the_attempt() {
    let room = Room::new(machine(json!({"a": stage("Do it.", &[], None)})));
    let models = Scripted::new(
        Kind::Gemini,
        Script::replies(vec![Reply::say(vec![text("Done.")])]),
    );
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(models.asked().len(), 2);
    let failed = room.events().into_iter().find_map(|event| match event {
        Event::StageExited { outcome, .. } => Some(outcome),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some("no_completion"));
}
