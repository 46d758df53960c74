//! Damaged files and texts: they are read or refused, and what was read can be used; nothing panics, hangs or takes memory that the
//! file does not account for. `OBLIVIO_FUZZ` says how many of each are tried.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod findings;
mod large;
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
        share: 1,
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
    let sound = oblivio::moments::Moments::from_bytes(&seeds[0]).unwrap();
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
        share: 1,
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
        |bytes| oblivio::model::kind_of(bytes).is_ok(),
    );
}

/// Files of which a square of one of their dimensions would show.
#[test]
fn large_files() {
    let seeds = large::files();
    let target = Target {
        name: "large",
        usual: 100,
        memory: 1 << 20,
        memory_per_byte: 64,
        share: 100,
    };
    let files: Vec<File> = seeds.iter().map(|bytes| File::of(bytes)).collect();
    let damaged = |random: &mut _| File::damaged(&files, random);
    fuzz(target, &seeds, damaged, large::read);
}
