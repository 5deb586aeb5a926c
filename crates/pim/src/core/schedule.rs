//! Which thread issues next: the one that has been ready for longest.

use std::collections::VecDeque;

/// Threads that can issue, in the order of when.
#[derive(Debug, Default)]
pub struct Ready {
    queue: VecDeque<(u64, u8)>,
}

impl Ready {
    /// Adds a thread that may issue from a time on. Of several at one time, the first that was added is first.
    #[inline]
    pub fn add(&mut self, from: u64, thread: u8) {
        let mut at = self.queue.len();
        // Nearly always it is the last one.
        while at > 0 && self.queue[at - 1].0 > from {
            at -= 1;
        }
        match at == self.queue.len() {
            true => self.queue.push_back((from, thread)),
            false => self.queue.insert(at, (from, thread)),
        }
    }

    /// Takes the first thread, with the time from which on it may issue.
    #[inline]
    pub fn take(&mut self) -> Option<(u64, u8)> {
        self.queue.pop_front()
    }
}

/// Mutexes: who has each, and who waits for it.
#[derive(Debug, Default)]
pub struct Mutexes {
    all: Vec<(u32, u8, VecDeque<u8>)>,
}

impl Mutexes {
    /// A thread asks for a mutex: whether it has it now. Else it waits.
    pub fn lock(&mut self, mutex: u32, thread: u8) -> bool {
        match self.all.iter_mut().find(|one| one.0 == mutex) {
            Some(known) => known.2.push_back(thread),
            None => {
                self.all.push((mutex, thread, VecDeque::new()));
                return true;
            }
        }
        false
    }

    /// A thread gives a mutex back: the one that has it next, if one waits. Nothing if it did not have it.
    pub fn unlock(&mut self, mutex: u32, thread: u8) -> Option<Option<u8>> {
        let at = self.all.iter().position(|one| one.0 == mutex && one.1 == thread)?;
        let next = self.all[at].2.pop_front();
        match next {
            Some(next) => self.all[at].1 = next,
            None => drop(self.all.remove(at)),
        }
        Some(next)
    }
}
