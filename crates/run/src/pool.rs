//! Work that several threads take in turns, and tell to the one that waits for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::{Error, Result};

/// How much may be told before it is listened to. Without an end, hands that are quick would fill memory.
const AHEAD: usize = 64;

/// Numbers of the work that is left, the least first.
pub struct Queue {
    next: AtomicUsize,
    count: usize,
}

impl Queue {
    /// What to do next; `None` if nothing is left, or somebody failed.
    pub fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::SeqCst)).filter(|at| *at < self.count)
    }

    fn give_up(&self) {
        // Far from the end of the numbers, as each further call adds one.
        self.next.store(usize::MAX / 2, Ordering::SeqCst);
    }
}

/// Has `jobs` threads, or as many as there is work, take `count` pieces of it. Each runs `hand`, which takes numbers until there
/// are none and sends what `tell` gets, on the caller's thread and in the order in which it comes.
///
/// # Errors
/// The first of a hand or of `tell`: nothing is taken after it, and what is under way is waited for.
pub fn work<T: Send>(
    count: usize,
    jobs: usize,
    hand: impl Fn(&Queue, &mpsc::SyncSender<T>) -> Result<()> + Sync,
    mut tell: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let queue = Queue { next: AtomicUsize::new(0), count };
    let mut failure: Option<Error> = None;
    let (sender, receiver) = mpsc::sync_channel(AHEAD);
    thread::scope(|scope| {
        let hands: Vec<_> = (0..jobs.min(count))
            .map(|_| {
                let (queue, hand, sender) = (&queue, &hand, sender.clone());
                scope.spawn(move || hand(queue, &sender).inspect_err(|_| queue.give_up()))
            })
            .collect();
        drop(sender);
        for told in receiver {
            if failure.is_none()
                && let Err(error) = tell(told)
            {
                queue.give_up();
                failure = Some(error);
            }
        }
        for hand in hands {
            if let Err(error) = hand.join().expect("a thread of the pool does not panic") {
                failure.get_or_insert(error);
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    fn numbers(queue: &Queue, say: &mpsc::SyncSender<usize>) -> Result<()> {
        while let Some(at) = queue.take() {
            say.send(at)?;
        }
        Ok(())
    }

    #[test]
    fn each_piece_is_taken_once() {
        for (count, jobs) in [(0, 2), (1, 4), (100, 1), (100, 4)] {
            let mut told = Vec::new();
            work(count, jobs, numbers, |at| {
                told.push(at);
                Ok(())
            })
            .unwrap();
            told.sort_unstable();
            assert_eq!(told, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        let mut told = 0;
        let listener = work(1000, 2, numbers, |_| {
            told += 1;
            if told == 3 { bail!("enough") } else { Ok(()) }
        });
        assert_eq!((listener.unwrap_err().to_string(), told), ("enough".into(), 3));
        let one_fails = |queue: &Queue, _: &mpsc::SyncSender<()>| {
            while let Some(at) = queue.take() {
                if at == 5 {
                    bail!("broken");
                }
                thread::yield_now();
            }
            Ok(())
        };
        assert_eq!(work(usize::MAX / 4, 3, one_fails, |()| Ok(())).unwrap_err().to_string(), "broken");
    }
}
