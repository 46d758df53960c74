//! From values of settings to the settings of a fit, and back.

use oblivio_base::{Error, Named, Result, UnseenCategory};
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_kernels::{Components, Gamma, Kernel};

use super::values::wrong;
use super::{SettingValue, SettingValues};
use crate::align::AlignRule;
use crate::classes::{ClassWeights, Threshold};
use crate::features::FeatureSettings;
use crate::fit::Settings;
use crate::model::KernelSettings;
use crate::partition::{CellCount, PartitionRule, Policies};
use crate::reference::Reference;
use crate::sensitive_free::Restraint;

impl SettingValues {
    /// The kernel with its parameters that were given apart.
    fn kernel(&self) -> Result<Kernel<Gamma>> {
        let mut kernel: Kernel<Gamma> = self.parsed("kernel")?.unwrap_or(Kernel::Gaussian {
            gamma: Gamma::Scale,
        });
        let given = |name| self.is_set(name);
        let gamma = if given("gamma") {
            self.parsed("gamma")?
        } else {
            None
        };
        let degree = if given("degree") {
            self.count("degree")?
        } else {
            None
        };
        let coef0 = if given("coef0") {
            self.number("coef0")?
        } else {
            None
        };
        let degree = degree.map(|degree| u32::try_from(degree).unwrap_or(u32::MAX));
        kernel.set(gamma, degree, coef0)?;
        Ok(kernel)
    }

    /// The rule for S, without the kinds and bounds of single columns.
    fn partition(&self) -> Result<PartitionRule> {
        let usual = PartitionRule::default();
        let unknown: Option<UnseenCategory> = self.word("handle_unknown")?;
        let policies = Policies::for_unknown(unknown.unwrap_or_default());
        Ok(PartitionRule {
            estimator: self.word("conditional_mean")?.unwrap_or_default(),
            shrink: self.switch("shrink"),
            cells: self.parsed("cells")?.unwrap_or_default(),
            binning: self.word("binning")?.unwrap_or_default(),
            min_rows: self.count("min_cell_rows")?,
            policies: Policies {
                empty: self.word("handle_empty")?.unwrap_or(policies.empty),
                range: self.word("handle_range")?.unwrap_or_default(),
                missing: self.word("handle_missing")?.unwrap_or_default(),
                ..policies
            },
            ..usual
        })
    }

    fn restraint(&self) -> Result<Restraint> {
        let epsilon = self.number("epsilon")?.unwrap_or(0.0);
        Ok(match self.number("eta")? {
            Some(eta) => Restraint::Soft(eta),
            None if epsilon != 0.0 => Restraint::Slack(epsilon),
            None => Restraint::Hard,
        })
    }

    /// Whether a constant is learned: unless it is said, by classifiers alone.
    fn intercept(&self, learner: Learner) -> Result<Intercept> {
        let fitted = match self.get("intercept") {
            Some(SettingValue::Switch(fitted)) => fitted,
            other => match other.map(|value| value.to_string()).as_deref() {
                None | Some("auto") => learner.classifies(),
                Some("yes") => true,
                Some("no") => false,
                Some(text) => {
                    return Err(Error::UnknownName {
                        what: "intercept",
                        text: text.to_owned(),
                        known: "auto, yes, no".into(),
                    });
                }
            },
        };
        Ok(if fitted {
            Intercept::Fitted
        } else {
            Intercept::None
        })
    }

    /// λ: the penalty of ridge regression, one over the cost of classifiers. Where it is to be found, the one to begin with.
    fn penalty(&self, learner: Learner) -> Result<f64> {
        if learner.classifies() {
            let cost = self.number("cost")?.unwrap_or(1.0);
            return Ok(1.0 / cost);
        }
        if self.finds_penalty() {
            return Ok(1.0);
        }
        match self.get("alpha") {
            None => Ok(1.0),
            Some(SettingValue::Text(text)) => {
                let number = text.parse();
                number.map_err(|_| wrong("alpha", "a number or `auto`", &SettingValue::Text(text)))
            }
            Some(_) => Ok(self.number("alpha")?.unwrap_or(1.0)),
        }
    }

    fn class_weights(&self) -> Result<ClassWeights> {
        match self.text("class_weight").as_deref() {
            None | Some("equal") => Ok(ClassWeights::Equal),
            Some("balanced") => Ok(ClassWeights::Balanced),
            Some(text) => Err(Error::UnknownName {
                what: "class weight",
                text: text.to_owned(),
                known: "equal, balanced".into(),
            }),
        }
    }

    fn landmarks(&self) -> Result<Option<Components>> {
        let Some(count) = self.count("components")? else {
            return Ok(None);
        };
        Ok(Some(Components {
            count,
            selection: self.word("landmarks")?.unwrap_or_default(),
            tolerance: self.number("tolerance")?.unwrap_or(0.0),
        }))
    }

    fn reference(&self) -> Result<Reference> {
        let name = self.text("reference");
        name.map_or(Ok(Reference::All), |name| Reference::named(&name))
    }
}

impl Settings {
    /// The settings that these values say. Roles, kinds and bounds of columns and given rows are no settings; they
    /// are added afterwards.
    pub fn from_values(values: &SettingValues) -> Result<Self> {
        let learner = values.word("learner")?.unwrap_or_default();
        let classifies = Learner::classifies(learner);
        Ok(Self {
            kernel: values.kernel()?,
            learner,
            penalty: values.penalty(learner)?,
            strength: values.number("strength")?.unwrap_or(1.0),
            mode: values.word("mode")?.unwrap_or_default(),
            parity: values.word("parity")?.unwrap_or_default(),
            restraint: values.restraint()?,
            partition: values.partition()?,
            reference: values.reference()?,
            intercept: values.intercept(learner)?,
            solver: values.word("solver")?.unwrap_or_default(),
            gap: values.number("gap")?,
            steps: values.count("max_steps")?,
            memory: if classifies { values.memory()? } else { None },
            class_weights: values.class_weights()?,
            threshold: values.parsed("threshold")?.unwrap_or(Threshold::Zero),
            align: match values.word("align")? {
                None => None,
                Some(method) => Some(AlignRule {
                    method,
                    strength: values.number("align_strength")?.unwrap_or(1.0),
                }),
            },
            intervals: values.word("intervals")?,
            components: values.landmarks()?,
            seed: values.seed(),
        })
    }

    /// The values that say these settings: those that differ from the default.
    ///
    /// Roles, kinds and bounds of columns, given reference rows and given class weights have no value.
    pub fn to_values(&self) -> SettingValues {
        let mut values = SettingValues::default();
        let mut put = |name: &'static str, value: Option<SettingValue>| {
            let usual = SettingValues::default();
            if let Some(value) = value.filter(|value| usual.get(name).as_ref() != Some(value)) {
                values.insert(name, value);
            }
        };
        let number = |value: f64| Some(SettingValue::Number(value));
        let count = |value: usize| SettingValue::Count(value as u64);
        let text = |value: &str| Some(SettingValue::Text(value.to_owned()));
        if self.kernel != Self::default().kernel {
            put("kernel", text(&self.kernel.to_string()));
        }
        put("learner", text(self.learner.name()));
        if self.learner.classifies() {
            put("cost", number(1.0 / self.penalty));
        } else {
            put("alpha", number(self.penalty));
        }
        put("strength", number(self.strength));
        put("mode", text(self.mode.name()));
        put("parity", text(self.parity.name()));
        match self.restraint {
            Restraint::Hard => {}
            Restraint::Soft(eta) => put("eta", number(eta)),
            Restraint::Slack(epsilon) => put("epsilon", number(epsilon)),
        }
        put("intercept", self.intercept_word().and_then(text));
        put("solver", text(self.solver.name()));
        put("gap", self.gap.and_then(number));
        put("max_steps", self.steps.map(count));
        put("memory", self.memory.map(|bytes| count(bytes / 1_000_000)));
        if self.class_weights == ClassWeights::Balanced {
            put("class_weight", text("balanced"));
        }
        put("threshold", text(&threshold_text(self.threshold)));
        if let Some(align) = self.align {
            put("align", text(align.method.name()));
            put("align_strength", number(align.strength));
        }
        put(
            "intervals",
            self.intervals.and_then(|source| text(source.name())),
        );
        if let Some(components) = self.components {
            put("components", Some(count(components.count)));
            put("landmarks", text(components.selection.name()));
            put("tolerance", number(components.tolerance));
        }
        put(
            "reference",
            text(self.reference.name()).filter(|_| self.reference == Reference::Half),
        );
        put("seed", Some(SettingValue::Count(self.seed)));
        for (name, value) in self.partition.values() {
            put(name, value);
        }
        values
    }

    /// Whether a constant is learned, in the word of the table; `None` where it is as by default.
    fn intercept_word(&self) -> Option<&'static str> {
        let fitted = self.intercept == Intercept::Fitted;
        let word = if fitted { "yes" } else { "no" };
        (fitted != self.learner.classifies()).then_some(word)
    }

    /// The settings of features on these landmarks, without a learner.
    pub fn features(&self, components: Components) -> FeatureSettings {
        FeatureSettings {
            kernel: self.kernel.clone(),
            components,
            strength: self.strength,
            partition: self.partition.clone(),
            reference: self.reference.clone(),
            seed: self.seed,
        }
    }

    /// The settings of the paper's matrix.
    pub fn matrix(&self) -> KernelSettings {
        KernelSettings {
            kernel: self.kernel.clone(),
            strength: self.strength,
            partition: self.partition.clone(),
            seed: self.seed,
        }
    }
}

impl PartitionRule {
    /// The values of the rule, without kinds and bounds of single columns.
    fn values(&self) -> [(&'static str, Option<SettingValue>); 9] {
        let text = |value: &str| Some(SettingValue::Text(value.to_owned()));
        let usual = Policies::for_unknown(self.policies.category).empty;
        let empty = Some(self.policies.empty).filter(|empty| *empty != usual);
        [
            ("conditional_mean", text(self.estimator.name())),
            ("shrink", Some(SettingValue::Switch(self.shrink))),
            ("cells", text(&cells_text(self.cells))),
            ("binning", text(self.binning.name())),
            (
                "min_cell_rows",
                self.min_rows.map(|rows| SettingValue::Count(rows as u64)),
            ),
            ("handle_unknown", text(self.policies.category.name())),
            ("handle_empty", empty.and_then(|empty| text(empty.name()))),
            ("handle_range", text(self.policies.range.name())),
            ("handle_missing", text(self.policies.missing.name())),
        ]
    }
}

fn cells_text(cells: CellCount) -> String {
    match cells {
        CellCount::Auto => "auto".to_owned(),
        CellCount::Loo => "loo".to_owned(),
        CellCount::Paper => "paper".to_owned(),
        CellCount::Given(count) => count.to_string(),
    }
}

fn threshold_text(threshold: Threshold) -> String {
    match threshold {
        Threshold::Zero => "zero".to_owned(),
        Threshold::BaseRate => "base-rate".to_owned(),
        Threshold::Rate(rate) => rate.to_string(),
    }
}
