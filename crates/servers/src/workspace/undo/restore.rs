//! Putting files back.

use std::path::Path;

use legation_api::tasks::UndoAnswer;
use legation_core::error::chain;
use rustix::fs::AtFlags;

use super::super::error::WorkspaceError;
use super::super::root::{Place, Root, Stands};
use super::Changes;
use super::batch::{Digest, Now, State};
use super::history::Change;

/// What is to be done with a file.
enum Way<'c> {
    Nothing,
    Restore { mode: u32, bytes: &'c [u8] },
    Relink(&'c [u8]),
    Remove,
    Keep(String),
}

/// Takes changes back, or only says what would be done.
pub(super) fn run(root: &Root, changes: Changes, only_plan: bool, answer: &mut UndoAnswer) {
    let mut folders = Vec::new();
    for (path, change) in &changes {
        if change.folder {
            folders.push(path);
        }
        let shown = path.display().to_string();
        let tried = match way(root, path, change) {
            Way::Nothing => continue,
            Way::Keep(why) => Err(why),
            Way::Restore { mode, bytes } => {
                let put = |place: Place| place.replace(bytes, Some(mode));
                done(root, path, only_plan, put).map(|()| &mut answer.restored)
            }
            Way::Relink(target) => {
                let put = |place: Place| place.relink(target);
                done(root, path, only_plan, put).map(|()| &mut answer.restored)
            }
            Way::Remove => {
                let take = |place: Place| place.remove();
                done(root, path, only_plan, take).map(|()| &mut answer.removed)
            }
        };
        match tried {
            Ok(list) => list.push(shown),
            Err(why) => answer.kept.push((shown, why)),
        }
    }
    if only_plan {
        return;
    }
    // What is deeper comes later in order. One that holds something stays.
    for folder in folders.into_iter().rev() {
        let above = folder
            .parent()
            .filter(|above| !above.as_os_str().is_empty());
        if let (Ok(above), Some(name)) = (
            root.exact_folder(above.unwrap_or(Path::new("."))),
            folder.file_name(),
        ) {
            let _full = rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR);
        }
    }
}

fn way<'c>(root: &Root, path: &Path, change: &'c Change) -> Way<'c> {
    let now = now_of(root, path);
    let keep = |why: &str| Way::Keep(why.to_owned());
    let Some(first) = &change.first else {
        let before = change.pending.as_ref().and_then(State::as_now);
        if !change.unfinished || before == Some(now) {
            return Way::Nothing;
        }
        return keep("the hub ended while it was changed, so nobody knows who changed it");
    };
    if first.as_now() == Some(now) {
        return Way::Nothing;
    }
    // What was begun may have done nothing.
    let found = change.pending.as_ref().and_then(State::as_now);
    if change.unfinished && found != Some(now) {
        return keep("the hub ended while it was changed, so nobody knows who changed it");
    }
    if now == Now::Unknown || change.last == Some(Now::Unknown) {
        return keep("it is too long, or no file any more, so it cannot be compared");
    }
    if change.last != Some(now) {
        return keep("somebody changed it since");
    }
    if change.shared {
        return keep("somebody else changed it between two changes of the task");
    }
    match first {
        State::Absent => Way::Remove,
        State::File { mode, bytes } => Way::Restore { mode: *mode, bytes },
        State::Link { target } => Way::Relink(target),
        State::Unkept { why } => Way::Keep(why.clone()),
        State::NoFolder | State::Now(_) => Way::Nothing,
    }
}

/// Does something to the file at its very place.
fn done(
    root: &Root,
    path: &Path,
    only_plan: bool,
    work: impl FnOnce(Place) -> Result<(), WorkspaceError>,
) -> Result<(), String> {
    if only_plan {
        return Ok(());
    }
    let done = root.exact_place(path).and_then(work);
    done.map_err(|error| chain(&error))
}

/// What stands under a name now.
pub(super) fn now_of(root: &Root, path: &Path) -> Now {
    match root.stands(path) {
        Stands::Nothing => Now::Absent,
        Stands::File(bytes) => Now::Holds(Digest::of(&bytes)),
        Stands::Link(target) => Now::Leads(Digest::of(&target)),
        Stands::Other => Now::Unknown,
    }
}
