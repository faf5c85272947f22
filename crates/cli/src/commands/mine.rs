//! `mine`: drafts a workflow from recorded sessions.

use anyhow::anyhow;
use interlock_mine::{Grade, NoDraft, grade, mine};
use interlock_sessions::Session;
use interlock_simulate::Scenario;
use serde_json::json;

use crate::{
    app::App,
    args::MineArgs,
    commands::{
        backtest::{find, settings},
        console::scenario,
    },
    failure::{Done, Exit, Failure},
};

pub(crate) fn run(app: &App, args: &MineArgs) -> Done {
    let found = find(app, &args.sessions)?;
    let settings = settings(app, &found, &scenario(app));
    let sessions: Vec<(&Session, &Scenario)> = found.sessions.iter().zip(&settings).collect();
    let draft = mine(&args.name, &sessions).map_err(|why| match why {
        NoDraft::NoOrder => Failure::Error(Exit::Failed, anyhow!(why)),
        why => Failure::usage(anyhow!(why)),
    })?;
    let graded = args.holdout.then(|| grade(&args.name, &sessions));
    if !draft.unproved.is_empty() && !args.json {
        let what = draft.unproved.join("\n  ");
        let text = format!("not found out by `prove`:\n  {what}\n");
        app.output.remark(&text);
    }
    if args.json {
        let graded = graded.map(|grade| {
            json!({
                "sessions": grade.sessions, "without_draft": grade.without_draft,
                "calls": grade.calls, "refused": grade.refused,
            })
        });
        return app.output.json(&json!({
            "workflow": draft.text, "sessions": found.sessions.len(), "unproved": draft.unproved, "holdout": graded,
        }));
    }
    app.output.document(&draft.text)?;
    if let Some(grade) = graded {
        app.output.remark(&told(&grade));
    }
    Ok(())
}

fn told(grade: &Grade) -> String {
    let mut text = format!(
        "each of {} sessions left out once: the draft of the others refuses {} of {} calls\n",
        grade.sessions, grade.refused, grade.calls
    );
    if grade.without_draft > 0 {
        text += &format!(
            "without {} of them there is no draft of the others\n",
            grade.without_draft
        );
    }
    text
}
