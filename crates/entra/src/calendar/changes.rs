//! What changed in a calendar within a time (Microsoft Learn, "Get incremental
//! changes to events in a calendar view").

use legation_core::{OpContext, Wall};

use super::wire::WireEvent;
use super::{Calendar, CalendarError, Event, UTC};
use crate::graph::DeltaFrom;

/// A page of changes.
#[derive(Debug)]
pub struct CalendarPage {
    /// What happened, in the order in which Graph tells it.
    pub changes: Vec<CalendarChange>,
    /// From where to go on; it holds the time that was looked at.
    pub link: String,
    /// Whether nothing more waits for now.
    pub is_last: bool,
    /// Whether Graph had forgotten the link: the page begins anew, and what is
    /// not told is gone.
    pub is_resync: bool,
}

/// What happened to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CalendarChange {
    /// It is there, as it is told.
    Here(Box<Event>),
    /// Something of a series changed that is told in part only: a view shows
    /// the rest.
    Series {
        /// The id of what is told.
        id: String,
    },
    /// It is there no more.
    Gone {
        /// Its id.
        id: String,
    },
}

/// What is known after the changes were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarTouched {
    /// Whether anything is otherwise than it was.
    pub is_changed: bool,
    /// From where to go on.
    pub link: String,
    /// Whether everything was read; if not, the link goes on in the middle.
    pub is_whole: bool,
}

/// Most pages that are read at once: four times what a calendar of [`super::EVENTS_MAX`] events takes
/// that is told anew.
pub const CHANGE_PAGES_MAX: usize = 200;
const PAGE: &str = "odata.maxpagesize=200";
const FEWER: &str = "odata.maxpagesize=20";

// === impl Calendar ===

impl Calendar {
    /// The next changes between two moments; everything, where there is no
    /// link.
    ///
    /// # Errors
    /// See [`CalendarError`].
    pub async fn changes(
        &self,
        ctx: &OpContext,
        (from, until): (Wall, Wall),
        link: Option<String>,
    ) -> Result<CalendarPage, CalendarError> {
        // It takes no `$select`.
        let start = format!("/me/calendarView/delta?startDateTime={from}&endDateTime={until}");
        let at = match link {
            Some(link) => DeltaFrom::Link { link, start },
            None => DeltaFrom::Start(start),
        };
        let page = match self.graph.delta::<WireEvent>(ctx, &at, &[UTC, PAGE]).await {
            Err(error) if error.is_answer_too_large() => {
                self.graph.delta(ctx, &at, &[UTC, FEWER]).await
            }
            other => other,
        };
        let page = page.map_err(|source| CalendarError::Graph { source })?;
        Ok(CalendarPage {
            changes: page.items.into_iter().filter_map(change).collect(),
            link: page.link,
            is_last: page.is_last,
            is_resync: page.is_resync,
        })
    }

    /// Whether anything between two moments is otherwise than where the link stands; without one
    /// it is. Reads at most [`CHANGE_PAGES_MAX`] pages.
    ///
    /// # Errors
    /// See [`CalendarError`].
    pub async fn touched(
        &self,
        ctx: &OpContext,
        window: (Wall, Wall),
        link: Option<String>,
    ) -> Result<CalendarTouched, CalendarError> {
        let mut touched = CalendarTouched {
            is_changed: link.is_none(),
            link: String::new(),
            is_whole: false,
        };
        let mut at = link;
        for _ in 0..CHANGE_PAGES_MAX {
            let page = self.changes(ctx, window, at).await?;
            touched.is_changed |= page.is_resync || !page.changes.is_empty();
            touched.is_whole = page.is_last;
            touched.link.clone_from(&page.link);
            if page.is_last {
                break;
            }
            at = Some(page.link);
        }
        Ok(touched)
    }
}

fn change(wire: WireEvent) -> Option<CalendarChange> {
    let id = wire.id.clone();
    if id.is_empty() {
        return None;
    }
    if wire.removed.is_some() {
        return Some(CalendarChange::Gone { id });
    }
    let is_series = wire.series_master_id.is_some()
        || wire
            .kind
            .as_deref()
            .is_some_and(|kind| kind != "singleInstance");
    if is_series || wire.subject.is_none() {
        return Some(CalendarChange::Series { id });
    }
    match Event::from_wire(wire) {
        Some(event) => Some(CalendarChange::Here(Box::new(event))),
        None => Some(CalendarChange::Series { id }),
    }
}
