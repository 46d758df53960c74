use std::collections::BTreeSet;

use oblivio_base::{Column, Points, Watch};
use oblivio_kernels::learn::Learner;

use super::{
    Fitter, Literal, Range, Setting, SettingKind, SettingValue, SettingValues, setting, settings,
};
use crate::{Sensitive, Settings, Training};

fn values(chosen: &[(&str, &str)]) -> SettingValues {
    let mut values = SettingValues::default();
    for (name, text) in chosen {
        let value = match setting(name).unwrap().kind {
            SettingKind::Switch => SettingValue::Switch(*text == "true"),
            SettingKind::Count(_) => SettingValue::Count(text.parse().unwrap()),
            SettingKind::Number(_) => SettingValue::Number(text.parse().unwrap()),
            _ => SettingValue::Text((*text).to_owned()),
        };
        values.set(name, value).unwrap();
    }
    values
}

#[test]
fn names_are_unique_and_help_is_there() {
    let unique = |names: Vec<&str>| {
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    };
    unique(settings().map(|setting| setting.name).collect());
    unique(settings().filter_map(|setting| setting.python).collect());
    unique(settings().filter_map(|setting| setting.flag).collect());
    for setting in settings() {
        let name = setting.name;
        assert!(setting.python.is_some() || setting.flag.is_some(), "{name}");
        assert!(!setting.used_by.is_empty(), "{name}");
        for line in setting.help {
            assert!(line.ends_with('.'), "{name}: {line}");
        }
        for (fitter, _) in setting.exceptions {
            assert!(setting.used_by.contains(fitter), "{name}: {fitter:?}");
        }
        if let Some(extra) = setting.extra {
            assert!(extra.help.ends_with('.'), "{name}: {}", extra.help);
            for fitter in extra.used_by {
                assert!(setting.used_by.contains(fitter), "{name}: {fitter:?}");
            }
        }
    }
}

#[test]
fn a_default_is_a_value_of_its_kind() {
    for setting in settings() {
        let of_kind = match (setting.kind, setting.default) {
            (SettingKind::Object(_), _)
            | (_, Literal::Absent)
            | (SettingKind::Switch, Literal::Switch(_)) => true,
            (SettingKind::Number(range), Literal::Number(value)) => range.contains(value),
            (SettingKind::Count(least), Literal::Count(value)) => value >= least,
            (SettingKind::Word(words), Literal::Text(word)) => words().contains(&word),
            (SettingKind::Text(_, check), literal) => check(&literal.text().unwrap()).is_ok(),
            _ => false,
        };
        assert!(of_kind, "{}: {:?}", setting.name, setting.default);
    }
}

#[test]
fn no_values_are_the_default_settings() {
    let none = Settings::from_values(&SettingValues::default()).unwrap();
    assert_eq!(none, Settings::default());
    assert_eq!(Settings::default().to_values(), SettingValues::default());
}

#[test]
fn values_travel_to_settings_and_back() {
    let chosen = [
        vec![
            ("kernel", "poly(degree=2, coef0=0.5) + linear"),
            ("alpha", "0.25"),
            ("strength", "0.5"),
        ],
        vec![
            ("learner", "svm"),
            ("cost", "4"),
            ("solver", "smo"),
            ("intercept", "no"),
            ("gap", "0.001"),
        ],
        vec![
            ("learner", "logistic"),
            ("class_weight", "balanced"),
            ("threshold", "0.3"),
            ("max_steps", "7"),
        ],
        vec![
            ("mode", "sensitive-free"),
            ("eta", "2"),
            ("intercept", "yes"),
            ("seed", "9"),
        ],
        vec![
            ("learner", "svm"),
            ("mode", "sensitive-free"),
            ("epsilon", "0.5"),
            ("parity", "equal-opportunity"),
        ],
        vec![
            ("components", "20"),
            ("landmarks", "k-means++"),
            ("tolerance", "0.01"),
            ("reference", "half"),
        ],
        vec![
            ("align", "quantile"),
            ("align_strength", "0.5"),
            ("intervals", "folds"),
        ],
        vec![
            ("cells", "4"),
            ("binning", "dyadic"),
            ("min_cell_rows", "3"),
            ("conditional_mean", "cells"),
        ],
        vec![
            ("handle_unknown", "population"),
            ("handle_range", "clamp"),
            ("handle_missing", "category"),
        ],
        vec![
            ("handle_empty", "zero"),
            ("shrink", "true"),
            ("cells", "loo"),
            ("threshold", "base-rate"),
        ],
    ];
    for chosen in chosen {
        let values = values(&chosen);
        let settings = Settings::from_values(&values).unwrap();
        assert_ne!(settings, Settings::default(), "{chosen:?}");
        let back = settings.to_values();
        assert_eq!(
            Settings::from_values(&back).unwrap(),
            settings,
            "{chosen:?}"
        );
        for (name, value) in values.iter() {
            assert!(back.is_set(name), "{name}");
            // A kernel comes back with all of its parameters.
            if name != "kernel" {
                assert_eq!(back.text(name), Some(value.to_string()), "{name}");
            }
        }
    }
}

#[test]
fn parameters_of_the_kernel_may_be_given_apart() {
    let apart = values(&[
        ("kernel", "poly"),
        ("gamma", "0.5"),
        ("degree", "2"),
        ("coef0", "0"),
    ]);
    let inside = values(&[("kernel", "poly(gamma=0.5, degree=2, coef0=0)")]);
    let kernel = |values: &SettingValues| Settings::from_values(values).unwrap().kernel;
    assert_eq!(kernel(&apart), kernel(&inside));
    let wrong = values(&[("kernel", "linear"), ("gamma", "1")]);
    assert!(Settings::from_values(&wrong).is_err());
}

#[test]
fn wrong_values_are_refused_by_name() {
    let said = |name: &str, value: SettingValue| {
        let mut values = SettingValues::default();
        values.set(name, value).unwrap();
        Settings::from_values(&values).unwrap_err().to_string()
    };
    let text = |text: &str| SettingValue::Text(text.to_owned());
    assert!(said("mode", text("fair")).starts_with("mode `fair` is not known"));
    assert!(said("intercept", text("maybe")).contains("auto, yes, no"));
    assert!(said("strength", text("all")).contains("strength must be a number, got `all`"));
    assert!(said("alpha", text("little")).contains("alpha must be a number or `auto`"));
    assert!(said("components", SettingValue::Number(0.5)).contains("a whole number"));
    let unknown = SettingValues::default().set("strenght", text("1"));
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("setting `strenght` is not known")
    );
}

/// Whether a fit with this number is refused; the other settings are such that it matters.
fn is_refused(setting: &Setting, number: f64) -> bool {
    let around: &[(&str, &str)] = match setting.name {
        "cost" | "gap" => &[("learner", "svm")],
        "eta" => &[("mode", "sensitive-free")],
        "epsilon" => &[("mode", "sensitive-free"), ("learner", "svm")],
        "align_strength" => &[("align", "location-scale")],
        "coef0" => &[("kernel", "poly")],
        "tolerance" => &[("components", "4")],
        _ => &[],
    };
    let mut values = values(around);
    values
        .set(setting.name, SettingValue::Number(number))
        .unwrap();
    let Ok(settings) = Settings::from_values(&values) else {
        return true;
    };
    let x: Vec<f64> = (0..24).map(|i| f64::from(i * i % 17) / 5.0).collect();
    let points = Points::new(x.clone(), 1).unwrap();
    let groups = (0..24).map(|i| Some(["a", "b"][i % 2]));
    let sensitive = Sensitive::new(vec![Column::texts("group", groups)], 24).unwrap();
    let classes: Vec<f64> = x.iter().map(|x| f64::from(u8::from(*x > 1.5))).collect();
    let targets = if settings.learner == Learner::Ridge {
        &x
    } else {
        &classes
    };
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets,
        weights: None,
    };
    settings.fit(training, &Watch::default()).is_err()
}

#[test]
fn a_fit_refuses_numbers_outside_the_declared_range_and_no_others() {
    let candidates = [
        f64::NEG_INFINITY,
        -1.0,
        -1e-9,
        0.0,
        1e-9,
        0.5,
        1.0 - 1e-9,
        1.0,
        1.5,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut seen = 0;
    for setting in settings() {
        let SettingKind::Number(range) = setting.kind else {
            continue;
        };
        seen += 1;
        for number in candidates {
            let refused = is_refused(setting, number);
            assert_eq!(
                refused,
                !range.contains(number),
                "{} = {number}",
                setting.name
            );
        }
    }
    assert!(seen >= 8, "{seen}");
    assert!(Range::Share.contains(1.0) && !Range::BelowOne.contains(1.0));
}

#[test]
fn an_exception_is_the_default_of_its_estimator_alone() {
    let components = setting("components").unwrap();
    assert_eq!(
        components.default_of(Fitter::Transformer),
        Literal::Count(256)
    );
    assert_eq!(components.default_of(Fitter::Ridge), Literal::Absent);
}

#[test]
fn the_table_is_json() {
    let json = super::settings_json();
    let rows = json.as_array().unwrap();
    assert_eq!(rows.len(), settings().count());
    let strength = rows.iter().find(|row| row["name"] == "strength").unwrap();
    assert_eq!(strength["default"], 1.0);
    assert_eq!(strength["kind"]["range"], "0 to 1");
}
