//! A progress bar, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How many of a number of like steps are done, whichever threads do them.
pub(super) struct StepBar(ProgressBar);

impl StepBar {
    pub(super) fn new(stage: &'static str, steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {percent}% ({eta} left)")
        {
            bar.set_style(style);
        }
        bar.set_prefix(stage);
        Self(bar)
    }

    /// One more step is done.
    pub(super) fn advance(&self) {
        self.0.inc(1);
    }
}

impl Drop for StepBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
