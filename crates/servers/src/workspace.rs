//! `workspace`: the files of the folder that a caller works in, and commands
//! there.
//!
//! The folder is the one that the caller's bridge sent, or that the delegator's
//! did; whoever sent none has no files. Nothing leads out of it: see `root` for
//! files and `legation_sandbox` for commands. What is done for delegated work
//! can be taken back: see `undo`.

mod answer;
mod arguments;
mod bash;
mod edit;
mod error;
mod find;
mod ignored;
mod language;
mod read;
mod root;
mod text;
mod tools;
mod turns;
pub mod undo;
mod walk;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{Caller, Cancel, CancelReason, Home, OpContext};
use legation_engine::Turns;
use legation_gate::{Outcome, Peer, TaskWish};
use legation_wire::json::Object;

use crate::{Native, Tool};

use answer::{Answer, refused};
use root::Root;
use turns::Watch;
use undo::{Keeping, Undo};

pub use bash::{BashSettings, Shell, ShellMode};
pub use error::WorkspaceError;
pub use language::LanguageServer;
pub(crate) use tools::TOOLS;

/// The server.
#[derive(Clone)]
pub struct Workspace {
    shared: Arc<Shared>,
}

/// What its calls share.
struct Shared {
    home: Home,
    undo: Option<Arc<Undo>>,
    shell: Shell,
    languages: Vec<LanguageServer>,
    watch: Arc<Watch>,
}

/// Calls the work on a thread off when nobody waits for it any more.
struct StopWithMe(Cancel);

pub(crate) const NAME: &str = "workspace";

// === impl Workspace ===

impl Workspace {
    /// The server of the hub with this data directory, which no tool reaches.
    /// Without `undo` nothing can be taken back.
    #[must_use]
    pub fn new(
        home: Home,
        undo: Option<Arc<Undo>>,
        shell: Shell,
        languages: Vec<LanguageServer>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                home,
                watch: Arc::new(Watch::new(undo.clone())),
                undo,
                shell,
                languages,
            }),
        }
    }
}

impl Native for Workspace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(
            "Files of the folder you work in, and commands there. Paths are relative to it; nothing outside can be reached.",
        )
    }

    fn tools(&self) -> &[Tool] {
        TOOLS
    }

    /// Clients bring such tools along, and another set in every list would cost
    /// their models attention: they find these under `/mcp/s/workspace`.
    fn is_listed_for(&self, caller: &Caller) -> bool {
        caller.principal.client.as_str() == DELEGATE
    }

    fn turns(&self) -> Option<Arc<dyn Turns>> {
        Some(Arc::clone(&self.shared.watch) as _)
    }

    fn call(
        &self,
        context: OpContext,
        tool: &'static str,
        arguments: Object,
        _wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> BoxFuture<'static, Outcome> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let done = match tool {
                "bash" => shared.bash(&context, &arguments, &*peer).await,
                "lsp_diagnostics" => shared.diagnostics(&context, &arguments).await,
                _ => shared.on_thread(&context, tool, arguments).await,
            };
            match done {
                Ok(answer) => answer.outcome(&context),
                Err(error) => refused(&error),
            }
        })
    }

    fn read(&self, _context: OpContext, _uri: &'static str) -> BoxFuture<'static, Outcome> {
        // There is none to read.
        let outcome = crate::failed("this server has no resources");
        Box::pin(std::future::ready(outcome))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("undo", &self.shared.undo.is_some())
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn root(&self, context: &OpContext) -> Result<Root, WorkspaceError> {
        let folder = context.caller.workspace.as_deref();
        Root::open(folder.ok_or(WorkspaceError::NoFolder)?, self.home.root())
    }

    async fn on_thread(
        self: &Arc<Self>,
        context: &OpContext,
        tool: &'static str,
        arguments: Object,
    ) -> Result<Answer, WorkspaceError> {
        let (shared, context) = (Arc::clone(self), context.clone());
        let cancel = context.cancel.child();
        let _stop = StopWithMe(cancel.clone());
        let work = move || shared.work(&context, tool, &arguments, &cancel);
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or(Err(WorkspaceError::Cancelled))
    }

    fn work(
        &self,
        context: &OpContext,
        tool: &str,
        arguments: &Object,
        cancel: &Cancel,
    ) -> Result<Answer, WorkspaceError> {
        let root = self.root(context)?;
        let keeping = Keeping::new(self.undo.as_deref(), context.task.as_ref());
        match tool {
            "read_file" => read::read(&root, &arguments::read(arguments)?),
            "write_file" => edit::write(&root, &arguments::read(arguments)?, &keeping),
            "edit" => edit::edit(&root, &arguments::read(arguments)?, &keeping),
            "glob" => find::glob(&root, &arguments::read(arguments)?, cancel),
            _ => find::grep(&root, &arguments::read(arguments)?, cancel),
        }
    }
}

// === impl StopWithMe ===

impl Drop for StopWithMe {
    fn drop(&mut self) {
        self.0.cancel(CancelReason::ClientCancelled);
    }
}

/// The client that the engine is.
const DELEGATE: &str = "delegate";

#[cfg(test)]
mod tests;
