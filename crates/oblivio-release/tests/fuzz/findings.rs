//! What was found once, by fuzzing or by reading the readers, as a test each.

use std::sync::Arc;

use oblivio::adjust::Offsets;
use oblivio::model::{Checkpoint, KernelModel};
use oblivio::moments::{Batch, Moments};
use oblivio::partition::{CellCount, Estimator};
use oblivio::survey::Survey;
use oblivio::{Column, Kernel, Model, Sensitive, Settings, Training};
use oblivio_fuzz::File;
use oblivio_release::Release;
use serde_json::{Value, json};

use crate::seeds::{self, ROWS, watch};

/// The file, which says something else in one place.
fn saying(bytes: &[u8], place: &str, value: Value) -> Vec<u8> {
    let file = File::of(bytes);
    let mut document = file.document();
    let there = document.pointer_mut(place);
    *there.unwrap_or_else(|| panic!("{place} is in no header")) = value;
    file.with_text(&document.to_string())
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
        assert!(Moments::from_bytes(&file.with_text(&damaged)).is_err());
    }
}

/// Room for the square of that number was made before the sums were looked at.
#[test]
fn features_of_s_without_sums_are_refused() {
    let bytes = &seeds::moments()[2];
    let place = "/header/plan/sensitive/features/count";
    assert!(Moments::from_bytes(&saying(bytes, place, json!(2))).is_ok());
    for count in [1, 3, 1 << 20, 1 << 32, 1 << 60, u64::MAX] {
        assert!(Moments::from_bytes(&saying(bytes, place, json!(count))).is_err());
    }
}

/// A flag was made for every row that a checkpoint announces, even where none is needed.
#[test]
fn a_checkpoint_may_announce_many_rows() {
    let settings = seeds::on_landmarks(Estimator::Cells);
    let place = "/header/gather/table_rows";
    for bytes in &seeds::checkpoints()[..2] {
        let many = Checkpoint::from_bytes(&saying(bytes, place, json!(1u64 << 50))).unwrap();
        assert!(many.into_fit(&settings).is_ok());
        for rows in [(1u64 << 52) + 1, 1 << 60, u64::MAX] {
            assert!(Checkpoint::from_bytes(&saying(bytes, place, json!(rows))).is_err());
        }
    }
}

/// Sums of such counts overflowed when parts were merged.
#[test]
fn parts_of_more_rows_than_a_table_has_are_refused() {
    let too_many = [(1u64 << 52) + 1, 1 << 60, u64::MAX].map(|rows| json!(rows));
    let (plan, shares) = seeds::shares();
    for rows in too_many {
        for place in ["/header/sums/rows", "/header/sums/placed/0/0"] {
            let moments = saying(&seeds::moments()[1], place, rows.clone());
            assert!(Moments::from_bytes(&moments).is_err());
        }
        for place in ["/header/extent/1", "/header/extent/2"] {
            let survey = saying(&seeds::surveys()[0], place, rows.clone());
            assert!(Survey::from_bytes(&survey).is_err());
        }
        for place in ["/header/start", "/header/rows"] {
            assert!(plan.read(&saying(&shares[0], place, rows.clone())).is_err());
        }
        let model = &seeds::models()[0];
        let file = File::of(model);
        let text = file.document().to_string();
        let (before, after) = text.split_once("\"counts\":[").unwrap();
        let (_, after) = after.split_once(',').unwrap();
        let damaged = format!("{before}\"counts\":[{rows},{after}");
        assert!(Model::from_bytes(&file.with_text(&damaged)).is_err());
    }
}

/// Weights that stand for more rows than can be counted overflowed where cells were joined.
#[test]
fn weights_may_stand_for_any_number_of_rows() {
    let (_, _, sensitive) = seeds::encoded();
    let mut rule = Settings::default().partition;
    rule.cells = CellCount::Given(4);
    rule.min_rows = Some(usize::MAX);
    rule.estimator = Estimator::Cells;
    for weight in [1e19, 1e100] {
        let weights = [weight; ROWS];
        let offsets = Offsets::of_scores(&[0.5; ROWS], &sensitive, &weights, &rule, 1.0);
        assert!(offsets.unwrap().0.by_cell.iter().all(|b| *b == 0.0));
    }
}

/// The sums of a category that only rows of no weight have were shorter than the cells, and a merge read past them.
#[test]
fn rows_of_no_weight_and_a_new_category_can_be_merged() {
    let (_, points, sensitive) = seeds::encoded();
    let data = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &[0.0; ROWS],
        weights: None,
    };
    let settings = seeds::on_landmarks(Estimator::Cells);
    let plan = Arc::new(settings.plan(data, ROWS, &watch()).unwrap().0);
    let mut sound = Moments::new(Arc::clone(&plan));
    sound
        .update(seeds::batch(&points, &sensitive), &watch())
        .unwrap();
    // None of the rows before is pending when those of no weight come.
    let mut added = sound.clone();
    added.merge(&sound, &watch()).unwrap();
    let sexes = Column::texts("sex", [Some("X"); ROWS]);
    let other = Sensitive::new(vec![sexes, seeds::table()[3].clone()], ROWS).unwrap();
    let batch = Batch {
        weights: Some(&[0.0; ROWS]),
        ..seeds::batch(&points, &other)
    };
    added.update(batch, &watch()).unwrap();
    let read = Moments::from_bytes(&added.to_bytes().unwrap()).unwrap();
    for added in [added, read] {
        let (mut one, mut two) = (sound.clone(), added.clone());
        one.merge(&added, &watch()).unwrap();
        two.merge(&sound, &watch()).unwrap();
        for moments in [&one, &two] {
            let fit = settings.fit_moments(moments, &watch()).unwrap();
            let scores = fit.predictor.predict(&points, Some(&sensitive), &watch());
            assert!(scores.unwrap().scores.iter().all(|score| score.is_finite()));
        }
    }
}

/// Points and cells were read again for every class, however many a file announced.
#[test]
fn more_classes_than_a_fit_allows_are_refused() {
    let three = Model::from_bytes(&seeds::models()[11]).unwrap();
    for (classes, read) in [(100, true), (101, false)] {
        let mut model = three.clone();
        model.scorers = vec![three.predictor().clone(); classes];
        let known = model.classes.as_mut().unwrap();
        known.labels = (0..classes).map(|k| k.to_string()).collect();
        known.thresholds = vec![0.0; classes];
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).is_ok(), read);
    }
}

/// The cells' means have inner products with each other: a square that no row accounted for.
#[test]
fn cells_of_a_kernel_that_no_row_is_in_are_refused() {
    let bytes = &seeds::kernels()[0];
    assert!(KernelModel::from_bytes(bytes, &watch()).is_ok());
    let empty = saying(bytes, "/header/cells", json!(vec![0; ROWS]));
    assert!(KernelModel::from_bytes(&empty, &watch()).is_err());
}

/// Every prediction failed.
#[test]
fn an_alignment_by_another_s_than_the_offsets_is_refused() {
    let seeds = seeds::models();
    let [by_cells, smoothly] = [9, 10].map(|k| File::of(&seeds[k]).document());
    let place = "/header/alignment";
    let of = |document: &Value| document.pointer(place).unwrap().clone();
    assert!(Model::from_bytes(&saying(&seeds[9], place, of(&by_cells))).is_ok());
    assert!(Model::from_bytes(&saying(&seeds[10], place, of(&by_cells))).is_err());
    assert!(Model::from_bytes(&saying(&seeds[9], place, of(&smoothly))).is_err());
}

/// Intervals were given to no score, or to one of several.
#[test]
fn intervals_of_what_has_none_are_refused() {
    let seeds = seeds::models();
    let (classifier, regression, fallback) = (&seeds[12], &seeds[13], &seeds[14]);
    let refusal = |bytes: &[u8]| Model::from_bytes(bytes).unwrap_err().to_string();
    let own = File::of(regression).document()["header"]["intervals"].clone();
    assert!(own.is_object());
    let file = File::of(classifier);
    let mut document = file.document();
    document["header"]["intervals"] = own;
    let refused = refusal(&file.with_text(&document.to_string()));
    assert!(refused.contains("the number of its intervals"), "{refused}");
    let refused = refusal(&saying(fallback, "/header/fallback", Value::Null));
    assert!(
        refused.contains("the intervals of its fallback"),
        "{refused}"
    );
}

/// Such a kernel was read, and the first use of it read past the end of its means.
#[test]
fn a_regression_on_nothing_is_refused() {
    let place = "/header/partition/smooth/blocks/0";
    let [kernel, model] = [&seeds::kernels()[2], &seeds::models()[2]];
    assert!(KernelModel::from_bytes(kernel, &watch()).is_ok());
    let (columns, centre) = (format!("{place}/source/columns"), format!("{place}/centre"));
    let empty = saying(&saying(kernel, &columns, json!([])), &centre, json!([]));
    assert!(KernelModel::from_bytes(&empty, &watch()).is_err());
    let place = "/header/cells/partition/smooth/blocks";
    let block = File::of(model).document().pointer(place).unwrap()[0].clone();
    for (blocks, read) in [(0, false), (1, true), (3, false), (1000, false)] {
        let blocks = json!(vec![block.clone(); blocks]);
        let read_one = Model::from_bytes(&saying(model, place, blocks));
        assert_eq!(read_one.is_ok(), read);
    }
}

/// A refresh made room for the square of their number.
#[test]
fn regressions_on_more_features_than_a_fit_allows_are_refused() {
    let many = (0..5000).map(|i| i.to_string());
    let names: Vec<String> = many.collect();
    let zip = Column::texts("zip", names.iter().map(|name| Some(name.as_str())));
    let sensitive = Sensitive::new(vec![zip], 5000).unwrap();
    let mut rule = Settings::default().partition;
    rule.estimator = Estimator::Linear;
    let scores: Vec<f64> = (0..5000).map(|i| f64::from(i % 7)).collect();
    let offsets = Offsets::of_scores(&scores, &sensitive, &vec![1.0; 5000], &rule, 1.0);
    let refused = offsets.unwrap_err().to_string();
    assert!(refused.contains("at most 4096"), "{refused}");
    let model = &seeds::models()[2];
    let place = "/header/cells/partition/smooth/blocks/0";
    let mut block = File::of(model).document().pointer(place).unwrap().clone();
    let levels = block.pointer_mut("/source/columns/0/categories/levels");
    *levels.expect("sex comes first") = json!(names);
    block["centre"] = json!(vec![0.0; 5001]);
    let refused = Model::from_bytes(&saying(model, place, block)).unwrap_err();
    assert!(refused.to_string().contains("its partition"), "{refused}");
}

/// The matrix was made before its sides were looked at; with no column, any number of rows takes no byte.
#[test]
fn a_gram_of_no_bytes_has_no_rows() {
    for shape in [[1u64 << 61, 0], [0, 1 << 61], [3, 0], [0, 0]] {
        let file = File::of(&seeds::kernels()[0]).with_tensor("gram", &shape, &[]);
        assert!(KernelModel::from_bytes(&file, &watch()).is_err());
    }
}

/// The name of a feature was looked for wherever a checkpoint said that it was.
#[test]
fn remarks_on_features_that_are_not_there_stay_as_they_are() {
    let bytes = &seeds::checkpoints()[1];
    let remark = json!([{ "ConstantFeatures": { "features": [[1_u64 << 40, "x"], [0, "y"]] } }]);
    let checkpoint = Checkpoint::from_bytes(&saying(bytes, "/header/warnings", remark)).unwrap();
    let settings = seeds::on_landmarks(Estimator::Cells);
    let (encoder, fit) = checkpoint.into_fit(&settings).unwrap();
    let fit = fit.finish(&watch()).unwrap();
    let (_, summary) = Model::new(encoder, fit, "y", &settings);
    let remarks: Vec<String> = summary.warnings.iter().map(ToString::to_string).collect();
    let named = remarks.iter().any(|remark| remark.ends_with(": x, x"));
    assert!(named, "{remarks:?}");
}

/// Joined with others, rows were put beside columns that were not there.
#[test]
fn a_sample_without_columns_is_refused() {
    let bytes = &seeds::surveys()[0];
    let mut file = File::of(bytes).document();
    for place in ["learner/columns", "features", "sensitive", "kinds"] {
        let part = file.pointer_mut(&format!("/header/{place}")).unwrap();
        assert!(part.is_array(), "{place}");
        *part = json!([]);
    }
    let read = Survey::from_bytes(&File::of(bytes).with_text(&file.to_string()));
    assert!(read.unwrap_err().to_string().contains("its sample"));
}

/// Every row was compared with none.
#[test]
fn a_projection_onto_nothing_is_refused() {
    let bytes = &seeds::releases()[4];
    assert!(Release::from_bytes(bytes).is_ok());
    let file = File::of(bytes);
    let mut document = file.document();
    let lengths = document["header"]["lengths"].as_array_mut().unwrap();
    // Base, directions, inner products and values at the base.
    let gram = lengths[2].as_u64().unwrap();
    let kept = lengths[0].as_u64().unwrap() + lengths[1].as_u64().unwrap();
    let numbers = file.numbers("numbers");
    for at in [0, 1, 3] {
        lengths[at] = json!(0);
    }
    let gram = &numbers[kept as usize..(kept + gram) as usize];
    let emptied = file
        .saying(document)
        .with_tensor("numbers", &[gram.len() as u64], gram);
    let refused = Release::from_bytes(&emptied).unwrap_err().to_string();
    assert!(
        refused.contains("what it makes of its columns"),
        "{refused}"
    );
}

/// As many columns were as many levels of recursion, or copies of a column of the table.
#[test]
fn sensitive_columns_are_few_and_differ() {
    let model = &seeds::models()[0];
    let place = "/header/cells/partition/axes";
    let axes = File::of(model).document().pointer(place).unwrap().clone();
    let (sex, age) = (axes[0].clone(), axes[1].clone());
    assert!(Model::from_bytes(&saying(model, place, json!([sex, age]))).is_ok());
    let mut named = age.clone();
    named["name"] = sex["name"].clone();
    assert!(Model::from_bytes(&saying(model, place, json!([sex, named]))).is_err());
    let moments = File::of(&seeds::moments()[0]);
    let mut document = moments.document();
    let many = |axis: &mut Value| {
        let of = |k: usize| {
            let mut own = axis[0].clone();
            own["name"] = json!(k.to_string());
            own
        };
        *axis = (0..300).map(of).collect();
    };
    many(&mut document["header"]["plan"]["sensitive"]["cells"]["axes"]);
    document["header"]["plan"]["sensitive"]["cells"]["open"] = json!(vec![true; 300]);
    let refused = Moments::from_bytes(&moments.with_text(&document.to_string()));
    assert!(refused.unwrap_err().to_string().contains("its plan"));
    let columns = (0..300).map(|k| Column::numbers(k.to_string(), vec![1.0]));
    assert!(Sensitive::new(columns.collect(), 1).is_err());
}

/// Slots that no row is in took as much memory as those of rows, and any number of rows waited for their block.
#[test]
fn slots_and_waiting_rows_are_accounted_for() {
    let file = File::of(&seeds::moments()[0]);
    let slots = "/header/sums/slots";
    let document = file.document();
    let keys = document.pointer(&format!("{slots}/1")).unwrap();
    let waiting = keys.as_array().unwrap().len();
    assert!(waiting > 1, "all rows wait");
    let rows = document["header"]["sums"]["pending"].as_array().unwrap();
    assert_eq!(rows.len(), ROWS);
    // More slots than rows: one for every combination of a category and a bin.
    let mut many = document.clone();
    let levels: Vec<String> = (0..20).map(|k| k.to_string()).collect();
    let axes = many.pointer_mut(&format!("{slots}/0/axes/0/cut")).unwrap();
    axes["categories"]["levels"] = json!(levels);
    let more: Vec<Value> = (0..20).map(|k| json!([k, 0])).collect();
    *many.pointer_mut(&format!("{slots}/1")).unwrap() = json!(more);
    *many.pointer_mut(&format!("{slots}/2")).unwrap() = json!(vec![0; 20]);
    let refused = Moments::from_bytes(&file.with_text(&many.to_string())).unwrap_err();
    assert!(refused.to_string().contains("its cells"), "{refused}");
}

/// The cells' labels repeat the names of columns and categories.
#[test]
fn labels_are_short() {
    let model = &seeds::models()[0];
    let long = "ab\u{e9}".repeat(1 << 16);
    let place = "/header/cells/partition/axes/0/name";
    let model = Model::from_bytes(&saying(model, place, json!(long))).unwrap();
    let label = model.predictor().partition().unwrap().label(0);
    assert!(label.len() < 300 && label.starts_with("ab\u{e9}ab"));
}

/// Every kernel of a sum is computed for every pair of rows.
#[test]
fn kernels_of_a_text_are_few() {
    let sum = |count: usize| vec!["linear"; count].join(" + ").parse::<Kernel>();
    assert!(sum(64).is_ok());
    assert!(sum(65).unwrap_err().to_string().contains("at most 64"));
}

/// Factors were made for regressions within regressions before these were refused.
#[test]
fn a_regression_within_a_regression_is_refused() {
    let seeds = seeds::models();
    let partition = File::of(&seeds[1]).document()["header"]["cells"]["partition"].clone();
    let place = "/header/cells/partition/smooth/blocks/0/source";
    let mut plain = partition.clone();
    plain.as_object_mut().unwrap().remove("smooth");
    let centre = json!(vec![0.0; plain["keys"].as_array().unwrap().len()]);
    let centred = saying(
        &seeds[1],
        "/header/cells/partition/smooth/blocks/0/centre",
        centre,
    );
    for (inside, problem) in [(plain, "smooth offsets"), (partition, "its partition")] {
        let refused = Model::from_bytes(&saying(&centred, place, json!({ "cells": inside })));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(problem), "{refused}");
    }
}

/// The number of cells was found by counting up to the root of the weight of all rows.
#[test]
fn a_number_of_cells_is_found_at_once() {
    for (rows, columns, cells) in [
        (0, 1, 1),
        (1, 1, 1),
        (8, 1, 2),
        (9, 1, 3),
        (1000, 1, 10),
        (1001, 1, 11),
        (81, 2, 3),
        (usize::MAX, 0, 65_536),
    ] {
        assert_eq!(CellCount::Auto.resolve(rows, columns), cells, "{rows}");
    }
    for (rows, columns, cells) in [(0, 1, 1), (15, 1, 1), (16, 1, 2), (80, 1, 2), (81, 1, 3)] {
        assert_eq!(CellCount::Paper.resolve(rows, columns), cells, "{rows}");
    }
}

/// Keys were looked for on axes that they do not have, and cells among others.
#[test]
fn moments_of_other_sensitive_columns_renew_nothing() {
    let (_, points, both) = seeds::encoded();
    let one = Sensitive::new(both.columns()[..1].to_vec(), ROWS).unwrap();
    let gathered = |sensitive: &Sensitive, settings: &Settings| {
        let data = Training {
            points: &points,
            sensitive,
            targets: &[0.0; ROWS],
            weights: None,
        };
        let plan = Arc::new(settings.plan(data, ROWS, &watch()).unwrap().0);
        let mut moments = Moments::new(plan);
        moments
            .update(seeds::batch(&points, sensitive), &watch())
            .unwrap();
        moments
    };
    for estimator in [Estimator::Cells, Estimator::Smooth] {
        let settings = seeds::on_landmarks(estimator);
        let mut finer = settings.clone();
        finer.partition.cells = CellCount::Given(3);
        let own = gathered(&both, &settings);
        let fit = settings.fit_moments(&own, &watch()).unwrap();
        let renewed = |moments: &Moments| {
            let renewal = oblivio::refresh::Renewal::keeping(1);
            fit.predictor.refresh_from(moments, renewal, &watch())
        };
        assert!(renewed(&own).is_ok());
        for other in [gathered(&one, &settings), gathered(&both, &finer)] {
            let refused = renewed(&other).unwrap_err();
            assert!(matches!(refused, oblivio::Error::UnlikeMoments { .. }));
        }
    }
}
