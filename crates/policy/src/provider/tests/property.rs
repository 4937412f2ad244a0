//! Whatever the files say: what is chosen may have it.

use proptest::prelude::*;

use super::{DAY_MS, NOW_MS, ask_with, governed, labels};
use crate::governance::{Governance, ProviderKind};
use crate::provider::Whose;

/// One provider: its kind, and whether it is enabled, has an endpoint, is
/// declared cleared; how many days its agreement still holds, if it has one.
type Entry = (usize, bool, bool, bool, Option<i64>);

const NAMES: [&str; 4] = ["one", "two", "three", "four"];

fn text(index: usize, entry: &Entry) -> String {
    let (kind, enabled, located, cleared, days) = entry;
    let kind = ProviderKind::ALL[*kind];
    let endpoint = if *located {
        "https://models.example.com"
    } else {
        ""
    };
    let day = |days: i64| if days < 0 { "2026-05-01" } else { "2026-12-31" };
    let baa = days.map_or_else(String::new, |days| {
        let day = day(days);
        format!(", \"baa\": {{ \"reference\": \"17\", \"expires\": \"{day}\" }}")
    });
    format!(
        "\"{}\": {{ \"kind\": \"{kind}\", \"enabled\": {enabled}, \"endpoint\": \"{endpoint}\", \
         \"hipaa_cleared\": {cleared}{baa} }}",
        NAMES[index]
    )
}

/// Whether health information may go to a provider, said once more and
/// otherwise than where it is decided.
fn may_have_it(entry: &Entry, needs_clearance: bool) -> bool {
    let (kind, enabled, located, cleared, days) = entry;
    let usable = *enabled && *located;
    let clear = match (ProviderKind::ALL[*kind], days) {
        (ProviderKind::CopilotExtension, _) => false,
        (_, Some(days)) => *cleared && *days >= 0,
        (kind, None) => *cleared && kind == ProviderKind::LocalModel,
    };
    usable && (clear || !needs_clearance)
}

fn files(entries: &[Entry], wishes: (usize, Option<usize>, Option<usize>, bool)) -> Governance {
    let (default, entity, job, binds) = wishes;
    let providers: Vec<String> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| text(index, entry))
        .collect();
    let name = |index: usize| NAMES[index % entries.len()];
    let entity = entity.map_or_else(String::new, |index| {
        let name = name(index);
        format!("\"meadow\": {{ \"provider\": \"{name}\", \"required_hipaa_cleared\": {binds} }}")
    });
    let job = job.map_or_else(String::new, |index| {
        format!("\"nightly\": {{ \"provider\": \"{}\" }}", name(index))
    });
    let rest = format!(
        "\"default_provider\": \"{}\", \"entity_overrides\": {{ {entity} }}, \
         \"per_job_overrides\": {{ {job} }}",
        name(default)
    );
    governed(&providers.join(", "), &rest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_chosen_may_have_it(
        entries in prop::collection::vec(
            (0..6_usize, any::<bool>(), any::<bool>(), any::<bool>(), prop::option::of(-1..2_i64)),
            1..5,
        ),
        wishes in (0..4_usize, prop::option::of(0..4_usize), prop::option::of(0..4_usize), any::<bool>()),
        whose in 0..4_usize,
    ) {
        let governance = files(&entries, wishes);
        let (some, none) = (labels(&["harbor", "meadow"]), labels(&["harbor"]));
        let meadow = labels(&["meadow"]);
        let whose = [Whose::All, Whose::Labels(&some), Whose::Labels(&meadow), Whose::Labels(&none)][whose];
        let holds_phi = !matches!(whose, Whose::Labels(labels) if *labels == none);
        let decision = ask_with(&governance, whose, Some("nightly"), true, NOW_MS);
        prop_assert_eq!(decision.needs_clearance, holds_phi);
        for (index, entry) in entries.iter().enumerate() {
            let considered = decision.considered.iter().find(|one| one.provider == NAMES[index]);
            let considered = considered.expect("every provider is considered");
            prop_assert_eq!(considered.is_in(), may_have_it(entry, holds_phi), "{:?}", entry);
        }
        if let Ok(selected) = &decision.outcome {
            let index = NAMES.iter().position(|name| *name == selected.provider).expect("known");
            prop_assert!(may_have_it(&entries[index], holds_phi));
        }
        // An agreement that ends takes the provider away, and never adds one.
        let later = ask_with(&governance, whose, Some("nightly"), true, NOW_MS + 400 * DAY_MS);
        for (now, then) in decision.considered.iter().zip(&later.considered) {
            prop_assert!(now.is_in() || !then.is_in());
        }
    }
}
