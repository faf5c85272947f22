//! Requests to scripted servers.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

use interlock_tools::{Code, Tool, ToolEnd};
use serde_json::{Value, json};

use crate::room::Room;

/// A request as received by a server.
#[derive(Debug, Clone, Default)]
struct Got {
    first: String,
    headers: Vec<String>,
    body: String,
}

/// A server that sends these responses, one per connection, and reports the requests.
struct Server {
    address: String,
    got: Receiver<Got>,
}

impl Server {
    /// `{at}` in a response is replaced by the server's own address.
    fn with(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answers: Vec<String> = answers
            .iter()
            .map(|answer| answer.replace("{at}", &address))
            .collect();
        let (tell, got) = channel();
        thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                let _ = tell.send(read(&stream));
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { address, got }
    }

    fn next(&self) -> Got {
        self.got.recv().unwrap()
    }
}

fn read(stream: &TcpStream) -> Got {
    let mut reader = BufReader::new(stream);
    let mut got = Got::default();
    reader.read_line(&mut got.first).unwrap();
    got.first.truncate(got.first.trim_end().len());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(count) = line.strip_prefix("content-length: ") {
            length = count.parse().unwrap();
        }
        got.headers.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    got.body = String::from_utf8(body).unwrap();
    got
}

fn ask(input: &Value) -> ToolEnd {
    Room::new().call(Tool::HttpRequest, input).1
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

#[test]
fn the_body_is_the_result() {
    let server = Server::with(&[&answer("200 OK", "x-a: 1\r\n", "hällo")]);
    let end = ask(
        &json!({"url": format!("{}/a?x=1", server.address), "query": {"q": "a b", "n": [1, true, null], "none": null}}),
    );
    assert!(end.ok, "{end:?}");
    assert_eq!((end.text.as_str(), end.bytes), ("hällo", 6));
    let reply = end.reply.unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.headers.contains(&("x-a".to_owned(), "1".to_owned())));
    assert_eq!(server.next().first, "GET /a?x=1&q=a+b&n=1&n=true HTTP/1.1");
}

#[test]
fn a_body_is_sent_as_text_or_as_json() {
    let ok = answer("204 No Content", "", "");
    let server = Server::with(&[&ok, &ok]);
    let url = &server.address;
    ask(&json!({"url": url, "method": "post", "body": "plain", "headers": {"X-N": 3}}));
    let got = server.next();
    assert_eq!(got.first, "POST / HTTP/1.1");
    assert_eq!(got.body, "plain");
    assert!(got.headers.contains(&"x-n: 3".to_owned()), "{got:?}");
    ask(&json!({"url": url, "method": "PUT", "body": {"b": [1, 2.5], "a": null}}));
    let got = server.next();
    assert_eq!(got.body, r#"{"b":[1,2.5],"a":null}"#);
    assert!(
        got.headers
            .contains(&"content-type: application/json".to_owned())
    );
}

#[test]
fn a_status_from_400_is_a_failure_that_tells_when_to_come_back() {
    let server = Server::with(&[
        &answer("404 Not Found", "", "no such thing"),
        &answer("503 Service Unavailable", "retry-after: 5\r\n", ""),
        &answer("399 Odd", "", "fine"),
    ]);
    let end = ask(&json!({"url": server.address}));
    assert_eq!(end.code, Some(Code::HttpStatus));
    assert_eq!(
        end.text,
        "the server answered with status 404:\nno such thing"
    );
    let end = ask(&json!({"url": server.address}));
    let reply = end.reply.unwrap();
    assert_eq!((reply.status, reply.retry_after_ms), (503, Some(5_000)));
    assert!(ask(&json!({"url": server.address})).ok);
}

#[test]
fn ten_redirects_are_followed_and_no_more() {
    let on = answer("302 Found", "location: /next\r\n", "");
    let last = answer("200 OK", "", "there");
    let mut answers = vec![on.as_str(); 10];
    answers.push(&last);
    let server = Server::with(&answers);
    assert_eq!(ask(&json!({"url": server.address})).text, "there");
    let server = Server::with(&[on.as_str(); 12]);
    let end = ask(&json!({"url": server.address}));
    assert_eq!(end.code, Some(Code::Redirect), "{end:?}");
    assert_eq!(server.got.try_iter().count(), 11);
}

#[test]
fn requests_go_to_the_web_alone() {
    for place in ["file:///etc/passwd", "ftp://127.0.0.1/", "data:,x"] {
        let end = ask(&json!({"url": place}));
        assert_eq!(end.code, Some(Code::InvalidArguments), "{place}");
        let on = answer("302 Found", &format!("location: {place}\r\n"), "");
        let server = Server::with(&[&on]);
        let end = ask(&json!({"url": server.address}));
        assert_eq!(end.code, Some(Code::Redirect), "{place}");
    }
    for url in ["", "nowhere", "http://", "/etc/passwd"] {
        let end = ask(&json!({"url": url}));
        assert_eq!(end.code, Some(Code::InvalidArguments), "{url}");
    }
}

#[test]
fn headers_meant_for_one_server_do_not_reach_another() {
    let other = Server::with(&[&answer("200 OK", "", "other")]);
    let on = answer(
        "307 Temporary Redirect",
        &format!("location: {}/x\r\n", other.address),
        "",
    );
    let back = answer("307 Temporary Redirect", "location: {at}/y\r\n", "");
    let server = Server::with(&[&back, &on]);
    let input = json!({"url": server.address, "method": "DELETE", "headers": {"X-Api-Key": "k", "Authorization": "Bearer t"}});
    assert_eq!(ask(&input).text, "other");
    for _ in 0..2 {
        assert!(server.next().headers.contains(&"x-api-key: k".to_owned()));
    }
    let got = other.next();
    assert_eq!(
        (got.first.as_str(), got.body.as_str()),
        ("DELETE /x HTTP/1.1", "")
    );
    let secret =
        |header: &String| header.starts_with("x-api-key") || header.starts_with("authorization");
    assert!(!got.headers.iter().any(secret), "{got:?}");
}

#[test]
fn a_body_meant_for_one_server_does_not_reach_another() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let other = Server::with(&[&answer("200 OK", "", "other")]);
        let on = format!("location: {}/x\r\n", other.address);
        let server = Server::with(&[
            &answer(status, "location: {at}/y\r\n", ""),
            &answer(status, &on, ""),
        ]);
        let end = ask(&json!({"url": server.address, "method": "POST", "body": "b"}));
        assert_eq!(end.code, Some(Code::Redirect), "{status}: {end:?}");
        // On the same server, the body is sent, too.
        assert_eq!(
            (server.next().body, server.next().body),
            ("b".into(), "b".into())
        );
        assert_eq!(other.got.try_iter().count(), 0);
    }
}

#[test]
fn after_a_post_the_next_place_is_only_looked_at() {
    for (method, status, next) in [
        ("POST", "301 Moved Permanently", "GET"),
        ("POST", "302 Found", "GET"),
        ("POST", "303 See Other", "GET"),
        ("PUT", "303 See Other", "GET"),
        ("HEAD", "303 See Other", "HEAD"),
    ] {
        let server = Server::with(&[
            &answer(status, "location: /x\r\n", ""),
            &answer("200 OK", "", ""),
        ]);
        ask(&json!({"url": server.address, "method": method, "body": {"a": 1}}));
        server.next();
        let got = server.next();
        let body = if next == "GET" { "" } else { "{\"a\":1}" };
        assert_eq!(
            (got.first, got.body),
            (format!("{next} /x HTTP/1.1"), body.to_owned()),
            "{method} {status}"
        );
    }
}

#[test]
fn what_is_put_is_put_where_the_server_leads() {
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
    ] {
        let server = Server::with(&[
            &answer(status, "location: /x\r\n", ""),
            &answer("200 OK", "", "kept"),
        ]);
        let end = ask(&json!({"url": server.address, "method": "PUT", "body": "b"}));
        assert_eq!(end.text, "kept", "{status}");
        server.next();
        let got = server.next();
        assert_eq!(
            (got.first.as_str(), got.body.as_str()),
            ("PUT /x HTTP/1.1", "b"),
            "{status}"
        );
    }
}

#[test]
fn an_answer_has_a_bound() {
    let body = "x".repeat(10 * 1024 * 1024 + 1);
    let server = Server::with(&[&answer("200 OK", "", &body)]);
    let end = ask(&json!({"url": server.address}));
    assert_eq!(end.code, Some(Code::TooLarge));
}

#[test]
fn what_is_not_reached_or_breaks_off_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/?key=hunter22", gone.local_addr().unwrap());
    drop(gone);
    let end = ask(&json!({"url": url}));
    assert_eq!(end.code, Some(Code::Unreachable));
    assert!(!end.text.contains("hunter22"), "{}", end.text);
    let server = Server::with(&["HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf"]);
    let end = ask(&json!({"url": server.address}));
    assert_eq!(end.code, Some(Code::Unreachable));
}

#[test]
fn a_server_that_never_answers_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let end = ask(&json!({"url": url, "timeout": 0.2}));
    assert_eq!(end.code, Some(Code::Timeout));
    let room = Room::new();
    let cancel = room.cancel.clone();
    let waiting = thread::spawn(move || {
        // Both connections are open; the second call waits for its response.
        let _first = listener.accept().unwrap();
        let _second = listener.accept().unwrap();
        cancel.cancel();
        (_first, _second)
    });
    let (_, end) = room.call(Tool::HttpRequest, &json!({"url": url, "timeout": 600}));
    assert_eq!(end.code, Some(Code::Cancelled));
    drop(waiting.join());
}

#[test]
fn headers_of_the_connection_are_its_own() {
    for name in ["Host", "content-length", "Transfer-Encoding", "a b", ""] {
        let end = ask(&json!({"url": "http://127.0.0.1:9", "headers": {name: "x"}}));
        assert_eq!(end.code, Some(Code::InvalidArguments), "{name}");
    }
    let end = ask(&json!({"url": "http://127.0.0.1:9", "headers": {"x": "a\r\nb: c"}}));
    assert_eq!(end.code, Some(Code::InvalidArguments));
}

#[test]
fn a_request_touches_no_file() {
    let room = Room::new();
    let (call, _) = room.call(
        Tool::HttpRequest,
        &json!({"url": "http://127.0.0.1:9/a/b", "body": "echo x > y", "headers": {"A": "b"}}),
    );
    assert_eq!(call.facts.malformed, None);
    assert_eq!(call.facts.protected, None);
    assert!(
        call.facts.writes.is_empty() && call.facts.reads.is_empty(),
        "{:?}",
        call.facts
    );
}
