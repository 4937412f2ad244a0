//! Finding out what the server speaks (2026-07-28, versioning, "Backward Compatibility").

use super::{Effect, EraChoice, Link, LinkError, Pending, Ready, Stage, Step, StrayKind};
use crate::caps::ServerCapabilities;
use crate::codes;
use crate::json::{Object, Raw};
use crate::message::{ErrorObject, Id, Message};
use crate::meta;
use crate::revision::Revision;

/// How long a server may think about `server/discover`, in milliseconds. A server that is
/// still starting gets `initialize` behind it and answers both; one that was silent answers
/// the second.
const PROBE_TIMEOUT_MS: u64 = 5_000;

// === impl Link ===

impl Link {
    /// Begins the handshake: on a fresh connection, or on the one that replaces a server that
    /// the probe has broken.
    pub fn start(&mut self) {
        let Stage::Idle { legacy } = self.stage else {
            return;
        };
        if legacy || self.config.era == EraChoice::Legacy {
            self.initialize();
        } else {
            self.discover(false);
        }
    }

    /// The time for the probe is over: by [`Effect::ProbeTimer`], or by the shell's own patience
    /// with a server that is to be modern.
    pub fn probe_timed_out(&mut self) {
        let Stage::Probing { id, .. } = self.stage else {
            return;
        };
        if self.config.era == EraChoice::Modern {
            self.fail(LinkError::TimedOut {
                step: Step::Discover,
            });
            return;
        }
        self.pending.remove(&id);
        self.note_cancelled(id);
        if self.config.http {
            self.effect(Effect::DropRequest { id: Id::Int(id) });
        }
        self.initialize();
    }

    /// The connection ended: calls in flight fail, and nothing follows but perhaps a second
    /// start of a server that exits on requests it does not know.
    pub fn closed(&mut self) {
        match self.stage {
            Stage::Probing { .. } if self.config.era == EraChoice::Auto && !self.config.http => {
                self.pending.clear();
                self.stage = Stage::Idle { legacy: true };
                self.effect(Effect::Respawn);
            }
            Stage::Probing { .. } => self.fail(LinkError::Closed {
                step: Step::Discover,
            }),
            Stage::Initializing { .. } => self.fail(LinkError::Closed {
                step: Step::Initialize,
            }),
            Stage::Ready(_) => {
                self.stage = Stage::Over;
                self.end_calls("the connection to the server ended");
            }
            Stage::Idle { .. } | Stage::Over => {}
        }
    }

    /// An HTTP request failed before there was a message stream: with this status, and with
    /// the message in the body if it was one. `call` is the call whose request it was.
    pub fn http_failed(
        &mut self,
        call: Option<super::CallKey>,
        status: u16,
        body: Option<Message>,
    ) {
        let error = match body {
            Some(Message::Response(response)) => response.body.err(),
            Some(Message::Request(_) | Message::Notification(_)) | None => None,
        };
        if let Some(call) = call {
            let error = error.unwrap_or_else(|| {
                let text =
                    format!("the server answered HTTP status {status}; the call was not done");
                ErrorObject::new(codes::SERVER_UNAVAILABLE, &text)
            });
            self.finish_call(call, Err(error));
            return;
        }
        match self.stage {
            Stage::Probing { .. } => match error {
                Some(error) => self.discover_refused(error),
                // These say nothing about the era.
                None if matches!(status, 401 | 403 | 407 | 429 | 502..=504) => {
                    self.fail(LinkError::Http {
                        step: Step::Discover,
                        status,
                    });
                }
                None => self.fall_back(LinkError::Http {
                    step: Step::Discover,
                    status,
                }),
            },
            Stage::Initializing { .. } => self.fail(match error {
                Some(source) => LinkError::Refused {
                    step: Step::Initialize,
                    source,
                },
                None => LinkError::Http {
                    step: Step::Initialize,
                    status,
                },
            }),
            Stage::Ready(_) => self.listen_failed(error),
            Stage::Idle { .. } | Stage::Over => {}
        }
    }

    fn discover(&mut self, retried: bool) {
        let mut params = Object::new();
        self.own_era_meta().insert(&mut params);
        let id = self.request(Step::Discover.as_str(), params, Pending::Discover);
        self.stage = Stage::Probing { id, retried };
        if !retried && self.config.era == EraChoice::Auto {
            self.effect(Effect::ProbeTimer(PROBE_TIMEOUT_MS));
        }
    }

    fn initialize(&mut self) {
        let revision = self.config.legacy_revision;
        let params = Object::new()
            .with("protocolVersion", revision.to_raw())
            .with("capabilities", self.config.offered.to_raw(revision))
            .with("clientInfo", self.config.client_info.clone());
        let id = self.request(Step::Initialize.as_str(), params, Pending::Initialize);
        self.stage = Stage::Initializing { id };
    }

    /// The answer to `server/discover`.
    pub(super) fn discovered(&mut self, body: Result<Raw, ErrorObject>) {
        let result = match body {
            Ok(result) => result,
            Err(error) => return self.discover_refused(error),
        };
        let malformed = |problem| LinkError::Malformed {
            step: Step::Discover,
            problem,
        };
        let Some(versions) = result
            .get("supportedVersions")
            .and_then(|list| list.to_array())
        else {
            return self.fall_back(malformed("no supportedVersions"));
        };
        let supported = texts(&versions);
        if !supported
            .iter()
            .any(|version| version.as_ref() == Revision::LATEST.as_str())
        {
            return self.no_modern(supported);
        }
        let object = result.to_object().unwrap_or_default();
        let capabilities = object
            .get("capabilities")
            .cloned()
            .unwrap_or_else(Raw::empty_object);
        // Early modern servers name themselves beside the capabilities, as legacy ones do.
        let server_info =
            meta::get(&object, meta::SERVER_INFO).or_else(|| object.get("serverInfo").cloned());
        self.ready(Ready {
            revision: Revision::LATEST,
            capabilities: ServerCapabilities::from_raw(&capabilities, Revision::LATEST),
            server_info,
            instructions: instructions(&object),
            supported,
        });
    }

    /// An error to `server/discover`: a modern one means a modern server.
    fn discover_refused(&mut self, error: ErrorObject) {
        let Stage::Probing { id, retried } = self.stage else {
            return;
        };
        self.pending.remove(&id);
        if error.code == codes::UNSUPPORTED_VERSION {
            let data = error.data.as_ref();
            let versions = data
                .and_then(|data| data.get("supported"))
                .and_then(|list| list.to_array());
            let supported = texts(&versions.unwrap_or_default());
            let named = supported
                .iter()
                .any(|version| version.as_ref() == Revision::LATEST.as_str());
            // It speaks what was asked for and says no: once more, then it is refused.
            match (named, retried) {
                (true, false) => self.discover(true),
                (true, true) => self.fail(LinkError::Refused {
                    step: Step::Discover,
                    source: error,
                }),
                (false, _) => self.no_modern(supported),
            }
        } else if codes::is_modern(error.code) {
            self.fail(LinkError::Refused {
                step: Step::Discover,
                source: error,
            });
        } else {
            self.fall_back(LinkError::Refused {
                step: Step::Discover,
                source: error,
            });
        }
    }

    /// The server understood the question and named no modern revision that is spoken here.
    fn no_modern(&mut self, supported: Vec<Box<str>>) {
        let legacy = supported
            .iter()
            .any(|text| Revision::parse(text).is_some_and(|revision| !revision.is_modern()));
        if legacy && self.config.era == EraChoice::Auto {
            self.initialize();
        } else {
            self.fail(LinkError::NoCommonRevision { supported });
        }
    }

    /// Tries the legacy handshake, or fails with `error` where only the modern era will do.
    fn fall_back(&mut self, error: LinkError) {
        if let Stage::Probing { id, .. } = self.stage {
            self.pending.remove(&id);
        }
        if self.config.era == EraChoice::Auto {
            self.initialize();
        } else {
            self.fail(error);
        }
    }

    /// The answer to `initialize`.
    pub(super) fn initialized(&mut self, body: Result<Raw, ErrorObject>) {
        let step = Step::Initialize;
        let result = match body {
            Ok(result) => result,
            Err(source) => return self.fail(LinkError::Refused { step, source }),
        };
        let Some(object) = result.to_object() else {
            return self.fail(LinkError::Malformed {
                step,
                problem: "not an object",
            });
        };
        let Some(answered) = object.get("protocolVersion").and_then(Raw::to_str) else {
            return self.fail(LinkError::Malformed {
                step,
                problem: "no protocolVersion",
            });
        };
        let Some(revision) = Revision::parse(&answered).filter(|revision| !revision.is_modern())
        else {
            let offered = self.config.legacy_revision;
            return self.fail(LinkError::Revision {
                offered,
                answered: answered.into(),
            });
        };
        let capabilities = object
            .get("capabilities")
            .cloned()
            .unwrap_or_else(Raw::empty_object);
        self.send(
            Message::notification("notifications/initialized", None),
            None,
        );
        self.ready(Ready {
            revision,
            capabilities: ServerCapabilities::from_raw(&capabilities, revision),
            server_info: object.get("serverInfo").cloned(),
            instructions: instructions(&object),
            supported: vec![revision.as_str().into()],
        });
    }

    /// An error without an id, which a server sends that could not read a request. While the
    /// handshake is under way there is only one request it can mean.
    pub(super) fn refused_unread(&mut self, error: ErrorObject) {
        match self.stage {
            Stage::Probing { .. } => self.discover_refused(error),
            Stage::Initializing { id } if self.pending.len() == 1 && self.cancelled.is_empty() => {
                self.pending.remove(&id);
                self.initialized(Err(error));
            }
            Stage::Idle { .. } | Stage::Initializing { .. } | Stage::Ready(_) | Stage::Over => {
                self.stray(StrayKind::UnknownId { id: None::<Id> });
            }
        }
    }

    fn ready(&mut self, ready: Ready) {
        self.stage = Stage::Ready(ready.revision);
        self.effect(Effect::Ready(ready));
    }

    pub(super) fn fail(&mut self, error: LinkError) {
        self.stage = Stage::Over;
        self.end_calls("the server cannot be used");
        self.effect(Effect::Failed(error));
    }
}

fn instructions(result: &Object) -> Option<Box<str>> {
    result
        .get("instructions")
        .and_then(Raw::to_str)
        .filter(|text| !text.is_empty())
        .map(Into::into)
}

fn texts(items: &[Raw]) -> Vec<Box<str>> {
    items
        .iter()
        .filter_map(|item| item.to_str().map(Into::into))
        .collect()
}
