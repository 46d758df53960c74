//! The built program where things go wrong around it: full disks, read-only folders, kills, damaged inputs, pipes, odd names.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Place;

/// How often the program is killed; `make soak` asks for more.
const ROUNDS: &str = "OBLIVIO_SOAK";

/// What those commands write, all there before.
const OUTPUTS: [&str; 3] = ["out", "out.html", "out.parquet"];

/// Every command that writes a file, with `OUT` where the name of the file goes.
const WRITERS: [&str; 15] = [
    "fit train.csv --target success --sensitive sex -o OUT",
    "fit train.csv --target success --sensitive sex --components 20 -o OUT",
    "fit train.csv --sensitive sex --components 20 -o OUT",
    "predict m.oblivio new.csv -o OUT",
    "transform f.oblivio new.csv -o OUT",
    "refresh m.oblivio new.csv --keep-small -o OUT",
    "release few.csv --sensitive sex --drop admitted,success --permutations 19 --resamples 19 -o OUT",
    "simulate admissions --rows 300 -o OUT",
    "predict m.oblivio new.csv -o OUT.parquet",
    "export m.oblivio -o OUT",
    "export f.oblivio -o OUT",
    "inspect m.oblivio --reduce 60 -o OUT",
    "audit few.csv --sensitive sex --score success --measures correlation-ratio --permutations 19 --resamples 19 -o OUT.html",
    "frontier few.csv --sensitive sex --target success --drop admitted --measures correlation-ratio --permutations 19 --resamples 19 -o OUT.html",
    "bounds m.oblivio new.csv -o OUT.html",
];

fn prepared() -> Place {
    let place = Place::with_applicants(200);
    place.run("fit train.csv --target success --sensitive sex -o m.oblivio");
    place.run("fit train.csv --sensitive sex --components 20 -o f.oblivio");
    place.run("simulate admissions --rows 60 --seed 3 -o few.csv");
    place
}

/// The one sentence of a run that must fail by itself, without a panic.
fn refusal(output: &Output, line: &str) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{line}: {message}");
    assert!(message.starts_with("error: "), "{line}: {message}");
    assert!(!message.contains("panicked"), "{line}: {message}");
    message
}

/// Runs the program in a mount namespace of its own, `folder` being a file system with these options; what is left in the folder.
fn mounted(place: &Place, options: &str, line: &str) -> Option<(Output, Vec<String>)> {
    let outputs = OUTPUTS.join(" ");
    let script = format!(
        "mount -t tmpfs tmpfs folder -o size=64k || exit 99\n\
         (cd folder && printf old | tee {outputs} > ../tee) && mount -o remount,{options} folder || exit 98\n\
         \"$0\" {line}; code=$?; ls -A folder > left; (cd folder; cat {outputs}) > kept; exit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
    command
        .arg(env!("CARGO_BIN_EXE_oblivio"))
        .current_dir(place.path());
    let output = command.stdin(Stdio::null()).output().ok()?;
    assert_ne!(
        output.status.code(),
        Some(98),
        "the folder is not as it should be"
    );
    let left = String::from_utf8(fs::read(place.path().join("left")).ok()?).ok()?;
    Some((output, left.lines().map(str::to_owned).collect()))
}

/// A file system with too little room, and one that cannot be written: every command says so, and the old file is as it was.
#[test]
fn a_full_or_read_only_folder_keeps_the_old_file() {
    let place = prepared();
    fs::create_dir(place.path().join("folder")).unwrap();
    for (options, reason) in [("size=12k", "No space left"), ("ro", "Read-only")] {
        for writer in WRITERS {
            let line = writer.replace("OUT", "folder/out");
            let Some((output, left)) = mounted(&place, options, &line) else {
                eprintln!("file systems cannot be mounted here: this is not tested");
                return;
            };
            let message = refusal(&output, &line);
            assert!(message.contains(reason), "{line}: {message}");
            assert_eq!(left, OUTPUTS, "{line}: {options}");
            assert_eq!(place.read("kept"), b"oldoldold", "{line}");
        }
    }
}

/// A limit on the size of files, its signal ignored as job schedulers do.
#[test]
fn a_limit_on_the_size_of_files_keeps_the_old_file() {
    let place = prepared();
    for writer in WRITERS {
        for name in OUTPUTS {
            place.write(name, "old");
        }
        let names = place.names();
        let line = writer.replace("OUT", "out");
        let mut command = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {line}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_oblivio")]);
        let output = command.current_dir(place.path()).output().unwrap();
        let message = refusal(&output, &line);
        assert!(message.contains("File too large"), "{line}: {message}");
        assert_eq!(place.names(), names);
        assert!(
            OUTPUTS.iter().all(|name| place.read(name) == b"old"),
            "{line}"
        );
    }
}

/// Devices and pipes are written to as they are, and stay what they are.
#[test]
fn pipes_and_devices_are_written_to() {
    let place = prepared();
    let made = Command::new("mkfifo")
        .arg(place.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    for writer in &WRITERS[..8] {
        place.run(&writer.replace("OUT", "whole"));
        let whole = place.read("whole");
        let line = writer.replace("OUT", "pipe");
        let child = place
            .command(&line)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let read = fs::read(place.path().join("pipe")).unwrap();
        assert!(child.unwrap().wait().unwrap().success(), "{line}");
        assert_eq!(read, whole, "{line}");
        let line = writer.replace("OUT", "/dev/full");
        let message = refusal(&place.output(&line), &line);
        assert!(message.contains("No space left"), "{line}: {message}");
        let line = writer.replace("OUT", "/dev/null");
        place.run(&line);
    }
    // Report and table share one stream, the table whole.
    let line = WRITERS[3].replace("OUT", "/dev/stdout");
    place.run(&WRITERS[3].replace("OUT", "scores.csv"));
    let scores = String::from_utf8(place.read("scores.csv")).unwrap();
    assert!(place.run(&line).contains(&scores), "{line}");
    assert!(!Path::new("/dev/full").is_file() && !Path::new("/dev/null").is_file());
}

/// A file that is being replaced when the program is killed is the old one or the new one, whole.
#[test]
fn a_kill_at_any_moment_leaves_one_of_the_two_files() {
    let rounds = std::env::var(ROUNDS).map_or(12, |text| text.parse().expect(ROUNDS));
    let place = prepared();
    let lines = [
        WRITERS[0].replace("OUT", "out"),
        format!(
            "{} --checkpoint state --checkpoint-every 0",
            WRITERS[1].replace("OUT", "out")
        ),
        WRITERS[3].replace("OUT", "out"),
        WRITERS[6].replace("OUT", "out"),
    ];
    let (mut killed, mut drafts) = (0, 0);
    for line in &lines {
        place.write("out", "old");
        let started = Instant::now();
        place.run(line);
        let (taken, new) = (started.elapsed(), place.read("out"));
        for round in 0..rounds {
            place.write("out", "old");
            let names = place.names();
            let mut child = place.command(line);
            let mut child = child
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Over the whole run, and most often where files are written: at its end.
            let share = 1.0 - (f64::from(round) / f64::from(rounds)).powi(2);
            std::thread::sleep(taken.mul_f64(share));
            child.kill().unwrap();
            killed += u32::from(child.wait().unwrap().signal() == Some(9));
            let found = place.read("out");
            assert!(
                found == b"old" || found == new,
                "{line}: {} bytes",
                found.len()
            );
            for name in place.names() {
                if names.contains(&name) {
                    continue;
                }
                let known = name == "state"
                    || name.starts_with("out.release.")
                    || name.starts_with(".oblivio-");
                assert!(known, "{line} left {name}");
                drafts += u32::from(name.starts_with(".oblivio-"));
                // A state that was written is whole: the next run goes on from it.
                if name != "state" {
                    fs::remove_file(place.path().join(name)).unwrap();
                }
            }
        }
        place.run(line);
        assert_eq!(place.read("out"), new, "{line}");
    }
    eprintln!(
        "kill -9: {} rounds, {killed} killed at work, {drafts} drafts left",
        4 * rounds
    );
    assert!(killed > 0, "no run was killed at work");
}

/// Damaged inputs are refused or read; nothing panics, and what is refused leaves no file.
#[test]
fn damaged_inputs_are_refused_or_read() {
    let place = prepared();
    place.run("simulate admissions --rows 200 --seed 1 -o train.parquet");
    let cases = [
        ("m.oblivio", "predict IN new.csv -o out"),
        ("m.oblivio", "refresh IN new.csv --keep-small -o out"),
        ("m.oblivio", "inspect IN"),
        ("f.oblivio", "transform IN new.csv -o out"),
        (
            "train.csv",
            "fit IN --target success --sensitive sex -o out",
        ),
        (
            "train.parquet",
            "fit IN --target success --sensitive sex -o out",
        ),
        ("train.parquet", "predict m.oblivio IN -o out"),
        ("new.csv", "audit IN --score success --sensitive sex"),
    ];
    let mut refused = 0;
    for (name, line) in cases {
        let whole = place.read(name);
        for trial in 0..16 {
            let mut bytes = whole.clone();
            let at = (trial * 2_654_435_761 + 12345) % bytes.len();
            match trial % 2 {
                0 => bytes.truncate(at),
                _ => bytes[at] ^= 1 << (trial % 8),
            }
            let damaged = format!("damaged-{name}");
            fs::write(place.path().join(&damaged), bytes).unwrap();
            let line = line.replace("IN", &damaged);
            let output = place.output(&line);
            let out = place.path().join("out");
            if output.status.success() {
                let _ = fs::remove_file(out);
            } else {
                refusal(&output, &line);
                assert!(!out.exists(), "{line}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused} of 128 were refused");
}

/// As many threads as there may be: matrices are the same to the bit, solutions to rounding.
#[test]
fn threads_do_not_change_the_answer() {
    let place = prepared();
    let scores = |threads: u32| -> Vec<f64> {
        place.run(&format!(
            "fit train.csv --target success --sensitive sex --threads {threads} -o t.oblivio"
        ));
        let text = place.run(&format!("predict t.oblivio new.csv --threads {threads}"));
        let lines = text.lines().skip(1);
        lines
            .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
            .collect()
    };
    let one = scores(1);
    for threads in [2, 64] {
        let many = scores(threads);
        assert_eq!(many.len(), one.len());
        for (a, b) in one.iter().zip(&many) {
            assert!(
                (a - b).abs() <= 1e-9 * a.abs().max(1.0),
                "{threads} threads: {a} and {b}"
            );
        }
    }
}

/// No terminal: no bars, no colours. A locale with decimal commas: the same bytes.
#[test]
fn neither_terminal_nor_locale_matters() {
    let place = prepared();
    for writer in WRITERS {
        let line = writer.replace("OUT", "out");
        let file = if line.ends_with(".parquet") {
            "out.parquet"
        } else {
            "out"
        };
        let plain = place.output(&line);
        let bytes = place.read(file);
        let mut command = place.command(&line);
        for name in ["LC_ALL", "LC_NUMERIC", "LANG"] {
            command.env(name, "de_DE.UTF-8");
        }
        let german = command.output().unwrap();
        assert!(plain.status.success() && german.status.success(), "{line}");
        assert_eq!(german.stdout, plain.stdout, "{line}");
        assert_eq!(place.read(file), bytes, "{line}");
        for text in [&plain.stdout, &plain.stderr] {
            assert!(!text.contains(&0x1b) && !text.contains(&b'\r'), "{line}");
        }
    }
}

#[test]
fn columns_may_be_named_like_options() {
    let place = Place::new();
    let rows = (0..30).map(|i| format!("{i}.5,{},g{},{}\n", ["a", "b"][i % 2], i % 3, i * 7 % 11));
    place.write(
        "t.csv",
        &format!("--target,-o,--help,-x\n{}", rows.collect::<String>()),
    );
    place.run("fit t.csv --target=--target --sensitive=-o -o m.oblivio");
    let scores = place.run("predict m.oblivio t.csv --keep=--help,-x");
    assert!(scores.starts_with("--help,-x,"), "{scores}");
    place.run("audit t.csv --score=--target --sensitive=-o --permutations 19 --resamples 19");
    place.run(
        "release t.csv --sensitive=-o --drop=--target --permutations 19 --resamples 19 -o r.csv",
    );
    assert!(place.read("r.csv").starts_with(b"-o,--help,-x\n"));
}

#[test]
fn files_may_have_any_name() {
    let place = prepared();
    let run = |line: &str, names: &[&OsStr]| {
        let mut command = place.command(line);
        let output = command.args(names).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {message}");
    };
    let table = place.read("train.csv");
    for name in [
        &b"a b.csv"[..],
        b"line\nbreak.csv",
        b"-t.csv",
        b"-",
        b"--help",
        b"\xff\xfe.csv",
        b"'quoted\".csv",
        b"*.csv",
    ] {
        let input = [b"./", name].concat();
        let model = [b"./", name, b".oblivio"].concat();
        let [input, model] = [input, model].map(OsString::from_vec);
        fs::write(place.path().join(OsStr::from_bytes(name)), &table).unwrap();
        run("fit --target success --sensitive sex -o", &[&model, &input]);
        let scores = OsString::from_vec([b"./", name, b".scores"].concat());
        run("predict -o", &[&scores, &model, &input]);
        let whole = fs::read(place.path().join(&scores)).unwrap();
        assert_eq!(String::from_utf8_lossy(&whole).lines().count(), 201);
    }
}

/// A kill does not wait for anything: a reader of a pipe that nobody writes can be ended, too.
#[test]
fn a_pipe_that_nobody_writes_can_be_left() {
    let place = prepared();
    let made = Command::new("mkfifo")
        .arg(place.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let mut child = place
        .command("predict m.oblivio pipe -o out")
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    let ended = child.wait().unwrap();
    assert!(
        ended.code() == Some(130) || ended.signal() == Some(2),
        "{ended}"
    );
    assert!(!place.path().join("out").exists());
}
