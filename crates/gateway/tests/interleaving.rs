//! However calls, progress, answers and cancellations of one session interleave, each reaches its own call.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use interlock_gateway::{
    channel::Channel,
    govern::{
        CallDecision, CallEnd, Caller, GatewayCall, Instead, ListedTool, NotRead, OwnCall,
        PersonSaid, Reading, SessionPolicy, Ticket,
    },
    message::{Envelope, Id, Message, Outcome},
    notes::Notes,
    session::{Bounds, Gateway},
    upstream::{ConnectOptions, Connection, Dial, Dialing, Fate, Running, Server},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};

/// Time limit for an expected message.
const PATIENCE: Duration = Duration::from_secs(20);

/// The next step; numbers select one of the pending calls.
#[derive(Debug, Clone)]
enum Step {
    /// The client makes a call, with an id and possibly a progress token.
    Call(Value, Option<Value>),
    /// The server answers a call.
    Answer(usize),
    /// The server reports its progress.
    Progress(usize),
    /// The client cancels a call.
    Cancel(usize),
}

/// A pending call, as both sides know it.
#[derive(Debug)]
struct Call {
    id: Value,
    token: Option<Value>,
    /// A unique value among its arguments.
    mark: u64,
    /// Its id at the server.
    number: Value,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = prop_oneof![
        (0_u64..6).prop_map(Value::from),
        (0_u64..3).prop_map(|number| json!(number.to_string())),
        Just(json!("a")),
        Just(json!(9_007_199_254_740_993_u64)),
    ];
    let step = prop_oneof![
        4 => (name.clone(), proptest::option::of(name)).prop_map(|(id, token)| Step::Call(id, token)),
        3 => any::<usize>().prop_map(Step::Answer),
        3 => any::<usize>().prop_map(Step::Progress),
        1 => any::<usize>().prop_map(Step::Cancel),
    ];
    proptest::collection::vec(step, 1..60)
}

#[derive(Debug)]
struct Once(mpsc::UnboundedSender<Channel>);

impl Dial for Once {
    fn dial<'a>(&'a self, _around: &'a ConnectOptions) -> Dialing<'a> {
        Box::pin(async move {
            let (link, far) = Channel::pair();
            self.0.send(far).unwrap();
            Ok(Connection {
                link,
                fate: Fate::default(),
            })
        })
    }
}

/// A policy that allows everything.
#[derive(Debug)]
struct Open;

impl SessionPolicy for Open {
    fn own_tools(&self) -> Vec<Value> {
        Vec::new()
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn own_call(&mut self, _name: &str, _call: &OwnCall<'_>) -> Option<CallDecision> {
        None
    }

    fn shown(&mut self, tools: &[ListedTool<'_>]) -> Vec<bool> {
        vec![true; tools.len()]
    }

    fn call(&mut self, _call: &GatewayCall<'_>) -> CallDecision {
        CallDecision::Pass(Ticket {
            call: None,
            bytes_max: None,
        })
    }

    fn read(&mut self, _reading: &Reading<'_>) -> Option<NotRead> {
        None
    }

    fn answered(&mut self, _key: &str, _said: &PersonSaid, _at_ms: u64) -> CallDecision {
        panic!("nobody was asked")
    }

    fn ended(&mut self, _ticket: &Ticket, _result: CallEnd<'_>, _at_ms: u64) -> Option<Instead> {
        None
    }

    fn changed(&mut self) -> bool {
        false
    }
}

fn value(envelope: &Envelope) -> Value {
    let mut text = Vec::new();
    envelope.write(&mut text);
    serde_json::from_slice(&text).unwrap()
}

async fn hear(link: &mut Channel) -> Value {
    let heard = timeout(PATIENCE, link.incoming.recv()).await;
    value(
        &heard
            .unwrap_or_else(|_| panic!("nothing is heard"))
            .unwrap(),
    )
}

async fn say(link: &Channel, envelope: Envelope) {
    link.outgoing.send(envelope).await.unwrap();
}

fn object(value: Value) -> Option<serde_json::Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// A client and a server with a session between them.
struct Both {
    client: Channel,
    server: Channel,
    calls: Vec<Call>,
    marks: u64,
}

impl Both {
    async fn open() -> (Self, Arc<Gateway>) {
        let (dialed, mut taken) = mpsc::unbounded_channel();
        let (running, _) = Running::new();
        let (notes, _) = Notes::to_channel();
        let servers = vec![Server::new("", Box::new(Once(dialed)))];
        let appoint = Arc::new(|_: &Caller| Box::new(Open) as Box<dyn SessionPolicy>);
        let gateway = Gateway::new(servers, Bounds::default(), notes, running, appoint);
        let mut client = gateway.open(Caller::Stdio).unwrap();
        let hello = object(json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
        say(
            &client,
            Envelope::request(Id::Text("hello".to_owned()), "initialize", hello),
        )
        .await;
        let mut server = taken.recv().await.unwrap();
        let id = Id::from_value(&hear(&mut server).await["id"]).unwrap();
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}});
        say(&server, Envelope::response(id, Outcome::result(&about))).await;
        hear(&mut client).await;
        let both = Self {
            client,
            server,
            calls: Vec::new(),
            marks: 0,
        };
        (both, gateway)
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Call(id, token) => self.call(id, token).await,
            Step::Answer(which) => {
                if let Some(call) = self.take(which) {
                    let id = Id::from_value(&call.number).unwrap();
                    let result = json!({"mark": call.mark});
                    say(
                        &self.server,
                        Envelope::response(id, Outcome::result(&result)),
                    )
                    .await;
                    let heard = hear(&mut self.client).await;
                    assert_eq!(
                        heard,
                        json!({"jsonrpc": "2.0", "id": call.id, "result": result})
                    );
                }
            }
            Step::Progress(which) => self.progress(which).await,
            Step::Cancel(which) => {
                if let Some(call) = self.take(which) {
                    let params = object(json!({"requestId": call.id}));
                    say(
                        &self.client,
                        Envelope::notification("notifications/cancelled", params),
                    )
                    .await;
                    let heard = hear(&mut self.server).await;
                    assert_eq!(heard["params"]["requestId"], call.number);
                    // An answer that still comes belongs to no call.
                    let id = Id::from_value(&call.number).unwrap();
                    say(
                        &self.server,
                        Envelope::response(id, Outcome::result(&json!("late"))),
                    )
                    .await;
                }
            }
        }
    }

    fn take(&mut self, which: usize) -> Option<Call> {
        let count = self.calls.len();
        (count > 0).then(|| self.calls.remove(which % count))
    }

    async fn call(&mut self, id: Value, token: Option<Value>) {
        self.marks += 1;
        let mark = self.marks;
        let mut params = json!({"mark": mark});
        if let Some(token) = &token {
            params["_meta"] = json!({"progressToken": token});
        }
        let request =
            Envelope::request(Id::from_value(&id).unwrap(), "vendor/work", object(params));
        say(&self.client, request).await;
        if self.calls.iter().any(|call| call.id == id) {
            let refused = hear(&mut self.client).await;
            assert_eq!(
                (&refused["id"], &refused["error"]["code"]),
                (&id, &json!(-32600))
            );
            return;
        }
        let heard = hear(&mut self.server).await;
        assert_eq!(heard["params"]["mark"], mark);
        let known = heard["params"]["_meta"].get("progressToken");
        assert_eq!(known.is_some(), token.is_some());
        let number = heard["id"].clone();
        assert!(
            self.calls.iter().all(|call| call.number != number),
            "{number} is under way"
        );
        self.calls.push(Call {
            id,
            token,
            mark,
            number,
        });
    }

    async fn progress(&mut self, which: usize) {
        let count = self.calls.len();
        let Some(call) = which.checked_rem(count).and_then(|at| self.calls.get(at)) else {
            return;
        };
        let params = json!({"progressToken": call.number, "progress": call.mark});
        say(
            &self.server,
            Envelope::notification("notifications/progress", object(params)),
        )
        .await;
        // Without a token, progress was not requested.
        if let Some(token) = &call.token {
            let heard = timeout(PATIENCE, self.client.incoming.recv())
                .await
                .unwrap()
                .unwrap();
            assert_eq!(heard.about, Id::from_value(&call.id));
            let Message::Notification(told) = heard.message else {
                panic!("{heard:?}");
            };
            let told: BTreeMap<String, Value> = told.params.unwrap().into_iter().collect();
            assert_eq!(
                (&told["progressToken"], &told["progress"]),
                (token, &json!(call.mark))
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn each_answer_reaches_its_own_call(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut both, gateway) = Both::open().await;
            for step in steps {
                both.step(step).await;
            }
            while !both.calls.is_empty() {
                both.step(Step::Answer(0)).await;
            }
            gateway.end();
        });
    }
}
