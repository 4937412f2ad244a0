//! The table of provider, entity, job and clearance, as it is decided.

use super::*;

/// One row of the table: what is asked and who is asked for it.
fn row(policy: &Policy, names: Option<&[&str]>, job: Option<&str>, token: bool) -> String {
    let wanted = Wanted {
        labels: names.map(labels),
        job: job.map(str::to_owned),
        copilot_token: token.then(|| Secret::new("t")),
        may_cost: true,
        ..Wanted::for_nobody()
    };
    let plan = Plan::of(policy.governance(), &wanted, 0);
    match &plan.decision.outcome {
        Ok(_) => {
            let each = plan.candidates.iter();
            let each = each.map(|one| format!("{} ({})", one.provider, one.source.as_str()));
            each.collect::<Vec<_>>().join(" > ")
        }
        Err(blocked) => blocked.reason_code.to_string(),
    }
}

/// Why each of the others is not asked, and whose wishes were not granted.
fn explained(policy: &Policy, names: Option<&[&str]>, job: Option<&str>) -> String {
    let wanted = Wanted {
        labels: names.map(labels),
        job: job.map(str::to_owned),
        may_cost: true,
        ..Wanted::for_nobody()
    };
    let decision = Plan::of(policy.governance(), &wanted, 0).decision;
    let mut why = String::new();
    for one in decision.considered.iter().filter(|one| !one.is_in()) {
        let reasons: Vec<String> = one.out.iter().map(ToString::to_string).collect();
        why.push_str(&format!(
            "    not {}: {}\n",
            one.provider,
            reasons.join("; ")
        ));
    }
    for wish in decision.preferences.iter().filter(|wish| !wish.is_in) {
        let source = wish.source.as_str();
        why.push_str(&format!("    {source} wants {} in vain\n", wish.provider));
    }
    if let Err(blocked) = &decision.outcome {
        why.push_str(&format!("    {}\n", blocked.reason));
    }
    why
}

/// The configuration of the source document, with its leak: a job's wish was
/// asked before the entity's demand.
#[test]
fn a_jobs_wish_leads_no_health_information_astray() {
    let demands = json!({ "provider": "azure", "required_hipaa_cleared": true });
    for (cleared, expected) in [
        (true, "azure (entity_override)"),
        (false, "LLM_PROVIDER_UNAVAILABLE"),
    ] {
        let policy = rules(&demands, cleared);
        let meadow: Option<&[&str]> = Some(&["meadow"]);
        for names in [meadow, Some(&["harbor", "meadow"]), None] {
            for (job, token) in [("desk.draft", false), ("sampling", true)] {
                let said = row(&policy, names, Some(job), token);
                assert_eq!(said, expected, "{names:?} {job}");
                let why = explained(&policy, names, Some(job));
                assert!(why.contains("in vain"), "{names:?} {job}: {why}");
            }
        }
    }
}

fn rules(entity: &Value, cleared: bool) -> Arc<Policy> {
    let entry = |kind: &str, cleared: bool| {
        let endpoint = "https://models.example.com/v1";
        let mut entry = json!({
            "kind": kind, "enabled": true, "endpoint": endpoint, "hipaa_cleared": cleared,
        });
        if cleared {
            entry["baa"] = json!({ "reference": "agreement 17", "expires": "2099-12-31" });
        }
        entry
    };
    policy(&json!({
        "default_provider": "openai", "fallbacks": ["copilot", "azure", "openai", "local"],
        "providers": {
            "openai": entry("openai_direct", false),
            "azure": entry("azure_openai", cleared),
            "copilot": entry("copilot_extension", true),
            "local": { "kind": "local_model", "enabled": true, "hipaa_cleared": cleared,
                       "endpoint": "http://127.0.0.1:8080" },
        },
        "entity_overrides": { "meadow": entity },
        "per_job_overrides": {
            "desk.draft": { "provider": "openai" },
            "delegate.task": { "provider": "local" },
            "sampling": { "provider": "copilot" },
        },
    }))
}

fn table(policy: &Policy) -> String {
    let mut table = String::new();
    let entities: [(&str, Option<&[&str]>); 5] = [
        ("nobody", Some(&[])),
        ("harbor", Some(&["harbor"])),
        ("meadow", Some(&["meadow"])),
        ("meadow+quarry", Some(&["meadow", "quarry"])),
        ("all", None),
    ];
    for (name, entity) in entities {
        for job in [
            None,
            Some("desk.draft"),
            Some("delegate.task"),
            Some("sampling"),
        ] {
            let said = row(policy, entity, job, false);
            let why = explained(policy, entity, job);
            let job = job.unwrap_or("-");
            table.push_str(&format!("{name:<14}{job:<14}{said}\n{why}"));
        }
    }
    table
}

#[test]
fn the_table_is_as_it_was_agreed() {
    let wish = json!({ "provider": "azure" });
    expect_test::expect![[r#"
        nobody        -             openai (default) > azure (fallback) > local (fallback)
        nobody        desk.draft    openai (per_job_override) > azure (fallback) > local (fallback)
        nobody        delegate.task local (per_job_override) > azure (fallback) > openai (fallback)
        nobody        sampling      COPILOT_TOKEN_MISSING
            Copilot is the chosen provider, and no Copilot user's token came with this request
        harbor        -             openai (default) > azure (fallback) > local (fallback)
        harbor        desk.draft    openai (per_job_override) > azure (fallback) > local (fallback)
        harbor        delegate.task local (per_job_override) > azure (fallback) > openai (fallback)
        harbor        sampling      COPILOT_TOKEN_MISSING
            Copilot is the chosen provider, and no Copilot user's token came with this request
        meadow        -             azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        meadow        desk.draft    azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants openai in vain
        meadow        delegate.task local (per_job_override) > azure (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        meadow        sampling      azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants copilot in vain
        meadow+quarry -             azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        meadow+quarry desk.draft    azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants openai in vain
        meadow+quarry delegate.task local (per_job_override) > azure (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        meadow+quarry sampling      azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants copilot in vain
        all           -             azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        all           desk.draft    azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants openai in vain
        all           delegate.task local (per_job_override) > azure (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
        all           sampling      azure (entity_override) > local (fallback)
            not copilot: Copilot cannot be cleared: there is no agreement to be had for it
            not openai: it is not declared cleared for health information
            per_job_override wants copilot in vain
    "#]]
    .assert_eq(&table(&rules(&wish, true)));
}

#[test]
fn an_override_that_binds_has_no_fallback() {
    let binding = json!({ "provider": "azure", "required_hipaa_cleared": true });
    let policy = rules(&binding, true);
    assert_eq!(
        row(&policy, Some(&["meadow"]), None, true),
        "azure (entity_override)"
    );
    // A job still chooses among those that are cleared, and may fall back there.
    assert_eq!(
        row(&policy, Some(&["meadow"]), Some("delegate.task"), true),
        "local (per_job_override) > azure (fallback)"
    );
}

#[test]
fn where_nobody_is_cleared_nobody_is_asked() {
    for entity in [
        json!({ "provider": null, "required_hipaa_cleared": true }),
        json!({ "provider": "azure", "required_hipaa_cleared": true }),
        json!({ "provider": "openai" }),
    ] {
        let policy = rules(&entity, false);
        for job in [
            None,
            Some("desk.draft"),
            Some("delegate.task"),
            Some("sampling"),
        ] {
            for whose in [
                Some(["meadow"].as_slice()),
                Some(&["harbor", "meadow"]),
                None,
            ] {
                assert_eq!(row(&policy, whose, job, true), "LLM_PROVIDER_UNAVAILABLE");
            }
        }
        // With nobody's data a Copilot user's token is good for a fallback.
        assert_eq!(
            row(&policy, Some(&[]), None, true),
            "openai (default) > copilot (fallback) > azure (fallback) > local (fallback)"
        );
    }
    let policy = rules(&json!({}), true);
    assert_eq!(
        row(&policy, Some(&["Meadow"]), None, true),
        "UNKNOWN_ENTITY"
    );
}
