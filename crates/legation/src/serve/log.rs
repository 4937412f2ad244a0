//! The hub's log file, `logs/hub.log`.

use legation_config::Settings;
use legation_core::{Home, SharedClock};
use legation_telemetry::{LogFile, LogFormat, LogSettings};

/// Starts logging. A hub that cannot log still runs; it says so on standard error.
pub(crate) fn start(home: &Home, settings: &Settings, clock: &SharedClock) {
    let kept = settings.log;
    let wanted = LogSettings {
        format: match kept.is_json {
            true => LogFormat::Json,
            false => LogFormat::Text,
        },
        file_bytes: kept.file_bytes,
        files: kept.files,
        days: kept.days,
    };
    match LogFile::open(&home.logs().join("hub.log"), wanted, clock.clone()) {
        // A second hub in one process, as in the demo, goes on with the first one's log.
        Ok(file) => {
            file.start(settings.log_level);
        }
        Err(error) => {
            LogFile::start_without(settings.log_level);
            tracing::warn!(%error, "the log file cannot be written; logging to standard error");
        }
    }
}
