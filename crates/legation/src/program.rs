//! The commands that need the hub's own parts.

use legation_cli::{
    BridgeArgs, ChatArgs, CliError, Context, DemoArgs, DevTenantArgs, Exit, Program, ServeArgs,
};
use legation_core::process::GuardPath;

/// The program.
#[derive(Debug)]
pub(crate) struct Legation;

impl Program for Legation {
    fn serve(&self, context: &Context, args: ServeArgs) -> Result<(), CliError> {
        crate::serve::serve(context, &args)
    }

    fn bridge(&self, context: &Context, args: BridgeArgs) -> Result<(), CliError> {
        crate::bridge::bridge(context, args)
    }

    fn chat(&self, context: &Context, args: ChatArgs) -> Result<(), CliError> {
        crate::chat::chat(self, context, args)
    }

    fn start_hub(&self, context: &Context) -> Result<(), CliError> {
        crate::chat::start_hub(context)
    }

    fn guard(&self) -> Option<GuardPath> {
        GuardPath::this_program().ok()
    }

    fn demo(&self, context: &Context, args: DemoArgs) -> Result<(), CliError> {
        crate::demo::demo(context, &args)
    }

    fn dev_tenant(&self, context: &Context, args: DevTenantArgs) -> Result<(), CliError> {
        legation_devtenant::cli::run_within(
            &["legation", "dev-tenant"],
            args.arguments,
            context.clock.clone(),
        )
        .map_err(|message| CliError::new(Exit::Failed, message))
    }

    fn example_server(&self) -> Result<(), CliError> {
        crate::example::run().map_err(|error| CliError::failed(&error))
    }
}
