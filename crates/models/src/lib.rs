//! Models: which one may and should have a request, and one client that
//! streams answers from all of them.

mod ask;
mod client;
mod cost;
mod delta;
mod dialect;
mod embed;
mod endpoint;
mod error;
mod keys;
mod limits;
mod local;
mod net;
mod proxied;
mod refusal;
mod request;
mod resume;
mod router;
mod sampling;
mod spend;
mod target;
#[cfg(test)]
mod test_kit;
mod words;

pub use ask::{AskError, GatedStream, ModelAsk, Models, Prospect};
pub use client::{ModelClient, ModelStream};
pub use cost::cost_micro_usd;
pub use delta::{Answer, Delta, Finish, Usage};
pub use embed::{EmbedAsk, EmbedError};
pub use endpoint::{Endpoint, EndpointError};
pub use error::{ModelClass, ModelError, Wait};
pub use keys::{KeyError, KeyPlace, Keys};
pub use limits::{Limits, Timeouts};
pub use local::{Known, LocalKind, LocalModel, LocalServer, Probes};
pub use request::{
    AnswerSchema, CallResult, ChatRequest, Message, Tool, ToolCall, ToolChoice, Turn,
};
pub use resume::{GoOn, Resumption};
pub use router::{Failure, Plan, RouteError, RoutedStream, Router, Tried, Wanted};
pub use sampling::Sampling;
pub use spend::{BookError, Day, Limited, Meter, NoBook, Spend, SpendBook, Spent};
pub use target::{Dialect, Target};
