//! Severities of log messages (RFC 5424, as MCP's logging names them).

use legation_wire::json::Raw;

/// Most verbose first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// How severe a level is; a word that is none counts as the most severe, so
/// that nothing is lost for a server's misspelling.
pub(crate) fn severity(level: &str) -> usize {
    LEVELS
        .iter()
        .position(|known| *known == level)
        .unwrap_or(LEVELS.len() - 1)
}

/// The word of a severity.
pub(crate) fn word(severity: usize) -> &'static str {
    LEVELS[severity.min(LEVELS.len() - 1)]
}

/// Whether someone who wants `least` and more severe wants this message.
pub(crate) fn passes(params: &Raw, least: Option<&str>) -> bool {
    let Some(least) = least else { return false };
    let level = params.get("level");
    let level = level.as_ref().and_then(|raw| raw.to_str());
    severity(level.as_deref().unwrap_or("info")) >= severity(least)
}

#[cfg(test)]
mod tests {
    use legation_wire::json::Raw;

    use super::passes;

    #[test]
    fn a_message_passes_from_the_wanted_level_up() {
        let cases = [
            (r#"{"level":"debug"}"#, Some("info"), false),
            (r#"{"level":"info"}"#, Some("info"), true),
            (r#"{"level":"emergency"}"#, Some("alert"), true),
            (r#"{"level":"warn"}"#, Some("alert"), true),
            (r#"{}"#, Some("info"), true),
            (r#"{"level":"emergency"}"#, None, false),
        ];
        for (params, least, expected) in cases {
            assert_eq!(
                passes(&Raw::from_static(params), least),
                expected,
                "{params} {least:?}"
            );
        }
    }
}
