//! Retried calls: those of an agent's tools and of a tool state, and no others.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use interlock_testkit::provider::{Reply, call, text};
use serde_json::json;

use crate::codemie_tools::{made, run};

/// Sends these responses, one per connection; also returns the counter of responses.
fn server(answers: &[&str]) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
    let count: Arc<Mutex<usize>> = Arc::default();
    let given = Arc::clone(&count);
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            *given.lock().unwrap() += 1;
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, count)
}

fn answer(status: &str, header: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{header}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_request_of_an_agent_is_repeated_as_one_of_a_tool_state_is() {
    let busy = answer("503 Service Unavailable", "Retry-After: 3600\r\n", "");
    let done = answer("200 OK", "", "the data");
    let missing = answer("404 Not Found", "", "");
    for (answers, wanted, tries, is_agent) in [
        ([&busy, &busy, &done], "the data", 3, true),
        ([&busy, &busy, &done], "the data", 3, false),
        ([&missing, &done, &done], "404", 1, true),
        ([&busy, &busy, &busy], "503", 3, true),
    ] {
        let (address, count) = server(&answers.map(String::as_str));
        let url = json!({ "url": address });
        // A delay requested by a server is respected, up to `max_interval`.
        let policy = json!({"initial_interval": 0.01, "max_interval": 0.05, "max_attempts": 3});
        let state = match is_agent {
            true => json!({"id": "s", "assistant_id": "a", "next": {"state_id": "end"}}),
            false => json!({"id": "s", "tool_id": "t", "next": {"state_id": "end"}}),
        };
        let workflow = json!({
            "retry_policy": policy,
            "assistants": [{"id": "a", "system_prompt": "x", "tools": [{"name": "http_request"}]}],
            "tools": [{"id": "t", "tool": "http_request", "tool_args": url}],
            "states": [state],
        });
        let place = made(
            &workflow,
            vec![
                Reply::say(vec![call("http_request", &url)]),
                Reply::say(vec![text("done")]),
            ],
        );
        let said = run(&place, "go").ended(0);
        assert_eq!(*count.lock().unwrap(), tries);
        let events = place.events();
        if is_agent {
            let told = place.provider.asked()[1].results();
            assert!(told[0].contains(wanted), "{told:?}");
            let again = events.iter().filter(|one| one["code"] == "called_again");
            assert_eq!(again.count(), tries - 1);
        } else {
            assert_eq!(said.out.trim(), wanted);
            assert_eq!(place.count("AttemptFailed"), tries - 1);
        }
    }
}
