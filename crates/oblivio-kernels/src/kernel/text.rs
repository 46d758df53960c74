//! How kernels are written: `rbf(gamma=0.5)`, `2 * rbf * linear + poly(degree=2, gamma=1, coef0=1)`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use oblivio_base::{Error, Result};

use super::{Gamma, Kernel, Smoothness};

/// Deeper nesting is refused, so that a hostile text cannot exhaust the stack.
const DEEPEST: usize = 32;
/// The most kernels in a text: each is computed for every pair of rows.
const MOST_KERNELS: usize = 64;

impl Display for Gamma {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Scale => "scale".fmt(f),
            Self::Median => "median".fmt(f),
        }
    }
}

impl FromStr for Gamma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "scale" => Ok(Self::Scale),
            "median" => Ok(Self::Median),
            _ => match text.parse::<f64>() {
                Ok(value) if value > 0.0 && value.is_finite() => Ok(Self::Value(value)),
                _ => Err(Error::InvalidParameter {
                    name: "gamma",
                    expected: "a positive number, `scale` or `median`",
                    value: text.to_owned(),
                }),
            },
        }
    }
}

impl<G: Display> Display for Kernel<G> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => write!(f, "linear"),
            Self::Polynomial {
                degree,
                gamma,
                coef0,
            } => write!(f, "poly(degree={degree}, gamma={gamma}, coef0={coef0})"),
            Self::Gaussian { gamma } => write!(f, "rbf(gamma={gamma})"),
            Self::Laplacian { gamma } => write!(f, "laplacian(gamma={gamma})"),
            Self::Matern { smoothness, gamma } => {
                let name = match smoothness {
                    Smoothness::Half => "matern12",
                    Smoothness::ThreeHalves => "matern32",
                    Smoothness::FiveHalves => "matern52",
                };
                write!(f, "{name}(gamma={gamma})")
            }
            Self::Sum(kernels) => joined(f, kernels, " + ", |k| matches!(k, Self::Sum(_))),
            Self::Product(kernels) => joined(f, kernels, " * ", |k| {
                matches!(k, Self::Sum(_) | Self::Product(_) | Self::Scaled(..))
            }),
            Self::Scaled(factor, kernel) => match **kernel {
                Self::Sum(_) | Self::Scaled(..) => write!(f, "{factor} * ({kernel})"),
                _ => write!(f, "{factor} * {kernel}"),
            },
            Self::Table(_) => f.write_str("precomputed"),
        }
    }
}

fn joined<G: Display>(
    f: &mut Formatter<'_>,
    kernels: &[Kernel<G>],
    sign: &str,
    enclose: impl Fn(&Kernel<G>) -> bool,
) -> fmt::Result {
    for (i, kernel) in kernels.iter().enumerate() {
        if i > 0 {
            write!(f, "{sign}")?;
        }
        if enclose(kernel) {
            write!(f, "({kernel})")?;
        } else {
            write!(f, "{kernel}")?;
        }
    }
    Ok(())
}

impl FromStr for Kernel<Gamma> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            kernels: 0,
        };
        let kernel = parser.sum()?;
        if !parser.rest().is_empty() {
            return Err(parser.error("`+`, `*` or the end"));
        }
        kernel.check()?;
        Ok(kernel)
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse::<Kernel<Gamma>>()?
            .map_gamma(&mut |_, gamma| match gamma {
                Gamma::Value(value) => Ok(*value),
                rule => Err(Error::InvalidParameter {
                    name: "gamma",
                    expected: "a number where no points are at hand",
                    value: rule.to_string(),
                }),
            })
    }
}

/// The kernels that are expected in the place of an unknown name, or the one that is meant by it elsewhere.
fn unknown(name: &str) -> &'static str {
    match name {
        "gaussian" | "squared_exponential" | "se" => "a known kernel (did you mean rbf?)",
        "polynomial" => "a known kernel (did you mean poly?)",
        "laplace" | "exponential" => "a known kernel (did you mean laplacian?)",
        "matern" => "a known kernel (did you mean matern12, matern32 or matern52?)",
        _ => "a kernel: linear, poly, rbf, laplacian, matern12, matern32 or matern52",
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    kernels: usize,
}

impl<'t> Parser<'t> {
    fn sum(&mut self) -> Result<Kernel<Gamma>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("fewer nested brackets"));
        }
        let mut kernels = vec![self.product()?];
        while self.take("+") {
            kernels.push(self.product()?);
        }
        self.depth -= 1;
        Ok(single_or(kernels, Kernel::Sum))
    }

    /// Numbers may stand anywhere among the factors; together they scale the product of the kernels.
    fn product(&mut self) -> Result<Kernel<Gamma>> {
        let (mut scale, mut kernels) = (None, Vec::new());
        loop {
            match self.number() {
                Some(number) => scale = Some(scale.unwrap_or(1.0) * number),
                None => kernels.push(self.factor()?),
            }
            if !self.take("*") {
                break;
            }
        }
        if kernels.is_empty() {
            return Err(self.error("a kernel"));
        }
        let kernel = single_or(kernels, Kernel::Product);
        Ok(match scale {
            Some(scale) => Kernel::Scaled(scale, Box::new(kernel)),
            None => kernel,
        })
    }

    fn factor(&mut self) -> Result<Kernel<Gamma>> {
        if self.take("(") {
            let kernel = self.sum()?;
            self.need(")", "`)`")?;
            return Ok(kernel);
        }
        self.kernels += 1;
        if self.kernels > MOST_KERNELS {
            return Err(self.error("the end: there are at most 64 kernels"));
        }
        let start = self.at;
        let name = self.word();
        let known: &[&str] = match name {
            "linear" => &[],
            "poly" => &["degree", "gamma", "coef0"],
            "rbf" | "laplacian" | "matern12" | "matern32" | "matern52" => &["gamma"],
            other => {
                self.at = start;
                return Err(self.error(unknown(other)));
            }
        };
        let (mut degree, mut gamma, mut coef0) = (3, Gamma::Scale, 1.0);
        if self.take("(") && !self.take(")") {
            loop {
                let start = self.at;
                let parameter = self.word();
                if !known.contains(&parameter) {
                    self.at = start;
                    return Err(self.error(match known.len() {
                        0 => "no parameter: this kernel has none",
                        1 => "the parameter gamma",
                        _ => "a parameter: degree, gamma or coef0",
                    }));
                }
                self.need("=", "`=`")?;
                self.rest();
                let start = self.at;
                let value = self.value();
                match parameter {
                    "degree" => {
                        degree = value.parse().map_err(|_| {
                            self.at = start;
                            self.error("a whole number")
                        })?;
                    }
                    "coef0" => {
                        coef0 = value.parse().map_err(|_| {
                            self.at = start;
                            self.error("a number")
                        })?;
                    }
                    _ => gamma = value.parse()?,
                }
                if !self.take(",") {
                    break;
                }
            }
            self.need(")", "`,` or `)`")?;
        }
        let matern = |smoothness| Kernel::Matern { smoothness, gamma };
        Ok(match name {
            "linear" => Kernel::Linear,
            "poly" => Kernel::Polynomial {
                degree,
                gamma,
                coef0,
            },
            "laplacian" => Kernel::Laplacian { gamma },
            "matern12" => matern(Smoothness::Half),
            "matern32" => matern(Smoothness::ThreeHalves),
            "matern52" => matern(Smoothness::FiveHalves),
            _ => Kernel::Gaussian { gamma },
        })
    }

    /// What is left after white space.
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn need(&mut self, sign: &str, expected: &'static str) -> Result<()> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.error(expected))
        }
    }

    fn word(&mut self) -> &'t str {
        self.while_matching(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    fn value(&mut self) -> &'t str {
        self.while_matching(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))
    }

    fn number(&mut self) -> Option<f64> {
        if !self
            .rest()
            .starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
        {
            return None;
        }
        let start = self.at;
        // A sign belongs to the number only at its start and after an exponent.
        let mut last = None;
        let text = self.while_matching(|c| {
            let part = c.is_ascii_digit()
                || ".eE".contains(c)
                || ("+-".contains(c) && matches!(last, None | Some('e' | 'E')));
            last = Some(c);
            part
        });
        let number = text.parse().ok();
        if number.is_none() {
            self.at = start;
        }
        number
    }

    fn while_matching(&mut self, mut test: impl FnMut(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !test(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn error(&self, expected: &'static str) -> Error {
        Error::Syntax {
            what: "a kernel",
            text: self.text.to_owned(),
            position: self.text[..self.at].chars().count() + 1,
            expected,
        }
    }
}

fn single_or<G>(mut kernels: Vec<Kernel<G>>, many: fn(Vec<Kernel<G>>) -> Kernel<G>) -> Kernel<G> {
    if kernels.len() == 1 {
        kernels.remove(0)
    } else {
        many(kernels)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn defaults_and_white_space() {
        let spec = |text: &str| text.parse::<Kernel<Gamma>>().unwrap().to_string();
        assert_eq!(spec(" rbf "), "rbf(gamma=scale)");
        assert_eq!(spec("rbf()"), "rbf(gamma=scale)");
        assert_eq!(
            spec("poly( coef0 = 0 )"),
            "poly(degree=3, gamma=scale, coef0=0)"
        );
        assert_eq!(
            spec("2*rbf(gamma=1e-3)*3*linear+linear"),
            "6 * rbf(gamma=0.001) * linear + linear"
        );
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let message = |text: &str| text.parse::<Kernel<Gamma>>().unwrap_err().to_string();
        assert_eq!(
            message("rbf + gauss"),
            "cannot read `rbf + gauss` as a kernel: expected a kernel: linear, poly, rbf, laplacian, \
             matern12, matern32 or matern52 at character 7"
        );
        assert_eq!(
            message("linear + gaussian"),
            "cannot read `linear + gaussian` as a kernel: expected a known kernel (did you mean rbf?) at character 10"
        );
        assert!(message("polynomial(degree=2)").contains("did you mean poly?"));
        assert!(message("laplace").contains("did you mean laplacian?"));
        assert!(message("matern").contains("did you mean matern12, matern32 or matern52?"));
        assert!(message("rbf(gamma=1").ends_with("expected `,` or `)` at character 12"));
        assert!(message("rbf(degree=2)").ends_with("expected the parameter gamma at character 5"));
        assert!(message("poly(degree=1.5)").ends_with("expected a whole number at character 13"));
        assert!(message("3").ends_with("expected a kernel at character 2"));
        assert!(message("rbf rbf").ends_with("expected `+`, `*` or the end at character 5"));
        assert!(message("-1 * rbf").contains("must be a positive finite number, got -1"));
        assert!(message("rbf(gamma=-1)").starts_with("gamma must be"));
        assert!(message(&"(".repeat(100_000)).contains("nested"));
        let error = "rbf".parse::<Kernel>().unwrap_err().to_string();
        assert_eq!(
            error,
            "gamma must be a number where no points are at hand, got scale"
        );
    }

    fn kernels() -> impl Strategy<Value = Kernel> {
        let gamma = || 1e-9..1e9;
        let smoothness = prop_oneof![
            Just(Smoothness::Half),
            Just(Smoothness::ThreeHalves),
            Just(Smoothness::FiveHalves)
        ];
        let leaf = prop_oneof![
            Just(Kernel::Linear),
            (1u32..9, gamma(), 0.0..9.0).prop_map(|(degree, gamma, coef0)| Kernel::Polynomial {
                degree,
                gamma,
                coef0
            }),
            gamma().prop_map(|gamma| Kernel::Gaussian { gamma }),
            gamma().prop_map(|gamma| Kernel::Laplacian { gamma }),
            (smoothness, gamma())
                .prop_map(|(smoothness, gamma)| Kernel::Matern { smoothness, gamma }),
        ];
        leaf.prop_recursive(4, 16, 3, |inner| {
            let several = || prop::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                several().prop_map(Kernel::Sum),
                several().prop_map(Kernel::Product),
                (1e-9..1e9, inner.clone()).prop_map(|(c, k)| Kernel::Scaled(c, Box::new(k))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(kernel in kernels()) {
            prop_assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
        }

        #[test]
        fn no_text_panics(text in "[-+*() a-z0-9.,=é]{0,40}") {
            let _ = text.parse::<Kernel<Gamma>>();
        }
    }
}
