//! Notifications on the desktop.
//!
//! They are shown by a thread of their own: a desktop that hangs must not keep the
//! terminal from showing what comes in.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use legation_api::approvals::Waiting;
use legation_api::inbox::Message;
use legation_config::Environment;
use legation_core::process::{OnceSpec, run_to_end};

use super::nudge::Look;
use crate::CliError;

/// How long a desktop may take to show something.
const PATIENCE: Duration = Duration::from_secs(5);

/// What waits to be shown; with more the desktop is behind, and hears of the next.
const WAITING_MAX: usize = 64;

/// How a program finds the desktop of the one who started it. None of it goes to children
/// in general: whoever has it acts as the user.
const SESSION: [&str; 5] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// The thread that shows notifications; it ends with the process.
#[derive(Debug)]
pub(super) struct Desktop {
    notices: SyncSender<Notice>,
}

/// What a notification says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    count: usize,
    /// How many of them wait for a yes or no.
    asked: usize,
    text: String,
}

/// A program that shows a notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shower {
    pub(super) program: &'static str,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
}

/// The systems whose desktops are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    Mac,
    Windows,
}

// === impl Desktop ===

impl Desktop {
    pub(super) fn begin(environment: &Environment) -> Result<Self, CliError> {
        let (notices, waiting) = sync_channel(WAITING_MAX);
        let inherited = environment.inherited_by_children();
        let session = SESSION
            .iter()
            .filter_map(|name| Some((name.as_ref(), environment.get_os(name)?)));
        let env: Vec<(OsString, OsString)> = inherited
            .chain(session)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        std::thread::Builder::new()
            .name("desktop".to_owned())
            .spawn(move || show_all(&waiting, &env))
            .map_err(|error| CliError::failed(&error))?;
        Ok(Self { notices })
    }

    /// Has messages shown, in one notification.
    pub(super) fn tell(&self, messages: &[Message]) {
        if let Some(notice) = Notice::of(messages) {
            // A desktop that is that far behind shows the next.
            drop(self.notices.try_send(notice));
        }
    }

    /// Has what waits for a person shown, in one notification.
    pub(super) fn ask(&self, waiting: &[Waiting]) {
        if let Some(notice) = Notice::asking(waiting) {
            drop(self.notices.try_send(notice));
        }
    }
}

/// Shows what waits, in one notification each time. A desktop that shows nothing is no
/// reason to end.
fn show_all(waiting: &Receiver<Notice>, env: &[(OsString, OsString)]) {
    while let Ok(first) = waiting.recv() {
        let notice = waiting.try_iter().fold(first, Notice::and);
        let Some(system) = System::here() else {
            return;
        };
        let shower = system.shower(&notice);
        let spec = OnceSpec {
            program: shower.program.into(),
            args: shower.args,
            env: env.iter().cloned().chain(shower.env).collect(),
            cwd: None,
            timeout: PATIENCE,
            keep: 1024,
        };
        drop(run_to_end(&spec));
    }
}

// === impl Notice ===

impl Notice {
    pub(super) fn of(messages: &[Message]) -> Option<Self> {
        let last = messages.last()?;
        // Other users of the machine see what programs are started with.
        let text = match &last.entity {
            None => Look::plain().line(last),
            Some(_) => format!("[{}] of an entity; the terminal shows it", last.channel),
        };
        Some(Self {
            count: messages.len(),
            asked: 0,
            text,
        })
    }

    pub(super) fn asking(waiting: &[Waiting]) -> Option<Self> {
        let last = waiting.last()?;
        Some(Self {
            count: waiting.len(),
            asked: waiting.len(),
            text: Look::plain().question(last),
        })
    }

    /// This one and a later one, in one.
    fn and(self, later: Self) -> Self {
        Self {
            count: self.count + later.count,
            asked: self.asked + later.asked,
            text: later.text,
        }
    }

    fn title(&self) -> String {
        match self.count {
            1 if self.asked == 1 => "Your agent asks for a yes or no".to_owned(),
            count if self.asked == count => {
                format!("Your agents ask {count} times for a yes or no")
            }
            1 => "Message for your agent".to_owned(),
            count => format!("{count} messages for your agent"),
        }
    }
}

// === impl System ===

impl System {
    fn here() -> Option<Self> {
        match std::env::consts::OS {
            "linux" => Some(Self::Linux),
            "macos" => Some(Self::Mac),
            "windows" => Some(Self::Windows),
            _ => None,
        }
    }

    /// The command that shows a notification. Texts are arguments or variables of their own
    /// and never part of a script.
    pub(super) fn shower(self, notice: &Notice) -> Shower {
        let (title, text) = (notice.title(), notice.text.as_str());
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        let shower = |program, args| Shower {
            program,
            args,
            env: Vec::new(),
        };
        match self {
            Self::Linux => {
                // The body of a notification may have markup.
                let body = legation_inbox::escape(text);
                let args = ["--app-name=legation", "--", title.as_str(), &*body];
                shower("notify-send", words(&args))
            }
            Self::Mac => {
                let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
                let args = ["-e", script, "--", title.as_str(), text];
                shower("osascript", words(&args))
            }
            Self::Windows => Shower {
                program: "powershell.exe",
                args: words(&["-NoProfile", "-NonInteractive", "-Command", TOAST]),
                env: vec![
                    ("LEGATION_TITLE".into(), title.into()),
                    ("LEGATION_TEXT".into(), text.into()),
                ],
            },
        }
    }
}

/// A toast of Windows, whose texts are nodes of its own document.
const TOAST: &str = "\
$ErrorActionPreference = 'Stop'
$manager = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$toast = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02)
$texts = $toast.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($toast.CreateTextNode($env:LEGATION_TITLE))
[void]$texts.Item(1).AppendChild($toast.CreateTextNode($env:LEGATION_TEXT))
$manager::CreateToastNotifier('Legation').Show([Windows.UI.Notifications.ToastNotification]::new($toast))";
