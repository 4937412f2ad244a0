//! A scripted server behind the port.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use legation_gate::ListKind;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use tokio::sync::{mpsc, watch};

use super::raw;
use crate::port::{
    About, AskKey, CallEvent, DialError, Dialer, EventSource, Exchange, ListenWish, Order, Plan,
    Port, PortEvent, Ready,
};

pub(crate) type Answer = Result<Raw, ErrorObject>;
type Script = Arc<dyn Fn(Order, Talk) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A server that runs a script.
pub(crate) struct Scripted {
    pub(crate) about: Mutex<About>,
    pub(crate) lists: Mutex<HashMap<ListKind, Vec<Raw>>>,
    script: Script,
    /// While set, dialling fails with it.
    pub(crate) refuses: Mutex<Option<DialError>>,
    /// While set, dialling does not end.
    pub(crate) hangs: Mutex<bool>,
    pub(crate) plans: Mutex<Vec<Plan>>,
    pub(crate) events: Mutex<Vec<mpsc::Sender<PortEvent>>>,
    pub(crate) orders: Mutex<Vec<Order>>,
    pub(crate) loose: Mutex<Vec<(AskKey, Answer)>>,
    pub(crate) wishes: Mutex<Vec<ListenWish>>,
    pub(crate) notified: Mutex<Vec<&'static str>>,
    pub(crate) open: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
}

/// The server's side of one request.
pub(crate) struct Talk {
    pub(crate) events: mpsc::Sender<CallEvent>,
    answers: Arc<tokio::sync::Mutex<mpsc::Receiver<(AskKey, Answer)>>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub(crate) fn new<F>(revision: Revision, capabilities: &str, script: F) -> Arc<Self>
    where
        F: Fn(Order, Talk) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    {
        Arc::new(Self {
            about: Mutex::new(About {
                revision,
                capabilities: raw(capabilities).to_object().expect("an object"),
                server_info: None,
                instructions: None,
            }),
            lists: Mutex::default(),
            script: Arc::new(script),
            refuses: Mutex::default(),
            hangs: Mutex::default(),
            plans: Mutex::default(),
            events: Mutex::default(),
            orders: Mutex::default(),
            loose: Mutex::default(),
            wishes: Mutex::default(),
            notified: Mutex::default(),
            open: AtomicUsize::new(0),
            cancelled: AtomicUsize::new(0),
        })
    }

    /// A server with one tool, `echo`, that answers its arguments.
    pub(crate) fn echo() -> Arc<Self> {
        let server = Self::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |order, _| {
            let arguments = order.params.get("arguments").cloned();
            Box::pin(async move { Ok(arguments.unwrap_or_else(Raw::empty_object)) })
        });
        server.offer(ListKind::Tools, &[r#"{"name":"echo","inputSchema":{}}"#]);
        server
    }

    pub(crate) fn offer(&self, kind: ListKind, entries: &[&str]) {
        let entries = entries.iter().map(|text| raw(text)).collect();
        self.lists.lock().expect("a lock").insert(kind, entries);
    }

    /// Does something unasked on every connection.
    pub(crate) async fn tell(&self, event: PortEvent) {
        let senders = self.events.lock().expect("a lock").clone();
        for sender in senders {
            // Connections that have ended hear nothing.
            drop(sender.send(event.clone()).await);
        }
    }

    /// Does something unasked on the newest connection.
    pub(crate) async fn tell_newest(&self, event: PortEvent) {
        let newest = self.events.lock().expect("a lock").last().cloned();
        let sent = newest.expect("a connection").send(event).await;
        sent.expect("it stands");
    }

    pub(crate) fn methods(&self) -> Vec<&'static str> {
        let orders = self.orders.lock().expect("a lock");
        orders.iter().map(|order| order.method).collect()
    }
}

impl Talk {
    /// Asks the client of this call and waits for the answer.
    pub(crate) async fn ask(&self, key: u64, method: &str, params: &str) -> Answer {
        let event = CallEvent::Ask {
            key: AskKey(key),
            method: method.into(),
            params: Some(raw(params)),
        };
        self.events.send(event).await.expect("somebody listens");
        let mut answers = self.answers.lock().await;
        let (answered, answer) = answers.recv().await.expect("an answer");
        assert_eq!(answered, AskKey(key));
        answer
    }
}

/// Dials scripted servers by name.
#[derive(Debug, Default)]
pub(crate) struct FakeDialer {
    pub(crate) servers: Mutex<HashMap<String, Arc<Scripted>>>,
}

#[derive(Debug)]
struct FakePort {
    server: Arc<Scripted>,
    stopped: watch::Sender<bool>,
}

#[derive(Debug)]
struct FakeEvents(mpsc::Receiver<PortEvent>);

struct FakeExchange {
    server: Arc<Scripted>,
    events: mpsc::Receiver<CallEvent>,
    work: Shared<BoxFuture<'static, Answer>>,
    stopped: watch::Receiver<bool>,
    answers: mpsc::Sender<(AskKey, Answer)>,
    over: bool,
}

impl Dialer for FakeDialer {
    fn dial(&self, plan: Plan) -> BoxFuture<'static, Result<Ready, DialError>> {
        let server = {
            let servers = self.servers.lock().expect("a lock");
            let of_label = servers.get(&*plan.spec.label());
            let server = of_label.or_else(|| servers.get(plan.spec.name.as_str()));
            Arc::clone(server.expect("a server of that name"))
        };
        Box::pin(async move {
            server.plans.lock().expect("a lock").push(plan);
            if *server.hangs.lock().expect("a lock") {
                std::future::pending::<()>().await;
            }
            if let Some(error) = server.refuses.lock().expect("a lock").clone() {
                return Err(error);
            }
            let (sender, events) = mpsc::channel(16);
            server.events.lock().expect("a lock").push(sender);
            server.open.fetch_add(1, Ordering::SeqCst);
            let about = server.about.lock().expect("a lock").clone();
            Ok(Ready {
                port: Arc::new(FakePort {
                    server,
                    stopped: watch::Sender::new(false),
                }),
                events: Box::new(FakeEvents(events)),
                about,
                pid: None,
            })
        })
    }
}

impl EventSource for FakeEvents {
    fn next(&mut self) -> BoxFuture<'_, Option<PortEvent>> {
        Box::pin(self.0.recv())
    }
}

impl Port for FakePort {
    fn open(&self, order: Order) -> Box<dyn Exchange> {
        let server = Arc::clone(&self.server);
        server.orders.lock().expect("a lock").push(order.clone());
        let (sender, events) = mpsc::channel(16);
        let (answers, answered) = mpsc::channel(16);
        let talk = Talk {
            events: sender,
            answers: Arc::new(tokio::sync::Mutex::new(answered)),
        };
        let kind = ListKind::ALL
            .into_iter()
            .find(|kind| kind.method() == order.method);
        let work: BoxFuture<'static, Answer> = match kind {
            Some(kind) => {
                let lists = server.lists.lock().expect("a lock");
                let entries = lists.get(&kind).cloned().unwrap_or_default();
                let list = Object::new().with(kind.member(), Raw::array(&entries));
                Box::pin(std::future::ready(Ok(list.to_raw())))
            }
            None => (server.script)(order, talk),
        };
        Box::new(FakeExchange {
            server,
            events,
            work: work.shared(),
            stopped: self.stopped.subscribe(),
            answers,
            over: false,
        })
    }

    fn notify(&self, method: &'static str, _params: Option<Raw>) {
        self.server.notified.lock().expect("a lock").push(method);
    }

    fn listen(&self, wish: ListenWish) {
        self.server.wishes.lock().expect("a lock").push(wish);
    }

    fn answer(&self, key: AskKey, answer: Answer) {
        self.server
            .loose
            .lock()
            .expect("a lock")
            .push((key, answer));
    }

    fn stop(&self) -> BoxFuture<'static, ()> {
        self.server.open.fetch_sub(1, Ordering::SeqCst);
        self.stopped.send_replace(true);
        Box::pin(std::future::ready(()))
    }
}

impl Exchange for FakeExchange {
    fn next(&mut self) -> BoxFuture<'_, CallEvent> {
        Box::pin(async move {
            let work = self.work.clone();
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => event,
                answer = work => {
                    self.over = true;
                    CallEvent::Done(answer)
                }
                Ok(_) = self.stopped.wait_for(|stopped| *stopped) => {
                    self.over = true;
                    CallEvent::Lost("the hub closed the connection".to_owned())
                }
            }
        })
    }

    fn answer(&mut self, key: AskKey, answer: Answer) {
        self.answers.try_send((key, answer)).expect("room");
    }
}

impl Drop for FakeExchange {
    fn drop(&mut self) {
        if !self.over {
            self.server.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}
