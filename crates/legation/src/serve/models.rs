//! The models of the hub, and the book of what they cost.

mod book;

use std::sync::Arc;

use legation_core::TaskSet;
use legation_core::error::chain;
use legation_gate::Gate;
use legation_models::{Limits, Meter, ModelClient, Models, Router};
use legation_store::Store;

use super::hub::HubOptions;

pub(crate) use book::Book;

/// The models behind the gate, counted in a book of the store's, which is
/// written for as long as the hub runs.
pub(crate) fn of(
    options: &HubOptions,
    (store, tasks): (&Arc<Store>, &TaskSet),
    gate: &Arc<Gate>,
) -> (Arc<Models>, Arc<Book>) {
    let clock = &options.clock;
    let book = Arc::new(Book::new(Arc::clone(store), clock.clone()));
    // Tasks that go on may ask a model with limits at once.
    if let Err(error) = book.read() {
        let error = chain(&error);
        tracing::error!(%error, "what models cost before is not known yet");
    }
    let kept = Arc::clone(&book);
    tasks.spawn("book of models", async move { kept.run().await });
    let keys =
        legation_cli::models::keys_of(&options.home, &options.environment, &options.settings);
    let client = ModelClient::new(clock.clone(), Limits::default());
    let meter = Meter::new(Arc::clone(&book) as _, clock.clone());
    let router = Router::new(client, keys, Arc::new(meter));
    let models = Models::new(Arc::downgrade(gate), router);
    (Arc::new(models), book)
}

/// What was counted last.
pub(crate) async fn close(book: &Arc<Book>) {
    let book = Arc::clone(book);
    let written = tokio::task::spawn_blocking(move || book.write()).await;
    if let Ok(Err(error)) = written {
        let error = chain(&error);
        tracing::error!(%error, "what models cost last was not kept");
    }
}
