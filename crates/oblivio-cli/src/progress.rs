//! Long work with a bar beside it, on a terminal only.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{FormattedDuration, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
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

/// How far a pass over rows has come: rows done, their rate of late, and the time that leaves.
pub(crate) struct RowBar {
    bar: ProgressBar,
    recent: RefCell<Recent>,
}

impl RowBar {
    /// A bar for a pass over `total` rows.
    pub(crate) fn new(stage: &'static str, total: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let template = "{prefix} {bar:24} {human_pos} of {human_len} rows ({percent}%){msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(stage);
        Self::of(bar)
    }

    /// No bar, where one would be in the way.
    pub(crate) fn hidden() -> Self {
        Self::of(ProgressBar::hidden())
    }

    fn of(bar: ProgressBar) -> Self {
        Self {
            bar,
            recent: RefCell::new(Recent::new(Instant::now())),
        }
    }

    /// So many rows more are done.
    pub(crate) fn advance(&self, rows: usize) {
        if self.bar.is_hidden() {
            return;
        }
        let done = self.bar.position() + rows as u64;
        let mut recent = self.recent.borrow_mut();
        recent.add(Instant::now(), done);
        if let Some(rate) = recent.rate() {
            let left = self.bar.length().unwrap_or(done).saturating_sub(done);
            let left = Duration::from_secs_f64((left as f64 / rate).min(1e9).round());
            let (rate, left) = (HumanCount(rate as u64), FormattedDuration(left));
            self.bar
                .set_message(format!(", {rate} a second, {left} left"));
        }
        self.bar.set_position(done);
    }

    /// All rows are done.
    pub(crate) fn finish(self) {
        drop(self);
    }
}

impl Drop for RowBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Positions of the last few seconds, the oldest first.
struct Recent(VecDeque<(Instant, u64)>);

impl Recent {
    /// Long enough to even out batches, short enough to follow a change of speed.
    const WINDOW: Duration = Duration::from_secs(10);
    const APART: Duration = Duration::from_millis(100);

    fn new(start: Instant) -> Self {
        Self(VecDeque::from([(start, 0)]))
    }

    fn add(&mut self, now: Instant, done: u64) {
        let times: Vec<Instant> = self.0.iter().rev().take(2).map(|(time, _)| *time).collect();
        // The last entry is always the present; those before it are a moment apart.
        if let [last, before] = times[..]
            && last.duration_since(before) < Self::APART
        {
            self.0.pop_back();
        }
        self.0.push_back((now, done));
        while self.0.len() > 2 && now.duration_since(self.0[1].0) >= Self::WINDOW {
            self.0.pop_front();
        }
    }

    /// Rows per second over the window, once there is time to measure.
    fn rate(&self) -> Option<f64> {
        let (&(first, from), &(last, to)) = (self.0.front()?, self.0.back()?);
        let seconds = last.duration_since(first).as_secs_f64();
        let known = seconds >= Self::APART.as_secs_f64() && to > from;
        known.then(|| (to - from) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut recent = Recent::new(start);
        recent.add(at(10), 5);
        assert_eq!(recent.rate(), None);
        for step in 1..=1000 {
            recent.add(at(10 + 10 * step), 5 + 10 * step);
        }
        let rate = recent.rate().unwrap();
        assert!((990.0..1010.0).contains(&rate), "{rate}");
        assert!(recent.0.len() < 110);
        for step in 1..=2000 {
            recent.add(at(10_010 + 10 * step), 10_005 + step);
        }
        assert!((recent.rate().unwrap() - 100.0).abs() < 1.0);
        recent.add(at(90_000), 12_006);
        assert!(recent.rate().unwrap() < 1.0);
    }
}
