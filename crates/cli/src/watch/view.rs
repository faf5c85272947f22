//! Draws the model. Text from an agent is shown as text, never as a command to the terminal.

use interlock_core::{
    instant::utc,
    pending::{About, Pending},
    visible::visible,
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span, Text},
    widgets::{Block, Clear, Paragraph, Row as TableRow, Table, TableState, Wrap},
};

use super::model::{Model, Over, Pane, Row, Waiting};
use crate::{
    output,
    review::{Review, colour},
};

/// Number of lines below which only one pane is shown.
const ALL_PANES_MIN: u16 = 12;

/// How things are shown, with or without colours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks {
    /// Whether to use colours.
    pub(crate) colours: bool,
}

impl Looks {
    fn coloured(self, colour: Color) -> Style {
        if self.colours {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    fn status(self, status: &str) -> Style {
        match status {
            "completed" => self.coloured(Color::Green),
            "failed" | "cancelled" | "damaged" => self.coloured(Color::Red),
            "awaiting_approval" => self.coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            "paused" | "waiting" => self.coloured(Color::Yellow),
            _ => Style::new(),
        }
    }
}

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model, looks: Looks) {
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title(model)), head);
    if body.height < ALL_PANES_MIN {
        match model.pane {
            Pane::Runs => runs(frame, body, model, looks),
            Pane::Waiting => waiting(frame, body, model),
            Pane::Log => log(frame, body, model),
        }
    } else {
        panes(frame, body, model, looks);
    }
    frame.render_widget(Paragraph::new(footer(model)), foot);
    match &model.over {
        Over::Nothing => {}
        Over::Help => over(frame, "keys", Text::from(HELP), 0),
        Over::Approve(asked, from) => {
            let keys = "y: say yes   n: back   up, down: the rest";
            let text = question(asked, model.review_of(asked), keys, looks);
            over(frame, "say yes to this?", text, *from);
        }
        Over::Reject(asked, note) => {
            let keys = "Enter: say no   Esc: back";
            let mut text = question(asked, model.review_of(asked), keys, looks);
            text.lines.insert(0, Line::default());
            text.lines
                .insert(0, Line::from(format!("note: {}\u{2588}", visible(note))));
            over(frame, "say no to this, with a note", text, 0);
        }
    }
}

const HELP: &str = "\
up, down, j, k      move        PgUp, PgDn, g, G   faster
Tab                 next pane   Enter   the log of the run
a                   say yes to what waits
r                   say no, with a note for the agent
Esc                 back        ?       this help
q, Ctrl-C           leave";

fn title(model: &Model) -> Line<'static> {
    let open = model.look.rows.iter().filter(|row| !row.over).count();
    let waiting = match model.look.waiting.len() {
        0 => "nothing waits for you".to_owned(),
        1 => "1 waits for you".to_owned(),
        many => format!("{many} wait for you"),
    };
    Line::from(vec![
        Span::styled("interlock ", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!(
            "{} runs, {open} open, {waiting}",
            model.look.rows.len()
        )),
    ])
}

fn footer(model: &Model) -> Line<'static> {
    let text = match (&model.look.trouble, &model.said) {
        (Some(trouble), _) => visible(trouble),
        (None, Some(said)) => visible(said),
        (None, None) => "a: yes  r: no  Tab: pane  ?: help  q: leave".to_owned(),
    };
    Line::styled(text, Style::new().add_modifier(Modifier::REVERSED))
}

fn panes(frame: &mut Frame<'_>, area: Rect, model: &Model, looks: Looks) {
    let asked = u16::try_from(model.look.waiting.len()).unwrap_or(u16::MAX);
    let asked = match asked {
        0 => 0,
        some => some.saturating_add(2).min(area.height / 3),
    };
    let rows = u16::try_from(model.look.rows.len()).unwrap_or(u16::MAX);
    let listed = rows.saturating_add(3).clamp(4, area.height * 2 / 5);
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(listed),
        Constraint::Length(asked),
        Constraint::Fill(1),
    ])
    .areas(area);
    runs(frame, top, model, looks);
    if asked > 0 {
        waiting(frame, middle, model);
    }
    log(frame, bottom, model);
}

fn block(name: &str, here: bool) -> Block<'static> {
    let style = if here {
        Style::new().add_modifier(Modifier::BOLD)
    } else {
        Style::new().add_modifier(Modifier::DIM)
    };
    Block::bordered()
        .border_style(style)
        .title(Span::styled(format!(" {name} "), style))
}

fn runs(frame: &mut Frame<'_>, area: Rect, model: &Model, looks: Looks) {
    let here = model.pane == Pane::Runs;
    let now = model.look.now_ms;
    let rows = model.look.rows.iter().map(|row| {
        TableRow::new([
            Line::raw(short(&row.run.to_string())),
            Line::raw(visible(&row.workflow)),
            Line::raw(visible(&row.state)),
            Line::styled(row.status.replace('_', " "), looks.status(&row.status)),
            Line::raw(visible(&row.client)),
            Line::raw(age(row, now)),
        ])
    });
    let widths = [
        Constraint::Length(ID_CHARS),
        Constraint::Fill(2),
        Constraint::Fill(3),
        Constraint::Length(17),
        Constraint::Length(11),
        Constraint::Length(5),
    ];
    let head = TableRow::new(["run", "workflow", "state", "status", "client", "age"])
        .style(Style::new().add_modifier(Modifier::DIM));
    let table = Table::new(rows, widths)
        .header(head)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block("runs", here));
    let mut state = TableState::new();
    if !model.look.rows.is_empty() {
        state.select(Some(model.row()));
    }
    frame.render_stateful_widget(table, area, &mut state);
}

fn waiting(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let here = model.pane == Pane::Waiting;
    let rows = model.look.waiting.iter().map(|one| {
        TableRow::new([
            Line::raw(one.pending.id().to_string()),
            Line::raw(short(&one.run.to_string())),
            Line::raw(visible(&summary(one))),
        ])
    });
    let widths = [
        Constraint::Length(6),
        Constraint::Length(ID_CHARS),
        Constraint::Fill(1),
    ];
    let mut table = Table::new(rows, widths).block(block("waiting for you", here));
    if here {
        table = table.row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    }
    let mut state = TableState::new();
    if !model.look.waiting.is_empty() {
        state.select(Some(model.waiting));
    }
    frame.render_stateful_widget(table, area, &mut state);
}

fn log(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let here = model.pane == Pane::Log;
    let name = match &model.selected {
        Some(run) => format!("log of {}", short(&run.to_string())),
        None => "log".to_owned(),
    };
    let name = if model.back > 0 {
        format!("{name}, {} lines from the end", model.back)
    } else {
        name
    };
    let lines = model.log();
    let height = usize::from(area.height.saturating_sub(2));
    let end = lines.len().saturating_sub(model.back);
    let from = end.saturating_sub(height);
    let seen = lines.get(from..end).unwrap_or_default();
    let text: Vec<Line<'_>> = seen.iter().map(|line| Line::raw(visible(line))).collect();
    frame.render_widget(Paragraph::new(text).block(block(&name, here)), area);
}

/// Shows everything that a person has to know before answering.
fn question(asked: &Waiting, review: Option<&Review>, keys: &str, looks: Looks) -> Text<'static> {
    let pending = &asked.pending;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![Line::styled(keys.to_owned(), bold), Line::default()];
    match review {
        Some(review) => lines.extend(review.rows.iter().map(|row| {
            let style = if row.warns {
                looks.coloured(Color::Yellow)
            } else {
                Style::new()
            };
            Line::styled(format!("{:<10}{}", row.name, visible(&row.text)), style)
        })),
        None => lines.extend(asks(pending)),
    }
    let mut row = |name: &str, value: &str| lines.push(said(name, value));
    row("in", &pending.shown);
    row("run", &format!("{} of {}", asked.run, asked.workflow));
    row("by", pending.by());
    if pending.is_in_prompt() {
        row("where", "asked in the client's own prompt, too");
    }
    let asked_at = utc(pending.request.at_ms);
    row("id", &format!("{}, asked at {asked_at}", pending.id()));
    row("digest", pending.digest().as_str());
    match review {
        None => row("changed", "..."),
        Some(review) => {
            row("changed", &review.changes.head);
            for note in &review.changes.notes {
                row("", note);
            }
            lines.push(Line::default());
            lines.extend(review.changes.diff.iter().map(|line| of_diff(line, looks)));
        }
    }
    lines.push(Line::default());
    Text::from(lines)
}

fn said(name: &str, value: &str) -> Line<'static> {
    Line::raw(format!("{name:<10}{}", visible(value)))
}

/// Shows the question until more is known.
fn asks(pending: &Pending) -> Vec<Line<'static>> {
    match pending.about() {
        About::Transition(asked) => vec![
            said("asks", &asked.message),
            said("event", asked.event.as_str()),
            said(
                "data",
                &serde_json::to_string(&asked.data).unwrap_or_default(),
            ),
        ],
        About::Entry { message } => vec![said("asks", message)],
        About::Call(grant) => {
            let mut lines = vec![
                said("asks", "may this one call run?"),
                said("tool", &grant.call.tool),
            ];
            let mut name = "with";
            for line in grant.call.summary.lines() {
                lines.push(said(name, line));
                name = "";
            }
            lines
        }
    }
}

fn of_diff(line: &str, looks: Looks) -> Line<'static> {
    let style = match colour(line) {
        Some(output::Style::Green) => looks.coloured(Color::Green),
        Some(output::Style::Red) => looks.coloured(Color::Red),
        Some(_) => Style::new().add_modifier(Modifier::DIM),
        None => Style::new(),
    };
    Line::styled(visible(line), style)
}

/// Draws a box over everything, as large as its text needs and the screen allows.
fn over(frame: &mut Frame<'_>, name: &str, text: Text<'_>, from: u16) {
    let screen = frame.area();
    let width = screen.width.min(78);
    let inner = usize::from(width.saturating_sub(2)).max(1);
    let lines: usize = text
        .lines
        .iter()
        .map(|line| line.width().div_ceil(inner).max(1))
        .sum();
    let height = u16::try_from(lines + 2)
        .unwrap_or(u16::MAX)
        .min(screen.height);
    let area = Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - height) / 2,
        width,
        height,
    };
    let most = u16::try_from(lines)
        .unwrap_or(u16::MAX)
        .saturating_sub(height.saturating_sub(2));
    frame.render_widget(Clear, area);
    frame.render_widget(
        Paragraph::new(text)
            .wrap(Wrap { trim: false })
            .scroll((from.min(most), 0))
            .block(block(name, true)),
        area,
    );
}

fn summary(one: &Waiting) -> String {
    let pending = &one.pending;
    let title = &pending.title;
    match pending.about() {
        About::Transition(asked) => format!("{} in {title}: {}", asked.event, asked.message),
        About::Entry { message } => format!("before {title}: {message}"),
        About::Call(grant) => {
            let first = grant.call.summary.lines().next().unwrap_or_default();
            format!(
                "{} {first} in {title}, by {}",
                grant.call.tool,
                pending.by()
            )
        }
    }
}

/// Number of characters of a run's id that are shown: enough to identify it in a command.
const ID_CHARS: u16 = 12;

fn short(id: &str) -> String {
    id.chars().take(usize::from(ID_CHARS)).collect()
}

fn age(row: &Row, now_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(row.created_ms) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
