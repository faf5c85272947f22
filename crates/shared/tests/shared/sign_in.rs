//! Signing in at a real OpenID provider: what is exchanged for a token of the server, and what is refused.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use interlock_shared::Role;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::{
    api::{Fleet, Reply, Served, command, done, start_body},
    provider::{Provider, browse},
    server::{ROLE, new_name},
};

const POLICY: &str = r#"
[groups]
developers = ["ana@example.org", "ben@example.org"]
security = []

[roles]
start = ["@developers", "ben@example.org", "ben"]
approve = ["@security"]

[[approval]]
from = ["@security"]
"#;

/// A tenant whose people and jobs sign in at a provider.
struct Place<'a> {
    provider: Provider,
    served: Served,
    fleet: Fleet<'a>,
    state: TempDir,
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

fn nonce(secret: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

impl Place<'_> {
    fn new() -> Option<Self> {
        let fleet = Fleet::new()?;
        let provider = Provider::start()?;
        fleet.acme.load_people(POLICY, "the owner", None).unwrap();
        let state = TempDir::new().unwrap();
        let issuer = &provider.issuer;
        let config = format!(
            r#"
[[people]]
tenant = "acme"
issuer = "{issuer}"
client_id = "interlock"
scope = "openid email groups"
device = true
minutes = 30
groups = [{{ claim = "groups", value = "sec-team", group = "security" }}]

[[jobs]]
tenant = "acme"
issuer = "{issuer}"
audience = "interlock-ci"
name = "actor"
minutes = 20
require = {{ repository = "acme/shop" }}
"#
        );
        let file = state.path().join("sign-in.toml");
        std::fs::write(&file, config).unwrap();
        let served = Served::start_with(
            &fleet.server.words(&fleet.name, ROLE),
            &["--sign-in", file.to_str().unwrap()],
        );
        Some(Self {
            provider,
            served,
            fleet,
            state,
        })
    }

    /// Starts `login`, and reads what it asks of the person until a line has `until`.
    fn login(
        &self,
        output: &str,
        more: &[&str],
        until: &str,
    ) -> (Child, BufReader<std::process::ChildStderr>, String) {
        let server = format!("http://{}", self.served.address());
        let mut child = command("", &self.state)
            .args([
                "login", "--tenant", "acme", "--server", &server, "-o", output,
            ])
            .args(more)
            .current_dir(self.state.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.lines().any(|line| line.starts_with(until)) {
            let read = errors.read_line(&mut said).unwrap();
            assert!(read > 0, "{said}");
        }
        (child, errors, said)
    }

    fn token_in(&self, file: &str) -> String {
        let path = self.state.path().join(file);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }

    /// Signs `account` in with a browser, and returns the token or what the program said.
    fn browser(&self, account: &str) -> Result<String, String> {
        let file = new_name("t");
        let (child, mut errors, said) = self.login(&file, &[], "http");
        let address = said.lines().last().unwrap().to_owned();
        browse(&address, account, "");
        let mut rest = String::new();
        errors.read_to_string(&mut rest).unwrap();
        let done = child.wait_with_output().unwrap();
        if done.status.success() {
            Ok(self.token_in(&file))
        } else {
            assert!(!self.state.path().join(&file).exists());
            Err(rest)
        }
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        let kind = ["Content-Type: application/json".to_owned()];
        self.served.ask("POST", path, &kind, &body.to_string())
    }

    /// Exchanges a token of a person that the provider has signed with these claims.
    fn person(&self, changes: &Value) -> Reply {
        let token = self
            .provider
            .mint("RS256", &json!({}), &self.claims(changes));
        self.post("/v1/sign-in", &self.body(&token))
    }

    fn body(&self, token: &str) -> Value {
        json!({ "tenant": "acme", "id_token": token, "nonce_secret": "s" })
    }

    fn claims(&self, changes: &Value) -> Value {
        let mut claims = json!({
            "aud": "interlock", "sub": "cy", "email": "cy@example.org", "email_verified": true,
            "iat": now(), "exp": now() + 300, "nonce": nonce("s"), "jti": new_name("j"),
        });
        for (key, value) in changes.as_object().unwrap() {
            claims[key] = value.clone();
        }
        claims
    }

    fn job(&self, changes: &Value) -> String {
        let mut claims = json!({
            "aud": "interlock-ci", "sub": "repo:acme/shop:ref:refs/heads/main", "actor": "ben",
            "repository": "acme/shop", "iat": now(), "exp": now() + 300, "jti": new_name("j"),
        });
        for (key, value) in changes.as_object().unwrap() {
            claims[key] = value.clone();
        }
        self.provider.mint("ES256", &json!({}), &claims)
    }

    fn exchange(&self, token: &str, run: Option<&str>) -> Reply {
        let mut body = json!({ "tenant": "acme", "id_token": token });
        if let Some(run) = run {
            body["run"] = json!(run);
        }
        self.post("/v1/sign-in/job", &body)
    }
}

#[test]
fn people_sign_in_with_a_browser_and_act_in_their_own_name_and_groups() {
    let Some(place) = Place::new() else { return };
    let ana = place.browser("ana").unwrap();
    let dana = place.browser("dana").unwrap();
    let run = place.served.run(&ana);
    let agent = place.fleet.token(Role::Agent, "ben@example.org");
    let asked = place.served.decide(&agent, &run, "d", done());
    let seen = json!(99);
    // Ana has started it; Ben is in no group that approves.
    let ben = place.browser("ben").unwrap();
    for token in [&ana, &ben, &agent] {
        let refused = place.served.answer(token, &run, &asked["request"], &seen);
        assert_eq!(refused.code(), "forbidden_role");
    }
    // Dana is in a group by a claim of the issuer alone.
    let answered = place
        .served
        .answer(&dana, &run, &asked["request"], &seen)
        .json();
    assert_eq!(answered["verdict"], json!("accepted"), "{answered}");
    let tokens = place.fleet.acme.tokens().unwrap();
    let of = |name: &str| {
        tokens
            .iter()
            .find(|one| one.subject == name && one.role == Role::Person)
            .unwrap()
    };
    let left_s = of("dana@example.org").expires_ms / 1_000 - now();
    assert!((1_700..=1_800).contains(&left_s), "{left_s}");
    let said = place.browser("").unwrap_err();
    assert!(said.contains("the person said no"), "{said}");
    let said = place.browser("unverified").unwrap_err();
    assert!(said.contains("`email_verified`"), "{said}");
}

#[test]
fn people_sign_in_without_a_browser_and_are_told_what_they_grant() {
    let Some(place) = Place::new() else { return };
    let (child, _errors, said) = place.login("t", &["--device"], "Open ");
    for part in [
        "What you grant",
        "answers requests",
        "30 minutes",
        "`acme`",
        &place.provider.issuer,
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let line = said.lines().last().unwrap();
    let (address, code) = line
        .strip_prefix("Open ")
        .unwrap()
        .split_once(" in any browser, and enter the code ")
        .unwrap();
    let page = browse(address, "dana", code.trim_end_matches('.'));
    assert!(page.contains("successful"), "{page}");
    assert!(child.wait_with_output().unwrap().status.success());
    let token = place.token_in("t");
    assert_eq!(place.served.get(&token, "/v1/people").status, 200);
}

#[test]
fn what_was_not_issued_for_this_sign_in_is_refused_with_one_sentence() {
    let Some(place) = Place::new() else { return };
    let good = place.person(&json!({}));
    assert_eq!(good.status, 200, "{good:?}");
    let refused = |reply: Reply, said: &str| {
        assert_eq!(
            (reply.status, reply.code()),
            (401, "sign_in_refused".to_owned()),
            "{said}"
        );
        let message = reply.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(said), "{message}");
    };
    for (changes, said) in [
        (json!({ "exp": now() - 3_600 }), "expired 3600 s ago"),
        (
            json!({ "iat": now() + 3_600, "exp": now() + 7_200 }),
            "the clocks",
        ),
        (json!({ "nbf": now() + 3_600 }), "the clocks"),
        (json!({ "iat": now() - 3_600 }), "sign in again"),
        (json!({ "aud": "other" }), "another audience"),
        (json!({ "aud": ["interlock", "other"] }), "another audience"),
        (json!({ "azp": "other" }), "another audience"),
        (json!({ "iss": "https://login.example" }), "its issuer"),
        (json!({ "nonce": nonce("another") }), "`nonce`"),
        (json!({ "nonce": null }), "`nonce`"),
        (json!({ "email_verified": false }), "`email_verified`"),
        (json!({ "email": "not a name" }), "cannot name anybody"),
        (json!({ "sub": "" }), "`sub`"),
        (json!({ "exp": (now() + 300).to_string() }), "`exp`"),
    ] {
        refused(place.person(&changes), said);
    }
    // Signed by nobody, by somebody else, with a public key as a secret, or as another kind of token.
    let token = place
        .provider
        .mint("RS256", &json!({}), &place.claims(&json!({})));
    let (signed, _) = token.rsplit_once('.').unwrap();
    let claims = signed.split_once('.').unwrap().1;
    let header = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let foreign = place
        .provider
        .mint("foreign", &json!({}), &place.claims(&json!({})));
    let unpublished = json!({ "kid": "rsa-2" });
    let unpublished = place
        .provider
        .mint("RS256", &unpublished, &place.claims(&json!({})));
    let access = json!({ "typ": "at+jwt" });
    let access = place
        .provider
        .mint("RS256", &access, &place.claims(&json!({})));
    for (token, said) in [
        (
            format!("{}.{claims}.", header(r#"{"alg":"none"}"#)),
            "not signed",
        ),
        (format!("{signed}."), "signature"),
        (
            format!(
                "{}.{claims}.AAAA",
                header(r#"{"alg":"HS256","kid":"rsa-1"}"#)
            ),
            "its algorithm",
        ),
        (foreign, "signature"),
        (unpublished, "does not publish"),
        (access, "another kind"),
        ("a.b.c".to_owned(), "no signed"),
    ] {
        refused(place.post("/v1/sign-in", &place.body(&token)), said);
    }
    // None of these was used up; a token that was is not exchanged again, and a `jti` is used up with it.
    let body = place.body(&token);
    assert_eq!(place.post("/v1/sign-in", &body).status, 200);
    refused(place.post("/v1/sign-in", &body), "exchanged before");
    let twin = place.claims(&json!({ "jti": "once" }));
    let first = place.provider.mint("RS256", &json!({}), &twin);
    let second = place.provider.mint("ES256", &json!({}), &twin);
    assert_eq!(place.post("/v1/sign-in", &place.body(&first)).status, 200);
    refused(
        place.post("/v1/sign-in", &place.body(&second)),
        "exchanged before",
    );
    // Whoever has read the token of somebody else lacks the secret of its nonce.
    let stolen = place
        .provider
        .mint("RS256", &json!({}), &place.claims(&json!({})));
    for secret in [json!("guess"), json!(null)] {
        let body = json!({ "tenant": "acme", "id_token": stolen, "nonce_secret": secret });
        refused(place.post("/v1/sign-in", &body), "`nonce`");
    }
    // Another tenant, one that does not exist, and a job's token for a person.
    for tenant in ["globex", "nobody", "A"] {
        let body = json!({ "tenant": tenant, "id_token": stolen, "nonce_secret": "s" });
        refused(place.post("/v1/sign-in", &body), "none of the tenant's");
    }
    refused(
        place.post("/v1/sign-in", &place.body(&place.job(&json!({})))),
        "audience",
    );
    assert_eq!(place.fleet.acme.tokens().unwrap().len(), 3);
    assert!(!place.served.errors().contains(signed));
}

#[test]
fn a_person_keeps_the_first_name_and_nobody_takes_it() {
    let Some(place) = Place::new() else { return };
    let ana = place.browser("ana").unwrap();
    let run = place.served.run(&ana);
    let asked = {
        let agent = place.fleet.token(Role::Agent, "ben@example.org");
        place.served.decide(&agent, &run, "d", done())
    };
    // With another name and in another group, Ana would be a second person.
    place.provider.rename("ana", "zoe");
    let again = place.browser("ana").unwrap();
    let refused = place
        .served
        .answer(&again, &run, &asked["request"], &json!(99));
    assert_eq!(refused.code(), "forbidden_role");
    let subjects: Vec<String> = place
        .fleet
        .acme
        .tokens()
        .unwrap()
        .into_iter()
        .filter(|one| one.role == Role::Person)
        .map(|one| one.subject)
        .collect();
    assert_eq!(subjects, ["ana@example.org", "ana@example.org"]);
    place.provider.rename("eve", "ana");
    let said = place.browser("eve").unwrap_err();
    assert!(said.contains("belongs to somebody else"), "{said}");
}

#[test]
fn a_job_gets_a_token_of_one_run() {
    let Some(place) = Place::new() else { return };
    let (served, fleet) = (&place.served, &place.fleet);
    let token = place.job(&json!({}));
    let reply = place.exchange(&token, None).json();
    assert_eq!(
        (&reply["role"], &reply["subject"]),
        (&json!("worker"), &json!("ben")),
        "{reply}"
    );
    let left_s = reply["expires_ms"].as_u64().unwrap() / 1_000 - now();
    assert!((1_100..=1_200).contains(&left_s), "{left_s}");
    let again = place.exchange(&token, None);
    assert_eq!(again.code(), "sign_in_refused");
    let job = reply["token"].as_str().unwrap();
    let others = served.run(&fleet.token(Role::Worker, "ben"));
    let path = |run: &str| format!("/v1/runs/{run}");
    // Before it has started one, it is for none.
    assert_eq!(served.get(job, &path(&others)).code(), "forbidden_role");
    assert_eq!(served.get(job, "/v1/runs").code(), "forbidden_role");
    let run = served.run(job);
    assert_eq!(served.get(job, &path(&run)).status, 200);
    assert_eq!(
        served.decide(job, &run, "d", done())["verdict"],
        json!("pending")
    );
    let second = served.post(job, "/v1/runs", "other", &start_body());
    assert_eq!(
        (second.status, second.code()),
        (403, "forbidden_role".into())
    );
    for path in [
        path(&others),
        format!("{}/events", path(&others)),
        format!("{}/snapshot", path(&others)),
        format!("{}/graph", path(&others)),
    ] {
        assert_eq!(served.get(job, &path).code(), "forbidden_role", "{path}");
    }
    let elsewhere = served.command(job, &others, "d", done());
    assert_eq!(elsewhere.code(), "forbidden_role");
    // It answers nothing, and whoever is responsible for the job does not answer, either.
    let ben = fleet.token(Role::Person, "ben");
    for token in [job, ben.as_str()] {
        let refused = served.answer(token, &run, &json!("a1"), &json!(99));
        assert_eq!(refused.code(), "forbidden_role");
    }

    // For a run that exists.
    let reply = place.exchange(&place.job(&json!({})), Some(&others)).json();
    let job = reply["token"].as_str().unwrap();
    assert_eq!(served.get(job, &path(&others)).status, 200);
    assert_eq!(served.get(job, &path(&run)).code(), "forbidden_role");
    assert_eq!(
        served.post(job, "/v1/runs", "x", &start_body()).code(),
        "forbidden_role"
    );
    let missing = place.exchange(&place.job(&json!({})), Some("01k00000000000000000000000"));
    assert_eq!(missing.code(), "not_found");
    for changes in [
        json!({ "repository": "eve/shop" }),
        json!({ "repository": null }),
        json!({ "aud": "interlock" }),
        json!({ "exp": now() - 3_600 }),
        json!({ "iat": now() + 3_600 }),
        json!({ "actor": "Ben Smith" }),
    ] {
        let refused = place.exchange(&place.job(&changes), None);
        assert_eq!(
            (refused.status, refused.code()),
            (401, "sign_in_refused".into()),
            "{changes}"
        );
    }
}

#[test]
fn two_starts_at_once_with_a_token_of_one_run_start_one() {
    let Some(place) = Place::new() else { return };
    let reply = place.exchange(&place.job(&json!({})), None).json();
    let job = reply["token"].as_str().unwrap();
    let statuses = crate::world::in_parallel(6, |at| {
        place
            .served
            .post(job, "/v1/runs", &format!("s{at}"), &start_body())
            .status
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 403)),
        "{statuses:?}"
    );
}

#[test]
fn nobody_signs_in_while_the_issuer_is_away_or_where_none_is() {
    let Some(mut place) = Place::new() else {
        return;
    };
    let token = place
        .provider
        .mint("RS256", &json!({}), &place.claims(&json!({})));
    place.provider.end();
    let away = place.post("/v1/sign-in", &place.body(&token));
    assert_eq!((away.status, away.code()), (503, "issuer_away".into()));
    let plain = &place.fleet.served;
    let kind = ["Content-Type: application/json".to_owned()];
    let refused = plain.ask(
        "POST",
        "/v1/sign-in",
        &kind,
        &place.body(&token).to_string(),
    );
    assert_eq!(refused.code(), "sign_in_refused");
    let none = plain.ask("GET", "/v1/sign-in?tenant=acme", &[], "").json();
    assert_eq!(none, json!({ "issuers": [] }));
    let known = place
        .served
        .ask("GET", "/v1/sign-in?tenant=acme", &[], "")
        .json();
    assert_eq!(known["issuers"][0]["client_id"], json!("interlock"));
}
