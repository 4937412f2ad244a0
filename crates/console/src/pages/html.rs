//! What every page is made of: the frame around it, and the pieces in it.
//!
//! Everything that servers, models and people wrote goes through maud's escaping;
//! nothing in the pages is put together from text by hand.

use maud::{DOCTYPE, Markup, html};

use super::assets::{SCRIPT, STYLE};
use crate::login::Notice;

/// The parts of the console, in the order of its navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Servers,
    Approvals,
    Inbox,
    Tasks,
    Desk,
    Models,
    Governance,
    Ledger,
}

/// What stands around a page.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The token that forms bring back.
    pub(crate) token: String,
    pub(crate) notice: Option<Notice>,
    /// How many questions wait for a person; not known where the hub does not say.
    pub(crate) waiting: Option<usize>,
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) section: Section,
    pub(crate) title: String,
    /// The stream that tells the page what changes, as a path.
    pub(crate) live: Option<String>,
    pub(crate) body: Markup,
}

// === impl Section ===

impl Section {
    pub(crate) const ALL: [Self; 9] = [
        Self::Overview,
        Self::Servers,
        Self::Approvals,
        Self::Inbox,
        Self::Tasks,
        Self::Desk,
        Self::Models,
        Self::Governance,
        Self::Ledger,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Servers => "Servers",
            Self::Approvals => "Approvals",
            Self::Inbox => "Inbox",
            Self::Tasks => "Tasks",
            Self::Desk => "Desk",
            Self::Models => "Models",
            Self::Governance => "Governance",
            Self::Ledger => "Ledger",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
            Self::Servers => "/servers",
            Self::Approvals => "/approvals",
            Self::Inbox => "/inbox",
            Self::Tasks => "/tasks",
            Self::Desk => "/desk",
            Self::Models => "/models",
            Self::Governance => "/governance",
            Self::Ledger => "/ledger",
        }
    }
}

// === impl Page ===

impl Page {
    /// A page that stays as it is until it is loaded again.
    pub(crate) fn still(section: Section, title: impl Into<String>, body: Markup) -> Self {
        Self {
            section,
            title: title.into(),
            live: None,
            body,
        }
    }

    /// A page that hears of everything that happens.
    pub(crate) fn live(section: Section, body: Markup) -> Self {
        Self {
            live: Some("/live".to_owned()),
            ..Self::still(section, section.title(), body)
        }
    }
}

// === impl Frame ===

impl Frame {
    /// The page as a document.
    pub(crate) fn render(&self, page: &Page) -> Markup {
        let nav = html! {
            nav aria-label="Console" {
                ul {
                    @for section in Section::ALL {
                        li {
                            a href=(section.path()) aria-current=[(section == page.section).then_some("page")] {
                                (section.title())
                                @if let (Section::Approvals, Some(count @ 1..)) = (section, self.waiting) {
                                    " " span.count { (count) span.quiet-text { " waiting" } }
                                }
                            }
                        }
                    }
                }
            }
            form.leave method="post" action="/logout" {
                (self.token_field())
                button.plain type="submit" { "Sign out" }
            }
        };
        let body = html! {
            @if let Some(notice) = &self.notice { (notice_box(notice)) }
            (page.body)
        };
        document(&page.title, Some(nav), page.live.as_deref(), &body)
    }

    /// The field without which no form is taken.
    pub(crate) fn token_field(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.token); }
    }

    /// A form that sends to a path, with its token.
    pub(crate) fn form(&self, action: &str, fields: &Markup) -> Markup {
        html! {
            form method="post" action=(action) { (self.token_field()) (fields) }
        }
    }

    /// A form that is one button.
    pub(crate) fn button(&self, action: &str, hidden: &[(&str, &str)], label: &Markup) -> Markup {
        html! {
            form.inline method="post" action=(action) {
                (self.token_field())
                @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
                button type="submit" { (label) }
            }
        }
    }
}

/// A document for somebody who is not let in: no navigation, no token.
pub(crate) fn outside(title: &str, body: &Markup) -> Markup {
    document(title, None, None, body)
}

fn document(title: &str, nav: Option<Markup>, live: Option<&str>, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Legation" }
                link rel="icon" href=(super::assets::ICON.path);
                link rel="stylesheet" href=(STYLE.path);
                script src=(SCRIPT.path) defer {}
            }
            body class=[nav.is_none().then_some("outside")] {
                a.skip href="#main" { "Skip to the content" }
                header {
                    p.brand { a href="/" { "Legation" } }
                    @if let Some(nav) = &nav { (nav) }
                }
                main #main tabindex="-1" data-live=[live] {
                    h1 { (title) }
                    (body)
                }
            }
        }
    }
}

// === pieces ===

/// What became of a form, where it is heard first.
pub(crate) fn notice_box(notice: &Notice) -> Markup {
    html! {
        div class={ "notice " (if notice.is_failure { "bad" } else { "good" }) }
            role=(if notice.is_failure { "alert" } else { "status" }) {
            p { (notice.text) }
            @if let Some(id) = &notice.approval { (answer(id)) }
            @if let Some(hint) = &notice.hint { p.quiet { (hint) } }
        }
    }
}

/// The way to what waits for the reader's answer.
pub(crate) fn answer(id: &str) -> Markup {
    html! { p { a href={ "/approvals#" (id) } { "Answer " (id) } } }
}

/// A word that says how something is; never by its colour alone.
pub(crate) fn badge(word: &str) -> Markup {
    let class = match word {
        "connected" | "ok" | "completed" | "success" | "holds" | "intact" | "granted" | "on"
        | "allowed" | "cleared" | "sent" | "done" => "good",
        "failed" | "needs-auth" | "denied" | "refused" | "denies" | "error" | "broken"
        | "quarantined" | "not sent" | "tool_error" | "timeout" => "bad",
        "pending" | "starting" | "new" | "changed" | "input_required" | "queued" | "preempted"
        | "unknown" | "announced" | "asks" | "asked" => "warn",
        "in_progress" | "running" | "working" | "task" => "busy",
        _ => "",
    };
    html! { span class={ "badge " (class) } { (word.replace('_', " ")) } }
}

/// Whose data something is.
pub(crate) fn entity(name: &str) -> Markup {
    html! { span.entity { (name) } }
}

/// A moment as RFC 3339 has it; the script shows it in the reader's own zone.
pub(crate) fn moment(at: &str) -> Markup {
    html! { time datetime=(at) { (shown(at)) } }
}

/// A moment from milliseconds since 1970.
pub(crate) fn moment_ms(at_ms: i64) -> Markup {
    moment(&legation_core::Wall(at_ms).to_string())
}

/// A moment for those without a script: to the minute, in UTC.
fn shown(at: &str) -> String {
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(time)) if at.ends_with('Z') => format!("{day} {time} UTC"),
        _ => at.to_owned(),
    }
}

/// A table that scrolls by itself where the window is narrower than it.
pub(crate) fn table(label: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// A word and what it says, one of several in a `dl`.
pub(crate) fn fact(name: &str, says: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (says) } } }
}

/// A number that stands out, with what it counts and where more is said of it.
pub(crate) fn tile(label: &str, value: &str, more: Option<(&str, &str)>) -> Markup {
    html! {
        div.tile {
            p.value { (value) }
            p.label { (label) }
            @if let Some((path, text)) = more { p { a href=(path) { (text) } } }
        }
    }
}

/// What to say where there is nothing.
pub(crate) fn nothing(text: &str) -> Markup {
    html! { p.nothing { (text) } }
}

/// A digest as people compare it: in groups, whole on demand.
pub(crate) fn digest(short: &str, whole: Option<&str>) -> Markup {
    html! {
        code.digest { (short) }
        @if let Some(whole) = whole {
            details.digest-whole { summary { "whole digest" } code { (whole) } }
        }
    }
}

/// A count with its noun.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Millionths of a dollar as a person reads them.
pub(crate) fn dollars(micro: u64) -> String {
    format!("${}.{:04}", micro / 1_000_000, micro % 1_000_000 / 100)
}

/// Milliseconds as a person reads a span of time.
pub(crate) fn span(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}
