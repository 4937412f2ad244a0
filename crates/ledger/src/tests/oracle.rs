//! The second opinion: the verifier in Python, which shares no code with the
//! one under test.

use std::path::Path;
use std::time::Duration;

use legation_core::process::{OnceSpec, run_to_end};

use super::*;

/// What a verifier says of one fault.
pub(super) type Said = (String, String, i64, Option<String>);

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Runs Python with these arguments; its lines, and whether it was content.
pub(super) fn python(args: &[&str]) -> (Vec<String>, bool) {
    let spec = OnceSpec {
        program: "python3".into(),
        args: args.iter().map(Into::into).collect(),
        env: vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("PYTHONUTF8".into(), "1".into()),
            ("PYTHONDONTWRITEBYTECODE".into(), "1".into()),
        ],
        cwd: Some(Path::new(FOLDER).join("../../docs")),
        timeout: Duration::from_secs(300),
        keep: 64 << 20,
    };
    let output = run_to_end(&spec).expect("Python 3, which these tests need");
    let text = String::from_utf8(output.stdout).expect("text");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "{error}");
    let lines = text.lines().map(str::to_owned).collect();
    (lines, output.exit.code == Some(0))
}

/// What both verifiers say, which must be the same.
pub(super) fn both(place: &Place, folder: Option<&Path>, keys: &[PublicKey]) -> Vec<Said> {
    let mut evidence = Evidence::default();
    let mut args = vec![
        "verify_ledger.py".to_owned(),
        place.path.display().to_string(),
    ];
    if let Some(folder) = folder {
        evidence.add_folder(folder).expect("read");
        args.extend(["--checkpoints".to_owned(), folder.display().to_string()]);
    }
    for key in keys {
        evidence.trust(key.clone());
        args.extend(["--public-key".to_owned(), key.to_string()]);
    }
    let reader = LedgerReader::open(&place.path).expect("a reader");
    let report = reader.records().verify(&evidence).expect("read");
    let ours: Vec<Said> = report
        .faults
        .iter()
        .map(|fault| {
            let entity = fault.entity.as_str().to_owned();
            (
                fault.kind.name().to_owned(),
                entity,
                fault.seq,
                fault.checkpoint.clone(),
            )
        })
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (lines, content) = python(&args);
    assert_eq!(content, report.is_intact(), "{lines:?} {report:?}");
    let theirs: Vec<Said> = if content {
        Vec::new()
    } else {
        let read = |line: &String| serde_json::from_str(line).expect("a fault");
        lines.iter().map(read).collect()
    };
    assert_eq!(theirs, ours, "Python on the left");
    ours
}

/// What both say, shortened to kind, entity and place.
pub(super) fn faults(place: &Place, folder: Option<&Path>, keys: &[PublicKey]) -> Vec<String> {
    let said = both(place, folder, keys);
    let short = |(kind, entity, seq, _): Said| format!("{kind} {entity} {seq}");
    said.into_iter().map(short).collect()
}
