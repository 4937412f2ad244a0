//! Lists that come in pages.

use http::Method;
use legation_core::OpContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Graph, GraphCall};
use crate::error::GraphError;

/// One page.
#[derive(Deserialize)]
pub(crate) struct Page<T> {
    #[serde(default = "Vec::new")]
    pub(crate) value: Vec<T>,
    #[serde(rename = "@odata.nextLink")]
    pub(crate) next: Option<String>,
    #[serde(rename = "@odata.deltaLink")]
    pub(crate) delta: Option<String>,
}

// === impl Graph ===

impl Graph {
    /// A whole list.
    ///
    /// # Errors
    /// See [`GraphError`]; a list of more than `pages_max` pages is one, so
    /// that none is taken for whole that is not.
    pub async fn list<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        path: &str,
        pages_max: usize,
    ) -> Result<Vec<T>, GraphError> {
        match self.list_some(ctx, path, pages_max).await? {
            (all, true) => Ok(all),
            (_, false) => Err(GraphError::TooManyPages {
                operation: format!("GET {}", super::operation::masked(path)).into(),
                pages: pages_max,
            }),
        }
    }

    /// The first pages of a list, and whether these are all of it.
    pub(crate) async fn list_some<T: DeserializeOwned>(
        &self,
        ctx: &OpContext,
        path: &str,
        pages_max: usize,
    ) -> Result<(Vec<T>, bool), GraphError> {
        let mut all = Vec::new();
        let mut call = GraphCall::new(Method::GET, path);
        for _ in 0..pages_max {
            let page: Page<T> = self.call(ctx, &call).await?.json()?;
            all.extend(page.value);
            match page.next {
                Some(next) => call.path = next,
                None => return Ok((all, true)),
            }
        }
        Ok((all, false))
    }
}
