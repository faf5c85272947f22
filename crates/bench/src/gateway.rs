//! Compares a tool call through the gateway with the direct call, and with other gateways.

use std::{
    env,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use interlock_testkit::{
    mcp::{http, listening::Listening, stdio},
    room::Room,
};
use serde_json::{Value, json};

use crate::{
    arguments::Arguments,
    table::{Table, ratio, shown},
};

/// Number of rounds, and of calls per contender and round.
const ROUNDS: usize = 40;
const CALLS: usize = 50;
/// Number of uncounted calls at the beginning.
const WARM_UP: usize = 20;
/// Maximum time that the gateway may add to a call at the median.
const ADDED_MOST: Duration = Duration::from_micros(500);
const TOOL: &str = "test_simple_text";
const VERSION: &str = "2025-06-18";

/// The run in the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    None,
    AllowAll,
    Guarded,
}

const RUNS: [(Run, &str); 3] = [
    (Run::None, "no run"),
    (Run::AllowAll, "a run that allows all"),
    (Run::Guarded, "a guarded run"),
];

/// A program to call, and the times of its calls.
struct Contender {
    name: String,
    caller: Caller,
    times: Vec<Duration>,
    /// The index of the contender to compare with.
    beside: usize,
    /// Kept alive while it is called.
    _room: Room,
    _server: Option<Listening>,
}

enum Caller {
    Stdio(stdio::Client),
    Http(http::Client),
}

impl Caller {
    fn call(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        let answer = match self {
            Self::Stdio(client) => {
                let id = client.call(TOOL, &json!({}))?;
                client.answer(&id)?
            }
            Self::Http(client) => client.call(TOOL, &json!({}))?,
        };
        let took = begun.elapsed();
        let text = answer
            .pointer("/result/content/0/text")
            .and_then(Value::as_str);
        ensure!(
            text.is_some_and(|text| text.starts_with("This is")),
            "no answer: {answer}"
        );
        Ok(took)
    }
}

/// Measures clients over standard streams.
pub(crate) fn stdio(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let server = listening(&Room::new()?, &[&arguments.fixture, "--http", "0"])?;
    let mut all = Vec::new();
    all.push(over_stdio(
        "the server itself",
        0,
        Room::new()?,
        &[&arguments.fixture],
    )?);
    for (run, name) in RUNS {
        let words = [&arguments.interlock, "gateway", "--", &arguments.fixture];
        all.push(over_stdio(
            &format!("interlock, {name}"),
            0,
            room(run, "")?,
            &words,
        )?);
    }
    let config = format!("[mcp.behind]\nurl = {:?}\n", server.url());
    let room = room(Run::None, &config)?;
    let over_http = all.len();
    let mut direct = over_http_to(
        "the server itself, over HTTP",
        over_http,
        Room::new()?,
        server.url(),
    )?;
    direct._server = None;
    all.push(direct);
    all.push(over_stdio(
        "interlock to HTTP, no run",
        over_http,
        room,
        &[&arguments.interlock, "gateway"],
    )?);
    let (remote, gateway) = (
        other(arguments, "mcp-remote/dist/proxy.js"),
        other(arguments, "supergateway/dist/index.js"),
    );
    let words = [
        "node",
        &remote,
        server.url(),
        "--allow-http",
        "--transport",
        "http-only",
    ];
    all.push(over_stdio(
        "mcp-remote to HTTP",
        over_http,
        Room::new()?,
        &words,
    )?);
    let words = [
        "node",
        &gateway,
        "--streamableHttp",
        server.url(),
        "--logLevel",
        "none",
    ];
    all.push(over_stdio(
        "supergateway to HTTP",
        over_http,
        Room::new()?,
        &words,
    )?);
    take_turns(&mut all)?;
    report("stdio", &all, table);
    Ok(())
}

/// Measures clients over HTTP.
pub(crate) fn http(arguments: &Arguments, table: &mut Table) -> Result<()> {
    let fixture = arguments.fixture.as_str();
    let mut all = vec![listening_to(
        "the server itself",
        Room::new()?,
        &[fixture, "--http", "0"],
        None,
    )?];
    let server = listening(&Room::new()?, &[fixture, "--http", "0"])?;
    let serve = [
        arguments.interlock.as_str(),
        "serve",
        "--listen",
        "127.0.0.1:0",
    ];
    for (run, name) in RUNS {
        let config = format!("[mcp.behind]\nurl = {:?}\n", server.url());
        let room = room(run, &config)?;
        all.push(listening_to(
            &format!("interlock, {name}"),
            room,
            &serve,
            None,
        )?);
    }
    let config = format!("[mcp.behind]\ncommand = {fixture:?}\n");
    let room = room(Run::None, &config)?;
    all.push(listening_to(
        "interlock to stdio, no run",
        room,
        &serve,
        None,
    )?);
    let (proxy, gateway) = (
        other(arguments, "mcp-proxy/dist/bin/mcp-proxy.mjs"),
        other(arguments, "supergateway/dist/index.js"),
    );
    let port = free_port()?;
    let words = [
        "node",
        &proxy,
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--",
        fixture,
    ];
    all.push(listening_to(
        "mcp-proxy to stdio",
        Room::new()?,
        &words,
        Some(&port),
    )?);
    let port = free_port()?;
    let words = [
        "node",
        &gateway,
        "--stdio",
        fixture,
        "--outputTransport",
        "streamableHttp",
        "--stateful",
        "--port",
        &port,
    ];
    all.push(listening_to(
        "supergateway to stdio",
        Room::new()?,
        &words,
        Some(&port),
    )?);
    take_turns(&mut all)?;
    report("HTTP", &all, table);
    Ok(())
}

/// Creates a project with a run and servers.
fn room(run: Run, config: &str) -> Result<Room> {
    let room = Room::new()?;
    let state = match run {
        Run::None => {
            room.write(".interlock/config.toml", config)?;
            return Ok(room);
        }
        Run::AllowAll => json!({"on": {"DONE": "over"}}),
        Run::Guarded => json!({
            "on": {"DONE": "over"},
            "allowed_tools": [TOOL, "mcp__behind__*", "Read", "Grep"],
            "allowed_commands": ["cargo test"],
            "max_iterations": 1_000_000,
            "context_budget_bytes": 1_000_000_000,
        }),
    };
    let workflow = json!({
        "id": "policy", "initial": "working",
        "states": {"working": state, "over": {"type": "final"}},
    });
    room.write_policy(&workflow, config)?;
    Ok(room)
}

fn other(arguments: &Arguments, script: &str) -> String {
    let folder = Path::new(&arguments.beside)
        .parent()
        .unwrap_or(Path::new("."));
    folder
        .join("node_modules")
        .join(script)
        .to_string_lossy()
        .into_owned()
}

fn command(room: &Room, words: &[&str]) -> Result<Command> {
    let (program, words) = words.split_first().context("no program")?;
    let mut command = room.command(program);
    command.args(words);
    if let Some(home) = env::var_os("HOME").filter(|_| *program == "cargo") {
        command.env("HOME", home);
    }
    Ok(command)
}

fn over_stdio(name: &str, beside: usize, room: Room, words: &[&str]) -> Result<Contender> {
    let opened = stdio::Client::open(command(&room, words)?, VERSION, &json!({}));
    let (client, hello) = opened.with_context(|| format!("{name} cannot be started"))?;
    ensure!(hello.get("result").is_some(), "{name}: {hello}");
    Ok(Contender {
        name: name.to_owned(),
        caller: Caller::Stdio(client),
        times: Vec::new(),
        beside,
        _room: room,
        _server: None,
    })
}

fn over_http_to(name: &str, beside: usize, room: Room, url: &str) -> Result<Contender> {
    let mut client = http::Client::new(url)?;
    let hello = client.open(VERSION, &json!({}));
    let hello = hello.with_context(|| format!("{name} does not answer at {url}"))?;
    ensure!(hello.get("result").is_some(), "{name}: {hello}");
    Ok(Contender {
        name: name.to_owned(),
        caller: Caller::Http(client),
        times: Vec::new(),
        beside,
        _room: room,
        _server: None,
    })
}

fn listening(room: &Room, words: &[&str]) -> Result<Listening> {
    Ok(Listening::start(command(room, words)?)?)
}

/// Starts a program that listens; one that does not print its address gets a port and is polled until it answers.
fn listening_to(name: &str, room: Room, words: &[&str], port: Option<&str>) -> Result<Contender> {
    let command = command(&room, words)?;
    let server = match port {
        None => Listening::start(command),
        Some(port) => Listening::start_at(command, &format!("http://127.0.0.1:{port}/mcp")),
    };
    let server = server.with_context(|| format!("{name} cannot be started"))?;
    let mut contender = over_http_to(name, 0, room, server.url())?;
    contender._server = Some(server);
    Ok(contender)
}

fn free_port() -> Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port().to_string())
}

fn take_turns(all: &mut [Contender]) -> Result<()> {
    for contender in all.iter_mut() {
        for _ in 0..WARM_UP {
            contender
                .caller
                .call()
                .with_context(|| contender.name.clone())?;
        }
    }
    for _ in 0..ROUNDS {
        for contender in all.iter_mut() {
            for _ in 0..CALLS {
                let took = contender
                    .caller
                    .call()
                    .with_context(|| contender.name.clone())?;
                contender.times.push(took);
            }
        }
    }
    all.iter_mut()
        .for_each(|contender| contender.times.sort_unstable());
    Ok(())
}

/// Returns the percentile of sorted times.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let last = times.len().saturating_sub(1);
    times.get(last * percent / 100).copied().unwrap_or_default()
}

fn report(transport: &str, all: &[Contender], table: &mut Table) {
    for contender in all {
        let Some(beside) = all.get(contender.beside) else {
            continue;
        };
        let (p50, p99) = (
            percentile(&contender.times, 50),
            percentile(&contender.times, 99),
        );
        let other = percentile(&beside.times, 50);
        let name = &contender.name;
        let known = format!("p99 {}; {}: {}", shown(p99), beside.name, shown(other));
        table.seen(
            format!("{transport} call: {name}"),
            shown(p50),
            known,
            ratio(p50, other),
        );
        if name.starts_with("interlock") {
            let added = p50.saturating_sub(other);
            table.time(
                format!("{transport} call: added by {name}"),
                added,
                ADDED_MOST,
            );
        }
    }
}
