//! Long work with a bar beside it, on a terminal only.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{
    DecimalBytes, FormattedDuration, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle,
};
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

/// How far a pass over a table has come: rows done, their rate of late, and the time that leaves.
pub(crate) struct RowBar {
    bar: ProgressBar,
    unit: Unit,
    recent: RefCell<Recent>,
}

#[derive(Clone, Copy)]
enum Unit {
    Rows,
    Bytes,
}

impl RowBar {
    /// A bar for a pass over `total` rows.
    pub(crate) fn new(stage: &'static str, total: usize) -> Self {
        Self::on_terminal(stage, total as u64, Unit::Rows)
    }

    /// A bar for a pass over so many bytes, where rows are not counted yet.
    pub(crate) fn of_bytes(stage: &'static str, total: u64) -> Self {
        Self::on_terminal(stage, total, Unit::Bytes)
    }

    /// No bar, where one would be in the way.
    pub(crate) fn hidden() -> Self {
        Self::of(ProgressBar::hidden(), Unit::Rows)
    }

    fn on_terminal(stage: &'static str, total: u64, unit: Unit) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(stage);
        Self::of(bar, unit)
    }

    fn of(bar: ProgressBar, unit: Unit) -> Self {
        Self {
            bar,
            unit,
            recent: RefCell::new(Recent::new(Instant::now())),
        }
    }

    /// So many rows more are done.
    pub(crate) fn advance(&self, rows: usize) {
        if self.bar.is_hidden() {
            return;
        }
        let done = self.bar.position() + rows as u64;
        let total = self.bar.length().unwrap_or(done);
        let mut recent = self.recent.borrow_mut();
        recent.add(Instant::now(), done);
        self.bar
            .set_message(self.unit.said(done, total, recent.rate()));
        self.bar.set_position(done);
    }

    /// All rows are done.
    pub(crate) fn finish(self) {
        drop(self);
    }
}

impl Unit {
    fn said(self, done: u64, total: u64, rate: Option<f64>) -> String {
        let counted = |number: u64| match self {
            Self::Rows => HumanCount(number).to_string(),
            Self::Bytes => DecimalBytes(number).to_string(),
        };
        let noun = match self {
            Self::Rows => " rows",
            Self::Bytes => "",
        };
        // Rounded down: all is done when it is done.
        let percent = u128::from(done) * 100 / u128::from(total.max(1));
        let (so_far, all) = (counted(done), counted(total));
        let mut said = format!("{so_far} of {all}{noun} ({percent}%)");
        if let Some(rate) = rate {
            let left = (total.saturating_sub(done) as f64 / rate).ceil();
            let left = FormattedDuration(Duration::from_secs(left as u64));
            let rate = counted(rate as u64);
            said = format!("{said}, {rate}{noun}/s, {left} left");
        }
        said
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
    fn a_bar_says_what_is_done_and_what_is_left() {
        assert_eq!(
            Unit::Rows.said(1_999_999, 2_000_000, Some(0.5)),
            "1,999,999 of 2,000,000 rows (99%), 0 rows/s, 00:00:02 left"
        );
        assert_eq!(
            Unit::Rows.said(0, 5_000_000, None),
            "0 of 5,000,000 rows (0%)"
        );
        assert_eq!(
            Unit::Bytes.said(1_500_000, 3_000_000_000, Some(2e6)),
            "1.50 MB of 3.00 GB (0%), 2.00 MB/s, 00:25:00 left"
        );
    }

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
