//! The two programs that the tests of the process module need beside
//! themselves: a guard, and a hub that can be killed.
//!
//! `children guard -- command args…` is a guard;
//! `children hub MARK SCRIPT` runs SCRIPT under a guard and waits for ever.

use std::process::ExitCode;

use legation_core::process::{Child, ChildSpec, GuardPath, guard_main};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|word| word.to_str()) {
        Some("guard") => guard_main(args),
        Some("hub") => {
            let mark = args.next().expect("a mark");
            let script = args.next().expect("a script");
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let _child = Child::spawn(&ChildSpec {
                    name: "victim".into(),
                    program: "/bin/sh".into(),
                    args: vec!["-c".into(), script],
                    cwd: None,
                    env: vec![
                        ("PATH".into(), "/usr/bin:/bin".into()),
                        ("LEGATION_TEST_MARK".into(), mark),
                    ],
                    guard: GuardPath::this_program().expect("this program has a path"),
                })
                .expect("the child starts");
                std::future::pending::<ExitCode>().await
            })
        }
        _ => ExitCode::from(2),
    }
}
