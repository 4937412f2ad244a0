use std::fs;

use legation_config::environment::Environment;
use legation_core::Home;
use legation_core::clock::{ManualClock, Wall};
use legation_core::home::write_private;
use legation_policy::governance::{Severity, Template as Named, file};

use super::*;
use crate::Output;
use crate::commands::governance::find;

const FILES: [&str; 4] = [file::BRIEF, file::URGENCY, file::DRAFT_STYLE, file::PARA];

fn context(folder: &std::path::Path) -> Context {
    Context {
        home: Home::at(folder.join("home")),
        environment: Environment::default(),
        clock: std::sync::Arc::new(ManualClock::at(Wall(1_780_272_000_000))),
        version: "0",
        output: Output::new(true),
    }
}

#[test]
fn a_home_of_before_the_desk_gets_the_files_that_hold_already() {
    for template in Named::ALL {
        let folder = tempfile::tempdir().unwrap();
        let context = context(folder.path());
        first_run::first_run(&context.home, &crate::template(template)).unwrap();
        let path = |name: &str| context.home.governance().join(name);
        for name in FILES {
            fs::remove_file(path(name)).unwrap();
            fs::remove_file(path(&format!("schemas/{name}"))).unwrap();
        }
        let before = find(&context);
        assert!(before.governance().is_desk_by_default);
        let warned: Vec<_> = before
            .problems()
            .iter()
            .filter(|one| one.hint.contains("desk init"))
            .collect();
        assert_eq!(warned.len(), 1, "{:?}", before.problems());
        assert_eq!(warned[0].severity, Severity::Warning);

        cmd_init(&context, &InitArgs { dry_run: true }).unwrap();
        assert!(FILES.iter().all(|name| !path(name).exists()));
        cmd_init(&context, &InitArgs { dry_run: false }).unwrap();
        let after = find(&context);
        let (before, after) = (before.governance(), after.governance());
        assert!(!after.is_desk_by_default);
        let shown = |found: &legation_policy::governance::Governance| {
            format!(
                "{:?} {:?} {:?} {:?}",
                found.brief, found.urgency, found.draft_style, found.para
            )
        };
        assert_eq!(shown(before), shown(after), "writing them changes nothing");
        for name in FILES {
            assert!(path(&format!("schemas/{name}")).exists(), "{name}");
        }
        // What the owner wrote stays.
        write_private(&path(file::PARA), b"{}").unwrap();
        cmd_init(&context, &InitArgs { dry_run: false }).unwrap();
        assert_eq!(fs::read_to_string(path(file::PARA)).unwrap(), "{}");
    }
}
