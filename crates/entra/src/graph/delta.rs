//! What changed since the last time (Microsoft Learn, "Use delta query").

use http::Method;
use http::header::LOCATION;
use legation_core::OpContext;
use serde::de::DeserializeOwned;

use super::pages::Page;
use super::{Graph, GraphCall};
use crate::error::{GraphError, GraphMeaning};

/// From where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeltaFrom {
    /// From the beginning: path and query.
    Start(String),
    /// From a link that an earlier page ended in, and the beginning, should
    /// Graph have forgotten it.
    Link {
        /// The link.
        link: String,
        /// Path and query of the beginning.
        start: String,
    },
}

/// One page of changes. The caller keeps the link only after it kept the items.
#[derive(Debug)]
pub struct DeltaPage<T> {
    /// What changed. Changes may come twice.
    pub items: Vec<T>,
    /// From where to go on.
    pub link: String,
    /// Whether this was the last page for now.
    pub is_last: bool,
    /// Whether Graph did not take the link: everything comes anew, and what
    /// does not come is gone.
    pub is_resync: bool,
}

// === impl Graph ===

impl Graph {
    /// The next page of changes, with these preferences.
    ///
    /// # Errors
    /// See [`GraphError`].
    pub async fn delta<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        from: &DeltaFrom,
        prefer: &[&'static str],
    ) -> Result<DeltaPage<T>, GraphError> {
        let (path, start) = match from {
            DeltaFrom::Start(start) => (start, start),
            DeltaFrom::Link { link, start } => (link, start),
        };
        let mut call = GraphCall::new(Method::GET, path);
        call.prefer = prefer.to_vec();
        let mut is_resync = false;
        let answer = match self.call(ctx, &call).await {
            Err(error) if path != start && is_link_void(&error) => {
                is_resync = true;
                call.path.clone_from(start);
                self.call(ctx, &call).await?
            }
            other => other?,
        };
        let page: Page<T> = answer.json()?;
        let is_last = page.next.is_none();
        let link = page.next.or(page.delta);
        let link = link.or_else(|| {
            let location = answer.headers.get(LOCATION)?;
            location.to_str().ok().map(str::to_owned)
        });
        let link = link.ok_or_else(|| GraphError::BadAnswer {
            operation: answer.operation.clone(),
            what: "it has no link to go on from".to_owned(),
        })?;
        Ok(DeltaPage {
            items: page.value,
            link,
            is_last,
            is_resync,
        })
    }
}

/// Whether Graph has forgotten a link, or never takes it: it may be of somebody
/// who acted before.
fn is_link_void(error: &GraphError) -> bool {
    let meaning = error.meaning();
    meaning.is_some_and(|it| matches!(it, GraphMeaning::Resync | GraphMeaning::BadRequest))
}
