//! What a model file holds, for the commands that read one.

use std::path::Path;

use anyhow::{Context, Result, bail};
use oblivio::model::{kind_of, version_of};
use oblivio::{Model, Transformer};
use oblivio_release::Release;

/// What a file can hold that the command line has a use for.
pub(crate) enum Stored {
    Model(Box<Model>),
    Features(Box<Transformer>),
    Release(Box<Release>),
}

/// What makes columns of columns.
pub(crate) enum Map {
    Features(Box<Transformer>),
    Release(Box<Release>),
}

/// Reads and checks a file that holds a regression or a classifier.
pub(crate) fn read_model(path: &Path) -> Result<Model> {
    model_of(read(path)?.0, path)
}

pub(crate) fn model_of(stored: Stored, path: &Path) -> Result<Model> {
    match stored {
        Stored::Model(model) => Ok(*model),
        Stored::Features(_) => bail!(
            "{}: this file holds features, which give no scores; use `oblivio transform`",
            path.display()
        ),
        Stored::Release(_) => bail!(
            "{}: this file holds a release, which gives rows and no scores; use `oblivio transform`",
            path.display()
        ),
    }
}

/// Reads and checks a file that holds features or a release.
pub(crate) fn read_map(path: &Path) -> Result<Map> {
    match read(path)?.0 {
        Stored::Features(features) => Ok(Map::Features(features)),
        Stored::Release(release) => Ok(Map::Release(release)),
        Stored::Model(_) => bail!(
            "{}: this file holds a model, which gives scores and no features; use `oblivio predict`",
            path.display()
        ),
    }
}

/// What a file holds, and the version that wrote it.
pub(crate) fn read(path: &Path) -> Result<(Stored, String)> {
    let name = || path.display().to_string();
    let bytes =
        std::fs::read(path).with_context(|| format!("{}: cannot read the model", name()))?;
    let stored = match kind_of(&bytes).with_context(name)?.as_str() {
        "features" => {
            Transformer::from_bytes(&bytes).map(|features| Stored::Features(Box::new(features)))
        }
        "release" => Release::from_bytes(&bytes).map(|release| Stored::Release(Box::new(release))),
        "kernel" => bail!(
            "{}: this file holds a kernel, which the command line has no use for; open it in Python with `oblivio.load`",
            name()
        ),
        _ => Model::from_bytes(&bytes).map(|model| Stored::Model(Box::new(model))),
    };
    Ok((
        stored.with_context(name)?,
        version_of(&bytes).with_context(name)?,
    ))
}
