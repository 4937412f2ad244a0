//! `legation service`: the hub at login, by the system's own means.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use legation_core::process;
use serde::Serialize;

use crate::{CliError, Context, Exit};

/// The commands of `legation service`.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Start the hub now and at every login.
    Install(ServiceArgs),
    /// Stop it and start it no longer.
    Remove(ServiceArgs),
}

/// Arguments of `legation service`.
#[derive(Debug, Args)]
pub struct ServiceArgs {
    /// Show what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The service manager of this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
    TaskScheduler,
}

/// What is done, in order.
#[derive(Debug, Serialize)]
struct Plan {
    manager: &'static str,
    /// The file to write (`install`) or to delete (`remove`).
    file: Option<PathBuf>,
    text: Option<String>,
    commands: Vec<Vec<String>>,
    dry_run: bool,
    /// Whether there is nothing to remove.
    needless: bool,
}

/// How long a command of the service manager may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn cmd_service(context: &Context, command: &ServiceCommand) -> Result<(), CliError> {
    let (install, args) = match command {
        ServiceCommand::Install(args) => (true, args),
        ServiceCommand::Remove(args) => (false, args),
    };
    let program = std::env::current_exe().map_err(|error| CliError::failed(&error))?;
    let mut plan = plan(
        context,
        install,
        &program.display().to_string(),
        args.dry_run,
    )?;
    plan.needless = !install && plan.file.as_deref().is_some_and(|file| !file.exists());
    if !args.dry_run && !plan.needless {
        carry_out(context, &plan, install)?;
    }
    context.output.result(&plan, |plan| describe(plan, install))
}

fn manager() -> Manager {
    if cfg!(windows) {
        Manager::TaskScheduler
    } else if cfg!(target_os = "macos") {
        Manager::Launchd
    } else {
        Manager::Systemd
    }
}

fn plan(context: &Context, install: bool, program: &str, dry_run: bool) -> Result<Plan, CliError> {
    let home = context.environment.user_home().ok_or_else(|| {
        CliError::new(
            Exit::Usage,
            "the home directory is not known; nothing was done",
        )
        .with_hint("set HOME")
    })?;
    let data = context.home.root().display().to_string();
    // Service managers start with a short PATH, on which `npx` and `uvx` often are not.
    let path = once_each(context.environment.get("PATH").unwrap_or_default());
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let plan = match manager() {
        Manager::Systemd => Plan {
            manager: "systemd",
            file: Some(home.join(".config/systemd/user/legation.service")),
            text: install.then(|| systemd_unit(program, &data, &path)),
            commands: if install {
                vec![
                    words("systemctl --user daemon-reload"),
                    words("systemctl --user enable --now legation.service"),
                ]
            } else {
                vec![words("systemctl --user disable --now legation.service")]
            },
            dry_run,
            needless: false,
        },
        Manager::Launchd => {
            let file = home.join("Library/LaunchAgents/legation.hub.plist");
            let verb = if install { "load" } else { "unload" };
            let command = ["launchctl", verb, "-w", &file.display().to_string()];
            Plan {
                manager: "launchd",
                text: install.then(|| launchd_plist(program, &data, &path)),
                commands: vec![command.iter().map(|word| (*word).to_owned()).collect()],
                file: Some(file),
                dry_run,
                needless: false,
            }
        }
        Manager::TaskScheduler => {
            let run = format!("\"{program}\" --home \"{data}\" serve");
            let command: Vec<&str> = if install {
                vec![
                    "schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN", "Legation", "/TR", &run,
                ]
            } else {
                vec!["schtasks", "/Delete", "/F", "/TN", "Legation"]
            };
            Plan {
                manager: "Task Scheduler",
                file: None,
                text: None,
                commands: vec![command.into_iter().map(str::to_owned).collect()],
                dry_run,
                needless: false,
            }
        }
    };
    Ok(plan)
}

/// A search path without the folders it names again.
fn once_each(path: &str) -> String {
    let mut folders: Vec<&str> = Vec::new();
    for folder in path.split(':') {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders.join(":")
}

fn systemd_unit(program: &str, data: &str, path: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Legation, the hub of this user's coding agents\n\
         \n\
         [Service]\n\
         Environment=\"PATH={}\"\n\
         ExecStart=\"{}\" --home \"{}\" serve\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        // Only command lines expand variables.
        systemd_escape(path).replace("$$", "$"),
        systemd_escape(program),
        systemd_escape(data)
    )
}

/// Inside double quotes systemd reads `\`, `"`, `%` and `$` as its own.
fn systemd_escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$")
}

fn launchd_plist(program: &str, data: &str, path: &str) -> String {
    let words = [program, "--home", data, "serve"];
    let items: String = words
        .iter()
        .map(|word| format!("    <string>{}</string>\n", xml_escape(word)))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>legation.hub</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{items}  </array>\n\
         \x20 <key>EnvironmentVariables</key>\n  <dict>\n    <key>PATH</key>\n    <string>{}</string>\n  </dict>\n\
         \x20 <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         </dict>\n</plist>\n",
        xml_escape(path)
    )
}

fn xml_escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn carry_out(context: &Context, plan: &Plan, install: bool) -> Result<(), CliError> {
    if let (Some(file), Some(text)) = (&plan.file, &plan.text) {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| CliError::failed(&error))?;
        }
        fs::write(file, text).map_err(|error| CliError::failed(&error))?;
    }
    let failure = plan
        .commands
        .iter()
        .find_map(|command| run(context, command).err());
    // A service manager that cannot be asked is no reason to leave the file to it.
    if let (Some(file), false) = (&plan.file, install) {
        match fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CliError::failed(&error));
            }
            _ => {}
        }
    }
    let Some(failure) = failure else {
        return Ok(());
    };
    Err(
        CliError::new(Exit::Failed, failure).with_hint(match (&plan.file, install) {
            (Some(file), true) => format!(
                "{} was written; remove it with `legation service remove`",
                file.display()
            ),
            (Some(file), false) => format!(
                "{} was removed all the same; a hub that still runs ends with `legation stop`",
                file.display()
            ),
            (None, _) => "nothing was changed".to_owned(),
        }),
    )
}

/// Runs one command of the service manager; the error is in words.
fn run(context: &Context, command: &[String]) -> Result<(), String> {
    let (program, args) = command.split_first().ok_or("the command is empty")?;
    let ran = process::run_to_end(&process::OnceSpec {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        env: context
            .environment
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        cwd: None,
        timeout: COMMAND_LIMIT,
        keep: 4096,
    });
    let failure = match ran {
        Ok(output) if output.exit.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => legation_core::error::chain(&error),
    };
    Err(format!(
        "`{}` failed: {}",
        command.join(" "),
        failure.trim()
    ))
}

fn describe(plan: &Plan, install: bool) -> String {
    let mut text = String::new();
    if let (true, Some(file)) = (plan.needless, &plan.file) {
        return format!(
            "{} does not exist: there is nothing to remove\n",
            file.display()
        );
    }
    if plan.dry_run {
        if let Some(file) = &plan.file {
            let verb = if install { "write" } else { "delete" };
            text.push_str(&format!("would {verb} {}\n", file.display()));
        }
        if let Some(unit) = &plan.text {
            text.push_str(unit);
        }
        for command in &plan.commands {
            text.push_str(&format!("would run `{}`\n", command.join(" ")));
        }
        return text;
    }
    let what = if install {
        "starts at login and now"
    } else {
        "no longer starts at login"
    };
    text.push_str(&format!("the hub {what} ({})\n", plan.manager));
    text
}

#[cfg(test)]
mod tests;
