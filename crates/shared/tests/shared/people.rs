//! Who may start, approve and administer, and when the answers of several people suffice.

use interlock_shared::Role;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    api::{Fleet, done, proposal, start_body, token},
    server::new_name,
    world::in_parallel,
};

const POLICY: &str = r#"
[groups]
developers = ["ana", "ben", "cy", "dana", "eli"]
security = ["fay", "gus"]
admins = ["hal"]

[roles]
start = ["@developers", "ci"]
approve = ["@developers", "@security"]
administer = ["@admins"]

[[approval]]
from = ["@developers", "@security"]
count = 2

[[approval]]
paths = ["/src/auth/", "*.pem"]
from = ["@security"]
"#;

/// A tenant with the policy, a run that `ana` has started, and the tokens of people.
struct Team<'a> {
    fleet: Fleet<'a>,
    agent: String,
    run: String,
}

impl Team<'_> {
    fn new() -> Option<Self> {
        let fleet = Fleet::new()?;
        fleet
            .acme
            .load_people(POLICY, "an administrator", None)
            .unwrap();
        let ana = fleet.token(Role::Person, "ana");
        let run = fleet.served.run(&ana);
        let agent = fleet.token(Role::Agent, "ben");
        Some(Self { fleet, agent, run })
    }

    fn person(&self, name: &str) -> String {
        self.fleet.token(Role::Person, name)
    }

    fn view(&self) -> Value {
        let path = format!("/v1/runs/{}", self.run);
        self.fleet.served.get(&self.agent, &path).json()
    }

    /// Has the agent ask for the approval at the end, and returns the request.
    fn asks(&self) -> Value {
        let key = new_name("k");
        let asked = self
            .fleet
            .served
            .decide(&self.agent, &self.run, &key, done());
        assert_eq!(asked["verdict"], json!("pending"), "{asked}");
        asked["request"].clone()
    }

    /// Has `name` say yes; returns the verdict, or the code of an error.
    fn says_yes(&self, name: &str, request: &Value) -> String {
        self.answers(
            name,
            &json!({ "request": request, "yes": true, "seen": 999 }),
        )
    }

    fn answers(&self, name: &str, body: &Value) -> String {
        let path = format!("/v1/runs/{}/answers", self.run);
        let key = new_name("a");
        let reply = (self.fleet.served).post(&self.person(name), &path, &key, body);
        let word = |value: &Value| value.as_str().map(str::to_owned);
        word(&reply.json()["verdict"]).unwrap_or_else(|| reply.code())
    }

    fn missing(&self) -> Value {
        self.view()["approvals"][0]["missing"].clone()
    }

    fn edits(&self, path: &str) {
        let id = new_name("c");
        let mut call = proposal(&id, "Edit");
        call["propose"]["facts"]["writes"] = json!([{
            "path": format!("@project/{path}"), "relative": path, "place": "project", "by": "Edit",
            "removes": false, "recursive": false, "lines": 1, "before": null,
        }]);
        call["propose"]["kind"] = json!("edit");
        let decided = self.fleet.served.decide(&self.agent, &self.run, &id, call);
        assert_eq!(decided["verdict"], json!("accepted"), "{decided}");
    }

    fn sql(&self, sql: &str) -> String {
        self.fleet.server.sql(&self.fleet.name, sql)
    }
}

#[test]
fn two_people_approve_who_neither_started_the_run_nor_drive_its_agent() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    assert_eq!(
        team.missing(),
        json!(["0 of 2 from group developers, group security"])
    );
    // Who started it, who drives the agent, who may not approve, and who is in no group.
    for name in ["ana", "ben", "hal", "eve"] {
        assert_eq!(team.says_yes(name, &request), "forbidden_role", "{name}");
    }
    assert_eq!(team.says_yes("cy", &request), "pending");
    assert_eq!(team.says_yes("cy", &request), "pending", "twice is once");
    let view = team.view();
    assert_eq!(view["report"]["status"], json!("awaiting_approval"));
    let approval = &view["approvals"][0];
    assert_eq!(
        approval["missing"],
        json!(["1 of 2 from group developers, group security"])
    );
    assert_eq!(approval["votes"].as_array().unwrap().len(), 1);
    assert_eq!(approval["votes"][0]["by"], json!("cy"));
    assert_eq!(team.says_yes("fay", &request), "accepted");
    assert_eq!(team.view()["report"]["status"], json!("completed"));

    // The digest of both votes stands in the event of the answer, in the chain of the log.
    let path = format!("/v1/runs/{}/events", team.run);
    let events = team.fleet.served.get(&team.agent, &path).text;
    let (_, answered) = events.split_once("\"votes\":\"").unwrap();
    let answered = answered.split('"').next().unwrap();
    let rows = team.sql("SELECT encode(digest, 'hex') FROM interlock.votes ORDER BY digest");
    let mut sha = Sha256::new();
    let mut put = |part: &[u8]| {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part);
    };
    put(b"interlock votes");
    assert_eq!(rows.lines().count(), 2);
    for row in rows.lines() {
        let byte = |at: usize| u8::from_str_radix(&row[at..at + 2], 16).unwrap();
        put(&(0..64).step_by(2).map(byte).collect::<Vec<u8>>());
    }
    assert!(format!("{:x}", sha.finalize()) == answered, "{answered}");
    assert!(team.fleet.verified(&team.run) > 3);
}

#[test]
fn one_no_answers_the_request() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    assert_eq!(team.says_yes("cy", &request), "pending");
    let no = json!({ "request": request, "yes": false, "seen": 999, "note": "not today" });
    for name in ["ana", "ben", "hal"] {
        assert_eq!(team.answers(name, &no), "forbidden_role", "{name}");
    }
    assert_eq!(team.answers("dana", &no), "accepted");
    assert_eq!(team.view()["report"]["status"], json!("running"));
    // The votes were on that request, and not on the next one.
    let request = team.asks();
    assert_eq!(team.says_yes("fay", &request), "pending");
}

#[test]
fn who_does_work_of_the_run_or_loses_the_role_after_a_vote_does_not_count() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    assert_eq!(team.says_yes("cy", &request), "pending");
    assert_eq!(team.says_yes("cy", &request), "pending");
    // An agent of Cy proposes a call, which is refused while the run waits; it is work of Cy all the same.
    let agent = team.fleet.token(Role::Agent, "cy");
    let call = team
        .fleet
        .served
        .decide(&agent, &team.run, "w", proposal("w", "Read"));
    assert_eq!(call["verdict"], json!("refused"));
    assert_eq!(
        team.missing(),
        json!(["0 of 2 from group developers, group security"])
    );
    assert_eq!(team.says_yes("dana", &request), "pending");
    // Dana is still in the group that the rule counts, and may not approve any more.
    let approve = "approve = [\"@developers\", \"@security\"]";
    let without = POLICY.replace(approve, "approve = [\"eli\", \"gus\"]");
    assert_ne!(without, POLICY);
    team.fleet
        .acme
        .load_people(&without, "an administrator", None)
        .unwrap();
    assert_eq!(team.says_yes("eli", &request), "pending");
    assert_eq!(team.says_yes("gus", &request), "accepted");
}

#[test]
fn the_owners_of_what_was_written_have_to_approve_it() {
    let Some(team) = Team::new() else { return };
    team.edits("src/main.rs");
    team.edits("src/auth/login.rs");
    let request = team.asks();
    assert_eq!(
        team.missing(),
        json!([
            "0 of 2 from group developers, group security",
            "0 of 1 from group security for `src/auth/login.rs`"
        ])
    );
    assert_eq!(team.says_yes("cy", &request), "pending");
    assert_eq!(team.says_yes("dana", &request), "pending");
    assert_eq!(
        team.missing(),
        json!(["0 of 1 from group security for `src/auth/login.rs`"])
    );
    assert_eq!(team.says_yes("fay", &request), "accepted");
}

#[test]
fn a_vote_is_on_what_had_been_written_when_it_was_given() {
    let Some(team) = Team::new() else { return };
    team.edits("src/main.rs");
    let request = team.asks();
    assert_eq!(team.says_yes("cy", &request), "pending");
    // A line that was started before ends, and was seen to write another file.
    let wrote = json!([{ "path": "@project/src/auth/late.rs", "relative": "src/auth/late.rs" }]);
    let ended = json!({ "end_line": { "call": "late", "exit": 0, "wrote": wrote } });
    team.fleet.served.decide(&team.agent, &team.run, "r", ended);
    assert_eq!(
        team.missing(),
        json!([
            "0 of 2 from group developers, group security",
            "0 of 1 from group security for `src/auth/late.rs`"
        ])
    );
    assert_eq!(team.says_yes("dana", &request), "pending");
    assert_eq!(team.says_yes("cy", &request), "pending");
    assert_eq!(team.says_yes("gus", &request), "accepted");
}

#[test]
fn votes_at_the_same_time_are_counted_one_after_the_other() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    let names = ["cy", "dana", "eli", "fay", "gus"];
    let mut said = in_parallel(names.len(), |at| team.says_yes(names[at], &request));
    said.sort_unstable();
    // One waits, one completes it, and for the others nothing is open any more.
    assert_eq!(
        said,
        ["accepted", "pending", "refused", "refused", "refused"]
    );
    assert_eq!(team.sql("SELECT count(*) FROM interlock.votes"), "2");
}

#[test]
fn where_several_approve_none_of_them_changes_the_data() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    let with =
        json!({ "request": request, "yes": true, "seen": 999, "data": { "reviewed": true } });
    assert_eq!(team.answers("cy", &with), "data_refused");
    assert_eq!(team.says_yes("cy", &request), "pending");
    assert_eq!(team.answers("dana", &with), "data_refused");
    let alone = POLICY.replace("count = 2", "count = 1");
    team.fleet
        .acme
        .load_people(&alone, "an administrator", None)
        .unwrap();
    assert_eq!(team.answers("dana", &with), "accepted");
}

#[test]
fn changes_of_protected_things_are_accepted_by_as_many() {
    let Some(team) = Team::new() else { return };
    let served = &team.fleet.served;
    let change = json!({ "path": "@project/.interlock/config.toml", "what": "the settings", "fate": "changed" });
    let report = json!({ "report_protected": { "changes": [change] } });
    served.decide(&team.agent, &team.run, "r", report);
    let changed = team.view()["changed"].clone();
    let accept = |name: &str| {
        let command = json!({ "resume": { "changes": changed } });
        let reply = served.command(&team.person(name), &team.run, &new_name("k"), command);
        let verdict = reply.json()["verdict"].as_str().map(str::to_owned);
        verdict.unwrap_or_else(|| reply.code())
    };
    assert_eq!(accept("ben"), "forbidden_role");
    assert_eq!(accept("hal"), "forbidden_role");
    assert_eq!(accept("cy"), "pending");
    assert_eq!(accept("cy"), "pending");
    assert!(!team.view()["changed"].as_array().unwrap().is_empty());
    assert_eq!(accept("fay"), "accepted");
    assert!(team.view()["changed"].as_array().unwrap().is_empty());
}

#[test]
fn only_who_may_start_starts_and_asks_for_transitions() {
    let Some(team) = Team::new() else { return };
    let served = &team.fleet.served;
    let worker = team.fleet.token(Role::Worker, "ci");
    assert_eq!(
        served.post(&worker, "/v1/runs", "s", &start_body()).status,
        200
    );
    let other = team.fleet.token(Role::Worker, "other");
    for token in [team.person("eve"), team.person("fay"), other] {
        let refused = served.post(&token, "/v1/runs", "s", &start_body());
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden_role".into())
        );
    }
    let eve = team.person("eve");
    for command in [done(), json!({ "resume": {} }), json!({ "cancel": {} })] {
        let refused = served.command(&eve, &team.run, &new_name("k"), command.clone());
        assert_eq!(refused.code(), "forbidden_role", "{command}");
    }
    let fay = team.person("fay");
    let asked = served.command(&fay, &team.run, "t", done());
    assert_eq!(asked.code(), "forbidden_role");
    let cancelled = served.decide(&fay, &team.run, "c", json!({ "cancel": {} }));
    assert_eq!(cancelled["verdict"], json!("accepted"));
}

#[test]
fn a_policy_is_loaded_by_who_may_administer_and_for_the_revision_that_holds() {
    let Some(fleet) = Fleet::new() else { return };
    let served = &fleet.served;
    let (hal, ana) = (
        fleet.token(Role::Person, "hal"),
        fleet.token(Role::Person, "ana"),
    );
    let load = |token: &str, text: &str, after: u64| {
        let body = json!({ "text": text, "after": after });
        served.post(token, "/v1/people", &new_name("k"), &body)
    };
    // The first one is loaded by whoever has the database.
    let none = served.get(&hal, "/v1/people").json();
    assert_eq!(none, json!({ "revision": 0, "text": "" }));
    assert_eq!(load(&hal, POLICY, 0).code(), "forbidden_role");
    assert_eq!(
        fleet
            .acme
            .load_people(POLICY, "the owner", Some(0))
            .unwrap(),
        1
    );
    assert_eq!(
        fleet.acme.load_people(POLICY, "the owner", None).unwrap(),
        1
    );
    for role in [Role::Agent, Role::Worker] {
        let token = fleet.token(role, "hal");
        assert_eq!(load(&token, POLICY, 1).code(), "forbidden_role");
        assert_eq!(served.get(&token, "/v1/people").code(), "forbidden_role");
    }
    assert_eq!(load(&ana, POLICY, 1).code(), "forbidden_role");
    let next = POLICY.replace("count = 2", "count = 3");
    assert_eq!(load(&hal, &next, 0).code(), "moved");
    let invalid = load(&hal, "[roles]\nstrat = []", 1);
    assert_eq!(
        (invalid.status, invalid.code()),
        (422, "policy_invalid".into())
    );
    let loaded = load(&hal, &next, 1).json();
    assert_eq!(
        (&loaded["revision"], &loaded["by"]),
        (&json!(2), &json!("hal"))
    );
    assert_eq!(served.get(&ana, "/v1/people").json()["text"], json!(next));
    // Every revision stays, and nobody changes one.
    for table in ["people", "votes", "identities"] {
        let change = format!("UPDATE interlock.{table} SET tenant = 'x'");
        let said = fleet.server.unfiltered(&fleet.name, "acme", &change);
        assert!(said.unwrap_err().contains("never changed"), "{table}");
    }
    // Another tenant has none of it.
    let other = fleet.server.tenant_in(&fleet.name, "globex");
    let theirs = token(&other, Role::Person, "hal");
    assert_eq!(
        served.get(&theirs, "/v1/people").json()["revision"],
        json!(0)
    );
    assert_eq!(load(&theirs, POLICY, 2).code(), "forbidden_role");
}

#[test]
fn a_vote_that_was_changed_in_the_database_stops_the_answer() {
    let Some(team) = Team::new() else { return };
    let request = team.asks();
    assert_eq!(team.says_yes("cy", &request), "pending");
    team.sql(
        "ALTER TABLE interlock.votes DISABLE TRIGGER never_changed; \
         UPDATE interlock.votes SET subject = 'dana'",
    );
    assert_eq!(team.says_yes("fay", &request), "failed");
    assert_eq!(team.view()["error"]["code"], json!("failed"));
}
