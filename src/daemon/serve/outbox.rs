//! What a connection sends: a bounded queue between the requests that answer and the one task that writes.
//!
//! A reply waits for room and is never dropped. A notification does not wait: one that finds no room is counted, and an
//! `event` of kind `lagged` says how many a slow reader has missed, at the place where they are missing. Each watch has
//! one slot for its results: new results replace those that still wait there.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::local::Stream;
use protocol::envelope;
use protocol::events::Lagged;

/// Most lines that wait to be written.
pub(super) const QUEUE_LINES: usize = 256;

/// Most bytes that wait to be written, except that one line always may: 256 replies of 16 MiB would be too much to hold
/// for a reader.
const QUEUE_BYTES: usize = 32 << 20;

/// How long a reader may take nothing at all before it is given up.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The queue. Cloned by reference ([`std::sync::Arc`]) into every request of a connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// Notified when there is room again, or the queue is closed.
    room: Notify,
    /// Notified when there is a line, or the queue is closed.
    line: Notify,
}

/// What is to be written, in its order.
#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// Whatever the slot of that number holds by then.
    Slot(usize),
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<Entry>,
    /// The size of the lines; what slots hold is bounded by their number and the length of results.
    bytes: usize,
    /// The newest results of each watch, until they are written.
    slots: Vec<Option<Vec<u8>>>,
    /// Counts the calls of [`Outbox::open_slots`].
    epoch: u64,
    missed: u64,
    /// No more lines will come: write what is there and end.
    finished: bool,
    /// The reader is gone: whatever comes is dropped.
    broken: bool,
}

impl Queue {
    fn has_room(&self, length: usize) -> bool {
        self.lines.is_empty() || (self.lines.len() < QUEUE_LINES && self.bytes + length <= QUEUE_BYTES)
    }

    fn push(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        self.lines.push_back(Entry::Line(line));
    }

    /// The next line; slots that were emptied are skipped.
    fn pop(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.lines.pop_front()? {
                Entry::Line(line) => {
                    self.bytes -= line.len();
                    return Some(line);
                }
                Entry::Slot(slot) => {
                    if let Some(line) = self.slots.get_mut(slot).and_then(Option::take) {
                        return Some(line);
                    }
                }
            }
        }
    }

    fn slot(&mut self, Slot { epoch, number }: Slot) -> Option<&mut Option<Vec<u8>>> {
        if self.epoch == epoch && !self.broken { self.slots.get_mut(number) } else { None }
    }
}

/// The slot of one watch's results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    epoch: u64,
    number: usize,
}

impl Outbox {
    fn with<R>(&self, act: impl FnOnce(&mut Queue) -> R) -> R {
        // No code that can panic runs under this lock.
        act(&mut self.queue.lock())
    }

    /// Queues a reply, waiting for room. Returns without having queued it only if the reader is gone.
    pub(super) async fn reply(&self, line: Vec<u8>) {
        let mut line = Some(line);
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Listening begins before looking, so that room made in between is not missed.
            room.as_mut().enable();
            let done = self.with(|queue| {
                let fits = line.as_ref().is_none_or(|line| queue.has_room(line.len()));
                if fits
                    && !queue.broken
                    && let Some(line) = line.take()
                {
                    queue.push(line);
                }
                fits || queue.broken
            });
            if done {
                self.line.notify_one();
                return;
            }
            room.await;
        }
    }

    /// Queues a notification if there is room, else counts it as missed.
    pub(super) fn notify(&self, line: Vec<u8>) {
        self.with(|queue| {
            if queue.broken {
                return;
            }
            // Two places if the missed ones have to be reported first.
            let places = 1 + usize::from(queue.missed > 0);
            if queue.lines.len() + places > QUEUE_LINES || !queue.has_room(line.len()) {
                queue.missed += 1;
                return;
            }
            if let Some(lagged) = take_lagged(queue) {
                queue.push(lagged);
            }
            queue.push(line);
        });
        self.line.notify_one();
    }

    /// Creates `count` slots, which replace the old ones: what waits in the old ones is dropped.
    pub(super) fn open_slots(&self, count: usize) -> Vec<Slot> {
        self.with(|queue| {
            queue.epoch += 1;
            queue.slots = vec![None; count];
            queue.lines.retain(|entry| matches!(entry, Entry::Line(_)));
            let epoch = queue.epoch;
            (0..count).map(|number| Slot { epoch, number }).collect()
        })
    }

    /// Puts a line into an empty slot: one that never was filled, was written, or was emptied by [`Outbox::take_back`],
    /// which keeps its place in the order.
    pub(super) fn offer(&self, slot: Slot, line: Vec<u8>) {
        self.with(|queue| {
            let Some(place) = queue.slot(slot) else { return };
            *place = Some(line);
            let waits = queue.lines.iter().any(|entry| matches!(entry, Entry::Slot(other) if *other == slot.number));
            if !waits {
                queue.lines.push_back(Entry::Slot(slot.number));
            }
        });
        self.line.notify_one();
    }

    /// Empties a slot; returns whether it held a line that had not been written yet.
    pub(super) fn take_back(&self, slot: Slot) -> bool {
        self.with(|queue| queue.slot(slot).is_some_and(|place| place.take().is_some()))
    }

    /// Adds notifications that were lost before they came here.
    pub(super) fn missed(&self, count: u64) {
        self.with(|queue| queue.missed += count);
        self.line.notify_one();
    }

    /// Says that nothing more will be queued.
    pub(super) fn finish(&self) {
        self.with(|queue| queue.finished = true);
        self.line.notify_one();
    }

    /// Drops what is queued and whatever comes: the reader is gone.
    pub(super) fn break_off(&self) {
        self.with(|queue| {
            queue.broken = true;
            queue.lines.clear();
            queue.slots.clear();
            queue.bytes = 0;
        });
        self.room.notify_waiters();
    }

    /// The next line to write; `None` once all is written and [`Outbox::finish`] was called.
    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            let (line, finished) = self.with(|queue| match queue.pop() {
                Some(line) => (Some(line), false),
                None => (take_lagged(queue), queue.finished),
            });
            if line.is_some() {
                self.room.notify_waiters();
                return line;
            }
            if finished {
                return None;
            }
            self.line.notified().await;
        }
    }

    /// Writes what is queued until [`Outbox::finish`]; an error means that the reader is gone or takes nothing.
    pub(super) async fn write_to(&self, stream: &Stream) -> io::Result<()> {
        while let Some(line) = self.next().await {
            if let Err(error) = write_all(stream, &line).await {
                self.break_off();
                return Err(error);
            }
        }
        Ok(())
    }
}

fn take_lagged(queue: &mut Queue) -> Option<Vec<u8>> {
    let missed = std::mem::take(&mut queue.missed);
    (missed > 0).then(|| envelope::notification_line("event", &Lagged { missed }))
}

/// Writes all of `bytes`, giving up when the reader takes nothing at all for [`WRITE_TIMEOUT`].
pub(super) async fn write_all(stream: &Stream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        tokio::time::timeout(WRITE_TIMEOUT, stream.writable()).await.map_err(|_| io::ErrorKind::TimedOut)??;
        match stream.try_write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
