//! Damaged files and texts: they are read or refused, and what was read can be used; nothing panics, hangs or takes memory that the
//! file does not account for. `OBLIVIO_FUZZ` says how many of each are tried.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod readers;
mod seeds;
mod texts;

use oblivio_fuzz::{File, Target, fuzz};

/// A target whose inputs are files that the engine wrote, damaged.
fn damaged(name: &'static str, usual: u64, seeds: &[Vec<u8>], read: impl Fn(&[u8]) -> bool + Sync) {
    let target = Target {
        name,
        usual,
        memory: 8 << 20,
        memory_per_byte: 64,
    };
    let files: Vec<File> = seeds.iter().map(|bytes| File::of(bytes)).collect();
    fuzz(target, seeds, |random| File::damaged(&files, random), read);
}

#[test]
fn models() {
    damaged("model", 3000, &seeds::models(), readers::model);
}

#[test]
fn features() {
    damaged(
        "features",
        3000,
        &seeds::transformers(),
        readers::transformer,
    );
}

#[test]
fn kernels() {
    damaged("kernel", 3000, &seeds::kernels(), readers::kernel);
}

#[test]
fn releases() {
    damaged("release", 3000, &seeds::releases(), readers::release);
}

#[test]
fn moments() {
    let seeds = seeds::moments();
    let sound = oblivio::Moments::from_bytes(&seeds[0]).unwrap();
    damaged("moments", 3000, &seeds, |bytes| {
        readers::moments(bytes, &sound)
    });
}

#[test]
fn checkpoints() {
    damaged(
        "checkpoint",
        3000,
        &seeds::checkpoints(),
        readers::checkpoint,
    );
}

#[test]
fn surveys() {
    let seeds = seeds::surveys();
    damaged("survey", 3000, &seeds, |bytes| {
        readers::survey(bytes, &seeds)
    });
}

#[test]
fn shares() {
    let (plan, seeds) = seeds::shares();
    damaged("share", 3000, &seeds, |bytes| readers::share(&plan, bytes));
}

/// Bytes that need not be in the container at all.
#[test]
fn containers() {
    let seeds = seeds::models();
    let target = Target {
        name: "container",
        usual: 3000,
        memory: 1 << 20,
        memory_per_byte: 64,
    };
    fuzz(
        target,
        &seeds,
        |random| {
            let mut bytes = random.pick(&seeds).clone();
            // Most of the damage where the container says what it holds.
            let mut start = bytes
                .drain(..if random.once_in(4) { 8 } else { 400 })
                .collect();
            random.damage(&mut start);
            [start, bytes].concat()
        },
        |bytes| oblivio::kind_of(bytes).is_ok(),
    );
}

/// Found by fuzzing: rows that were counted in the plan and in the sums, whose number overflowed before it was looked at.
#[test]
fn counts_that_no_table_has_are_refused() {
    let seeds = seeds::moments();
    let file = File::of(&seeds[0]);
    let text = file.document().to_string();
    let (count, most) = ("\"outside\":0", format!("\"outside\":{}", u64::MAX));
    let parts: Vec<&str> = text.split(count).collect();
    assert_eq!(parts.len(), 3, "the plan and the sums count such rows");
    for (plan, sums) in [("\"outside\":1", &most[..]), (&most, "\"outside\":1")] {
        let damaged = [parts[0], plan, parts[1], sums, parts[2]].concat();
        assert!(oblivio::Moments::from_bytes(&file.with_text(&damaged)).is_err());
    }
}
