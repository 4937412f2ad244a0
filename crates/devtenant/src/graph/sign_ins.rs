//! The sign-in log: where an agent finds its own attribution.

use serde_json::Value;

use super::error::Failure;
use super::{Call, Outcome};

const READ: [&str; 1] = ["AuditLog.Read.All"];
/// Only these, and only those that somebody was there for, unless more is asked for.
const INTERACTIVE: &str = "interactiveUser";

/// `GET /auditLogs/signIns`, in beta: v1.0 shows neither agents nor other than interactive ones.
pub(super) fn list(call: &Call<'_>) -> Outcome {
    call.permit("GET /auditLogs/signIns", &READ, &READ)?;
    if !call.tenant()?.premium {
        return Err(Failure::new(
            403,
            "Authentication_RequestFromNonPremiumTenantOrB2CTenant",
            "Neither tenant is B2C or tenant doesn't have premium license",
        ));
    }
    call.options(&["filter", "top", "skiptoken", "orderby", "select"])?;
    let kinds = kinds(call.option("filter").unwrap_or_default());
    let tests = tests(call.option("filter").unwrap_or_default())
        .ok_or_else(|| Failure::bad_request("The filter of the sign-in log is not supported."))?;
    let unknown_members = call.prefers("include-unknown-enum-members");
    let mut shown: Vec<Value> = call
        .tenant()?
        .sign_ins
        .iter()
        .rev()
        .filter(|record| {
            let event = record["signInEventTypes"][0].as_str().unwrap_or_default();
            kinds.iter().any(|kind| kind == event)
        })
        .filter(|record| tests.iter().all(|test| fits(record, test)))
        .cloned()
        .collect();
    for record in &mut shown {
        let members = record.as_object_mut();
        if !call.beta {
            if let Some(members) = members {
                for name in ["agent", "signInEventTypes"] {
                    members.remove(name);
                }
            }
        } else if !unknown_members {
            // Members of the list that came later are only for who says it can take them.
            if record["agent"]["agentSubjectType"] == "agentIDuser" {
                record["agent"]["agentSubjectType"] = "unknownFutureValue".into();
            }
        }
    }
    call.list("auditLogs/signIns", shown, call.top(100, 1000)?)
}

/// The kinds of sign-in that a filter asks for.
fn kinds(filter: &str) -> Vec<String> {
    let found: Vec<String> = filter
        .split("t eq '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next().map(str::to_owned))
        .collect();
    if found.is_empty() {
        vec![INTERACTIVE.to_owned()]
    } else {
        found
    }
}

/// The other comparisons of a filter, outside of `signInEventTypes/any(…)`.
fn tests(filter: &str) -> Option<Vec<(String, String, String)>> {
    let mut rest = filter.trim().to_owned();
    if let Some(from) = rest.find("signInEventTypes/any(") {
        let until = from + rest[from..].find(')')? + 1;
        rest.replace_range(from..until, "");
        rest = rest
            .trim()
            .trim_start_matches("and ")
            .trim_end_matches(" and")
            .replace(" and  and ", " and ")
            .trim()
            .to_owned();
    }
    if rest.is_empty() {
        return Some(Vec::new());
    }
    super::odata::comparisons(&rest)
}

fn fits(record: &Value, (property, operator, operand): &(String, String, String)) -> bool {
    let value = property
        .split('/')
        .fold(record, |found, part| &found[part])
        .as_str()
        .unwrap_or_default();
    match operator.as_str() {
        "eq" => value.eq_ignore_ascii_case(operand),
        "ne" => !value.eq_ignore_ascii_case(operand),
        "gt" => value > operand.as_str(),
        "ge" => value >= operand.as_str(),
        "lt" => value < operand.as_str(),
        _ => value <= operand.as_str(),
    }
}
