//! The server of a log: what the machines and people of a team do with it.

use std::thread;

use interlock_core::names::RunId;
use interlock_shared::{Role, SharedRuns};
use interlock_store::{EventLog as _, Runs as _};
use serde_json::json;

use crate::{
    api::{Fleet, Served, done, proposal, start_body},
    server::ROLE,
    world::{World, in_parallel},
};

#[test]
fn two_machines_work_in_one_run_and_another_person_approves() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let (ana, cy) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "cy"),
    );
    // Two machines: Ana's agent and Ben's.
    let first = fleet.token(Role::Agent, "ana");
    let second = fleet.token(Role::Agent, "ben");
    let bens = fleet.token(Role::Person, "ben");
    let run = served.run(&ana);

    let allowed = served.decide(&first, &run, "c1", proposal("c1", "Read"));
    assert_eq!(
        (&allowed["verdict"], &allowed["from"]),
        (&json!("accepted"), &json!(1))
    );
    let refused = served.decide(&second, &run, "c2", proposal("c2", "Bash"));
    assert_eq!(refused["code"], json!("tool_not_allowed"), "{refused}");
    assert_eq!(refused["from"], allowed["seq"]);
    // The second machine records what it saw, and the first sees it.
    let asked = served.decide(&second, &run, "c3", done());
    assert_eq!(asked["verdict"], json!("pending"));
    let blocked = served.decide(&first, &run, "c4", proposal("c4", "Read"));
    assert_eq!(blocked["code"], json!("awaiting_approval"), "{blocked}");

    let view = served.get(&cy, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["started_by"], json!("ana"));
    assert_eq!(view["report"]["status"], json!("awaiting_approval"));
    let request = &view["requests"][0]["id"];
    assert_eq!(*request, asked["request"]);
    for (who, token) in [("agent", &first), ("agent", &second)] {
        let refused = served.answer(token, &run, request, &view["seq"]);
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden_role".into()),
            "{who}"
        );
    }
    // Who started the run, and who drives an agent in it.
    for (who, token) in [("ana", &ana), ("ben", &bens)] {
        let refused = served.answer(token, &run, request, &view["seq"]);
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden_role".into()),
            "{who}"
        );
    }
    // Nobody answers what he has not seen.
    let unseen = served.answer(&cy, &run, request, &json!(1)).json();
    assert_eq!(unseen["verdict"], json!("refused"), "{unseen}");
    let answered = served.answer(&cy, &run, request, &view["seq"]).json();
    assert_eq!(answered["verdict"], json!("accepted"), "{answered}");
    let view = served.get(&first, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["report"]["status"], json!("completed"));
    let events = served.get(&cy, &format!("/v1/runs/{run}/events")).json();
    assert!(events.to_string().contains("\"by\":\"cy\""), "{events}");
    assert_eq!(fleet.verified(&run), view["seq"].as_u64().unwrap());
}

#[test]
fn a_person_who_asks_for_a_transition_does_not_approve_it() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let worker = fleet.token(Role::Worker, "ci");
    let (ana, ben) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "ben"),
    );
    let run = served.run(&worker);
    let asked = served.decide(&ana, &run, "k", done());
    let own = served.answer(&ana, &run, &asked["request"], &asked["seq"]);
    assert_eq!(own.code(), "forbidden_role");
    let other = served.answer(&ben, &run, &asked["request"], &asked["seq"]);
    assert_eq!(other.json()["verdict"], json!("accepted"));
}

#[test]
fn a_call_that_needs_a_grant_waits_for_another_person_and_uses_it_once() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let (ana, ben) = (
        fleet.token(Role::Person, "ana"),
        fleet.token(Role::Person, "ben"),
    );
    let agent = fleet.token(Role::Agent, "ana");
    let text = "id: g\ninitial: w\nstates:\n  w:\n    allowed_tools: [Read]\n    on_denied: ask\n    on: {DONE: done}\n  done: {type: final}\n";
    let body = json!({ "workflow": { "name": "g.yaml", "text": text } });
    let started = served.post(&ana, "/v1/runs", "g", &body).json();
    let run = started["run"].as_str().unwrap();
    let call = |id: &str| {
        let mut call = proposal(id, "Deploy");
        call["propose"]["digest"] = json!("the same");
        // Whatever the machine says of a prompt, its person does not answer there.
        call["propose"]["prompts_in"] = json!("session");
        call
    };
    let asked = served.decide(&agent, run, "c1", call("c1"));
    assert_eq!(asked["verdict"], json!("ask"), "{asked}");
    assert!(asked["request"].is_string(), "{asked}");
    let again = served.decide(&agent, run, "c2", call("c2"));
    assert_ne!(again["verdict"], json!("accepted"), "{again}");
    let view = served.get(&ben, &format!("/v1/runs/{run}")).json();
    let request = &view["requests"][0]["id"];
    assert_eq!(
        served.answer(&ana, run, request, &view["seq"]).code(),
        "forbidden_role"
    );
    let granted = served.answer(&ben, run, request, &view["seq"]).json();
    assert_eq!(granted["verdict"], json!("accepted"), "{granted}");
    let used = served.decide(&agent, run, "c3", call("c3"));
    assert_eq!(used["verdict"], json!("accepted"), "{used}");
    let twice = served.decide(&agent, run, "c4", call("c4"));
    assert_ne!(twice["verdict"], json!("accepted"), "{twice}");
}

#[test]
fn who_started_an_imported_run_does_not_approve_it() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    // Started on a machine by `ana`, in the same log.
    let world = World::new();
    let runs = SharedRuns::new(fleet.acme.clone(), world.home.path(), None);
    let world = world.with_runs(runs);
    let run = world.start(1).run().as_str().to_owned();
    let ana = fleet.token(Role::Person, "ana");
    let view = served.get(&ana, &format!("/v1/runs/{run}")).json();
    assert_eq!(view["started_by"], json!("ana"));
    let refused = served.answer(&ana, &run, &json!("a1"), &view["seq"]);
    assert_eq!(refused.code(), "forbidden_role");
    let ben = fleet.token(Role::Person, "ben");
    let nothing = served.answer(&ben, &run, &json!("a1"), &view["seq"]);
    assert_eq!(nothing.json()["verdict"], json!("refused"));
}

#[test]
fn each_role_does_only_what_is_its_own() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let person = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let worker = fleet.token(Role::Worker, "ci");
    let run = served.run(&person);
    let begun = served.post(&agent, "/v1/runs", "s", &start_body());
    assert_eq!(begun.code(), "forbidden_role");
    for (token, word) in [
        (&agent, json!({ "resume": {} })),
        (&agent, json!({ "cancel": {} })),
        (&worker, json!({ "resume": {} })),
        (&worker, json!({ "cancel": {} })),
        (&person, proposal("c", "Read")),
        (&person, json!({ "report_files": { "files": [] } })),
    ] {
        let refused = served.command(token, &run, "k", word.clone());
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden_role".into()),
            "{word}"
        );
    }
    // What only a person may send has no name for an agent at all.
    for word in [
        "approve",
        "reject",
        "adopt",
        "set_variables",
        "decide_trust",
        "ask_in_prompt",
    ] {
        let refused = served.command(&agent, &run, "k", json!({ word: {} }));
        assert_eq!(refused.code(), "bad_request", "{word}");
    }
    // An agent is asked in the server's list, whatever its machine says of a prompt.
    let mut call = proposal("c", "Read");
    call["propose"]["prompts_in"] = json!("session");
    assert_eq!(
        served.decide(&agent, &run, "p", call)["verdict"],
        json!("accepted")
    );
    let paused = served.decide(&agent, &run, "pause", json!({ "pause": { "reason": "a" } }));
    assert_eq!(paused["verdict"], json!("accepted"));
    let resumed = served.decide(&person, &run, "resume", json!({ "resume": {} }));
    assert_eq!(resumed["verdict"], json!("accepted"));
    // Who has seen other changes than there are accepts none.
    let change = json!({ "path": "@project/.interlock/config.toml", "what": "the settings", "fate": "changed" });
    let reported = served.decide(
        &agent,
        &run,
        "r",
        json!({ "report_protected": { "changes": [change] } }),
    );
    assert_eq!(reported["verdict"], json!("accepted"), "{reported}");
    let unseen = served.decide(&person, &run, "r1", json!({ "resume": {} }));
    assert_eq!(unseen["code"], json!("paused"), "{unseen}");
    let changed = served.get(&person, &format!("/v1/runs/{run}")).json()["changed"].clone();
    let accept = json!({ "resume": { "changes": changed } });
    let own = served.command(&person, &run, "r2", accept.clone());
    assert_eq!(own.code(), "forbidden_role");
    let ben = fleet.token(Role::Person, "ben");
    let other = served.decide(&ben, &run, "r2", accept);
    assert_eq!(other["verdict"], json!("accepted"), "{other}");
}

#[test]
fn a_key_gives_the_same_reply_and_no_other_request() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let other = fleet.token(Role::Agent, "ben");
    let first = served.post(&ana, "/v1/runs", "start", &start_body());
    let again = served.post(&ana, "/v1/runs", "start", &start_body());
    assert_eq!((&first.text, again.is_repeated()), (&again.text, true));
    assert!(!first.is_repeated());
    let mut changed = start_body();
    changed["name"] = json!("another");
    let reused = served.post(&ana, "/v1/runs", "start", &changed);
    assert_eq!((reused.status, reused.code()), (409, "key_reused".into()));
    let run = first.json()["run"].as_str().unwrap().to_owned();
    let all = in_parallel(8, |_| {
        served.command(&agent, &run, "one", proposal("c1", "Read"))
    });
    assert!(all.iter().all(|reply| reply.text == all[0].text), "{all:?}");
    assert_eq!(all.iter().filter(|reply| !reply.is_repeated()).count(), 1);
    let reused = served.command(&agent, &run, "one", proposal("c2", "Read"));
    assert_eq!((reused.status, reused.code()), (409, "key_reused".into()));
    // Another machine may choose the same key.
    let theirs = served.command(&other, &run, "one", proposal("c2", "Read"));
    assert!(theirs.status == 200 && !theirs.is_repeated());
    assert_eq!(
        served.get(&ana, "/v1/runs").json()["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(fleet.verified(&run), theirs.json()["seq"].as_u64().unwrap());
}

#[test]
fn commands_of_many_machines_are_decided_one_after_the_other() {
    let Some(fleet) = Fleet::new() else { return };
    // Two servers before one database, as well.
    let second = Served::start(&fleet.server.words(&fleet.name, ROLE));
    let servers = [&fleet.served, &second];
    let ana = fleet.token(Role::Person, "ana");
    let run = fleet.served.run(&ana);
    let decided = in_parallel(8, |machine| {
        let agent = fleet.token(Role::Agent, &format!("m{machine}"));
        let mut seqs = Vec::new();
        for number in 0..20 {
            let id = format!("c{machine}-{number}");
            let served = servers[(machine + number) % 2];
            let reply = served.decide(&agent, &run, &id, proposal(&id, "Read"));
            assert_eq!(reply["verdict"], json!("accepted"), "{reply}");
            seqs.push((
                reply["from"].as_u64().unwrap(),
                reply["seq"].as_u64().unwrap(),
            ));
        }
        seqs
    });
    let mut all: Vec<(u64, u64)> = decided.into_iter().flatten().collect();
    all.sort_unstable();
    // Each was decided for the log as the previous one left it.
    assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{all:?}");
    assert_eq!(all.len(), 160);
    assert_eq!(fleet.verified(&run), all[159].1);
    // The next limit holds, whoever counts: the run allows so many calls in all.
    let world = World::new();
    let runs = SharedRuns::new(fleet.acme.clone(), world.home.path(), None);
    let log = runs.open_run(&RunId::new(run)).unwrap();
    let folded = log.load().unwrap();
    assert_eq!(folded.root.stay.used.calls, 160);
}

#[test]
fn an_event_wakes_a_request_that_waits_for_it() {
    let Some(fleet) = Fleet::new() else { return };
    let second = Served::start(&fleet.server.words(&fleet.name, ROLE));
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let run = fleet.served.run(&ana);
    let path = format!("/v1/runs/{run}/events");
    let now = fleet.served.get(&ana, &path).json();
    assert_eq!(
        (now["events"].as_array().unwrap().len(), &now["next"]),
        (1, &json!(1))
    );
    let none = fleet.served.get(&ana, &format!("{path}?from=1")).json();
    assert_eq!(none, json!({ "events": [], "next": 1, "seq": 1 }));
    let follow = |served: &Served| served.get(&ana, &format!("{path}?from=1&wait=60")).json();
    thread::scope(|scope| {
        // One follows at the server that appends, the other at another one.
        let both = [
            scope.spawn(|| follow(&fleet.served)),
            scope.spawn(|| follow(&second)),
        ];
        fleet
            .served
            .decide(&agent, &run, "c", proposal("c", "Read"));
        for one in both {
            let found = one.join().unwrap();
            assert_eq!(found["events"][0]["seq"], json!(1), "{found}");
        }
    });
}

#[test]
fn paths_of_machines_stay_marks_and_nothing_else_passes_for_one() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let ana = fleet.token(Role::Person, "ana");
    let agent = fleet.token(Role::Agent, "ana");
    let run = served.run(&ana);
    let path = format!("/v1/runs/{run}/commands");
    let mut call = proposal("c", "Edit");
    call["propose"]["facts"]["writes"] = json!([{
        "path": "@project/src/a.rs", "relative": "src/a.rs", "place": "project", "by": "Edit",
        "removes": false, "recursive": false, "lines": 1, "before": null,
    }]);
    call["propose"]["summary"] = json!("src/a.rs for me@@example.org");
    served.decide(&agent, &run, "c", call);
    let events = served.get(&agent, &format!("/v1/runs/{run}/events?from=1"));
    assert!(
        events.text.contains("\"@project/src/a.rs\""),
        "{}",
        events.text
    );
    assert!(events.text.contains("me@@example.org"), "{}", events.text);
    for lone in ["@", "@root/x", "a@example.org"] {
        let body = json!({ "command": { "pause": { "reason": lone } } }).to_string();
        let refused = served.post_text(&agent, &path, "m", &body);
        assert_eq!(
            (refused.status, refused.code()),
            (400, "bad_request".into()),
            "{lone}"
        );
    }
    // Read with the places of a machine, it is a path there.
    let world = World::new();
    let runs = SharedRuns::new(fleet.acme.clone(), world.home.path(), None);
    let id = RunId::new(run);
    runs.relocate(&id, "/srv/shop".as_ref(), "/root".as_ref())
        .unwrap();
    let log = runs.open_run(&id).unwrap();
    let event = format!("{:?}", log.events(1).next().unwrap().unwrap().event);
    assert!(event.contains("\"/srv/shop/src/a.rs\""), "{event}");
    assert!(event.contains("me@example.org"), "{event}");
}
