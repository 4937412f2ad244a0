//! Checkpoints of the ledger: how often, and where they go.

use std::sync::Arc;

use legation_config::{Environment, Settings};
use legation_core::{Cancel, Home, TaskSet};
use legation_ledger::{Ledger, Pace, Place, PublishSettings};

/// Makes and exports checkpoints for as long as the hub runs.
pub(crate) fn run(
    tasks: &TaskSet,
    ledger: &Arc<Ledger>,
    settings: &Settings,
    home: &Home,
    environment: &Environment,
) {
    let wanted = &settings.ledger;
    let mut places = Vec::new();
    places.extend(wanted.export_folder.clone().map(Place::Folder));
    places.extend(
        wanted
            .export_git
            .as_deref()
            .map(|git| Place::Git(git.to_owned())),
    );
    if !wanted.export_command.is_empty() {
        places.push(Place::Command(wanted.export_command.clone()));
    }
    // Git may reach its remote with a key that only the agent holds.
    let agent = environment.get_os("SSH_AUTH_SOCK");
    let agent = agent.map(|socket| ("SSH_AUTH_SOCK".into(), socket.to_owned()));
    ledger.publish_to(PublishSettings {
        places,
        staging: home.root().join("checkpoints"),
        env: environment.child(agent),
    });
    let pace = Pace {
        records: wanted.checkpoint_records,
        every: wanted.checkpoint,
    };
    let ledger = Arc::clone(ledger);
    tasks.spawn("ledger checkpoints", async move {
        ledger.run_checkpoints(pace, Cancel::new()).await;
    });
}

/// The last checkpoint of a hub that ends.
pub(crate) async fn close(ledger: &Arc<Ledger>) {
    let ledger = Arc::clone(ledger);
    // What goes wrong is logged, and made up for by the next start.
    drop(tokio::task::spawn_blocking(move || ledger.close_checkpoints()).await);
}
