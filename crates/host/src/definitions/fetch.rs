//! Reading a server's lists, page by page, within bounds.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::try_join_all;
use legation_gate::ListKind;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};

use super::{Definitions, Item, List, check_skill};
use crate::port::{self, About, AskError, Port};

/// Most pages of one list.
const PAGES_MAX: usize = 1_000;
/// Most items of one list.
const ITEMS_MAX: usize = 10_000;
/// Most bytes of one list.
const BYTES_MAX: usize = 32 << 20;
/// How long one page may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Longest warning about names, in names.
const NAMES_SHOWN: usize = 3;

/// A list could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum FetchError {
    /// The server gave no answer, or an error.
    #[error("{method} brought nothing")]
    NoAnswer {
        /// Which list.
        method: &'static str,
        /// Why.
        #[source]
        source: AskError,
    },
    /// The answer has no such list in it.
    #[error("the answer to {method} has no array {member:?}")]
    NoList {
        /// Which list.
        method: &'static str,
        /// What should be in it.
        member: &'static str,
    },
}

impl FetchError {
    /// Whether somebody has to sign in first.
    pub(crate) fn needs_auth(&self) -> bool {
        matches!(
            self,
            Self::NoAnswer {
                source: AskError::NeedsAuth,
                ..
            }
        )
    }
}

/// How a list is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Most items kept.
    pub(crate) items_max: usize,
    /// Whether it is a modern server's, whose tools may declare headers.
    pub(crate) modern: bool,
}

/// Which of a server's tools its configuration lets through.
pub(crate) type Allow<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// Reads every list the server declares, all at once: one that has just started is busy, and answers
/// them in a row sooner than one after the other.
///
/// Returns the definitions and the warnings that came up.
pub(crate) async fn fetch_all(
    port: &dyn Port,
    about: About,
    allow: Allow<'_>,
    items_max: usize,
) -> Result<(Definitions, Vec<String>), FetchError> {
    let bounds = Bounds {
        items_max,
        modern: about.revision.is_modern(),
    };
    let mut definitions = Definitions::new(about);
    let kinds = ListKind::ALL.into_iter();
    let declared = kinds.filter(|kind| definitions.declares(*kind));
    let lists = declared.map(|kind| async move {
        let mut warnings = Vec::new();
        let list = fetch(port, kind, allow, bounds, &mut warnings).await?;
        Ok::<_, FetchError>((kind, list, warnings))
    });
    let lists: Vec<_> = lists.collect();
    let lists = try_join_all(lists).await?;
    let mut all = Vec::new();
    for (kind, list, warnings) in lists {
        definitions.set(kind, list);
        all.extend(warnings);
    }
    Ok((definitions, all))
}

/// Reads one list. What a bound cuts off, or what makes no sense, is left out
/// with a warning: one bad entry must not take the others with it.
pub(crate) async fn fetch(
    port: &dyn Port,
    kind: ListKind,
    allow: Allow<'_>,
    bounds: Bounds,
    warnings: &mut Vec<String>,
) -> Result<List, FetchError> {
    let method = kind.method();
    let mut reading = Reading {
        items_max: bounds.items_max.min(ITEMS_MAX),
        modern: bounds.modern,
        ..Reading::default()
    };
    let mut cursor: Option<Raw> = None;
    for page in 0.. {
        if page == PAGES_MAX {
            reading.cut(format!("it has more than {PAGES_MAX} pages"));
            break;
        }
        let mut params = Object::new();
        if let Some(cursor) = &cursor {
            params.set("cursor", cursor.clone());
        }
        let answer = tokio::time::timeout(ANSWER_MAX, port::request(port, method, params));
        let answer = answer.await.unwrap_or_else(|_| {
            let limit = ANSWER_MAX.as_secs();
            Err(AskError::NoAnswer(format!("no answer within {limit} s")))
        });
        let answer = match answer {
            Ok(answer) => answer,
            // Many servers declare `resources` and know no templates.
            Err(AskError::Refused(error))
                if kind == ListKind::Templates && error.code == codes::METHOD_NOT_FOUND =>
            {
                break;
            }
            // What skills there are is no reason to do without the tools.
            Err(AskError::Refused(error)) if kind == ListKind::Skills => {
                warnings.push(format!("{method} was refused: {}", error.message));
                break;
            }
            Err(source) => return Err(FetchError::NoAnswer { method, source }),
        };
        let member = kind.member();
        let entries = answer.get(member).and_then(|list| list.to_array());
        let entries = entries.ok_or(FetchError::NoList { method, member })?;
        if !reading.take(kind, entries, allow) {
            break;
        }
        let next = answer.get("nextCursor").filter(|next| !next.is_null());
        let Some(next) = next else { break };
        if !reading.cursors.insert(next.as_bytes().clone()) {
            reading.cut("it gave the same cursor twice".to_owned());
            break;
        }
        cursor = Some(next);
    }
    warnings.extend(reading.warnings(method));
    Ok(reading.list)
}

#[derive(Default)]
struct Reading {
    items_max: usize,
    list: List,
    cursors: HashSet<bytes::Bytes>,
    bytes: usize,
    nameless: usize,
    doubled: Vec<Box<str>>,
    /// Whether it is a modern server's list.
    modern: bool,
    refused: Vec<String>,
    cut: Option<String>,
}

impl Reading {
    /// Takes a page; false when a bound was reached.
    fn take(&mut self, kind: ListKind, entries: Vec<Raw>, allow: Allow<'_>) -> bool {
        for raw in entries {
            self.bytes += raw.as_bytes().len();
            if self.list.items().len() == self.items_max {
                self.cut(format!("it has more than {} entries", self.items_max));
                return false;
            }
            if self.bytes > BYTES_MAX {
                self.cut(format!("it is longer than {} MiB", BYTES_MAX >> 20));
                return false;
            }
            let Some(mut item) = Item::read(kind, raw) else {
                self.nameless += 1;
                continue;
            };
            if kind == ListKind::Tools && !allow(&item.name) {
                continue;
            }
            if kind == ListKind::Tools
                && self.modern
                && let Err(error) = item.declare()
            {
                let name = &item.name;
                self.refused
                    .push(format!("tool {name:?} was left out: {error}"));
                continue;
            }
            if kind == ListKind::Skills
                && let Err(error) =
                    check_skill(&item.name, &item.raw.to_object().unwrap_or_default())
            {
                let uri = &item.name;
                self.refused
                    .push(format!("skill {uri:?} was left out: {error}"));
                continue;
            }
            let name = item.name.clone();
            if !self.list.push(item) {
                self.doubled.push(name);
            }
        }
        true
    }

    fn cut(&mut self, why: String) {
        self.cut = Some(why);
    }

    fn warnings(&mut self, method: &str) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.refused);
        warnings.truncate(NAMES_SHOWN);
        if let Some(why) = self.cut.take() {
            let kept = self.list.items().len();
            warnings.push(format!("{method} was cut off after {kept} entries: {why}"));
        }
        if self.nameless > 0 {
            let count = self.nameless;
            warnings.push(format!(
                "{method} has {count} entries without a name; they were left out"
            ));
        }
        if !self.doubled.is_empty() {
            let shown = self
                .doubled
                .iter()
                .take(NAMES_SHOWN)
                .map(|name| format!("{name:?}"));
            warnings.push(format!(
                "{method} names {} entries more than once, of which the first counts: {}",
                self.doubled.len(),
                shown.collect::<Vec<_>>().join(", "),
            ));
        }
        warnings
    }
}
