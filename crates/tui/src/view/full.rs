//! The whole screen: the conversation with its newest lines, and below it what is live.

use std::collections::HashMap;

use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

use super::cells::{self, faint};
use super::live;
use crate::app::{App, Cell, Mode, Piece, Who};

/// Lines of entries, as long as they look the same.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    looks: Option<(usize, bool)>,
    /// How many entries before the first one here were forgotten.
    dropped: usize,
    entries: Vec<Option<(u64, bool, Vec<Line<'static>>)>>,
    /// The whole blocks of answers that are being written: how many bytes of them, and their lines.
    blocks: HashMap<String, (usize, Vec<Line<'static>>)>,
}

/// What else the shell must know of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// Column and row.
    pub(crate) cursor: Option<(u16, u16)>,
    /// How far up the conversation goes, where its first line was reached.
    pub(crate) top: Option<usize>,
}

/// Draws everything. What a frame costs depends on the rows and not on the conversation.
pub(crate) fn frame(app: &App, cache: &mut Cache, buffer: &mut Buffer) -> Drawn {
    let area = buffer.area;
    let live = live(app, false);
    let height = usize::from(area.height);
    let below = live.lines.len().min(height);
    let room = height - below;
    let (up, is_unfolded) = match app.mode {
        Mode::Pager { up, is_unfolded } => (up, is_unfolded),
        _ => (0, false),
    };
    let width = usize::from(area.width).saturating_sub(1).max(8);
    cache.looks_are(app, width, is_unfolded);
    let (lines, top) = newest(app, cache, up, room);
    let blank = room - lines.len().min(room);
    for (row, line) in lines.iter().enumerate() {
        put(buffer, blank + row, line);
    }
    for (row, line) in live.lines.iter().take(below).enumerate() {
        put(buffer, room + row, line);
    }
    let cursor = live.cursor.and_then(|(row, column)| {
        let row = u16::try_from(room + row).ok()?;
        Some((u16::try_from(column).ok()?, row))
    });
    Drawn { cursor, top }
}

fn put(buffer: &mut Buffer, row: usize, line: &Line<'_>) {
    if let Ok(row) = u16::try_from(row)
        && row < buffer.area.height
    {
        buffer.set_line(buffer.area.x, buffer.area.y + row, line, buffer.area.width);
    }
}

/// The lines that are seen, `up` lines from the end; and how far up it goes, once that is known.
fn newest(
    app: &App,
    cache: &mut Cache,
    up: usize,
    room: usize,
) -> (Vec<Line<'static>>, Option<usize>) {
    let (width, is_unfolded) = cache.looks.unwrap_or((80, false));
    let written = cache.written(app, width);
    let wanted = up.saturating_add(room);
    let mut count = written.len();
    let mut first = app.transcript.len();
    while count < wanted && first > 0 {
        first -= 1;
        count += cache.lines(app, first, width, is_unfolded).len();
    }
    let is_top = first == 0 && count <= wanted;
    let up = up.min(count.saturating_sub(room));
    let end = count - up;
    let start = end.saturating_sub(room);
    let mut seen = Vec::with_capacity(room);
    let mut at = 0;
    for entry in first..app.transcript.len() {
        let lines = cache.lines(app, entry, width, is_unfolded);
        let from = start.saturating_sub(at).min(lines.len());
        let until = end.saturating_sub(at).min(lines.len());
        seen.extend(lines.get(from..until).unwrap_or_default().iter().cloned());
        at += lines.len();
        if at >= end {
            break;
        }
    }
    let from = start.saturating_sub(at).min(written.len());
    let until = end.saturating_sub(at).min(written.len());
    seen.extend(written.get(from..until).unwrap_or_default().iter().cloned());
    (seen, is_top.then_some(up))
}

/// Words of an answer that is being written.
fn words(task: &str, text: &str, width: usize, is_named: bool) -> Vec<Line<'static>> {
    let cell = Cell {
        seq: None,
        task: Some(task.to_owned()),
        who: Who::Model,
        piece: Piece::Words(text.to_owned()),
        is_partial: false,
    };
    let mut lines = vec![Line::default()];
    lines.extend(cells::cell(&cell, width, false, is_named));
    lines
}

// === impl Cache ===

impl Cache {
    /// Forgets what looks different now.
    fn looks_are(&mut self, app: &App, width: usize, is_unfolded: bool) {
        if self.looks != Some((width, is_unfolded)) {
            self.entries.clear();
            self.blocks.clear();
            self.looks = Some((width, is_unfolded));
        }
        let dropped = app.transcript.dropped();
        let gone = dropped.saturating_sub(self.dropped).min(self.entries.len());
        self.entries.drain(..gone);
        self.dropped = dropped;
        self.entries.resize(app.transcript.len(), None);
    }

    /// Answers that are being written. What is whole is put into lines once.
    fn written(&mut self, app: &App, width: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let is_there = |task: &String| app.streams.iter().any(|(one, _)| one == task);
        self.blocks.retain(|task, _| is_there(task));
        for (task, stream) in app.streams.iter() {
            let blocks = stream.blocks();
            let (known, whole) = self.blocks.entry(task.clone()).or_default();
            // An answer that was broken off begins anew.
            if *known > blocks.len() {
                (*known, *whole) = (0, Vec::new());
            }
            if let Some(more) = blocks.get(*known..).filter(|more| !more.is_empty()) {
                whole.extend(words(task, more, width, *known == 0));
                *known = blocks.len();
            }
            let (open, _) = stream.open();
            let is_begun = !whole.is_empty();
            lines.extend(whole.iter().cloned());
            if !open.trim().is_empty() {
                lines.extend(words(task, &open, width, !is_begun));
            } else if stream.thought > 0 && !is_begun {
                let text = format!("  (thinking: {} words)", stream.thought);
                lines.push(Line::styled(text, faint()));
            }
        }
        lines
    }

    fn lines(&mut self, app: &App, at: usize, width: usize, is_unfolded: bool) -> &[Line<'static>] {
        let Some((cell, stamp)) = app.transcript.get(at) else {
            return &[];
        };
        let before = at.checked_sub(1).and_then(|at| app.transcript.get(at));
        let speaker = cell.speaker();
        let is_named = speaker.is_none() || before.and_then(|(cell, _)| cell.speaker()) != speaker;
        let Some(entry) = self.entries.get_mut(at) else {
            return &[];
        };
        let is_known = entry
            .as_ref()
            .is_some_and(|(known, named, _)| (*known, *named) == (stamp, is_named));
        if !is_known {
            let mut lines = cells::cell(cell, width, is_unfolded, is_named);
            if is_named || !matches!(cell.piece, Piece::Tool(_)) {
                lines.insert(0, Line::default());
            }
            *entry = Some((stamp, is_named, lines));
        }
        entry.as_ref().map_or(&[], |(_, _, lines)| lines)
    }
}
