//! What is tried.

use oblivio::sensitive_free::{Parity, Restraint};
use oblivio::{Mode, Settings};
use oblivio_base::choice::check_strength;
use oblivio_base::{Named, Result};

use super::align::{self, ALIGNS};

/// One of the things that are tried: anything that settings can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What it is called.
    pub name: String,
    /// The alignment's method and strength, if scores are aligned.
    pub align: Option<(String, f64)>,
    /// How it is fitted.
    pub settings: Settings,
}

impl Candidate {
    /// These settings under a name made of their mode and strength. Scores are aligned by the method with this name at this
    /// strength, unless it is `none`.
    ///
    /// ```
    /// use oblivio::Settings;
    /// use oblivio_audit::Candidate;
    /// let settings = Settings { strength: 0.5, ..Settings::default() };
    /// assert_eq!(Candidate::new(settings, ("none", 1.0))?.name, "oblivious 0.5");
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn new(settings: Settings, (align, strength): (&str, f64)) -> Result<Self> {
        let mut settings = settings;
        align::set(&mut settings, align, strength)?;
        let align = (align != "none").then(|| (align.to_owned(), strength));
        let mut name = if takes_out(&settings) {
            format!("{} {}", settings.mode.name(), settings.strength)
        } else {
            Mode::Plain.name().to_owned()
        };
        match &align {
            None => {}
            Some((method, 1.0)) => name = format!("{name} + {method}"),
            Some((method, strength)) => name = format!("{name} + {method} {strength}"),
        }
        Ok(Self {
            name,
            align,
            settings,
        })
    }

    /// Whether it takes nothing out: where a frontier starts.
    pub fn is_start(&self) -> bool {
        !takes_out(&self.settings) && self.align.is_none()
    }
}

/// Whether mode and strength take anything out.
pub(super) fn takes_out(settings: &Settings) -> bool {
    settings.mode != Mode::Plain && settings.strength > 0.0
}

/// The candidates of every mode, strength and alignment.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierGrid {
    /// What is learned and what is taken off.
    pub modes: Vec<Mode>,
    /// t
    pub strengths: Vec<f64>,
    /// Alignments by name, `none` among them if scores are to be tried as they are.
    pub aligns: Vec<String>,
    /// How much of an alignment is done.
    pub align_strengths: Vec<f64>,
}

impl Default for FrontierGrid {
    fn default() -> Self {
        Self {
            modes: vec![Mode::Oblivious, Mode::MOblivious, Mode::SensitiveFree],
            strengths: vec![0.0, 0.25, 0.5, 0.75, 1.0],
            aligns: ALIGNS.iter().map(|&name| name.to_owned()).collect(),
            align_strengths: vec![1.0],
        }
    }
}

impl FrontierGrid {
    /// The candidates on these settings, each once: first the plain fit, which is always there.
    ///
    /// At strength 0 every mode is plain. What eta or epsilon limits has no strength, and is tried once.
    pub fn candidates(&self, base: &Settings) -> Result<Vec<Candidate>> {
        for strength in self.strengths.iter().chain(&self.align_strengths) {
            check_strength(*strength)?;
        }
        let with = |mode: Mode, strength: f64| {
            let free = mode == Mode::SensitiveFree;
            Settings {
                mode,
                strength,
                parity: if free { base.parity } else { Parity::default() },
                restraint: if free {
                    base.restraint
                } else {
                    Restraint::default()
                },
                ..base.clone()
            }
        };
        let mut fits = vec![with(Mode::Plain, 0.0)];
        for &mode in self.modes.iter().filter(|mode| **mode != Mode::Plain) {
            let restrained = mode == Mode::SensitiveFree && base.restraint != Restraint::Hard;
            let strengths = if restrained {
                vec![1.0]
            } else {
                self.strengths.clone()
            };
            let taken = strengths.into_iter().filter(|strength| *strength > 0.0);
            fits.extend(taken.map(|strength| with(mode, strength)));
        }
        let mut candidates = vec![Candidate::new(fits[0].clone(), ("none", 1.0))?];
        for (number, settings) in fits.into_iter().enumerate() {
            // The plain fit is aligned where it was asked for, or strength 0 was.
            let plain = self.strengths.contains(&0.0) || self.modes.contains(&Mode::Plain);
            if number == 0 && !plain {
                continue;
            }
            for align in &self.aligns {
                // Beyond legitimate factors scores are not aligned.
                if align != "none" && !base.partition.control.is_empty() {
                    continue;
                }
                let strengths = match align.as_str() {
                    "none" => &[1.0][..],
                    _ => &self.align_strengths,
                };
                for &strength in strengths {
                    let candidate = Candidate::new(settings.clone(), (align, strength))?;
                    if !candidates.contains(&candidate) {
                        candidates.push(candidate);
                    }
                }
            }
        }
        Ok(candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(grid: &FrontierGrid, base: &Settings) -> Vec<String> {
        let candidates = grid.candidates(base).unwrap_or_default();
        candidates.into_iter().map(|c| c.name).collect()
    }

    #[test]
    fn plain_is_there_once_and_first() {
        let grid = FrontierGrid {
            modes: vec![Mode::Plain, Mode::Oblivious, Mode::MOblivious],
            strengths: vec![0.0, 0.5, 1.0, 0.5],
            aligns: vec!["none".into()],
            align_strengths: vec![1.0],
        };
        let found = names(&grid, &Settings::default());
        let expected = ["plain", "oblivious 0.5", "oblivious 1", "m-oblivious 0.5"];
        assert_eq!(found[..4], expected);
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn what_eta_limits_is_tried_once_and_others_are_not_limited() {
        let base = Settings {
            restraint: Restraint::Soft(2.0),
            ..Settings::default()
        };
        let grid = FrontierGrid {
            aligns: vec!["none".into()],
            ..FrontierGrid::default()
        };
        let found = grid.candidates(&base).unwrap_or_default();
        assert_eq!(found.len(), 1 + 4 + 4 + 1);
        assert!(found.iter().all(|c| c.settings.check().is_ok()));
        assert_eq!(
            found.last().map(|c| c.settings.restraint),
            Some(Restraint::Soft(2.0))
        );
    }

    #[test]
    fn a_strength_beyond_one_and_an_unknown_alignment_are_refused() {
        for grid in [
            FrontierGrid {
                strengths: vec![1.5],
                ..FrontierGrid::default()
            },
            FrontierGrid {
                aligns: vec!["by-hand".into()],
                ..FrontierGrid::default()
            },
        ] {
            assert!(grid.candidates(&Settings::default()).is_err());
        }
    }
}
