use super::*;

#[test]
fn a_usage_error_is_one_line_and_a_hint() {
    let text = "error: unexpected argument '--nope' found\n\n  tip: to pass it, use '-- --nope'\n\nUsage: legation serve [OPTIONS]\n";
    let error = usage_error(text);
    assert_eq!(error.exit, Exit::Usage);
    assert_eq!(error.message, "unexpected argument '--nope' found");
    assert_eq!(
        error.hint.as_deref(),
        Some("tip: to pass it, use '-- --nope' Usage: legation serve [OPTIONS]")
    );
    assert_eq!(usage_error("error: x").hint, None);
}
