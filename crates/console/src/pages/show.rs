//! Pages by their address: what they ask of the hub, and what is made of it.

use futures_util::future::join;
use legation_api::conversation::{History, Sessions};
use legation_api::governance::{Decide, Explain, ExplainProvider, Files};
use legation_api::models::{Capabilities, Preferences, PreferencesAnswer, Savings};
use legation_api::{
    approvals as asked_for, audit, hub as whole, inbox as letters, mcp, tasks as work,
};
use maud::{Markup, html};

use super::ask::{Failure, ask};
use super::fields::{Fields, encoded};
use super::html::{Frame, Page, Section};
use super::records::Shown;
use super::{
    Asked, Shared, approvals, desk, governance, inbox, ledger, models, overview, servers, tasks,
};

/// Records on the first page.
const NEWEST: usize = 8;
/// Entries of a conversation that are shown when its page is opened.
const ENTRIES: usize = 200;
/// Jobs that models are chosen for, whether anybody prefers one for them or not.
const JOBS: [&str; 6] = [
    "delegate.task",
    "desk.brief",
    "desk.deadlines",
    "desk.draft",
    "desk.triage",
    "sampling",
];

/// The page at an address; `None` where there is none.
pub(super) async fn page(shared: &Shared, asked: &Asked, frame: &Frame) -> Option<Page> {
    let parts: Vec<&str> = asked.parts.iter().map(String::as_str).collect();
    Some(match parts.as_slice() {
        [] => Page::live(Section::Overview, overview(shared, frame).await),
        ["servers"] => {
            let body = server_list(shared, frame).await;
            Page::live(Section::Servers, or_failure(body))
        }
        ["servers", label] => {
            let body = server(shared, frame, label).await;
            Page::still(Section::Servers, *label, or_failure(body))
        }
        ["definitions"] => {
            let found = ask(&*shared.hub, &mcp::Review::default()).await;
            let body = found.map(|found| servers::definitions(frame, &found.waiting));
            Page::still(Section::Servers, "Definitions to review", or_failure(body))
        }
        ["approvals"] => {
            let found = ask(&*shared.hub, &asked_for::List {}).await;
            let body = found.map(|found| approvals::page(frame, &found));
            Page::live(Section::Approvals, or_failure(body))
        }
        ["inbox"] => Page::live(
            Section::Inbox,
            or_failure(letters(shared, &asked.query).await),
        ),
        ["tasks"] => Page::live(Section::Tasks, or_failure(task_list(shared, frame).await)),
        ["tasks", id] => task(shared, frame, id).await,
        ["sessions", id] => conversation(shared, frame, id).await,
        ["desk", rest @ ..] => desk::page(shared, frame, rest, &asked.query).await?,
        ["models"] => {
            let body = model_page(shared, frame, &asked.query).await;
            Page::still(Section::Models, Section::Models.title(), or_failure(body))
        }
        ["governance"] => {
            let body = rules(shared, frame, &asked.query).await;
            Page::still(Section::Governance, Section::Governance.title(), body)
        }
        ["ledger"] => {
            let body = ledger_page(shared, frame, &asked.query).await;
            Page::still(Section::Ledger, Section::Ledger.title(), body)
        }
        ["ledger", "calls", call] => {
            let body = one_call(shared, call, &asked.query).await;
            Page::still(Section::Ledger, format!("Call {call}"), or_failure(body))
        }
        _ => return None,
    })
}

/// What could not be had says so in its place.
pub(super) fn or_failure(body: Result<Markup, Failure>) -> Markup {
    body.unwrap_or_else(|failure| failure.shown())
}

async fn overview(shared: &Shared, frame: &Frame) -> Markup {
    let hub = &*shared.hub;
    let review = mcp::Review::default();
    let tail = audit::Tail { count: NEWEST };
    let states = join(
        ask(hub, &whole::Status {}),
        ask(hub, &work::EngineStatus {}),
    );
    let lists = join(ask(hub, &review), ask(hub, &tail));
    let ((status, engine), (definitions, records)) = join(states, lists).await;
    overview::page(&overview::Overview {
        status,
        engine,
        waiting: frame.waiting,
        definitions: definitions.map(|found| found.waiting.len()),
        records: records.map(|found| {
            let newest_first = found.records.into_iter().rev();
            newest_first.map(Shown::of).collect()
        }),
    })
}

async fn server_list(shared: &Shared, frame: &Frame) -> Result<Markup, Failure> {
    let hub = &*shared.hub;
    let (list, review) = (mcp::List::default(), mcp::Review::default());
    let (found, definitions) = join(ask(hub, &list), ask(hub, &review)).await;
    let found = found?;
    let view = servers::Listing {
        servers: found.servers,
        problems: found.problems,
        definitions: definitions.map(|found| found.waiting.len()),
    };
    Ok(servers::list(frame, &view))
}

async fn server(shared: &Shared, frame: &Frame, label: &str) -> Result<Markup, Failure> {
    let hub = &*shared.hub;
    let show = mcp::Show {
        name: label.to_owned(),
        workspace: None,
    };
    let tools = mcp::Tools {
        server: Some(label.to_owned()),
        workspace: None,
    };
    let (shown, tools) = join(ask(hub, &show), ask(hub, &tools)).await;
    let view = servers::One {
        shown: shown?,
        tools: tools.map(|found| found.tools),
    };
    Ok(servers::one(frame, &view))
}

async fn letters(shared: &Shared, query: &Fields) -> Result<Markup, Failure> {
    let before = query.number("before");
    let list = letters::List {
        before,
        limit: inbox::PAGE,
    };
    let found = ask(&*shared.hub, &list).await?;
    Ok(inbox::page(&found.messages, before.is_none()))
}

async fn task_list(shared: &Shared, frame: &Frame) -> Result<Markup, Failure> {
    let hub = &*shared.hub;
    let list = work::List::default();
    let lists = join(ask(hub, &list), ask(hub, &Sessions {}));
    let (engine, (tasks, sessions)) = join(ask(hub, &work::EngineStatus {}), lists).await;
    let view = tasks::Listing {
        engine,
        tasks: tasks?.tasks,
        sessions: sessions?.sessions,
    };
    Ok(tasks::list(frame, &view))
}

async fn task(shared: &Shared, frame: &Frame, id: &str) -> Page {
    let show = work::Show {
        task_id: id.to_owned(),
    };
    match ask(&*shared.hub, &show).await {
        Ok(task) => Page {
            live: Some(format!("/live?session={}", encoded(&task.session))),
            ..Page::still(
                Section::Tasks,
                format!("Task {}", task.title),
                tasks::one(frame, &task),
            )
        },
        Err(failure) => Page::still(Section::Tasks, "Task", failure.shown()),
    }
}

async fn conversation(shared: &Shared, frame: &Frame, id: &str) -> Page {
    let found = conversation_view(shared, id).await;
    let view = match found {
        Ok(view) => view,
        Err(failure) => return Page::still(Section::Tasks, "Conversation", failure.shown()),
    };
    let after = view.messages.last().map_or(0, |message| message.seq);
    let live = format!("/live?session={}&after={after}", encoded(&view.session.id));
    Page {
        live: Some(live),
        ..Page::still(
            Section::Tasks,
            "Conversation",
            tasks::conversation(frame, &view),
        )
    }
}

async fn conversation_view(shared: &Shared, id: &str) -> Result<tasks::Conversation, Failure> {
    let hub = &*shared.hub;
    let history = History {
        session: id.to_owned(),
        limit: ENTRIES,
        before: None,
    };
    let open = work::List {
        open: true,
        session: Some(id.to_owned()),
        limit: None,
    };
    let lists = join(ask(hub, &history), ask(hub, &open));
    let (sessions, (messages, open)) = join(ask(hub, &Sessions {}), lists).await;
    let session = sessions?.sessions.into_iter().find(|one| one.id == id);
    Ok(tasks::Conversation {
        session: session.ok_or_else(|| Failure::of("There is no such conversation."))?,
        messages: messages?.messages,
        open: open?.tasks,
    })
}

async fn model_page(shared: &Shared, frame: &Frame, query: &Fields) -> Result<Markup, Failure> {
    let hub = &*shared.hub;
    let savings = Savings::default();
    let (preferences, savings) = join(ask(hub, &Preferences {}), ask(hub, &savings)).await;
    let preferences = preferences?;
    let capabilities = match query.get("ask") {
        Some(_) => Some(ask(hub, &Capabilities {}).await),
        None => None,
    };
    let explained = match query.get("explain") {
        Some(_) => Some(or_failure(provider(shared, query).await)),
        None => None,
    };
    let view = models::Models {
        jobs: jobs(&preferences),
        preferences,
        savings,
        capabilities,
        explained,
    };
    Ok(models::page(frame, &view))
}

/// The jobs that can have a provider of their own: those that are known, and those
/// that the file names.
pub(super) fn jobs(preferences: &PreferencesAnswer) -> Vec<String> {
    let named = preferences.per_job_overrides.keys().cloned();
    let all = JOBS.iter().map(|job| (*job).to_owned()).chain(named);
    let all: std::collections::BTreeSet<String> = all.collect();
    all.into_iter().collect()
}

async fn provider(shared: &Shared, query: &Fields) -> Result<Markup, Failure> {
    let names = query.get("entity").unwrap_or_default();
    let names = names.split([',', ' ']).filter(|name| !name.is_empty());
    let request = ExplainProvider {
        entities: names.map(str::to_owned).collect(),
        job: query.text("job"),
        copilot_token: false,
    };
    let answer = ask(&*shared.hub, &request).await?;
    Ok(governance::provider(&answer))
}

async fn rules(shared: &Shared, frame: &Frame, query: &Fields) -> Markup {
    let hub = &*shared.hub;
    let (files, status) = join(ask(hub, &Files {}), ask(hub, &whole::Status {})).await;
    let answer = match query.get("ask") {
        Some(what) => Some(or_failure(explained(shared, what, query).await)),
        None => None,
    };
    let view = governance::Governance {
        files,
        hub: status.map_or_else(|failure| failure.message, |status| status.rules),
        query: query.clone(),
        answer,
    };
    governance::page(frame, &view)
}

async fn explained(shared: &Shared, what: &str, query: &Fields) -> Result<Markup, Failure> {
    let hub = &*shared.hub;
    match what {
        "decide" => {
            let request = Decide {
                call: query.text("call").unwrap_or_default(),
                arguments: query.text("arguments").unwrap_or_default(),
                client: query.text("client"),
                entity: query.text("entity"),
            };
            Ok(governance::decided(&ask(hub, &request).await?))
        }
        "tool" | "client" => {
            let request = Explain {
                tool: query.text("tool").filter(|_| what == "tool"),
                client: query.text("who").filter(|_| what == "client"),
            };
            Ok(governance::explained(&ask(hub, &request).await?))
        }
        _ => Ok(html! { p { "That is not a question that can be asked here." } }),
    }
}

/// The records of a call: near the record that it was found by, or the newest. The
/// whole ledger has no index, so it is looked through only when somebody asks for it.
async fn one_call(shared: &Shared, call: &str, query: &Fields) -> Result<Markup, Failure> {
    let call = call.to_owned();
    if query.get("all").is_some() {
        let found = ask(&*shared.hub, &audit::Show { call }).await?;
        let records: Vec<Shown> = found.records.into_iter().map(Shown::of).collect();
        return Ok(ledger::call(&records, None));
    }
    let at: Option<i64> = query.number("at");
    let around = i64::try_from(ledger::SCAN / 2).unwrap_or(0);
    let whole = format!("/ledger/calls/{}?all=yes", encoded(&call));
    let search = audit::Query {
        filter: audit::Filter {
            call: Some(call),
            ..audit::Filter::default()
        },
        limit: ledger::PAGE,
        before: at.map(|at| at.saturating_add(around)),
        scan: Some(ledger::SCAN),
    };
    let found = ask(&*shared.hub, &search).await?;
    let oldest_first = found.records.into_iter().rev();
    let records: Vec<Shown> = oldest_first.map(Shown::of).collect();
    Ok(ledger::call(&records, Some(&whole)))
}

async fn ledger_page(shared: &Shared, frame: &Frame, query: &Fields) -> Markup {
    let hub = &*shared.hub;
    let days = query.number("days");
    let (counts, savings) = (
        audit::Counts { days },
        Savings {
            days: days.or(Some(7)),
        },
    );
    let filter = audit::Filter {
        entity: query.text("entity"),
        kind: query.text("kind"),
        client: query.text("client"),
        server: query.text("server"),
        item: query.text("item"),
        status: query.text("status"),
        ..audit::Filter::default()
    };
    let search = audit::Query {
        filter,
        limit: ledger::PAGE,
        before: query.number("before"),
        scan: Some(ledger::SCAN),
    };
    let numbers = join(ask(hub, &counts), ask(hub, &savings));
    let ((counts, savings), records) = join(numbers, ask(hub, &search)).await;
    let view = ledger::Ledger {
        counts,
        savings,
        records: records.map(|found| {
            let shown = found.records.into_iter().map(Shown::of).collect();
            (shown, found.next)
        }),
        query: query.clone(),
    };
    ledger::page(frame, &view)
}
