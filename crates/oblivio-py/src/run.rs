//! Long work away from the interpreter: the lock is free, Ctrl-C is heard, progress is told.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use oblivio::{Result, Watch};

use crate::errors::raise;

/// How often signals and progress are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Runs work that owns its data. An interrupt returns at once; the work ends at its next opportunity.
pub(crate) fn owned<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = channel();
    let shared = Arc::clone(&watch);
    std::thread::Builder::new()
        .name("oblivio".into())
        .spawn(move || {
            // Nobody listens any more after an interrupt.
            let _ = sender.send(work(&shared));
        })?;
    wait(py, progress, &watch, receiver)
}

/// Runs work on borrowed data. An interrupt waits for the work to notice, which takes a fraction of a second.
pub(crate) fn borrowed<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T> + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sender.send(work(&watch));
        });
        wait(py, progress, &watch, receiver)
    })
}

fn wait<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    watch: &Watch,
    mut receiver: Receiver<Result<T>>,
) -> PyResult<T> {
    loop {
        let (back, received) = py.detach(move || {
            let received = receiver.recv_timeout(TICK);
            (receiver, received)
        });
        receiver = back;
        match received {
            Ok(result) => return result.map_err(raise),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "the computation ended without a result; please report this",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {
                let told = match progress {
                    Some(callback) => callback.call1(watch.progress()).map(|_| ()),
                    None => Ok(()),
                };
                if let Err(error) = py.check_signals().and(told) {
                    watch.interrupt();
                    return Err(error);
                }
            }
        }
    }
}
