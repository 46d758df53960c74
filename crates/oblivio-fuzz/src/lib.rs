//! Damaged inputs, made by a seed, and what counts as a failure to withstand them.
//!
//! An input is known by its target and its number: the number is the seed. [`fuzz`] makes inputs, hands them to a reader and
//! fails if the reader panics, takes too long, or holds memory out of proportion to the input.
//!
//! It imports no crate of oblivio: a reader is a function of bytes.
//!
//! ```
//! let document = serde_json::json!({ "rows": 3 });
//! for (name, damaged) in oblivio_fuzz::edits(&document) {
//!     assert_ne!(damaged, document, "{name}");
//! }
//! ```

mod document;
mod file;
mod random;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use document::{change, edits};
pub use file::File;
pub use random::Random;

/// How many inputs of each target are tried; [`Target::usual`] if it is not set.
const EXECUTIONS: &str = "OBLIVIO_FUZZ";
/// The one input that is tried, its panic not caught.
const ONE: &str = "OBLIVIO_FUZZ_ONE";
/// No input may take longer.
const SLOW: Duration = Duration::from_secs(5);
/// A reader that is still at work after this long is not waited for.
const HANGS: Duration = Duration::from_secs(60);

/// What is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name in messages and in seeds.
    pub name: &'static str,
    /// Inputs that are tried unless the environment says otherwise.
    pub usual: u64,
    /// Bytes of memory that a reader may hold, whatever the input.
    pub memory: u64,
    /// Bytes of memory that it may hold for every byte of the input.
    pub memory_per_byte: u64,
    /// Of the inputs that the environment asks for, one in so many is tried: large ones take their time.
    pub share: u64,
}

/// What readers did with their inputs.
#[derive(Default)]
struct Tally {
    executions: u64,
    read: u64,
    /// The most memory beyond what the input accounts for.
    memory: u64,
    slowest: Duration,
    /// The first input of every kind of failure, and how many there were.
    failures: BTreeMap<String, (u64, u64)>,
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes inputs and hands them to `read`, which says whether it could make use of one. It must be able to use those that are `sound`; what it sets
/// up once is set up then, and not counted.
///
/// # Panics
///
/// If a sound input is refused or takes more memory than the target allows, or an input makes the reader panic, takes longer than five seconds or more memory than the target allows; or if all inputs are read,
/// or all refused: then they test nothing.
pub fn fuzz(
    target: Target,
    sound: &[Vec<u8>],
    make: impl Fn(&mut Random) -> Vec<u8> + Sync,
    read: impl Fn(&[u8]) -> bool + Sync,
) {
    let one = setting(ONE);
    let asked = setting(EXECUTIONS).map(|inputs| inputs / target.share);
    let executions = asked.unwrap_or(target.usual);
    let at = AtomicU64::new(0);
    // On one thread: what it allocates is counted, and nothing waits for another.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a pool of one thread");
    if let Some(number) = one {
        let input = make(&mut Random::of(target.name, number));
        let read = pool.install(|| read(&input));
        eprintln!(
            "{} {number}: {} bytes, read: {read}",
            target.name,
            input.len()
        );
        return;
    }
    for (number, input) in sound.iter().enumerate() {
        let read = pool.install(|| read(input));
        assert!(read, "{}: sound input {number} is refused", target.name);
    }
    for (number, input) in sound.iter().enumerate() {
        let held = pool.install(|| {
            allocation_counter::measure(|| {
                read(input);
            })
        });
        assert!(
            held.bytes_max <= target.allows(input),
            "{}: sound input {number} of {} bytes holds {} bytes of memory",
            target.name,
            input.len(),
            held.bytes_max
        );
    }
    let started = Instant::now();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let (done, over) = std::sync::mpsc::channel::<()>();
        let at = &at;
        scope.spawn(move || watch(target.name, at, &over));
        pool.install(|| {
            for number in 0..executions {
                at.store(number, Ordering::Relaxed);
                let input = make(&mut Random::of(target.name, number));
                tally.add(target, number, &input, &read);
            }
        });
        drop(done);
    });
    eprintln!(
        "fuzz {}: {executions} inputs in {:.1} s, {:.1} % read, {} kB at most, {} ms at most, {} findings",
        target.name,
        started.elapsed().as_secs_f64(),
        100.0 * tally.read as f64 / executions as f64,
        tally.memory / 1024,
        tally.slowest.as_millis(),
        tally.failures.len()
    );
    tally.judge(target.name);
}

impl Target {
    /// Bytes of memory that a reader of this input may hold.
    fn allows(self, input: &[u8]) -> u64 {
        self.memory + self.memory_per_byte * input.len() as u64
    }
}

impl Tally {
    fn add(&mut self, target: Target, number: u64, input: &[u8], read: impl Fn(&[u8]) -> bool) {
        let started = Instant::now();
        let mut outcome = Err(String::new());
        let allocated = allocation_counter::measure(|| outcome = caught(|| read(input)));
        let taken = started.elapsed();
        self.executions += 1;
        self.slowest = self.slowest.max(taken);
        self.memory = self.memory.max(allocated.bytes_max);
        match outcome {
            Ok(read) => self.read += u64::from(read),
            Err(panic) => self.fail(format!("panics: {panic}"), number),
        }
        if allocated.bytes_max > target.allows(input) {
            let size = allocated.bytes_max.next_power_of_two() >> 20;
            self.fail(format!("holds up to {size} MB of memory"), number);
        }
        // Other work on the machine may have had the processor: a slow input is slow again.
        let slow = || {
            let started = Instant::now();
            let _ = caught(|| read(input));
            started.elapsed() > SLOW
        };
        if taken > SLOW && slow() && slow() {
            self.fail("takes too long".into(), number);
        }
    }

    fn fail(&mut self, what: String, number: u64) {
        let (_, count) = self.failures.entry(what).or_insert((number, 0));
        *count += 1;
    }

    fn judge(&self, name: &str) {
        let mut report = String::new();
        for (failure, (first, count)) in &self.failures {
            let _ = writeln!(report, "{failure}\n  {count} times, first by {ONE}={first}");
        }
        assert!(report.is_empty(), "{name}:\n{report}");
        assert!(self.read > 0, "{name}: every input is refused");
        assert!(self.read < self.executions, "{name}: every input is read");
    }
}

/// What `work` returns, or where and with which message it panicked; nothing is printed.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                let first = |text: String| text.lines().next().unwrap_or("").to_owned();
                let payload = info.payload();
                let text = payload.downcast_ref::<&str>().copied();
                let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                let message = text.unwrap_or("no message");
                let place = info.location().map_or(String::new(), ToString::to_string);
                PANIC.set(format!("{place}: {}", first(message.into())));
            } else {
                usual(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    result.map_err(|_| PANIC.take())
}

/// Ends the program if an input hangs: nothing else can.
fn watch(name: &str, at: &AtomicU64, over: &std::sync::mpsc::Receiver<()>) {
    let mut last = at.load(Ordering::Relaxed);
    while over.recv_timeout(HANGS) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        let now = at.load(Ordering::Relaxed);
        if now == last {
            eprintln!("{name}: {ONE}={now} hangs");
            std::process::exit(1);
        }
        last = now;
    }
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} must be a whole number, got {text}")))
}
