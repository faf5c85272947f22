//! Runs the official conformance suite against a server directly and through the gateway, where the same scenarios must
//! pass; and against the gateway as a client of the suite's own servers.
//!
//! A scenario's result is the number of its checks, so that a check that is skipped only through the gateway is a
//! difference too.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, process::Command, thread};

use interlock_testkit::{mcp::listening::Listening, programs, room::Room, sample};
use serde_json::json;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");
const PACKAGES: &str = "tests/mcp";
/// A package and the arguments it is run with.
type Suite = (&'static str, &'static [&'static str]);
/// The whole suite of the released version, and the requirements of each protocol version from its pre-release.
const SUITES: [Suite; 3] = [
    ("conformance-0.1", &["--suite", "all"]),
    ("conformance-0.2", &["--requirements", "2025-11-25"]),
    ("conformance-0.2", &["--requirements", "2026-07-28"]),
];
/// Scenarios that the HTTP side of the gateway answers itself, whatever the server behind it does: a server that fails
/// these directly passes them through the gateway.
const OF_THE_TRANSPORT: &[&str] = &[
    "dns-rebinding-protection",
    "server-session-lifecycle",
    "server-sse-polling",
];

/// Scenarios that have fewer checks where a server answers with one JSON document, which is allowed, instead of a
/// stream with one message.
const OF_THE_FORM: &[&str] = &["server-sse-multiple-streams", "server-sse-polling"];

/// Numbers of passed and failed checks, by scenario.
type Results = BTreeMap<String, (u32, u32)>;

/// Server behind the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    /// The fixture, which has everything that the suite asks for.
    Fixture,
    /// `@modelcontextprotocol/server-everything`.
    Everything,
}

/// Transport between the gateway and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    Stdio,
    Http,
    Sse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    None,
    AllowAll,
}

/// Transport to the server, and the run that the gateway belongs to.
type Way = (Upstream, Run);

impl Server {
    fn stdio(self) -> Vec<String> {
        match self {
            Self::Fixture => vec![fixture()],
            Self::Everything => everything("stdio"),
        }
    }

    fn listen(self, room: &Room, upstream: Upstream) -> Listening {
        let words = match (self, upstream) {
            (Self::Fixture, _) => vec![fixture(), "--http".to_owned(), "0".to_owned()],
            (Self::Everything, Upstream::Sse) => everything("sse"),
            (Self::Everything, _) => everything("streamableHttp"),
        };
        let mut command = room.command(&words[0]);
        command.args(&words[1..]);
        if self == Self::Everything {
            // It takes a port and prints no URL; the shell prints it instead.
            let port = free_port();
            let path = if upstream == Upstream::Sse {
                "sse"
            } else {
                "mcp"
            };
            let line = format!(
                "\"$@\" 2>&1 | sed -u 's|^.*listening on port.*$|http://127.0.0.1:{port}/{path}|; s|^.*running on port.*$|http://127.0.0.1:{port}/{path}|'"
            );
            command = room.command("sh");
            command
                .args(["-c", &line, "sh"])
                .args(&words)
                .env("PORT", port.to_string());
        }
        Listening::start(command).unwrap()
    }
}

fn fixture() -> String {
    let program = programs::built("interlock-fixture", "mcp-fixture", INTERLOCK).unwrap();
    program.to_string_lossy().into_owned()
}

fn everything(transport: &str) -> Vec<String> {
    let script = "@modelcontextprotocol/server-everything/dist/index.js";
    let script = programs::installed(PACKAGES, script).unwrap();
    let node = programs::node(PACKAGES);
    vec![
        node.to_string_lossy().into_owned(),
        script.to_string_lossy().into_owned(),
        transport.to_owned(),
    ]
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Runs the suites against a URL and returns the results of each.
fn results(room: &Room, url: &str) -> Vec<Results> {
    SUITES
        .iter()
        .map(|suite| one_suite(room, url, suite))
        .collect()
}

fn one_suite(room: &Room, url: &str, (package, arguments): &Suite) -> Results {
    let script = programs::installed(PACKAGES, &format!("{package}/dist/index.js")).unwrap();
    let mut command: Command = room.command(programs::node(PACKAGES));
    command
        .arg(script)
        .args(["server", "--url", url])
        .args(*arguments);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(read_line);
    let results: Results = lines.collect();
    assert!(
        !results.is_empty(),
        "{package} {arguments:?} said nothing: {output:?}"
    );
    results
}

/// Parses a line such as `✓ tools-list: 3 passed, 0 failed`.
fn read_line(line: &str) -> Option<(String, (u32, u32))> {
    let rest = line
        .strip_prefix("✓ ")
        .or_else(|| line.strip_prefix("✗ "))?;
    let (name, counts) = rest.split_once(": ")?;
    let mut counts = counts.split(", ");
    let mut count = |word: &str| {
        counts
            .next()?
            .trim()
            .strip_suffix(word)?
            .trim()
            .parse()
            .ok()
    };
    let passed = count("passed")?;
    let failed = count("failed")?;
    Some((name.to_owned(), (passed, failed)))
}

/// Runs the suites through the gateway and returns the results of each.
fn through(server: Server, upstream: Upstream, run: Run) -> Vec<Results> {
    let room = Room::new().unwrap();
    let behind = (upstream != Upstream::Stdio).then(|| server.listen(&room, upstream));
    let config = match &behind {
        None => {
            let words = server.stdio();
            format!("command = {:?}\nargs = {:?}\n", words[0], &words[1..])
        }
        Some(listening) if upstream == Upstream::Sse => {
            format!("type = \"sse\"\nurl = {:?}\n", listening.url())
        }
        Some(listening) => format!("url = {:?}\n", listening.url()),
    };
    let config = format!("[mcp.behind]\n{config}");
    if run == Run::AllowAll {
        let workflow = json!({
            "id": "policy", "initial": "working",
            "states": {"working": {"on": {"DONE": "complete"}}, "complete": {"type": "final"}},
        });
        room.write_policy(&workflow, &config).unwrap();
    } else {
        room.write(".interlock/config.toml", &config).unwrap();
    }
    let mut command = room.command(INTERLOCK);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let gateway = Listening::start(command).unwrap();
    results(&room, gateway.url())
}

/// Returns the scenarios whose results differ between the direct run and the one through the gateway, one a line.
fn differences(
    direct: &[Results],
    through: &[Results],
    is_explained: impl Fn(&Suite, &str) -> bool,
) -> String {
    let mut said = String::new();
    for ((direct, through), suite) in direct.iter().zip(through).zip(SUITES) {
        let names = direct
            .keys()
            .chain(through.keys().filter(|name| !direct.contains_key(*name)));
        for name in names {
            let (one, other) = (direct.get(name), through.get(name));
            let has_failed =
                |found: Option<&(u32, u32)>| found.is_none_or(|(_, failed)| *failed > 0);
            let is_explained = is_explained(&suite, name);
            let may_differ = is_explained || OF_THE_FORM.contains(&name.as_str());
            let is_form = may_differ && !has_failed(one) && !has_failed(other);
            let improved = one.is_some_and(|(_, failed)| *failed > 0) && is_explained;
            if one != other && !improved && !is_form {
                writeln!(
                    said,
                    "{suite:?} {name}: {one:?} directly, {other:?} through the gateway"
                )
                .unwrap();
            }
        }
    }
    said
}

/// Compares the results in the ways of `sample`, or in all ways in a whole test.
fn compare(server: Server, sample: &[Way], is_explained: fn(&Suite, &str) -> bool) {
    let ways = if sample::is_whole() {
        all_ways(server)
    } else {
        sample.to_vec()
    };
    let said = thread::scope(|scope| {
        let direct = scope.spawn(|| {
            let room = Room::new().unwrap();
            let listening = server.listen(&room, Upstream::Http);
            results(&room, listening.url())
        });
        let through: Vec<_> = ways
            .iter()
            .map(|(upstream, run)| scope.spawn(|| through(server, *upstream, *run)))
            .collect();
        let direct = direct
            .join()
            .unwrap_or_else(|_| panic!("the direct run failed"));
        let mut said = String::new();
        for (way, thread) in ways.iter().zip(through) {
            let through = thread.join().unwrap_or_else(|_| panic!("{way:?} failed"));
            let mut differs = differences(&direct, &through, is_explained);
            if !differs.is_empty() {
                // Scenarios have time limits of their own, which a busy machine may exceed: runs them once more, alone.
                let again = self::through(server, way.0, way.1);
                differs = differences(&direct, &again, is_explained);
            }
            if !differs.is_empty() {
                writeln!(said, "{way:?}:\n{differs}").unwrap();
            }
        }
        said
    });
    assert!(said.is_empty(), "{said}");
}

fn all_ways(server: Server) -> Vec<Way> {
    let mut upstreams = vec![Upstream::Stdio, Upstream::Http];
    if server == Server::Everything {
        upstreams.push(Upstream::Sse);
    }
    let both = |upstream| [Run::None, Run::AllowAll].map(|run| (upstream, run));
    upstreams.into_iter().flat_map(both).collect()
}

#[test]
fn a_complete_server_passes_the_same_scenarios_through_the_gateway() {
    let sample = [
        (Upstream::Stdio, Run::AllowAll),
        (Upstream::Http, Run::None),
    ];
    compare(Server::Fixture, &sample, |_, _| false);
}

#[test]
fn server_everything_passes_the_same_scenarios_through_the_gateway() {
    let sample = [(Upstream::Stdio, Run::None), (Upstream::Sse, Run::AllowAll)];
    // It speaks no protocol version without sessions: whatever passes of that is the gateway's work.
    compare(Server::Everything, &sample, |(_, words), name| {
        words.contains(&"2026-07-28") || OF_THE_TRANSPORT.contains(&name)
    });
}

/// Scenarios for a client, and the clients that play each through the gateway: `legacy` with sessions, `modern`
/// without.
const CLIENT_SCENARIOS: [(&str, &[&str]); 11] = [
    ("initialize", &["legacy"]),
    ("tools_call", &["legacy", "modern"]),
    ("elicitation-sep1034-client-defaults", &["legacy"]),
    ("sse-retry", &["legacy"]),
    // For a client with sessions the gateway first tries a version with sessions.
    ("request-metadata", &["modern"]),
    ("sep-2322-client-request-state", &["legacy", "modern"]),
    // The server of these scenarios answers `initialize` too, and then requires what only versions without sessions
    // have.
    ("http-standard-headers", &["modern"]),
    ("http-custom-headers", &["legacy", "modern"]),
    ("http-invalid-tool-headers", &["legacy", "modern"]),
    ("json-schema-ref-no-deref", &["legacy", "modern"]),
    ("json-schema-2020-12-preservation", &["legacy", "modern"]),
];

/// Returns the suite's output for a scenario that did not pass; `None` if it passed.
fn client_fails(scenario: &str, era: &str) -> Option<String> {
    let room = Room::new().unwrap();
    let script = programs::installed(PACKAGES, "conformance-0.2/dist/index.js").unwrap();
    let node = programs::node(PACKAGES);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let client = root.join(PACKAGES).join("client.mjs");
    // The suite passes its command line to a shell.
    let line = "\"$CLIENT_NODE\" \"$CLIENT_SCRIPT\"";
    let mut command: Command = room.command(&node);
    command
        .arg(script)
        .args(["client", "--command", line, "--scenario", scenario])
        .env("CLIENT_NODE", &node)
        .env("CLIENT_SCRIPT", client)
        .env("CLIENT_ERA", era)
        .env("INTERLOCK", INTERLOCK);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let whole = output.status.success() && said.contains(" 0 failed, 0 warnings");
    (!whole).then(|| format!("{scenario} for a {era} client:\n{said}"))
}

#[test]
fn the_gateway_is_a_client_as_the_suite_wants_one() {
    let failed: Vec<String> = thread::scope(|scope| {
        let halves: Vec<_> = ["legacy", "modern"]
            .into_iter()
            .map(|era| {
                let mine = CLIENT_SCENARIOS
                    .iter()
                    .filter(move |(_, eras)| eras.contains(&era));
                scope.spawn(move || {
                    mine.filter_map(|(scenario, _)| client_fails(scenario, era))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let joined = halves.into_iter().map(|half| half.join().unwrap());
        joined.flatten().collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
