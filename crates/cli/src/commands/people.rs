//! Commands that only a person may use: `send`, `approve`, `reject`, `pause`, `resume`, `cancel`.

use std::path::PathBuf;

use interlock_clients::process;
use interlock_core::{
    command::{Answer, CommandKind, TransitionRequest},
    conversation::output_before,
    data::parse_output,
    machine::{Activity, Ending},
    pending::{Pending, pending},
};
use interlock_formats::answer_findings;
use interlock_runner::holder;
use interlock_store::{Binding, ClientProcess, SessionKey};

use crate::{
    answer::ask_run,
    app::{App, home_of_person},
    args::{ApproveArgs, PauseArgs, RejectArgs, ResumeArgs, RunArgs, SendArgs},
    authority, durable,
    failure::{Done, Failure},
    live::{self, Live},
    review, standing,
};

/// Returns the name of the person who answers the run, or refuses.
fn asker(app: &App, wanted: Option<&str>) -> Result<String, Failure> {
    let run = app.find_run(wanted).ok();
    authority::person(app, run.as_ref())
}

pub(crate) fn send(app: &App, args: SendArgs) -> Done {
    let by = asker(app, args.run.as_deref())?;
    let data = live::object("--data", args.data.as_deref())?;
    let live = live::open(app, args.run.as_deref())?;
    let request = TransitionRequest {
        event: args.event,
        data,
        branch: args.branch,
        agent: None,
        by,
        approved_by: None,
    };
    ask_run(app, live, CommandKind::Transition(request), args.json)
}

pub(crate) fn approve(app: &App, args: ApproveArgs) -> Done {
    if args.diff {
        let live = live::open(app, args.run.as_deref())?;
        let meant = review::meant(&live, args.path.as_deref());
        if meant.is_empty() {
            app.output.line("nothing waits for an answer")?;
        }
        return review::show(app, &live, &meant);
    }
    let by = asker(app, args.run.as_deref())?;
    let data = live::object("--data", args.data.as_deref())?;
    let given = |text: &Option<String>| text.as_deref().map(durable::text_of).transpose();
    let (message, mut edit) = (given(&args.message)?, given(&args.edit)?);
    let live = live::open(app, args.run.as_deref())?;
    let before = live.run.seq;
    let asked = review::meant(&live, args.path.as_deref());
    let takes_passkey = asked.iter().any(Pending::takes_passkey);
    if let Some(written) = &edit
        && let Some(fitting) = check_edit(&live, &args, written)?
    {
        edit = Some(fitting);
    }
    // A request that needs a passkey is refused below, so nobody is asked in vain.
    if !args.yes && !args.json && !takes_passkey {
        review::confirm(app, &live, &asked)?;
    }
    ask_run(
        app,
        live,
        CommandKind::Approve(Answer {
            by,
            data,
            note: None,
            path: args.path,
            // Nobody has seen a request that is opened while the answer is on its way.
            before: Some(before),
            message,
            edit,
            of: args.of,
            passkey: None,
            votes: None,
        }),
        args.json,
    )
}

/// Refuses an edited output that does not match the schema of the previous state.
///
/// With a schema, returns only the JSON, as for an answer of the model.
fn check_edit(live: &Live, args: &ApproveArgs, edit: &str) -> Result<Option<String>, Failure> {
    let mut fitting = None;
    let waiting = pending(&live.machine, &live.run);
    let wanted = args.path.as_deref();
    let meant = waiting
        .iter()
        .filter(|one| wanted.is_none_or(|wanted| one.is_named(wanted)));
    for one in meant {
        let of = args.of.as_deref();
        let Some(before) = output_before(&live.machine, &live.run, one.path(), of) else {
            continue;
        };
        // Machines with a conversation call no others.
        let known = live.machine.states.get(&before.state);
        let Some(Activity::Stage(stage)) = known.map(|state| &state.activity) else {
            continue;
        };
        if let Ending::Answer {
            schema: Some(schema),
            ..
        } = &stage.ending
        {
            let value = parse_output(edit);
            let findings = answer_findings(&value, schema);
            if !findings.is_empty() {
                return Err(anyhow::anyhow!(
                    "the new output of `{}` does not match its `output_schema`: {}; nothing is changed",
                    before.title,
                    findings.join("; ")
                )
                .into());
            }
            fitting = Some(value.to_string());
        }
    }
    Ok(fitting)
}

pub(crate) fn reject(app: &App, args: RejectArgs) -> Done {
    let by = asker(app, args.run.as_deref())?;
    let live = live::open(app, args.run.as_deref())?;
    let answered = Answer {
        by,
        note: args.note,
        path: args.path,
        before: Some(live.run.seq),
        ..Answer::default()
    };
    ask_run(app, live, CommandKind::Reject(answered), args.json)
}

pub(crate) fn pause(app: &App, args: PauseArgs) -> Done {
    let by = asker(app, args.run.as_deref())?;
    let live = live::open(app, args.run.as_deref())?;
    ask_run(
        app,
        live,
        CommandKind::Pause {
            by,
            reason: args.reason,
        },
        args.json,
    )
}

pub(crate) fn resume(app: &App, args: ResumeArgs) -> Done {
    let by = asker(app, args.run.as_deref())?;
    let mut live = live::open(app, args.run.as_deref())?;
    if args.here {
        live = moved_here(app, live)?;
    }
    if live.machine.durable {
        if args.session.is_some() || args.next {
            return Err(Failure::usage(anyhow::anyhow!(
                "`{}` is a run of steps and guards no session",
                live.run.id
            )));
        }
        return durable::proceed_as(app, live, by, args.steps, args.json);
    }
    let binds = args.session.is_some() || args.next;
    if !binds && standing::stands_in_stage(&live.machine, &live.run) {
        return durable::proceed_as(app, live, by, args.steps, args.json);
    }
    if args.steps.is_any() {
        return Err(Failure::usage(anyhow::anyhow!(
            "`{}` guards an agent: only runs of steps take these options",
            live.run.id
        )));
    }
    if !live.run.is_over() {
        bind_again(app, &live, args.session.as_deref(), args.next)?;
    }
    ask_run(app, live, CommandKind::Resume { by, seen: None }, args.json)
}

/// Moves a run to the project in which the command was called.
fn moved_here(app: &App, live: Live) -> Result<Live, Failure> {
    if let Some(holder) = holder(live.log.folder().work()) {
        let process = holder.pid;
        return Err(Failure::usage(anyhow::anyhow!(
            "process {process} is running this run: end it before you move the run"
        )));
    }
    let project = match live.machine.durable {
        true => app.flow_project(),
        false => app.project(),
    };
    let person = home_of_person().unwrap_or_else(|| PathBuf::from("/"));
    live.home.move_run(&live.run.id, &project, &person)?;
    live::open(app, Some(live.run.id.as_str()))
}

/// Binds a run to the given session, or to the project's next one if its own is gone or `next` is given.
fn bind_again(app: &App, live: &Live, session: Option<&str>, next: bool) -> Done {
    let (home, run, project) = (&live.home, &live.run.id, app.project());
    let held = home.session_of(run)?;
    let bindings = home.lock_bindings()?;
    match (session, held) {
        (Some(session), held) => {
            let session = SessionKey::of_any_client(session);
            if held.is_some_and(|held| held.session.session != session.session) {
                bindings.let_go(run)?;
            }
            let binding = Binding {
                run: run.clone(),
                session,
                project_root: project,
                process: None,
                at_ms: live::now_ms(),
            };
            bindings.bind(binding, None)?;
        }
        (None, None) => bindings.wait_for_next(run, &project, None)?,
        (None, Some(held)) if next || is_gone(&held) => bindings.hand_on(run, &project)?,
        (None, Some(_)) => {}
    }
    Ok(())
}

/// Returns whether the client of a session is known to have ended.
fn is_gone(held: &Binding) -> bool {
    let ended = |client: &ClientProcess| {
        process::look(client.pid).is_none_or(|found| found.client != *client)
    };
    held.process.as_ref().is_some_and(ended)
}

pub(crate) fn cancel(app: &App, args: RunArgs) -> Done {
    let by = asker(app, args.run.as_deref())?;
    let live = live::open(app, args.run.as_deref())?;
    if live.machine.durable {
        return durable::cancel(app, live, by, args.json);
    }
    let (home, run) = (live.home.clone(), live.run.id.clone());
    ask_run(app, live, CommandKind::Cancel { by }, args.json)?;
    if home.session_of(&run)?.is_none() {
        // The run no longer waits for the next session.
        home.lock_bindings()?.release(&run, &app.project())?;
    }
    Ok(())
}
