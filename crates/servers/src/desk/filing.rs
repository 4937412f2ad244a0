//! Where something might be filed: suggested by rules, approved and undone by the owner.

use legation_core::{EntityId, OpContext};
use legation_desk::deal::Deal;
use legation_desk::filing::{self, FilingState, Suggestion, ToFile, Was};
use legation_desk::triage::Item;
use legation_desk::{SourceId, SourceKind};
use legation_gate::Outcome;
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};

use super::book::{Added, Entry, Kind, Wanted};
use super::{Desk, Shared, arguments, rules};
use crate::accounts::{Failure, outcome};

/// Most suggestions that are listed for one entity.
const FILINGS_MAX: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    item_id: String,
    path: Option<String>,
    rationale: Option<String>,
}

/// A suggestion as callers read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Filing {
    /// Its id.
    pub suggestion_id: String,
    /// Whose it is.
    pub entity: String,
    /// How it stands.
    pub state: String,
    /// The item.
    pub item_id: String,
    /// What would be filed.
    pub source: String,
    /// Where.
    pub path: String,
    /// Who says so.
    pub suggested_by: String,
    /// Why.
    pub rationale: String,
}

/// What files a letter, or takes it back: the arguments of `mail_move`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Move {
    /// The account.
    pub profile_id: String,
    /// The letter.
    pub message_id: String,
    /// Where it goes.
    pub destination_folder: String,
    /// Whether a folder that is not there is made.
    pub create_folder: bool,
}

/// `filing_suggestion`.
pub(super) async fn suggest(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(suggested(shared, context, arguments).await)
}

async fn suggested(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Filing, Failure> {
    let wanted: Arguments = arguments::read(arguments)?;
    let policy = shared.rules()?;
    let para = rules::good(&policy.governance().para)?;
    let item: Entry<Item> = shared.known(Kind::Triage, "item", &wanted.item_id).await?;
    if item.body.source.kind() != SourceKind::Mail {
        return Err(arguments::bad("only letters can be filed"));
    }
    let deal = match &item.body.deal {
        None => None,
        Some(id) => shared.book.get::<Deal>(Kind::Deal, id).await?,
    };
    let name = rules::name_of(&policy, &item.entity);
    let text = item.body.words();
    let (path, by) = match &wanted.path {
        Some(path) if filing::is_path(path) => {
            let client = &context.caller.principal.client;
            (path.clone(), client.to_string())
        }
        Some(_) => {
            return Err(arguments::bad(
                "`path` is no folder path such as /Deals/Closing",
            ));
        }
        None => filing::place(
            para,
            &ToFile {
                entity: &item.entity,
                entity_name: &name,
                deal: deal.as_ref().map(|deal| deal.body.name.as_str()),
                category: item.body.sorted.category.as_deref(),
                sender: &item.body.from.address,
                text: &text,
            },
        ),
    };
    let now_ms = shared.now_ms();
    let id = super::id_of("filing", &[&item.id, &path]);
    let rationale = wanted.rationale.unwrap_or_else(|| item.body.line());
    let entry = Entry {
        id: id.clone(),
        entity: item.entity.clone(),
        account: item.account.clone(),
        state: FilingState::Proposed.as_str().to_owned(),
        key: None,
        at_ms: now_ms,
        until_ms: now_ms,
        changed_ms: now_ms,
        version: 1,
        body: Suggestion {
            source: item.body.source,
            item: item.id,
            path,
            by,
            rationale,
            was: None,
        },
    };
    match shared.book.add(Kind::Filing, &entry, None::<&()>).await? {
        Added::New => Ok(shown(&entry)),
        Added::Was(was) => Ok(shown(&was)),
    }
}

fn shown(entry: &Entry<Suggestion>) -> Filing {
    Filing {
        suggestion_id: entry.id.clone(),
        entity: entry.entity.to_string(),
        state: entry.state.clone(),
        item_id: entry.body.item.clone(),
        source: entry.body.source.to_string(),
        path: entry.body.path.clone(),
        suggested_by: entry.body.by.clone(),
        rationale: entry.body.rationale.clone(),
    }
}

/// The suggestions of an entity that wait for the owner.
pub(super) async fn open(
    shared: &Shared,
    entity: &EntityId,
) -> Result<Vec<Entry<Suggestion>>, Failure> {
    let wanted = Wanted {
        state: Some(FilingState::Proposed.as_str()),
        ..Wanted::of(entity, FILINGS_MAX)
    };
    Ok(shared.book.list(Kind::Filing, wanted).await?)
}

impl Desk {
    /// The suggestions of an entity that stand so, however they stand where nothing is said,
    /// oldest first; of every entity where none is named. The latest, where there are very many.
    ///
    /// # Errors
    /// They cannot be read, or there is no such entity.
    pub async fn filings(
        &self,
        whose: Option<&str>,
        state: Option<FilingState>,
    ) -> Result<Vec<Filing>, Failure> {
        let mut filings = Vec::new();
        for (entity, _) in rules::scope(&self.shared, whose)?.entities {
            let wanted = Wanted {
                state: state.map(FilingState::as_str),
                newest_first: true,
                ..Wanted::of(&entity, FILINGS_MAX)
            };
            let own: Vec<Entry<Suggestion>> = self.shared.book.list(Kind::Filing, wanted).await?;
            filings.extend(own.iter().rev().map(shown));
        }
        Ok(filings)
    }

    /// Whose a suggestion is; `None` where there is none of that id.
    #[must_use]
    pub fn filing_entity(&self, id: &str) -> Option<EntityId> {
        self.shared.book.owner(Kind::Filing, id)
    }

    /// One suggestion.
    ///
    /// # Errors
    /// There is none of that id.
    pub async fn filing_shown(&self, id: &str) -> Result<Filing, Failure> {
        let entry: Entry<Suggestion> = self.shared.known(Kind::Filing, "suggestion", id).await?;
        Ok(shown(&entry))
    }

    /// The move that a suggestion stands for: approving it is to make that call as the owner, and
    /// then to say so by [`Desk::filed`].
    ///
    /// # Errors
    /// There is none that waits.
    pub async fn filing_move(&self, id: &str) -> Result<Move, Failure> {
        let entry = self
            .filing(id, &[FilingState::Proposed, FilingState::Undone])
            .await?;
        Ok(Move {
            profile_id: entry.body.source.account().to_owned(),
            message_id: entry.body.source.id().to_owned(),
            destination_folder: entry.body.path,
            create_folder: true,
        })
    }

    /// The move that takes a filing back; then say so by [`Desk::unfiled`].
    ///
    /// # Errors
    /// It was not filed.
    pub async fn filing_undo(&self, id: &str) -> Result<Move, Failure> {
        let entry = self.filing(id, &[FilingState::Filed]).await?;
        let was = entry
            .body
            .was
            .ok_or_else(|| arguments::bad("it is not known where the letter came from"))?;
        Ok(Move {
            profile_id: entry.body.source.account().to_owned(),
            message_id: was.id,
            destination_folder: was.folder,
            create_folder: false,
        })
    }

    /// A suggestion was carried out: the letter's id where it is now, and the folder it came from.
    ///
    /// # Errors
    /// There is none that waits.
    pub async fn filed(&self, id: &str, new_id: &str, from: &str) -> Result<Filing, Failure> {
        let before = [FilingState::Proposed, FilingState::Undone];
        let mut entry = self.filing(id, &before).await?;
        entry.body.was = Some(Was {
            folder: from.to_owned(),
            id: new_id.to_owned(),
        });
        self.decided(entry, FilingState::Filed).await
    }

    /// A filing was taken back: the letter's id where it is now.
    ///
    /// # Errors
    /// It was not filed.
    pub async fn unfiled(&self, id: &str, new_id: &str) -> Result<Filing, Failure> {
        let mut entry = self.filing(id, &[FilingState::Filed]).await?;
        let account = entry.body.source.account().to_owned();
        entry.body.source = SourceId::in_account(SourceKind::Mail, &account, new_id);
        entry.body.was = None;
        self.decided(entry, FilingState::Undone).await
    }

    /// The owner does not want it.
    ///
    /// # Errors
    /// There is none that waits.
    pub async fn filing_rejected(&self, id: &str) -> Result<Filing, Failure> {
        let entry = self.filing(id, &[FilingState::Proposed]).await?;
        self.decided(entry, FilingState::Rejected).await
    }

    async fn filing(&self, id: &str, states: &[FilingState]) -> Result<Entry<Suggestion>, Failure> {
        let entry: Entry<Suggestion> = self.shared.known(Kind::Filing, "suggestion", id).await?;
        let state = FilingState::parse(&entry.state);
        match state.is_some_and(|state| states.contains(&state)) {
            true => Ok(entry),
            false => Err(arguments::bad(&format!(
                "the suggestion is {}",
                entry.state
            ))),
        }
    }

    async fn decided(
        &self,
        mut entry: Entry<Suggestion>,
        to: FilingState,
    ) -> Result<Filing, Failure> {
        to.as_str().clone_into(&mut entry.state);
        match self
            .shared
            .book
            .set(Kind::Filing, &entry, None::<&()>)
            .await?
        {
            true => {
                self.shared.view.changed();
                Ok(shown(&entry))
            }
            false => Err(arguments::bad("somebody else decided about it meanwhile")),
        }
    }
}
