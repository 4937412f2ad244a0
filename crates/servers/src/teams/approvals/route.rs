//! To which account's human a question goes, and whether it is shown there:
//! without IO.

use legation_core::EntityId;
use legation_gate::desk::Question;

/// Whether this account's human is asked, and whether what is asked is shown.
/// One account is asked of each question: the first whose entity's data the
/// question is, else the first there is. What is another entity's is shown to
/// nobody; that it waits is said.
pub(super) fn here(
    accounts: &[(Box<str>, EntityId)],
    account: &str,
    question: &Question,
) -> Option<bool> {
    let nobodys = EntityId::personal();
    let is_of = |entity: &EntityId| {
        let mut all = question.entities.iter();
        all.all(|one| one == entity || *one == nobodys)
    };
    let names = |entity: &EntityId| question.entities.contains(entity);
    let own = accounts
        .iter()
        .find(|(_, entity)| is_of(entity) && names(entity));
    let any = accounts.iter().find(|(_, entity)| is_of(entity));
    let (chosen, is_shown) = match own.or(any) {
        Some((name, _)) => (name, true),
        None => (&accounts.first()?.0, false),
    };
    (**chosen == *account).then_some(is_shown)
}

#[cfg(test)]
mod tests {
    use legation_core::ClientId;
    use legation_gate::desk::QuestionKind;

    use super::*;

    #[test]
    fn a_question_is_shown_to_the_human_of_its_entity_and_to_no_other() {
        let accounts: Vec<(Box<str>, EntityId)> = [("private", "personal"), ("work", "harbor")]
            .map(|(name, entity)| (name.into(), EntityId::new(entity)))
            .into();
        let at = |entities: &[&str]| {
            let question = Question {
                id: "A".into(),
                kind: QuestionKind::Approval,
                client: ClientId::new("claude"),
                on_behalf_of: None,
                call: "files/send".into(),
                entities: entities.iter().map(|one| EntityId::new(*one)).collect(),
                rule: "r".into(),
                reason: "why".into(),
                preview: "{}".into(),
                digest: [0; 32],
                created_ms: 0,
                expires_ms: 1,
            };
            ["private", "work"].map(|account| here(&accounts, account, &question))
        };
        let cases: [(&[&str], _); 6] = [
            (&["personal"], [Some(true), None]),
            (&[], [Some(true), None]),
            (&["harbor"], [None, Some(true)]),
            (&["personal", "harbor"], [None, Some(true)]),
            (&["meadow"], [Some(false), None]),
            (&["harbor", "meadow"], [Some(false), None]),
        ];
        for (entities, wanted) in cases {
            assert_eq!(at(entities), wanted, "{entities:?}");
        }
    }
}
