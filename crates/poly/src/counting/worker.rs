//! Barvinok in processes of their own: a crash, a hang or a hunger for memory ends the worker, not its user.
//!
//! Both sides speak in frames: four bytes of length (little endian), then so many bytes of text. The user sends a
//! question's key; the worker answers with `a` and an answer's text, or with a letter for the kind of an error and its
//! text.
//!
//! Invariants: a worker has one question at a time; after anything but an answer or an error it is killed, and the next
//! question gets a new one; a worker whose user is gone ends, since its input ends.

use super::Config;
use super::question::{Answer, Question};
use crate::{Context, Error, Result};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first argument of a worker.
pub const ARGUMENT: &str = "count-worker";

/// How often memory and time are looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// A longer frame is no answer: it is garbage.
const MAX_FRAME: usize = 1 << 28;

fn write_frame(to: &mut impl Write, text: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(text.len()).map_err(|_| ErrorKind::InvalidInput)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(text)?;
    to.flush()
}

fn read_frame(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(ErrorKind::InvalidData.into());
    }
    // Not allocated at once: the length may be garbage.
    let mut text = Vec::new();
    from.take(length as u64).read_to_end(&mut text)?;
    if text.len() < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(text) }
}

/// Answers questions on standard input until it ends: what a worker does.
pub fn serve() {
    let (send, questions) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Ok(frame) = read_frame(&mut input) {
            if send.send(frame).is_err() {
                return;
            }
        }
        // Also in the middle of a count: nobody waits for it any more.
        std::process::exit(0);
    });
    let mut output = std::io::stdout();
    for frame in questions {
        let reply = match reply(&frame) {
            Ok(answer) => format!("a{}", answer.to_text()),
            Err(error) => error_text(&error),
        };
        if write_frame(&mut output, reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn reply(frame: &[u8]) -> Result<Answer> {
    let question = std::str::from_utf8(frame).ok().and_then(Question::from_key);
    let question = question.ok_or_else(|| Error::Unsupported { what: "this question".into() })?;
    super::barvinok::count(&Context::new()?, &question)
}

fn error_text(error: &Error) -> String {
    match error {
        Error::Infinite { set } => format!("i{set}"),
        Error::Overflow { value } => format!("o{value}"),
        other => format!("e{other}"),
    }
}

/// What the reply says; `None` for garbage.
fn read_reply(frame: &[u8]) -> Option<Result<Answer>> {
    let text = std::str::from_utf8(frame).ok()?;
    let (kind, text) = text.split_at_checked(1)?;
    Some(match kind {
        "a" => Ok(Answer::from_text(text)?),
        "i" => Err(Error::Infinite { set: text.into() }),
        "o" => Err(Error::Overflow { value: text.into() }),
        "e" => Err(Error::Worker { what: text.into() }),
        _ => return None,
    })
}

/// A running worker.
#[derive(Debug)]
struct Worker {
    child: Child,
    questions: Sender<Vec<u8>>,
    replies: Receiver<std::io::Result<Vec<u8>>>,
    /// Whether it has answered a question.
    proven: bool,
}

/// Why a worker gave no answer.
enum Failure {
    /// It ended.
    Ended(Option<ExitStatus>),
    /// It was killed, for this reason.
    Killed(String),
}

impl Drop for Worker {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(program: &Path) -> std::io::Result<Worker> {
        let mut child = Command::new(program)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Barvinok's own words are for its developers.
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (questions, to_write) = channel::<Vec<u8>>();
        let (read, replies) = channel();
        // A worker that does not read would block a long question, one that does not write any read: both wait in
        // threads, which end with the pipes.
        std::thread::spawn(move || {
            let Some(mut input) = input else { return };
            for frame in to_write {
                if write_frame(&mut input, &frame).is_err() {
                    return;
                }
            }
        });
        std::thread::spawn(move || {
            let Some(mut output) = output else { return };
            loop {
                let frame = read_frame(&mut output);
                let last = frame.is_err();
                if read.send(frame).is_err() || last {
                    return;
                }
            }
        });
        Ok(Worker { child, questions, replies, proven: false })
    }

    fn ask(&mut self, key: &str, config: &Config) -> Result<Result<Answer>, Failure> {
        let start = Instant::now();
        // If the writer is gone so is the worker, which the reader tells.
        let _ = self.questions.send(key.as_bytes().to_vec());
        loop {
            match self.replies.recv_timeout(PERIOD) {
                Ok(Ok(frame)) => {
                    let garbage = || Failure::Killed("answered with garbage".into());
                    let reply = read_reply(&frame).ok_or_else(garbage)?;
                    self.proven = true;
                    return Ok(reply);
                }
                Ok(Err(error)) if error.kind() == ErrorKind::InvalidData => {
                    return Err(Failure::Killed("answered with garbage".into()));
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Ended(self.end()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if start.elapsed() >= config.time {
                let seconds = config.time.as_secs_f64();
                let variable = super::config::TIME_VARIABLE;
                let what = format!("took more than {seconds} s (allow more with {variable})");
                return Err(Failure::Killed(what));
            }
            if resident(self.child.id()).is_some_and(|bytes| bytes > config.memory) {
                let (limit, variable) = (config.memory >> 20, super::config::MEMORY_VARIABLE);
                let what =
                    format!("took more than {limit} MiB of memory (allow more with {variable})");
                return Err(Failure::Killed(what));
            }
        }
    }

    /// How it ended, for one that closed its output.
    fn end(&mut self) -> Option<ExitStatus> {
        for _ in 0..50 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

/// Bytes of memory that a process holds, where the system tells.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The workers of one configuration, started when they are needed.
#[derive(Debug, Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    busy: usize,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is one assignment: a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle worker or the right to start one.
    fn checked_out(&self, config: &Config) -> Option<Worker> {
        let mut state = self.state();
        while state.busy >= config.workers.max(1) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        state.idle.pop()
    }

    fn check_in(&self, worker: Option<Worker>) {
        let mut state = self.state();
        state.busy -= 1;
        state.idle.extend(worker);
        self.freed.notify_one();
    }

    /// Has a worker count. The error of a worker that failed is [`Error::Worker`].
    pub(super) fn count(
        &self,
        program: &Path,
        question: &Question,
        config: &Config,
    ) -> Result<Answer> {
        let mut worker = self.checked_out(config);
        let result = Self::count_with(&mut worker, program, &question.key(), config);
        self.check_in(worker);
        result
    }

    fn count_with(
        worker: &mut Option<Worker>,
        program: &Path,
        key: &str,
        config: &Config,
    ) -> Result<Answer> {
        loop {
            let mut current = match worker.take() {
                Some(current) => current,
                None => Worker::start(program).map_err(|error| Error::Worker {
                    what: format!("{} cannot be started: {error}", program.display()),
                })?,
            };
            let proven = current.proven;
            let what = match current.ask(key, config) {
                Ok(reply) => {
                    *worker = Some(current);
                    return reply;
                }
                // One that was good may have ended while it was idle (the system killed it, say): that says nothing of
                // this question.
                Err(Failure::Ended(_)) if proven => continue,
                Err(Failure::Ended(None)) => "ended".to_owned(),
                Err(Failure::Ended(Some(status))) => format!("crashed ({status})"),
                Err(Failure::Killed(what)) => what,
            };
            return Err(Error::Worker { what: format!("Barvinok's process {what}") });
        }
    }
}
