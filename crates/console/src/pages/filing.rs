//! Where letters might be filed: what was suggested, and the owner's yes or no to it.

use legation_api::desk::{File, Filing, FilingState, Filings, Reject, Unfile};
use maud::{Markup, html};

use super::act::said;
use super::ask::{Failure, ask};
use super::desk::source;
use super::fields::{Fields, encoded};
use super::html::{Frame, badge, entity, fact, nothing};
use super::{Done, Shared};

/// Most suggestions that were carried out and are shown; commands show all.
const FILED_MAX: usize = 20;
/// What a suggestion's card begins with, for readers who hear one button after the other.
const SUBJECT_MAX: usize = 80;

/// The suggestions that wait, and those that can be taken back.
pub(super) async fn section(shared: &Shared, frame: &Frame, query: &Fields) -> Markup {
    let whose = query.text("entity").filter(|whose| whose != "all");
    let listed = |state| {
        let entity = whose.clone();
        let filings = Filings {
            entity,
            state: Some(state),
        };
        async move { ask(&*shared.hub, &filings).await }
    };
    let waiting = listed(FilingState::Proposed).await;
    let filed = listed(FilingState::Filed).await;
    html! {
        section #filings data-part="told" aria-labelledby="filings-title" {
            h2 #filings-title { "Where to file" }
            @match (waiting, filed) {
                (Err(failure), _) | (_, Err(failure)) => { (failure.shown()) }
                (Ok(waiting), Ok(filed)) => {
                    @if waiting.filings.is_empty() { (nothing("No folder is suggested.")) }
                    @for one in &waiting.filings { (card(frame, one)) }
                    @if !filed.filings.is_empty() {
                        h3 { "Filed" }
                        @for one in filed.filings.iter().rev().take(FILED_MAX) { (card(frame, one)) }
                    }
                }
            }
        }
    }
}

fn card(frame: &Frame, one: &Filing) -> Markup {
    let path = |verb: &str| format!("/desk/filings/{}/{verb}", encoded(&one.suggestion_id));
    let about: String = one.rationale.chars().take(SUBJECT_MAX).collect();
    let label = |word: &str| html! { (word) span.quiet-text { " " (about) } };
    html! {
        article.card id={ "filing-" (one.suggestion_id) } {
            p {
                strong.prose { (one.rationale) }
                " " (entity(&one.entity)) " " (badge(&one.state))
            }
            dl {
                (fact("folder", &html! { code { (one.path) } }))
                (fact("suggested by", &html! { (one.suggested_by) }))
                (fact("letter", &source(&one.source)))
            }
            div.actions {
                @match one.state.as_str() {
                    "proposed" => {
                        (frame.button(&path("approve"), &[], &label("File it there")))
                        (frame.button(&path("reject"), &[], &label("Refuse")))
                    }
                    "filed" => { (frame.button(&path("undo"), &[], &label("Move it back"))) }
                    _ => {}
                }
            }
        }
    }
}

/// What the owner says of a suggestion. Its id names the letter and the folder, and how it stands
/// is looked at by the hub, so that nothing else is done than what was shown.
pub(super) async fn decided(shared: &Shared, id: &str, verb: &str) -> Result<Done, Failure> {
    let (hub, suggestion_id, dry_run) = (&*shared.hub, id.to_owned(), false);
    let text = match verb {
        "approve" => {
            let file = File {
                suggestion_id,
                dry_run,
            };
            let filed = ask(hub, &file).await?;
            format!("The letter is in {} now.", filed.folder)
        }
        "undo" => {
            let unfile = Unfile {
                suggestion_id,
                dry_run,
            };
            ask(hub, &unfile).await?;
            "The letter is where it was before.".to_owned()
        }
        "reject" => {
            ask(hub, &Reject { suggestion_id }).await?;
            "The suggestion is refused.".to_owned()
        }
        _ => return Ok(Done::Nothing),
    };
    Ok(said(super::desk::TRIAGE, text))
}
