//! Which keys do something at the moment. A hint that is not true is worse than none.

use crate::app::{App, Item, Link, Mode, Target};

/// The keys of the mode, the most useful first: what does not fit is left out from the end.
pub(super) fn hints(app: &App) -> Vec<(&'static str, &'static str)> {
    match &app.mode {
        Mode::Compose => compose(app),
        Mode::Tasks { selected } => tasks(app, *selected),
        Mode::Approval(card) if card.pin.is_some() => {
            vec![("Enter", "certify"), ("Esc", "back")]
        }
        Mode::Approval(card) => {
            let mut hints = match card.is_armed(app.now_ms) {
                true if card.is_proposal() => vec![("y", "certify"), ("n", "no")],
                true => vec![("y", "once"), ("n", "no"), ("1-9", "that answer")],
                false => Vec::new(),
            };
            hints.push(("Esc", "later"));
            if app.approvals.len() > 1 {
                hints.push(("Tab", "next"));
            }
            hints
        }
        Mode::Help => vec![("any key", "back")],
        Mode::Pager { is_unfolded, .. } => vec![
            ("Esc", "back"),
            ("Up Down PgUp PgDn", "move"),
            ("o", if *is_unfolded { "fold" } else { "unfold" }),
        ],
    }
}

fn compose(app: &App) -> Vec<(&'static str, &'static str)> {
    let is_there = app.link == Link::Live;
    let is_empty = app.composer.is_empty();
    let mut hints = Vec::new();
    match (&app.target, is_empty) {
        (Target::Conversation, true) => {}
        (Target::Conversation, false) if app.composer.text().starts_with('/') => {
            hints.extend([("Enter", "do it"), ("Tab", "complete")]);
        }
        (Target::Conversation, false) if is_there => {
            let has_own = app.queue.own_active().is_some();
            hints.push(("Enter", if has_own { "add to it" } else { "send" }));
            if app.queue.active().is_some() {
                hints.push(("Tab", "after it"));
            }
        }
        (Target::Conversation, false) => {}
        (Target::Answer(_), _) => hints.extend([("Enter", "answer"), ("Esc", "back")]),
        (Target::Steer(_), _) => hints.extend([("Enter", "tell it"), ("Esc", "back")]),
        (Target::Edit(_) | Target::EditHeld(_), _) => {
            hints.extend([("Enter", "change it"), ("Esc", "back")]);
        }
    }
    if app.target == Target::Conversation {
        if app.queue.own_active().is_some() {
            hints.push(("Esc", "interrupt"));
        } else if app.queue.active().is_some() {
            hints.push(("Esc Esc", "cancel the task"));
        }
        if app.queue.asking().is_some() {
            hints.push(("Ctrl-R", "answer"));
        }
    }
    if !app.approvals.is_empty() {
        hints.push(("Ctrl-Y", "approvals"));
    }
    if app.queue.active().is_some() || app.is_held {
        hints.push(("Ctrl-P", if app.is_held { "go on" } else { "hold" }));
    }
    if !app.queue.items().is_empty() {
        hints.push(("Ctrl-T", "tasks"));
    }
    if is_empty {
        hints.push(("?", "help"));
    }
    hints.push(("Ctrl-C twice", "end"));
    hints
}

fn tasks(app: &App, selected: usize) -> Vec<(&'static str, &'static str)> {
    let mut hints = vec![("Esc", "back")];
    match app.item(selected) {
        Some(Item::Held(_)) => {
            hints.extend([
                ("e", "edit"),
                ("x", "take back"),
                ("J K", "move"),
                ("Enter", "show"),
            ]);
        }
        Some(Item::Task(task)) => {
            hints.extend([("x", "cancel"), ("Enter", "show")]);
            if task.status == legation_api::tasks::TaskState::Queued {
                hints.extend([("e", "edit"), ("J K", "move")]);
            } else {
                hints.push(("s", "steer"));
            }
            if task.status == legation_api::tasks::TaskState::InputRequired {
                hints.push(("r", "answer"));
            }
        }
        None => {}
    }
    hints
}
