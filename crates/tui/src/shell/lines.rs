//! The terminal as lines, one after the other: for screen readers and pipes.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::{Happened, begin, choices, hub, step};
use crate::app::{App, Effect, Input, Link};
use crate::view::plain;
use crate::{Parts, TuiError};

/// How long the first connection may take where nobody is there to wait for it.
const PATIENCE_MS: u64 = 30_000;

pub(crate) fn run_lines(mut parts: Parts<'_>) -> Result<(), TuiError> {
    let (happened, events) = sync_channel(super::HAPPENED_MAX);
    let began = parts.clock.now();
    let hub = begin(&mut parts, &happened)?;
    let mut reader = Some(happened);
    let mut app = App::new(choices(&parts.options, true), 80, 24);
    let mut was_live = false;
    loop {
        let passed = parts.clock.now().saturating_duration_since(began);
        let now_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let wait = app.next_ms().saturating_sub(now_ms);
        let input = match events.recv_timeout(Duration::from_millis(wait)) {
            Ok(Happened::Input(input)) => input,
            Ok(Happened::Signal(_) | Happened::KeyboardGone) => Input::LinesOver,
            Err(RecvTimeoutError::Timeout) => Input::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        let effects = step(&mut app, &hub, now_ms, input);
        let mut out = io::stdout().lock();
        let prints = app.take_prints();
        let lines = prints.iter().flat_map(plain);
        let mut written = Ok(());
        for line in lines {
            written = written.and_then(|()| writeln!(out, "{line}"));
        }
        // Nobody reads any more.
        if written.and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        drop(out);
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(()),
                // It might ask something, and the lines that come are read here.
                Effect::Outside(command) => {
                    app.say(format!(
                        "run this in another terminal: legation {}",
                        command.join(" ")
                    ));
                }
                Effect::Suspend | Effect::Redraw | Effect::Ask(_) | Effect::Follow(_) => {}
            }
        }
        was_live |= app.link == Link::Live;
        // What comes in before there is a hub waits where it is.
        if app.is_live
            && let Some(happened) = reader.take()
        {
            read_lines(happened)?;
        }
        if let (Link::Gone(why), false) = (&app.link, was_live)
            && now_ms > PATIENCE_MS
        {
            return Err(TuiError::NoHub { why: why.clone() });
        }
    }
}

/// Reads lines until there are no more.
fn read_lines(happened: SyncSender<Happened>) -> Result<(), TuiError> {
    hub::spawn("lines", move || {
        let mut line = String::new();
        let mut stdin = io::stdin().lock();
        loop {
            line.clear();
            let input = match stdin.read_line(&mut line) {
                Ok(0) | Err(_) => Input::LinesOver,
                Ok(_) => Input::Line(line.trim_end_matches(['\r', '\n']).to_owned()),
            };
            let is_over = matches!(input, Input::LinesOver);
            if happened.send(Happened::Input(input)).is_err() || is_over {
                return;
            }
        }
    })
}
