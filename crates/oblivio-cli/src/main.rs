//! The `oblivio` command.

fn main() {
    std::process::exit(oblivio_cli::run(std::env::args_os()));
}
