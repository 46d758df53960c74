//! Long work with a bar beside it, on a terminal only.

use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oblivio::Watch;
use rayon::ThreadPool;

/// Runs `work` in the pool while this thread shows what it is at.
pub(crate) fn watched<T: Send>(
    pool: &ThreadPool,
    work: impl FnOnce(&Watch) -> oblivio::Result<T> + Send,
) -> Result<T> {
    let watch = Watch::default();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let watch = &watch;
        // The sender moves along, so that work which dies without a result is noticed.
        scope.spawn(move || {
            let _ = sender.send(pool.install(|| work(watch)));
        });
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        loop {
            match receiver.recv_timeout(Duration::from_millis(100)) {
                Ok(result) => {
                    bar.finish_and_clear();
                    return Ok(result?);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => show(&bar, watch),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("the computation ended without a result")
                }
            }
        }
    })
}

fn show(bar: &ProgressBar, watch: &Watch) {
    let (stage, done, total) = watch.progress();
    let template = if total > 0 {
        "{msg} {bar:30} {percent}% ({eta} left)"
    } else {
        "{msg} {spinner}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if bar.message() != stage {
        bar.reset();
        bar.set_message(stage);
    }
    bar.set_length(total.max(1) as u64);
    bar.set_position(done as u64);
    bar.tick();
}
