//! Receives and checks an agent's lines, wherever it runs.

use std::io::BufRead;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use mountmark_job::Token;
use mountmark_model::{Event, Outcome, PROTOCOL, Subject};

/// Limit of a line in bytes: an output of 1 MiB, with six bytes per character, and some more.
const MOST_LINE: usize = 8 << 20;
/// Limit of all lines of a cell together, in bytes.
const MOST_SAID: usize = 256 << 20;
/// Limit of queued lines. An agent that sends more is blocked, which no clock of its own shows.
const WAITING: usize = 16;

/// The lines of `from`, until its end. One that is too long is passed on as far as it was read, and is the last.
pub(crate) fn lines(mut from: impl BufRead + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || while read_line(&mut from, &sender).is_some() {});
    receiver
}

fn read_line(from: &mut impl BufRead, to: &SyncSender<String>) -> Option<()> {
    let mut line = Vec::new();
    let read = std::io::Read::take(from.by_ref(), MOST_LINE as u64 + 1).read_until(b'\n', &mut line).ok()?;
    let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
    if read == 0 {
        return None;
    }
    to.send(String::from_utf8_lossy(&line).into_owned()).ok()?;
    (is_whole || read <= MOST_LINE).then_some(())
}

/// Why listening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    End,
    /// It sent nothing for too long.
    Silent,
    /// A line is not the agent's, or is one that it cannot send: see [`EventReceiver::fault`].
    Fault,
    /// The user interrupted the run.
    Interrupted,
}

/// The agent that the lab has started, as far as it knows.
pub(crate) struct Expected {
    /// The token of its lines, once it has read its job.
    pub token: Token,
    /// How its kernel's name begins.
    pub kernel: String,
    /// Its memory in bytes.
    pub memory: RangeInclusive<u64>,
}

/// The events of an agent received so far.
pub(crate) struct EventReceiver {
    expected: Expected,
    /// The number of the next line with the token.
    next: u64,
    said: usize,
    stage: String,
    /// The outcome of the whole cell, if the agent has sent one.
    pub outcome: Option<Outcome>,
    /// Whether the agent has sent its last event.
    pub done: bool,
    /// Why all events are discredited, in a sentence.
    pub fault: Option<String>,
}

impl EventReceiver {
    pub fn new(expected: Expected) -> EventReceiver {
        EventReceiver { expected, next: 0, said: 0, stage: String::new(), outcome: None, done: false, fault: None }
    }

    /// Passes events on until they end, `stop` is set, or none came for `silence_limit`.
    pub fn listen(
        &mut self,
        lines: &Receiver<String>,
        stop: &AtomicBool,
        silence_limit: Duration,
        on_event: &mut dyn FnMut(Event),
    ) -> Heard {
        let mut last = Instant::now();
        loop {
            if self.fault.is_some() {
                return Heard::Fault;
            }
            match lines.recv_timeout(Duration::from_millis(100)) {
                // An agent that never pauses must be stopped too.
                Ok(_) if stop.load(Ordering::Relaxed) => return Heard::Interrupted,
                Ok(line) => {
                    last = Instant::now();
                    self.take(&line, on_event);
                }
                Err(RecvTimeoutError::Disconnected) => return Heard::End,
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Heard::Interrupted,
                Err(RecvTimeoutError::Timeout) if last.elapsed() > silence_limit => return Heard::Silent,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Checks one line and passes it on, unless it is not the agent's.
    pub fn take(&mut self, line: &str, on_event: &mut dyn FnMut(Event)) {
        if self.fault.is_some() {
            return;
        }
        match self.understand(line) {
            Ok(event) => on_event(event),
            Err(fault) => self.fault = Some(format!("{fault}{}", self.stage_text())),
        }
    }

    /// Parses a line as an event; a sentence if the agent cannot have sent it.
    fn understand(&mut self, line: &str) -> Result<Event, String> {
        self.said += line.len();
        if line.len() > MOST_LINE {
            return Err(format!("a line of more than {} MiB came as the agent's", MOST_LINE >> 20));
        }
        if self.said > MOST_SAID {
            return Err(format!("more than {} MiB came as the agent's", MOST_SAID >> 20));
        }
        let opened = self.expected.token.open(line);
        let parsed = serde_json::from_str(opened.map_or(line, |(_, event)| event));
        let greeting = matches!(&parsed, Ok(Event::Hello { .. } | Event::Note { .. }))
            || matches!(&parsed, Ok(Event::Ended { task: Subject::Cell, .. }));
        match opened {
            Some((number, _)) if number != self.next => {
                return Err(format!("line {number} came as the agent's where line {} was due", self.next));
            }
            Some(_) => self.next += 1,
            // A guest has no token before it has read its job, and it starts no command before that.
            None if self.next == 0 && greeting => {}
            None => return Err(format!("something else than the agent said {:?}", shortened(line))),
        }
        let event =
            parsed.map_err(|error| format!("the agent said {:?}, which is no event: {error}", shortened(line)))?;
        match &event {
            Event::Hello { protocol, kernel, memory } => self.greet(*protocol, kernel, *memory)?,
            Event::Stage { name } => self.stage = shortened(name.name()),
            Event::Ended { task: Subject::Cell, outcome } => self.outcome = Some(outcome.clone()),
            Event::Done => self.done = true,
            _ => {}
        }
        Ok(event)
    }

    fn greet(&self, protocol: u32, kernel: &str, memory: u64) -> Result<(), String> {
        let expected = &self.expected;
        if protocol != PROTOCOL {
            return Err(format!("the agent speaks protocol {protocol}, this program {PROTOCOL}"));
        }
        if !kernel.strip_prefix(&expected.kernel).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
            return Err(format!("the kernel that was started is {}, and the agent said {kernel:?}", expected.kernel));
        }
        if !expected.memory.contains(&memory) {
            let (least, most) = (expected.memory.start(), expected.memory.end());
            return Err(format!("the agent said that it has {memory} bytes of memory, not {least} to {most}"));
        }
        Ok(())
    }

    /// The sentence that `who` fell silent, with the remedy.
    pub fn silence(&self, who: &str, limit: Duration) -> String {
        format!(
            "{who} said nothing for {} s and was ended{}; if it was still at work, --silence-limit allows more",
            limit.as_secs(),
            self.stage_text()
        )
    }

    /// ` during 001`, for the end of a sentence.
    pub fn stage_text(&self) -> String {
        if self.stage.is_empty() { String::new() } else { format!(" during {}", self.stage) }
    }
}

/// A line, shortened to fit into a sentence.
fn shortened(text: &str) -> String {
    mountmark_model::shortened(text, 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::mpsc;

    const HELLO: &str = r#"{"event":"hello","protocol":4,"kernel":"6.12.1-x #1 SMP","memory":1000}"#;
    const DONE: &str = r#"{"event":"done"}"#;

    fn token() -> Token {
        serde_json::from_str("\"0123456789abcdef\"").unwrap()
    }

    fn watch() -> EventReceiver {
        EventReceiver::new(Expected { token: token(), kernel: "6.12.1-x".into(), memory: 900..=1100 })
    }

    fn sealed(number: u64, event: &str) -> String {
        format!("0123456789abcdef {number} {event}")
    }

    /// The events passed on for these lines, and the fault.
    fn heard<'a>(lines: impl IntoIterator<Item = &'a str>) -> (Vec<Event>, Option<String>, bool) {
        let mut watch = watch();
        let mut events = Vec::new();
        lines.into_iter().for_each(|line| watch.take(line, &mut |event| events.push(event)));
        (events, watch.fault, watch.done)
    }

    #[test]
    fn an_agent_is_heard_until_it_ends_falls_silent_or_is_not_itself() {
        let (sender, lines) = mpsc::channel();
        let limit = Duration::from_millis(300);
        let mut watch = watch();
        let mut events = Vec::new();
        for line in [HELLO.to_owned(), sealed(0, r#"{"event":"stage","name":"mkfs"}"#), sealed(1, DONE)] {
            sender.send(line).unwrap();
        }
        let silent = watch.listen(&lines, &AtomicBool::new(false), limit, &mut |event| events.push(event));
        assert_eq!((silent, events.len()), (Heard::Silent, 3));
        assert!(watch.done && watch.stage_text() == " during mkfs");
        assert_eq!(watch.listen(&lines, &AtomicBool::new(true), limit, &mut |_| {}), Heard::Interrupted);
        sender.send(DONE.to_owned()).unwrap();
        assert_eq!(watch.listen(&lines, &AtomicBool::new(false), limit, &mut |_| {}), Heard::Fault);
        assert!(watch.fault.unwrap().contains("something else than the agent said"));
        let mut watch = self::watch();
        drop(sender);
        assert_eq!(watch.listen(&lines, &AtomicBool::new(false), limit, &mut |_| {}), Heard::End);
    }

    #[test]
    fn what_the_agent_cannot_have_said_is_a_fault() {
        let stage = r#"{"event":"stage","name":"x"}"#;
        let told = |lines: &[&str]| heard(lines.iter().copied()).1.unwrap_or_default();
        assert_eq!(told(&[HELLO, &sealed(0, stage), &sealed(1, DONE)]), "");
        assert!(told(&[HELLO, stage]).contains("something else than the agent said"), "no token");
        assert!(told(&[HELLO, &sealed(0, stage), HELLO]).contains("something else"), "a greeting later on");
        assert!(told(&[HELLO, &sealed(0, stage), DONE]).contains("during x"));
        assert!(told(&[HELLO, &sealed(0, stage), &sealed(0, stage)]).contains("line 0 came"), "one heard twice");
        assert!(told(&[HELLO, &sealed(0, stage), &sealed(2, DONE)]).contains("line 1 was due"), "one lost");
        assert!(told(&[&sealed(0, "nonsense")]).contains("no event"));
        assert!(told(&[&HELLO.replace("6.12.1-x", "6.12.1-y")]).contains("the kernel that was started is 6.12.1-x"));
        assert!(told(&[&HELLO.replace("6.12.1-x", "6.12.1-xy")]).contains("6.12.1-x"));
        assert!(told(&[&HELLO.replace("1000", "2000")]).contains("2000 bytes of memory"));
        assert!(told(&[&HELLO.replace(":4,", ":3,")]).contains("protocol 3"));
        let long = sealed(0, &format!("{{\"event\":\"note\",\"text\":\"{}\"}}", "x".repeat(MOST_LINE)));
        assert!(told(&[&long]).contains("more than 8 MiB"));
        let full = format!("{{\"event\":\"note\",\"text\":\"{}\"}}", "x".repeat(MOST_LINE / 2));
        let flood: Vec<String> = (0..65).map(|number| sealed(number, &full)).collect();
        let (events, fault, _) = heard(flood.iter().map(String::as_str));
        assert!(events.len() < 65 && fault.unwrap().contains("more than 256 MiB"));
    }

    #[test]
    fn a_line_without_an_end_is_read_as_far_as_a_line_may_be_long() {
        let text =
            std::io::Cursor::new([b"one\n\n".to_vec(), vec![b'x'; MOST_LINE + 50], b"\nlast\n".to_vec()].concat());
        let lines: Vec<String> = lines(text).iter().collect();
        assert_eq!((lines[0].as_str(), lines[1].as_str(), lines[2].len(), lines.len()), ("one", "", MOST_LINE + 1, 3));
        let half: Vec<String> = super::lines(&b"one\nhal\xfff"[..]).iter().collect();
        assert_eq!(half, ["one", "hal\u{fffd}f"]);
    }

    proptest! {
        #[test]
        fn no_line_of_others_is_passed_on(
            lines in prop::collection::vec((any::<bool>(), "[ -~]{0,60}|0123456789abcdef [0-9]{1,3} [ -~]{0,40}"), 0..20)
        ) {
            let mut next = 0;
            let mut own = Vec::new();
            let lines: Vec<String> = lines.into_iter().map(|(is_own, text)| {
                if !is_own {
                    return text;
                }
                next += 1;
                own.push(Event::Stage { name: text.into() });
                sealed(next - 1, &serde_json::to_string(own.last().unwrap()).unwrap())
            }).collect();
            let (events, fault, done) = heard(lines.iter().map(String::as_str));
            prop_assert!(!done);
            // Only the agent's events, in order; any other line is a fault.
            prop_assert!(own.starts_with(&events));
            prop_assert_eq!(fault.is_some(), events.len() < lines.len());
        }
    }
}
