use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use legation_core::{ClientId, EntityLabels, SessionId, TaskId};
use legation_engine::{Turn, TurnHandle};
use serde_json::json;

use super::super::{Shell, Workspace};
use super::files::{Stand, guard, off};
use crate::Native as _;

/// Notes what is done to a task.
#[derive(Debug, Default)]
struct Done {
    changed: Mutex<Vec<String>>,
    aborted: Mutex<Option<String>>,
}

impl TurnHandle for Done {
    fn abort(&self, reason: &str) {
        *self.aborted.lock().unwrap() = Some(reason.to_owned());
    }

    fn changed(&self, files: Vec<String>) {
        self.changed.lock().unwrap().extend(files);
    }
}

impl Done {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.changed.lock().unwrap())
    }
}

fn turn(task: &str, number: u32, workspace: PathBuf, done: &Arc<Done>) -> Turn {
    Turn {
        task: TaskId::new(task),
        session: SessionId::new("ses_1"),
        client: ClientId::new("editor"),
        workspace: Some(workspace),
        labels: EntityLabels::none(),
        number,
        handle: Arc::clone(done) as _,
    }
}

/// Waits for what was begun: threads for what blocks are one here, and in order.
async fn settle() {
    tokio::task::spawn_blocking(|| {}).await.unwrap();
}

#[test]
fn a_turn_ends_with_what_it_changed_and_none_begins_without_its_folder() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let stand = Stand::new();
        let done = Arc::new(Done::default());
        let watch = stand.server.turns().unwrap();
        let first = turn("task_1", 1, stand.work(), &done);
        watch.began(&first);
        settle().await;
        for path in ["a.txt", "./new/b.txt", "a.txt"] {
            let arguments = json!({"path": path, "content": format!("of {path}")});
            stand
                .call_for("task_1", "write_file", arguments)
                .await
                .unwrap();
        }
        // What is done for nobody's task is nobody's change.
        let arguments = json!({"path": "c.txt", "content": "mine"});
        stand.call("write_file", arguments).await.unwrap();
        assert_eq!(done.take(), [""; 0], "the turn is not over");
        watch.ended(&first);
        assert_eq!(done.take(), ["a.txt", "new/b.txt"]);
        watch.ended(&first);
        let second = turn("task_1", 2, stand.work(), &done);
        watch.began(&second);
        settle().await;
        assert_eq!(done.take(), [""; 0]);

        // The next hub knows what the last one had no time to say.
        let undo = Some(Arc::clone(&stand.undo));
        let shell = Shell::new(off(), guard());
        let next = Workspace::new(stand.home.clone(), undo, shell, Vec::new());
        next.turns().unwrap().began(&second);
        settle().await;
        assert_eq!(done.take(), ["a.txt", "new/b.txt"]);

        // A task that never had a folder may need none.
        let nowhere = stand.work().join("nowhere");
        for number in 1..=2 {
            watch.began(&turn("task_2", number, nowhere.clone(), &done));
        }
        settle().await;
        assert_eq!(*done.aborted.lock().unwrap(), None);
        fs::remove_dir_all(stand.work()).unwrap();
        watch.began(&turn("task_1", 3, stand.work(), &done));
        settle().await;
        let reason = done.aborted.lock().unwrap().take().unwrap();
        assert!(reason.contains("is not there any more"), "{reason}");
    });
}
