//! Processes beside a program, and their end.

use super::*;

/// Returns whether process `id` is running, and not a zombie.
fn runs(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z')
    })
}

/// Returns when process `id` was started.
fn start_of(id: &str) -> String {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap();
    fields.split_ascii_whitespace().nth(19).unwrap().to_owned()
}

#[test]
fn what_a_program_leaves_in_its_group_is_ended_with_it() {
    let room = Room::new();
    for command in [
        "sleep 600 & echo $!",
        "(trap '' TERM; sleep 600) & echo $!",
        "sleep 600 >/dev/null 2>&1 & echo $!",
        "nohup sleep 600 >/dev/null 2>&1 & echo $!; exec >&-",
    ] {
        let id = done(room.bash(command));
        assert!(!runs(id.trim()), "{command}");
    }
}

#[test]
fn a_program_that_has_detached_does_not_hold_its_state() {
    let room = Room::new();
    let command =
        "setsid bash -c 'echo $$ > id; exec sleep 600' & until [ -s id ]; do :; done; echo over";
    let text = done(room.bash(command));
    assert!(text.ends_with("over\n"), "{text}");
    let id = room.read("run/id");
    assert!(runs(id.trim()));
    Command::new("kill").arg(id.trim()).status().unwrap();
}

#[test]
fn what_still_writes_when_the_shell_has_ended_may_finish() {
    let room = Room::new();
    done(room.bash("echo kept > >(cat > late)"));
    assert_eq!(room.read("run/late"), "kept\n");
}

#[test]
fn a_program_that_takes_too_long_is_code_124() {
    let room = Room::new();
    for command in [
        "echo begun; sleep 600",
        "trap 'exit 0' TERM; echo begun; sleep 600 & wait",
        "echo begun; exec >&- 2>&-; sleep 600",
        "echo begun; kill -STOP $$",
    ] {
        let mut order = bash(command);
        order.input["timeout"] = json!("1s");
        let said = failed(room.carry(&order));
        assert_eq!(said.code, 124, "{command}");
        assert_eq!(said.stdout, "begun\n");
    }
}

#[test]
fn one_that_ignores_its_end_is_killed() {
    let room = Room::new();
    let mut order = bash("trap '' TERM; echo $$; while :; do sleep 1; done");
    order.input["timeout"] = json!("1s");
    let said = failed(room.carry(&order));
    assert_eq!(said.code, 124);
    assert!(!runs(said.stdout.trim()));
}

/// Starts `order`, stops it once it has written to the pipe `begun`, and returns its outcome.
fn stopped(room: &Room, order: &Order, how: Stop) -> (String, Outcome) {
    let pipe = room.at("run/begun");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let cancel = Cancel::new().unwrap();
    let (tell, told) = mpsc::channel();
    let outcome = thread::scope(|scope| {
        let stopper = cancel.clone();
        scope.spawn(move || {
            let mut line = String::new();
            let pipe = fs::File::open(&pipe).unwrap();
            BufReader::new(pipe).read_line(&mut line).unwrap();
            stopper.stop(how);
            tell.send(line.trim().to_owned()).unwrap();
        });
        carry_out(order, &room.context, &cancel, Box::new(|_| false))
    });
    (told.recv().unwrap(), outcome)
}

#[test]
fn a_cancelled_program_may_tidy_up_and_is_code_130() {
    let room = Room::new();
    let order = bash("trap 'echo tidy > tidied; exit 0' TERM; echo $$ > begun; sleep 600 & wait");
    let (id, outcome) = stopped(&room, &order, Stop::Gently);
    assert_eq!(failed(outcome).code, 130);
    assert_eq!(room.read("run/tidied"), "tidy\n");
    assert!(!runs(&id));
}

#[test]
fn one_cancelled_at_once_is_killed_with_its_group() {
    let room = Room::new();
    let order = bash("trap '' TERM; sleep 600 & echo $! > begun; wait");
    let (id, outcome) = stopped(&room, &order, Stop::AtOnce);
    assert_eq!(failed(outcome).code, 130);
    assert!(!runs(&id));
}

#[test]
fn a_record_of_the_group_lies_beside_the_run_while_it_runs() {
    let room = Room::new();
    let groups = room.at("beside/groups");
    // The record is written just after the start.
    let command = format!(
        "until cat {0}/*.json 2>/dev/null | grep -q boot; do :; done; cat {0}/*.json; echo; echo $$",
        groups.display()
    );
    let text = done(room.bash(&command));
    let mut lines = text.lines();
    let record: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(record["pid"].to_string(), lines.next().unwrap());
    assert_eq!(fs::read_dir(groups).unwrap().count(), 0);
}

#[test]
fn a_group_that_outlived_its_runner_is_ended_by_the_next() {
    let room = Room::new();
    let mut child = Command::new("bash");
    child.process_group(0).args(["-c", "sleep 600 & sleep 600"]);
    let mut child = child.spawn().unwrap();
    let id = child.id().to_string();
    let start = start_of(&id);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let records = room.context.records();
    let groups = room.at("beside/groups");
    fs::create_dir(&groups).unwrap();
    let write = |name: &str, start: &str, boot: &str| {
        let boot = boot.trim();
        let text = format!(r#"{{"pid": {id}, "start": {start}, "boot": "{boot}"}}"#);
        fs::write(groups.join(name), text).unwrap();
    };
    // Another process had the id, or the system was rebooted since.
    write("a.json", "1", &boot);
    write("b.json", &start, "another");
    fs::write(groups.join("c.json"), "{\"pid\": ").unwrap();
    records.end_all().unwrap();
    assert!(runs(&id));
    write("d.json", &start, &boot);
    records.end_all().unwrap();
    assert!(!runs(&id));
    assert_eq!(fs::read_dir(&groups).unwrap().count(), 0);
    child.wait().unwrap();
}

#[test]
fn a_program_without_a_record_is_found_by_its_environment() {
    let mut child = Command::new("bash");
    let mut child = child
        .process_group(0)
        .args(["-c", "echo; setsid sleep 600 & sleep 600"])
        .env("INTERLOCK_EFFECT", "r9/a/3#2")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    let id = child.id().to_string();
    end_leftovers("INTERLOCK_EFFECT", &["r9/a/3#1".to_owned()]);
    assert!(runs(&id));
    end_leftovers("INTERLOCK_EFFECT", &["r9/a/3#2".to_owned()]);
    assert!(!runs(&id));
    child.wait().unwrap();
}
