//! The morning's brief and the evening's digest.
//!
//! Each entity's section is read, composed and put into words by itself. What cannot be read is
//! named in the part it would stand in, and takes nothing else along.

mod shown;

use std::collections::HashMap;

use jiff::tz::TimeZone;
use legation_core::{EntityId, OpContext};
use legation_desk::brief::{self, Done, Material, Named, Read, Section, Window};
use legation_desk::triage::ItemState;
use legation_entra::Class;
use legation_gate::policy::governance::{Brief, BriefConfig, BriefPart};
use legation_gate::{Outcome, policy::Policy};
use legation_wire::json::{Object, Raw};
use serde::Deserialize;

use super::book::{Entry, Kind, Wanted};
use super::rules::Scope;
use super::sync::{self, Standing, What};
use super::{ALL, Asked, Shared, arguments, calendar, deals, filing, rules, triage};
use crate::accounts::Failure;
use shown::Shown;

/// The job of a model's request.
const JOB: &str = "desk.brief";
/// Most events and letters of one entity that are looked at.
const EVENTS_MAX: usize = 2000;
const LETTERS_MAX: usize = 2000;
/// How far back unread letters are looked for.
const LETTERS_MS: i64 = 30 * 24 * 3600 * 1000;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Morning,
    Evening,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    entity_context: Option<String>,
    #[serde(default)]
    include_personal: bool,
}

/// What a brief is made by.
struct Making<'a> {
    shared: &'a Shared,
    policy: &'a Policy,
    config: &'a BriefConfig,
    rules: &'a Brief,
    window: Window,
    scope: Scope,
    with_personal: bool,
}

/// `morning_brief` and `eod_digest`.
pub(super) async fn compose(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
    which: Which,
) -> Outcome {
    match composed(shared, context, arguments, which).await {
        Ok((text, shown)) => {
            let block = Object::new()
                .with("type", Raw::str("text"))
                .with("text", Raw::str(&text))
                .to_raw();
            let result = Object::new()
                .with("content", Raw::array([&block]))
                .with("structuredContent", Raw::from_serialize(&shown));
            Outcome::Complete(result.to_raw())
        }
        Err(failure) => failure.outcome(),
    }
}

async fn composed(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
    which: Which,
) -> Result<(String, Shown), Failure> {
    let wanted: Arguments = arguments::read(arguments)?;
    let policy = shared.rules()?;
    let config = rules::good(&policy.governance().brief)?;
    let rules = match which {
        Which::Morning => &config.morning,
        Which::Evening => &config.evening,
    };
    let zone = zone(shared, rules)?;
    let making = Making {
        shared,
        policy: &policy,
        config,
        rules,
        window: Window::of(shared.now_ms(), zone, which == Which::Evening),
        scope: super::rules::scope(shared, wanted.entity_context.as_deref())?,
        with_personal: wanted.include_personal,
    };
    let plain = making.sections().await;
    let (sections, by, model_note) = match rules.model {
        true => making.worded(context, plain, which).await,
        false => (plain, "template", None),
    };
    let title = match which {
        Which::Morning => "Morning brief",
        Which::Evening => "End of day",
    };
    let day = making.window.today();
    let mut text = format!("# {title}, {day}\n\n");
    let bodies: Vec<String> = sections.iter().map(Section::markdown).collect();
    text.push_str(&bodies.join("\n"));
    let shown = Shown {
        generated_at: super::stamp(making.window.now_ms),
        timezone: making.window.zone.iana_name().unwrap_or("UTC").to_owned(),
        date: day.to_string(),
        composed_by: by,
        model_note,
        sections: sections.into_iter().map(shown::section).collect(),
    };
    Ok((text, shown))
}

fn zone(shared: &Shared, rules: &Brief) -> Result<TimeZone, Failure> {
    match rules.timezone.as_deref() {
        None => Ok(calendar::zone(shared, None)?.1),
        Some(name) => legation_desk::deadline::zone(name).map_err(|error| {
            Failure::said(
                Class::Local,
                format!("{error}; nothing was composed"),
                "the owner corrects `timezone` in governance/brief_config.json",
            )
        }),
    }
}

impl Making<'_> {
    async fn sections(&self) -> Vec<Section> {
        let mut done = self.done().await;
        let mut sections = Vec::new();
        for (entity, name) in self.entities() {
            let done = match &mut done {
                Ok(done) => Ok(done.remove(entity).unwrap_or_default()),
                Err(why) => Err(why.clone()),
            };
            sections.push(self.section((entity, name), done).await);
        }
        if self.scope.is_all && self.rules.must_include.contains(&BriefPart::Unclassified) {
            let nobody = EntityId::new(ALL);
            let mut material = nothing();
            material.unclassified = self.unclassified(&nobody).await;
            material.partly = self.partly(&nobody);
            let leave_out: Vec<BriefPart> = BriefPart::ALL
                .into_iter()
                .filter(|part| *part != BriefPart::Unclassified)
                .collect();
            let called = (&nobody, "Of nobody yet");
            let section = Section::compose(called, self.rules, &leave_out, &material, &self.window);
            sections.push(section);
        }
        sections
    }

    /// Those that get a section of their own.
    fn entities(&self) -> impl Iterator<Item = (&EntityId, &str)> {
        let entities = self.scope.entities.iter().filter(|(entity, _)| {
            let is_personal = self.config.personal_entities.contains(entity);
            // Asked for by name it was asked for.
            !is_personal || self.with_personal || !self.scope.is_all
        });
        entities.map(|(entity, name)| (entity, name.as_str()))
    }

    /// What an entity's own section lacks.
    fn left_out(&self, entity: &EntityId) -> Vec<BriefPart> {
        let differs = self.config.entities.get(entity);
        let mut left_out = differs.map(|one| one.leave_out.clone()).unwrap_or_default();
        left_out.push(BriefPart::Unclassified);
        left_out
    }

    async fn section(&self, (entity, name): (&EntityId, &str), done: Read<Done>) -> Section {
        let leave_out = self.left_out(entity);
        let wants =
            |part: BriefPart| self.rules.must_include.contains(&part) && !leave_out.contains(&part);
        let mut material = nothing();
        if wants(BriefPart::Meetings) {
            material.events = self.events(entity).await;
        }
        if wants(BriefPart::UnreadMail) {
            material.letters = self.letters(entity).await;
        }
        if wants(BriefPart::Triage) {
            material.items = self.unclassified(entity).await;
        }
        if wants(BriefPart::Deals) || wants(BriefPart::Deadlines) {
            let deals = deals::of_entity(self.shared, entity).await;
            material.deals = named(deals);
        }
        if wants(BriefPart::Deadlines) {
            let wanted = Wanted {
                from_ms: self.window.midnight_ms() - 1,
                ..Wanted::of(entity, 2000)
            };
            let deadlines = self.shared.book.list(Kind::Deadline, wanted).await;
            material.deadlines = named(deadlines.map_err(Failure::from));
        }
        if wants(BriefPart::Filing) {
            material.filings = named(filing::open(self.shared, entity).await);
        }
        if wants(BriefPart::Done) {
            material.done = done;
        }
        material.partly = self.partly(entity);
        Section::compose(
            (entity, name),
            self.rules,
            &leave_out,
            &material,
            &self.window,
        )
    }

    async fn unclassified(&self, entity: &EntityId) -> Read<Named<legation_desk::triage::Item>> {
        named(triage::of_entity(self.shared, entity, ItemState::Open).await)
    }

    /// Whether what was read of an entity's accounts is as they are.
    async fn is_fresh(&self, entity: &EntityId, what: What) -> Result<(), String> {
        let settings = self.shared.accounts.settings().iter();
        let accounts: Vec<&str> = settings
            .filter(|account| account.entity == *entity)
            .map(|account| &*account.name)
            .collect();
        if accounts.is_empty() {
            return Err("no account of this entity is connected".to_owned());
        }
        for name in accounts {
            let standing = sync::standing(self.shared, name, what).await;
            match standing.map_err(|error| error.to_string())? {
                Standing::Fresh { .. } => {}
                Standing::Stale { read_ms } => {
                    let when = super::stamp(read_ms);
                    return Err(format!("the account {name} was last read at {when}"));
                }
                Standing::Never => {
                    return Err(format!(
                        "the account {name} was never read; `desk = \"on\"` in [accounts.{name}] has it read"
                    ));
                }
            }
        }
        Ok(())
    }

    /// What parts lack because rows of theirs cannot be read.
    fn partly(&self, entity: &EntityId) -> Vec<(BriefPart, String)> {
        let made_of = [
            (BriefPart::Meetings, Kind::Event),
            (BriefPart::UnreadMail, Kind::Letter),
            (BriefPart::Triage, Kind::Triage),
            (BriefPart::Unclassified, Kind::Triage),
            (BriefPart::Deals, Kind::Deal),
            (BriefPart::Deadlines, Kind::Deadline),
            (BriefPart::Deadlines, Kind::Deal),
            (BriefPart::Filing, Kind::Filing),
        ];
        let lost = made_of.into_iter().filter_map(|(part, kind)| {
            let count = self.shared.book.damaged(kind, entity);
            let kind = kind.word();
            let why = match count {
                0 => return None,
                1 => format!("a {kind} is kept that cannot be read any more"),
                count => format!("{count} of kind {kind} are kept that cannot be read any more"),
            };
            Some((part, why))
        });
        lost.collect()
    }

    async fn events(&self, entity: &EntityId) -> Read<legation_desk::Event> {
        self.is_fresh(entity, What::Calendar).await?;
        let (from, to) = self.window.bounds();
        // Days are days everywhere, so what begins a day earlier elsewhere is looked at too.
        let around = (from - 24 * 3_600_000, to + 24 * 3_600_000);
        let events = sync::events(self.shared, entity, around, EVENTS_MAX).await;
        events.map_err(|error| error.to_string())
    }

    async fn letters(&self, entity: &EntityId) -> Read<legation_desk::Letter> {
        self.is_fresh(entity, What::Inbox).await?;
        let now = self.window.now_ms;
        let span = (now - LETTERS_MS, i64::MAX);
        let letters = sync::letters(self.shared, entity, span, LETTERS_MAX).await;
        letters.map_err(|error| error.to_string())
    }

    /// What was done today with the data of those whose section says it: looked for together.
    async fn done(&self) -> Result<HashMap<EntityId, Vec<Done>>, String> {
        let mut wanted: Vec<EntityId> = Vec::new();
        if self.rules.must_include.contains(&BriefPart::Done) {
            let told = |entity: &EntityId| !self.left_out(entity).contains(&BriefPart::Done);
            let entities = self.entities().map(|(entity, _)| entity);
            wanted.extend(entities.filter(|entity| told(entity)).cloned());
        }
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let (from_ms, to_ms) = (self.window.midnight_ms(), self.window.now_ms);
        let done = self.shared.view.done(&wanted, from_ms, to_ms).await?;
        let done = done.into_iter().map(|of_one| {
            let lines = of_one.into_iter().map(|one| Done {
                id: one.id,
                at_ms: one.at_ms,
                by: one.client,
                what: match one.server {
                    Some(server) => format!("{server}/{}", one.item),
                    None => one.item,
                },
                status: one.status,
            });
            lines.collect()
        });
        Ok(wanted.into_iter().zip(done).collect())
    }

    /// The sections in a model's words, where one may have them and says nothing else. Everything
    /// of a brief of all holds the labels of all: the strictest of them chooses the model.
    async fn worded(
        &self,
        context: &OpContext,
        plain: Vec<Section>,
        which: Which,
    ) -> (Vec<Section>, &'static str, Option<String>) {
        let labels = self.scope.labels();
        let mut sections = plain.clone();
        let mut taken = 0;
        for section in &mut sections {
            let lines = section.numbered();
            if lines.as_array().is_none_or(Vec::is_empty) {
                continue;
            }
            let (system, schema) = brief::question();
            let asked = Asked {
                job: JOB,
                labels: labels.clone(),
                system,
                data: lines.to_string(),
                answer: ("brief", schema),
            };
            match self.shared.view.model(context, asked).await {
                Ok(answer) => taken += section.reworded(&answer),
                // The next section would have none either.
                Err(why) => return (plain, "template", Some(why.to_string())),
            }
        }
        match taken > 0 && !self.breaks_a_contract(context, &sections, which) {
            true => (sections, "model", None),
            false => (plain, "template", None),
        }
    }

    /// Whether words that a model chose break what results must be like, so that the template's
    /// need not be refused for them.
    fn breaks_a_contract(&self, context: &OpContext, sections: &[Section], which: Which) -> bool {
        let Ok(contracts) = self.policy.governance().contracts.get() else {
            return true;
        };
        let tool = match which {
            Which::Morning => "desk/morning_brief",
            Which::Evening => "desk/eod_digest",
        };
        let text: String = sections.iter().map(Section::markdown).collect();
        let client = &context.caller.principal.client;
        let labels = self.scope.labels();
        contracts
            .of(tool, client)
            .any(|contract| contract.breach(&text, &labels, false).is_some())
    }
}

fn nothing() -> Material {
    Material {
        events: Ok(Vec::new()),
        letters: Ok(Vec::new()),
        items: Ok(Vec::new()),
        unclassified: Ok(Vec::new()),
        deals: Ok(Vec::new()),
        deadlines: Ok(Vec::new()),
        filings: Ok(Vec::new()),
        done: Ok(Vec::new()),
        partly: Vec::new(),
    }
}

fn named<T>(entries: Result<Vec<Entry<T>>, Failure>) -> Read<Named<T>> {
    match entries {
        Ok(entries) => Ok(entries
            .into_iter()
            .map(|entry| (entry.id, entry.body))
            .collect()),
        Err(failure) => Err(failure.message),
    }
}
