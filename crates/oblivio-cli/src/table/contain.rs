//! Panics of code that is not ours, turned into values.

use std::any::Any;
use std::panic;
use std::sync::Once;
use std::thread;

const THREAD: &str = "contained";

/// What `work` returns, or the message with which it panicked; nothing is printed.
///
/// It runs on a thread of its own, by whose name the panic hook knows to be silent.
pub(super) fn contain<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(THREAD) {
                usual(panic);
            }
        }));
    });
    let thread = thread::Builder::new().name(THREAD.into()).spawn(work);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().map_err(|panic| message(panic.as_ref()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("internal error").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(contain(|| 1), Ok(1));
        let found = contain(|| -> u8 { panic!("offset {} is negative", -1) });
        assert_eq!(found, Err("offset -1 is negative".into()));
    }
}
