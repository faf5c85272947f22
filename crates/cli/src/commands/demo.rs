//! `demo`: shows the main use in a temporary folder, with a scripted agent on the real hook path.

use std::{path::PathBuf, process::Command};

use interlock_core::command::{Answer, Command as RunCommand, CommandKind};
use interlock_project::Library;
use interlock_store::{Durability, EventLog as _, NewRun, RunLog, SourceFile, submit};
use serde_json::{Value, json};

use crate::{
    app::{App, program},
    args::{DemoArgs, GraphFormat},
    authority,
    commands::{console, graph},
    demo::{Agent, Project, RIGHT, Verdict, WRONG},
    failure::{Done, Exit, Failure},
    live::{now_ms, reply},
    log_line,
    output::Style,
};

pub(crate) fn run(app: &App, args: &DemoArgs) -> Done {
    if args.console {
        return with_console(app, args);
    }
    let stop = stop_flag()?;
    let project = Project::make()?;
    let mut story = Story::begin(app, args, &project)?;
    for act in [Story::plan, Story::implement, Story::test, Story::finish] {
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Failure::Said(Exit::Cancelled));
        }
        act(&mut story)?;
    }
    drop(story);
    if args.keep {
        app.output.line(&format!(
            "\nThe folder is kept: {}",
            project.keep().display()
        ))?;
    }
    Ok(())
}

/// Plays the story up to the question, which a person answers in the console.
fn with_console(app: &App, args: &DemoArgs) -> Done {
    authority::at_a_terminal(app)?;
    let project = Project::make()?;
    remove_on_interrupt((!args.keep).then(|| project.root()))?;
    let mut story = Story::begin(app, args, &project)?;
    for act in [Story::plan, Story::implement, Story::test] {
        act(&mut story)?;
    }
    let address = format!("#/runs/{}", story.log.run());
    drop(story);
    app.output.line("")?;
    let served = console::serve(app, project.state(), (0, &address, !args.no_open), None);
    if args.keep {
        app.output.line(&format!(
            "\nThe folder is kept: {}",
            project.keep().display()
        ))?;
    }
    served
}

/// Makes Ctrl-C remove the demo's folder and end the program.
fn remove_on_interrupt(folder: Option<PathBuf>) -> Done {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            if let Some(folder) = folder.as_ref().and_then(|root| root.parent()) {
                // The folder is in the system's temporary directory, if it cannot be removed.
                let _ = std::fs::remove_dir_all(folder);
            }
            std::process::exit(i32::from(Exit::Cancelled.code()));
        }
    });
    Ok(())
}

/// Makes Ctrl-C end the demo between two steps, so that its folder is removed.
fn stop_flag() -> Result<std::sync::Arc<std::sync::atomic::AtomicBool>, Failure> {
    let flag = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::clone(&flag))?;
    Ok(flag)
}

/// The demo while it runs.
struct Story<'a> {
    app: &'a App,
    args: &'a DemoArgs,
    project: &'a Project,
    log: RunLog,
    agent: Agent,
}

impl<'a> Story<'a> {
    fn begin(app: &'a App, args: &'a DemoArgs, project: &'a Project) -> Result<Self, Failure> {
        let root = project.root();
        let source = Library::new(&root, None).open("bugfix")?;
        let loaded = interlock_formats::load(&source, None, &Library::new(&root, None))
            .map_err(|found| anyhow::anyhow!("{}", interlock_formats::render(&found, false)))?;
        let home = project.state();
        let file = SourceFile {
            name: source.name.clone(),
            text: source.text.clone(),
        };
        let new = NewRun {
            machine: &loaded.machine,
            source: &file,
            project_root: &root,
            name: Some("demo"),
            durability: Durability::default(),
            at_ms: now_ms(),
        };
        let started = home.start_run(&new, Default::default(), "you")?;
        home.lock_bindings()?
            .wait_for_next(started.log.run(), &root, None)?;
        let agent = Agent::start(program()?, root, project.home())?;
        let mut story = Self {
            app,
            args,
            project,
            log: started.log,
            agent,
        };
        story.say(Style::Bold, "you", "Fix the bug: `sh check.sh` fails.", &[])?;
        let added = story.agent.prompt("Fix the bug: `sh check.sh` fails.")?;
        story.say(Style::Dim, "interlock adds", &added, &[])?;
        Ok(story)
    }

    fn plan(&mut self) -> Done {
        let file = self.project.root().join("src/add.sh");
        let edit = json!({ "file_path": file, "old_string": WRONG, "new_string": RIGHT });
        self.call("Edit", &edit, "edit src/add.sh while planning")?;
        self.call(
            "Bash",
            &json!({ "command": "ls && rm -rf src" }),
            "ls && rm -rf src",
        )?;
        self.call("Read", &json!({ "file_path": file }), "read src/add.sh")?;
        self.transition("READY", &json!({}))
    }

    fn implement(&mut self) -> Done {
        let file = self.project.root().join("src/add.sh");
        let edit = json!({ "file_path": file, "old_string": WRONG, "new_string": RIGHT });
        self.call("Edit", &edit, "edit src/add.sh: minus becomes plus")?;
        self.transition("DONE", &json!({}))
    }

    fn test(&mut self) -> Done {
        self.transition("PASS", &json!({ "tests": "all passed, I am sure" }))?;
        self.call("Bash", &json!({ "command": "sh check.sh" }), "sh check.sh")?;
        self.transition("PASS", &json!({ "rationale": "minus was plus" }))
    }

    fn finish(&mut self) -> Done {
        let machine = self.log.machine()?;
        let mut run = self.log.load()?;
        let answer = Answer {
            by: "you".to_owned(),
            ..Answer::default()
        };
        let approve = RunCommand {
            at_ms: now_ms(),
            kind: CommandKind::Approve(answer),
        };
        let decision = submit(&mut self.log, &machine, &mut run, &approve)?;
        if let (false, _, why) = reply(&decision.reply) {
            return Err(anyhow::anyhow!("the demo failed: {why}").into());
        }
        self.say(Style::Green, "you", "interlock approve", &[])?;
        let output = self.app.output;
        if self.args.json {
            for recorded in self.log.events(0) {
                output.json(&log_line::line(&recorded?)?)?;
            }
            return Ok(());
        }
        output.lines(&format!(
            "\n{}",
            output.styled(
                Style::Bold,
                "The log of the run (each line carries the hash of the one before it):"
            )
        ))?;
        let mut events = Vec::new();
        for recorded in self.log.events(0) {
            let recorded = recorded?;
            output.line(&log_line::sentence(self.app, &recorded)?)?;
            events.push(recorded.event);
        }
        output.line(&format!("verified {} events", self.log.verify()?))?;
        output.lines(&format!(
            "\n{}",
            output.styled(Style::Bold, "Its graph (Mermaid):")
        ))?;
        output.text(&graph::draw(
            &machine,
            Some(&run),
            &events,
            GraphFormat::Mermaid,
        ))
    }

    /// Proposes a call and, if it is allowed, runs it.
    fn call(&mut self, tool: &str, input: &Value, shown: &str) -> Done {
        match self.agent.propose(tool, input)? {
            Verdict::Deny(reason) => self.say(Style::Red, "denied", shown, &[&reason]),
            Verdict::Allow => {
                let (ok, text) = self.carry_out(tool, input)?;
                let response = json!({ "stdout": text, "stderr": "", "interrupted": false });
                self.agent.ended(tool, input, ok, &response)?;
                let result: &[&str] = if tool == "Bash" { &[text.trim()] } else { &[] };
                self.say(Style::Green, "allowed", shown, result)
            }
        }
    }

    fn carry_out(&self, tool: &str, input: &Value) -> Result<(bool, String), Failure> {
        let get = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
        match tool {
            "Edit" => Project::edit(
                get("file_path").as_ref(),
                get("old_string"),
                get("new_string"),
            )?,
            "Read" => return Ok((true, std::fs::read_to_string(get("file_path"))?)),
            _ => {
                let output = Command::new("sh")
                    .args(["-c", get("command")])
                    .current_dir(self.project.root())
                    .output()?;
                return Ok((
                    output.status.success(),
                    String::from_utf8_lossy(&output.stdout).into_owned(),
                ));
            }
        }
        Ok((true, String::new()))
    }

    fn transition(&mut self, event: &str, data: &Value) -> Done {
        let shown = match data.as_object().filter(|data| !data.is_empty()) {
            Some(_) => format!("interlock_transition {event} {data}"),
            None => format!("interlock_transition {event}"),
        };
        match self.agent.transition(event, data)? {
            Ok(text) => self.say(Style::Green, "allowed", &shown, &[&text]),
            Err(reason) => self.say(Style::Red, "refused", &shown, &[&reason]),
        }
    }

    /// Prints who did what, and why it ended that way.
    fn say(&self, style: Style, who: &str, what: &str, why: &[&str]) -> Done {
        let output = self.app.output;
        if self.args.json {
            return output.json(&json!({ "who": who, "what": what, "why": why.first() }));
        }
        let mut what = what.lines();
        output.line(&format!(
            "{} {}",
            output.styled(style, &format!("{who:>14}")),
            what.next().unwrap_or_default()
        ))?;
        for line in what {
            output.line(&format!("{:>14} {line}", ""))?;
        }
        for line in why
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| !line.is_empty())
        {
            output.line(&format!("{:>14} {}", "", output.styled(Style::Dim, line)))?;
        }
        Ok(())
    }
}
