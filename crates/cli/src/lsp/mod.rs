//! `dastac lsp`: a language server over standard input and output.
//!
//! Parsing answers questions at once, on the text as it is. What isl has to be asked (errors in structures, structures,
//! layouts) is found by a worker, a process of its own ([`worker`]): it starts when nobody has typed for a moment, and
//! ends when somebody types again, or after a time limit. So nothing that a text makes isl do blocks typing, and no
//! text brings the server down. Answers about structures may be those of the text a moment ago.

mod answers;
mod complete;
mod document;
mod hover;
mod words;
pub mod worker;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    CompletionOptions, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, HoverProviderCapability, OneOf, PublishDiagnosticsParams,
    ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::de::DeserializeOwned;

use super::failure::Failure;
use super::{Outcome, Result};
use document::Document;
use worker::{Run, Said};

/// How long nobody types before a text is checked.
const PAUSE: Duration = Duration::from_millis(200);

/// What the server waits for.
enum Event {
    /// The editor says something.
    Editor(Message),
    /// The editor is gone.
    Gone,
    /// The worker for that version of a document says something.
    Worker(Uri, i32, Said),
}

/// Serves an editor until it says that it is done.
pub fn serve() -> Result<Outcome> {
    let (connection, threads) = Connection::stdio();
    let failed = |error: &dyn std::fmt::Display| Failure::user(format!("the editor: {error}"));
    let capabilities = serde_json::to_value(capabilities());
    let capabilities = capabilities.map_err(|error| Failure::Defect(error.to_string()))?;
    connection.initialize(capabilities).map_err(|error| failed(&error))?;
    let (send, events) = channel();
    let messages = connection.receiver.clone();
    let from_editor = send.clone();
    std::thread::spawn(move || {
        for message in messages {
            if from_editor.send(Event::Editor(message)).is_err() {
                return;
            }
        }
        // The server has ended already if nobody listens.
        let _ = from_editor.send(Event::Gone);
    });
    let mut server = Server { connection, send, documents: BTreeMap::new(), told_to_end: false };
    let outcome = server.run(&events);
    let Server { connection, documents, .. } = server;
    drop((connection, documents));
    if matches!(outcome, Outcome::Done) {
        threads.join().map_err(|error| failed(&error))?;
    }
    Ok(outcome)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![":".into(), "@".into()]),
            ..CompletionOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// A document with what is being found out about it.
struct Open {
    document: Document,
    /// When it is to be checked, if it changed since.
    due: Option<Instant>,
    run: Option<Run>,
}

struct Server {
    connection: Connection,
    /// For workers.
    send: Sender<Event>,
    documents: BTreeMap<Uri, Open>,
    told_to_end: bool,
}

impl Server {
    fn run(&mut self, events: &Receiver<Event>) -> Outcome {
        loop {
            let due = self.documents.values().filter_map(|open| open.due).min();
            let event = match due {
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Editor(Message::Request(request))) => self.request(request),
                Ok(Event::Editor(Message::Notification(note))) if note.method == "exit" => {
                    return if self.told_to_end { Outcome::Done } else { Outcome::Disagreement };
                }
                Ok(Event::Editor(Message::Notification(note))) => self.notification(note),
                Ok(Event::Editor(Message::Response(_))) => {}
                Ok(Event::Worker(uri, version, said)) => self.worker(&uri, version, said),
                Ok(Event::Gone) | Err(RecvTimeoutError::Disconnected) => {
                    return if self.told_to_end { Outcome::Done } else { Outcome::Disagreement };
                }
                Err(RecvTimeoutError::Timeout) => self.start_workers(),
            }
        }
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        if method == "shutdown" {
            self.told_to_end = true;
            return self.say(Message::Response(Response::new_ok(id, ())));
        }
        #[expect(clippy::mutable_key_type, reason = "addresses are compared by their texts")]
        let documents = &self.documents;
        let document = |uri: &Uri| documents.get(uri).map(|open| &open.document);
        let response = match answers::answer(&method, params, &document) {
            Some(Ok(value)) => Response::new_ok(id, value),
            Some(Err(error)) => Response::new_err(id, ErrorCode::InvalidParams as i32, error),
            None => {
                let unknown = format!("`{method}` is not supported");
                Response::new_err(id, ErrorCode::MethodNotFound as i32, unknown)
            }
        };
        self.say(Message::Response(response));
    }

    /// Notifications that make no sense are passed over: nobody waits for an answer.
    fn notification(&mut self, note: Notification) {
        match note.method.as_str() {
            "textDocument/didOpen" => {
                if let Some(DidOpenTextDocumentParams { text_document: one }) = read(note) {
                    self.change(one.uri, one.version, one.text);
                }
            }
            "textDocument/didChange" => {
                if let Some(params) = read::<DidChangeTextDocumentParams>(note)
                    && let Some(change) = params.content_changes.into_iter().next_back()
                {
                    let one = params.text_document;
                    self.change(one.uri, one.version, change.text);
                }
            }
            "textDocument/didClose" => {
                if let Some(DidCloseTextDocumentParams { text_document: one }) = read(note) {
                    self.documents.remove(&one.uri);
                    self.publish(PublishDiagnosticsParams::new(one.uri, Vec::new(), None));
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, uri: Uri, version: i32, text: String) {
        let due = Some(Instant::now() + PAUSE);
        match self.documents.get_mut(&uri) {
            Some(open) => {
                open.document.change(version, text);
                // What it finds is about another text.
                (open.due, open.run) = (due, None);
            }
            None => {
                let document = Document::new(version, text);
                self.documents.insert(uri, Open { document, due, run: None });
            }
        }
    }

    fn start_workers(&mut self) {
        let now = Instant::now();
        for (uri, open) in &mut self.documents {
            if open.due.is_none_or(|due| due > now) {
                continue;
            }
            open.due = None;
            let (send, uri, version) = (self.send.clone(), uri.clone(), open.document.version);
            open.run = Run::start(&open.document.text, move |said| {
                send.send(Event::Worker(uri.clone(), version, said)).is_ok()
            });
        }
    }

    fn worker(&mut self, uri: &Uri, version: i32, said: Said) {
        let Some(open) = self.documents.get_mut(uri) else { return };
        if open.document.version != version {
            return;
        }
        if matches!(said, Said::Ended) {
            open.run = None;
        }
        if open.document.learn(said) {
            let diagnostics = answers::diagnostics(&open.document, uri);
            let version = Some(open.document.version);
            self.publish(PublishDiagnosticsParams::new(uri.clone(), diagnostics, version));
        }
    }

    fn publish(&self, params: PublishDiagnosticsParams) {
        let method = "textDocument/publishDiagnostics".to_owned();
        self.say(Message::Notification(Notification::new(method, params)));
    }

    /// An editor that is gone hears nothing; the loop ends then.
    fn say(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }
}

fn read<T: DeserializeOwned>(note: Notification) -> Option<T> {
    serde_json::from_value(note.params).ok()
}
