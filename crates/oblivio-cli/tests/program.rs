//! The built program: what its results mean, and what it leaves behind.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use oblivio::simulate::Simulation;
use oblivio::{Column, Model, Roles, Scaling, Settings, Watch};
use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own for every test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oblivio"));
        command.args(line.split_whitespace());
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Standard output of a run that must succeed.
    fn run(&self, line: &str) -> String {
        let output = self.output(line);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {messages}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path().join(name), content).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Two tables of applicants, drawn apart.
    fn with_applicants(rows: usize) -> Self {
        let place = Self::new();
        for (seed, name) in [(1, "train.csv"), (2, "new.csv")] {
            place.run(&format!(
                "simulate admissions --rows {rows} --seed {seed} -o {name}"
            ));
        }
        place
    }
}

/// Regresses `success` on what a committee sees, with `sex` as S.
const BY_SEX: &str = "--target success --sensitive sex --drop admitted,region,age";

fn scores(text: &str) -> Vec<f64> {
    let lines = text.lines().skip(1);
    lines.map(|line| line.parse().unwrap()).collect()
}

fn close(a: &[f64], b: &[f64], relative: f64) -> bool {
    let size = a.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= relative * size)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = Place::with_applicants(400);
    // Everything random at once: a sample, its halves, and the pairs behind gamma.
    let settings = format!("{BY_SEX} --sample 300 --reference half --gamma median");
    let fit = |seed: u64, name: &str| {
        place.run(&format!(
            "fit train.csv {settings} --seed {seed} -o {name}.oblivio"
        ));
        place.run(&format!(
            "predict {name}.oblivio new.csv --before -o {name}.csv"
        ));
        [format!("{name}.oblivio"), format!("{name}.csv")].map(|name| place.read(&name))
    };
    let first = fit(7, "first");
    assert!(first == fit(7, "second"));
    let other = fit(8, "other");
    assert!(first[0] != other[0] && first[1] != other[1]);
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    let place = Place::with_applicants(500);
    let with = |threads: u8| {
        place.run(&format!(
            "fit train.csv {BY_SEX} --threads {threads} -o model.oblivio"
        ));
        scores(&place.run(&format!(
            "predict model.oblivio new.csv --threads {threads}"
        )))
    };
    let (one, two) = (with(1), with(2));
    assert_eq!(one.len(), 500);
    assert!(close(&one, &two, 1e-12));
}

#[test]
fn csv_parquet_and_standard_input_are_the_same_table() {
    let place = Place::with_applicants(120);
    place.run("simulate admissions --rows 120 --seed 1 -o train.parquet");
    place.run("simulate admissions --rows 120 --seed 2 -o new.parquet");
    let settings = "--target success --sensitive sex,age --drop admitted";
    let piped = |line: &str, name: &str| {
        let file = fs::File::open(place.path().join(name)).unwrap();
        let output = place.command(line).stdin(file).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    place.run(&format!("fit train.csv {settings} -o csv.oblivio"));
    place.run(&format!("fit train.parquet {settings} -o parquet.oblivio"));
    for name in ["train.csv", "train.parquet"] {
        piped(&format!("fit - {settings} -o {name}.oblivio"), name);
        assert!(place.read(&format!("{name}.oblivio")) == place.read("csv.oblivio"));
    }
    assert!(place.read("csv.oblivio") == place.read("parquet.oblivio"));
    let expected = place.run("predict csv.oblivio new.csv");
    assert_eq!(place.run("predict csv.oblivio new.parquet"), expected);
    for name in ["new.csv", "new.parquet"] {
        assert!(piped("predict csv.oblivio -", name) == expected.as_bytes());
    }
}

#[test]
fn the_program_gives_the_engines_bits() {
    let place = Place::with_applicants(200);
    place.run(&format!("fit train.csv {BY_SEX} --threads 1 -o m.oblivio"));
    let lines = place.run("predict m.oblivio new.csv --before --threads 1");

    let table = |seed| Simulation::Admissions.table(200, seed).unwrap();
    let (train, new) = (table(1), table(2));
    let roles = Roles {
        features: &train.features,
        sensitive: &train.sensitive[..1],
        target: &train.targets[0],
        weights: None,
    };
    let rows: Vec<Column> = new.columns().cloned().collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let (model, prediction) = pool.unwrap().install(|| {
        let settings = Settings::default();
        let fit = Model::fit(roles, Scaling::Standard, &settings, &Watch::default());
        let (model, _) = fit.unwrap();
        let prediction = model.predict(&rows, &Watch::default()).unwrap();
        (model, prediction)
    });
    assert!(place.read("m.oblivio") == model.to_bytes().unwrap());
    let expected = prediction.before.iter().zip(&prediction.scores);
    for (line, (before, score)) in lines.lines().skip(1).zip(expected) {
        let (first, second) = line.split_once(',').unwrap();
        let bits = |text: &str| text.parse::<f64>().unwrap().to_bits();
        assert_eq!(
            (bits(first), bits(second)),
            (before.to_bits(), score.to_bits())
        );
    }
    assert_eq!(lines.lines().count(), 201);
}

/// The claim of the program, on rows the model has never seen, with the plain model as the state before.
///
/// If scores did not depend on S, the ratio of L = 3 cells and n rows would be Beta(1, (n − 3)/2): above x with probability
/// (1 − x)^((n − 3)/2). The means taken out are themselves estimated, on as many rows: that doubles the variance of what
/// is left between the cells.
#[test]
fn held_out_dependence_falls_to_what_chance_gives() {
    let rows = 3000;
    let place = Place::with_applicants(rows);
    let ratio = |mode: &str| {
        place.run(&format!(
            "fit train.csv {BY_SEX} --mode {mode} -o m.oblivio"
        ));
        let report = place.json("predict m.oblivio new.csv --json -o scores.csv");
        assert_eq!(report["cells"].as_array().unwrap().len(), 3);
        let number = |name: &str| report["correlation-ratio"][name].as_f64().unwrap();
        (number("after"), number("expected-if-independent"))
    };
    let half = 0.5 * (rows - 3) as f64;
    let rare = 2.0 * (1.0 - 1e-3_f64.powf(1.0 / half));
    let (plain, expected) = ratio("plain");
    assert_eq!(expected, 2.0 / (rows - 1) as f64);
    assert!((1.0 - plain).powf(half) < 1e-6, "before: {plain}");
    for mode in ["oblivious", "m-oblivious"] {
        let (after, _) = ratio(mode);
        assert!(after < rare && rare < plain, "{mode}: {after}");
    }
}

#[test]
fn a_weight_counts_as_so_many_rows() {
    let place = Place::new();
    let rows = [
        "F,0.5,1.5",
        "M,2,0.5",
        "F,1.5,2",
        "M,4,1",
        "F,3,2.5",
        "M,0.1,3",
    ];
    let lines = |copies: &dyn Fn(usize) -> String| -> String {
        let numbered = rows.iter().enumerate();
        let text: Vec<String> = numbered
            .map(|(i, row)| format!("{row}{}", copies(i)))
            .collect();
        format!("{}\n", text.join("\n"))
    };
    let weighted = lines(&|i| format!(",{}", 1 + i % 3));
    let repeated = lines(&|i| format!("\n{}", rows[i]).repeat(i % 3));
    place.write("weighted.csv", &format!("sex,x,y,w\n{weighted}"));
    place.write("repeated.csv", &format!("sex,x,y\n{repeated}"));
    let fit = "--target y --sensitive sex --alpha 0.1";
    place.run(&format!("fit weighted.csv {fit} --weights w -o w.oblivio"));
    place.run(&format!("fit repeated.csv {fit} -o r.oblivio"));
    let score = |model: &str| scores(&place.run(&format!("predict {model} weighted.csv")));
    assert!(close(&score("w.oblivio"), &score("r.oblivio"), 1e-9));
    place.run(&format!("fit weighted.csv {fit} --drop w -o plain.oblivio"));
    assert!(!close(&score("w.oblivio"), &score("plain.oblivio"), 1e-3));
}

#[test]
fn the_reports_of_fit_and_inspect_agree() {
    let place = Place::with_applicants(150);
    let fit = place.json(&format!("fit train.csv {BY_SEX} --json -o m.oblivio"));
    let inspect = place.json("inspect m.oblivio --json");
    assert_eq!(fit["kernel"], inspect["kernel"]);
    assert_eq!(fit["training-error"], inspect["card"]["training-error"]);
    assert_eq!(inspect["needs-sensitive"], true);
    let means = |report: &Value, name: &str| -> Vec<f64> {
        let cells = report["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell[name].as_f64().unwrap()).collect()
    };
    let before = means(&fit, "mean-before");
    assert!(close(&before, &means(&inspect, "mean-before"), 1e-12));
    let after = means(&fit, "mean-after");
    assert!(close(&after, &vec![after[0]; after.len()], 1e-12));
    assert!(!close(&before, &vec![before[0]; before.len()], 1e-3));
}

/// Every way to fail, with the files in the directory as they were before.
#[test]
fn a_failure_is_one_sentence_and_leaves_everything_as_it_was() {
    let place = Place::with_applicants(40);
    place.run(&format!("fit train.csv {BY_SEX} -o good.oblivio"));
    for name in ["model.oblivio", "scores.csv", "scores.parquet"] {
        place.write(name, "precious");
    }
    place.write("short.csv", "sex,x,y\nF,1,2\n");
    place.write("ragged.csv", "sex,x,y\nF,1,2\nM,2\n");
    place.write("odd.csv", "sex,income\nF,1\n");
    let cut = place.read("good.oblivio");
    fs::write(place.path().join("cut.oblivio"), &cut[..cut.len() / 2]).unwrap();
    let names = place.names();
    let fit = |more: &str| format!("fit train.csv {BY_SEX} -o model.oblivio {more}");
    let failures = [
        fit("--alpha 0"),
        fit("--strength 2"),
        fit("--weights sex"),
        fit("--kernel linear --gamma 1"),
        "fit train.csv --target sucess -o model.oblivio".into(),
        "fit train.csv --target admitted -o model.oblivio".into(),
        "fit short.csv --target y --sensitive sex -o model.oblivio".into(),
        "fit ragged.csv --target y --sensitive sex -o model.oblivio".into(),
        "fit nowhere.csv --target y -o model.oblivio".into(),
        format!("fit train.csv {BY_SEX} -o nowhere/model.oblivio"),
        "predict good.oblivio odd.csv -o scores.csv".into(),
        "predict good.oblivio odd.csv -o scores.parquet".into(),
        "predict good.oblivio ragged.csv -o scores.csv".into(),
        "predict good.oblivio new.csv --keep sox -o scores.csv".into(),
        "predict good.oblivio new.csv --keep sex,sex -o scores.csv".into(),
        "predict cut.oblivio new.csv -o scores.csv".into(),
        "predict train.csv new.csv -o scores.csv".into(),
        "inspect cut.oblivio".into(),
        "simulate ridge-1 --mix 2 -o scores.csv".into(),
        "simulate ridge-1 --rows 0 -o scores.csv".into(),
    ];
    for line in failures {
        let output = place.output(&line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(
            message.starts_with("error: ") && message.lines().count() == 1,
            "{line}: {message}"
        );
    }
    for line in ["fit", "fit train.csv -o model.oblivio", "predict --jsn"] {
        assert_eq!(place.output(line).status.code(), Some(2));
    }
    assert_eq!(place.names(), names);
    for name in ["model.oblivio", "scores.csv", "scores.parquet"] {
        assert_eq!(place.read(name), b"precious");
    }
}

/// `oblivio … | head -1` is no failure and says nothing.
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::with_applicants(100);
    place.run(&format!("fit train.csv {BY_SEX} -o m.oblivio"));
    for line in [
        "simulate admissions --rows 20000",
        "predict m.oblivio new.csv --before",
        "inspect m.oblivio --json",
        "completions bash",
        "fit --help",
    ] {
        let mut command = place.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && !first.is_empty(), "{line}");
        assert!(output.stderr.is_empty(), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let place = Place::with_applicants(40);
    place.run(&format!("fit train.csv {BY_SEX} -o m.oblivio"));
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for line in [
        "predict m.oblivio new.csv -o /dev/full",
        "predict m.oblivio new.csv",
        "inspect m.oblivio",
        "simulate admissions -o /dev/full",
        "simulate admissions",
        "completions zsh",
    ] {
        let output = place.command(line).stdout(full()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(message.starts_with("error: "), "{line}: {message}");
        assert!(message.contains("No space left on device"));
    }
}

/// Ctrl-C while the system is solved. Whoever is interrupted has written nothing, under any name.
#[cfg(unix)]
#[test]
fn an_interrupted_fit_leaves_no_file() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};

    let place = Place::new();
    place.run("simulate admissions --rows 6000 --seed 1 -o train.csv");
    let line = format!("fit train.csv {BY_SEX} --solver cholesky --threads 1 -o m.oblivio");
    // A machine may be too fast for one delay, but not for all.
    for delay in [400, 200, 100, 50] {
        let mut command = place.command(&line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let sent = Instant::now();
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.is_ok());
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            fs::remove_file(place.path().join("m.oblivio")).unwrap();
            continue;
        }
        let interrupted = output.status.code() == Some(130) || output.status.signal() == Some(2);
        assert!(interrupted, "{}", output.status);
        assert!(output.stdout.is_empty());
        assert_eq!(place.names(), ["train.csv"]);
        // At once, not after the work.
        assert!(sent.elapsed() < Duration::from_secs(5));
        return;
    }
    panic!("the fit was always over before it could be interrupted");
}

#[test]
fn a_model_on_standard_output_is_nothing_but_the_model() {
    let place = Place::with_applicants(40);
    let line = format!("fit train.csv {BY_SEX}");
    place.run(&format!("{line} -o m.oblivio"));
    let output = place.output(&format!("{line} -o -"));
    assert!(output.status.success());
    assert!(output.stdout == place.read("m.oblivio"));
}

#[test]
fn a_weight_that_is_no_weight_is_named() {
    let place = Place::new();
    for weight in ["-1", "-9", "inf"] {
        let rows = format!("sex,x,w,y\nF,1,1,2\nM,3,2,3\nF,4,1,1\nM,5,{weight},2\n");
        place.write("data.csv", &rows);
        let line = "fit data.csv --sensitive sex --target y --weights w -o m.oblivio";
        let output = place.output(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(message.contains("weight"), "{message}");
    }
}

/// More cells than anything could hold: an answer, in either sense, and soon.
#[test]
fn no_number_of_cells_is_too_much() {
    use std::time::{Duration, Instant};

    let place = Place::with_applicants(40);
    for binning in ["quantile", "uniform", "dyadic"] {
        let cells = u64::MAX;
        let line = format!(
            "fit train.csv --target success --sensitive age --features gpa \
             --cells {cells} --binning {binning} -o m.oblivio"
        );
        let mut child = place
            .command(&line)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if start.elapsed() > Duration::from_secs(10) {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{binning}: no answer");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(matches!(status, Some(0 | 1)), "{binning}: {status:?}");
    }
}
