//! The built program: what its results mean, and what it leaves behind.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::Place;
use oblivio::features::FeatureSettings;
use oblivio::reference::Reference;
use oblivio::{
    Column, Encoder, Model, Prediction, Roles, Sensitive, Settings, Training, Transformer, Watch,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_simulate::Simulation;
use serde_json::Value;

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
        labels: None,
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
    let prediction = &prediction[0];
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
        "fit train.csv --mode plain --target sucess -o model.oblivio".into(),
        "fit train.csv --mode plain --target admitted -o model.oblivio".into(),
        "fit short.csv --target y --sensitive sex -o model.oblivio".into(),
        "fit ragged.csv --target y --sensitive sex -o model.oblivio".into(),
        "fit nowhere.csv --mode plain --target y -o model.oblivio".into(),
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
        "simulate ridge --rows 1000000000000",
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
        // At once, not after the work. A busy machine takes its time to tell.
        assert!(sent.elapsed() < Duration::from_secs(60));
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
            if start.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{binning}: no answer");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(matches!(status, Some(0 | 1)), "{binning}: {status:?}");
    }
}

/// Columns of doubles in a file that the program wrote, to the bit.
fn bits(text: &str) -> Vec<Vec<u64>> {
    let lines = text.lines().skip(1);
    let numbers = |line: &str| -> Vec<u64> {
        let fields = line.split(',').map(|field| field.parse::<f64>().unwrap());
        fields.map(f64::to_bits).collect()
    };
    lines.map(numbers).collect()
}

/// More rows than a batch holds.
const MANY: usize = 20_000;

fn many(seed: u64) -> Vec<Column> {
    let table = Simulation::Admissions.table(MANY, seed).unwrap();
    table.columns().cloned().collect()
}

#[test]
fn batches_and_files_make_no_difference_to_a_score() {
    let place = Place::with_applicants(100);
    place.run(&format!("fit train.csv {BY_SEX} -o m.oblivio"));
    place.run(&format!(
        "simulate admissions --rows {MANY} --seed 5 --hidden -o t.csv"
    ));
    place.run(&format!(
        "simulate admissions --rows {MANY} --seed 5 --hidden -o t.parquet"
    ));
    let text = String::from_utf8(place.read("t.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    for (i, part) in rows.chunks(9000).enumerate() {
        place.write(
            &format!("part-{i}.csv"),
            &format!("{header}\n{}\n", part.join("\n")),
        );
    }
    let model = Model::from_bytes(&place.read("m.oblivio")).unwrap();
    let mut predictions = model.predict(&many(5), &Watch::default()).unwrap();
    let Prediction { before, scores, .. } = predictions.remove(0);
    let expected: Vec<Vec<u64>> = before
        .iter()
        .zip(&scores)
        .map(|(before, score)| vec![before.to_bits(), score.to_bits()])
        .collect();
    for data in [
        "t.csv",
        "t.parquet",
        "part-*.csv",
        "part-0.csv part-[12].csv",
    ] {
        let found = place.run(&format!("predict m.oblivio {data} --before"));
        assert!(bits(&found) == expected, "{data}");
    }

    // The report is that of all rows.
    let report = place.json("predict m.oblivio part-*.csv --json -o s.parquet");
    let offsets = model.predictor().offsets().unwrap();
    let sensitive = Sensitive::new(many(5)[..1].to_vec(), MANY).unwrap();
    let cells = offsets.partition.assign(&sensitive).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let ratio = |name| number(&report["correlation-ratio"][name]);
    for (name, scores) in [("before", &before), ("after", &scores)] {
        let expected = oblivio_audit::correlation_ratio(scores, cells.codes());
        assert!((ratio(name) - expected.value).abs() < 1e-12);
        assert_eq!(ratio("expected-if-independent"), expected.expected);
        let means = oblivio_audit::cell_means(scores, &cells, &offsets.partition);
        let found = report["cells"].as_array().unwrap();
        assert_eq!(found.len(), means.len());
        for (found, mean) in found.iter().zip(means) {
            assert_eq!(
                (found["cell"].as_str(), found["rows"].as_u64()),
                (Some(&*mean.label), Some(mean.rows as u64))
            );
            assert!((number(&found[&format!("mean-{name}")]) - mean.mean).abs() < 1e-9);
        }
    }
}

/// Features of `gpa`, `test` and `school`, oblivious of `sex`.
fn transformer(strength: f64) -> Transformer {
    let table = Simulation::Admissions.table(300, 1).unwrap();
    let columns: Vec<Column> = table
        .features
        .into_iter()
        .filter(|column| ["gpa", "test", "school"].contains(&column.name.as_str()))
        .collect();
    let weights = vec![1.0; 300];
    let encoder = Encoder::fit(&columns, Scaling::Standard, &weights, UnseenCategory::Error);
    let encoder = encoder.unwrap();
    let (points, _) = encoder.encode(&columns).unwrap();
    let settings = FeatureSettings {
        kernel: "rbf".parse().unwrap(),
        components: oblivio_kernels::Components::new(7),
        strength,
        partition: Settings::default().partition,
        reference: Reference::All,
        seed: 0,
    };
    let training = Training {
        points: &points,
        sensitive: &Sensitive::new(table.sensitive[..1].to_vec(), 300).unwrap(),
        targets: &weights,
        weights: None,
    };
    let (features, _) = settings.fit(training, &Watch::default()).unwrap();
    Transformer { encoder, features }
}

#[test]
fn features_are_written_as_the_engine_makes_them() {
    let place = Place::with_applicants(100);
    let transformer = transformer(1.0);
    let write = |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes).unwrap();
    write("z.oblivio", &transformer.to_bytes().unwrap());
    place.run(&format!(
        "simulate admissions --rows {MANY} --seed 5 -o t.parquet"
    ));
    let (features, _) = transformer.transform(&many(5), &Watch::default()).unwrap();
    let expected: Vec<Vec<u64>> = features
        .chunks(7)
        .map(|row| row.iter().map(|z| z.to_bits()).collect())
        .collect();
    let text = place.run("transform z.oblivio t.parquet");
    assert!(text.starts_with("z0,z1,z2,z3,z4,z5,z6\n"));
    assert!(bits(&text) == expected);

    let said = place.run("transform z.oblivio new.csv --keep sex,success -o z.parquet");
    assert_eq!(said, "7 features of 100 rows written to z.parquet\n");
    let report = place.json("transform z.oblivio new.csv --keep sex -o z.csv --json");
    assert_eq!(
        (&report["rows"], &report["components"]),
        (&100.into(), &7.into())
    );
    let kept = String::from_utf8(place.read("z.csv")).unwrap();
    assert!(kept.starts_with("sex,z0,"), "{kept}");
    // What was written is a table like any other.
    place.run("fit z.parquet --target success --sensitive sex -o of-features.oblivio");

    let said = place.run("inspect z.oblivio");
    let opening = "oblivious features for a linear learner\n";
    assert!(said.starts_with(opening), "{said}");
    for line in [
        "sensitive     sex (categorical)",
        "components    7",
        "cells         3 of 300 reference rows",
        "to transform  needs the sensitive columns, to take their influence out",
    ] {
        assert!(said.contains(line), "{said}");
    }
    let report = place.json("inspect z.oblivio --json");
    assert_eq!(report["components"], 7);
    assert_eq!(report["cells"].as_array().unwrap().len(), 3);
}

#[test]
fn features_need_the_sensitive_columns_only_to_take_them_out() {
    let place = Place::with_applicants(50);
    place.write(
        "bare.csv",
        "gpa,test,school\n3,1000,home\n3.5,1200,public\n",
    );
    for (name, strength) in [("z.oblivio", 1.0), ("plain.oblivio", 0.0)] {
        let bytes = transformer(strength).to_bytes().unwrap();
        fs::write(place.path().join(name), bytes).unwrap();
    }
    let message = |line: &str| {
        let output = place.output(line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        message("transform z.oblivio bare.csv -o z.csv"),
        "error: column `sex` is not in the table\n"
    );
    let text = place.run("transform plain.oblivio bare.csv");
    assert_eq!(text.lines().count(), 3);
    assert!(
        place
            .run("inspect plain.oblivio")
            .starts_with("plain features")
    );

    // A file of the other kind is told apart from a damaged one.
    place.run(&format!("fit train.csv {BY_SEX} -o m.oblivio"));
    assert_eq!(
        message("transform m.oblivio new.csv"),
        "error: m.oblivio: this file holds a model, which gives scores and no features; use `oblivio predict`\n"
    );
    assert_eq!(
        message("predict z.oblivio new.csv"),
        "error: z.oblivio: this file holds features, which give no scores; use `oblivio transform`\n"
    );
    assert_eq!(
        message("transform z.oblivio new.csv --keep z0"),
        "error: column `z0` is not in the table (columns: sex, region, age, income, school, hours, gpa, test, essay, interview, …)\n"
    );
    assert!(!place.path().join("z.csv").exists());
}

/// In a table of several batches, a row has its line in the file.
#[test]
fn a_bad_value_far_down_is_found_by_its_row() {
    let place = Place::new();
    let table = |bad: &dyn Fn(usize) -> Option<&'static str>| -> String {
        let row = |i: usize| match bad(i) {
            None => format!("{},F,{}\n{0},M,1\n", i % 9, i % 5),
            Some(bad) => format!("{bad},F,1\n1,M,1\n"),
        };
        format!("x,sex,y\n{}", (0..15_000).map(row).collect::<String>())
    };
    place.write("train.csv", "x,sex,y\n1,F,1\n2,M,2\n4,F,3\n3,M,1\n");
    place.run("fit train.csv --target y --sensitive sex --missing-features error -o m.oblivio");
    let message = |text: &str| {
        place.write("t.csv", text);
        let output = place.output("predict m.oblivio t.csv -o s.csv");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = table(&|i| (i == 6000 || i == 14_000).then_some("NA"));
    assert_eq!(
        message(&missing),
        "error: column `x` has 2 missing values, the first in line 12002; fill them in, or leave those rows out: `oblivio fit` does with --drop-missing\n"
    );
    let infinite = table(&|i| (i == 14_000).then_some("inf"));
    assert_eq!(
        message(&infinite),
        "error: column `x` is inf in line 28002; every value must be finite: remove or replace it\n"
    );
    assert_eq!(place.names(), ["m.oblivio", "t.csv", "train.csv"]);
}

/// The most memory that a run had at any time, in kilobytes.
#[cfg(target_os = "linux")]
fn peak(place: &Place, line: &str) -> u64 {
    let mut command = place.command(line);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.map_or(0, |mark| {
            mark.trim().trim_end_matches(" kB").parse().unwrap()
        });
        most = most.max(mark);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{line}");
            assert!(most > 0, "{line}: over before it was looked at");
            return most;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Ten times the rows, the same memory: the whole table would need 80 MB more.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_rows() {
    let place = Place::new();
    place.run("simulate ridge --rows 50 -o train.csv");
    place.run("fit train.csv --target y --sensitive s --cells 2 -o m.oblivio");
    let peaks = |rows: usize| {
        ["csv", "parquet"].map(|format| {
            let simulate = format!("simulate ridge-2 --rows {rows} -o t.{format}");
            let predict = format!("predict m.oblivio t.{format} --keep x -o s.{format}");
            [peak(&place, &simulate), peak(&place, &predict)]
        })
    };
    let (few, many) = (peaks(100_000), peaks(1_000_000));
    for (few, many) in few.as_flattened().iter().zip(many.as_flattened()) {
        assert!(*many < few + 40_000, "{few} kB, then {many} kB");
    }
}

/// Ctrl-C in the midst of rows: nothing is left behind, under any name, and an earlier file is as it was.
#[cfg(unix)]
#[test]
fn interrupted_rows_leave_no_file() {
    use std::time::Duration;

    let place = Place::with_applicants(20);
    place.write("t.csv", "precious");
    for name in ["t.csv", "t.parquet"] {
        let mut command = place.command(&format!("simulate ridge --rows 1000000000 -o {name}"));
        let mut child = command.spawn().unwrap();
        while place.names().len() < 4 {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50));
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(place.names(), ["new.csv", "t.csv", "train.csv"]);
    }
    assert_eq!(place.read("t.csv"), b"precious");
}

/// Runs a fit that saves its state after every batch and kills it after six states, so that the first file is done with.
/// Whether the fit was still running then.
#[cfg(target_os = "linux")]
fn killed_in_its_second_file(place: &Place, fit: &str) -> bool {
    let mut command = place.command(fit);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let state = place.path().join("state");
    let (mut states, mut last) = (0, None);
    while states < 6 && child.try_wait().unwrap().is_none() {
        let modified = fs::metadata(&state).and_then(|metadata| metadata.modified());
        let modified = modified.ok();
        if modified.is_some() && modified != last {
            last = modified;
            states += 1;
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    let over = child.try_wait().unwrap();
    assert!(over.is_none_or(|status| status.success()), "the fit failed");
    let _ = child.kill();
    child.wait().unwrap();
    over.is_none() && !place.path().join("resumed.oblivio").exists()
}

/// Killed in the middle, a fit goes on from its last state and ends with the same bits.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_fit_goes_on_to_the_same_bits() {
    let place = Place::new();
    for (seed, name) in ["part-1.csv", "part-2.parquet", "part-3.csv"]
        .iter()
        .enumerate()
    {
        place.run(&format!(
            "simulate admissions --rows 30000 --seed {seed} -o {name}"
        ));
    }
    let fit = "fit part-* --sensitive sex,age --cells 5 --target success --drop admitted,region --components 60";
    for extra in ["", " --mode m-oblivious", " --reference half --intercept"] {
        let fit = format!("{fit}{extra}");
        place.run(&format!("{fit} -o whole.oblivio"));
        let saved = format!("{fit} -o resumed.oblivio --checkpoint state --checkpoint-every 0");
        // A busy machine may look for states so seldom that the fit ends first: it is then run again.
        while !killed_in_its_second_file(&place, &saved) {
            fs::remove_file(place.path().join("resumed.oblivio")).unwrap();
        }
        assert!(!place.path().join("resumed.oblivio").exists());
        // A finished file is not looked at again: nobody notices that it is in ruins. (The third pass would.)
        let first = place.path().join("part-1.csv");
        let (content, times) = (fs::read(&first).unwrap(), fs::metadata(&first).unwrap());
        let replace = |bytes: &[u8]| {
            fs::write(&first, bytes).unwrap();
            let file = fs::File::options().write(true).open(&first).unwrap();
            file.set_modified(times.modified().unwrap()).unwrap();
        };
        if !extra.contains("m-oblivious") {
            replace(&vec![b'#'; content.len()]);
        }
        let output = place.output(&saved);
        replace(&content);
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{messages}");
        assert!(
            messages.contains("note: going on from state after "),
            "{messages}"
        );
        assert!(
            place.read("whole.oblivio") == place.read("resumed.oblivio"),
            "{extra}"
        );
        // Nothing is left to go on with.
        assert!(!place.path().join("state").exists());
        fs::remove_file(place.path().join("resumed.oblivio")).unwrap();
    }
}

#[test]
fn a_checkpoint_is_good_for_one_fit_only() {
    let place = Place::new();
    place.run("simulate ridge --rows 40000 -o t.csv");
    let fit = "fit t.csv --sensitive s --target y --components 20 -o m.oblivio --checkpoint state --checkpoint-every 0";
    place.run(fit);
    assert_eq!(place.names(), ["m.oblivio", "t.csv"]);
    // One left behind by other settings, and one that is no checkpoint.
    fs::write(place.path().join("state"), foreign_checkpoint()).unwrap();
    let refused = |line: &str| {
        let output = place.output(line);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(fit).contains("this is not a checkpoint of `oblivio fit`"));
    place.write("state", "not one");
    assert!(refused(fit).contains("state"));
    let exact = "fit t.csv --sample 50 --sensitive s --target y -o m.oblivio --checkpoint other";
    assert!(refused(exact).contains("give --components too"));
}

/// A checkpoint that the engine made for someone else.
fn foreign_checkpoint() -> Vec<u8> {
    let columns = vec![Column::numbers("x", (0..50).map(f64::from).collect())];
    let settings = FeatureSettings {
        kernel: "rbf".parse().unwrap(),
        components: oblivio_kernels::Components::new(5),
        strength: 1.0,
        partition: oblivio::partition::PartitionRule::default(),
        reference: Reference::All,
        seed: 0,
    };
    let mut survey = oblivio::survey::Survey::new(0);
    survey.update(&columns, &[], None).unwrap();
    let (encoder, fit) = survey
        .begin_features(Scaling::Raw, &settings, &Watch::default())
        .unwrap();
    oblivio::model::Checkpoint::of_features(&encoder, &fit, "mine".into())
        .to_bytes()
        .unwrap()
}

/// What a small table needs, and a tenth of the large file on top, is limit enough for the large one.
///
/// Much of the address space is reserved and never touched (matrix products reserve twice the cache), so that the small
/// table says how much there is.
#[cfg(target_os = "linux")]
#[test]
fn a_large_fit_keeps_within_a_limit() {
    let place = Place::new();
    let fit = |table: &str| {
        format!(
            "fit {table} --sensitive s --cells 4 --target y --components 10 --threads 1 -o m.oblivio"
        )
    };
    place.run("simulate ridge --rows 50000 -o small.csv");
    place.run("simulate ridge --rows 2000000 -o large.csv");
    let size = fs::metadata(place.path().join("large.csv")).unwrap().len() / 1024;
    let limited = |limit: u64, line: &str| {
        let program = env!("CARGO_BIN_EXE_oblivio");
        let script = format!("ulimit -v {limit}; exec '{program}' {line}");
        let mut bash = Command::new("bash");
        bash.current_dir(place.path())
            .env("MALLOC_ARENA_MAX", "1")
            .args(["-c", &script]);
        bash.output().unwrap()
    };
    // The least limit, to a megabyte, that the small table keeps to.
    let (mut low, mut high) = (0, 1 << 23);
    while high - low > 1024 {
        let middle = u64::midpoint(low, high);
        if limited(middle, &fit("small.csv")).status.success() {
            high = middle;
        } else {
            low = middle;
        }
    }
    let output = limited(high + size / 10, &fit("large.csv"));
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{high} + {size} kB: {messages}");
    // Nor is it ever in memory.
    let peak = peak(&place, &fit("large.csv"));
    assert!(10 * peak < 5 * size, "{peak} kB for a file of {size} kB");
}

#[test]
fn landmarks_on_the_command_line_are_those_of_the_engine() {
    let place = Place::with_applicants(300);
    place.run("fit train.csv --sensitive sex --target success --drop admitted,region,age -o exact.oblivio");
    place.run("fit train.csv --sensitive sex --target success --drop admitted,region,age --components 300 -o all.oblivio");
    let scores_of = |model: &str| scores(&place.run(&format!("predict {model} new.csv")));
    assert!(close(
        &scores_of("exact.oblivio"),
        &scores_of("all.oblivio"),
        1e-8
    ));
    let inspected = place.json("inspect all.oblivio --json");
    assert!(inspected["points"].as_u64().unwrap() <= 300);
    place.run("fit train.csv --sensitive sex --drop admitted,region,age,success --components 7 -o z.oblivio");
    let features = place.run("transform z.oblivio new.csv");
    assert!(features.starts_with("z0,z1,z2,z3,z4,z5,z6\n"));
}

#[test]
fn a_refreshed_model_has_new_offsets_and_says_what_moved() {
    let place = Place::new();
    place.run("simulate ridge --rows 4000 --seed 1 -o train.csv");
    place.run("simulate ridge --rows 4000 --seed 2 --mix 0.2 -o later.csv");
    place.run("fit train.csv --sensitive s --cells 4 --target y --components 30 -o m.oblivio");
    let drift = place.json("refresh m.oblivio later.csv -o m2.oblivio --json");
    let cells = drift["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert!(
        cells
            .iter()
            .any(|cell| cell["z"].as_f64().unwrap().abs() > 8.0)
    );
    let gap = |model: &str| {
        let report = place.json(&format!("predict {model} later.csv -o s.csv --json"));
        report["correlation-ratio"]["after"].as_f64().unwrap()
    };
    assert!(gap("m.oblivio") > 0.01 && gap("m2.oblivio") < 1e-9);
}

/// A gigabyte is enough for any number of rows, whatever the matrix products reserve.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_address_space_is_kept_or_named() {
    let place = Place::new();
    place.run("simulate ridge --rows 30000 -o t.csv");
    let limited = |kilobytes: u64| {
        let program = env!("CARGO_BIN_EXE_oblivio");
        let fit = "fit t.csv --sensitive s --cells 4 --target y --components 10 -o m.oblivio";
        let script = format!("ulimit -v {kilobytes}; exec '{program}' {fit}");
        let mut bash = Command::new("bash");
        bash.current_dir(place.path()).args(["-c", &script]);
        bash.output().unwrap()
    };
    let output = limited(1_000_000);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() || messages.contains("address space is limited"),
        "{messages}"
    );
    let refused = limited(150_000);
    let messages = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && messages.contains("raise the limit"),
        "{messages}"
    );
}

#[test]
fn machines_on_landmarks_need_no_features_in_memory() {
    let place = Place::new();
    for (seed, name) in ["part-1.csv", "part-2.parquet"].iter().enumerate() {
        place.run(&format!(
            "simulate admissions --rows 2000 --seed {seed} -o {name}"
        ));
    }
    let fit = "fit part-1.csv part-2.parquet --sensitive sex,age --cells 3 --target admitted --drop success,region --components 15";
    for extra in [
        "--learner svm --class-weight balanced",
        "--learner svm --mode m-oblivious --reference all",
        "--learner svm --mode sensitive-free --parity equal-opportunity --epsilon 0.1",
        "--learner logistic --threshold base-rate --reference half",
    ] {
        place.run(&format!("{fit} {extra} -o kept.oblivio"));
        place.run(&format!("{fit} {extra} --memory 0 -o passing.oblivio"));
        assert!(
            place.read("kept.oblivio") == place.read("passing.oblivio"),
            "{extra}"
        );
    }
}

#[test]
fn exact_machines_need_no_whole_matrix() {
    let place = Place::new();
    place.run("simulate admissions --rows 700 --seed 1 -o train.csv");
    let fit =
        "fit train.csv --sensitive sex --target admitted --drop success,region,age --learner svm";
    let error = |extra: &str| {
        let json = place.json(&format!("{fit} {extra} --json -o m.oblivio"));
        assert_eq!(json["converged"], true);
        json["training-error"].as_f64().unwrap()
    };
    assert_eq!(error(""), error("--memory 1"));
}

#[test]
fn every_subcommand_that_is_shown_has_a_manual_page() {
    let place = Place::new();
    place.run("man pages");
    let page = |name: &str| String::from_utf8(place.read(&format!("pages/{name}.1"))).unwrap();
    assert!(page("oblivio").contains("fit(1)"));
    let help = place.run("--help");
    let commands = help.split_once("Commands:").unwrap().1;
    let commands = commands.split_once("Options:").unwrap().0;
    let names: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.contains(&"fit") && !names.contains(&"man"), "{help}");
    for name in names {
        assert!(page(&format!("oblivio-{name}")).contains(name));
    }
}
