//! How many threads there is room for, where address space is limited.
//!
//! The matrix products reserve twice the processor's last cache for every thread. They touch little of it, but a limit on
//! address space (`ulimit -v`) counts it all, and an allocation that fails ends the program without a word.

use std::fs;
use std::num::NonZeroUsize;

use anyhow::{Result, ensure};

/// Address space of the program and of one batch of rows, in bytes.
const PROGRAM: u64 = 250_000_000;
/// What a thread has besides.
const THREAD: u64 = 80_000_000;

/// The threads to use: as asked, else one per core; fewer where the limit says so.
pub(crate) fn number(asked: Option<NonZeroUsize>) -> Result<usize> {
    let cores = std::thread::available_parallelism();
    let wanted = asked.or(cores.ok()).map_or(1, NonZeroUsize::get);
    match (limit(), last_cache()) {
        (Some(limit), Some(cache)) => {
            let room = room(limit, cache);
            ensure!(
                room > 0,
                "address space is limited to {} MB and the matrix products reserve {} MB a thread; raise the limit (ulimit -v) to {} MB",
                limit / 1_000_000,
                2 * cache / 1_000_000,
                (PROGRAM + THREAD + 2 * cache) / 1_000_000 + 1,
            );
            Ok(wanted.min(room))
        }
        _ => Ok(wanted),
    }
}

fn room(limit: u64, cache: u64) -> usize {
    let threads = limit.saturating_sub(PROGRAM) / (2 * cache + THREAD);
    usize::try_from(threads).unwrap_or(usize::MAX)
}

/// The limit on address space, if there is one and the system tells.
fn limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The size of the last cache, where the system tells.
fn last_cache() -> Option<u64> {
    let size = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    let kilobytes: u64 = size.trim().strip_suffix('K')?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_the_limit_leaves() {
        let cache = 260 << 20;
        assert_eq!(room(700_000_000, cache), 0);
        assert_eq!(room(1 << 30, cache), 1);
        assert_eq!(room(1_540_000_000, cache), 2);
        assert!(room(u64::MAX, cache) > 1_000_000);
    }
}
