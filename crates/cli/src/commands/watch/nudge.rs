//! A message as a nudge: one line that fits the terminal, and what to tell the agent.

use jiff::tz::TimeZone;
use legation_api::approvals::Waiting;
use legation_api::inbox::Message;
use legation_core::Wall;
use unicode_width::UnicodeWidthChar as _;

use crate::commands::inbox::unescaped;
use crate::table::is_deceptive;

/// What the human tells the agent.
const HINT: &str = "tell your agent: check inbox";

/// Columns of a nudge where nobody says how many there are.
const COLUMNS: usize = 160;
/// A text is given no fewer columns, however narrow the terminal and long the name.
const TEXT_MIN: usize = 8;
/// A name is given no more than this part of the columns.
const NAME_PART: usize = 3;

// Magenta is read on black and on white in the palettes terminals have; the rest is in the
// terminal's own colour, strong or faint.
const TAG: &str = "\u{1b}[35m";
const STRONG: &str = "\u{1b}[1m";
const FAINT: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

/// How nudges look.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// Columns of the terminal, where there is one.
    pub(super) columns: Option<usize>,
    pub(super) colours: bool,
    /// Whose clock tells the time.
    pub(super) zone: TimeZone,
}

// === impl Look ===

impl Look {
    /// For where there is no terminal.
    pub(super) fn plain() -> Self {
        Self {
            columns: None,
            colours: false,
            zone: TimeZone::system(),
        }
    }

    /// A message, and below it what to tell the agent.
    pub(super) fn nudge(&self, message: &Message) -> String {
        let hint = self.painted(FAINT, &format!("\u{2192} {HINT}"));
        format!("{}\n  {hint}", self.line(message))
    }

    /// `[teams 18:21] Name: "Text"`
    pub(super) fn line(&self, message: &Message) -> String {
        let columns = self.columns.unwrap_or(COLUMNS);
        let tag = format!("[{} {}]", message.channel, self.time(&message.received_at));
        let name = one_line(&unescaped(&message.from));
        let name = fitted(&name, (columns / NAME_PART).max(TEXT_MIN));
        let mark = match message.kind.as_str() {
            "edited" => " (edited)",
            "deleted" => " (deleted)",
            _ => "",
        };
        let around = width(&tag) + 1 + width(&name) + width(mark) + width(": \"\"");
        let text = one_line(&unescaped(&message.content_text_sanitized));
        let text = fitted(&text, columns.saturating_sub(around).max(TEXT_MIN));
        let (tag, name) = (self.painted(TAG, &tag), self.painted(STRONG, &name));
        format!("{tag} {name}{mark}: \"{text}\"")
    }

    /// What waits for a person, and below it how to answer.
    pub(super) fn asked(&self, waiting: &Waiting) -> String {
        // A code that names the question: letters and digits, made by the hub.
        let id = one_line(&waiting.id);
        let how = format!("legation approve {id}, or legation deny {id}");
        let hint = self.painted(FAINT, &format!("\u{2192} {how}"));
        format!("{}\n  {hint}", self.question(waiting))
    }

    /// `[approval 18:21] codex: files/write`
    pub(super) fn question(&self, waiting: &Waiting) -> String {
        let columns = self.columns.unwrap_or(COLUMNS);
        let tag = format!("[approval {}]", self.time(&waiting.created));
        let name = one_line(&waiting.client);
        let name = fitted(&name, (columns / NAME_PART).max(TEXT_MIN));
        let what = match waiting.server.as_str() {
            "" => format!("{} (a tool of its own)", waiting.item),
            server => format!("{server}/{}", waiting.item),
        };
        let around = width(&tag) + 1 + width(&name) + width(": ");
        let what = fitted(
            &one_line(&what),
            columns.saturating_sub(around).max(TEXT_MIN),
        );
        let (tag, name) = (self.painted(TAG, &tag), self.painted(STRONG, &name));
        format!("{tag} {name}: {what}")
    }

    /// `HH:MM` where the human is.
    fn time(&self, received_at: &str) -> String {
        let stamp = Wall::parse(received_at)
            .and_then(|wall| jiff::Timestamp::from_millisecond(wall.0).ok());
        stamp.map_or_else(String::new, |stamp| {
            let zoned = stamp.to_zoned(self.zone.clone());
            format!("{:02}:{:02}", zoned.hour(), zoned.minute())
        })
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        match self.colours {
            true => format!("{colour}{text}{PLAIN}"),
            false => text.to_owned(),
        }
    }
}

/// A text in one line, without what terminals show in many ways or not at all: signs that
/// repaint, hide, turn the direction of writing, or join others to one picture.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let shown = word
            .chars()
            .filter(|sign| !sign.is_control() && !is_deceptive(*sign) && !is_selector(*sign));
        shown.collect::<String>()
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Selectors of another form of the sign before, which terminals count in different ways.
fn is_selector(sign: char) -> bool {
    matches!(sign, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn width(text: &str) -> usize {
    text.chars().map(|sign| sign.width().unwrap_or(0)).sum()
}

/// A text in so many columns; a cut is shown.
fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut left = columns.saturating_sub(1);
    for sign in text.chars() {
        let wide = sign.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        shown.push(sign);
    }
    shown.push('\u{2026}');
    shown
}
