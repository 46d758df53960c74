//! The model file: what is written is read back to the bit, and bytes that mean harm are refused without a panic.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::features::FeatureSettings;
use oblivio::model::{KernelModel, KernelSettings, kind_of};
use oblivio::partition::{Binning, CellCount, Missing, Policies};
use oblivio::reference::Reference;
use oblivio::sensitive::Kind;
use oblivio::{
    Column, Error, Mode, Model, Points, Roles, Sensitive, Settings, Training, Transformer, Watch,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_fuzz::{File, edits};
use oblivio_kernels::learn::Intercept;
use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::{Value, json};

const ROWS: usize = 12;

/// A table with dependence: `age` moves `x`, `sex` moves both.
fn table() -> Vec<Column> {
    let step = |i: usize, period: usize| (i % period) as f64;
    let number = |name: &str, value: &dyn Fn(usize) -> f64| {
        Column::numbers(name, (0..ROWS).map(value).collect())
    };
    vec![
        number("x", &|i| 0.3 * step(i, 5) + step(i, 2) + 0.1),
        Column::texts(
            "school",
            (0..ROWS).map(|i| Some(["home", "public"][i % 3 / 2])),
        ),
        Column::texts("sex", (0..ROWS).map(|i| Some(["F", "M"][i % 2]))),
        number("age", &|i| 17.5 + 2.0 * step(i, 7)),
        number("y", &|i| 1.0 / 3.0 + step(i, 5) - 0.7 * step(i, 2)),
    ]
}

fn fitted(sensitive: &[Column], settings: &Settings) -> Model {
    let table = table();
    let roles = Roles {
        features: &table[..2],
        sensitive,
        target: &table[4],
        labels: None,
        weights: None,
    };
    let fit = Model::fit(roles, Scaling::Standard, settings, &Watch::default());
    fit.unwrap().0
}

/// Two sensitive columns, a categorical and a continuous one.
fn model() -> Model {
    let mut settings = Settings::default();
    settings.partition.cells = CellCount::Given(3);
    fitted(&table()[2..4], &settings)
}

/// The same with aligned scores.
fn aligned(method: AlignMethod) -> Model {
    let mut settings = Settings {
        align: Some(AlignRule {
            method,
            strength: 0.75,
        }),
        ..Settings::default()
    };
    settings.partition.cells = CellCount::Given(3);
    fitted(&table()[2..4], &settings)
}

/// A model that has another for rows whose sex is missing.
fn with_fallback(mode: Mode) -> Model {
    let mut settings = Settings {
        mode,
        reference: if mode == Mode::MOblivious {
            Reference::Half
        } else {
            Reference::All
        },
        ..Settings::default()
    };
    settings.partition.policies.missing = Missing::SensitiveFree;
    let sex = (0..ROWS).map(|i| (i != 5).then_some(["F", "M"][i % 2]));
    fitted(&[Column::texts("sex", sex)], &settings)
}

/// One model for every part a file can have.
fn models() -> Vec<Model> {
    let plain = Settings {
        mode: Mode::Plain,
        ..Settings::default()
    };
    let m_oblivious = Settings {
        mode: Mode::MOblivious,
        reference: Reference::Half,
        intercept: Intercept::Fitted,
        kernel: "0.1 * (rbf(gamma=median) + linear) * matern32 + poly(degree=2)"
            .parse()
            .unwrap(),
        strength: 0.3,
        penalty: 1.0 / 7.0,
        ..Settings::default()
    };
    let mut bounded = Settings::default();
    bounded.partition.binning = Binning::Dyadic;
    bounded.partition.bounds = vec![("age".into(), 0.1, 99.9)];
    let mut missing = Settings::default();
    missing.partition.policies = Policies {
        missing: Missing::Category,
        ..Policies::for_unknown(UnseenCategory::Population)
    };
    let sometimes = Column::texts(
        "sex",
        (0..ROWS).map(|i| (i % 4 < 3).then_some(["F", "M"][i % 2])),
    );
    let table = table();
    let mut joined = Settings::default();
    joined.partition.min_rows = Some(4);
    joined.partition.cells = CellCount::Given(4);
    vec![
        model(),
        with_fallback(Mode::Oblivious),
        // On half the rows, so that the second model has points of its own.
        with_fallback(Mode::MOblivious),
        fitted(&table[2..4], &joined),
        fitted(&[], &Settings::default()),
        fitted(&table[2..3], &plain),
        fitted(&table[2..3], &m_oblivious),
        fitted(&table[3..4], &bounded),
        fitted(&[sometimes], &missing),
        aligned(AlignMethod::LocationScale),
        aligned(AlignMethod::Quantile),
    ]
}

#[test]
fn what_is_written_is_read_back_to_the_bit() {
    let mut rows = table();
    // Values the fit has not seen: new points, and an age between those of the reference.
    rows[0] = Column::numbers("x", (0..ROWS).map(|i| (i as f64).sin()).collect());
    rows[3] = Column::numbers("age", (0..ROWS).map(|i| 18.0 + i as f64).collect());
    for model in models() {
        let bytes = model.to_bytes().unwrap();
        let read = Model::from_bytes(&bytes).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.to_bytes().unwrap(), bytes);
        let scores = |model: &Model| -> Vec<u64> {
            let prediction = model.predict(&rows, &Watch::default()).unwrap();
            let scores = prediction.iter().flat_map(|p| &p.scores);
            scores.map(|v| v.to_bits()).collect()
        };
        assert_eq!(scores(&read), scores(&model));
    }
}

#[test]
fn a_later_format_is_told_apart_from_a_damaged_file() {
    let too_new = Error::ModelTooNew { found: 2, known: 1 };
    let file = File::of(&model().to_bytes().unwrap());
    let with = |text: Value| Model::from_bytes(&file.with_text(&text.to_string())).unwrap_err();
    let mut later = file.document();
    later["format"] = json!(2);
    assert_eq!(with(later), too_new);
    // Nothing else in it need be known.
    assert_eq!(with(json!({ "format": 2, "something": "new" })), too_new);
    assert!(matches!(
        with(json!({ "something": "new" })),
        Error::InvalidModel { .. }
    ));
}

#[test]
fn a_file_of_someone_else_is_refused() {
    let data = 1.5f64.to_le_bytes();
    let tensor = TensorView::new(Dtype::F64, vec![1], &data).unwrap();
    let foreign = serialize([("coefficients", tensor)], None).unwrap();
    let message = |bytes: &[u8]| Model::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(
        message(&foreign),
        "this is not a readable model: it is a safetensors file but not one of oblivio's"
    );
    for (kind, bytes) in [("features", features()), ("kernel", kernel())] {
        assert_eq!(kind_of(&bytes).unwrap(), kind);
        assert!(message(&bytes).contains(&format!("of kind `{kind}`, not `ridge`")));
    }
}

/// Each of these would mislead a reader that believed it.
#[test]
fn nonsense_in_the_header_is_refused() {
    let file = File::of(&model().to_bytes().unwrap());
    let edges = "/header/cells/partition/axes/1/cut/bins/edges";
    let found = file.document().pointer(edges).cloned().unwrap();
    assert_eq!(found.as_array().unwrap().len(), 2);
    let edits = [
        ("/format", json!(-1)),
        ("/format", json!("1")),
        ("/kind", json!("kernel")),
        ("/header/kernel", json!("")),
        ("/header/kernel", json!("rbf")),
        ("/header/kernel", json!("rbf(gamma=0)")),
        ("/header/kernel", json!("rbf(gamma=1e999)")),
        ("/header/kernel", json!("import(os)")),
        ("/header/kernel", json!("-1 * linear")),
        ("/header/kernel", json!("(".repeat(100_000))),
        ("/header/intercept", json!(null)),
        ("/header/cells/strength", json!(-0.5)),
        ("/header/cells/strength", json!(1.5)),
        ("/header/cells/mean", json!(null)),
        (edges, json!([23.0, 20.0])),
        (edges, json!([20.0, 20.0])),
        (edges, json!([20.0])),
        (
            "/header/cells/partition/axes/1/cut/bins/bounds",
            json!([30.0, 17.0]),
        ),
        (
            "/header/cells/partition/axes/0/cut/categories/levels",
            json!([]),
        ),
        (
            "/header/cells/partition/axes/0/cut/categories/levels",
            json!(["F"]),
        ),
        ("/header/cells/partition/axes", json!([])),
        ("/header/cells/partition/keys/0/0", json!(2)),
        ("/header/cells/partition/keys/0/1", json!(3)),
        ("/header/cells/partition/keys/0/1", json!(u32::MAX)),
        ("/header/cells/partition/keys/0", json!([])),
        ("/header/cells/partition/keys/1", json!([0, 0])),
        ("/header/cells/partition/keys", json!([])),
        ("/header/cells/partition/mass/0", json!(0.0)),
        ("/header/cells/partition/mass/0", json!(-1.0)),
        ("/header/cells/partition/mass", json!([1.0])),
        ("/header/cells/partition/counts", json!([1])),
        ("/header/encoder/features", json!([])),
        ("/header/encoder/features/0/number/scale", json!(0.0)),
        ("/header/encoder/features/0/number/scale", json!(-1.0)),
        ("/header/encoder/features/0/number/mean", json!(null)),
        ("/header/encoder/features/1/categories/levels", json!([])),
        (
            "/header/encoder/features/1/categories/levels",
            json!(["home"]),
        ),
    ];
    for (pointer, value) in edits {
        let mut document = file.document();
        *document.pointer_mut(pointer).expect(pointer) = value.clone();
        let read = Model::from_bytes(&file.with_text(&document.to_string()));
        assert!(read.is_err(), "{pointer} = {value} was read");
    }
    let text = file.document().to_string();
    for number in ["NaN", "Infinity", "1e999", "-1e999", "0x10", "01"] {
        let hostile = text.replacen("\"strength\":1.0", &format!("\"strength\":{number}"), 1);
        assert_ne!(hostile, text);
        assert!(Model::from_bytes(&file.with_text(&hostile)).is_err());
    }
    let deep = format!("{{\"format\":1,\"kind\":{}", "[".repeat(100_000));
    assert!(Model::from_bytes(&file.with_text(&deep)).is_err());
}

#[test]
fn nonsense_in_an_alignment_is_refused() {
    let refused = |model: &Model, at: &str, value: Value| {
        let file = File::of(&model.to_bytes().unwrap());
        let mut document = file.document();
        *document.pointer_mut(at).unwrap() = value;
        let read = Model::from_bytes(&file.with_text(&document.to_string()));
        assert!(read.is_err(), "{at}");
    };
    let moments = aligned(AlignMethod::LocationScale);
    let base = "/header/alignment/by/cell-moments";
    for (at, value) in [
        ("cells/0/deviation", json!(-1.0)),
        ("cells/0/mean", json!(null)),
        ("mass/0", json!(0.0)),
        ("mass/0", json!(-1.0)),
        ("mass", json!([])),
        ("cells", json!([])),
        ("cells/0", json!(null)),
        ("negligible", json!(-1.0)),
    ] {
        refused(&moments, &format!("{base}/{at}"), value);
    }
    let quantiles = aligned(AlignMethod::Quantile);
    let base = "/header/alignment/by/cell-quantiles/cells/0";
    for (at, value) in [
        ("values", json!([])),
        ("values", json!([2.0, 1.0])),
        ("ranks", json!([0.5])),
        ("ranks/0", json!(-0.1)),
        ("ranks/0", json!(1.1)),
    ] {
        refused(&quantiles, &format!("{base}/{at}"), value);
    }
    for strength in [json!(-0.1), json!(1.1), json!(null)] {
        refused(&quantiles, "/header/alignment/strength", strength);
    }
    // More cells than there are, and none at all.
    let cells = "/header/alignment/by/cell-quantiles";
    let table = json!({ "values": [1.0], "ranks": [0.5] });
    let many = json!({
        "mass": vec![1.0; 99],
        "cells": vec![table; 99],
        "negligible": 0.0,
    });
    refused(&quantiles, cells, many);
    refused(&quantiles, "/header/cells", Value::Null);
}

#[test]
fn nonsense_about_a_fallback_is_refused() {
    let model = with_fallback(Mode::MOblivious);
    assert!(model.predictor().fallback().is_some() && !model.needs_sensitive());
    let file = File::of(&model.to_bytes().unwrap());
    assert_eq!(
        file.document().pointer("/header/fallback/own-points"),
        Some(&json!(true))
    );
    let edits = [
        ("/header/fallback/intercepts", json!([])),
        ("/header/fallback/intercepts", json!([0.0, 0.0])),
        ("/header/fallback/intercepts", json!([null])),
        ("/header/fallback/own-points", json!(false)),
        ("/header/fallback/own-points", json!(3)),
        ("/header/fallback", json!({})),
        ("/header/fallback", json!([1])),
        ("/header/cells", json!(null)),
    ];
    for (pointer, value) in edits {
        let mut document = file.document();
        *document.pointer_mut(pointer).expect(pointer) = value.clone();
        let read = Model::from_bytes(&file.with_text(&document.to_string()));
        assert!(read.is_err(), "{pointer} = {value} was read");
    }
    let shared = with_fallback(Mode::Oblivious);
    let file = File::of(&shared.to_bytes().unwrap());
    let mut document = file.document();
    // There are no points of its own to be read.
    *document.pointer_mut("/header/fallback/own-points").unwrap() = json!(true);
    assert!(Model::from_bytes(&file.with_text(&document.to_string())).is_err());
    for (edit, value) in oblivio_fuzz::edits(&file.document()) {
        let hostile = file.with_text(&value.to_string());
        let read = catch_unwind(AssertUnwindSafe(|| Model::from_bytes(&hostile)));
        assert!(read.is_ok(), "{edit} panics");
    }
}

#[test]
fn nonsense_about_joined_cells_is_refused() {
    let mut settings = Settings::default();
    settings.partition.min_rows = Some(4);
    settings.partition.cells = CellCount::Given(4);
    let model = fitted(&table()[2..4], &settings);
    let file = File::of(&model.to_bytes().unwrap());
    let ends = "/header/cells/partition/ends";
    assert!(file.document().pointer(ends).is_some(), "no cell is joined");
    let edits = [
        (ends.to_owned(), json!([])),
        (ends.to_owned(), json!([[0, 3]])),
        (format!("{ends}/0"), json!([])),
        (format!("{ends}/0"), json!([1, 3])),
        (format!("{ends}/0"), json!([0, 4])),
        (format!("{ends}/0"), json!([0, u32::MAX])),
    ];
    for (pointer, value) in edits {
        let mut document = file.document();
        *document.pointer_mut(&pointer).expect(&pointer) = value.clone();
        let read = Model::from_bytes(&file.with_text(&document.to_string()));
        // Without ends every cell is where it begins, as in files of older versions.
        assert_eq!(
            read.is_ok(),
            value == json!([]) && pointer == ends,
            "{pointer} = {value}"
        );
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused_wherever_they_stand() {
    let bytes = model().to_bytes().unwrap();
    let start = bytes.len() - File::of(&bytes).data().len();
    for at in (start..bytes.len()).step_by(8) {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut hostile = bytes.clone();
            hostile[at..at + 8].copy_from_slice(&value.to_le_bytes());
            assert!(Model::from_bytes(&hostile).is_err());
        }
    }
}

#[test]
fn a_file_cut_short_or_made_longer_is_refused() {
    for (_, bytes, _) in files() {
        for length in 0..bytes.len() {
            assert!(Model::from_bytes(&bytes[..length]).is_err());
            assert!(Transformer::from_bytes(&bytes[..length]).is_err());
            assert!(KernelModel::from_bytes(&bytes[..length], &Watch::default()).is_err());
        }
        let longer = [&bytes[..], b"\0\0\0\0\0\0\0\0"].concat();
        assert!(Model::from_bytes(&longer).is_err());
    }
}

/// Tensors of sizes that no fit gives, alone and together.
#[test]
fn tensors_of_any_size_do_not_panic() {
    let file = File::of(&model().to_bytes().unwrap());
    let metadata = || Some([("oblivio".into(), file.document().to_string())].into());
    let (width, cells) = (3, 6);
    let sizes = [0, 1, 2, cells, ROWS];
    let zeros = vec![0; 8 * ROWS * ROWS];
    let view = |shape: Vec<usize>| {
        let bytes = 8 * shape.iter().product::<usize>();
        TensorView::new(Dtype::F64, shape, &zeros[..bytes]).unwrap()
    };
    let mut read = 0;
    for (rows, columns) in sizes.iter().flat_map(|&r| sizes.map(|c| (r, c))) {
        for (coefficients, offsets) in sizes.iter().flat_map(|&r| sizes.map(|c| (r, c))) {
            for columns in [columns, width] {
                let tensors = [
                    ("coefficients", view(vec![coefficients])),
                    ("offsets", view(vec![offsets])),
                    ("points", view(vec![rows, columns])),
                ];
                let bytes = serialize(tensors, metadata()).unwrap();
                if let Ok(model) = Model::from_bytes(&bytes) {
                    assert_eq!((columns, coefficients, offsets), (width, rows, cells));
                    use_model(&model);
                    read += 1;
                }
            }
        }
    }
    assert!(read > 0);
}

/// Every value of the header, and every value of the container around it, replaced by every sort of nonsense.
#[test]
fn no_edit_of_a_header_panics() {
    let mut panics = Vec::new();
    for (name, bytes, reader) in files() {
        let file = File::of(&bytes);
        let header = edits(&file.document()).into_iter();
        let header = header.map(|(edit, value)| (edit, file.with_text(&value.to_string())));
        let text = file.document().to_string();
        let container = edits(&file.container(&text)).into_iter();
        let container =
            container.map(|(edit, value)| (edit, File::assemble(&value.to_string(), &file.data())));
        for (edit, hostile) in header.chain(container) {
            if catch_unwind(AssertUnwindSafe(|| reader(&hostile))).is_err() {
                panics.push(format!("{name}: {edit}"));
            }
        }
    }
    assert!(panics.is_empty(), "panics:\n{}", panics.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        length in 0u64..500,
    ) {
        prop_assert!(Model::from_bytes(&bytes).is_err());
        // The same behind the length of a header that might be theirs.
        let framed = [&length.to_le_bytes()[..], &bytes].concat();
        prop_assert!(Model::from_bytes(&framed).is_err());
    }

    #[test]
    fn damaged_bytes_do_not_panic(
        which in 0usize..3,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (_, mut bytes, reader) = files().swap_remove(which);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        reader(&bytes);
    }

    /// Names are text, whatever characters they hold.
    #[test]
    fn any_name_survives_the_file(name in "\\PC*", level in any::<String>(), other in any::<String>()) {
        prop_assume!(level != other);
        let mut columns = table();
        columns[0].name = format!("x{name}");
        columns[2] = Column::texts(
            format!("s{name}"),
            (0..ROWS).map(|i| Some([&level[..], &other[..]][i % 2])),
        );
        columns[4].name = format!("y{name}");
        let roles = Roles {
            features: &columns[..2],
            sensitive: &columns[2..3],
            target: &columns[4],
            labels: None,
            weights: None,
        };
        let (model, _) =
            Model::fit(roles, Scaling::Raw, &Settings::default(), &Watch::default()).unwrap();
        prop_assert_eq!(Model::from_bytes(&model.to_bytes().unwrap()).unwrap(), model);
    }
}

/// The kinds of file, each with a reader that uses whatever it could read.
type Case = (&'static str, Vec<u8>, fn(&[u8]));

fn files() -> Vec<Case> {
    let read_model = |bytes: &[u8]| {
        if let Ok(model) = Model::from_bytes(bytes) {
            use_model(&model);
        }
    };
    let moments = aligned(AlignMethod::LocationScale);
    let quantiles = aligned(AlignMethod::Quantile);
    vec![
        ("ridge", model().to_bytes().unwrap(), read_model),
        ("moments", moments.to_bytes().unwrap(), read_model),
        ("quantiles", quantiles.to_bytes().unwrap(), read_model),
        ("features", features(), |bytes| {
            if let Ok(Transformer { encoder, features }) = Transformer::from_bytes(bytes) {
                let partition = features.partition();
                let columns = partition.map_or(Vec::new(), |p| p.columns().collect());
                for table in tables(&encoder, &columns) {
                    if let Ok((points, _)) = encoder.encode(&table) {
                        let sensitive = sensitive_part(&table, &columns);
                        let _ = features.transform(&points, sensitive.as_ref(), &Watch::default());
                    }
                }
            }
        }),
        ("kernel", kernel(), |bytes| {
            let read = KernelModel::from_bytes(bytes, &Watch::default());
            if let Ok(KernelModel {
                encoder, partition, ..
            }) = read
            {
                let columns: Vec<_> = partition.columns().collect();
                for table in tables(&encoder, &columns) {
                    let _ = encoder.encode(&table);
                    if let Some(sensitive) = sensitive_part(&table, &columns) {
                        let _ = partition.assign(&sensitive);
                    }
                }
            }
        }),
    ]
}

/// What anyone does with a model: predict, and print its cells.
fn use_model(model: &Model) {
    let offsets = model.predictor().offsets();
    let columns = offsets.map_or(Vec::new(), |o| o.partition.columns().collect());
    for table in tables(&model.encoder, &columns) {
        if let Ok(prediction) = model.predict(&table, &Watch::default()) {
            for prediction in prediction {
                assert_eq!(prediction.scores.len(), table[0].len());
            }
        }
    }
    if let Some(offsets) = offsets {
        for cell in 0..offsets.partition.len() {
            let _ = offsets.partition.label(cell);
        }
    }
    let _ = model.to_bytes();
}

/// Tables that fit the schema: known values, and values no reference row has.
fn tables(encoder: &oblivio::Encoder, sensitive: &[(&str, Kind)]) -> [Vec<Column>; 2] {
    [["F", "M", "F", "M"], ["F", "?", "", "M"]].map(|sexes| {
        let wild = sexes.contains(&"?");
        let numbers = if wild {
            vec![-1e300, 17.5, 1e-300, 1e12]
        } else {
            vec![17.5, 20.0, 25.0, 29.5]
        };
        let mut table: Vec<Column> = Vec::new();
        for name in encoder.columns() {
            table.push(match encoder.levels(name) {
                Some(levels) => {
                    let known = levels.iter().cycle().map(|level| Some(level.as_str()));
                    Column::texts(name, known.take(4))
                }
                None => Column::numbers(name, numbers.clone()),
            });
        }
        for (name, kind) in sensitive {
            table.push(match kind {
                Kind::Categorical => Column::texts(*name, sexes.map(Some)),
                Kind::Continuous => Column::numbers(*name, numbers.clone()),
            });
        }
        // A table has a row even if a hostile model asks for no column.
        table.push(Column::numbers("", numbers));
        table
    })
}

fn sensitive_part(table: &[Column], columns: &[(&str, Kind)]) -> Option<Sensitive> {
    let named = |(name, _): &(&str, Kind)| table.iter().rfind(|c| c.name == *name).cloned();
    Sensitive::new(columns.iter().filter_map(named).collect(), 4).ok()
}

/// The points and sensitive columns of [`table`], encoded.
fn encoded() -> (oblivio::Encoder, Points<'static>, Sensitive) {
    let table = table();
    let encoder = model().encoder;
    let (points, _) = encoder.encode(&table).unwrap();
    let sensitive = Sensitive::new(table[2..4].to_vec(), ROWS).unwrap();
    (encoder, points, sensitive)
}

#[test]
fn a_transformer_finds_its_columns_by_name() {
    let transformer = Transformer::from_bytes(&features()).unwrap();
    let (_, points, sensitive) = encoded();
    let watch = Watch::default();
    let (expected, _) = transformer
        .features
        .transform(&points, Some(&sensitive), &watch)
        .unwrap();
    let mut columns = table();
    columns.reverse();
    let (found, uses) = transformer.transform(&columns, &watch).unwrap();
    assert_eq!(found, expected);
    assert_eq!(uses, oblivio::partition::Uses::default());
    assert_eq!(transformer.sensitive_columns(), ["sex", "age"]);
    columns.retain(|column| column.name != "sex");
    let refused = transformer.transform(&columns, &watch);
    assert!(matches!(refused, Err(Error::UnknownColumn { name, .. }) if name == "sex"));
}

fn features() -> Vec<u8> {
    let (encoder, points, sensitive) = encoded();
    let settings = FeatureSettings {
        kernel: "rbf".parse().unwrap(),
        components: oblivio_kernels::Components::new(4),
        strength: 1.0,
        partition: Settings::default().partition,
        reference: Reference::All,
        seed: 0,
    };
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &[0.0; ROWS],
        weights: None,
    };
    let (features, _) = settings.fit(training, &Watch::default()).unwrap();
    Transformer { encoder, features }.to_bytes().unwrap()
}

fn kernel() -> Vec<u8> {
    let (encoder, points, sensitive) = encoded();
    let settings = KernelSettings {
        kernel: "rbf".parse().unwrap(),
        strength: 1.0,
        partition: Settings::default().partition,
        seed: 0,
    };
    let fit = KernelModel::fit(
        encoder,
        &points,
        &sensitive,
        None,
        &settings,
        &Watch::default(),
    );
    fit.unwrap().0.to_bytes().unwrap()
}
