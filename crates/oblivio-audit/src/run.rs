//! An audit from start to end: subjects, sensitive columns, measures.

use oblivio::Sensitive;
use oblivio::partition::{CellCount, PartitionRule};
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Error, Named, Result, Watch};

use super::adversary::AdversaryKind;
use super::comparison::Comparison;
use super::control::{self, Control};
use super::formulas::effective_rows;
use super::found::Found;
use super::kernels::{Kernels, Source, Target, prepared};
use super::measure::{Family, Measure};
use super::profile::{self, ProfileRows};
use super::report::{Against, Audit, CellRows, Finding, Role, Subject};
use super::resampling::Resampling;
use super::scene::Scene;
use super::strata::Strata;
use super::subject::{SubjectRows, check_positive};
use super::truth::Truth;
use super::view::View;

/// What is audited: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditRows {
    /// Scores and labels. One of role [`Role::Before`] is followed by its [`Role::After`].
    pub subjects: Vec<(Role, Column)>,
    /// Features, to be ranked by how much they depend on S.
    pub features: Vec<Column>,
    /// Whether all features together are audited too.
    pub whole_table: bool,
    /// The sensitive columns.
    pub sensitive: Sensitive,
    /// The true labels, for the measures that need them.
    pub truth: Option<Column>,
    /// Legitimate factors: cells are compared within their levels.
    pub control: Vec<Column>,
    /// How much each row counts.
    pub weights: Option<Vec<f64>>,
}

impl AuditRows {
    fn select(&self, rows: &[usize]) -> Self {
        let select = |columns: &[Column]| columns.iter().map(|c| c.select(rows)).collect();
        let subjects = self.subjects.iter();
        Self {
            subjects: subjects.map(|(role, c)| (*role, c.select(rows))).collect(),
            features: select(&self.features),
            whole_table: self.whole_table,
            sensitive: self.sensitive.select(rows),
            truth: self.truth.as_ref().map(|column| column.select(rows)),
            control: select(&self.control),
            weights: self
                .weights
                .as_ref()
                .map(|weights| rows.iter().map(|&row| weights[row]).collect()),
        }
    }
}

/// How an audit is made.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditSettings {
    /// How the sensitive columns are cut into cells.
    pub rule: PartitionRule,
    /// Scores from here on count as a positive decision. Without it: 0.5 for scores between 0 and 1, else the median.
    pub threshold: Option<f64>,
    /// The label that counts as positive. Without it: the last of two.
    pub positive: Option<String>,
    /// Bins of a score for β.
    pub bins: usize,
    /// Cells with fewer rows are called small, and left out of largest differences and of drawn distributions.
    pub least_rows: usize,
    /// What is measured; empty: everything that is defined.
    pub measures: Vec<Measure>,
    /// Whether the sensitive columns are also looked at one by one.
    pub one_by_one: bool,
    /// Shuffles and samples.
    pub resampling: Resampling,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            rule: PartitionRule {
                cells: CellCount::Given(4),
                ..PartitionRule::default()
            },
            threshold: None,
            positive: None,
            bins: 4,
            least_rows: 20,
            measures: Vec::new(),
            one_by_one: true,
            resampling: Resampling::default(),
        }
    }
}

/// Fewer rows than this say nothing.
const LEAST_ROWS: usize = 2;

impl AuditSettings {
    /// Measures everything that is defined for these rows; those that weigh nothing are no rows.
    pub fn run(&self, rows: &AuditRows, watch: &Watch) -> Result<Audit> {
        self.check(rows)?;
        if let Some(weights) = &rows.weights
            && weights.contains(&0.0)
        {
            let kept: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
            return self.run(&rows.select(&kept), watch);
        }
        let weights = rows.weights.as_deref();
        let of_control = (&rows.control[..], rows.sensitive.len());
        let control = Control::new(&self.rule, of_control, weights)?;
        let views = self.views(rows, weights)?;
        let against: Vec<Against> = views.iter().map(|v| self.against(v, weights)).collect();
        let positive = self.positive.as_deref();
        let labels = rows.subjects.iter().map(|(_, column)| column);
        check_positive(positive, labels.chain(&rows.truth))?;
        let truth = rows.truth.as_ref();
        let truth = truth.map(|column| Truth::new(column, positive, weights));
        let truth = truth.transpose()?;
        let mut audit = Audit {
            rows: rows.sensitive.len(),
            effective_rows: effective_rows(weights, rows.sensitive.len()),
            weighted: weights.is_some(),
            threshold: self.threshold,
            resampling: self.resampling,
            control: rows.control.iter().map(|c| c.name.clone()).collect(),
            subjects: Vec::new(),
            against,
            findings: Vec::new(),
            profiles: Vec::new(),
            features: Vec::new(),
            notes: Vec::new(),
        };
        audit.notes.extend(truth.iter().filter_map(Truth::note));
        audit.notes.extend(control.iter().map(Control::note));
        let subjects = self.subjects(rows, &mut audit.notes)?;
        let kernels = Kernels {
            weights,
            resampling: &self.resampling,
            watch,
        };
        let targets: Vec<Target> = views.iter().map(Target::new).collect();
        let whole = Strata::whole(rows.sensitive.len());
        let sides = if control.is_none() && self.wants(&[Measure::Hsic]) {
            let sides = targets.iter().map(|target| kernels.side(target));
            sides.collect::<Result<Vec<_>>>()
        } else {
            Ok(Vec::new())
        };
        let sides = self.possible(sides, &mut audit.notes)?.unwrap_or_default();
        let scene = Scene {
            views: &views,
            targets: &targets,
            sides: &sides,
            strata: control.as_ref().map_or(&whole, |control| &control.strata),
            control: control.as_ref(),
            truth: truth.as_ref(),
            kernels,
        };
        for (k, subject) in subjects.iter().enumerate() {
            let name = unique(&subject.column.name, &audit.subjects);
            let edges = profile::edges(&side_by_side(&subjects, k));
            self.compare_cells(&mut audit, (&name, subject), &edges, &scene)?;
            self.compare_labels(&mut audit, (&name, subject), &scene)?;
            self.beyond_columns(&mut audit, (&name, subject), &scene)?;
            let source = Source::One(&subject.column, subject.kind());
            let beyond = Beyond {
                name: &name,
                role: subject.role,
                source,
            };
            self.beyond_cells(&mut audit, &beyond, &scene)?;
            audit.subjects.push(Subject {
                name,
                role: subject.role,
            });
        }
        if !rows.features.is_empty() {
            let given = (&rows.features[..], rows.whole_table);
            self.features(&mut audit, given, &scene)?;
        }
        in_order(&mut audit);
        if audit.findings.is_empty() && !self.measures.is_empty() {
            let names: Vec<&str> = self.measures.iter().map(|m| m.name()).collect();
            return Err(Error::NotDefined {
                measures: names.join(", "),
            });
        }
        Ok(audit)
    }

    /// The subjects, with decisions where a measure needs them.
    fn subjects(&self, rows: &AuditRows, notes: &mut Vec<String>) -> Result<Vec<SubjectRows>> {
        let mut subjects = Vec::new();
        let positive = self.positive.as_deref();
        for (role, column) in &rows.subjects {
            let mut subject = SubjectRows::new(*role, column, positive)?;
            if self.wants_any(&[Family::Decisions, Family::Odds, Family::Outcomes]) {
                let weights = rows.weights.as_deref();
                notes.extend(subject.decide(positive, self.threshold, weights));
            }
            subjects.push(subject);
        }
        Ok(subjects)
    }

    /// The measures that compare cells, and the distributions in them.
    fn compare_cells(
        &self,
        audit: &mut Audit,
        (name, subject): (&str, &SubjectRows),
        edges: &[f64],
        scene: &Scene,
    ) -> Result<()> {
        let families = [
            Family::Cells,
            Family::Decisions,
            Family::Odds,
            Family::Outcomes,
        ];
        if !self.wants_any(&families) {
            return Ok(());
        }
        for (at, view) in scene.views.iter().enumerate() {
            let cells = scene.cells(view, self.least_rows);
            let comparison = Comparison {
                outcome: subject.outcome(),
                cells: &cells,
                positive: subject.positive.as_deref(),
                bins: self.bins,
            };
            let compared = comparison.measure(&self.resampling, scene.kernels.watch)?;
            let profile = ProfileRows {
                rows: &comparison,
                intervals: &compared.intervals,
                edges,
                levels: &subject.levels,
            };
            let profile = profile.profile(name, &audit.against[at]);
            audit.profiles.push(profile);
            self.add(audit, name, subject.role, at, compared.found);
        }
        Ok(())
    }

    /// The measures that see more than the cells' means and shares.
    fn beyond_cells(&self, audit: &mut Audit, subject: &Beyond, scene: &Scene) -> Result<()> {
        let Scene {
            targets,
            sides,
            kernels,
            ..
        } = scene;
        // They do not hold other columns fixed.
        if scene.control.is_some() {
            return Ok(());
        }
        let mut found: Vec<(usize, Result<Found>)> = Vec::new();
        if !sides.is_empty() {
            let own = kernels.source(&subject.source);
            if let Some(own) = self.possible(own, &mut audit.notes)? {
                let pairs = sides.iter().enumerate();
                found.extend(pairs.map(|(at, side)| (at, kernels.hsic(&own, side))));
            }
        }
        for (at, target) in targets.iter().enumerate() {
            for kind in [AdversaryKind::Kernel, AdversaryKind::Linear] {
                if self.asks(subject.role, kind.measure()) {
                    found.push((at, kernels.adversary(&subject.source, target, kind)));
                }
            }
            if self.asks(subject.role, Measure::DistanceCorrelation) {
                let made = kernels.distance_correlation(&subject.source, target);
                let made = made.transpose();
                found.extend(made.map(|made| (at, made)));
            }
        }
        for (at, made) in found {
            if let Some(made) = self.possible(made, &mut audit.notes)? {
                self.add(audit, subject.name, subject.role, at, vec![made]);
            }
        }
        Ok(())
    }

    /// All features together, if asked for, and one by one.
    fn features(
        &self,
        audit: &mut Audit,
        (features, whole_table): (&[Column], bool),
        scene: &Scene,
    ) -> Result<()> {
        let (features, notes) = prepared(features)?;
        audit.notes.extend(notes);
        if features.is_empty() {
            return Ok(());
        }
        if whole_table {
            let name = unique("features", &audit.subjects);
            let beyond = Beyond {
                name: &name,
                role: Role::Features,
                source: Source::Table(&features),
            };
            self.beyond_cells(audit, &beyond, scene)?;
            if audit.findings.iter().any(|finding| finding.subject == name) {
                audit.subjects.push(Subject {
                    name,
                    role: Role::Features,
                });
            }
        }
        if self.measures.is_empty() {
            let ranked = scene.kernels.ranked(&features, scene.targets);
            audit.features = self.possible(ranked, &mut audit.notes)?.unwrap_or_default();
        }
        Ok(())
    }

    /// A result, or nothing and a note if there are too few rows for what nobody asked for by name.
    pub(super) fn possible<T>(
        &self,
        result: Result<T>,
        notes: &mut Vec<String>,
    ) -> Result<Option<T>> {
        match result {
            Err(error @ Error::TooFewRows { .. }) if self.measures.is_empty() => {
                let note = error.to_string();
                if !notes.contains(&note) {
                    notes.push(note);
                }
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Whether any of these measures is asked for.
    pub(super) fn wants(&self, measures: &[Measure]) -> bool {
        self.measures.is_empty() || measures.iter().any(|m| self.measures.contains(m))
    }

    /// Whether any measure of these families is asked for.
    pub(super) fn wants_any(&self, families: &[Family]) -> bool {
        let measures = &self.measures;
        measures.is_empty() || measures.iter().any(|m| families.contains(&m.family()))
    }

    /// Whether a measure of such a subject is asked for: by name, or because it says something of its own.
    pub(super) fn asks(&self, role: Role, measure: Measure) -> bool {
        match self.measures[..] {
            [] => tells(role, measure),
            _ => self.wants(&[measure]),
        }
    }

    /// Adds what was found of a subject against one entry, as far as it was asked for.
    pub(super) fn add(
        &self,
        audit: &mut Audit,
        subject: &str,
        role: Role,
        against: usize,
        found: Vec<Found>,
    ) {
        let against = &audit.against[against];
        let asked = found.into_iter();
        let asked = asked.filter(|found| self.asks(role, found.measure));
        let made = asked.map(|found| finding(subject, against, found));
        audit.findings.extend(made);
    }

    fn views(&self, rows: &AuditRows, weights: Option<&[f64]>) -> Result<Vec<View>> {
        let rule = if rows.control.is_empty() {
            self.rule.clone()
        } else {
            control::check(&self.rule, &rows.sensitive, &rows.control)?;
            self.rule.of_columns(&rows.sensitive)
        };
        let mut views = View::all(&rule, &rows.sensitive, weights)?;
        if !self.one_by_one {
            views.drain(..views.len() - 1);
        }
        Ok(views)
    }

    fn check(&self, rows: &AuditRows) -> Result<()> {
        self.resampling.check()?;
        let needed = rows.sensitive.len();
        let subjects = rows.subjects.iter().map(|(_, column)| column);
        let others = rows.features.iter().chain(&rows.truth);
        for column in subjects.chain(others).chain(&rows.control) {
            if column.len() != needed {
                return Err(Error::Length {
                    what: "a column of the audit",
                    found: column.len(),
                    needed,
                });
            }
        }
        if let Some(weights) = &rows.weights {
            check_weights(weights, needed)?;
        }
        let needs = |name, expected| Error::InvalidParameter {
            name,
            expected,
            value: "none".into(),
        };
        if rows.sensitive.columns().is_empty() {
            return Err(needs("the number of sensitive columns", "at least one"));
        }
        if rows.subjects.is_empty() && rows.features.is_empty() {
            return Err(needs("what is audited", "scores, labels or features"));
        }
        if self.threshold.is_some_and(|line| !line.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "the threshold",
                expected: "a finite number",
                value: self.threshold.unwrap_or_default().to_string(),
            });
        }
        if self.bins == 0 {
            return Err(Error::InvalidParameter {
                name: "bins",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        if needed < LEAST_ROWS {
            return Err(Error::TooFewRows {
                what: "the audit",
                found: needed,
                needed: LEAST_ROWS,
            });
        }
        Ok(())
    }

    fn against(&self, view: &View, weights: Option<&[f64]>) -> Against {
        let mut rows = vec![0; view.labels.len()];
        let mut mass = vec![0.0; view.labels.len()];
        for (row, &cell) in view.cells.iter().enumerate() {
            rows[cell as usize] += 1;
            mass[cell as usize] += weights.map_or(1.0, |weights| weights[row]);
        }
        let total: f64 = mass.iter().sum();
        let words = view.labels.iter().zip(&view.briefs);
        let cells = words.zip(rows.iter().zip(&mass));
        Against {
            name: view.name(),
            columns: view.columns.iter().map(|c| c.name.clone()).collect(),
            kinds: view.kinds.clone(),
            cells: cells
                .map(|((label, brief), (&rows, mass))| CellRows {
                    label: label.clone(),
                    brief: brief.clone(),
                    rows,
                    share: mass / total,
                    small: rows < self.least_rows,
                })
                .collect(),
        }
    }
}

/// A subject for the measures beyond cells.
struct Beyond<'a> {
    name: &'a str,
    role: Role,
    source: Source<'a>,
}

/// Whether a measure says something of its own about such a subject.
fn tells(role: Role, measure: Measure) -> bool {
    role != Role::Label || measure.tells_of_labels()
}

/// Findings by subject, by sensitive columns, and by measure as these are listed.
fn in_order(audit: &mut Audit) {
    let Audit {
        findings,
        subjects,
        against,
        ..
    } = audit;
    let subject = |name: &str| subjects.iter().position(|s| s.name == name);
    let place = |name: &str| against.iter().position(|a| a.name == name);
    let measure = |measure| {
        Measure::NAMES
            .iter()
            .position(|(_, other)| *other == measure)
    };
    findings.sort_by_key(|f| (subject(&f.subject), place(&f.against), measure(f.measure)));
}

/// The scores that are drawn on one axis: before and after.
fn side_by_side(subjects: &[SubjectRows], k: usize) -> Vec<&[f64]> {
    let other = match subjects[k].role {
        Role::Before => subjects.get(k + 1),
        Role::After => k.checked_sub(1).map(|before| &subjects[before]),
        _ => None,
    };
    let both = [Some(&subjects[k]), other].into_iter().flatten();
    both.filter_map(SubjectRows::scores).collect()
}

/// The name, with a number if another subject has it.
fn unique(name: &str, taken: &[Subject]) -> String {
    let is_free = |name: &String| taken.iter().all(|subject| subject.name != *name);
    let numbered = (2..).map(|k| format!("{name} ({k})"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(is_free).unwrap_or_default()
}

/// A finding, with the cells that differ most in words.
fn finding(subject: &str, against: &Against, found: Found) -> Finding {
    let label = |cell: usize| &against.cells[cell].brief;
    let between = |(least, most)| format!("between {} and {}", label(least), label(most));
    let detail = found.detail.or(found.pair.map(between));
    Finding {
        subject: subject.to_owned(),
        against: against.name.clone(),
        measure: found.measure,
        detectable: found.measured.is_detectable(),
        large: found.measured.is_large(found.measure),
        measured: found.measured,
        further: found.further,
        detail,
    }
}
