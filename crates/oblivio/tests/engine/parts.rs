//! A fit in parts: surveys and shares of parts of a table join to what one pass over all of it finds.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::features::FeatureSettings;
use oblivio::fit::StreamFit;
use oblivio::model::Checkpoint;
use oblivio::moments::{Batch, SensitiveRows};
use oblivio::partition::{Estimator, Missing, PartitionRule};
use oblivio::reference::Reference;
use oblivio::share::Share;
use oblivio::survey::Survey;
use oblivio::{Column, Encoder, Error, Fit, Mode, Model, Sensitive, Settings, Transformer, Watch};
use oblivio_base::{Named, Scaling};
use oblivio_kernels::Components;
use oblivio_simulate::Simulation;
use proptest::prelude::*;

fn watch() -> Watch {
    Watch::default()
}

/// A table with text, numbers and a weight of zero here and there.
#[derive(Clone)]
struct Table {
    features: Vec<Column>,
    sensitive: Vec<Column>,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl Table {
    fn new(rows: usize) -> Self {
        let table = Simulation::from_name("admissions").unwrap();
        let table = table.table(rows, 4).unwrap();
        let pick = |names: &[&str]| -> Vec<Column> {
            let named = |c: &&Column| names.contains(&c.name.as_str());
            table.sensitive.iter().filter(named).cloned().collect()
        };
        Self {
            targets: table.targets[0].to_numbers().unwrap(),
            weights: (0..rows).map(|k| [1.0, 2.0, 0.0, 0.5][k * 7 % 4]).collect(),
            features: table.features,
            sensitive: pick(&["sex", "age"]),
        }
    }

    fn select(&self, rows: &[usize]) -> Self {
        let columns = |columns: &[Column]| -> Vec<Column> {
            columns.iter().map(|c| c.select(rows)).collect()
        };
        let numbers = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self {
            features: columns(&self.features),
            sensitive: columns(&self.sensitive),
            targets: numbers(&self.targets),
            weights: numbers(&self.weights),
        }
    }

    fn len(&self) -> usize {
        self.targets.len()
    }

    fn counted(&self) -> usize {
        self.weights.iter().filter(|w| **w > 0.0).count()
    }

    /// The parts that begin at these rows.
    fn parts(&self, cuts: &[usize]) -> Vec<Self> {
        let ends = cuts.iter().skip(1).copied().chain([self.len()]);
        let ranges = cuts.iter().zip(ends);
        ranges
            .map(|(from, to)| self.select(&(*from..to).collect::<Vec<_>>()))
            .collect()
    }

    fn survey(&self, start: usize, total: Option<usize>) -> Survey {
        let mut survey = Survey::part(SEED, start, total);
        survey
            .update(&self.features, &self.sensitive, Some(&self.weights))
            .unwrap();
        survey
    }

    fn add(&self, encoder: &Encoder, update: &mut dyn FnMut(Batch) -> oblivio::Result<()>) {
        let (points, _) = encoder.encode(&self.features).unwrap();
        let sensitive = Sensitive::new(self.sensitive.clone(), self.len()).unwrap();
        update(Batch {
            points: &points,
            sensitive: SensitiveRows::Columns(&sensitive),
            targets: Some(&self.targets),
            weights: Some(&self.weights),
        })
        .unwrap();
    }

    fn share(&self, plan: &[u8], start: usize) -> Share {
        let mut share = Share::new(Checkpoint::from_bytes(plan).unwrap(), start).unwrap();
        let encoder = share.encoder().clone();
        self.add(&encoder, &mut |batch| share.update(batch, &watch()));
        share
    }

    fn scores(&self, model: &Model) -> Vec<f64> {
        let columns = [&self.features[..], &self.sensitive].concat();
        model.predict(&columns, &watch()).unwrap()[0].scores.clone()
    }
}

const SEED: u64 = 5;

fn settings(estimator: &str) -> Settings {
    Settings {
        kernel: "rbf(gamma=0.2)".parse().unwrap(),
        components: Some(Components::new(30)),
        penalty: 0.1,
        seed: SEED,
        partition: PartitionRule {
            estimator: Estimator::named(estimator).unwrap(),
            ..PartitionRule::default()
        },
        ..Settings::default()
    }
}

fn begin(survey: Survey, scaling: Scaling, settings: &Settings) -> (Encoder, StreamFit) {
    let components = settings.components.unwrap();
    survey
        .begin(scaling, settings, components, &watch())
        .unwrap()
}

fn plan(encoder: &Encoder, fit: &StreamFit) -> Vec<u8> {
    let checkpoint = Checkpoint::of_fit(encoder, fit, String::new());
    checkpoint.to_bytes().unwrap()
}

fn model(encoder: Encoder, fit: Fit, settings: &Settings) -> Model {
    Model::new(encoder, fit, "y", settings).0
}

/// One pass over the whole table, in its order.
fn in_one(table: &Table, scaling: Scaling, settings: &Settings) -> Model {
    let (encoder, mut fit) = begin(table.survey(0, None), scaling, settings);
    table.add(&encoder, &mut |batch| fit.update(batch, &watch()));
    model(encoder, fit.finish(&watch()).unwrap(), settings)
}

/// What travels is bytes, from part to part in their order.
fn joined(surveys: &[Survey]) -> Survey {
    let bytes = |survey: &Survey| Survey::from_bytes(&survey.to_bytes().unwrap()).unwrap();
    let mut all = bytes(&surveys[0]);
    for later in &surveys[1..] {
        all.join(&bytes(later)).unwrap();
    }
    all
}

fn starts(parts: &[Table]) -> Vec<usize> {
    let rows = parts.iter().map(Table::counted);
    let sums = rows.scan(0, |sum, rows| {
        *sum += rows;
        Some(*sum - rows)
    });
    sums.collect()
}

fn surveys(parts: &[Table]) -> Survey {
    let total = parts.iter().map(Table::counted).sum();
    let parts = parts.iter().zip(starts(parts));
    let surveys = parts.map(|(part, start)| part.survey(start, Some(total)));
    joined(&surveys.collect::<Vec<_>>())
}

fn in_parts(table: &Table, cuts: &[usize], scaling: Scaling, settings: &Settings) -> Model {
    let parts = table.parts(cuts);
    let (encoder, mut fit) = begin(surveys(&parts), scaling, settings);
    let plan = plan(&encoder, &fit);
    let mut all = Share::new(Checkpoint::from_bytes(&plan).unwrap(), 0).unwrap();
    for (part, start) in parts.iter().zip(starts(&parts)) {
        let share = part.share(&plan, start).to_bytes(&watch()).unwrap();
        let share = all.read(&share).unwrap();
        all.join(&share, &watch()).unwrap();
    }
    assert_eq!(all.rows(), table.counted());
    fit.absorb(&all, &watch()).unwrap();
    model(encoder, fit.finish(&watch()).unwrap(), settings)
}

fn apart(table: &Table, a: &Model, b: &Model) -> f64 {
    let (a, b) = (table.scores(a), table.scores(b));
    let size = a.iter().fold(0.0_f64, |size, v| size.max(v.abs()));
    let differences = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / size);
    differences.fold(0.0, f64::max)
}

#[test]
fn parts_amount_to_the_whole_and_the_same_parts_to_the_same_bits() {
    let table = Table::new(900);
    for estimator in ["cells", "smooth"] {
        for mode in [Mode::Plain, Mode::Oblivious, Mode::SensitiveFree] {
            for scaling in [Scaling::Raw, Scaling::Standard] {
                let settings = Settings {
                    mode,
                    ..settings(estimator)
                };
                let one = in_one(&table, scaling, &settings);
                for cuts in [&[0][..], &[0, 400], &[0, 1, 2, 300, 300, 500, 899]] {
                    let several = in_parts(&table, cuts, scaling, &settings);
                    let apart = apart(&table, &one, &several);
                    assert!(apart < 1e-10, "{estimator} {mode:?} {cuts:?}: {apart}");
                    let again = in_parts(&table, cuts, scaling, &settings);
                    assert_eq!(several.to_bytes().unwrap(), again.to_bytes().unwrap());
                }
            }
        }
    }
}

/// Landmarks, kernels and cells are settled by the values of the rows, not by their order.
#[test]
fn the_order_of_the_rows_does_not_matter() {
    let table = Table::new(700);
    let backwards: Vec<usize> = (0..table.len()).rev().collect();
    let interleaved: Vec<usize> = (0..7).flat_map(|k| (k..table.len()).step_by(7)).collect();
    for kernel in ["rbf(gamma=median)", "laplacian(gamma=scale)"] {
        for estimator in ["auto", "cells", "smooth"] {
            let settings = Settings {
                kernel: kernel.parse().unwrap(),
                ..settings(estimator)
            };
            let one = in_one(&table, Scaling::Standard, &settings);
            for order in [&backwards, &interleaved] {
                let moved = table.select(order);
                let other = in_parts(&moved, &[0, 123, 456], Scaling::Standard, &settings);
                let apart = apart(&table, &one, &other);
                assert!(apart < 1e-10, "{kernel} {estimator}: {apart}");
            }
        }
    }
}

/// Beyond the rows that a sample holds, parts draw the sample that the whole would.
#[test]
fn a_large_table_is_sampled_alike_in_parts() {
    let table = Table::new(100_000);
    assert!(table.counted() > 1 << 16);
    let parts = table.parts(&[0, 10, 40_000, 77_777]);
    let settings = settings("cells");
    let (encoder, fit) = begin(table.survey(0, None), Scaling::Raw, &settings);
    let (same, other) = begin(surveys(&parts), Scaling::Raw, &settings);
    assert_eq!(plan(&encoder, &fit), plan(&same, &other));
    // A part keeps about its share of the sample, not all it can.
    let small = parts[2].survey(0, Some(10_000_000)).to_bytes().unwrap();
    let large = parts[2].survey(0, None).to_bytes().unwrap();
    assert!(small.len() * 50 < large.len());
}

#[test]
fn features_in_parts_are_those_of_the_whole() {
    let table = Table::new(500);
    let of = |strength| FeatureSettings {
        kernel: "rbf(gamma=0.2)".parse().unwrap(),
        components: Components::new(20),
        strength,
        partition: PartitionRule::default(),
        reference: Reference::All,
        seed: SEED,
    };
    for strength in [0.0, 1.0] {
        let settings = of(strength);
        let begin = |survey: Survey| {
            survey
                .begin_features(Scaling::Raw, &settings, &watch())
                .unwrap()
        };
        let (encoder, mut fit) = begin(table.survey(0, None));
        table.add(&encoder, &mut |batch| fit.update(batch, &watch()));
        let parts = table.parts(&[0, 200, 350]);
        let (same, mut other) = begin(surveys(&parts));
        let checkpoint = Checkpoint::of_features(&same, &other, String::new());
        let plan = checkpoint.to_bytes().unwrap();
        let mut all = Share::new(checkpoint, 0).unwrap();
        for (part, start) in parts.iter().zip(starts(&parts)) {
            all.join(&part.share(&plan, start), &watch()).unwrap();
        }
        other.absorb(&all, &watch()).unwrap();
        let rows = |encoder, fit: oblivio::features::FeatureFit| {
            let (features, _) = fit.finish(&watch()).unwrap();
            let transformer = Transformer { encoder, features };
            let (points, _) = transformer.encoder.encode(&table.features).unwrap();
            let sensitive = Sensitive::new(table.sensitive.clone(), table.len()).unwrap();
            let features = &transformer.features;
            let (rows, _) = features
                .transform(&points, Some(&sensitive), &watch())
                .unwrap();
            rows
        };
        let (one, several) = (rows(encoder, fit), rows(same, other));
        let pairs = one.iter().zip(&several);
        assert!(pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) < 1e-10);
    }
}

/// Rows of weight zero are as good as not there, whatever their sensitive values are.
#[test]
fn rows_of_weight_zero_change_nothing() {
    let table = Table::new(600);
    let counted: Vec<usize> = (0..table.len())
        .filter(|&i| table.weights[i] > 0.0)
        .collect();
    let mut odd = table.clone();
    for column in &mut odd.sensitive {
        let (levels, codes) = column.to_categories();
        let text = |row: usize| (odd.weights[row] > 0.0).then(|| &levels[codes[row] as usize][..]);
        *column = if let Ok(mut numbers) = column.to_numbers() {
            let rows = numbers.iter_mut().zip(&odd.weights);
            rows.for_each(|(value, weight)| {
                if *weight == 0.0 {
                    *value = f64::NAN;
                }
            });
            Column::numbers(column.name.clone(), numbers)
        } else {
            let rare = |row: usize| text(row).or((row % 8 == 2).then_some("nobody else"));
            Column::texts(column.name.clone(), (0..odd.targets.len()).map(rare))
        };
    }
    for estimator in ["cells", "smooth"] {
        let settings = settings(estimator);
        let one = in_one(&table.select(&counted), Scaling::Raw, &settings);
        for cuts in [&[0][..], &[0, 250]] {
            let several = in_parts(&odd, cuts, Scaling::Raw, &settings);
            let apart = apart(&table, &one, &several);
            assert!(apart < 1e-10, "{estimator} {cuts:?}: {apart}");
        }
    }
}

/// Rows that are left out because they miss a sensitive value are counted, also where a part has no others.
#[test]
fn rows_that_are_left_out_stay_counted() {
    let mut table = Table::new(600);
    let ages = table
        .sensitive
        .iter_mut()
        .find(|c| c.name == "age")
        .unwrap();
    let mut values = ages.to_numbers().unwrap();
    values[..250].fill(f64::NAN);
    *ages = Column::numbers("age", values);
    let missing = table.weights[..250].iter().filter(|w| **w > 0.0).count();
    for estimator in ["cells", "smooth"] {
        let mut settings = settings(estimator);
        settings.partition.policies.missing = Missing::SensitiveFree;
        for cuts in [&[0][..], &[0, 100, 240, 400]] {
            let parts = table.parts(cuts);
            let (encoder, mut fit) = begin(surveys(&parts), Scaling::Raw, &settings);
            let plan = plan(&encoder, &fit);
            let mut all = Share::new(Checkpoint::from_bytes(&plan).unwrap(), 0).unwrap();
            for (part, start) in parts.iter().zip(starts(&parts)) {
                all.join(&part.share(&plan, start), &watch()).unwrap();
            }
            fit.absorb(&all, &watch()).unwrap();
            let summary = fit.finish(&watch()).unwrap().summary;
            assert_eq!(summary.uses.sensitive_free, missing, "{estimator} {cuts:?}");
        }
    }
}

#[test]
fn a_part_counts_once_and_in_its_turn() {
    let table = Table::new(300);
    let parts = table.parts(&[0, 100, 200]);
    let starts = starts(&parts);
    let surveys: Vec<Survey> = parts
        .iter()
        .zip(&starts)
        .map(|(part, start)| part.survey(*start, None))
        .collect();
    let mut all = surveys[0].clone();
    all.join(&surveys[1]).unwrap();
    let before = all.to_bytes().unwrap();
    for wrong in [&surveys[0], &surveys[1], &all.clone()] {
        let refused = all.join(wrong).unwrap_err();
        assert!(matches!(refused, Error::OutOfTurn { .. }), "{refused}");
    }
    assert_eq!(all.to_bytes().unwrap(), before, "a refusal leaves no trace");
    all.join(&surveys[2]).unwrap();

    let (encoder, fit) = begin(all, Scaling::Raw, &settings("cells"));
    let plan = plan(&encoder, &fit);
    let shares: Vec<Share> = parts
        .iter()
        .zip(&starts)
        .map(|(part, start)| part.share(&plan, *start))
        .collect();
    let mut all = shares[0].clone();
    all.join(&shares[1], &watch()).unwrap();
    for wrong in [&shares[0], &shares[1]] {
        let refused = all.join(wrong, &watch()).unwrap_err();
        assert!(matches!(refused, Error::OutOfTurn { .. }), "{refused}");
    }
    let skipped = shares[0].clone().join(&shares[2], &watch()).unwrap_err();
    assert!(matches!(skipped, Error::OutOfTurn { .. }));
}

/// What docs/clusters.md says of the network: $4(m + 2)(m + 3) + 8K(m + 2)$ bytes and a header.
#[test]
fn a_share_is_half_a_matrix_and_a_row_for_every_cell() {
    let mut table = Table::new(2000);
    table.sensitive.retain(|column| column.name == "sex");
    let (sexes, _) = table.sensitive[0].to_categories();
    for count in [20, 150] {
        let settings = Settings {
            components: Some(Components::new(count)),
            ..settings("cells")
        };
        let (encoder, fit) = begin(table.survey(0, None), Scaling::Raw, &settings);
        let share = table.share(&plan(&encoder, &fit), 0);
        let (m, cells) = (count, sexes.len());
        let said = 4 * (m + 2) * (m + 3) + 8 * cells * (m + 2);
        let bytes = share.to_bytes(&watch()).unwrap().len();
        let header = bytes.checked_sub(said);
        assert!(header.is_some_and(|header| header < 4000), "{bytes} {said}");
    }
}

#[test]
fn surveys_of_other_columns_do_not_join() {
    let table = Table::new(40);
    let parts = table.parts(&[0, 20]);
    let first = parts[0].survey(0, None);
    let start = parts[0].counted();
    let mut renamed = parts[1].clone();
    renamed.features[0].name = "another".into();
    let mut kind = parts[1].clone();
    kind.features[0] = if kind.features[0].to_numbers().is_ok() {
        Column::texts(
            kind.features[0].name.clone(),
            vec![Some("text"); kind.len()],
        )
    } else {
        Column::numbers(kind.features[0].name.clone(), vec![1.0; kind.len()])
    };
    let mut sensitive = parts[1].clone();
    sensitive.sensitive.pop();
    for other in [renamed, kind, sensitive] {
        let refused = first.clone().join(&other.survey(start, None));
        assert!(matches!(refused, Err(Error::UnlikeMoments { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Bytes come over a network: whatever they are, they are read or refused, and what was read can be joined or refused.
    #[test]
    fn damaged_bytes_are_refused_or_harmless(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        truncate in any::<bool>(),
    ) {
        let table = Table::new(30);
        let survey = table.survey(0, None);
        let (encoder, fit) = begin(survey.clone(), Scaling::Raw, &settings("cells"));
        let plan = plan(&encoder, &fit);
        let share = table.share(&plan, 0);
        let damage = |mut bytes: Vec<u8>| {
            for (at, value) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            if truncate {
                bytes.truncate(cut.index(bytes.len()));
            }
            bytes
        };
        if let Ok(mut read) = Survey::from_bytes(&damage(survey.to_bytes().unwrap())) {
            let _ = read.join(&table.survey(survey.rows(), None));
            let components = Components::new(3);
            let _ = read.begin(Scaling::Raw, &settings("cells"), components, &watch());
        }
        if let Ok(read) = share.read(&damage(share.clone().to_bytes(&watch()).unwrap())) {
            let _ = share.clone().join(&read, &watch());
        }
        if let Ok(checkpoint) = Checkpoint::from_bytes(&damage(plan)) {
            let _ = Share::new(checkpoint, 0);
        }
    }
}
