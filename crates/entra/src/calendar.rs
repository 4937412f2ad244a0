//! The calendar of whoever acts: what is in it, what changed in it, and
//! entries that nobody is invited to.
//!
//! Times are asked for in UTC and told as moments; days that are taken whole
//! are dates, which are the same everywhere. Series are told as what they are
//! on each day.

mod changes;
mod entry;
mod error;
mod event;
mod wire;

use legation_core::{OpContext, Wall};

use crate::account::Account;
use crate::base::{query_value, segment};
use crate::error::GraphError;
use crate::graph::{Graph, GraphCall};

pub use changes::{CHANGE_PAGES_MAX, CalendarChange, CalendarPage, CalendarTouched};
pub use entry::{Entries, Made, NewEntry, NewTime};
pub use error::CalendarError;
pub use event::{Attendee, Event, Repeats, Response, Shown, When};

use wire::{WireEvent, WireEvents};

/// What reading a calendar takes.
pub const CALENDAR_SCOPES: [&str; 1] = ["Calendars.Read"];
/// What making an entry takes; asked for apart, when one is to be made.
pub const ENTRY_SCOPES: [&str; 1] = ["Calendars.ReadWrite"];

/// A calendar.
#[derive(Clone, Debug)]
pub struct Calendar {
    graph: Graph,
}

/// What a calendar holds within a time, earliest first.
#[derive(Clone, Debug)]
pub struct View {
    /// The events.
    pub events: Vec<Event>,
    /// Whether these are all.
    pub is_whole: bool,
}

/// Most events of one view.
pub const EVENTS_MAX: usize = 10_000;
/// Events on a page; fewer where they make an answer too long.
const TOPS: [usize; 2] = [500, 50];
const SELECT: &str = "id,iCalUId,seriesMasterId,type,subject,bodyPreview,start,end,isAllDay,location,organizer,attendees,showAs,sensitivity,isCancelled,isOrganizer,responseStatus,isOnlineMeeting,webLink,lastModifiedDateTime,categories,transactionId";
/// Times as moments.
const UTC: &str = r#"outlook.timezone="UTC""#;

// === impl Account ===

impl Account {
    /// The calendar of whoever acts.
    #[must_use]
    pub fn calendar(&self) -> Calendar {
        Calendar {
            graph: with_scopes(self, &CALENDAR_SCOPES),
        }
    }
}

fn with_scopes(account: &Account, scopes: &[&str]) -> Graph {
    let resource = account.graph_resource();
    let scopes: Vec<String> = scopes
        .iter()
        .map(|scope| format!("{resource}/{scope}"))
        .collect();
    account.graph_with_scope(&scopes.join(" "))
}

// === impl Calendar ===

impl Calendar {
    /// The time by the services' clock.
    #[must_use]
    pub fn services_time(&self) -> Wall {
        self.graph.account().http().wall()
    }

    /// What is between two moments, a day taken whole by its date in UTC; at
    /// most so many events.
    ///
    /// # Errors
    /// See [`CalendarError`].
    pub async fn view(
        &self,
        ctx: &OpContext,
        from: Wall,
        until: Wall,
        most: usize,
    ) -> Result<View, CalendarError> {
        view(&self.graph, ctx, from, until, most).await
    }

    /// One event.
    ///
    /// # Errors
    /// See [`CalendarError`].
    pub async fn event(&self, ctx: &OpContext, id: &str) -> Result<Event, CalendarError> {
        let path = format!("/me/events/{}?$select={SELECT}", segment(id));
        let mut call = GraphCall::new(http::Method::GET, &path);
        call.prefer = vec![UTC];
        let answer = self.graph.call(ctx, &call).await;
        let answer = answer.map_err(CalendarError::at_event)?;
        let event: WireEvent = answer
            .json()
            .map_err(|source| CalendarError::Graph { source })?;
        Event::from_wire(event).ok_or(CalendarError::NoEvent)
    }
}

async fn view(
    graph: &Graph,
    ctx: &OpContext,
    from: Wall,
    until: Wall,
    most: usize,
) -> Result<View, CalendarError> {
    if until <= from {
        return Err(CalendarError::Order);
    }
    let [top, fewer] = TOPS;
    let view = match pages(graph, ctx, (from, until), most, top).await {
        Err(error) if error.is_answer_too_large() => {
            pages(graph, ctx, (from, until), most, fewer).await
        }
        other => other,
    };
    view.map_err(|source| CalendarError::Graph { source })
}

async fn pages(
    graph: &Graph,
    ctx: &OpContext,
    (from, until): (Wall, Wall),
    most: usize,
    top: usize,
) -> Result<View, GraphError> {
    let most = most.clamp(1, EVENTS_MAX);
    let path = format!(
        "/me/calendarView?startDateTime={from}&endDateTime={until}&$top={}&$orderby={}&$select={SELECT}",
        top.min(most),
        query_value("start/dateTime"),
    );
    let mut call = GraphCall::new(http::Method::GET, &path);
    call.prefer = vec![UTC];
    let (mut events, mut is_whole) = (Vec::new(), false);
    // A page may be empty and still have one after it.
    for _ in 0..EVENTS_MAX / TOPS[1] {
        let page: WireEvents = graph.call(ctx, &call).await?.json()?;
        events.extend(page.value.into_iter().filter_map(Event::from_wire));
        match page.next {
            Some(next) if events.len() < most => call.path = next,
            next => {
                is_whole = next.is_none() && events.len() <= most;
                break;
            }
        }
    }
    events.truncate(most);
    Ok(View { events, is_whole })
}

#[cfg(test)]
mod tests;
