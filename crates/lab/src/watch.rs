//! What is heard from an agent, wherever it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mountmark_model::{Event, Outcome, PROTOCOL};

/// Why nothing more is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The agent has closed its end.
    End,
    /// It said nothing for too long.
    Silent,
    /// The user wants it to stop.
    Interrupted,
}

/// What was heard from an agent so far.
#[derive(Default)]
pub(crate) struct Watch {
    stage: String,
    /// How the whole cell ended, where the agent said so.
    pub outcome: Option<Outcome>,
    /// Whether everything was said.
    pub done: bool,
}

impl Watch {
    /// Passes events on until there are no more of them, `stop` is set, or nothing was said for `silence_limit`.
    pub fn listen(
        &mut self,
        lines: &Receiver<String>,
        stop: &AtomicBool,
        silence_limit: Duration,
        on_event: &mut dyn FnMut(Event),
    ) -> Heard {
        let mut last = Instant::now();
        loop {
            match lines.recv_timeout(Duration::from_millis(100)) {
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

    /// Takes note of one line and passes it on.
    pub fn take(&mut self, line: &str, on_event: &mut dyn FnMut(Event)) {
        let event = match serde_json::from_str(line) {
            Ok(event) => event,
            Err(error) => Event::Note { text: format!("the agent said {line:?}, which is no event: {error}") },
        };
        match &event {
            Event::Hello { protocol, .. } if *protocol != PROTOCOL => {
                self.outcome = Some(Outcome::Failed {
                    reason: format!("the agent speaks protocol {protocol}, this program {PROTOCOL}"),
                    detail: String::new(),
                });
            }
            Event::Stage { name } => self.stage = name.clone(),
            Event::Ended { task, outcome } if task.is_empty() => self.outcome = Some(outcome.clone()),
            Event::Done => self.done = true,
            _ => {}
        }
        on_event(event);
    }

    /// That `who` fell silent, and the mend.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn an_agent_is_heard_until_it_ends_or_falls_silent() {
        let (sender, lines) = mpsc::channel();
        let limit = Duration::from_millis(300);
        let mut watch = Watch::default();
        let mut events = Vec::new();
        for line in [r#"{"event":"stage","name":"mkfs"}"#, "nonsense", r#"{"event":"done"}"#] {
            sender.send(line.to_owned()).unwrap();
        }
        let silent = watch.listen(&lines, &AtomicBool::new(false), limit, &mut |event| events.push(event));
        assert_eq!(silent, Heard::Silent);
        assert!(watch.done && watch.stage_text() == " during mkfs");
        assert!(matches!(&events[1], Event::Note { text } if text.contains("nonsense")));
        assert_eq!(watch.listen(&lines, &AtomicBool::new(true), limit, &mut |_| {}), Heard::Interrupted);
        drop(sender);
        assert_eq!(watch.listen(&lines, &AtomicBool::new(true), limit, &mut |_| {}), Heard::End);
    }
}
