//! Access control: the table of threats, one case per row.

use std::{
    net::{IpAddr, Ipv6Addr, TcpListener},
    process::Stdio,
};

use serde_json::json;

use crate::console::{INTERLOCK, World, page::Console};

/// Sends a request in which one header is changed or left out.
fn with(
    console: &Console,
    method: &str,
    path: &str,
    bearer: &str,
    other: (&str, Option<&str>),
) -> (u16, String) {
    let mut headers = console.headers(method, Some(bearer));
    headers.retain(|(name, _)| name != other.0);
    headers.extend(other.1.map(|value| (other.0.to_owned(), value.to_owned())));
    let answer = console.send(method, path, &headers, "{}");
    let code = if answer.status == 200 {
        String::new()
    } else {
        answer.code()
    };
    (answer.status, code)
}

#[test]
fn a_request_that_is_not_the_pages_own_is_refused() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let port = console.port;
    let get = "/api/v1/runs";
    assert_eq!(with(&console, "GET", get, &bearer, ("X", None)).0, 200);
    let pause = format!("/api/v1/runs/{}/pause", world.run);
    let foreign = format!("127.0.0.1:{port}");
    let other_port = format!("http://localhost:{}", port ^ 1);
    let uppercase = bearer.to_uppercase();
    type Row<'t> = (&'t str, &'t str, &'t str, Option<&'t str>, u16, &'t str);
    let names = [
        "localhost.:",
        "0.0.0.0:",
        "[::1]:",
        "localhost:0",
        "a@localhost:",
    ];
    let [dotted, any, six, padded, named] = names.map(|name| format!("{name}{port}"));
    let rows: [Row<'_>; 21] = [
        ("GET", get, "Host", Some(&dotted), 403, "host"),
        ("GET", get, "Host", Some(&any), 403, "host"),
        ("GET", get, "Host", Some(&six), 403, "host"),
        ("GET", get, "Host", Some(&padded), 403, "host"),
        ("GET", get, "Host", Some(&named), 403, "host"),
        ("GET", get, "Host", Some("evil.example"), 403, "host"),
        ("GET", get, "Host", Some(&foreign), 403, "host"),
        ("GET", get, "Host", Some(""), 403, "host"),
        ("GET", get, "Host", None, 403, "host"),
        (
            "GET",
            get,
            "Origin",
            Some("http://evil.example"),
            403,
            "origin",
        ),
        ("POST", &pause, "Origin", None, 403, "origin"),
        ("POST", &pause, "Origin", Some("null"), 403, "origin"),
        ("POST", &pause, "Origin", Some(&other_port), 403, "origin"),
        ("GET", get, "Sec-Fetch-Site", None, 403, "site"),
        ("GET", get, "Sec-Fetch-Site", Some("same-site"), 403, "site"),
        (
            "GET",
            get,
            "Sec-Fetch-Site",
            Some("cross-site"),
            403,
            "site",
        ),
        (
            "POST",
            &pause,
            "Content-Type",
            Some("text/plain"),
            415,
            "json",
        ),
        ("GET", get, "Authorization", None, 401, "bearer"),
        ("GET", get, "Authorization", Some("Bearer "), 401, "bearer"),
        ("GET", get, "Authorization", Some(&uppercase), 401, "bearer"),
        (
            "POST",
            &pause,
            "Authorization",
            Some("Bearer 00"),
            401,
            "bearer",
        ),
    ];
    for (method, path, name, value, status, code) in rows {
        let found = with(&console, method, path, &bearer, (name, value));
        assert_eq!(
            found,
            (status, code.to_owned()),
            "{method} {name}: {value:?}"
        );
    }
    assert!(world.events("RunPaused").is_empty());
}

#[test]
fn every_answer_forbids_what_a_page_does_not_need() {
    let world = World::new();
    let console = Console::open(&world.room);
    let headers = console.headers("GET", None);
    for (path, status) in [
        ("/", 200),
        ("/icon.svg", 200),
        ("/nosuch", 404),
        ("/manifest.json", 404),
        ("/api/v1/runs", 401),
    ] {
        let answer = console.send("GET", path, &headers, "");
        assert_eq!(answer.status, status, "{path}");
        let head = answer.head.to_lowercase();
        for wanted in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(wanted), "{path}: {wanted}\n{head}");
        }
        assert!(!head.contains("access-control-"), "{path}\n{head}");
        assert!(!head.contains("set-cookie"), "{path}\n{head}");
    }
}

#[test]
fn a_page_is_in_after_a_yes_that_is_typed_after_the_question() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    // Typed before anybody asks: it answers nothing.
    console.terminal.press("y\n").unwrap();
    console
        .terminal
        .wait_for("what was typed", |screen| {
            screen.lines().any(|line| line == "y")
        })
        .unwrap();
    let (refused, number) = console.knock();
    console.types(&number, "n\n");
    console
        .terminal
        .wait_for("the no", |screen| screen.contains("It was not let in"))
        .unwrap();
    let answer = console.finish(&refused);
    assert_eq!((answer.status, answer.code().as_str()), (403, "pairing"));
    let bearer = console.pair();
    assert_eq!(console.get("runs", &bearer).status, 200);
}

#[test]
fn a_bearer_is_given_once_and_dies_with_the_console() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let (pairing, number) = console.knock();
    console.types(&number, "y\n");
    console
        .terminal
        .wait_for("the yes", |screen| screen.contains("The page is in"))
        .unwrap();
    let bearer = console.finish(&pairing).json()["bearer"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        console.finish(&pairing).status,
        403,
        "the secret, once more"
    );
    let later = Console::open(&world.room);
    assert_eq!(later.get("runs", &bearer).status, 401);
    // No file of the person contains it.
    for entry in walk(&world.room.state())
        .into_iter()
        .chain(walk(&world.room.home()))
    {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&bearer), "{}", entry.display());
    }
}

fn walk(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn nobody_is_let_in_without_a_terminal() {
    let world = World::new();
    let mut command = world.room.command(INTERLOCK);
    command.args(["console", "--no-open"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("only a person at a terminal"), "{said}");
}

#[test]
fn a_port_that_somebody_has_is_an_error() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = world.room.command(INTERLOCK);
    command.args(["console", "--no-open", "--port", &port]);
    let output = interlock_testkit::terminal::output(&mut command).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&port), "{said}");
}

#[test]
fn the_newer_loopback_is_the_consoles_as_well() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    if TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    assert!(
        TcpListener::bind((six, console.port)).is_err(),
        "another has it"
    );
    let headers = console.headers("GET", Some(&bearer));
    let answer = console.send_to(six, "GET", "/api/v1/runs", &headers, "");
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// Returns a line that sends one otherwise valid request to the console, and prints the response.
fn line(console: &Console, method: &str, path: &str, bearer: &str, body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\\r\\nConnection: close\\r\\n");
    for (name, value) in console.headers(method, Some(bearer)) {
        text.push_str(&format!("{name}: {value}\\r\\n"));
    }
    text.push_str(&format!("Content-Length: {}\\r\\n\\r\\n{body}", body.len()));
    let host = format!("/dev/tcp/127.0.0.1/{}", console.port);
    format!("exec 3<>{host}; printf '{text}' >&3; cat <&3")
}

#[test]
fn a_process_below_a_guarded_agent_is_refused_with_a_right_bearer_and_is_in_the_log() {
    let world = World::new();
    world.asks();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let ask = console.get("inbox", &bearer).json()["requests"][0].clone();
    let body = json!({
        "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"],
    });
    let answers = format!("/api/v1/runs/{}/answers", world.run);
    let attack = line(&console, "POST", &answers, &bearer, &body.to_string());
    let read = json!({ "file_path": "a" });
    let said = world.below_a_client(("c1", "Read", &read), &attack);
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    assert!(said.contains("\"agent\""), "{said}");
    assert!(world.events("ApprovalGranted").is_empty());
    let refused = world.events("ConsoleRefused");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["request"], format!("POST {answers}"));
    assert_eq!(refused[0]["program"], "bash");
    // The page itself is refused, too, and pairing as well.
    for (method, path) in [("GET", "/"), ("POST", "/api/v1/pair")] {
        let attack = line(&console, method, path, &bearer, "{}");
        let said = world.below_a_client(("c2", "Read", &read), &attack);
        assert!(said.starts_with("HTTP/1.1 403"), "{method} {path}: {said}");
    }
    // The person's own page continues to work.
    let waits = console.get("inbox", &bearer).json()["requests"][0].clone();
    assert_eq!(
        (&waits["id"], &waits["digest"]),
        (&ask["id"], &ask["digest"])
    );
}

#[test]
fn a_bearer_that_another_program_has_got_hold_of_opens_nothing_for_it() {
    let world = World::new();
    world.asks();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let ask = console.get("inbox", &bearer).json()["requests"][0].clone();
    let body = json!({
        "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"],
    });
    let answers = format!("/api/v1/runs/{}/answers", world.run);
    // Not below an agent: a process that an agent has started in a separate session looks like this.
    let line = line(&console, "POST", &answers, &bearer, &body.to_string());
    let output = world.room.command("bash").args(["-c", &line]).output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(said.starts_with("HTTP/1.1 401"), "{said}");
    assert!(world.events("ApprovalGranted").is_empty());
    // The page continues to work.
    assert_eq!(console.get("inbox", &bearer).status, 200);
}

/// A process below the agent requests a page, is refused, passes its connection to another process and ends.
const HANDS_ON: &str = r#"
import os, socket, sys
port, first, second = int(sys.argv[1]), open('first').read(), open('second').read()
ours, theirs = socket.socketpair(socket.AF_UNIX)
if os.fork() == 0:
    console = socket.create_connection(('127.0.0.1', port))
    console.sendall(first.encode())
    console.recv(65536)
    socket.send_fds(theirs, [b'x'], [console.fileno()])
    os._exit(0)
_, (fd, *_), _, _ = socket.recv_fds(ours, 1, 1)
os.wait()
console = socket.socket(fileno=fd)
console.sendall(second.encode())
answer = b''
while part := console.recv(65536):
    answer += part
print(answer.decode())
"#;

#[test]
fn a_connection_that_is_handed_on_is_looked_up_again() {
    let world = World::new();
    world.asks();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let text = |method: &str, path: &str, rest: &str| {
        let mut text = format!("{method} {path} HTTP/1.1\r\n{rest}");
        for (name, value) in console.headers(method, Some(&bearer)) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text + "\r\n"
    };
    let last = "Connection: close\r\n";
    world.room.write("first", &text("GET", "/", "")).unwrap();
    world
        .room
        .write("second", &text("GET", "/api/v1/inbox", last))
        .unwrap();
    world.room.write("hands_on.py", HANDS_ON).unwrap();
    let read = json!({ "file_path": "a" });
    let line = format!("python3 hands_on.py {}", console.port);
    let said = world.below_a_client(("c1", "Read", &read), &line);
    // Either the connection was closed after the first refusal, or the second request is refused as well.
    assert!(!said.contains("200 OK"), "{said}");
    assert!(!said.contains("SHIP"), "{said}");
    assert!(!world.events("ConsoleRefused").is_empty());
}

#[test]
fn what_an_agent_opens_takes_no_room_from_the_person() {
    let world = World::new();
    world.asks();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let read = json!({ "file_path": "a" });
    // Silent connections, held open while the person uses the console.
    let flood = format!(
        "import socket, sys, time\n\
         held = [socket.create_connection(('127.0.0.1', {})) for _ in range(300)]\n\
         print('held', flush=True)\n\
         open('held', 'w').close()\n\
         import os\n\
         [time.sleep(0.05) for _ in range(600) if not os.path.exists('answered')]\n",
        console.port
    );
    world.room.write("flood.py", &flood).unwrap();
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| world.below_a_client(("c1", "Read", &read), "python3 flood.py"));
        while world.room.read("held").is_none() {
            std::thread::yield_now();
        }
        let answer = console.get("inbox", &bearer);
        world.room.write("answered", "").unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(agent.join().unwrap().contains("held"));
    });
}
