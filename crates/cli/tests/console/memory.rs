//! The console's memory while a run continues for long, with readers that follow it and a person who looks back.

use std::{fs, io::Read as _, thread};

use serde_json::Value;

use crate::console::{World, page::Console};

/// Number of readers of the run's stream.
const READERS: usize = 12;
/// Number of pauses and resumes in one round; each is an event.
const ROUND: usize = 60;
/// Number of rounds between two measurements.
const ROUNDS: usize = 3;
/// Maximum growth in these rounds once memory is stable, in KiB.
const GROWTH_MAX: u64 = 6 * 1024;
/// Number of times it may grow more before that: the allocator keeps some memory for each thread.
const TRIES: usize = 4;

/// Returns the resident memory of the program that listens on this port, in KiB.
fn memory(port: u16) -> u64 {
    let line = format!("0100007F:{port:04X} 00000000:0000 0A");
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let own = table.lines().find(|one| one.contains(&line)).unwrap();
    let inode = own.split_whitespace().nth(9).unwrap();
    let socket = format!("socket:[{inode}]");
    let holds = |pid: &str| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"));
        open.into_iter().flatten().flatten().any(|entry| {
            fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == socket.as_str())
        })
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().into_string().ok());
    let pid = pids
        .find(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()) && holds(pid))
        .unwrap();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn memory_stays_where_it_is_while_a_run_goes_on() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let run = format!("runs/{}", world.run);
    let stream = format!("stream?run={}", world.run);
    let mut readers: Vec<_> = (0..READERS)
        .map(|_| console.begin("GET", &stream, &bearer, ""))
        .collect();
    let reading: Vec<_> = readers
        .iter_mut()
        .map(|reader| {
            let mut reader = reader.try_clone().unwrap();
            thread::spawn(move || {
                let (mut bytes, mut piece) = (0_u64, [0; 16_384]);
                while let Ok(read @ 1..) = reader.read(&mut piece) {
                    bytes += u64::try_from(read).unwrap();
                }
                bytes
            })
        })
        .collect();
    let round = || {
        for step in 0..ROUND {
            let what = if step % 2 == 0 { "pause" } else { "resume" };
            let answer = console.post(
                &format!("{run}/{what}"),
                Some(&bearer),
                &Value::Object(serde_json::Map::new()),
            );
            assert_eq!(answer.status, 200, "{answer:?}");
            if step % 10 == 0 {
                for path in ["/state?at=2", "/graph?at=3", "/timeline", "/events?from=0"] {
                    assert_eq!(console.get(&format!("{run}{path}"), &bearer).status, 200);
                }
            }
        }
    };
    // One-time allocations are made first.
    (0..ROUNDS).for_each(|_| round());
    let mut seen = vec![memory(console.port)];
    let rests = (0..TRIES).any(|_| {
        (0..ROUNDS).for_each(|_| round());
        let before = seen.last().copied().unwrap_or_default();
        let after = memory(console.port);
        seen.push(after);
        after < before + GROWTH_MAX
    });
    drop(console);
    let heard: Vec<u64> = reading.into_iter().map(|one| one.join().unwrap()).collect();
    assert!(heard.iter().all(|bytes| *bytes > 10_000), "{heard:?}");
    assert!(rests, "KiB after each {ROUNDS} rounds: {seen:?}");
}
