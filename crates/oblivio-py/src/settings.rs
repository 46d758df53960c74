//! Settings from Python: a dictionary of values by the names of the engine's table, and facts of single columns and rows.

use numpy::{PyArray2, PyArrayMethods};
use oblivio::classes::ClassWeights;
use oblivio::features::FeatureSettings;
use oblivio::fit::{Bandwidths, PathGrid};
use oblivio::model::KernelSettings;
use oblivio::partition::PartitionRule;
use oblivio::reference::Reference;
use oblivio::settings::{SettingKind, SettingValue, SettingValues, setting, settings_json};
use oblivio::{Result, Settings};
use oblivio_base::{Encoding, Named};
use oblivio_kernels::{Components, Gamma, Kernel, KernelTable};
use oblivio_release::{ColumnRange, ProjectionRule, ReleaseSettings};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::models::values_of;

/// The table of settings: a list of dictionaries.
#[pyfunction]
#[pyo3(name = "settings")]
pub(crate) fn table(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let json = py.import("json")?;
    json.call_method1("loads", (settings_json().to_string(),))
}

/// A value of any kind.
#[derive(FromPyObject)]
enum Value {
    Switch(bool),
    Count(u64),
    Number(f64),
    Text(String),
}

/// The values of settings among the entries; `None` is the default. The matrix of a kernel is no such value.
fn values(entries: &Bound<'_, PyDict>) -> PyResult<SettingValues> {
    let mut values = SettingValues::default();
    for (name, value) in entries {
        let name: String = name.extract()?;
        let known = setting(&name).filter(|known| !matches!(known.kind, SettingKind::Object(_)));
        if known.is_none() || value.is_none() || value.cast::<PyArray2<f64>>().is_ok() {
            continue;
        }
        let value = match value.extract() {
            Ok(Value::Switch(value)) => SettingValue::Switch(value),
            Ok(Value::Count(value)) => SettingValue::Count(value),
            Ok(Value::Number(value)) => SettingValue::Number(value),
            Ok(Value::Text(value)) => SettingValue::Text(value),
            Err(_) => return Err(PyTypeError::new_err(format!("{name} has no such value"))),
        };
        values.set(&name, value).map_err(raise)?;
    }
    Ok(values)
}

/// The kernel whose values among the rows of the fit are given in place of its words; `None` if words are.
fn precomputed(entries: &Bound<'_, PyDict>) -> PyResult<Option<Kernel<Gamma>>> {
    let Some(given) = entries.get_item("kernel")? else {
        return Ok(None);
    };
    let Ok(matrix) = given.cast::<PyArray2<f64>>() else {
        return Ok(None);
    };
    let (values, rows) = values_of(&matrix.readonly());
    let table = KernelTable::new(&values, rows).map_err(raise)?;
    Ok(Some(Kernel::Table(table.into())))
}

/// Facts of single columns and rows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct About {
    control: Vec<String>,
    bounds: Vec<(String, f64, f64)>,
    categorical: Vec<String>,
    continuous: Vec<String>,
    reference_rows: Option<Vec<usize>>,
    categorical_features: Vec<String>,
}

/// What a classifier has besides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Classifying {
    memory_bytes: Option<usize>,
    class_weights: Option<Vec<f64>>,
}

/// The settings of any fit, and what else there is to know of its table.
pub(crate) struct Common {
    values: SettingValues,
    pub(crate) settings: Settings,
    pub(crate) categorical_features: Vec<String>,
}

impl Common {
    pub(crate) fn read(entries: &Bound<'_, PyDict>) -> PyResult<Self> {
        let values = values(entries)?;
        let about: About = entries.extract()?;
        let settings = Settings::from_values(&values).map_err(raise)?;
        Ok(Self {
            settings: Settings {
                partition: PartitionRule {
                    control: about.control,
                    bounds: about.bounds,
                    categorical: about.categorical,
                    continuous: about.continuous,
                    ..settings.partition
                },
                reference: match about.reference_rows {
                    Some(rows) => Reference::Rows(rows),
                    None => settings.reference,
                },
                kernel: precomputed(entries)?.unwrap_or(settings.kernel),
                ..settings
            },
            values,
            categorical_features: about.categorical_features,
        })
    }

    pub(crate) fn encoding(&self) -> Result<Encoding> {
        self.values.encoding()
    }

    pub(crate) fn kernel(&self) -> KernelSettings {
        self.settings.matrix()
    }
}

/// What a path tries: γ is `given`, or one of some `gammas`, or a multiple of that of the kernel.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Grid {
    bandwidths: String,
    gammas: Vec<f64>,
    strengths: Vec<f64>,
    penalties: Vec<f64>,
}

/// What a release has besides; how a projection is made is given whatever the method is.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Releasing {
    method: String,
    missing_values: String,
    ranges: Vec<(String, f64, f64)>,
    bandwidths: Option<Vec<f64>>,
    discrete: String,
}

impl Releasing {
    fn settings(self, common: &Common) -> Result<ReleaseSettings> {
        let range = |(column, low, high)| ColumnRange { column, low, high };
        let usual = ProjectionRule::default();
        Ok(ReleaseSettings {
            method: Named::named(&self.method)?,
            strength: common.settings.strength,
            partition: common.settings.partition.clone(),
            missing: Named::named(&self.missing_values)?,
            ranges: self.ranges.into_iter().map(range).collect(),
            projection: ProjectionRule {
                kernel: common.settings.kernel.clone(),
                bandwidths: self.bandwidths.unwrap_or(usual.bandwidths),
                components: common.settings.components.map(|c| Components::new(c.count)),
                discrete: Named::named(&self.discrete)?,
            },
            seed: common.settings.seed,
        })
    }
}

/// The settings of a regression or a classifier.
pub(crate) fn scores(entries: &Bound<'_, PyDict>) -> PyResult<(Common, Settings)> {
    let common = Common::read(entries)?;
    let mut scores = common.settings.clone();
    if scores.learner.classifies() {
        let classifying: Classifying = entries.extract()?;
        scores.memory = classifying.memory_bytes;
        if let Some(factors) = classifying.class_weights {
            scores.class_weights = ClassWeights::Given(factors);
        }
    }
    Ok((common, scores))
}

/// The grid of a path.
pub(crate) fn grid(settings: &Bound<'_, PyDict>) -> PyResult<PathGrid> {
    let grid: Grid = settings.extract()?;
    Ok(PathGrid {
        bandwidths: match grid.bandwidths.as_str() {
            "gammas" => Bandwidths::Gammas(grid.gammas),
            "multiples" => Bandwidths::Multiples(grid.gammas),
            _ => Bandwidths::Given,
        },
        strengths: grid.strengths,
        penalties: grid.penalties,
    })
}

/// The settings of features.
pub(crate) fn features(entries: &Bound<'_, PyDict>) -> PyResult<(Common, FeatureSettings)> {
    let common = Common::read(entries)?;
    // The engine refuses zero, and a map without landmarks is none.
    let none = Components::new(0);
    let components = common.settings.components.unwrap_or(none);
    let features = common.settings.features(components);
    Ok((common, features))
}

/// The settings of a release.
pub(crate) fn release(entries: &Bound<'_, PyDict>) -> PyResult<(Common, ReleaseSettings)> {
    let common = Common::read(entries)?;
    let releasing: Releasing = entries.extract()?;
    let release = releasing.settings(&common).map_err(raise)?;
    Ok((common, release))
}
