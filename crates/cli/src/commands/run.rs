//! `legation run`: one task, told as it goes; the exit code says how it ended.

mod told;

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use legation_api::AdminClient;
use legation_api::conversation::{Event, Follow, Open};
use legation_api::tasks::{Answer, Check, ContextFile, NewTask, Show, Submit, TaskState, TaskView};

use self::told::Told;
use crate::commands::{running_hub, task, workspace};
use crate::table::printable;
use crate::{CliError, Context, Exit, Program, terminal};

/// Arguments of `legation run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 completed, 1 failed or called off, 3 refused by a rule, 4 no hub or no model.

Examples:
  legation run 'Add a test for the parser of dates' --hint testing --check 'cargo test dates'
  git diff | legation run - --hint code_review")]
pub struct RunArgs {
    /// What is to be done; `-` reads it from standard input.
    #[arg(required = true, value_name = "MESSAGE")]
    message: Vec<String>,
    /// What kind of work it is, which chooses model, tools and check.
    #[arg(long, value_name = "HINT")]
    hint: Option<String>,
    /// A command that must succeed before the task counts as done.
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// A file with the JSON Schema that the answer must have.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    schema: Option<PathBuf>,
    /// Hand a file over with the message.
    #[arg(long = "file", short, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// The custom agent that does it.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The provider that is to have it, if rules let it.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model that is to have it, if rules let it.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A model that costs money may do what no local one can.
    #[arg(long)]
    may_cost: bool,
    /// The session it belongs to [default: the current one of the folder].
    #[arg(long, value_name = "ID", conflicts_with = "new_session")]
    session: Option<String>,
    /// Begin a new session for it.
    #[arg(long)]
    new_session: bool,
    /// Neither colours nor a line that is replaced.
    #[arg(long)]
    plain: bool,
}

pub(crate) fn cmd_run(
    program: &dyn Program,
    context: &Context,
    args: RunArgs,
) -> Result<(), CliError> {
    let plain = args.plain;
    let new = args.new_session;
    let task = to_task(args)?;
    program.start_hub(context)?;
    let mut hub = running_hub(context)?;
    let session = hub.call(&Open {
        workspace: workspace(),
        session: task.session.clone(),
        new,
    })?;
    let submit = Submit {
        task: NewTask {
            session: Some(session.id.clone()),
            ..task
        },
        workspace: session.workspace.or_else(workspace),
    };
    let mut run = Run {
        context,
        hub,
        submit: Some(submit),
        told: Told::new(context, plain),
        failed: None,
    };
    let view = run.follow_to_end(&session.id)?;
    run.told.end(&view);
    if context.output.is_json() {
        context.output.result(&view, |_| String::new())?;
    }
    task::ended(&view)
}

/// A task on its way.
struct Run<'a> {
    context: &'a Context,
    /// For requests; what is told comes over a connection of its own.
    hub: AdminClient,
    /// Until it is handed in.
    submit: Option<Submit>,
    told: Told,
    /// A request that failed while the conversation was followed.
    failed: Option<CliError>,
}

// === impl Run ===

impl Run<'_> {
    /// Hands the task in once its conversation is followed, so that nothing of it is
    /// missed, and follows it to its end.
    fn follow_to_end(&mut self, session: &str) -> Result<TaskView, CliError> {
        loop {
            let client = running_hub(self.context)?;
            let mut end = None;
            let follow = Follow {
                session: Some(session.to_owned()),
                after: self.told.last(),
            };
            let followed = client.follow(&follow, |event| self.event(event, &mut end));
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if let Some(view) = end {
                return Ok(view);
            }
            match (followed, self.told.task()) {
                // It was too slow, or the hub has no more to tell: how does it stand?
                (Ok(_), Some(id)) => {
                    let task_id = id.to_owned();
                    let view = self.hub.call(&Show { task_id })?;
                    if view.status.is_final() {
                        return Ok(view);
                    }
                }
                (Ok(_), None) => {
                    let why = "the hub could not tell the conversation; nothing was handed in";
                    return Err(CliError::new(Exit::NotReachable, why));
                }
                (Err(error), None) => return Err(error.into()),
                (Err(error), Some(id)) => {
                    let hint = format!("it goes on with the hub: legation task wait {id}");
                    return Err(CliError::from(error).with_hint(hint));
                }
            }
        }
    }

    fn event(&mut self, event: Event, end: &mut Option<TaskView>) -> ControlFlow<()> {
        match event {
            Event::Live {} => {
                let Some(submit) = self.submit.take() else {
                    return ControlFlow::Continue(());
                };
                match self.hub.call(&submit) {
                    Ok(view) => self.told.begin(&view),
                    Err(error) => return self.fail(error.into()),
                }
            }
            Event::Lagged {} => return ControlFlow::Break(()),
            Event::Task { task } if self.told.is_about(&task.task_id) => {
                self.told.stands(&task);
                if task.status.is_final() {
                    *end = Some(*task);
                    return ControlFlow::Break(());
                }
                if task.status == TaskState::InputRequired {
                    return self.asked(*task, end);
                }
            }
            Event::Message { message } => self.told.message(&message),
            Event::Delta { task_id, text } => self.told.delta(&task_id, &text),
            Event::Task { .. } | Event::Reasoning { .. } => {}
        }
        ControlFlow::Continue(())
    }

    /// The task asks: a person at the terminal answers, and without one it waits.
    fn asked(&mut self, task: TaskView, end: &mut Option<TaskView>) -> ControlFlow<()> {
        if self.context.output.is_json() || !terminal::is_there() {
            *end = Some(task);
            return ControlFlow::Break(());
        }
        let question = task.question.as_deref().unwrap_or("It waits for you.");
        let question = format!("{} >", printable(question));
        self.told.break_line();
        let text = match terminal::ask(&question) {
            // An end of input is no answer, so the task goes on waiting.
            Ok(text) if text.is_empty() => {
                *end = Some(task);
                return ControlFlow::Break(());
            }
            Ok(text) => text,
            Err(error) => return self.fail(CliError::failed(&error)),
        };
        let task_id = task.task_id;
        match self.hub.call(&Answer { task_id, text }) {
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => self.fail(error.into()),
        }
    }

    fn fail(&mut self, error: CliError) -> ControlFlow<()> {
        self.failed = Some(error);
        ControlFlow::Break(())
    }
}

fn to_task(args: RunArgs) -> Result<NewTask, CliError> {
    let mut message = args.message.join(" ");
    if message == "-" {
        message.clear();
        std::io::stdin()
            .read_to_string(&mut message)
            .map_err(|error| CliError::failed(&error))?;
    }
    if message.trim().is_empty() {
        return Err(CliError::new(
            Exit::Usage,
            "the message is empty; nothing was handed in",
        ));
    }
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|error| {
            let what = format!(
                "{} cannot be read: {error}; nothing was handed in",
                path.display()
            );
            CliError::new(Exit::Usage, what)
        })
    };
    let context: Result<Vec<ContextFile>, CliError> = args
        .files
        .iter()
        .map(|path| {
            let content = read(path)?;
            let path = path.display().to_string();
            Ok(ContextFile { path, content })
        })
        .collect();
    let check = match (args.check, &args.schema) {
        (Some(command), _) => Some(Check::Command { command }),
        (None, Some(path)) => {
            let schema = serde_json::from_str(&read(path)?).map_err(|error| {
                let what = format!("{} is no JSON Schema: {error}", path.display());
                CliError::new(Exit::Usage, what)
            })?;
            Some(Check::JsonSchema { schema })
        }
        (None, None) => None,
    };
    Ok(NewTask {
        message,
        context: context?,
        hint: args.hint,
        session: args.session,
        check,
        provider: args.provider,
        model: args.model,
        agent: args.agent,
        may_cost: args.may_cost,
    })
}
