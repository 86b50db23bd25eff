//! The drive in use.
//!
//! Every resource that serves one request at a time (controller, interface, channel, unit) is the time at which it is
//! next free. The write buffer drains at a steady rate, so its level is one number too: the time at which it would be
//! empty.

use super::Flash;
use crate::units::duration;
use crate::{Model, Operation, Request};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Debug)]
pub struct Drive {
    flash: Flash,
    /// The buffer's drain rate in bytes a second.
    drain_rate: u64,
    /// The time in ns in which a full buffer drains.
    buffer_time: u64,

    controller: u64,
    interface: u64,
    channels: Vec<u64>,
    /// Unit u is on channel u modulo the number of channels.
    units: Vec<u64>,
    /// When the buffer would be empty.
    drained: u64,
    /// When all forced writes, which bypass the buffered ones, would be programmed.
    forced: u64,
    /// When the last page is programmed.
    durable: u64,
    /// Completion times of the requests in flight; at most the queue depth.
    queue: BinaryHeap<Reverse<u64>>,
}

impl Drive {
    pub(super) fn new(flash: &Flash) -> Drive {
        let drain_rate = flash.sustained_write_rate();
        Drive {
            drain_rate,
            buffer_time: duration(flash.write_buffer, drain_rate),
            controller: 0,
            interface: 0,
            channels: vec![0; flash.channels as usize],
            units: vec![0; (flash.channels * flash.units) as usize],
            drained: 0,
            forced: 0,
            durable: 0,
            queue: BinaryHeap::new(),
            flash: flash.clone(),
        }
    }

    /// When the drive accepts another request.
    fn admit(&mut self, now: u64) -> u64 {
        let mut begin = now;
        while let Some(&Reverse(done)) = self.queue.peek() {
            let full = self.queue.len() as u64 >= self.flash.queue_depth;
            if done > begin && !full {
                break;
            }
            begin = begin.max(done);
            self.queue.pop();
        }
        begin
    }

    /// The interface's time for `bytes`: a share of its rate, not a slot in its order, because a transfer that is ready
    /// does not wait for an earlier request that is not.
    fn interface(&mut self, begin: u64, bytes: u64) -> u64 {
        self.interface = self.interface.max(begin) + duration(bytes, self.flash.interface_rate);
        self.interface
    }

    fn read(&mut self, begin: u64, from: u64, to: u64) -> u64 {
        let page = self.flash.page;
        let mut done = self.interface(begin, to - from);
        let mut next = from;
        while next < to {
            let index = next / page;
            let end = to.min((index + 1) * page);
            let unit = (index % self.units.len() as u64) as usize;
            let channel = unit % self.channels.len();
            let sensed = self.units[unit].max(begin) + self.flash.read_latency_ns;
            let sent = self.channels[channel].max(sensed) + duration(end - next, self.flash.channel_rate);
            self.channels[channel] = sent;
            // The unit has one register: it cannot read the next page before this one has been sent.
            self.units[unit] = sent;
            done = done.max(sent + duration(end - next, self.flash.interface_rate));
            next = end;
        }
        done
    }

    fn write(&mut self, begin: u64, bytes: u64, wait: bool) -> u64 {
        let transferred = self.interface(begin, bytes);
        let programming = duration(bytes, self.drain_rate);
        self.drained = self.drained.max(begin) + programming;
        let accepted = if wait {
            self.forced = self.forced.max(begin) + programming;
            let programmed = self.forced.max(transferred) + self.flash.program_latency_ns;
            self.durable = self.durable.max(programmed);
            programmed
        } else {
            // There is room for the last byte when no more than a buffer's worth is left to drain.
            transferred.max(self.drained.saturating_sub(self.buffer_time))
        };
        // The last page is programmed after the last byte has drained.
        let last = self.drained.max(transferred) + self.flash.program_latency_ns;
        self.durable = self.durable.max(last);
        accepted + self.flash.write_latency_ns
    }
}

impl Model for Drive {
    fn submit(&mut self, now: u64, request: Request) -> u64 {
        let admitted = self.admit(now);
        let begin = self.controller.max(admitted) + self.flash.overhead_ns;
        self.controller = begin;
        let from = request.offset.min(self.flash.capacity);
        let to = request.offset.saturating_add(request.length).min(self.flash.capacity);
        let done = match request.operation {
            Operation::Read if from < to => self.read(begin, from, to),
            Operation::Write { fua } if from < to => {
                self.write(begin, to - from, fua && !self.flash.power_loss_protection)
            }
            Operation::Flush if !self.flash.power_loss_protection => begin.max(self.durable),
            Operation::Read | Operation::Write { .. } | Operation::Flush | Operation::Trim => begin,
        };
        self.queue.push(Reverse(done));
        done
    }

    fn idle_at(&self) -> u64 {
        self.durable
    }
}
