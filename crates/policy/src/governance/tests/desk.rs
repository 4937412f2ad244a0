//! The desk where its files are not there.

use super::super::*;

const FILES: [&str; 4] = [file::BRIEF, file::URGENCY, file::DRAFT_STYLE, file::PARA];

/// A template without some of the files.
fn without(template: Template, gone: &[&str]) -> (Governance, Vec<Problem>) {
    let sources = Sources::from_files(|name| match template.file(name) {
        Some(text) if !gone.contains(&name) => FileText::Text(text.to_owned()),
        _ => FileText::Absent,
    });
    Governance::load(&sources, &[])
}

#[test]
fn a_folder_of_before_the_desk_goes_by_defaults_that_ask_no_model() {
    for template in Template::ALL {
        let (found, problems) = without(template, &FILES);
        assert!(found.is_desk_by_default);
        let (brief, urgency) = (found.brief.get().unwrap(), found.urgency.get().unwrap());
        let style = found.draft_style.get().unwrap();
        assert!(found.para.get().is_ok());
        let asks = [
            brief.morning.model,
            brief.evening.model,
            urgency.model,
            style.model,
        ];
        assert_eq!(asks, [false; 4], "{template}");
        let several = found.profile.get().unwrap().entities.len() > 1;
        assert_eq!(!brief.personal_entities.is_empty(), several, "{template}");
        let told: Vec<&Problem> = problems
            .iter()
            .filter(|one| FILES.contains(&&*one.file))
            .collect();
        assert_eq!(told.len(), 1, "{problems:?}");
        assert_eq!(told[0].severity, Severity::Warning);
        assert!(told[0].hint.contains("legation desk init"));
    }
}

#[test]
fn a_file_that_was_taken_away_denies_what_it_governs() {
    for gone in FILES {
        let (found, problems) = without(Template::Business, &[gone]);
        assert!(!found.is_desk_by_default);
        let broken = [
            (file::BRIEF, found.brief.get().is_err()),
            (file::URGENCY, found.urgency.get().is_err()),
            (file::DRAFT_STYLE, found.draft_style.get().is_err()),
            (file::PARA, found.para.get().is_err()),
        ];
        for (name, is_broken) in broken {
            assert_eq!(is_broken, name == gone, "{gone} {name}");
        }
        let error = problems.iter().find(|one| &*one.file == gone).unwrap();
        assert_eq!(error.severity, Severity::Error);
    }
    // Without a profile nobody knows whose anything is.
    let gone = [&FILES[..], &[file::OPERATOR_PROFILE]].concat();
    let (found, _) = without(Template::Business, &gone);
    assert!(!found.is_desk_by_default && found.brief.get().is_err());
}
