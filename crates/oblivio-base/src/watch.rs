//! How a caller follows long work, and stops it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Shared between the thread that computes and the one that looks on.
///
/// The engine writes its stage and progress here and leaves at the next opportunity once [`interrupt`](Watch::interrupt)
/// was called; what to show, and how often, is the onlooker's affair.
#[derive(Debug, Default)]
pub struct Watch {
    stage: Mutex<&'static str>,
    done: AtomicUsize,
    total: AtomicUsize,
    interrupted: AtomicBool,
}

impl Watch {
    /// Asks the computation to stop; it ends with [`Error::Interrupted`].
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    /// The present stage, the steps done in it, and all its steps (zero where they cannot be counted).
    pub fn progress(&self) -> (&'static str, usize, usize) {
        let stage = self.stage.lock().map_or("", |stage| *stage);
        (
            stage,
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        )
    }

    /// Begins a stage of `total` steps; an error if the work is to end.
    pub fn begin(&self, stage: &'static str, total: usize) -> Result<()> {
        if let Ok(mut current) = self.stage.lock() {
            *current = stage;
        }
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.check()
    }

    /// Counts one step as done.
    #[inline]
    pub fn advance(&self) {
        self.advance_by(1);
    }

    /// Counts steps as done.
    #[inline]
    pub fn advance_by(&self, steps: usize) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// An error if the work is to end.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_interrupted() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }
}
