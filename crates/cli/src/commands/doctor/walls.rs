//! Whether commands of delegated agents can be confined here.

use std::fs;

use legation_config::{BashMode, Settings};
use legation_core::process::GuardPath;
use legation_sandbox::{Availability, Sandbox};

use super::{Check, State, good};
use crate::commands::models::run;
use crate::{CliError, Context};

const WHAT: &str = "commands";

pub(super) fn check_walls(context: &Context, guard: Option<GuardPath>) -> Option<Check> {
    // Settings that cannot be read have a line of their own.
    let settings = Settings::load(&context.home, &context.environment, &[]).ok()?;
    let warning = |detail: String, hint: &str| Check {
        what: WHAT,
        state: State::Warning,
        detail,
        hint: Some(hint.to_owned()),
    };
    match settings.workspace.bash {
        BashMode::Off => return Some(good(WHAT, "agents run none: workspace.bash is off")),
        BashMode::Unconfined => {
            return Some(warning(
                "nothing confines what agents run: workspace.bash is unconfined".to_owned(),
                "set it to confined",
            ));
        }
        BashMode::Confined => {}
    }
    let sandbox = Sandbox::new(guard?);
    // An empty folder: a command that is tried needs one.
    let folder = std::env::temp_dir().join(format!("legation-doctor-{}", std::process::id()));
    fs::create_dir(&folder).ok()?;
    let found = run(async |_| {
        let folder = folder.canonicalize();
        let folder = folder.map_err(|error| CliError::failed(&error))?;
        Ok(sandbox.try_out(&folder, Vec::new()).await)
    });
    // It is empty, and the system clears that place.
    drop(fs::remove_dir(&folder));
    Some(match found {
        Ok(Availability::Yes) => good(WHAT, "what agents run can be confined"),
        Ok(Availability::No { why }) => warning(
            format!("what agents run cannot be confined here, so nothing is run: {why}"),
            "allow user namespaces and Landlock to the hub, or set workspace.bash to unconfined",
        ),
        Err(error) => warning(
            format!(
                "it could not be tried whether commands can be confined: {}",
                error.message
            ),
            "try again",
        ),
    })
}
