//! Rows in batches: streamed moments, parts and merges, saved states, streamed classifiers.

use std::sync::Arc;

use faer::MatRef;

use super::cases::{Cases, add_prediction, add_summary, model, watch};
use super::engine::{
    AlignMethod, AlignRule, Batch, Checkpoint, Encoder, Estimator, FeatureRows, FeatureSettings,
    Fit, GridPoint, Labelled, Labels, Learner, Missing, Mode, Model, Moments, PathGrid, Points,
    Reference, Renewal, Result, Scaling, Sensitive, SensitiveRows, Settings, Share, StreamFit,
    Summary, Survey, Training, Transformer, Turned, UnseenCategory, Watch,
};
use super::grid::on_landmarks;
use super::maps::feature_settings;
use super::record::Values;
use super::table::{Table, later_rows, new_rows, training_rows};

/// A part of a table as a fit reads it.
struct Rows {
    points: Points<'static>,
    sensitive: Sensitive,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Rows {
    fn new(encoder: &Encoder, table: &Table, weighted: bool) -> Result<Self> {
        let (points, _) = encoder.encode(&table.features)?;
        let rows = points.len();
        Ok(Self {
            points,
            sensitive: Sensitive::new(table.sensitive.clone(), rows)?,
            targets: table.target.to_numbers()?,
            weights: weighted.then(|| table.weights.clone()),
        })
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            points: &self.points,
            sensitive: SensitiveRows::Columns(&self.sensitive),
            targets: Some(&self.targets),
            weights: self.weights.as_deref(),
        }
    }

    fn training(&self) -> Training<'_> {
        Training {
            points: &self.points,
            sensitive: &self.sensitive,
            targets: &self.targets,
            weights: self.weights.as_deref(),
        }
    }
}

fn survey(parts: &[Table], settings: &Settings, weighted: bool) -> Result<Survey> {
    let mut survey = Survey::new(settings.seed);
    for part in parts {
        let weights = weighted.then_some(&part.weights[..]);
        survey.update(&part.features, &part.sensitive, weights)?;
    }
    Ok(survey)
}

fn begin(parts: &[Table], settings: &Settings, weighted: bool) -> Result<(Encoder, StreamFit)> {
    let components = settings.components.unwrap();
    let survey = survey(parts, settings, weighted)?;
    survey.begin(Scaling::Standard, settings, components, &watch())
}

/// Solves the sums, with one more look at the rows where the fit needs it.
fn finish(fit: &StreamFit, encoder: &Encoder, parts: &[Table], weighted: bool) -> Result<Fit> {
    let mut solved = fit.solve(&watch())?;
    if solved.needs_rows() {
        for part in parts {
            let rows = Rows::new(encoder, part, weighted)?;
            solved.update(rows.batch(), &watch())?;
        }
    }
    solved.finish()
}

/// Ridge regression from moments of batches of this many rows.
pub fn fit_in_batches(
    table: &Table,
    settings: &Settings,
    weighted: bool,
    batch: usize,
) -> Result<(Model, Summary)> {
    let parts = table.parts(batch);
    let (encoder, mut fit) = begin(&parts, settings, weighted)?;
    for part in &parts {
        fit.update(Rows::new(&encoder, part, weighted)?.batch(), &watch())?;
    }
    let fit = finish(&fit, &encoder, &parts, weighted)?;
    Ok(Model::new(encoder, fit, "y", settings))
}

pub fn add(cases: &mut Cases) {
    for (name, settings) in [
        ("cells", with(Estimator::Cells)),
        ("smooth", with(Estimator::Smooth)),
        ("linear", with(Estimator::Linear)),
    ] {
        cases.run(format!("stream merge {name}"), |v| merge(v, &settings));
        cases.run(format!("stream parts {name}"), |v| parts(v, &settings));
        cases.run(format!("stream saved {name}"), |v| saved(v, &settings));
        cases.run(format!("stream features {name}"), |v| {
            features(v, &settings)
        });
        cases.run(format!("stream choose {name}"), |v| choose(v, &settings));
    }
    for learner in [Learner::Svm, Learner::Logistic] {
        for mode in [
            Mode::Plain,
            Mode::Oblivious,
            Mode::MOblivious,
            Mode::SensitiveFree,
        ] {
            for half in [true, false] {
                let mut settings = Settings {
                    learner,
                    mode,
                    reference: if half {
                        Reference::Half
                    } else {
                        Reference::All
                    },
                    align: Some(AlignRule {
                        method: AlignMethod::Quantile,
                        strength: 1.0,
                    }),
                    ..with(Estimator::Cells)
                };
                settings.partition.policies.category = UnseenCategory::Population;
                let name = format!("stream classes {learner:?} {mode:?} half={half}");
                cases.run(name, |v| classes(v, &settings));
            }
        }
    }
}

fn with(estimator: Estimator) -> Settings {
    let mut settings = on_landmarks();
    settings.partition.estimator = estimator;
    settings
}

fn two_columns(mut table: Table) -> Table {
    table.sensitive.pop();
    table
}

/// Two sums by one plan, merged, subtracted again, and made a model; then offsets from later sums.
fn merge(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(training_rows(false));
    let ones = vec![1.0; table.weights.len()];
    let unseen = settings.partition.policies.category;
    let encoder = Encoder::fit(&table.features, Scaling::Standard, &ones, unseen)?;
    let sample = Rows::new(&encoder, &table, true)?;
    let (plan, _) = settings.plan(sample.training(), ones.len(), &watch())?;
    let plan = Arc::new(plan);
    let sums = |table: &Table| -> Result<Moments> {
        let mut moments = Moments::new(Arc::clone(&plan));
        moments.update(Rows::new(&encoder, table, true)?.batch(), &watch())?;
        Ok(moments)
    };
    let halves = table.parts(35);
    let (mut both, second) = (sums(&halves[0])?, sums(&halves[1])?);
    both.merge(&second, &watch())?;
    let bytes = both.to_bytes()?;
    values.file("moments", &bytes);
    let fit = settings.fit_moments(&Moments::from_bytes(&bytes)?, &watch())?;
    add_summary(values, "0", &fit.summary);
    let later = sums(&two_columns(later_rows(false)))?;
    let renewed = fit
        .predictor
        .refresh_from(&later, Renewal::keeping(1), &watch());
    let sensitive_of = |columns: &[_]| Sensitive::new(columns[3..5].to_vec(), 20);
    let new = new_rows(false);
    let (points, _) = encoder.encode(&new)?;
    let sensitive = sensitive_of(&new)?;
    match renewed {
        Ok((renewed, _)) => {
            let prediction = renewed.predict(&points, Some(&sensitive), &watch())?;
            add_prediction(values, "renewed", &prediction);
        }
        Err(error) => values.file("renewal", error.to_string().as_bytes()),
    }
    let (fitted, _) = Model::new(encoder, fit, "y", settings);
    model(values, &fitted)?;
    both.subtract(&second, &watch())?;
    values.file("difference", &both.to_bytes()?);
    values.numbers("rows", &[both.rows() as f64, both.weight()]);
    Ok(())
}

/// Surveys and sums of three parts travel as bytes.
fn parts(values: &mut Values, settings: &Settings) -> Result<()> {
    let parts = two_columns(training_rows(false)).parts(23);
    let mut surveys = Vec::new();
    let mut starts = Vec::new();
    let mut start = 0;
    for part in &parts {
        let rows = part.weights.len();
        let mut survey = Survey::part(settings.seed, start, Some(60));
        survey.update(&part.features, &part.sensitive, None)?;
        surveys.push(survey.to_bytes()?);
        starts.push(start);
        start += rows;
    }
    let mut survey = Survey::from_bytes(&surveys[0])?;
    for later in &surveys[1..] {
        survey.join(&Survey::from_bytes(later)?)?;
    }
    values.file("survey", &survey.to_bytes()?);
    let components = settings.components.unwrap();
    let (encoder, mut fit) = survey.begin(Scaling::Standard, settings, components, &watch())?;
    let plan = Checkpoint::of_fit(&encoder, &fit, String::new()).to_bytes()?;
    values.file("plan", &plan);
    let share = |start: usize| Share::new(Checkpoint::from_bytes(&plan)?, start);
    let mut all = share(0)?;
    for (k, (part, start)) in parts.iter().zip(starts).enumerate() {
        let mut own = share(start)?;
        own.update(Rows::new(own.encoder(), part, false)?.batch(), &watch())?;
        let bytes = own.to_bytes(&watch())?;
        values.file(&format!("share {k}"), &bytes);
        let own = all.read(&bytes)?;
        all.join(&own, &watch())?;
    }
    fit.absorb(&all, &watch())?;
    let fit = finish(&fit, &encoder, &parts, false)?;
    let (fitted, summary) = Model::new(encoder, fit, "y", settings);
    add_summary(values, "0", &summary);
    model(values, &fitted)
}

/// A fit that is saved after two batches and goes on from its bytes.
fn saved(values: &mut Values, settings: &Settings) -> Result<()> {
    let parts = two_columns(training_rows(false)).parts(25);
    let (encoder, mut fit) = begin(&parts, settings, true)?;
    for part in &parts[..2] {
        fit.update(Rows::new(&encoder, part, true)?.batch(), &watch())?;
    }
    let bytes = Checkpoint::of_fit(&encoder, &fit, "note".into()).to_bytes()?;
    values.file("checkpoint", &bytes);
    let (encoder, mut fit) = Checkpoint::from_bytes(&bytes)?.into_fit(settings)?;
    fit.update(Rows::new(&encoder, &parts[2], true)?.batch(), &watch())?;
    let fit = finish(&fit, &encoder, &parts, true)?;
    let (fitted, summary) = Model::new(encoder, fit, "y", settings);
    add_summary(values, "0", &summary);
    model(values, &fitted)
}

/// Oblivious features from batches.
fn features(values: &mut Values, settings: &Settings) -> Result<()> {
    let parts = two_columns(training_rows(false)).parts(25);
    let settings: FeatureSettings = feature_settings(settings);
    let mut survey = Survey::new(settings.seed);
    for part in &parts {
        survey.update(&part.features, &part.sensitive, None)?;
    }
    let (encoder, mut fit) = survey.begin_features(Scaling::Standard, &settings, &watch())?;
    for part in &parts {
        let rows = Rows::new(&encoder, part, false)?;
        let batch = Batch {
            targets: None,
            ..rows.batch()
        };
        fit.update(batch, &watch())?;
    }
    let (features, _) = fit.finish(&watch())?;
    let transformer = Transformer { encoder, features };
    values.file("features", &transformer.to_bytes()?);
    let (new, _) = transformer.transform(&new_rows(false), &watch())?;
    values.numbers("features", &new);
    Ok(())
}

/// The penalty chosen from sums, and the grid it was chosen from.
fn choose(values: &mut Values, settings: &Settings) -> Result<()> {
    let parts = two_columns(training_rows(false)).parts(20);
    let (encoder, mut fit) = begin(&parts, settings, false)?;
    for part in &parts {
        fit.update(Rows::new(&encoder, part, false)?.batch(), &watch())?;
    }
    let penalties = PathGrid::usual(settings.strength).penalties;
    let (penalty, points) = fit.choose(settings, &penalties, &watch())?;
    values.numbers("penalty", &[penalty]);
    let scores = |p: &GridPoint| [p.error, p.gcv, p.correlation_ratio, p.gap];
    let points: Vec<f64> = points.iter().flat_map(scores).collect();
    values.numbers("grid", &points);
    let fit = finish(&fit, &encoder, &parts, false)?;
    let (fitted, _) = Model::new(encoder, fit, "y", settings);
    model(values, &fitted)
}

/// Training rows whose features are computed again for each pass.
struct Passes<'a> {
    turned: &'a Turned,
    points: &'a Points<'a>,
    sensitive: &'a Sensitive,
}

impl FeatureRows for Passes<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn width(&self) -> usize {
        self.turned.width()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        let all: Vec<usize> = (0..self.len()).collect();
        for block in all.chunks(32) {
            let (points, sensitive) = (self.points.select(block), self.sensitive.select(block));
            let rows = self.turned.rows(&points, &sensitive, watch)?;
            let rows = MatRef::from_column_major_slice(&rows, self.width(), block.len());
            work(block[0], rows)?;
        }
        Ok(())
    }
}

/// A classifier whose rows pass by again and again.
fn classes(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(training_rows(
        settings.partition.policies.missing != Missing::Error,
    ));
    let labels = Labels::of(&table.decision);
    let codes = labels.encode(&table.decision)?;
    let positive = || -> Vec<usize> {
        let rows = 0..codes.len();
        rows.filter(|&row| codes[row] > 0.0).collect()
    };
    let features = settings.classifier_features(&positive)?;
    let parts = table.parts(25);
    let survey = survey(&parts, settings, false)?;
    let (encoder, mut fit) = survey.begin_features(Scaling::Standard, &features, &watch())?;
    let encoder = encoder.with_unseen(settings.partition.policies.category);
    for part in &parts {
        let rows = Rows::new(&encoder, part, false)?;
        let batch = Batch {
            targets: None,
            ..rows.batch()
        };
        fit.update(batch, &watch())?;
    }
    let (features, warnings) = fit.finish(&watch())?;
    let turned = Turned::new(settings, features, warnings)?;
    let split = settings.reference.split(codes.len(), settings.seed)?;
    let rows = Rows::new(&encoder, &table.select(&split.training), false)?;
    let codes: Vec<f64> = split.training.iter().map(|&row| codes[row]).collect();
    let weights = vec![1.0; codes.len()];
    let passes = Passes {
        turned: &turned,
        points: &rows.points,
        sensitive: &rows.sensitive,
    };
    let assignment = turned.assign(&rows.sensitive)?;
    let mut fits = Vec::new();
    for (targets, emphasis) in settings.decisions(&codes, &weights, labels.len())? {
        let labelled = Labelled {
            targets: &targets,
            weights: &weights,
            emphasis: &emphasis,
            assignment: &assignment,
            estimated: split.training == split.reference,
        };
        fits.push(turned.fit(&passes, labelled, &watch())?);
    }
    let (fitted, summaries) = Model::classifier(encoder, fits, "decision", &labels, settings);
    for (k, summary) in summaries.iter().enumerate() {
        add_summary(values, &k.to_string(), summary);
    }
    model(values, &fitted)
}
